"""Frames of a timeline: rows of several traces in their colors, counters, and marks as diamonds.

The rasters draw cells; here they become pixels, over ground and grid lines. Rows of the last frame
are not drawn again, if their trace, colors, columns and times are the same: when a view scrolls up
or down, or the mouse moved.

A counter is a step area, computed per column and never per change. In a column the area extends to
the time-weighted mean of the values, and a paler area above it to their maximum. So every value is
visible, even if it lasts only one tick. The maximum comes from a pyramid of maxima, the mean from a
prefix sum. The bottom of the area is 0, or the least value if that is below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass
from viewer.model.intervals import durations
from viewer.model.trace_attributes import Counter
from viewer.render.layout import SLICE_TOP, BandKind, TimelineLayout
from viewer.render.lod import Cells
from viewer.render.palette import CELLS, CellColors, Pixels, joined_tables
from viewer.render.raster import RowRaster, draw_together
from viewer.render.time_axis import Axis, XMap

Rows = TypeVar("Rows", Pixels, Cells)


@dataclass(frozen=True, slots=True)
class FrameRows:
    """Rows of a trace.

    rows: their numbers in the trace. pixels: a line with the colors of each body, then one of each
    edge, then one of the ground between rows. marks: of the trace's hits, if it has any, and of
    each of its marks, the positions of the rows that have slices of it, and their cells.
    """

    rows: Ints
    pixels: Pixels
    marks: list[tuple[Ints, Cells]]

    def joined(self, others: FrameRows, rows: Ints) -> FrameRows:
        """Return some of these rows and of others, by their numbers."""
        count, more = len(self.rows), len(others.rows)
        order = _places(np.append(self.rows, others.rows), rows)
        is_own = order < count
        body = np.where(is_own, order, order + count + 1)
        line = body + np.where(is_own, count, more)
        pixels = _picked(self.pixels, others.pixels, np.concatenate([body, line, [2 * count]]))
        marks = []
        for (own_rows, cells), (added, added_cells) in zip(self.marks, others.marks, strict=True):
            marked = np.append(self.rows[own_rows], others.rows[added])
            position = np.flatnonzero(np.isin(rows, marked))
            marks.append((position, _picked(cells, added_cells, _places(marked, rows[position]))))
        return FrameRows(rows, pixels, marks)


class KeptRows:
    """The rows of the last frame, by the number of their trace: no more than a frame shows."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Hashable, FrameRows]] = {}

    def rows(
        self, trace: int, inputs: Hashable, rows: Ints, draw: Callable[[Ints], FrameRows]
    ) -> FrameRows:
        """Return rows of a trace, drawing those that the last frame did not have.

        inputs: everything that their pixels depend on.
        """
        before, last = self._last.get(trace, (None, None))
        if last is None or before != inputs:
            frame_rows = draw(rows)
        elif np.array_equal(last.rows, rows):
            return last
        else:
            frame_rows = last.joined(draw(rows[~np.isin(rows, last.rows)]), rows)
        self._last[trace] = inputs, frame_rows
        return frame_rows

    def keep_only(self, traces: Collection[int]) -> None:
        """Drop the rows of all other traces."""
        self._last = {trace: rows for trace, rows in self._last.items() if trace in traces}


def _places(have: Ints, wanted: Ints) -> Ints:
    """Where numbers are in a list that has all of them."""
    order = np.argsort(have, kind="stable")
    places: Ints = order[np.searchsorted(have, wanted, sorter=order)]
    return places


