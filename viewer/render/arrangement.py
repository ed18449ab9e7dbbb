"""The tracks of the open traces, and which of them are visible, in which order. No Qt.

`TrackList` joins the `TrackTable`s of all open traces, independent of what the user folded, hid or
moved. `arrange` applies the `TrackView`, an immutable value in the undo history. A pinned track
moves from its process to the section on top, so no slice is ever drawn twice. It stays there
whatever is filtered or folded below, until it is hidden itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, lists_by_key
from viewer.dataclasses import dataclass, field, replace
from viewer.model.intervals import durations, union
from viewer.model.text import natural
from viewer.model.trace import KeyKind, Trace
from viewer.render.layout import BandKind, HeaderPart, TimelineLayout
from viewer.render.time_axis import Axis

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
        named = counters[trace] if counters else ()
        plotted = lists_by_key((process, number) for number, (process, _) in enumerate(named))
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


LOWEST_ROW, HIGHEST_ROW = 8, 60  # px
T = TypeVar("T")


class TrackOrder(Enum):
    """The order of processes, and of the tracks in each."""

    FILE = "as in the file"
    NAME = "by name"
    TIME = "by first slice"
    BUSY = "busiest first"


@dataclass(frozen=True, slots=True)
class TrackView:
    """Which tracks are visible, and how they are arranged.

    A part is a process as (trace, name) or a track as (trace, number). collapsed: folded parts.
    pinned: tracks on top, in this order. hidden: parts that are not shown. moved: dragged parts,
    each with the sibling that it precedes (None: last), in the order of dragging. heights: the row
    height of some processes in px. filter: only tracks or processes whose name contains this text
    are shown.
    """

    collapsed: frozenset[HeaderPart] = frozenset()
    pinned: tuple[tuple[int, int], ...] = ()
    hidden: frozenset[HeaderPart] = frozenset()
    moved: tuple[tuple[HeaderPart, HeaderPart | None], ...] = ()
    heights: tuple[tuple[HeaderPart, int], ...] = ()
    filter: str = ""
    order: TrackOrder = TrackOrder.FILE

    def toggled(self, part: HeaderPart) -> TrackView:
        """Return a copy with a part folded, or unfolded if it was."""
        return replace(self, collapsed=self.collapsed ^ {part})

    def pinned_or_not(self, track: tuple[int, int]) -> TrackView:
        """Return a copy with a track pinned last, or unpinned if it was pinned."""
        if track in self.pinned:
            return replace(self, pinned=tuple(part for part in self.pinned if part != track))
        return replace(self, pinned=(*self.pinned, track), hidden=self.hidden - {track})

    def without(self, part: HeaderPart) -> TrackView:
        """Return a copy with a part hidden and, if it is a track, unpinned."""
        pinned = tuple(track for track in self.pinned if track != part)
        return replace(self, hidden=self.hidden | {part}, pinned=pinned)

    def of_processes(self) -> TrackView:
        """Return the choices that also apply to other tracks of the same processes."""
        return TrackView(
            collapsed=frozenset(part for part in self.collapsed if isinstance(part[1], str)),
            hidden=frozenset(part for part in self.hidden if isinstance(part[1], str)),
            moved=tuple(move for move in self.moved if isinstance(move[0][1], str)),
            heights=self.heights,
            order=self.order,
        )

    def with_all(self) -> TrackView:
        """Return a copy with nothing hidden or filtered."""
        return replace(self, hidden=frozenset(), filter="")

    def placed_before(self, part: HeaderPart, before: HeaderPart | None) -> TrackView:
        """Return a copy with a part moved before one of its siblings, or after all of them.

        A pinned track moves among the pinned ones.
        """
        if part in self.pinned:
            order: list[HeaderPart] = _placed(list(self.pinned), part, before)
            return replace(self, pinned=tuple(t for t in order if t in self.pinned))
        return replace(self, moved=(*self.moved, (part, before)))

    def ordered(self, order: TrackOrder) -> TrackView:
        """Return a copy with another order; dragged parts return to their places."""
        return replace(self, order=order, moved=())

    def with_row_height(
        self, process: HeaderPart, height: int, usual: int | None = None
    ) -> TrackView:
        """Return a copy with another row height for a process, clamped to a readable range (px).

        usual: its height by density, in px; that one is not kept as a choice for the process.
        """
        chosen = dict(self.heights) | {process: min(max(height, LOWEST_ROW), HIGHEST_ROW)}
        if chosen[process] == usual:
            del chosen[process]
        return replace(self, heights=tuple(chosen.items()))

    def showing(self, track: tuple[int, int], name: str, process: tuple[int, str]) -> TrackView:
        """Return a copy with all rows of a track visible, whatever hid it; name: its label."""
        hidden = self.hidden - {track}
        if track in self.pinned:
            return replace(self, collapsed=self.collapsed - {track}, hidden=hidden)
        is_named = _holds(self.filter, (process[1], name)).any()
        return replace(
            self,
            collapsed=self.collapsed - {track, process},
            hidden=hidden - {process},
            filter=self.filter if is_named else "",
        )

    def showing_only(self, track_list: TrackList, part: HeaderPart) -> TrackView:
        """Return a copy with everything hidden except a process or track; pinned tracks stay."""
        process = track_list.process_of(part)
        hidden: set[HeaderPart] = {
            p.part for i, p in enumerate(track_list.processes) if i != process
        }
        if track_list.track_of(part) >= 0:
            siblings = np.flatnonzero(track_list.process == process).tolist()
            hidden |= {track_list.part(track) for track in siblings} - {part, *self.pinned}
        return replace(self, hidden=frozenset(hidden))


@dataclass(frozen=True)
class Arrangement:
    """The visible part of a track list, in order; numbers are positions in the track list.

    pinned: tracks on top. processes: the visible ones. tracks: those of unfolded processes, one
    process after another. folded: per track whether only its first row is shown. shown: per track
    whether it is neither hidden nor filtered. counters: per visible process the numbers in the
    trace of its visible counters. hidden, filtered: how many tracks and counters are not shown, by
    reason.
    """

    pinned: Ints
    processes: Ints
    tracks: Ints
    folded: Bools
    shown: Bools
    counters: tuple[tuple[int, ...], ...]
    hidden: int
    filtered: int


def arrange(track_list: TrackList, view: TrackView, busy: Busy | None = None) -> Arrangement:
    """Apply a view to the existing tracks. Parts that do not exist are ignored.

    busy: the busy time of each track in ns, needed only for `TrackOrder.BUSY`; without it, that
    order is file order.
    """
    tracks, processes = len(track_list.names), len(track_list.processes)
    hidden_track, hidden_process = _masks(track_list, view.hidden)
    folded_track, folded_process = _masks(track_list, view.collapsed)
    named = _holds(view.filter, [process.name for process in track_list.processes])
    mask = named[track_list.process] | _holds(view.filter, track_list.names)

    pinned = [track_list.track_of(part) for part in dict.fromkeys(view.pinned)]
    pinned = [track for track in pinned if track >= 0 and not hidden_track[track]]
    on_top = np.zeros(tracks, np.bool_)
    on_top[pinned] = True
    hidden = (hidden_track | hidden_process[track_list.process]) & ~on_top
    filtered = ~mask & ~hidden & ~on_top
    below = ~hidden & ~filtered & ~on_top

    order = _process_order(track_list, view, busy)
    has_some = named | np.bincount(track_list.process[below], minlength=processes).astype(np.bool_)
    numbers, not_shown = [], [0, 0]
    shown_processes: list[int] = []
    for process in order:
        spec = track_list.processes[process]
        matches = _holds(view.filter, spec.counter_names) | named[process]
        plotted = tuple(n for n, keep in zip(spec.counters, matches.tolist(), strict=True) if keep)
        if hidden_process[process]:
            not_shown[0] += len(spec.counters)
            continue
        not_shown[1] += len(spec.counters) - len(plotted)
        if has_some[process] or plotted:
            shown_processes.append(process)
            numbers.append(() if folded_process[process] else plotted)
    rank = np.zeros(processes, np.int64)
    rank[order] = np.arange(processes)
    stacked = _track_order(track_list, view, rank, busy)
    stacked = stacked[(below & ~folded_process[track_list.process])[stacked]]
    return Arrangement(
        np.array(pinned, np.int64),
        np.array(shown_processes, np.int64),
        stacked,
        folded_track,
        below | on_top,
        tuple(numbers),
        int(hidden.sum()) + not_shown[0],
        int(filtered.sum()) + not_shown[1],
    )


def shown_parts(track_list: TrackList, arrangement: Arrangement) -> frozenset[tuple[int, int]]:
    """Return the tracks that are neither hidden nor filtered out, as (trace, track)."""
    indexes = np.flatnonzero(arrangement.shown)
    pairs = np.column_stack([track_list.trace[indexes], track_list.number[indexes]])
    return frozenset((trace, track) for trace, track in pairs.tolist())


def display_order(track_list: TrackList, arrangement: Arrangement) -> tuple[tuple[int, int], ...]:
    """Return the (trace, track) of all tracks in the order on screen.

    Pinned tracks come first. Each visible process follows with its visible tracks, then its other
    tracks. Hidden processes come last.
    """
    order: list[int] = arrangement.pinned.tolist()
    for process in arrangement.processes.tolist():
        tracks = arrangement.tracks[track_list.process[arrangement.tracks] == process]
        order += [*tracks.tolist(), *np.flatnonzero(track_list.process == process).tolist()]
    ordered: Sequence[int] = list(dict.fromkeys((*order, *range(len(track_list.names)))))
    return tuple((int(track_list.trace[track]), int(track_list.number[track])) for track in ordered)


def _masks(track_list: TrackList, parts: Iterable[HeaderPart]) -> tuple[Bools, Bools]:
    """Return masks of the tracks and of the processes among some parts."""
    tracks = np.zeros(len(track_list.names), np.bool_)
    processes = np.zeros(len(track_list.processes), np.bool_)
    for part in parts:
        track = track_list.track_of(part)
        if track >= 0:
            tracks[track] = True
        elif (process := track_list.process_of(part)) >= 0:
            processes[process] = True
    return tracks, processes


def _holds(text: str, names: Sequence[str]) -> Bools:
    """Return which names contain a text, ignoring case; all of them if the text is empty."""
    needle = text.strip().casefold()
    if not needle:
        return np.ones(len(names), np.bool_)
    return np.fromiter((needle in name.casefold() for name in names), np.bool_, len(names))


def _process_order(track_list: TrackList, view: TrackView, busy: Busy | None) -> list[int]:
    order = list(range(len(track_list.processes)))
    if view.order is TrackOrder.NAME:
        order.sort(key=lambda i: natural(track_list.processes[i].name))
    elif view.order is TrackOrder.TIME:
        starts = track_list.process_starts()
        order.sort(key=lambda i: (starts[i] is None, starts[i] or 0))
    elif view.order is TrackOrder.BUSY and busy is not None:
        total = np.bincount(track_list.process, busy, minlength=len(order))
        order.sort(key=lambda i: -total[i])
    for part, before in view.moved:
        if isinstance(part[1], str) and (before is None or isinstance(before[1], str)):
            process = track_list.process_of(part)
            order = _placed(
                order, process, None if before is None else track_list.process_of(before)
            )
    return order


def _track_order(track_list: TrackList, view: TrackView, rank: Ints, busy: Busy | None) -> Ints:
    """Return all tracks in order, one process after another."""
    tracks = len(track_list.names)
    if view.order is TrackOrder.NAME:
        by_name = sorted(range(tracks), key=lambda i: natural(track_list.names[i]))
        key = np.empty(tracks, np.int64)
        key[by_name] = np.arange(tracks)
    elif view.order is TrackOrder.TIME:
        key = track_list.first
    elif view.order is TrackOrder.BUSY and busy is not None:
        key = np.argsort(np.argsort(-busy, kind="stable"), kind="stable")
    else:
        key = np.arange(tracks)
    place = rank[track_list.process]
    order: Ints = np.lexsort((key, place))
    for part, before in view.moved:
        track = track_list.track_of(part)
        target = None if before is None else track_list.track_of(before)
        is_elsewhere = target is not None and (
            target < 0 or track_list.process[target] != track_list.process[track]
        )
        if track < 0 or is_elsewhere:
            continue
        slots = slice(*np.searchsorted(place[order], [place[track], place[track] + 1]).tolist())
        order[slots] = _placed(order[slots].tolist(), track, target)
    return order


def _placed(items: list[T], item: T, before: T | None) -> list[T]:
    """Return a list with one item moved before another, or to the end."""
    if item == before or item not in items or (before is not None and before not in items):
        return items
    rest = [other for other in items if other != item]
    index = len(rest) if before is None else rest.index(before)
    return [*rest[:index], item, *rest[index:]]
