"""Selects and orders the visible tracks: applies the user's choices to the existing tracks.

`TrackView` is the user's choice, an immutable value in the undo history. `arrange` applies it to a
`TrackList`. A pinned track moves from its process to the section on top, so no slice is ever drawn
twice. It stays there whatever is filtered or folded below, until it is hidden itself. No Qt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.text import natural
from viewer.render.layout import HeaderPart
from viewer.render.track_table import Busy, TrackList

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
    """Return all processes in order."""
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
