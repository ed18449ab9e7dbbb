"""Positions in the timeline: `XMap` maps times to pixel columns, `TimelineLayout` rows to lines.

Both are pure and exact. All drawing, labeling and hit testing uses them, so that a slice, its label
and the ruler line above it always align.

The axis of a clock counts integer nanoseconds. A file counts ticks of its own; its `Axis` maps them
to the axis of its clock. Column p shows the times [edge p, edge p + 1). The edges are exact
fractions, and `XMap.edges` has the first integer tick at or after each. The column of a tick is
always floor(x).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.times import tick_to_ns

_INT64 = np.iinfo(np.int64)
# Sums and differences of two numbers below this fit int64.
_SAFE = 1 << 62

ROW_HEIGHT, COMPACT_ROW = 30, 14
SLICE_HEIGHT = 27
KERNEL_HEIGHT = 22
SLICE_TOP = 1
STRIP_HEIGHT = 12
HEADER_HEIGHT = 26
PROCESS_GAP = 8
COUNTER_HEIGHT = 34


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps the ticks of one file to the axis of its clock: ns = tick * ns_per_tick + offset_ns."""

    ns_per_tick: Fraction = Fraction(1)
    offset_ns: int = 0

    def __post_init__(self) -> None:
        if self.ns_per_tick <= 0:
            raise ValueError(f"a tick cannot last {self.ns_per_tick} ns")

    def to_ns(self, tick: int) -> int:
        """Return the ns of a tick, rounded down."""
        return tick_to_ns(tick, self.ns_per_tick) + self.offset_ns

    def to_ticks_floor(self, ns: int) -> int:
        """Return the last tick that is not after a time on the axis of the clock."""
        ratio = self.ns_per_tick
        return (ns - self.offset_ns) * ratio.denominator // ratio.numerator


