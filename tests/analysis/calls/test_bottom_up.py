"""Self time by name, and its callers."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.paths import DATA
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree, bottom_up, called
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.trace import Trace


def inverted(trace: Trace, levels: int | None = None) -> CallTable:
    return bottom_up(CallTree(unlinked(trace)).table(), levels)


def figures(table: CallTable) -> dict[tuple[str, ...], tuple[int, int, int]]:
    return {
        tuple(table.path(node)): (
            int(table.total[node]), int(table.self_ticks[node]), int(table.count[node])
        )
        for node in range(len(table))
    }  # fmt: skip


def test_callers_are_below_the_name_that_they_call():
    trace = trace_of(
        ("t", "a", 0, 50), ("t", "x", 10, 30), ("t", "b", 60, 90), ("t", "x", 60, 65),
        ("u", "x", 0, 7),
    )  # fmt: skip
    found = figures(inverted(trace))
    assert {path: found[path] for path in found if path[0] == "x"} == {
        ("x",): (32, 32, 3),
        ("x", "a"): (20, 20, 1),
        ("x", "a", "t"): (20, 20, 1),
        ("x", "a", "t", "p"): (20, 20, 1),
        ("x", "b"): (5, 5, 1),
        ("x", "b", "t"): (5, 5, 1),
        ("x", "b", "t", "p"): (5, 5, 1),
        ("x", "u"): (7, 7, 1),
        ("x", "u", "p"): (7, 7, 1),
    }
    assert found["a",] == (50, 30, 1)


def test_a_recursion_has_the_total_of_its_outermost_calls():
    trace = trace_of(("t", "f", 0, 100), ("t", "f", 10, 60), ("t", "f", 20, 30))
    found = figures(inverted(trace))
    assert found["f",] == (100, 100, 3)
    assert found["f", "t"] == (100, 50, 1)
    assert found["f", "f"] == (50, 50, 2)
    assert found["f", "f", "f"] == (10, 10, 1)


def test_small_nodes_get_no_callers():
    trace = trace_of(("t", "a", 0, 50), ("t", "x", 10, 30), ("u", "b", 0, 5), ("u", "x", 1, 3))
    table = CallTree(unlinked(trace)).table()
    every, found = figures(bottom_up(table)), figures(bottom_up(table, least=3))
    assert set(every) - set(found) == {("x", "b", "u"), ("x", "b", "u", "p")}
    assert found == {path: every[path] for path in found}


def test_levels_limit_the_callers():
    trace = trace_of(("t", "a", 0, 50), ("t", "x", 10, 30))
    assert set(figures(inverted(trace, 1))) == {("a",), ("x",)}
    assert set(figures(inverted(trace, 2))) == {("a",), ("a", "t"), ("x",), ("x", "a")}


@pytest.mark.parametrize(
    "name",
    [
        "etdump/cnn_portable_x10.etdp",
        "table_csv/two_threads.csv",
        "chrome_json/onnxruntime_profile.json",
    ],
)
def test_names_have_total_self_and_count_of_statistics(name):
    trace = open_file(str(DATA / name))
    found = inverted(trace)
    for group in Grouping(unlinked(trace)).by("name").groups:
        node = found.find([group.label])
        assert (int(found.total[node]), int(found.self_ticks[node]), int(found.count[node])) == (
            group.total, group.self_ticks, group.spread.count
        )  # fmt: skip
    assert (found.total >= found.self_ticks).all()


def test_self_time_of_callers_is_that_of_the_name():
    trace = open_file(str(DATA / "chrome_json" / "kineto_cpu.json"))
    found = inverted(trace)
    ends = np.flatnonzero(found.size == 1)
    top = CallTree(unlinked(trace)).table()
    whole = int(top.total[top.depth == 0].sum())
    assert int(found.self_ticks[found.depth == 0].sum()) == whole
    assert int(found.self_ticks[ends].sum()) == whole


def test_an_empty_tree_stays_empty():
    table = CallTree(unlinked(trace_of(("t", "a", 0, 1)))).table()
    assert len(bottom_up(table.kept(np.zeros(len(table), np.bool_)))) == 0


def test_a_caller_leads_to_the_nodes_that_it_adds_up():
    trace = trace_of(
        ("t", "a", 0, 50), ("t", "x", 10, 30), ("t", "b", 60, 90), ("t", "x", 60, 65),
        ("t", "x", 61, 62), ("u", "x", 0, 7),
    )  # fmt: skip
    table = CallTree(unlinked(trace)).table()
    found = bottom_up(table)

    def below(*names: str) -> list[list[str]]:
        node = found.find(names)
        assert node is not None
        nodes = called(table, found, node)
        assert int(table.self_ticks[nodes].sum()) == int(found.self_ticks[node])
        return [table.path(item) for item in nodes.tolist()]

    assert below("x") == [
        ["p", "t", "a", "x"], ["p", "t", "b", "x"], ["p", "t", "b", "x", "x"], ["p", "u", "x"],
    ]  # fmt: skip
    assert below("x", "b") == [["p", "t", "b", "x"]]
    assert below("x", "x") == [["p", "t", "b", "x", "x"]]
    assert below("x", "u", "p") == [["p", "u", "x"]]
