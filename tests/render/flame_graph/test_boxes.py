"""Where the boxes of a flame graph are, and which are left out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree, bottom_up
from viewer.analysis.links.linker import unlinked
from viewer.render.flame_graph import boxes
from viewer.render.flame_graph.boxes import (
    AROUND,
    INSIDE,
    WIDTH,
    FlameGraph,
    FlameLayout,
    colors_of_weights,
    flame_bands,
    flame_graph,
    group_weights,
)
from viewer.render.lod import weights_of
from viewer.render.palette import FRAME, RAMP, SLAB, by_name
from viewer.render.time_axis import XMap

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
        names, np.array(parent), np.arange(count), depth, unknown, np.array(total), own,
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
        total, total, total,
    )  # fmt: skip
    graph = flame_graph(table, "", "")
    assert (len(graph.names), graph.narrow) == (2, count - 1)


def test_without_any_time_there_is_no_box():
    graph = flame_graph(table_of(("t", "a", 5, 5)), "", "")
    assert (graph.names, graph.level_count, graph.whole_ns) == ((), 0, 0)


#            main                   load
#     run          copy                      main 100: run 60 (conv 40, copy 10), copy 30
#  conv copy                                  load 50
NAMES = ("main", "run", "conv", "copy", "copy", "load")
DEPTH = np.array([0, 1, 2, 2, 1, 0])
VALUE = np.array([100, 60, 40, 10, 30, 50])
COLORS = np.array([1, 2, 3, 4, 4, 5], np.uint8)


@pytest.fixture
def layout() -> FlameLayout:
    return FlameLayout.of(DEPTH, VALUE)


def test_a_box_starts_at_its_parent_or_behind_its_sibling(layout):
    boxes = list(zip(layout.start.tolist(), layout.end.tolist(), strict=True))
    assert boxes == [(0, 100), (0, 60), (0, 40), (40, 50), (60, 90), (100, 150)]
    assert layout.whole == 150
    assert layout.rows == 3


def test_rows_hold_the_nodes_from_left_to_right(layout):
    assert layout.order.tolist() == [0, 5, 1, 4, 2, 3]
    assert layout.levels.row_ptr.tolist() == [0, 2, 4, 6]
    assert layout.is_exact
    assert layout.widths(np.arange(6)).tolist() == VALUE.tolist()
    assert [layout.edges(node) for node in range(6)] == [
        *zip(layout.start.tolist(), layout.end.tolist(), strict=True)
    ]


def test_children_that_take_more_than_their_parent_end_with_it():
    layout = FlameLayout.of(np.array([0, 1, 1]), np.array([10, 8, 8]))
    assert not layout.is_exact
    assert layout.end.tolist() == [10, 8, 10]
    assert layout.start.tolist() == [0, 0, 8]


def test_no_nodes_have_no_rows():
    none = np.empty(0, np.int64)
    layout = FlameLayout.of(none, none)
    assert (layout.rows, layout.whole) == (0, 0)


def test_the_raster_finds_the_node_below_a_column(layout):
    raster, xmap = layout.raster(COLORS), XMap(0, 150, 300)
    found = [layout.order[raster.hit(row, x, xmap)] for row, x in ((0, 10), (0, 250), (2, 90))]
    assert [NAMES[node] for node in found] == ["main", "load", "copy"]
    assert raster.hit(1, 250, xmap) == -1


def test_zoomed_to_a_node_it_and_what_is_around_it_fill_the_width(layout):
    xmap = XMap(*layout.around(1), 120)
    cells = layout.raster(COLORS).draw([0, 1, 2], xmap) & 0x3F
    assert set(cells[0].tolist()) == {1}
    assert set(cells[1, :-1].tolist()) == {2}
    # Of conv and copy, 40 and 10 of 60 ticks.
    assert cells[2, 10] == 3
    assert cells[2, 90] == 4
    assert cells[2, 110] == 0


def test_boxes_of_some_nodes_stay_where_they_are(layout):
    copies = np.array([name == "copy" for name in NAMES])
    raster, xmap = layout.raster_of(copies, COLORS), XMap(0, 150, 150)
    cells = raster.draw([0, 1, 2], xmap) & 0x3F
    assert not cells[0].any()
    assert np.flatnonzero(cells[1]).min() == 60
    assert layout.order[raster.hit(2, 45, xmap)] == 3


def test_many_boxes_share_a_column():
    count = 5000
    depth = np.append(0, np.ones(count, np.int64))
    layout = FlameLayout.of(depth, np.append(count, np.ones(count, np.int64)))
    cells = layout.raster(np.full(count + 1, 7, np.uint8)).draw([0, 1], XMap(0, count, 100))
    assert (cells & 0x3F == 7)[:, :-2].all()


def test_rows_above_the_zoomed_node_are_a_source_of_their_own():
    bands = flame_bands(4, 18, inside_from=2)
    assert bands.trace.tolist() == [AROUND, AROUND, INSIDE, INSIDE]
    assert bands.total_height == 72
    assert bands.band_at(37) == 2


def test_a_node_has_the_color_of_its_slices_or_that_of_what_is_shared():
    node = np.array([0, 0, 1, 1, 4], np.int32)  # the last is in no node, nodes 2 and 3 have none
    start, end = np.zeros(5, np.int64), np.array([5, 9, 2, 3, 50])
    color = np.array([1, 2, 3, 3, 4], np.uint8)
    weight = group_weights(node, weights_of(start, end, color), 4)
    assert colors_of_weights(weight).tolist() == [SLAB, 3, FRAME, FRAME]
    by_name = group_weights(np.array([1, 2, 2, 0]), weight, 4)
    assert colors_of_weights(by_name).tolist() == [FRAME, SLAB, SLAB, FRAME]


def test_a_node_has_the_color_of_its_longest_duration():
    node, start, end = np.zeros(3, np.int32), np.zeros(3, np.int64), np.array([5, 9, 2])
    color = np.array([RAMP, RAMP + 3, RAMP + 1], np.uint8)
    weight = group_weights(node, weights_of(start, end, color), 1)
    assert colors_of_weights(weight).tolist() == [RAMP + 3]