def _picked(first: Rows, second: Rows, order: Ints) -> Rows:
    """Rows of two arrays, by their places in both together; without joining these before."""
    is_first = order < len(first)
    picked = np.empty((len(order), first.shape[1]), first.dtype)
    picked[is_first] = first[order[is_first]]
    picked[~is_first] = second[order[~is_first] - len(first)]
    return picked


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

    marks: by the number of the trace in the sources, in the order of its marks. hits: the same of
    its hits.
    """

    image: Pixels
    marks: dict[int, list[MarkedRows]]
    hits: dict[int, MarkedRows]


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
    kept_rows: KeptRows | None = None,
) -> Frame:
    """Return the lines [y0, y0 + height) of the content, and the marks on them.

    Only rows are drawn; headers, strips and gaps show the backdrop. `xmap` is on the axis in ns;
    its columns are device pixels. `out` is reused if given. Rows of a trace that is not in
    `sources` stay empty. ratio: device pixels per line of the content; the image height is scaled
    by it. kept_rows: the rows of the last frame of this view, for the next one.
    """
    kept_rows = KeptRows() if kept_rows is None else kept_rows
    image = np.empty((round(height * ratio), xmap.width), np.uint32) if out is None else out
    bands = layout.bands_between(y0, y0 + height)
    bands = bands[layout.kind[bands] == BandKind.ROW]
    tops = layout.y[bands] - y0 + SLICE_TOP
    bottoms = np.rint((tops + layout.slice_height[bands]) * ratio).astype(np.int64)
    tops = np.rint(tops * ratio).astype(np.int64)
    trace_of_band = layout.trace[bands]
    drawn = (trace_of_band >= 0) & (trace_of_band < len(sources))
    marks: dict[int, list[MarkedRows]] = {}
    hits: dict[int, MarkedRows] = {}
    numbers = sorted(set(trace_of_band[drawn].tolist()))
    kept_rows.keep_only(numbers)
    placed: list[PlacedRows] = []
    for number in numbers:
        bands_here, source = np.flatnonzero(trace_of_band == number), sources[number]
        here = xmap.on(source.axis)
        draw = partial(_frame_rows, source, here, backdrop)
        inputs = _inputs(source, here, backdrop)
        frame_rows = kept_rows.rows(number, inputs, layout.row[bands[bands_here]], draw)
        placed.append(PlacedRows(frame_rows.pixels, tops[bands_here], bottoms[bands_here]))
        marked = [MarkedRows(bands[bands_here[rows]], cells) for rows, cells in frame_rows.marks]
        if source.hits is not None:
            hits[number] = marked.pop(0)
        if source.marks:
            marks[number] = marked
    if placed:
        expand(image, placed)
    else:
        image[:] = _ground(backdrop, xmap.width)
    return Frame(image, marks, hits)


def _inputs(source: RasterSource, xmap: XMap, backdrop: Backdrop) -> Hashable:
    """Return what the pixels of rows depend on, besides their numbers.

    It does not keep rasters: they change with what they show, but never in place.
    """
    hits = None if source.hits is None else ref(source.hits)
    rasters = ref(source.raster), hits, tuple(map(ref, source.marks))
    ground = backdrop.canvas, backdrop.grid, backdrop.columns.tobytes()
    return rasters, source.colors, source.hit_colors, xmap, ground


def _frame_rows(source: RasterSource, xmap: XMap, backdrop: Backdrop, rows: Ints) -> FrameRows:
    """Draw rows of a source, with the lines of the grid behind them."""
    drawn = draw_rows(source, rows, xmap)
    row, column = np.nonzero(drawn.cells[:, backdrop.columns] == 0)
    column = backdrop.columns[column]
    drawn.body[row, column] = drawn.line[row, column] = backdrop.grid
    drawn.pixels[-1] = _ground(backdrop, xmap.width)
    return FrameRows(rows, drawn.pixels, drawn.marks)


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows of a source.

    cells: (rows, width) with hits, 0 where there is no slice. pixels: the colors of bodies, then
    of all edges, then a line that is left free. marks: of its hits, if it has any, and of each of
    its marks, the positions of the rows that have slices of it, and their cells.
    """

    cells: Cells
    pixels: Pixels
    marks: list[tuple[Ints, Cells]]

    @property
    def body(self) -> Pixels:
        """The colors of the bodies, (rows, width)."""
        return self.pixels[: len(self.cells)]

    @property
    def line(self) -> Pixels:
        """The colors of the edges, (rows, width)."""
        return self.pixels[len(self.cells) : -1]


