"""The nodes of a differential flame graph: widths of B, and a group of what only A has."""

import numpy as np
import pytest

from tests.builders.path_arms import arm_of_traces, nested
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.path_changes import path_changes
from viewer.render.flame_graph.changed_calls import ONLY_A, changed_calls
from viewer.render.palette import FASTER, FRAME, SLAB, SLOWER, UNLINKED

OLD = {"main": {"gone": {"inner": {"deep": 4_000}}, "kept": {"x": 5_000, "away": 600}}, "tail": 700}
NEW = {"main": {"kept": {"x": 8_000, "more": 90}}, "tail": 500}


def calls_of(a, b):
    arms = [
        arm_of_traces(
            *(nested(f"{name}{i}", calls, scale=by) for i, by in enumerate((1, 1.001, 1.003)))
        )
        for name, calls in (("a", a), ("b", b))
    ]
    return changed_calls(path_changes(Comparison(*arms), None))


@pytest.fixture
def calls():
    return calls_of(OLD, NEW)


def rows(calls):
    """The width of every node in ns by its names, in their order."""
    table = calls.table
    return {tuple(table.path(i)): int(table.total[i]) for i in range(len(table))}


def test_boxes_have_the_time_of_b_and_the_widest_come_first(calls):
    found = rows(calls)
    assert list(found)[:5] == [
        ("main",), ("main", "kept"), ("main", "kept", "x"), ("main", "kept", "more"), ("tail",)
    ]  # fmt: skip
    assert found["main", "kept", "x"] == 8_008
    assert found["tail",] == 500


def test_what_only_a_has_is_in_a_group_at_the_end_with_the_time_of_a(calls):
    found = rows(calls)
    assert list(found)[5:] == [
        (ONLY_A,), (ONLY_A, "gone"), (ONLY_A, "gone", "inner"), (ONLY_A, "gone", "inner", "deep"),
        (ONLY_A, "away"),
    ]  # fmt: skip
    assert found[ONLY_A,] == found[ONLY_A, "gone"] + found[ONLY_A, "away"]
    assert found[ONLY_A, "gone"] == 4_004


def test_no_box_of_b_has_time_that_only_a_has(calls):
    table, found = calls.table, rows(calls)
    for i in range(len(table)):
        inside = int(table.total[table.parent == i].sum())
        assert inside <= int(table.total[i])
    assert found["main",] == found["main", "kept"]


def test_numbers_are_those_of_paths(calls):
    for i in np.flatnonzero(calls.number >= 0).tolist():
        assert calls.changes.names_of(int(calls.number[i]))[-1] == calls.table.text(i)
    assert sorted(calls.number.tolist()) == [-1, *range(len(calls.changes))]


def test_colors_are_verdicts(calls):
    color = dict(zip(rows(calls), calls.color.tolist(), strict=True))
    assert color["main", "kept", "x"] == color["main", "kept"] == SLOWER
    assert color["tail",] == FASTER
    assert color["main", "kept", "more"] == color[ONLY_A, "gone", "inner"] == UNLINKED
    assert color[ONLY_A,] == FRAME
    assert set(calls_of(OLD, OLD).color.tolist()) == {SLAB}


def test_without_paths_of_a_alone_there_is_no_group():
    assert ONLY_A not in {path[0] for path in rows(calls_of(NEW, NEW))}
    assert all(path[0] != ONLY_A for path in rows(calls_of({"tail": 700}, NEW)))


def test_a_part_is_one_node_with_what_is_below_it(calls):
    at = calls.table.find([ONLY_A, "gone"])
    part = calls.part(at)
    assert list(rows(part)) == [("gone",), ("gone", "inner"), ("gone", "inner", "deep")]
    assert part.color.tolist() == [UNLINKED] * 3
    assert part.change_ns.tolist() == [-4_004] * 3