@dataclass(frozen=True)
class XMap:
    """The visible range [t0, t1) ns of the axis of a clock on `width` pixel columns.

    `on(axis)` gives the same view for the ticks of one file; "ticks" below are ticks of `axis`.
    Raises ValueError for an empty range or no columns.
    """

    t0: int
    t1: int
    width: int
    axis: Axis = field(default_factory=Axis)

    def __post_init__(self) -> None:
        if self.t1 <= self.t0 or self.width < 1:
            raise ValueError(f"no view: {self.t0} to {self.t1} ns on {self.width} px")

    def on(self, axis: Axis) -> XMap:
        """Return the same range and columns, for the ticks of another axis."""
        if axis is self.axis:
            return self
        if axis not in self._others:
            self._others[axis] = self if axis == self.axis else replace(self, axis=axis)
        return self._others[axis]

    def part(self, first: int, last: int, ns_per_tick: Fraction, zero_ns: Fraction) -> XMap:
        """Return the columns [first, last) alone, for a file whose tick 0 is at an exact time.

        zero_ns: on the axis in ns. The columns have exactly the edges that they have in this view.
        """
        # In units of which a column, and the time of tick 0, are whole numbers.
        scale = self.width * zero_ns.denominator
        left, column = self.t0 * scale, (self.t1 - self.t0) * zero_ns.denominator
        axis = Axis(ns_per_tick * scale, int(zero_ns * scale))
        return XMap(left + first * column, left + last * column, last - first, axis)

    @cached_property
    def _others(self) -> dict[Axis, XMap]:
        return {}

    @cached_property
    def ticks_per_pixel(self) -> Fraction:
        """The exact width of one column in ticks."""
        return Fraction(self.t1 - self.t0, self.width) / self.axis.ns_per_tick

    @cached_property
    def _left(self) -> Fraction:
        return Fraction(self.t0 - self.axis.offset_ns) / self.axis.ns_per_tick

    @cached_property
    def _anchor(self) -> int:
        return min(max(int(self._left // 1), -_SAFE), _SAFE)

    @cached_property
    def _fits_int64(self) -> bool:
        last = self._left + self.width * self.ticks_per_pixel
        reach = max(-self._left, last, last - self._left)
        return reach < _SAFE and self._denominator * (self.width + 2) < _SAFE

    @cached_property
    def _denominator(self) -> int:
        return lcm(self._left.denominator, self.ticks_per_pixel.denominator)

    @cached_property
    def edges(self) -> Ints:
        """The first tick at or after each column's left edge: width + 1 int64, ascending."""
        step, left = self.ticks_per_pixel, self._left
        if not self._fits_int64:
            ticks = (-(-(left + p * step) // 1) for p in range(self.width + 1))
            return np.fromiter(
                (min(max(int(t), _INT64.min), _INT64.max) for t in ticks), np.int64, self.width + 1
            )
        denominator = self._denominator
        whole, rest = divmod(int(left * denominator), denominator)
        step_whole, step_rest = divmod(int(step * denominator), denominator)
        column = np.arange(self.width + 1, dtype=np.int64)
        rests = rest + column * step_rest
        edges: Ints = whole + column * step_whole - (-rests // denominator)
        return edges

    def x_of(self, ticks: Ints) -> NDArray[np.float64]:
        """Return the x of ticks in pixels from the left, unclipped; half a pixel is 0.5."""
        anchor = self._anchor
        low, high = np.int64(anchor - _SAFE + 1), np.int64(anchor + _SAFE - 1)
        near = np.clip(ticks, low, high) - np.int64(anchor)
        step = self.ticks_per_pixel
        # Multiply before dividing: then whole columns stay exact wherever float64 can represent
        # them.
        x = (near - float(self._left - anchor)) * float(step.denominator) / float(step.numerator)
        return np.asarray(x, np.float64)

    def pixel_of(self, ticks: Ints) -> Ints:
        """Return the column of each tick: exactly floor(x), clipped to 0..width."""
        edges = self.edges
        if not self._fits_int64:
            return np.maximum(np.searchsorted(edges, ticks, side="right") - 1, 0)
        near = np.minimum(np.maximum(ticks, edges[0]), edges[-1])
        # Float arithmetic is off by at most one column; the exact edges correct it.
        x = (near - np.int64(self._anchor)).astype(np.float64)
        x -= float(self._left - self._anchor)
        x *= float(1 / self.ticks_per_pixel)
        np.minimum(np.maximum(x, 0.0, out=x), float(self.width), out=x)
        column: Ints = x.astype(np.int64)
        column -= edges[column] > near
        column += self._right_edges[column] <= near
        if edges[0] == edges[1]:
            # If a tick is wider than a column, edges are equal: ticks before the first one are in
            # column 0.
            column[ticks < edges[0]] = 0
        return column

    def column_of(self, time: int) -> int:
        """Return the column of one time in ns of the shared axis, as `pixel_of` does for many."""
        column = (time - self.t0) * self.width // (self.t1 - self.t0)
        return min(max(column, 0), self.width)

    @cached_property
    def ends(self) -> Ints:
        """The first and the last edge."""
        return self.edges[[0, -1]]

    @cached_property
    def _right_edges(self) -> Ints:
        return np.append(self.edges[1:], _INT64.max)

    def t_of(self, x: float) -> int:
        """Return the last tick at or before x pixels."""
        return int((self._left + Fraction(x) * self.ticks_per_pixel) // 1)


class BandKind(IntEnum):
    """The kind of one horizontal band of the timeline."""

    PROCESS = 0  # the header of a process
    ROW = 1  # slices of one row
    STRIP = 2  # the zero-length slices of the row above
    GAP = 3  # space between processes
    COUNTER = 4  # one counter of a process, as an area
    PLAN = 5  # the plans of the jobs on the track above


# A part that can be folded, hidden or moved: process (trace, name) or track (trace, number).
HeaderPart = tuple[int, str | int]


@dataclass(frozen=True)
class TimelineLayout:
    """The horizontal bands of the timeline from top to bottom, as dense columns.

    kind: `BandKind`. y, height: pixels from the top of the content. slice_height: of a row's
    slices, which start `SLICE_TOP` below y; 0 elsewhere. process: index into the processes given to
    `stack`, -1 for gaps and for the pinned tracks. trace, track, row, and counter (a number within
    the trace): -1 if none.

    The first `pinned` bands are the section of the pinned tracks. While it is `stuck`, it covers
    the content at the line scrolled to (see `scrolled`), and hides what is below it.
    """

    kind: NDArray[np.uint8]
    y: Ints
    height: Ints
    slice_height: Ints
    process: Ints
    trace: Ints
    track: Ints
    row: Ints
    counter: Ints
    pinned: int = 0
    stuck: bool = False
    # By (trace, kind): the band of every row, computed on first use. A scrolled layout shares it,
    # because scrolling moves bands but does not renumber them.
    _of_row: dict[tuple[int, int], Ints] = field(default_factory=dict, repr=False, compare=False)

    @property
    def total_height(self) -> int:
        """The height of all bands in pixels."""
        if not len(self.y):
            return 0
        loose = len(self.y) > self.pinned or not self.stuck
        return int(self.y[-1] + self.height[-1]) if loose else self.pinned_height

    @property
    def pinned_height(self) -> int:
        """The height of the section of pinned tracks."""
        last = self.pinned - 1
        return int(self.y[last] + self.height[last] - self.y[0]) if self.pinned else 0

    @property
    def stuck_height(self) -> int:
        """The number of lines below the scroll position that pinned tracks cover."""
        return self.pinned_height if self.stuck else 0

    def scrolled(self, y: int) -> TimelineLayout:
        """Return a copy with the pinned section at line y, over the content there."""
        if not self.pinned:
            return self
        moved = self.y.copy()
        moved[: self.pinned] += y - moved[0]
        return replace(self, y=moved, stuck=True)

    def bands_between(self, y0: int, y1: int) -> Ints:
        """Return the bands visible on the pixel lines [y0, y1), from top to bottom."""
        if not self.stuck:
            return self._touching(0, len(self.y), y0, y1)
        edge = int(self.y[0]) + self.pinned_height
        above = self._touching(0, self.pinned, y0, y1)
        below = self._touching(self.pinned, len(self.y), max(y0, edge), y1)
        return np.concatenate([above, below])

    def _touching(self, first: int, last: int, y0: int, y1: int) -> Ints:
        """Return the bands in [first, last), ordered by y, that touch the lines."""
        y = self.y[first:last]
        none = np.empty(0, np.int64)
        if y1 <= y0 or not len(y) or y1 <= y[0] or y0 >= y[-1] + self.height[last - 1]:
            return none
        start = max(int(np.searchsorted(y, y0, side="right")) - 1, 0)
        return np.arange(first + start, first + int(np.searchsorted(y, y1, side="left")))

    def band_at(self, y: int) -> int:
        """Return the band at a pixel line, -1 above and below all bands."""
        found = self.bands_between(y, y + 1)
        return int(found[0]) if len(found) else -1

    def band_of(self, trace: int, row: int, kind: BandKind = BandKind.ROW) -> int:
        """Return the band that shows a row (or its strip), -1 while it is not shown."""
        bands = self._of_row.get((trace, kind))
        if bands is None:
            shown = np.flatnonzero((self.trace == trace) & (self.kind == kind))
            rows = self.row[shown]
            bands = np.full(int(rows.max(initial=-1)) + 1, -1, np.int64)
            bands[rows] = shown
            self._of_row[trace, kind] = bands
        return int(bands[row]) if 0 <= row < len(bands) else -1

    def tracks(self, bands: Ints) -> frozenset[tuple[int, int]]:
        """Return the tracks, as (trace, track), of some bands."""
        own = bands[self.track[bands] >= 0]
        pairs = np.unique(np.column_stack([self.trace[own], self.track[own]]), axis=0)
        return frozenset((trace, track) for trace, track in pairs.tolist())
