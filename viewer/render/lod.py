"""Data that the raster reads instead of every slice: slices by row, and mipmaps of crowded rows.

`DrawnSlices` does not depend on colors and is built once per trace (or per set of search hits).
`RowMip` divides the time of a crowded row into cells of 2**shift ticks, one or two per slice, and
halves their number per level. So a pixel costs two reads whatever is below it. Mipmaps contain
colors, so a new scheme builds new ones, which can happen outside the GUI thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass, replace
from viewer.model.intervals import durations
from viewer.model.queries import on_two_threads
from viewer.model.trace import DrawnRows, Slices

# Rows with fewer slices than this are drawn from the slices themselves at any zoom.
MIN_SLICES = 512
# A cell is at most one pixel, so a slice wider than 3 px is at least 3 cells long.
WIDE_CELLS = 3
FULL_SHADE = 255
# Rows with up to a few thousand slices get more cells than slices, so they are always drawn so.
_CROWD = 4096
# Slices per partial sum of lengths: one sum per slice would be a sixth of a trace's memory.
SUMMED = 8
_FINER = 2
_LATEST = int(np.iinfo(np.int64).max)

Cells = NDArray[np.uint16]
Lengths = NDArray[np.uint64]
Weights = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class DrawnSlices:
    """The slices of all rows for drawing, sorted by (row, start).

    start, end: int64 ticks of the slices with a length. row_ptr: rows + 1 offsets into them. index:
    their numbers in the trace, None if these are 0, 1, 2 .... busy: the total length before every
    eighth slice, modulo 2**64; see `busy_before`. zero_*: the same for zero-length slices. order:
    the slices of the trace in the order of (row, start), None if these are 0, 1, 2 ....
    """

    start: Ints
    end: Ints
    row_ptr: Ints
    index: Codes | None
    busy: Lengths
    zero_time: Ints
    zero_ptr: Ints
    zero_index: Codes
    order: Codes | None = None

    @staticmethod
    def of(slices: Slices) -> DrawnSlices:
        """Return all slices of a trace."""
        rows = slices.drawn_rows
        if rows is None:
            return DrawnSlices.of_rows(slices.start, slices.end, slices.row_ptr)
        start, end = _cut(slices, rows, rows.index)
        drawn = DrawnSlices.of_rows(start, end, rows.row_ptr, rows.index)
        return replace(drawn, order=rows.index)

    @staticmethod
    def chosen(slices: Slices, indices: Ints) -> DrawnSlices:
        """Return some slices of a trace, by ascending number, on the same rows."""
        rows = slices.drawn_rows
        if rows is None:
            row_ptr = np.searchsorted(indices, slices.row_ptr).astype(np.int64)
            return DrawnSlices.of_rows(slices.start[indices], slices.end[indices], row_ptr, indices)
        position = np.sort(rows.position[indices])
        row_ptr = np.searchsorted(position, rows.row_ptr).astype(np.int64)
        start, end = _cut(slices, rows, rows.index[position])
        return DrawnSlices.of_rows(start, end, row_ptr, rows.index[position])

    @staticmethod
    def of_rows(
        start: Ints, end: Ints, row_ptr: Ints, index: Ints | Codes | None = None
    ) -> DrawnSlices:
        """Return boxes of any kind, sorted by (row, start); row_ptr: rows + 1 offsets into them.

        index: their numbers, None if these are 0, 1, 2 ....
        """
        numbers = None if index is None else index.astype(np.uint32)
        zero = np.flatnonzero(start == end)
        zero_ptr = np.searchsorted(zero, row_ptr).astype(np.int64)
        zero_time = start[zero]
        zero_index = zero.astype(np.uint32) if numbers is None else numbers[zero]
        if len(zero):
            long = np.flatnonzero(start != end)
            numbers = long.astype(np.uint32) if numbers is None else numbers[long]
            start, end, row_ptr = start[long], end[long], row_ptr - zero_ptr
        busy = np.zeros(len(start) // SUMMED + 1, np.uint64)
        if len(start) >= SUMMED:
            whole = len(start) // SUMMED * SUMMED
            each = durations(start[:whole], end[:whole]).reshape(-1, SUMMED)
            np.cumsum(each.sum(axis=1, dtype=np.uint64), out=busy[1:])
        return DrawnSlices(start, end, row_ptr, numbers, busy, zero_time, zero_ptr, zero_index)

    def busy_before(self, i: Ints) -> Lengths:
        """Return the total length before the i-th slice with a length, modulo 2**64, for many i."""
        first = i // SUMMED
        indexes = first[:, None] * SUMMED + np.arange(SUMMED)
        inside = indexes < i[:, None]
        indexes = np.where(inside, indexes, 0)
        rest = np.where(inside, durations(self.start[indexes], self.end[indexes]), np.uint64(0))
        lengths: Lengths = self.busy[first] + rest.sum(axis=1, dtype=np.uint64)
        return lengths

    def number(self, i: int) -> int:
        """Return the number in the trace of the i-th slice with a length."""
        return i if self.index is None else int(self.index[i])

    def numbers(self, i: Ints) -> Ints:
        """Return the numbers in the trace of many slices with a length."""
        return i if self.index is None else self.index[i].astype(np.int64)

    def values(self, of_slice: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a column of the trace, restricted to slices with a length."""
        return of_slice if self.index is None else of_slice[self.index]


