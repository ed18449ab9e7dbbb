"""Frames: rows, hits, marks and grid lines where the layout says."""

import numpy as np

from tests.builders.stocks import stacked
from tests.render.test_raster import colors, crowded, raster_of, trace_of
from viewer.render import layout as lay
from viewer.render.axis.xmap import Axis, XMap
from viewer.render.frames.frame import (
    Backdrop,
    PlacedRows,
    RasterSource,
    draw_frame,
    expand,
)
from viewer.render.palette import Emphasis, cell_colors
from viewer.render.raster import RowRaster


def placed(ground, rows, *spans):
    """Rows of two columns that fill some lines, each with a body and an edge of one color."""
    bodies, edges = zip(*rows, strict=True)
    pixels = np.repeat(np.array([*bodies, *edges, ground], np.uint32)[:, None], 2, axis=1)
    tops, bottoms = np.array(spans).T
    return PlacedRows(pixels, tops, bottoms)


def test_rows_get_their_height_and_are_cut_at_the_frame():
    image = np.zeros((6, 2), np.uint32)
    rows = [(1, 5), (2, 6), (3, 7)]
    expand(image, [placed(9, rows, (-2, 2), (4, 9), (6, 8))])
    assert image[:, 0].tolist() == [1, 5, 9, 9, 6, 2]
    assert (image[:, 0] == image[:, 1]).all()


def test_rows_of_several_traces_share_a_frame():
    image = np.zeros((9, 2), np.uint32)
    first = placed(9, [(1, 5), (2, 6)], (0, 3), (6, 7))
    expand(image, [first, placed(9, [(3, 7)], (3, 6))])
    assert image[:, 0].tolist() == [5, 1, 5, 7, 3, 7, 6, 9, 9]


def test_a_frame_has_rows_hits_grid_and_canvas_where_the_layout_says():
    trace = trace_of([(0, 50), (60, 100)])
    own = colors(trace.slices)
    full, dim = cell_colors(True), cell_colors(True, Emphasis.DIMMED)
    source = RasterSource(
        raster_of(trace), Axis(), dim, RowRaster.subset(trace.slices, own, np.array([1])), full
    )
    layout = stacked(trace)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.array([20, 55]))
    image = draw_frame(layout, 10, 60, XMap(0, 100, 100), [source], backdrop).image
    top = lay.HEADER_HEIGHT - 10 + lay.SLICE_TOP
    assert (image[top - 1] == backdrop.canvas).sum() == 98
    assert image[0, 55] == image[top + 5, 55] == backdrop.grid
    first, second = own.tolist()
    assert image[top + 5, 20] == dim.body[0xFF00 | first]
    assert image[top + 5, 80] == full.body[0xFF00 | second]
    assert image[top + lay.SLICE_HEIGHT - 1, 80] != backdrop.canvas
    assert image[top + lay.SLICE_HEIGHT, 80] == backdrop.canvas


def test_grid_lines_pass_behind_hits_that_a_crowded_row_shows_a_column_away():
    trace = crowded(5000)
    own, n = colors(trace.slices), len(trace.slices)
    hits = RowRaster.subset(trace.slices, own, np.arange(0, n, 10))
    full = cell_colors(True)
    source = RasterSource(raster_of(trace), Axis(), cell_colors(True, Emphasis.DIMMED), hits, full)
    xmap = XMap(trace.start, trace.end, 700)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.arange(700))
    image = draw_frame(stacked(trace), 0, 56, xmap, [source], backdrop).image
    (cells,) = hits.draw([0], xmap)
    shown = cells > 0
    assert (image[lay.HEADER_HEIGHT + 10][shown] == full.body[cells[shown]]).all()


def test_a_frame_returns_the_cells_of_marks_by_trace_and_does_not_draw_them():
    trace = trace_of([(0, 50), (60, 100)], [(10, 30)])
    own = colors(trace.slices)
    marks = tuple(RowRaster.subset(trace.slices, own, np.array([i])) for i in (1, 2))
    plain = RasterSource(raster_of(trace), Axis(), cell_colors(True))
    marked = RasterSource(raster_of(trace), Axis(), cell_colors(True), marks=marks)
    layout, xmap = stacked(trace), XMap(0, 100, 100)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.array([20]))
    frames = [draw_frame(layout, 0, 99, xmap, [one], backdrop) for one in (plain, marked)]
    assert (frames[0].image == frames[1].image).all()
    assert frames[0].marks == {}
    for row, raster, marked in zip((0, 1), marks, frames[1].marks[0], strict=True):
        assert layout.row[marked.bands].tolist() == [row]
        assert (marked.cells == raster.draw([row], xmap)).all()
