"""How inferences change: levels with their factors, trends with the operator that grows."""

import numpy as np
import pytest

from tests.builders.inference_trace import inference_trace
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.cost.event_times import WorkTime
from viewer.analysis.sequence.changes import Change, change_of
from viewer.analysis.sequence.wall_time import sequences
from viewer.model.trace import Trace


def opened(name: str) -> tuple[Trace, WorkTime]:
    workspace = workspace_of(DATA / "phases" / name)
    trace = workspace.traces[0]
    return trace, WorkTime(workspace.links(trace))


def changes(name: str) -> list[tuple[Change | None, WorkTime]]:
    trace, work = opened(name)
    return [(change_of(trace, work.group_of_key, own), work) for own in sequences(trace)]


def names(change: Change, work: WorkTime) -> list[str]:
    return [work.things[work.groups[one.group].thing] for one in change.parts]


def test_a_device_that_slows_down_in_two_steps() -> None:
    ((change, _),) = changes("sus_steps.etdp")
    assert change is not None
    assert [level.number for level in change.levels] == [1, 81, 141]
    assert [round(level.factor, 2) for level in change.levels] == [1, 1.25, 1.9]
    assert change.is_uniform
    assert change.is_slower


def test_attention_that_grows_with_the_position() -> None:
    (prefill, _), (change, work) = changes("llm_200.etdp")
    assert prefill is None
    assert change is not None
    assert change.trend is not None
    assert change.trend.slope == pytest.approx(8000, rel=0.03)
    assert not change.is_uniform
    assert names(change, work) == ["llama::custom_sdpa.out"]


def test_positions_start_again_after_another_method() -> None:
    (encoder, _), (decoder, _) = changes("encdec.etdp")
    assert encoder is None
    assert decoder is not None
    assert decoder.trend is not None
    assert decoder.positions == 20
    assert decoder.trend.slope == pytest.approx(2000, rel=0.1)


def test_one_operator_with_a_step_is_not_uniform() -> None:
    random = np.random.default_rng(0)
    runs, at = [], 0
    for number in range(60):
        times = [10_000, 10_000 if number < 30 else 30_000, 10_000]
        times = [int(ns * random.normal(1, 0.01)) for ns in times]
        runs.append((at, list(zip("abc", times, strict=True))))
        at += sum(times) + 100
    trace = inference_trace("one", runs)
    (own,) = sequences(trace)
    change = change_of(trace, np.arange(len(trace.keys)), own)
    assert change is not None
    assert [level.number for level in change.levels] == [1, 31]
    assert not change.is_uniform
    assert len(change.parts) == 1
    assert trace.strings[int(trace.keys.name[change.parts[0].group])] == "b"


def test_few_inferences_do_not_change() -> None:
    trace = inference_trace("few", [(at * 100, [("a", 10 + at)]) for at in range(9)])
    assert change_of(trace, np.arange(len(trace.keys)), sequences(trace)[0]) is None
