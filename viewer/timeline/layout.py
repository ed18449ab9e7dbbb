"""Where things lie in the timeline: times to pixel columns (`XMap`) and rows to heights (`Layout`).

Both are pure and exact, and everything that draws, labels or is clicked asks them, so that a slice,
its label and the ruler line above it can never drift apart.

The shared axis counts whole nanoseconds. A file counts ticks of its own; its `Axis` says where they
lie on the shared axis. Column p shows the times [edge p, edge p + 1); the edges are exact ratios,
and `XMap.edges` holds the first whole tick at or after each. Column of a tick = floor(x), always.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

from viewer.model.counters import Counter
from viewer.model.times import tick_to_ns
from viewer.model.trace import Ints, KeyKind, Trace

_INT64 = np.iinfo(np.int64)
# Sums and differences of two numbers below this stay inside int64.
_SAFE = 1 << 62

ROW_HEIGHT = 30
SLICE_HEIGHT = 27
KERNEL_HEIGHT = 22
SLICE_TOP = 1
STRIP_HEIGHT = 12
HEADER_HEIGHT = 26
PROCESS_GAP = 8
COUNTER_HEIGHT = 34


@dataclass(frozen=True, slots=True)
class Axis:
    """How the ticks of one file lie on the shared axis: ns = tick * ns_per_tick + offset_ns."""

    ns_per_tick: Fraction = Fraction(1)
    offset_ns: int = 0

    def __post_init__(self) -> None:
        if self.ns_per_tick <= 0:
            raise ValueError(f"a tick cannot last {self.ns_per_tick} ns")

    def to_ns(self, tick: int) -> int:
        """The whole ns at or before a tick."""
        return tick_to_ns(tick, self.ns_per_tick) + self.offset_ns

    def to_ticks_floor(self, ns: int) -> int:
        """The last tick that is not after a time on the shared axis."""
        ratio = self.ns_per_tick
        return (ns - self.offset_ns) * ratio.denominator // ratio.numerator


@dataclass(frozen=True)
class XMap:
    """The visible range [t0, t1) ns of the shared axis on `width` pixel columns.

    `on(axis)` gives the same view for the ticks of one file; ticks below are ticks of `axis`.
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
        """The same range and columns, for the ticks of another axis."""
        if axis is self.axis:
            return self
        if axis not in self._others:
            self._others[axis] = self if axis == self.axis else replace(self, axis=axis)
        return self._others[axis]

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
        """The x of ticks in pixels from the left, not clipped; half a pixel is 0.5."""
        anchor = self._anchor
        low, high = np.int64(anchor - _SAFE + 1), np.int64(anchor + _SAFE - 1)
        near = np.clip(ticks, low, high) - np.int64(anchor)
        step = self.ticks_per_pixel
        # First times, then divided by: whole columns stay whole wherever float64 can hold them.
        x = (near - float(self._left - anchor)) * float(step.denominator) / float(step.numerator)
        return np.asarray(x, np.float64)

    def pixel_of(self, ticks: Ints) -> Ints:
        """The column of each tick: exactly floor(x), clipped to 0..width."""
        edges = self.edges
        if not self._fits_int64:
            return np.maximum(np.searchsorted(edges, ticks, side="right") - 1, 0)
        near = np.minimum(np.maximum(ticks, edges[0]), edges[-1])
        # Float gets within one column; the exact edges then decide.
        x = (near - np.int64(self._anchor)).astype(np.float64)
        x -= float(self._left - self._anchor)
        x *= float(1 / self.ticks_per_pixel)
        np.minimum(np.maximum(x, 0.0, out=x), float(self.width), out=x)
        column: Ints = x.astype(np.int64)
        column -= edges[column] > near
        column += self._right_edges[column] <= near
        if edges[0] == edges[1]:
            # A tick wider than a column makes edges equal: before the first of them is column 0.
            column[ticks < edges[0]] = 0
        return column

    @cached_property
    def ends(self) -> Ints:
        """The first and the last of the edges."""
        return self.edges[[0, -1]]

    @cached_property
    def _right_edges(self) -> Ints:
        return np.append(self.edges[1:], _INT64.max)

    def t_of(self, x: float) -> int:
        """The last tick at or before x pixels."""
        return int((self._left + Fraction(x) * self.ticks_per_pixel) // 1)


class BandKind(IntEnum):
    """What one horizontal stripe of the timeline is."""

    PROCESS = 0  # the header of a process
    ROW = 1  # slices of one row
    STRIP = 2  # the zero-length slices of the row above
    GAP = 3  # space between processes
    COUNTER = 4  # one counter of a process, as an area


@dataclass(frozen=True, slots=True)
class RowSpec:
    """One row of a trace: its number, how tall its slices are, and what it holds."""

    row: int
    slice_height: int = SLICE_HEIGHT
    has_lengths: bool = True
    has_zeros: bool = False


@dataclass(frozen=True, slots=True)
class TrackSpec:
    """One track of a trace with its rows from top to bottom. `track` is its number in the trace."""

    track: int
    rows: tuple[RowSpec, ...]


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of one open trace (`trace` is the trace's position among the open ones).

    counters: its counters, by their numbers among those of the trace.
    """

    trace: int
    name: str
    tracks: tuple[TrackSpec, ...]
    counters: tuple[int, ...] = ()


# What can be collapsed or pinned: a process by (trace, name), a track by (trace, number).
Part = tuple[int, str | int]


def specs_of(trace: Trace, number: int, counters: Sequence[Counter] = ()) -> list[ProcessSpec]:
    """The processes of a trace in the order of its tracks; `number` is the trace's position.

    counters: those of the trace.
    """
    slices, rows = trace.slices, len(trace.slices.row_ptr) - 1

    def count(mask: NDArray[np.bool_]) -> Ints:
        return np.diff(np.searchsorted(np.flatnonzero(mask), slices.row_ptr))

    zeros = count(slices.start == slices.end)
    longs = np.diff(slices.row_ptr) - zeros
    # What a column says to be a delegate's event stands where the file has it, inside no call.
    inner = (
        [KeyKind.KERNEL] if trace.identifier_column else [KeyKind.KERNEL, KeyKind.DELEGATE_EVENT]
    )
    kernels, inside = np.zeros(rows, np.int64), np.isin(trace.keys.kind, inner)
    if inside.any():
        kernels = count((slices.end > slices.start) & inside[slices.key])
    of_track: dict[int, list[RowSpec]] = {t: [] for t in range(len(trace.tracks))}
    for row in range(rows):
        tall = KERNEL_HEIGHT if 0 < longs[row] == kernels[row] else SLICE_HEIGHT
        spec = RowSpec(row, tall, bool(longs[row]), bool(zeros[row]))
        of_track[int(slices.row_track[row])].append(spec)
    processes: dict[str, list[TrackSpec]] = {}
    for t, track in enumerate(trace.tracks):
        processes.setdefault(track.process, []).append(TrackSpec(t, tuple(of_track[t])))
    plotted: dict[str, list[int]] = {}
    for c, counter in enumerate(counters):
        plotted.setdefault(counter.process, []).append(c)
    return [
        ProcessSpec(number, name, tuple(tracks), tuple(plotted.get(name, ())))
        for name, tracks in processes.items()
    ]


@dataclass(frozen=True, slots=True)
class Layout:
    """The stripes ("bands") of the timeline from top to bottom, as columns without holes.

    kind: `BandKind`. y, height: pixels from the top of the content. slice_height: of a row's
    slices, which begin `SLICE_TOP` below y; 0 elsewhere. process: index into the processes given
    to `build`, -1 for gaps and for the pinned tracks. trace, track, row, and counter, a number
    among those of the trace: -1 where there is none.
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

    @property
    def total_height(self) -> int:
        """The height of all bands in pixels."""
        return int(self.y[-1] + self.height[-1]) if len(self.y) else 0

    def bands_between(self, y0: int, y1: int) -> range:
        """The bands that touch the pixel lines [y0, y1)."""
        if y1 <= y0 or y1 <= 0:
            return range(0)
        first = max(int(np.searchsorted(self.y, y0, side="right")) - 1, 0)
        last = int(np.searchsorted(self.y, y1, side="left"))
        return range(first, last) if y0 < self.total_height else range(0)

    def band_at(self, y: int) -> int:
        """The band at a pixel line, -1 above and below all."""
        found = self.bands_between(y, y + 1)
        return found[0] if found else -1

    def band_of(self, trace: int, row: int, kind: BandKind = BandKind.ROW) -> int:
        """The band that shows a row (or its strip), -1 while it is collapsed."""
        shown = (self.trace == trace) & (self.row == row) & (self.kind == kind)
        return int(np.argmax(shown)) if shown.any() else -1


def build(
    processes: Sequence[ProcessSpec],
    collapsed: Collection[Part] = frozenset(),
    pinned: Sequence[tuple[int, int]] = (),
) -> Layout:
    """Stack processes, tracks, rows and strips, and the counters of a process below its tracks.

    A collapsed process keeps its header, a collapsed track its first row. Pinned tracks come first,
    in the order given, under one header of their own (process -1), and leave their processes.
    Parts that do not exist are ignored.
    """
    bands: list[tuple[int, int, int, int, int, int, int, int]] = []

    def track_bands(process: int, trace: int, track: TrackSpec) -> None:
        folded = (trace, track.track) in collapsed
        for row in track.rows[:1] if folded else track.rows:
            where = (process, trace, track.track, row.row, -1)
            if row.has_lengths or folded:
                bands.append((BandKind.ROW, ROW_HEIGHT, row.slice_height, *where))
            if row.has_zeros and not folded:
                bands.append((BandKind.STRIP, STRIP_HEIGHT, 0, *where))

    homes = {
        (process.trace, track.track): track for process in processes for track in process.tracks
    }
    on_top = [part for part in dict.fromkeys(pinned) if part in homes]
    if on_top:
        bands.append((BandKind.PROCESS, HEADER_HEIGHT, 0, -1, -1, -1, -1, -1))
        for part in on_top:
            track_bands(-1, part[0], homes[part])
    for number, process in enumerate(processes):
        if bands:
            bands.append((BandKind.GAP, PROCESS_GAP, 0, -1, -1, -1, -1, -1))
        bands.append((BandKind.PROCESS, HEADER_HEIGHT, 0, number, process.trace, -1, -1, -1))
        if (process.trace, process.name) not in collapsed:
            for track in process.tracks:
                if (process.trace, track.track) not in on_top:
                    track_bands(number, process.trace, track)
            bands += [
                (BandKind.COUNTER, COUNTER_HEIGHT, 0, number, process.trace, -1, -1, counter)
                for counter in process.counters
            ]

    table = np.array(bands, np.int64).reshape(len(bands), 8)
    height = table[:, 1].copy()
    return Layout(
        kind=table[:, 0].astype(np.uint8),
        y=np.cumsum(height) - height,
        height=height,
        slice_height=table[:, 2].copy(),
        process=table[:, 3].copy(),
        trace=table[:, 4].copy(),
        track=table[:, 5].copy(),
        row=table[:, 6].copy(),
        counter=table[:, 7].copy(),
    )
