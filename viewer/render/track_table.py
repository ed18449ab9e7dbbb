"""The rows, tracks and processes of the open traces, as columns for stacking. No Qt.

A `TrackTable` describes one trace and is built once, outside the GUI thread for large traces.
`TrackList` joins the tables of all open traces; it is independent of what the user folded, hid or
moved.

`HeaderBands` maps bands to processes and tracks, and finds the bands that name one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.intervals import durations, union
from viewer.model.trace import KeyKind, Trace
from viewer.render.axis.xmap import Axis
from viewer.render.layout import BandKind, HeaderPart, TimelineLayout

NEVER = np.iinfo(np.int64).max  # the first tick of a track without slices
Busy = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrackTable:
    """The tracks of one trace and the rows of each, from top to bottom.

    Per track: its name on screen, its process (an index into `processes`) and its first tick,
    `NEVER` if it has no slice; the rows of track t are row_ptr[t] to row_ptr[t + 1]. Per row: its
    number in the trace, whether it only has kernels, whose slices are drawn lower, and whether it
    has slices with a length, and without.
    """

    names: tuple[str, ...]
    processes: tuple[str, ...]
    process: Ints
    first: Ints
    row_ptr: Ints
    row: Ints
    kernels: Bools
    has_lengths: Bools
    has_zeros: Bools


_NO_INTS, _NO_BOOLS = np.empty(0, np.int64), np.empty(0, np.bool_)
# The table of a trace that is not listed.
NO_TRACKS = TrackTable(
    (), (), _NO_INTS, _NO_INTS, np.zeros(1, np.int64), _NO_INTS, _NO_BOOLS, _NO_BOOLS, _NO_BOOLS
)


def table_of(trace: Trace, names: Sequence[str]) -> TrackTable:
    """Return the table of a trace; names: the names of its tracks on screen."""
    slices, rows = trace.slices, trace.slices.rows_drawn
    order = None if slices.drawn_rows is None else slices.drawn_rows.index

    def count(mask: Bools) -> Ints:
        in_order = mask if order is None else mask[order]
        return np.diff(np.searchsorted(np.flatnonzero(in_order), rows.row_ptr))

    first, size = rows.row_ptr[:-1], np.diff(rows.row_ptr)
    longs = size - count(slices.start == slices.end)
    # Delegate events identified by a column are on their original row, not inside a call.
    inner = (
        [KeyKind.KERNEL] if trace.identifier_column else [KeyKind.KERNEL, KeyKind.DELEGATE_EVENT]
    )
    kernels, inside = np.zeros(len(first), np.int64), np.isin(trace.keys.kind, inner)
    if inside.any():
        kernels = count((slices.end > slices.start) & inside[slices.key])
    row_start = np.full(len(first), NEVER, np.int64)
    begins = first[size > 0]
    row_start[size > 0] = slices.start[begins if order is None else order[begins]]
    row_track = rows.row_track.astype(np.int64)
    by_track = np.argsort(row_track, kind="stable")
    first_of_track = np.full(len(trace.tracks), NEVER, np.int64)
    np.minimum.at(first_of_track, row_track, row_start)
    numbers: dict[str, int] = {}
    process = [numbers.setdefault(track.process, len(numbers)) for track in trace.tracks]
    return TrackTable(
        names=tuple(names),
        processes=tuple(numbers),
        process=np.array(process, np.int64),
        first=first_of_track,
        row_ptr=np.append(0, np.cumsum(np.bincount(row_track, minlength=len(process)))),
        row=by_track,
        kernels=((longs > 0) & (longs == kernels))[by_track],
        has_lengths=(longs > 0)[by_track],
        has_zeros=(size > longs)[by_track],
    )


def busy_of_tracks(trace: Trace) -> Busy:
    """Return how many ticks each track is busy: the length of the union of its slices."""
    slices, tracks = trace.slices, len(trace.tracks)
    total = np.append(np.uint64(0), np.cumsum(durations(slices.start, slices.end)))
    # Slices of a row do not overlap. Differences stay correct after an overflow of 2**64.
    of_row = np.diff(total[slices.row_ptr]).astype(np.float64)
    row_track = slices.row_track.astype(np.int64)
    busy = np.zeros(tracks, np.float64)
    np.add.at(busy, row_track, of_row)
    order = np.argsort(row_track, kind="stable")
    ptr = np.searchsorted(row_track[order], np.arange(tracks + 1))
    for track in np.flatnonzero(np.diff(ptr) > 1).tolist():
        rows = order[ptr[track] : ptr[track + 1]].tolist()
        parts = [slice(int(slices.row_ptr[r]), int(slices.row_ptr[r + 1])) for r in rows]
        starts, ends = union(
            np.concatenate([slices.start[part] for part in parts]),
            np.concatenate([slices.end[part] for part in parts]),
        )
        busy[track] = float(durations(starts, ends).sum())
    return busy


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of one open trace (`trace` is the trace's position among the open ones).

    counters: the numbers within the trace of its counters; counter_names: their names.
    """

    trace: int
    name: str
    counters: tuple[int, ...] = ()
    counter_names: tuple[str, ...] = ()

    @property
    def part(self) -> HeaderPart:
        """The key of the process in a `TrackView`."""
        return self.trace, self.name


