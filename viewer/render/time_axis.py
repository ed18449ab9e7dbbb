"""The horizontal axis: times as columns of pixels, gaps, the lines of the ruler. Pure and exact.

All drawing, labeling and hit testing uses `XMap`, so that a slice, its label and the ruler line
above it always align. The axis of a clock counts integer nanoseconds, to which the `Axis` of a file
maps its ticks. Column p shows the times [edge p, edge p + 1). The edges are exact fractions, and
the column of a tick is always floor(x).

Gaps are empty room on screen. A comparison puts them before the calls of each arm, so that paired
calls begin at the same place. With them, a range is of places on screen: times with the gaps before
them. A moment at which a gap is has two places: what begins then is after the gap, what ends then
is before it.

Steps of the ruler are 1, 2 or 5 times a power of ten, as many as the width of labels allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.dataclasses import dataclass, field, replace
from viewer.model.times import (
    NARROW_SPACE,
    format_fixed,
    format_from_to,
    format_position,
    group_digits,
    nice_step,
    tick_to_ns,
    unit_for,
)

_MOST = 1 << 61  # ticks


class Gaps:
    """Some gaps, as parallel columns in order of time; compared by identity.

    at: the times of the gaps, distinct ascending int64. added: the lengths of all gaps up to and
    including each, ascending int64. Both are in one unit: ns of a clock, or ticks of a file. A
    place on screen is in this unit, too.
    """

    def __init__(
        self, places: Ints, added: Ints, on_axes: Mapping[object, Gaps] | None = None
    ) -> None:
        """on_axes: the same gaps in ticks of some axes, where they are known exactly."""
        self.at, self.added = places, added
        self._before = np.append(np.int64(0), added)  # the length of the first n gaps
        self._left = places + self._before[:-1]  # where each gap begins on screen
        self._right = places + added  # where each gap ends on screen
        self._on: dict[object, Gaps] = dict(on_axes or {})

    def __len__(self) -> int:
        return len(self.at)

    def places(self, times: Ints) -> Ints:
        """Return where on screen something begins at each of some times."""
        moved: Ints = times + self._before[np.searchsorted(self.at, times, side="right")]
        return moved

    def end_places(self, times: Ints) -> Ints:
        """Return where on screen something ends that ends at each of some times."""
        moved: Ints = times + self._before[np.searchsorted(self.at, times, side="left")]
        return moved

    def place(self, time: int) -> int:
        """Return where on screen something begins at a time."""
        return time + int(self._before[np.searchsorted(self.at, time, side="right")])

    def end_place(self, time: int) -> int:
        """Return where on screen something ends that ends at a time."""
        return time + int(self._before[np.searchsorted(self.at, time, side="left")])

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where on screen a span of times begins and ends; a moment stays one."""
        start = self.place(first)
        return (start, start) if first == last else (start, self.end_place(last))

    def times(self, start: int, end: int) -> tuple[int, int]:
        """Return the last times at or before two places."""
        return self.last_at(start), self.last_at(end)

    def first_at(self, places: Ints) -> Ints:
        """Return the first times at which something that begins is not left of some places."""
        passed = np.searchsorted(self._right, places, side="right")
        return self._clipped(places - self._before[passed], passed, 0)

    def last_at(self, place: int) -> int:
        """Return the last time at which something that begins is not right of a place."""
        passed = np.searchsorted(self._right, [place], side="right")
        return int(self._clipped(place - self._before[passed], passed, -1)[0])

    def first_end_at(self, places: Ints) -> Ints:
        """Return the first times at which something that ends is not left of some places."""
        begun = np.searchsorted(self._left, places, side="left")
        times = places - self._before[begun]
        if len(self.at):
            times = np.where(begun > 0, np.maximum(times, self.at[begun - 1] + 1), times)
        moved: Ints = times
        return moved

    def last_end_at(self, place: int) -> int:
        """Return the last time at which something that ends is not right of a place."""
        begun = int(np.searchsorted(self._left, place, side="right"))
        time = place - int(self._before[begun])
        return max(time, int(self.at[begun - 1])) if begun else time

    def _clipped(self, times: Ints, passed: Ints, by: int) -> Ints:
        """Return times inside of the next gap as its own time plus `by`."""
        if not len(self.at):
            return times
        following = self.at[np.minimum(passed, len(self.at) - 1)] + by
        clipped: Ints = np.where(passed < len(self.at), np.minimum(times, following), times)
        return clipped

    def on(self, axis: object, ns_per_tick: Fraction, offset_ns: int) -> Gaps:
        """Return these gaps, which are in ns, in ticks of a file: ns = tick * ns_per_tick + offset.

        axis: what stands for the file, so that its gaps are made once. A gap is at the first tick
        that is not before it, and of whole ticks.
        """
        if axis not in self._on:
            places = [
                -((offset_ns - ns) * ns_per_tick.denominator // ns_per_tick.numerator)
                for ns in self.at.tolist()
            ]
            added = [
                ns * ns_per_tick.denominator // ns_per_tick.numerator for ns in self.added.tolist()
            ]
            # The ticks of another file of the clock may be so short that int64 does not hold them.
            places, added = (
                [min(max(t, -_MOST), _MOST) for t in values] for values in (places, added)
            )
            self._on[axis] = gaps_of(np.array(places, np.int64), np.array(added, np.int64))
        return self._on[axis]


def gaps_of(places: Ints, added: Ints, on_axes: Mapping[object, Gaps] | None = None) -> Gaps:
    """Return gaps from ascending columns in which several may be at one time, or be empty."""
    last = np.append(places[1:] != places[:-1], True) if len(places) else np.empty(0, np.bool_)
    places, added = places[last], added[last]
    grows = np.diff(added, prepend=np.int64(0)) > 0
    return Gaps(places[grows], added[grows], on_axes)


NO_GAPS = Gaps(np.empty(0, np.int64), np.empty(0, np.int64))


_INT64 = np.iinfo(np.int64)
# Sums and differences of two numbers below this fit int64.
_SAFE = 1 << 62
# Up to here, columns of starts and ends together are faster: 23 instead of 31 µs for 1,000 slices,
# but 234 instead of 147 for 10,000.
_FEW = 3000
# Up to here, a binary search for columns is faster than arithmetic: 9 instead of 16 µs for 500
# times, 25 instead of 20 for 2,000.
_SEARCHED = 1000


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps the ticks of one file to the axis of its clock: ns = tick * ns_per_tick + offset_ns."""

    ns_per_tick: Fraction = Fraction(1)
    offset_ns: int = 0

    def __post_init__(self) -> None:
        if self.ns_per_tick <= 0:
            raise ValueError(f"a tick cannot last {self.ns_per_tick} ns")

    def __hash__(self) -> int:
        """A frame looks up axes a hundred times, and hashing a Fraction takes 2 µs."""
        return hash((self.ns_per_tick.numerator, self.offset_ns))

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
    gaps: of the axis of the clock, in ns; if there are any, t0 and t1 are places on screen. Only
    `column_at` and `ticks_per_pixel` count places; everything else is in times.
    Raises ValueError for an empty range or no columns.
    """

    t0: int
    t1: int
    width: int
    axis: Axis = field(default_factory=Axis)
    gaps: Gaps = NO_GAPS

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

        zero_ns: on the axis in ns, a place if there are gaps. The columns have exactly the edges
        that they have in this view.
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
    def _from_anchor(self) -> float:
        return float(self._left - self._anchor)

    @cached_property
    def _pixels_per_tick(self) -> float:
        return float(1 / self.ticks_per_pixel)

    @cached_property
    def _fits_int64(self) -> bool:
        last = self._left + self.width * self.ticks_per_pixel
        reach = max(-self._left, last, last - self._left)
        return reach < _SAFE and self._denominator * (self.width + 2) < _SAFE

    @cached_property
    def _denominator(self) -> int:
        return lcm(self._left.denominator, self.ticks_per_pixel.denominator)

    @cached_property
    def _own_gaps(self) -> Gaps | None:
        """The gaps in ticks, None without any."""
        axis = self.axis
        return self.gaps.on(axis, axis.ns_per_tick, axis.offset_ns) if len(self.gaps) else None

    @cached_property
    def edges(self) -> Ints:
        """The first tick at or after each column's left edge: width + 1 int64, ascending."""
        gaps = self._own_gaps
        return self._places if gaps is None else gaps.first_at(self._places)

    @cached_property
    def end_edges(self) -> Ints:
        """The first tick that is at or after each column's left edge for what ends there.

        As `edges`, except at gaps: what ends at the time of one is before it.
        """
        gaps = self._own_gaps
        return self._places if gaps is None else gaps.first_end_at(self._places)

    @cached_property
    def last_end(self) -> int:
        """The last tick at which something ends that ends in view."""
        gaps, place = self._own_gaps, self.place_at(self.width)
        return place if gaps is None else gaps.last_end_at(place)

    @cached_property
    def times(self) -> tuple[int, int]:
        """The last ticks at or before the left and the right border."""
        return self.t_of(0), self.t_of(self.width)

    @cached_property
    def _places(self) -> Ints:
        """As `edges`, as places in ticks."""
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
        places: Ints = whole + column * step_whole - (-rests // denominator)
        return places

    def x_of(self, ticks: Ints) -> NDArray[np.float64]:
        """Return the x of ticks in pixels from the left, unclipped; half a pixel is 0.5."""
        gaps = self._own_gaps
        return self._x_of(ticks if gaps is None else gaps.places(ticks))

    def end_x_of(self, ticks: Ints) -> NDArray[np.float64]:
        """Return the x of ends of slices; as `x_of`, except at gaps."""
        gaps = self._own_gaps
        return self._x_of(ticks if gaps is None else gaps.end_places(ticks))

    def span_x_of(self, start: Ints, end: Ints) -> NDArray[np.float64]:
        """Return the x of the starts and of the ends of slices, as two rows."""
        gaps = self._own_gaps
        if gaps is not None:
            start, end = gaps.places(start), gaps.end_places(end)
        return self._x_of(np.concatenate([start, end])).reshape(2, -1)

    def _x_of(self, places: Ints) -> NDArray[np.float64]:
        anchor = self._anchor
        low, high = np.int64(anchor - _SAFE + 1), np.int64(anchor + _SAFE - 1)
        near = np.minimum(np.maximum(places, low), high) - np.int64(anchor)
        step = self.ticks_per_pixel
        # Multiply before dividing: then whole columns stay exact wherever float64 can represent
        # them.
        x = (near - self._from_anchor) * float(step.denominator) / float(step.numerator)
        return np.asarray(x, np.float64)

    def pixel_of(self, ticks: Ints) -> Ints:
        """Return the column of each tick: exactly floor(x), clipped to 0..width."""
        gaps = self._own_gaps
        return self._pixel_of(ticks if gaps is None else gaps.places(ticks))

    def end_pixel_of(self, ticks: Ints) -> Ints:
        """Return the column of ends of slices; as `pixel_of`, except at gaps."""
        gaps = self._own_gaps
        return self._pixel_of(ticks if gaps is None else gaps.end_places(ticks))

    def span_pixel_of(self, start: Ints, end: Ints) -> Ints:
        """Return the columns of the starts and of the ends of slices, as two rows.

        Half the calls of numpy, which are most of the time unless there are many slices.
        """
        if len(start) > _FEW:
            both: Ints = np.stack([self.pixel_of(start), self.end_pixel_of(end)])
            return both
        gaps = self._own_gaps
        if gaps is not None:
            start, end = gaps.places(start), gaps.end_places(end)
        return self._pixel_of(np.concatenate([start, end])).reshape(2, -1)

    def _pixel_of(self, places: Ints) -> Ints:
        edges = self._places
        if len(places) <= _SEARCHED or not self._fits_int64:
            pixels: Ints = np.maximum(edges.searchsorted(places, side="right") - 1, 0)
            return pixels
        near = np.minimum(np.maximum(places, edges[0]), edges[-1])
        # Float arithmetic is off by at most one column; the exact edges correct it.
        x = (near - np.int64(self._anchor)).astype(np.float64)
        x -= self._from_anchor
        x *= self._pixels_per_tick
        np.minimum(np.maximum(x, 0.0, out=x), float(self.width), out=x)
        column: Ints = x.astype(np.int64)
        column -= edges[column] > near
        column += self._right_edges[column] <= near
        if edges[0] == edges[1]:
            # If a tick is wider than a column, edges are equal: ticks before the first one are in
            # column 0.
            column[places < edges[0]] = 0
        return column

    def column_of(self, time: int) -> int:
        """Return the column of one time in ns of the shared axis, as `pixel_of` does for many."""
        return self.column_at(self.gaps.place(time) if len(self.gaps) else time)

    def column_at(self, place: int) -> int:
        """Return the column of a place on screen in ns, clipped to 0..width."""
        column = (place - self.t0) * self.width // (self.t1 - self.t0)
        return min(max(column, 0), self.width)

    @cached_property
    def ends(self) -> Ints:
        """The first and the last edge."""
        return self.edges[[0, -1]]

    @cached_property
    def _right_edges(self) -> Ints:
        return np.append(self._places[1:], _INT64.max)

    def gap_before(self, tick: int) -> Fraction:
        """Return how far the gaps before a tick move what begins at it, in ns."""
        gaps = self._own_gaps
        return Fraction(0) if gaps is None else (gaps.place(tick) - tick) * self.axis.ns_per_tick

    def t_from(self, x: float) -> int:
        """Return the first tick of what begins at x pixels: in a gap, that after it."""
        gaps, place = self._own_gaps, self.place_at(x)
        return place if gaps is None else int(gaps.first_at(np.array([place]))[0])

    def t_of(self, x: float) -> int:
        """Return the last tick at or before x pixels."""
        gaps, place = self._own_gaps, self.place_at(x)
        return place if gaps is None else gaps.last_at(place)

    def place_at(self, x: float) -> int:
        """Return the last place on screen in ticks at or before x pixels."""
        return int((self._left + Fraction(x) * self.ticks_per_pixel) // 1)


def columns_of_span(xmap: XMap, span: tuple[int, int]) -> tuple[int, int]:
    """Return the columns in which a span of ticks begins and ends; a moment has one."""
    first, last = np.array(span, np.int64)[:, None]
    start = int(xmap.pixel_of(first)[0])
    return start, start if first == last else int(xmap.end_pixel_of(last)[0])


_FARTHEST = 1 << 63  # beyond this, a line's time does not fit int64
_LABEL_GAP = 20
_DIGIT_WIDTH = 7
_MINOR_GAP = 6
_MINOR_PARTS = {1: 5, 2: 4, 5: 5}


CYCLES = ("cycles", 1)


@dataclass(frozen=True, slots=True)
class Ruler:
    """Lines of the ruler, in its own unit of counting: `major` has labels, `minor` is between."""

    unit: str
    major: Ints
    labels: tuple[str, ...]
    minor: Ints


@dataclass(frozen=True, slots=True)
class Scale:
    """What the ruler counts: ns of an axis from `origin`, or cycles of one file.

    cycles: maps cycles to that axis, None to count ns; if given, `origin` is in cycles.
    start: a description of the origin, "trace start".
    """

    origin: int = 0
    cycles: Axis | None = None
    start: str = "trace start"

    def lines(self, xmap: XMap, width: int) -> Ruler:
        """Return the lines of a view as columns; `width` is the space for labels, in pixels."""
        here = xmap if self.cycles is None else xmap.on(self.cycles)
        t0, t1 = here.times
        unit = None if self.cycles is None else CYCLES
        # Gaps have no times: what is between two lines is as wide as without them.
        if len(xmap.gaps):
            width = int((t1 - t0) / here.ticks_per_pixel * width / here.width) + 1
        ticks = ruler(t0, t1, width, self.origin, unit=unit)
        return replace(ticks, major=here.pixel_of(ticks.major), minor=here.pixel_of(ticks.minor))

    def caption(self, span: int) -> str:
        """Return what the labels of a view of `span` ns count: "µs from trace start"."""
        unit = unit_for(span) if self.cycles is None else CYCLES
        return f"{unit[0]} from {self.start}"

    def text(self, ns: int, resolution_ns: float = 1) -> str:
        """Format a time on the axis like the ruler: "1.250 µs", "1 000 cycles".

        resolution_ns: the ns per pixel of the view, by default whole ns.
        """
        if self.cycles is None:
            return format_position(ns - self.origin, resolution_ns)
        cycles = self.cycles.to_ticks_floor(ns) - self.origin
        return f"{group_digits(cycles)}{NARROW_SPACE}cycles"

    def span_text(self, first: int, last: int) -> str:
        """Format two times on the axis like the ruler: "0 to 200 µs", "10 to 20 cycles"."""
        if self.cycles is None:
            return format_from_to(first - self.origin, last - self.origin)
        cycles = (self.cycles.to_ticks_floor(ns) - self.origin for ns in (first, last))
        ends = dict.fromkeys(map(group_digits, cycles))
        return f"{' to '.join(ends)}{NARROW_SPACE}cycles"


def ruler(
    t0: int,
    t1: int,
    width: int,
    origin: int = 0,
    min_gap: int = 60,
    unit: tuple[str, int] | None = None,
) -> Ruler:
    """Return lines for [t0, t1] ns on `width` pixels, with labels at least `min_gap` px apart.

    Labels count from `origin` in one unit: the given one (name, factor), else one that suits the
    range. An empty range has no lines.
    """
    span = t1 - t0
    if span <= 0 or width <= 0:
        none = np.empty(0, np.int64)
        return Ruler("ns", none, (), none)
    name, factor = unit or unit_for(span)
    gap = min_gap
    while True:
        step, digit = nice_step(-(-span * gap // width))
        decimals = _decimals(step, factor)
        first, last = -(-(t0 - origin) // step), (t1 - origin) // step
        ends = (_label(n * step, factor, decimals) for n in (first, last))
        needed = max(map(len, ends)) * _DIGIT_WIDTH + _LABEL_GAP
        if needed <= gap:
            break
        gap = needed
    steps = [n for n in range(first, last + 1) if abs(origin + n * step) < _FARTHEST]
    labels = tuple(_label(n * step, factor, decimals) for n in steps)
    major = np.array([origin + n * step for n in steps], np.int64)
    return Ruler(name, major, labels, _minor(t0, t1, width, origin, step, digit))


def _decimals(step: int, factor: int) -> int:
    """Return how many decimals of the unit a multiple of the step needs."""
    decimals = 0
    while factor > 1 and step % factor:
        factor //= 10
        decimals += 1
    return decimals


def _label(ns: int, factor: int, decimals: int) -> str:
    return "0" if ns == 0 else format_fixed(ns, factor, decimals)


def _minor(t0: int, t1: int, width: int, origin: int, step: int, digit: int) -> Ints:
    parts = next(
        (
            n
            for n in (_MINOR_PARTS[digit], 2)
            if step % n == 0 and step * width >= n * _MINOR_GAP * (t1 - t0)
        ),
        1,
    )
    part = step // parts
    between = range(-(-(t0 - origin) // part), (t1 - origin) // part + 1)
    lines = (origin + n * part for n in between if n % parts)
    return np.array([line for line in lines if abs(line) < _FARTHEST], np.int64)
