"""Frames of a timeline: rows of several traces in their colors, over ground and grid lines.

The rasters draw cells (`viewer.render.raster`); here they become pixels. All that a frame needs of
a trace is drawn together: its slices, those that stand out, and marks.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from weakref import ref

import numpy as np

from viewer.arrays import Ints
from viewer.render.axis.xmap import Axis, XMap
from viewer.render.frames.rows import FrameRows, KeptRows
from viewer.render.layout import SLICE_TOP, BandKind, TimelineLayout
from viewer.render.lod import Cells
from viewer.render.palette import CELLS, CellColors, Pixels, joined_tables
from viewer.render.raster import RowRaster, draw_together


@dataclass(frozen=True, slots=True)
class RasterSource:
    """One open trace as a frame needs it.

    hits: slices that are drawn over the rest, in `hit_colors`. marks: others of which the frame
    only returns the cells.
    """

    raster: RowRaster
    axis: Axis
    colors: CellColors
    hits: RowRaster | None = None
    hit_colors: CellColors | None = None
    marks: tuple[RowRaster, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkedRows:
    """The bands that have slices of a mark, and in their order the cells of these."""

    bands: Ints
    cells: Cells


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawn frame: (height, width) pixels 0xffRRGGBB, and the marks of the traces that have any.

    marks: by the number of the trace in the sources, in the order of its marks.
    """

    image: Pixels
    marks: dict[int, list[MarkedRows]]


@dataclass(frozen=True, slots=True)
class Backdrop:
    """The background without slices: 0xffRRGGBB of the canvas, and grid lines at some columns."""

    canvas: int
    grid: int
    columns: Ints


def draw_frame(
    layout: TimelineLayout,
    y0: int,
    height: int,
    xmap: XMap,
    sources: Sequence[RasterSource],
    backdrop: Backdrop,
    out: Pixels | None = None,
    ratio: float = 1.0,
    kept: KeptRows | None = None,
) -> Frame:
    """Return the lines [y0, y0 + height) of the content, and the marks on them.

    Only rows are drawn; headers, strips and gaps show the backdrop. `xmap` is on the axis in ns;
    its columns are device pixels. `out` is reused if given. Rows of a trace that is not in
    `sources` stay empty. ratio: device pixels per line of the content; the image height is scaled
    by it. kept: the rows of the last frame of this view, for the next one.
    """
    kept = KeptRows() if kept is None else kept
    image = np.empty((round(height * ratio), xmap.width), np.uint32) if out is None else out
    bands = layout.bands_between(y0, y0 + height)
    bands = bands[layout.kind[bands] == BandKind.ROW]
    tops = layout.y[bands] - y0 + SLICE_TOP
    bottoms = np.rint((tops + layout.slice_height[bands]) * ratio).astype(np.int64)
    tops = np.rint(tops * ratio).astype(np.int64)
    trace_of_band = layout.trace[bands]
    drawn = (trace_of_band >= 0) & (trace_of_band < len(sources))
    _lay_ground(image, tops[drawn], bottoms[drawn], backdrop)
    marks: dict[int, list[MarkedRows]] = {}
    numbers = sorted(set(trace_of_band[drawn].tolist()))
    kept.keep_only(numbers)
    for number in numbers:
        own, source = np.flatnonzero(trace_of_band == number), sources[number]
        here = xmap.on(source.axis)
        draw = partial(_frame_rows, source, here, backdrop)
        inputs = _inputs(source, here, backdrop)
        found = kept.rows(number, inputs, layout.row[bands[own]], draw)
        expand(image, found.body, found.line, tops[own], (bottoms - tops)[own])
        if source.marks:
            marks[number] = [MarkedRows(bands[own[at]], cells) for at, cells in found.marks]
    return Frame(image, marks)


def _inputs(source: RasterSource, xmap: XMap, backdrop: Backdrop) -> Hashable:
    """Return what the pixels of a row depend on, besides its number.

    It does not keep rasters: they change with what they show, but never in place.
    """
    hits = None if source.hits is None else ref(source.hits)
    rasters = ref(source.raster), hits, tuple(map(ref, source.marks))
    grid = backdrop.grid, backdrop.columns.tobytes()
    return rasters, source.colors, source.hit_colors, xmap, grid


def _frame_rows(source: RasterSource, xmap: XMap, backdrop: Backdrop, rows: Ints) -> FrameRows:
    """Draw rows of a source, with the lines of the grid behind them."""
    drawn = draw_rows(source, rows, xmap)
    row, column = np.nonzero(drawn.cells[:, backdrop.columns] == 0)
    column = backdrop.columns[column]
    drawn.body[row, column] = drawn.line[row, column] = backdrop.grid
    return FrameRows(rows, drawn.body, drawn.line, drawn.marks)


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows of a source, each (rows, width).

    cells: with hits, 0 where there is no slice. body, line: the colors of bodies and edges. marks:
    of each of its marks, the positions of the rows that have slices of it, and their cells.
    """

    cells: Cells
    body: Pixels
    line: Pixels
    marks: list[tuple[Ints, Cells]]


def draw_rows(source: RasterSource, rows: Ints, xmap: XMap) -> DrawnRows:
    """Return the cells and colors of some rows with hits. xmap: on the trace's axis."""
    hits = () if source.hits is None else (source.hits,)
    parts = [(one, one.rows_with_slices(rows)) for one in (*hits, *source.marks)]
    asked = [(one, rows[own].tolist()) for one, own in parts]
    cells, *drawn = draw_together([(source.raster, rows.tolist()), *asked], xmap)
    body, line, at = source.colors.body, source.colors.line, cells.astype(np.intp)
    over = zip((own for _, own in parts), drawn, strict=True)
    if hits:
        # The colors of hits are in the second half of joined tables.
        own, above = next(over)
        at[own] = np.where(above, above + np.intp(CELLS), at[own])
        body, line = joined_tables(source.colors, source.hit_colors or source.colors)
        cells[own] = np.maximum(cells[own], above)
    # A third of the time of body[cells].
    return DrawnRows(cells, body.take(at), line.take(at), list(over))


def _lay_ground(image: Pixels, tops: Ints, bottoms: Ints, backdrop: Backdrop) -> None:
    """Fill all lines except rows with the backdrop; rows are painted completely.

    Saves 10 % time.
    """
    line = np.full(image.shape[1], backdrop.canvas, np.uint32)
    line[backdrop.columns] = backdrop.grid
    bare = np.ones(len(image), np.bool_)
    for top, bottom in zip(np.maximum(tops, 0).tolist(), bottoms.tolist(), strict=True):
        bare[top : max(bottom, 0)] = False
    image[bare] = line


def expand(image: Pixels, body: Pixels, line: Pixels, tops: Ints, heights: Ints) -> None:
    """Expand rows of pixels: row i fills lines tops[i] to tops[i] + heights[i] of the image.

    The first and the last line come from `line`, those between from `body`; clipped to the image.
    """
    limit = len(image)
    for i, (top, height) in enumerate(zip(tops.tolist(), heights.tolist(), strict=True)):
        bottom = top + height - 1
        image[max(top + 1, 0) : max(min(bottom, limit), 0)] = body[i]
        for y in (top, bottom):
            if 0 <= y < limit:
                image[y] = line[i]