def draw_rows(source: RasterSource, rows: Ints, xmap: XMap) -> DrawnRows:
    """Return the cells and colors of some rows with hits. xmap: on the trace's axis."""
    hits = () if source.hits is None else (source.hits,)
    parts = [(part, part.rows_with_slices(rows)) for part in (*hits, *source.marks)]
    asked = [(part, rows[index].tolist()) for part, index in parts]
    cells, *drawn = draw_together([(source.raster, rows.tolist()), *asked], xmap)
    body, line, codes = source.colors.body, source.colors.line, cells.astype(np.intp)
    over = list(zip((index for _, index in parts), drawn, strict=True))
    if hits:
        # The colors of hits are in the second half of joined tables.
        part_rows, above = over[0]
        codes[part_rows] = np.where(above, above + np.intp(CELLS), codes[part_rows])
        body, line = joined_tables(source.colors, source.hit_colors or source.colors)
        cells[part_rows] = np.maximum(cells[part_rows], above)
    pixels = np.empty((2 * len(rows) + 1, xmap.width), np.uint32)
    drawn_rows = DrawnRows(cells, pixels, over)
    # A third of the time of body[cells]; without a mode, it would fill a copy.
    body.take(codes, out=drawn_rows.body, mode="clip")
    line.take(codes, out=drawn_rows.line, mode="clip")
    return drawn_rows


