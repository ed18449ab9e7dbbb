"""A memory plan as pixels: bands, boxes, gaps and what is below a pixel."""

import numpy as np

from viewer.render.box_pictures import (
    NONE,
    ArenaBand,
    ArenaBoxes,
    draw_boxes,
    place_bands,
    place_boxes,
)
from viewer.render.time_axis import XMap


def boxes(*rows):
    """Boxes of (start, end, low, high) or (start, end, low, high, band)."""
    full = [(*row, 0) if len(row) == 4 else row for row in rows]
    return ArenaBoxes(*np.array(full, np.int64).reshape(-1, 5).T)


def drawn(found, sizes=(10,), t=(0, 10), width=10, lines=10):
    """The picture of boxes in bands of one line per byte, from the top on."""
    bands, top = [], 0
    for size in sizes:
        bands.append(ArenaBand(size, top, size))
        top += size
    placed = place_boxes(found, bands, XMap(*t, width))
    return draw_boxes(placed, width, lines)


def test_bands_share_the_lines_by_their_bytes():
    bands = place_bands([300, 100], 10, 100, 5, 10)
    assert [(band.top, band.lines) for band in bands] == [(15, 55), (75, 25)]
    assert bands[-1].top + bands[-1].lines == 100


def test_bands_that_do_not_fit_are_as_low_as_allowed():
    bands = place_bands([1, 1, 1], 0, 20, 5, 10)
    assert [(band.top, band.lines) for band in bands] == [(5, 10), (20, 10), (35, 10)]


def test_the_first_byte_of_a_band_is_at_its_bottom():
    picture = drawn(boxes((0, 3, 0, 2)))
    assert picture[8:, :3].tolist() == [[0] * 3] * 2
    assert (picture == NONE).sum() == 94
    assert ArenaBand(10, 0, 20).line_of(3) == 14


def test_every_memory_is_a_band():
    picture = drawn(boxes((0, 3, 0, 2, 0), (0, 3, 0, 2, 1)), sizes=(4, 6))
    assert picture[:, 0].tolist() == [-1, -1, 0, 0, -1, -1, -1, -1, 1, 1]


def test_boxes_with_room_for_it_leave_a_gap():
    picture = drawn(boxes((0, 5, 0, 5), (5, 10, 0, 5), (0, 5, 5, 10)))
    assert picture[9].tolist() == [0, 0, 0, 0, -1, 1, 1, 1, 1, -1]
    assert picture[:, 0].tolist() == [-1, 2, 2, 2, 2, -1, 0, 0, 0, 0]


def test_small_boxes_are_one_pixel_and_not_hidden():
    found = boxes((500, 501, 0, 1), (0, 1000, 0, 100))
    picture = drawn(found, sizes=(100,), t=(0, 1000), lines=100)
    assert picture[99, 5] == 0
    assert picture[98, 5] == 1


def test_only_what_is_in_the_range_is_drawn():
    found = boxes((0, 5, 0, 1), (5, 9, 1, 2), (9, 12, 2, 3))
    placed = place_boxes(found, [ArenaBand(10, 0, 10)], XMap(5, 9, 8))
    assert placed.number.tolist() == [1]
    assert (placed.left.tolist(), placed.right.tolist()) == ([0], [8])
    assert (placed.place_of(1), placed.place_of(0), placed.place_of(7)) == (0, -1, -1)


def test_a_box_outside_its_memory_stays_in_its_band():
    picture = drawn(boxes((0, 2, 8, 40), (4, 6, 40, 50)))
    assert (picture[:2, 0] == 0).all()
    assert picture[0, 4] == 1


def test_boxes_that_all_cover_one_another_take_bounded_work():
    count = 100_000
    found = boxes(*[(0, 10, 0, 10)] * 3)
    many = ArenaBoxes(*(np.repeat(edge[:1], count) for edge in (
        found.start, found.end, found.low, found.high, found.band,
    )))  # fmt: skip
    picture = drawn(many)
    assert 0 <= picture[5, 5] < 12  # the first ones, not all


def test_bands_below_the_canvas_are_left_out():
    placed = place_boxes(boxes((0, 3, 0, 9)), [ArenaBand(9, 95, 30)], XMap(0, 10, 10))
    picture = draw_boxes(placed, 10, 100)
    assert (picture[96:, 0] == 0).all()