def _cut(slices: Slices, rows: DrawnRows, index: Codes) -> tuple[Ints, Ints]:
    """Return start and end of slices; each ends where the next one of its row starts, at last."""
    start, end = slices.start[index], slices.end[index]
    after = rows.position[index].astype(np.int64) + 1
    is_followed = after < rows.row_ptr[np.searchsorted(rows.row_ptr, after - 1, side="right")]
    following = slices.start[rows.index[after[is_followed]]]
    end[is_followed] = np.minimum(end[is_followed], following)
    return start, end


@dataclass(frozen=True, slots=True)
class RowMip:
    """One crowded row: `levels[k]` has cells of 2**(shift + k) ticks, starting at `origin`.

    A cell is shade << 8 | color. The shade is 0 for an empty cell, 255 for a cell that is fully
    covered or has only one slice, and otherwise the covered share of its time. `wide[k]` are the
    slices of the row (numbered from 0 within it) that are at least `WIDE_CELLS` cells of that level
    long.
    """

    origin: int
    shift: int
    levels: tuple[Cells, ...]
    wide: tuple[Codes, ...]

    def fits(self, ticks_per_pixel: float) -> bool:
        """Return whether the cells are fine enough: no cell is wider than a pixel."""
        return ticks_per_pixel >= 2.0**self.shift

    def _level(self, ticks_per_pixel: float) -> int:
        return min(int(ticks_per_pixel).bit_length() - 1 - self.shift, len(self.levels) - 1)

    def wide_between(self, lo: int, hi: int, ticks_per_pixel: float) -> Ints:
        """Return which slices lo to hi may be wider than 3 px: at most 2/3 per pixel."""
        wide = self.wide[self._level(ticks_per_pixel)]
        first, stop = np.searchsorted(wide, np.array([lo, hi], np.uint32))
        return wide[first:stop].astype(np.int64)

    def strip(self, edges: Ints, ticks_per_pixel: float) -> Cells:
        """Return one cell per pixel, given the pixels' edge ticks (pixels + 1)."""
        level = self._level(ticks_per_pixel)
        cells, shift = self.levels[level], self.shift + level
        # A cell belongs to the pixel that contains its center, so it belongs to exactly one pixel.
        # A pixel has at most two, because it is less than two cells wide.
        beyond = min(self.origin + ((len(cells) + 1) << shift), _LATEST)
        inside = np.minimum(np.maximum(edges, self.origin), beyond)
        half = (1 << shift) >> 1
        if beyond - self.origin + half > _LATEST:
            elapsed = durations(np.int64(self.origin), inside) + np.uint64(half)
            first = (elapsed >> np.uint64(shift)).astype(np.int64)
        else:
            first = inside
            first -= self.origin - half
            first >>= shift
        np.minimum(first, len(cells), out=first)
        last = first[1:] - 1
        first = first[:-1]
        left, right = cells.take(first, mode="clip"), cells.take(last, mode="clip")
        strip: Cells = np.maximum(left, right)
        both = np.flatnonzero((np.minimum(left, right) > 0) & (left != right))
        shades = (left[both] >> 8) + (right[both] >> 8) + 1 >> 1
        strip[both] = shades << 8 | strip[both] & 0xFF
        strip[last < first] = 0
        return strip


def weights_of(start: Ints, end: Ints, color: NDArray[np.uint8]) -> Weights:
    """Return a number per slice that grows with its length and ends in its color.

    The largest number wins a pixel. It is the float32 bits of the length (positive floats sort like
    their bits), with the last byte replaced.
    """
    bits = durations(start, end).astype(np.float32).view(np.uint32)
    weights: Weights = bits & np.uint32(0xFFFFFF00) | color
    return weights


