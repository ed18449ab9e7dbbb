"""The hottest modules of training profiles, and how their time divides into directions."""

import json

import numpy as np
import pytest

from tests.builders.chrome_cases import slice_event
from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.summaries import hot_modules
from viewer.model.figures import STEADY
from viewer.workspace.workspace import Workspace

TRAINING = DATA / "chrome_json" / "torch_training.json.gz"


def hottest(path):
    space = Workspace()
    table = space.links(space.open(str(path)))
    costs = Costs(table).table(STEADY)
    return table, costs, *hot_modules(table, costs)


def profile(path, rng, with_backward):
    """Write a step of modules, one after another, each with one operator; return their ns."""
    events, times, ts = [], {}, 10
    for number in range(6):
        name = f"Linear_{number}"
        forward, backward = (int(ns) for ns in rng.integers(1, 500, 2))
        events += [
            slice_event(f"nn.Module: {name}", ts, forward + 2, cat="python_function"),
            slice_event(
                "aten::addmm", ts + 1, forward, cat="cpu_op", args={"Sequence number": number}
            ),
        ]
        if with_backward:
            flow = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": 1, "tid": 2}
            events.append({**flow, "ph": "s", "ts": ts + 1})
            events.append({**flow, "ph": "f", "bp": "e", "ts": 10_000 + 1_000 * number})
            events.append(
                slice_event("AddmmBackward0", 10_000 + 1_000 * number, backward, cat="cpu_op")
            )
        times[name] = forward + 2, backward if with_backward else 0
        ts += forward + 10
    path.write_text(json.dumps(events))
    return times


@pytest.mark.slow
@pytest.mark.parametrize("with_backward", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_hottest_modules_are_those_with_the_longest_operators(tmp_path, seed, with_backward):
    path = tmp_path / "trained.json"
    times = profile(path, np.random.default_rng(seed), with_backward)
    _, costs, modules, directions = hottest(path)
    ranked = sorted(times, key=lambda name: -sum(times[name]))[: len(modules)]
    assert [hot.name for hot in modules] == ranked
    assert [(hot.forward, hot.backward) for hot in modules] == [
        (1000 * forward, 1000 * backward) for forward, backward in map(times.get, ranked)
    ]
    assert directions.forward == 1000 * sum(forward for forward, _ in times.values())
    assert directions.backward == 1000 * sum(backward for _, backward in times.values())
    assert directions.other == costs.whole - directions.forward - directions.backward


def test_figures_of_a_training_add_up_to_the_whole():
    table, costs, modules, directions = hottest(TRAINING)
    assert [hot.name for hot in modules] == ["MultiheadAttention_0", "Conv2d_3", "Conv2d_2"]
    assert directions.forward + directions.backward + directions.other == costs.whole
    for hot in modules:
        assert hot.ticks == hot.forward + hot.backward
        operators = {i for key in hot.keys for i in table.links[key].operators}
        paths = {table.program.operators[i].nodes[0].modules[-1][0] for i in operators}
        assert paths == {hot.path}


def test_profiles_without_modules_have_none():
    path = DATA / "chrome_json" / "onnxruntime_runs.json"
    assert hottest(path)[2:] == ((), None)
