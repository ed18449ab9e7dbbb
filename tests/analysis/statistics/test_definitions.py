"""Self and wall time of every key of real files, against their definitions."""

from collections import Counter

import numpy as np
import pytest

from tests.paths import DATA, SAMPLES
from viewer.analysis.cost.event_times import stated_alone
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.analysis.statistics.grouping import Grouping
from viewer.model.queries import counted_slices, foreign
from viewer.workspace.workspace import Workspace

FILES = [
    [DATA / "torq" / "compile_c0_callsite.csv", DATA / "torq" / "tiny_cnn.mlir"],
    [DATA / "torq" / "host_h1_quoted.csv", DATA / "torq" / "tiny_cnn.mlir"],
    [DATA / "chrome_json" / "kineto_cpu.json"],
    [DATA / "chrome_json" / "torch_training.json.gz"],
    sorted((SAMPLES / "attention_xnnpack").iterdir()),
    sorted((SAMPLES / "delegate_handle_map").iterdir()),
]


@pytest.fixture(params=FILES, ids=lambda paths: paths[0].name)
def tables(request):
    space = Workspace()
    for path in request.param:
        space.open(str(path))
    return [space.links(trace) for trace in space.traces]


def self_by_definition(table, key: str) -> Counter[str]:
    """Durations of the slices of a group less nested slices of other groups, by plain loops.

    A slice without a group stays inside: what is nested in it is nested in what is around it.
    """
    trace, slices, parts = table.trace, table.trace.slices, GroupKeys(table).of(key)
    group_of = parts.of(slices, np.arange(len(slices)))
    group_of[stated_alone(trace, np.zeros(len(trace.keys)))[slices.key] < 0] = -1
    counted, outside = counted_slices(trace), set(foreign(slices).tolist())
    rows = slices.rows()
    lanes: dict[tuple[int, int], list[int]] = {}
    for index in range(len(slices)):
        row = int(rows[index])
        lanes.setdefault((int(slices.row_track[row]), int(slices.row_lane[row])), []).append(index)
    found = Counter[str]()
    order = np.arange(len(slices)) if slices.order is None else slices.order
    for members in lanes.values():
        open_slices: list[tuple[int, str | None, bool]] = []  # depth, group, whether it counts
        for index in sorted(
            members, key=lambda i: (slices.start[i], slices.row_depth[rows[i]], order[i])
        ):
            depth = int(slices.row_depth[rows[index]])
            while open_slices and open_slices[-1][0] >= depth:
                open_slices.pop()
            group = -1 if index in outside else int(group_of[index])
            long = int(slices.end[index] - slices.start[index])
            counts = counted is None or bool(counted[index])
            around = next(((g, c) for _, g, c in reversed(open_slices) if g is not None), None)
            label = parts.labels[group] if group >= 0 else None
            if label is not None:
                found[label] += long * counts
                if around is not None:
                    found[around[0]] -= long * around[1]
            open_slices.append((depth, label, counts))
    return found


def test_self_is_what_its_definition_says(tables):
    for table in tables:
        grouping = Grouping(table)
        for key in set(grouping.keys) - {"unit", "inference", "thread"}:
            expected = self_by_definition(table, key)
            found = Counter[str]()
            for group in grouping.by(key).groups:
                found[group.label] += group.self_ticks
            assert +found == +expected


def test_wall_times_are_the_whole_and_never_more_than_self(tables):
    for table in tables:
        grouping = Grouping(table)
        for key in grouping.keys:
            found = grouping.by(key)
            wall = sum(group.wall or 0 for group in found.groups)
            assert wall + found.ungrouped == found.whole
            assert sum(g.share for g in found.groups if g.wall is not None) <= 1 + 1e-9
