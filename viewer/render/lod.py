"""Data that the raster reads instead of every slice: slices by row, and mipmaps of crowded rows.

`DrawnSlices` separates slices with a length from zero-length ones, row by row; it does not depend
on colors and is built once per trace (or per set of search hits). `RowMip` divides the time of a
crowded row into cells of 2**shift ticks, one or two per slice, and halves their number per level.
Every cell has its covered share of time and the color of its longest slice, so a pixel costs two
reads whatever is below it. Mipmaps contain colors, so a new scheme builds new ones; this can happen
outside the GUI thread because nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.model.intervals import durations
from viewer.model.trace import Slices

# Rows with fewer slices than this are drawn from the slices themselves at any zoom.
MIN_SLICES = 512
# A cell is at most one pixel, so a slice wider than 3 px is at least 3 cells long.
WIDE_CELLS = 3
FULL_SHADE = 255
# Rows with up to a few thousand slices get more cells than slices, so they are always drawn so.
_CROWD = 4096
# Slices per partial sum of lengths: one sum per slice would be a sixth of a trace's memory.
_SUMMED = 8
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
    eighth slice, modulo 2**64; see `busy_before`. zero_*: the same for zero-length slices.
    """

    start: Ints
    end: Ints
    row_ptr: Ints
    index: Codes | None
    busy: Lengths
    zero_time: Ints
    zero_ptr: Ints
    zero_index: Codes

    @staticmethod
    def of(slices: Slices) -> DrawnSlices:
        """Return all slices of a trace."""
        return DrawnSlices.of_rows(slices.start, slices.end, slices.row_ptr)

    @staticmethod
    def chosen(slices: Slices, indices: Ints) -> DrawnSlices:
        """Return some slices of a trace, by ascending number, on the same rows."""
        row_ptr = np.searchsorted(indices, slices.row_ptr).astype(np.int64)
        return DrawnSlices.of_rows(slices.start[indices], slices.end[indices], row_ptr, indices)

    @staticmethod
    def of_rows(start: Ints, end: Ints, row_ptr: Ints, index: Ints | None = None) -> DrawnSlices:
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
        busy = np.zeros(len(start) // _SUMMED + 1, np.uint64)
        if len(start) >= _SUMMED:
            whole = len(start) // _SUMMED * _SUMMED
            each = durations(start[:whole], end[:whole]).reshape(-1, _SUMMED)
            np.cumsum(each.sum(axis=1, dtype=np.uint64), out=busy[1:])
        return DrawnSlices(start, end, row_ptr, numbers, busy, zero_time, zero_ptr, zero_index)

    def busy_before(self, i: Ints) -> Lengths:
        """Return the total length before the i-th slice with a length, modulo 2**64, for many i."""
        first = i // _SUMMED
        at = first[:, None] * _SUMMED + np.arange(_SUMMED)
        inside = at < i[:, None]
        at = np.where(inside, at, 0)
        rest = np.where(inside, durations(self.start[at], self.end[at]), np.uint64(0))
        found: Lengths = self.busy[first] + rest.sum(axis=1, dtype=np.uint64)
        return found

    def number(self, i: int) -> int:
        """Return the number in the trace of the i-th slice with a length."""
        return i if self.index is None else int(self.index[i])

    def numbers(self, i: Ints) -> Ints:
        """Return the numbers in the trace of many slices with a length."""
        return i if self.index is None else self.index[i].astype(np.int64)

    def values(self, of_slice: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a column of the trace, restricted to slices with a length."""
        return of_slice if self.index is None else of_slice[self.index]


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
    return 1 + np.clip(covered * 254, 0, 254).astype(np.uint16)


def build_mips(
    drawn: DrawnSlices, color: NDArray[np.uint8], cancelled: Callable[[], bool] = lambda: False
) -> dict[int, RowMip]:
    """Return the mipmap of every row with `MIN_SLICES` or more slices that have a length.

    color: palette index of each drawn slice. Returns early with a partial result if `cancelled()`.
    """
    mips = {}
    for row in np.flatnonzero(np.diff(drawn.row_ptr) >= MIN_SLICES).tolist():
        if cancelled():
            break
        here = slice(int(drawn.row_ptr[row]), int(drawn.row_ptr[row + 1]))
        mips[row] = _build_mip(drawn.start[here], drawn.end[here], color[here])
    return mips


@dataclass(slots=True)
class _Level:
    """Cells under construction.

    weight: of the longest slice. covered: the covered share. begun: how many slices start in it.
    entered: whether a slice continues into it from the left.
    """

    weight: Weights
    covered: NDArray[np.float32]
    begun: NDArray[np.int32]
    entered: Bools

    def cells(self) -> Cells:
        slices = self.begun + self.entered
        shade = np.where(slices > 1, shade_of(self.covered.astype(np.float64)), FULL_SHADE)
        color = (self.weight & np.uint32(0xFF)).astype(np.uint16)
        cells: Cells = shade.astype(np.uint16) << np.uint16(8) | color
        cells[slices == 0] = 0
        return cells

    def halved(self) -> _Level:
        if len(self.weight) % 2:
            pad = (0, 1)
            self.weight, self.covered = np.pad(self.weight, pad), np.pad(self.covered, pad)
            self.begun, self.entered = np.pad(self.begun, pad), np.pad(self.entered, pad)
        return _Level(
            np.maximum(self.weight[::2], self.weight[1::2]),
            (self.covered[::2] + self.covered[1::2]) * np.float32(0.5),
            self.begun[::2] + self.begun[1::2],
            self.entered[::2],
        )


def _build_mip(start: Ints, end: Ints, color: NDArray[np.uint8]) -> RowMip:
    origin = int(start[0])
    span = int(end[-1]) - origin
    shift = 0
    most = len(start) * (_FINER if len(start) < _CROWD else 1)
    while ((span - 1) >> shift) + 1 > most:
        shift += 1
    level = _finest(start, end, color, shift, ((span - 1) >> shift) + 1)
    levels, lengths = [level.cells()], durations(start, end)
    wide = [np.flatnonzero(lengths >> np.uint64(shift) >= WIDE_CELLS).astype(np.uint32)]
    while len(level.weight) > 1:
        level = level.halved()
        levels.append(level.cells())
        is_wide = lengths[wide[-1]] >> np.uint64(shift + len(wide)) >= WIDE_CELLS
        wide.append(wide[-1][is_wide])
    return RowMip(origin, shift, tuple(levels), tuple(wide))


def _finest(start: Ints, end: Ints, color: NDArray[np.uint8], shift: int, cells: int) -> _Level:
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
    entered = np.zeros(cells, np.bool_)
    entered[1:] = over[:-1] > 0
    best = np.zeros(cells, np.uint32)
    some = started > 0
    best[some] = np.maximum.reduceat(weight, (through - started)[some])
    best[1:] = np.maximum(best[1:], np.where(entered[1:], weight[latest[:-1]], np.uint32(0)))
    return _Level(best, covered.astype(np.float32), started.astype(np.int32), entered)
