"""Rows as pixels: the content of a timeline frame, computed per pixel and never per slice.

A slice with a length fills the columns from floor(x of its start) to floor(x of its end), at least
one. A column in which several slices start is shared: it has the color of the longest one, and the
share of its time that they cover as its shade. A slice wider than 3 px leaves its last column empty
as a gap, and has sides. Three methods produce these pixels:

* at most as many slices in view as columns, or twice as many without a mipmap that is fine enough:
  computed slice by slice, all rows in one batch;
* more, and the row's mipmap is fine enough: two reads per column. Slices wider than 3 px are then
  painted over it exactly; the others are within one column of their exact position;
* more, in a burst that is finer than the mipmap: binary search for each column's edges. A column
  shared by more than 8 slices gets the color of the longest of a sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints
from viewer.dataclasses import dataclass
from viewer.model.trace import Slices
from viewer.render.lod import (
    FULL_SHADE,
    SUMMED,
    WIDE_CELLS,
    Cells,
    DrawnSlices,
    RowMip,
    build_mips,
    shade_of,
    weights_of,
)
from viewer.render.palette import INNER, ROUND_SIDE, SIDE, Palette
from viewer.render.time_axis import XMap

# Only slices wider than GAP_WIDTH have a gap and sides, and from ROUND_WIDTH on round corners.
GAP_WIDTH = 3
ROUND_WIDTH = 8
LABEL_WIDTH = 15
_SAMPLES = 8
_FEW = 2  # slices per column up to which drawing each costs less than a search for each column
_COLOR = 0x3F
_FULL = FULL_SHADE << 8
_SIDES = np.array([SIDE << 6 | _FULL, ROUND_SIDE << 6 | _FULL], np.uint16)  # narrow, and round
# Hit testing in a pixel shared by more slices than this uses only the time, to limit the work.
_HIT_LIMIT = 1 << 16
_LONG_AGO = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class ZeroMarks:
    """One mark per column that has zero-length slices: its x, their count, and the first one."""

    x: Ints
    count: Ints
    first: Ints


@dataclass(frozen=True, slots=True)
class Labels:
    """Slices wide enough for a label: position in the given rows, slice, visible columns."""

    position: Ints
    slice: Ints
    x0: Ints
    x1: Ints

    def chosen(self, which: Ints) -> Labels:
        """Return some of them, by their number here."""
        return Labels(self.position[which], self.slice[which], self.x0[which], self.x1[which])


class RowRaster:
    """Draws, finds and labels the slices of one trace. Immutable: safe to share between threads."""

    def __init__(self, drawn: DrawnSlices, color: Palette, mips: dict[int, RowMip]) -> None:
        """drawn: the slices. color: palette index of each drawn one. mips: of the crowded rows."""
        self.drawn = drawn
        self.color = color
        self.mips = mips
        self._has_slices = drawn.row_ptr[1:] > drawn.row_ptr[:-1]

    @staticmethod
    def of(slices: Slices, color: Palette, drawn: DrawnSlices | None = None) -> RowRaster:
        """Return the raster of a trace; color: palette index of each slice.

        For a new scheme, pass the `drawn` of the previous raster: it does not depend on colors.
        """
        drawn = drawn or DrawnSlices.of(slices)
        colors = drawn.values(color)
        return RowRaster(drawn, colors, build_mips(drawn, colors))

    @staticmethod
    def subset(slices: Slices, color: Palette, indices: Ints) -> RowRaster:
        """Return the raster of only some slices (ascending numbers) on the same rows: the hits."""
        return RowRaster.of(slices, color, DrawnSlices.chosen(slices, indices))

    def draw(self, rows: Sequence[int], xmap: XMap) -> Cells:
        """Return the cells of some rows: (rows, width) uint16; `xmap` is on this trace's axis."""
        return draw_together([(self, rows)], xmap)[0]

    def _collect(self, rows: Sequence[int], first: int, batch: _Batch) -> None:
        """Add what some rows show; first: the position of the first one."""
        xmap, step = batch.xmap, float(batch.xmap.ticks_per_pixel)
        for position, row in enumerate(rows, start=first):
            lo, hi = self.in_view(row, xmap)
            if hi <= lo:
                continue
            mip = self.mips.get(row)
            has_strip = mip is not None and mip.fits(step)
            if hi - lo <= xmap.width * (1 if has_strip else _FEW):
                start, end = self.drawn.start[lo:hi], self.drawn.end[lo:hi]
                batch.add(position, start, end, self.color[lo:hi])
            elif mip is not None and has_strip:
                before = int(self.drawn.row_ptr[row])
                batch.strips.append((position, mip.strip(xmap.edges, step)))
                wide = mip.wide_between(lo - before, hi - before, step)
                self._add_wide(batch, position, row, wide)
            else:
                self._add_burst(batch, position, lo, hi)

    def rows_with_slices(self, rows: Ints) -> Ints:
        """Return the positions of those of the given rows that have a slice with a length."""
        return np.flatnonzero(self._has_slices[rows])

    def in_view(self, row: int, xmap: XMap) -> tuple[int, int]:
        """Return which drawn slices of a row have a column in view: from the first to before hi."""
        first, last = int(self.drawn.row_ptr[row]), int(self.drawn.row_ptr[row + 1])
        if last <= first:
            return first, first
        lo, hi = self.drawn.start[first:last].searchsorted(xmap.ends).tolist()
        # A slice that starts before the view is in it only if it reaches the end of the first
        # column.
        if lo and self.drawn.end[first + lo - 1] >= xmap.end_edges[1]:
            lo -= 1
        return first + lo, first + hi

    def _add_wide(self, batch: _Batch, position: int, row: int, wide: Ints) -> None:
        start, end = self.drawn.start, self.drawn.end
        first = self.drawn.row_ptr[row]
        i = wide + first
        i = i[end[i] - start[i] > GAP_WIDTH * float(batch.xmap.ticks_per_pixel)]
        if len(i):
            before = np.where(i > first, start[i - 1], _LONG_AGO)
            batch.add(position, start[i], end[i], self.color[i], before)

    def _add_burst(self, batch: _Batch, position: int, lo: int, hi: int) -> None:
        start, end = self.drawn.start, self.drawn.end
        edges = batch.xmap.edges
        bound = lo + np.searchsorted(start[lo:hi], edges)
        count = np.diff(bound)
        rows = np.flatnonzero(count)
        last = bound[rows + 1] - 1
        # Only the last slice that starts in a column can continue into the next.
        alone = last if bound[0] == lo else np.concatenate([[lo], last])
        batch.add(position, start[alone], end[alone], self.color[alone])
        shared = np.flatnonzero(count > 1)
        first, stop = bound[shared], bound[shared + 1]
        right = edges[shared + 1]
        over = np.maximum(end[stop - 1] - right, 0).astype(np.uint64)
        busy = self.drawn.busy_before(bound)
        covered = (busy[shared + 1] - busy[shared] - over).astype(np.float64)
        sample = first[:, None] + (stop - first)[:, None] * np.arange(_SAMPLES) // _SAMPLES
        weight = weights_of(start[sample], end[sample], self.color[sample]).max(axis=1)
        many = np.flatnonzero(stop - first > _SAMPLES)
        if len(many):
            # A sample may miss a slice that fills most of the column, but the slice at its center
            # does not.
            left = edges[shared[many]]
            middle = left + (right[many] - left) // 2
            center = lo + np.searchsorted(start[lo:hi], middle, side="right") - 1
            center = np.clip(center, first[many], stop[many] - 1)
            weights = weights_of(start[center], end[center], self.color[center])
            weight[many] = np.maximum(weight[many], weights)
        batch.share(position, shared, covered, weight)

    def hit(self, row: int, x: float, xmap: XMap) -> int:
        """Return the slice that column floor(x) of a row shows: the longest if shared, else -1."""
        column = int(x // 1)
        if not 0 <= column < xmap.width:
            return -1
        first, last = int(self.drawn.row_ptr[row]), int(self.drawn.row_ptr[row + 1])
        start, end = self.drawn.start[first:last], self.drawn.end[first:last]
        left, right = xmap.edges[column], xmap.edges[column + 1]
        lo, hi = (int(i) for i in np.searchsorted(start, np.array([left, right])))
        if hi == lo:
            reaches = lo > 0 and end[lo - 1] >= xmap.end_edges[column + 1]
            return self.drawn.number(first + lo - 1) if reaches else -1
        if hi - lo > _HIT_LIMIT:
            time = np.int64(min(max(xmap.t_of(x), int(left)), int(right)))
            index = int(np.searchsorted(start, time, side="right")) - 1
            return self.drawn.number(first + min(max(index, lo), hi - 1))
        weight = weights_of(start[lo:hi], end[lo:hi], self.color[first + lo : first + hi])
        return self.drawn.number(first + lo + int(np.argmax(weight)))

    def labels(self, rows: Sequence[int], xmap: XMap, min_width: int = LABEL_WIDTH) -> Labels:
        """Return slices with at least `min_width` visible columns.

        There are at most width / min_width per row. x0, x1 are clipped to the view, so a label
        sticks to the left edge.
        """
        # A slice that wide covers the left edge of one of these columns, though perhaps not of its
        # own first column.
        probes = xmap.edges[np.arange(0, xmap.width, max(min_width - 1, 1))]
        by_row = [self._maybe_wide(row, xmap, probes, min_width) for row in rows]
        where = np.repeat(np.arange(len(rows)), [len(slices) for slices in by_row])
        slices = np.concatenate([np.empty(0, np.int64), *by_row])
        is_first = np.flatnonzero(np.diff(slices, prepend=-1))
        where, slices = where[is_first], slices[is_first]
        x0 = xmap.pixel_of(self.drawn.start[slices])
        x1 = xmap.end_pixel_of(self.drawn.end[slices])
        wide = x1 - x0 >= min_width
        return Labels(where[wide], self.drawn.numbers(slices[wide]), x0[wide], x1[wide])

    def _maybe_wide(self, row: int, xmap: XMap, probes: Ints, min_width: int) -> Ints:
        """Return all slices of a row that cover a probe and `min_width` columns, and others.

        They are ascending; one may be there several times. The wide ones of a mipmap cost less
        than a search for each probe among millions.
        """
        lo, hi = self.in_view(row, xmap)
        if hi - lo <= len(probes):
            return np.arange(lo, hi)
        mip, step = self.mips.get(row), float(xmap.ticks_per_pixel)
        wider = (min_width - 1) // WIDE_CELLS  # cells may be so much wider than a column
        # Gaps widen slices on screen that the mipmap knows as narrow.
        if mip is not None and mip.fits(step) and wider and not len(xmap.gaps):
            first = int(self.drawn.row_ptr[row])
            return first + mip.wide_between(lo - first, hi - first, wider * step)
        near = self.drawn.start[lo:hi].searchsorted(probes, side="right")
        return np.maximum(near - 1, 0) + lo

    def zero_marks(self, row: int, xmap: XMap) -> ZeroMarks:
        """Return the marks of a row's zero-length slices: at most one per column."""
        drawn = self.drawn
        first, last = int(drawn.zero_ptr[row]), int(drawn.zero_ptr[row + 1])
        times = drawn.zero_time[first:last]
        lo, hi = (int(i) for i in np.searchsorted(times, xmap.edges[[0, -1]]))
        if hi - lo <= xmap.width:
            x, first_in_column = np.unique(xmap.pixel_of(times[lo:hi]), return_index=True)
            count = np.diff(first_in_column, append=hi - lo)
        else:
            bound = np.searchsorted(times[lo:hi], xmap.edges)
            x = np.flatnonzero(np.diff(bound))
            first_in_column, count = bound[x], bound[x + 1] - bound[x]
        return ZeroMarks(x, count, drawn.zero_index[first + lo + first_in_column].astype(np.int64))


def draw_together(parts: Sequence[tuple[RowRaster, Sequence[int]]], xmap: XMap) -> list[Cells]:
    """Return the cells of some rows of each of several rasters of a trace, as `draw` does.

    Faster than one after another: most of the time to draw some rows is that of 60 calls of numpy,
    which serve all of them.
    """
    counts = [len(rows) for _, rows in parts]
    cells = np.zeros((sum(counts), xmap.width), np.uint16)
    batch, first = _Batch(xmap), 0
    for (raster, rows), count in zip(parts, counts, strict=True):
        raster._collect(rows, first, batch)
        first += count
    batch.paint(cells)
    return np.split(cells, np.cumsum(counts)[:-1])


class _Batch:
    """Slices of several rows, collected and then painted at once.

    strips: positions of rows, and cells that are painted where no slice is.
    """

    def __init__(self, xmap: XMap) -> None:
        self.xmap = xmap
        self.strips: list[tuple[int, Cells]] = []
        self._base: list[int] = []
        self._start: list[Ints] = []
        self._end: list[Ints] = []
        self._color: list[Palette] = []
        self._before: list[Ints | None] = []
        self._shared: list[tuple[Ints, Cells]] = []

    def add(
        self,
        position: int,
        start: Ints,
        end: Ints,
        color: Palette,
        before: Ints | None = None,
    ) -> None:
        """Add slices of one row in order of time, each with a column in view; rows in order.

        before: the starts of the preceding slices, if these are not given themselves: a first
        column shared with them stays empty.
        """
        self._base.append(position * self.xmap.width)
        self._start.append(start)
        self._end.append(end)
        self._color.append(color)
        self._before.append(before)

    def share(
        self, position: int, column: Ints, covered: NDArray[np.float64], weight: NDArray[np.uint32]
    ) -> None:
        """Add shared columns of one row: covered ticks, and the weight of the longest slice."""
        self._note(position * self.xmap.width + column, covered, weight)

    def _note(
        self, cell_index: Ints, covered: NDArray[np.float64], weight: NDArray[np.uint32]
    ) -> None:
        shade = shade_of(covered / float(self.xmap.ticks_per_pixel))
        cells: Cells = (shade.astype(np.uint32) << 8 | weight & _COLOR).astype(np.uint16)
        self._shared.append((cell_index, cells))

    def paint(self, cells: Cells) -> None:
        """Paint all cells, empty where there is no slice."""
        gaps = self._paint_slices(cells)
        for position, strip in self.strips:
            np.copyto(cells[position], strip, where=cells[position] == 0)
        cells.reshape(-1)[gaps] = 0

    def _paint_slices(self, cells: Cells) -> Ints:
        """Paint all slices; return the flat positions of the gaps."""
        if not self._base:
            return np.empty(0, np.int64)
        edges = self.xmap.edges
        start, end = np.concatenate(self._start), np.concatenate(self._end)
        color, before = np.concatenate(self._color), self._starts_before()
        base = np.repeat(self._base, [len(part) for part in self._start])
        column, end_column = self.xmap.span_pixel_of(start, end)
        x0 = base + column
        same = x0[1:] == x0[:-1]
        if same.any():
            # Of slices that share their first column, only the last can continue into the next.
            last = np.flatnonzero(np.append(~same, True))
            self._find_shared(last, x0, edges[column + 1], start, end, color)
            start, end, color = start[last], end[last], color[last]
            before = None if before is None else before[last]
            base, column, x0 = base[last], column[last], x0[last]
            end_column = end_column[last]
        x1 = np.maximum(base + end_column, x0 + 1)

        width = x1 - x0
        wide = np.flatnonzero(width > GAP_WIDTH)
        bounds = np.empty(2 * len(x0) + 2, np.int64)
        bounds[0], bounds[-1] = 0, cells.size
        bounds[1:-1:2] = x0
        bounds[2:-1:2] = x1
        values = np.zeros(len(bounds) - 1, np.uint16)
        values[1::2] = color
        values[1::2] |= _FULL
        values[2 * wide + 1] |= INNER << 6
        flat = cells.reshape(-1)
        flat[:] = np.repeat(values, bounds[1:] - bounds[:-1])

        first, stop = x0[wide], x1[wide]
        side = _SIDES[(width[wide] >= ROUND_WIDTH).view(np.uint8)] | color[wide]
        begins, ends = start[wide] >= edges[0], end[wide] <= self.xmap.last_end
        flat[first[begins]] = side[begins]
        flat[stop[ends] - 2] = side[ends]
        gaps: Ints = stop[ends] - 1
        flat[gaps] = 0
        if before is not None:
            flat[x0[(before >= edges[column]) & (before > _LONG_AGO)]] = 0
        for cell_index, shared in self._shared:
            flat[cell_index] = shared
        return gaps

    def _starts_before(self) -> Ints | None:
        """Return the starts before all slices, None if none are given."""
        if all(part is None for part in self._before):
            return None
        return np.concatenate(
            [
                np.full(len(start), _LONG_AGO) if part is None else part
                for part, start in zip(self._before, self._start, strict=True)
            ]
        )

    def _find_shared(
        self, last: Ints, x0: Ints, right: Ints, start: Ints, end: Ints, color: Palette
    ) -> None:
        """Record the columns in which several slices start; `last`: the last one of each column."""
        first = np.append(0, last[:-1] + 1)
        several = last > first
        covered = np.add.reduceat(np.minimum(end, right) - start, first)[several]
        best = np.maximum.reduceat(weights_of(start, end, color), first)[several]
        self._note(x0[last[several]], covered.astype(np.float64), best)


_SAME = -1  # slices of a level that are those of the finer one


@dataclass(frozen=True, slots=True)
class KeptRaster:
    """What `RowRaster` takes long to compute, in few columns.

    palette: the digest of the color of each slice. row, origin, shift, levels: of each mipmap.
    cell_count, wide_count: of each level of all mipmaps, whose cells and wide slices are in `cells`
    and `wide`, one after another; `_SAME` for the same wide slices as before.
    """

    palette: str
    drawn: DrawnSlices
    row: Ints
    origin: Ints
    shift: Ints
    levels: Ints
    cell_count: Ints
    wide_count: Ints
    cells: Cells
    wide: Codes

    @staticmethod
    def of(raster: RowRaster, palette: Palette) -> KeptRaster:
        """Return what is kept of the raster of a trace in the colors of a palette."""
        mips = raster.mips.values()
        cells = [level for mip in mips for level in mip.levels]
        wide: list[Codes] = []
        wide_count: list[int] = []
        for mip in mips:
            before = None
            for level in mip.wide:
                wide_count.append(_SAME if level is before else len(level))
                wide += [] if level is before else [level]
                before = level
        return KeptRaster(
            palette=_digest(palette),
            drawn=raster.drawn,
            row=np.array(list(raster.mips), np.int64),
            origin=np.array([mip.origin for mip in mips], np.int64),
            shift=np.array([mip.shift for mip in mips], np.int64),
            levels=np.array([len(mip.levels) for mip in mips], np.int64),
            cell_count=np.array([len(level) for level in cells], np.int64),
            wide_count=np.array(wide_count, np.int64),
            cells=np.concatenate([np.empty(0, np.uint16), *cells]),
            wide=np.concatenate([np.empty(0, np.uint32), *wide]),
        )

    def raster(self, slices: Slices, palette: Palette) -> RowRaster | None:
        """Return the raster of the same trace; None if it was made for other colors or slices."""
        if self.palette != _digest(palette) or not self._fits(slices):
            return None
        return RowRaster(self.drawn, self.drawn.values(palette), self._mips())

    def _mips(self) -> dict[int, RowMip]:
        cell_end = np.cumsum(self.cell_count).tolist()
        wide_size = np.maximum(self.wide_count, 0)
        wide_end, wide_size = np.cumsum(wide_size).tolist(), wide_size.tolist()
        cells: list[Cells] = []
        wide: list[Codes] = []
        begin = 0
        for number, end in enumerate(cell_end):
            cells.append(self.cells[begin:end])
            begin = end
            is_same = self.wide_count[number] == _SAME
            first = wide_end[number] - wide_size[number]
            wide.append(wide[-1] if is_same else self.wide[first : wide_end[number]])
        mips, begin = {}, 0
        of_mips = (self.row, self.origin, self.shift, self.levels)
        for row, origin, shift, levels in zip(*(of.tolist() for of in of_mips), strict=True):
            here = slice(begin, begin + levels)
            mips[row] = RowMip(origin, shift, tuple(cells[here]), tuple(wide[here]))
            begin += levels
        return mips

    def _fits(self, slices: Slices) -> bool:
        """Whether it is of slices like these, and no index leads out of its column."""
        drawn, rows = self.drawn, len(slices.rows_drawn.row_ptr) - 1
        count, zero_count = len(drawn.start), len(drawn.zero_time)
        indexes = (drawn.index, drawn.zero_index, drawn.order)
        number_of_levels = len(self.cell_count)
        first = np.cumsum(self.levels) - self.levels
        return bool(
            _are_rows(drawn.row_ptr, rows, count)
            and _are_rows(drawn.zero_ptr, rows, zero_count)
            and len(drawn.end) == count
            and len(drawn.busy) == count // SUMMED + 1
            and len(drawn.zero_index) == zero_count
            and count + zero_count == len(slices)
            and (count == len(slices) if drawn.index is None else len(drawn.index) == count)
            and all(
                index is None or not len(index) or index.max() < len(slices) for index in indexes
            )
            and len(self.row) == len(self.origin) == len(self.shift) == len(self.levels)
            and len(self.wide_count) == number_of_levels == self.levels.sum()
            and (self.levels > 0).all()
            and ((self.row >= 0) & (self.row < rows)).all()
            and ((self.shift >= 0) & (self.shift < 64)).all()
            and (self.cell_count >= 0).all()
            and self.cell_count.sum() == len(self.cells)
            and (self.wide_count >= _SAME).all()
            and (self.wide_count[first] >= 0).all()
            and np.maximum(self.wide_count, 0).sum() == len(self.wide)
        )


def _are_rows(row_ptr: Ints, rows: int, count: int) -> bool:
    is_long = len(row_ptr) == rows + 1 and row_ptr[0] == 0 and row_ptr[-1] == count
    return is_long and not (np.diff(row_ptr) < 0).any()


def _digest(palette: Palette) -> str:
    return hashlib.blake2b(np.ascontiguousarray(palette).data, digest_size=16).hexdigest()