def shade_of(covered: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return the shade of a shared pixel, 1 to 255, from the covered share of its time."""
    shade: NDArray[np.uint16] = np.minimum(np.maximum(covered * 254, 0), 254).astype(np.uint16)
    shade += np.uint16(1)
    return shade


def build_mips(
    drawn: DrawnSlices, color: NDArray[np.uint8], cancelled: Callable[[], bool] = lambda: False
) -> dict[int, RowMip]:
    """Return the mipmap of every row with `MIN_SLICES` or more slices that have a length.

    color: palette index of each drawn slice. Returns early with a partial result if `cancelled()`.
    """

    def build(row: int) -> RowMip | None:
        if cancelled():
            return None
        here = slice(int(drawn.row_ptr[row]), int(drawn.row_ptr[row + 1]))
        return _build_mip(drawn.start[here], drawn.end[here], color[here])

    size = np.diff(drawn.row_ptr)
    rows = np.flatnonzero(size >= MIN_SLICES)
    mips = on_two_threads(build, rows.tolist(), size[rows].tolist())
    return {row: mip for row, mip in zip(rows.tolist(), mips, strict=True) if mip is not None}


@dataclass(frozen=True, slots=True)
class _Levels:
    """The cells of all levels under construction, one level after another, each of even size.

    weight: of the longest slice. covered: the covered share. begun: how many slices start in it.
    entered: whether a slice continues into it from the left.
    """

    sizes: tuple[int, ...]
    weight: Weights
    covered: NDArray[np.float32]
    begun: NDArray[np.int32]
    entered: Bools

    @staticmethod
    def of(cells: int) -> _Levels:
        """Empty levels; cells: of the finest one."""
        sizes = [cells]
        while sizes[-1] > 1:
            sizes.append(sizes[-1] + 1 >> 1)
        room = sum(size + size % 2 for size in sizes)
        return _Levels(
            tuple(sizes),
            np.zeros(room, np.uint32),
            np.zeros(room, np.float32),
            np.zeros(room, np.int32),
            np.zeros(room, np.bool_),
        )

    def merge(self) -> None:
        """Fill all levels from the finest one."""
        weight, covered, begun, entered = self.weight, self.covered, self.begun, self.entered
        start = 0
        for size, coarser in itertools.pairwise(self.sizes):
            after = start + size + size % 2
            left, right = slice(start, after, 2), slice(start + 1, after, 2)
            level = slice(after, after + coarser)
            np.maximum(weight[left], weight[right], out=weight[level])
            np.add(covered[left], covered[right], out=covered[level])
            covered[level] *= np.float32(0.5)
            np.add(begun[left], begun[right], out=begun[level])
            entered[level] = entered[left]
            start = after

    def cells(self) -> tuple[Cells, ...]:
        """The cells of each level."""
        slices = self.begun + self.entered
        shade = shade_of(self.covered.astype(np.float64))
        shade[slices <= 1] = FULL_SHADE
        cells: Cells = self.weight.astype(np.uint16)
        cells &= np.uint16(0xFF)
        cells |= shade << np.uint16(8)
        cells[slices == 0] = 0
        starts = itertools.accumulate((size + size % 2 for size in self.sizes), initial=0)
        return tuple(
            cells[start : start + size] for start, size in zip(starts, self.sizes, strict=False)
        )


def _build_mip(start: Ints, end: Ints, color: NDArray[np.uint8]) -> RowMip:
    origin = int(start[0])
    span = int(end[-1]) - origin
    shift = 0
    most = len(start) * (_FINER if len(start) < _CROWD else 1)
    while ((span - 1) >> shift) + 1 > most:
        shift += 1
    levels = _Levels.of(((span - 1) >> shift) + 1)
    _fill_finest(levels, start, end, color, shift)
    levels.merge()
    lengths = durations(start, end) >> np.uint64(shift)
    wide = [np.flatnonzero(lengths >= WIDE_CELLS).astype(np.uint32)]
    for level in range(1, len(levels.sizes)):
        finer = wide[-1]
        is_wide = lengths[finer] >> np.uint64(level) >= WIDE_CELLS
        wide.append(finer if is_wide.all() else finer[is_wide])
    return RowMip(origin, shift, levels.cells(), tuple(wide))


def _fill_finest(
    levels: _Levels, start: Ints, end: Ints, color: NDArray[np.uint8], shift: int
) -> None:
    """Fill the cells of 2**shift ticks; slices of a row, sorted by start."""
    cells = levels.sizes[0]
    weight = weights_of(start, end, color)
    cell = (durations(start[0], start) >> np.uint64(shift)).astype(np.int64)
    started = np.bincount(cell, minlength=cells)
    through = np.cumsum(started)
    # Slices of a row do not overlap: only the last one started can extend past a cell's right edge.
    latest = through - 1
    reach = durations(start[0], end)[latest]
    edge = np.arange(1, cells + 1, dtype=np.uint64) << np.uint64(shift)
    over = np.where(reach > edge, reach - edge, np.uint64(0))
    over[-1] = 0
    busy = np.cumsum(durations(start, end))[latest] - over
    covered = np.diff(busy, prepend=np.uint64(0)).astype(np.float64) / 2.0**shift
    levels.covered[:cells] = covered
    levels.begun[:cells] = started
    entered = levels.entered[1:cells]
    np.greater(over[:-1], 0, out=entered)
    best = levels.weight[:cells]
    mask = started > 0
    best[mask] = np.maximum.reduceat(weight, (through - started)[mask])
    before = np.flatnonzero(entered)
    best[before + 1] = np.maximum(best[before + 1], weight[latest[before]])
