"""Where the boxes of a flame graph are, and which are left out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from viewer.analysis.calls.bottom_up import bottom_up
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.render.flame_graph import boxes
from viewer.render.flame_graph.boxes import WIDTH, FlameGraph, flame_graph
from viewer.render.palette import FRAME, by_name

SLICES = (
    ("t", "main", 0, 400), ("t", "load", 0, 80), ("t", "run", 80, 360), ("t", "conv", 120, 280),
    ("u", "load", 0, 200),
)  # fmt: skip


def table_of(*slices) -> CallTable:
    return CallTree(unlinked(trace_of(*slices))).table()


def made_table(parent: list[int], total: list[int]) -> CallTable:
    """Nodes in preorder, each with a name of its own."""
    depth = np.zeros(len(parent), np.int64)
    for node, above in enumerate(parent):
        depth[node] = depth[above] + 1 if above >= 0 else 0
    count = len(parent)
    own = np.array(total)
    np.subtract.at(
        own,
        [p for p in parent if p >= 0],
        [t for p, t in zip(parent, total, strict=True) if p >= 0],
    )
    unknown = np.full(count, -1)
    names = [f"n{i}" for i in range(count)]
    return CallTable(
        names, np.array(parent), np.arange(count), depth, unknown, unknown, np.array(total), own,
        np.ones(count, np.int64),
    )  # fmt: skip


def placed(graph: FlameGraph) -> dict[str, tuple[int, float, float]]:
    """Level, left edge and width of every box by name, in ticks of a whole of 600."""
    scale = 600 / WIDTH
    return {
        name: (depth, round(start * scale, 6), round(width * scale, 6))
        for name, depth, start, width in zip(
            graph.names, graph.depth.tolist(), graph.start.tolist(), graph.width.tolist(),
            strict=True,
        )
    }  # fmt: skip


def test_boxes_are_as_wide_as_their_total_and_below_their_caller():
    graph = flame_graph(table_of(*SLICES[:4], ("u", "last", 0, 200)), "a.csv", "all")
    assert placed(graph) == {
        "p": (0, 0, 600),
        "t": (1, 0, 400), "main": (2, 0, 400), "load": (3, 0, 80), "run": (3, 80, 280),
        "conv": (4, 80, 160), "u": (1, 400, 200), "last": (2, 400, 200),
    }  # fmt: skip
    assert (graph.narrow, graph.beyond, graph.is_cut, graph.level_count) == (0, 0, False, 5)
    assert graph.whole_ns == 600


def test_bottom_up_the_width_is_the_self_time():
    graph = flame_graph(bottom_up(table_of(*SLICES)), "a.csv", "all", bottom_up=True)
    roots = graph.depth == 0
    widths = dict(zip(np.array(graph.names)[roots], graph.width[roots] / 2, strict=True))
    assert widths == pytest.approx({"main": 40, "load": 280, "run": 120, "conv": 160})
    # Each level is as wide as the boxes that have callers, all of them down to the process.
    for depth in range(3):
        assert graph.width[graph.depth == depth].sum() == pytest.approx(WIDTH)


def test_times_are_ns_rounded_down():
    graph = flame_graph(table_of(*SLICES), "", "", ns_per_tick=Fraction(5, 4))
    assert (graph.whole_ns, graph.total_ns[0]) == (750, 750)
    assert set(zip(graph.names, graph.self_ns.tolist(), strict=True)) >= {("conv", 200)}


def test_a_name_has_the_same_color_in_every_graph():
    graph = flame_graph(table_of(*SLICES), "", "")
    color = dict(zip(graph.names, graph.color.tolist(), strict=True))
    assert [color[name] for name in ("p", "t", "u")] == [FRAME] * 3
    assert color["conv"] == by_name(["conv"])[0]


def test_boxes_below_a_tenth_of_a_pixel_are_left_out_and_counted():
    whole = WIDTH * 10
    table = made_table([-1, 0, 1, 0, 3, 0], [whole, 1, 1, 0, 0, 5])
    graph = flame_graph(table, "", "")
    assert graph.names == ("n0", "n1", "n2", "n5")
    assert graph.narrow == 1  # n4 is below n3
    graph = flame_graph(table, "", "", whole=whole + 1)
    assert graph.names == ("n0", "n5")
    assert graph.narrow == 2
    assert graph.width[0] == WIDTH * whole / (whole + 1)


def test_the_widest_boxes_are_drawn_if_there_are_too_many(monkeypatch):
    monkeypatch.setattr(boxes, "MOST_BOXES", 4)
    table = made_table([-1, 0, 1, 0, 3, 0], [60, 10, 10, 30, 10, 20])
    graph = flame_graph(table, "", "")
    assert graph.names == ("n0", "n1", "n3", "n5")  # of equal ones, the first
    assert (graph.beyond, graph.narrow) == (2, 0)


def test_a_deep_tree_is_cut(monkeypatch):
    monkeypatch.setattr(boxes, "MOST_LEVELS", 3)
    table = made_table([-1, 0, 1, 2, 3], [9] * 5)
    graph = flame_graph(table, "", "")
    assert (graph.level_count, graph.is_cut, graph.narrow) == (3, True, 0)
    assert not flame_graph(replace(table).subtree(2), "", "").is_cut


def test_a_million_narrow_nodes_are_few_boxes():
    count = 1_000_000
    parent = np.zeros(count + 1, np.int64)
    parent[0] = -1
    total = np.ones(count + 1, np.int64)
    total[0] = count
    total[1] = 1000
    unknown = np.full(count + 1, -1)
    table = CallTable(
        ["x"], parent, np.zeros(count + 1, np.int64), (parent == 0).astype(np.int64), unknown,
        unknown, total, total, total,
    )  # fmt: skip
    graph = flame_graph(table, "", "")
    assert (len(graph.names), graph.narrow) == (2, count - 1)


def test_without_any_time_there_is_no_box():
    graph = flame_graph(table_of(("t", "a", 5, 5)), "", "")
    assert (graph.names, graph.level_count, graph.whole_ns) == ((), 0, 0)