@dataclass(frozen=True, eq=False)
class TrackList:
    """The tracks and processes of all open traces, in file order.

    processes: all of them. Per track: its trace, its number there, its process, its name and its
    first tick. Rows: as in `TrackTable`, for all tracks one after another. plan_lanes: the number
    of lanes in the plans of the tracks that have a row of plans, by (trace, number).
    """

    processes: tuple[ProcessSpec, ...]
    trace: Ints
    number: Ints
    process: Ints
    names: tuple[str, ...]
    first: Ints
    row_ptr: Ints
    row: Ints
    kernels: Bools
    has_lengths: Bools
    has_zeros: Bools
    axes: tuple[Axis, ...]
    plan_lanes: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @cached_property
    def first_of_trace(self) -> Ints:
        """The position of the first track of each trace, and one past the last track."""
        return np.searchsorted(self.trace, np.arange(len(self.axes) + 1))

    def track_of(self, part: HeaderPart) -> int:
        """Return the position of a track given as (trace, number); -1 if there is none."""
        trace, number = part
        if isinstance(number, str) or not 0 <= trace < len(self.axes) or number < 0:
            return -1
        track = int(self.first_of_trace[trace]) + number
        return track if track < self.first_of_trace[trace + 1] else -1

    @cached_property
    def _process_of(self) -> dict[HeaderPart, int]:
        return {process.part: i for i, process in enumerate(self.processes)}

    def process_of(self, part: HeaderPart) -> int:
        """Return the position of a process, or of a track's process; -1 if it does not exist."""
        track = self.track_of(part)
        return int(self.process[track]) if track >= 0 else self._process_of.get(part, -1)

    def part(self, track: int) -> tuple[int, int]:
        """Return the (trace, number) of a track."""
        return int(self.trace[track]), int(self.number[track])

    def process_starts(self) -> list[int | None]:
        """Return the start of each process's first slice, in ns of the axis, or None."""
        first = np.full(len(self.processes), NEVER, np.int64)
        np.minimum.at(first, self.process, self.first)
        return [
            None if tick == NEVER else self.axes[process.trace].to_ns(tick)
            for process, tick in zip(self.processes, first.tolist(), strict=True)
        ]