def _ground(backdrop: Backdrop, width: int) -> Pixels:
    """Return a line without slices."""
    line = np.full(width, backdrop.canvas, np.uint32)
    line[backdrop.columns] = backdrop.grid
    return line


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows of a trace, and the lines [top, bottom) of the image that they fill.

    pixels: the bodies of the rows, then their edges, then the ground between them.
    """

    pixels: Pixels
    tops: Ints
    bottoms: Ints


def expand(image: Pixels, parts: Sequence[PlacedRows]) -> None:
    """Fill an image with rows: their first and last lines are edges; what is outside is cut off.

    Equal lines are filled at once. The image may be a part of another one.
    """
    height, before = len(image), 0
    source = np.full(height, len(parts[0].pixels) - 1)
    for part in parts:
        count = len(part.tops)
        first, last = np.clip(part.tops, 0, height), np.clip(part.bottoms, 0, height)
        tall = np.maximum(last - first, 0)
        row = np.repeat(np.arange(count), tall)
        line = np.arange(len(row)) + np.repeat(first - (np.cumsum(tall) - tall), tall)
        source[line] = before + row
        for edge in (part.tops, part.bottoms - 1):
            seen = np.flatnonzero((edge >= 0) & (edge < height))
            source[edge[seen]] = before + count + seen
        before += len(part.pixels)
    lines = list(chain.from_iterable(part.pixels for part in parts))
    bounds = np.flatnonzero(np.diff(source, prepend=-1, append=-1))
    for (top, bottom), number in zip(
        pairwise(bounds.tolist()), source[bounds[:-1]].tolist(), strict=True
    ):
        image[top:bottom] = lines[number]


_FIRST_TICK = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class CounterColors:
    """0xffRRGGBB: `area` up to the mean, `peak` above it, `line` on top, `ground` at the bottom."""

    area: int
    peak: int
    line: int
    ground: int


@dataclass(frozen=True, slots=True, eq=False)
class CounterRaster:
    """One counter, ready to be drawn. Immutable: safe to share between threads.

    top, bottom: the maximum and minimum of all values and 0; the limit of the counter is at the top
    too, if it has one. most: the maximum of all values and 0. maxima[k]: the maxima of complete
    groups of 2**(k + 1) neighbors. area: the integral of the values from the first tick to each
    tick.
    """

    counter: Counter
    top: float
    bottom: float
    most: float
    maxima: tuple[NDArray[Any], ...]
    area: Floats

    @staticmethod
    def of(counter: Counter) -> CounterRaster:
        """Prepare a counter, in linear time."""
        value = counter.value
        maxima = []
        level = value
        while len(level) > 1:
            pairs = len(level) // 2 * 2
            level = np.maximum(level[:pairs:2], level[1:pairs:2])
            maxima.append(level)
        area = np.zeros(len(value))
        np.cumsum(value[:-1] * durations(counter.tick[:-1], counter.tick[1:]), out=area[1:])
        most, bottom = float(value.max(initial=0)), float(value.min(initial=0))
        top = max(most, float(counter.limit))
        return CounterRaster(counter, top, bottom, most, tuple(maxima), area)

    def columns(self, xmap: XMap) -> tuple[Floats, Floats]:
        """Return maximum and mean of each column; `xmap` is on the axis of the trace."""
        return self._between(xmap.edges)

    def at(self, x: int, xmap: XMap) -> tuple[float, float]:
        """Return maximum and mean of one column, both 0 outside the view."""
        if not 0 <= x < xmap.width:
            return 0.0, 0.0
        greatest, mean = self._between(xmap.edges[x : x + 2])
        return float(greatest[0]), float(mean[0])

    def _between(self, edges: Ints) -> tuple[Floats, Floats]:
        edges = np.maximum(edges, _FIRST_TICK + 1)
        # If a tick is wider than a column, columns after its first contain no tick; they show the
        # value that is valid until the next tick.
        left, right = np.minimum(edges[:-1], edges[1:] - 1), edges[1:] - 1
        first = np.searchsorted(self.counter.tick, left, side="right") - 1
        last = np.searchsorted(self.counter.tick, right, side="right")
        greatest = self._greatest(first, last)
        mean = greatest.copy()
        mixed = np.flatnonzero(last - first > 1)
        if len(mixed):
            start, end = edges[mixed], edges[mixed + 1]
            mean[mixed] = (self._until(end) - self._until(start)) / durations(start, end)
            # A prefix sum over the whole trace may lack the precision for a column of a few ticks.
            np.clip(mean, self.bottom, greatest, out=mean)
        return greatest, mean

    def _greatest(self, first: Ints, last: Ints) -> Floats:
        """Return the maxima of values first .. last-1; index -1 is the 0 before all values."""
        lo, hi = np.maximum(first, 0), last.copy()
        best = np.where(first < 0, 0.0, -np.inf)
        for level in (self.counter.value, *self.maxima):
            if not (lo < hi).any():
                break
            at_edge = np.flatnonzero((lo & 1 == 1) & (lo < hi))
            best[at_edge] = np.maximum(best[at_edge], level[lo[at_edge]])
            lo[at_edge] += 1
            at_edge = np.flatnonzero((hi & 1 == 1) & (lo < hi))
            best[at_edge] = np.maximum(best[at_edge], level[hi[at_edge] - 1])
            lo, hi = lo >> 1, hi >> 1
        return best

    def _until(self, ticks: Ints) -> Floats:
        """Return the integral up to some ticks."""
        before = np.searchsorted(self.counter.tick, ticks, side="right") - 1
        index = np.maximum(before, 0)
        reached = np.maximum(ticks, self.counter.tick[index])
        since = durations(self.counter.tick[index], reached)
        return np.where(before < 0, 0.0, self.area[index] + self.counter.value[index] * since)

    def lines(self, values: Floats, height: int) -> NDArray[np.int16]:
        """Return the heights of values in pixel lines, out of `height`.

        At least 1 if above the bottom.
        """
        if self.top == self.bottom:
            return np.zeros(len(values), np.int16)
        above = values - self.bottom
        high = np.rint(above * (height / (self.top - self.bottom)))
        np.maximum(high, above > 0, out=high)
        return high.astype(np.int16)


def stamp(
    image: Pixels, y: int, height: int, raster: CounterRaster, xmap: XMap, colors: CounterColors
) -> None:
    """Draw a counter on the lines [y, y + height) of an image; clipped to the image."""
    top, bottom = max(y, 0), min(y + height, len(image))
    if bottom <= top:
        return  # only the edge of the band is visible
    greatest, mean = raster.columns(xmap)
    high, low = raster.lines(greatest, height), raster.lines(mean, height)
    # The line continues down to the lower neighbor, so that steps are connected.
    neighbors = np.minimum(np.append(high[:1], high[:-1]), np.append(high[1:], high[-1:]))
    foot = np.minimum(neighbors, high - 1)
    below = (y + height - 1 - np.arange(top, bottom, dtype=np.int16))[:, None]  # lines of the area
    lines = image[top:bottom]
    inside = below < high
    np.copyto(lines, np.uint32(colors.peak), where=inside)
    np.copyto(lines, np.uint32(colors.area), where=below < low)
    np.copyto(lines, np.uint32(colors.line), where=inside & (below >= foot))
    if bottom == y + height > top:
        lines[-1, high == 0] = colors.ground


def stamp_diamonds(image: Pixels, x: Ints, middle: int, reach: int, color: int) -> None:
    """Draw a diamond around every column x of line `middle`, clipped to the image.

    reach: half its height, in device pixels. color: 0xAARRGGBB.
    """
    height, width = image.shape
    for dy in range(-reach, reach + 1):
        y = middle + dy
        if 0 <= y < height:
            for dx in range(abs(dy) - reach, reach - abs(dy) + 1):
                columns = x + dx
                image[y, columns[(columns >= 0) & (columns < width)]] = color
