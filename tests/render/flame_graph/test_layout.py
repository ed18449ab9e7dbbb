"""Boxes of a flame graph: where they are, how they are drawn, and what colors they have."""

import numpy as np
import pytest

from viewer.render.axis.xmap import XMap
from viewer.render.flame_graph.layout import (
    AROUND,
    INSIDE,
    FlameLayout,
    colors_of_weights,
    flame_bands,
    group_weights,
)
from viewer.render.lod import weights_of
from viewer.render.palette import FRAME, RAMP, SLAB

#            main                   load
#     run          copy                      main 100: run 60 (conv 40, copy 10), copy 30
#  conv copy                                  load 50
NAMES = ("main", "run", "conv", "copy", "copy", "load")
PARENT = np.array([-1, 0, 1, 1, 0, -1])
DEPTH = np.array([0, 1, 2, 2, 1, 0])
VALUE = np.array([100, 60, 40, 10, 30, 50])
COLORS = np.array([1, 2, 3, 4, 4, 5], np.uint8)


@pytest.fixture
def layout() -> FlameLayout:
    return FlameLayout.of(PARENT, DEPTH, VALUE)


def test_a_box_starts_at_its_parent_or_behind_its_sibling(layout):
    boxes = list(zip(layout.start.tolist(), layout.end.tolist(), strict=True))
    assert boxes == [(0, 100), (0, 60), (0, 40), (40, 50), (60, 90), (100, 150)]
    assert layout.whole == 150
    assert layout.rows == 3


def test_rows_hold_the_nodes_from_left_to_right(layout):
    assert layout.order.tolist() == [0, 5, 1, 4, 2, 3]
    assert layout.row_ptr.tolist() == [0, 2, 4, 6]
    assert layout.order[layout.place].tolist() == [0, 1, 2, 3, 4, 5]


def test_children_that_take_more_than_their_parent_end_with_it():
    layout = FlameLayout.of(np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([10, 8, 8]))
    assert layout.end.tolist() == [10, 8, 10]
    assert layout.start.tolist() == [0, 0, 8]


def test_no_nodes_have_no_rows():
    none = np.empty(0, np.int64)
    layout = FlameLayout.of(none, none, none)
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
    parent = np.append(-1, np.zeros(count, np.int64))
    depth = np.append(0, np.ones(count, np.int64))
    layout = FlameLayout.of(parent, depth, np.append(count, np.ones(count, np.int64)))
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