def track_list(
    tables: Sequence[TrackTable],
    axes: Sequence[Axis] | None = None,
    counters: Sequence[Sequence[tuple[str, str]]] = (),
    plan_lanes: Mapping[tuple[int, int], int] | None = None,
) -> TrackList:
    """Return everything in some traces that can be stacked.

    counters: for each trace its counters as (process, name). plan_lanes: as in `TrackList`.
    """
    axes = [Axis()] * len(tables) if axes is None else axes
    processes: list[ProcessSpec] = []
    process_parts: list[Ints] = []
    for trace, table in enumerate(tables):
        plotted: dict[str, list[int]] = {}
        named = counters[trace] if counters else ()
        for number, (process, _) in enumerate(named):
            plotted.setdefault(process, []).append(number)
        process_parts.append(table.process + len(processes))
        for name in table.processes:
            numbers = tuple(plotted.get(name, ()))
            texts = tuple(named[n][1] for n in numbers)
            processes.append(ProcessSpec(trace, name, numbers, texts))
    sizes = [len(table.names) for table in tables]
    rows = np.concatenate([[0], *(np.diff(table.row_ptr) for table in tables)])
    none, no_bools = np.empty(0, np.int64), np.empty(0, np.bool_)
    return TrackList(
        processes=tuple(processes),
        trace=np.repeat(np.arange(len(tables)), sizes),
        number=np.concatenate([none, *(np.arange(size) for size in sizes)]),
        process=np.concatenate([none, *process_parts]),
        names=tuple(name for table in tables for name in table.names),
        first=np.concatenate([none, *(table.first for table in tables)]),
        row_ptr=np.cumsum(rows, dtype=np.int64),
        row=np.concatenate([none, *(table.row for table in tables)]),
        kernels=np.concatenate([no_bools, *(table.kernels for table in tables)]),
        has_lengths=np.concatenate([no_bools, *(table.has_lengths for table in tables)]),
        has_zeros=np.concatenate([no_bools, *(table.has_zeros for table in tables)]),
        axes=tuple(axes),
        plan_lanes=plan_lanes or {},
    )


@dataclass(frozen=True, slots=True)
class HeaderBands:
    """A track list, and a layout of it."""

    track_list: TrackList
    layout: TimelineLayout

    def part_of(self, band: int) -> HeaderPart | None:
        """Return the track of a row, the process of a header or counter; None for other bands."""
        if band < 0:
            return None
        if self.layout.track[band] >= 0:
            return int(self.layout.trace[band]), int(self.layout.track[band])
        process = int(self.layout.process[band])
        return self.track_list.processes[process].part if process >= 0 else None

    def process_of(self, band: int) -> int:
        """Return the process that a band belongs to, even if pinned; -1 for none."""
        part = self.part_of(band)
        return -1 if part is None else self.track_list.process_of(part)

    def is_title(self, band: int) -> bool:
        """Return whether a band is the header of a process, or the first band of a track."""
        if band < 0 or self.part_of(band) is None:
            return False
        if self.layout.track[band] < 0:
            return bool(self.layout.kind[band] == BandKind.PROCESS)
        return band == 0 or self.part_of(band - 1) != self.part_of(band)

    def titles(self) -> list[int]:
        """Return all bands that are titles, from top to bottom."""
        layout = self.layout
        tracks = np.column_stack([layout.trace, layout.track])
        is_first = np.append(True, (tracks[1:] != tracks[:-1]).any(axis=1))[: len(tracks)]
        headers = (layout.kind == BandKind.PROCESS) & (layout.process >= 0)
        bands: list[int] = np.flatnonzero(headers | ((layout.track >= 0) & is_first)).tolist()
        return bands

    def first_band(self, part: HeaderPart) -> int:
        """Return the band that names a part, -1 while it is not shown."""
        layout = self.layout
        if self.track_list.track_of(part) >= 0:
            mask = (layout.trace == part[0]) & (layout.track == part[1])
        else:
            process = self.track_list.process_of(part)
            mask = (layout.process == process) & (layout.kind == BandKind.PROCESS) & (process >= 0)
        return int(np.argmax(mask)) if mask.any() else -1

    def can_fold(self, part: HeaderPart) -> bool:
        """Return whether folding hides anything.

        True for any process, and for a track with more than one row, or with a row and a strip, or
        with a row of plans.
        """
        track = self.track_list.track_of(part)
        if track < 0 or part in self.track_list.plan_lanes:
            return True
        first, last = self.track_list.row_ptr[track : track + 2].tolist()
        both = (
            last > first and self.track_list.has_lengths[first] and self.track_list.has_zeros[first]
        )
        return last - first > 1 or bool(both)

    def has_rows(self, band: int) -> bool:
        """Return whether a band is a row, or a header with rows below: its height can be set."""
        kinds = self.layout.kind
        if band < 0 or kinds[band] == BandKind.ROW:
            return band >= 0
        below = band + 1 < len(kinds) and kinds[band + 1] == BandKind.ROW
        return bool(kinds[band] == BandKind.PROCESS and self.layout.process[band] >= 0 and below)

    def all_processes(self) -> frozenset[HeaderPart]:
        """Return every process, including those that are not shown."""
        return frozenset(process.part for process in self.track_list.processes)
