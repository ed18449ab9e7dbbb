"""Which tracks are seen and in which order they lie: what the user chose, put to what there is.

`TrackView` is the choice, a value that undo keeps. `arrange` puts it to a `TrackList`. A track that
is pinned leaves its process for the section on top, so no slice is ever drawn twice, and it stays
there whatever is filtered or folded below, until it is itself hidden. No Qt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.render.layout import ROW_HEIGHT, HeaderPart
from viewer.render.track_table import Busy, TrackList

LOWEST_ROW, HIGHEST_ROW = 8, 60  # px
T = TypeVar("T")


class TrackOrder(Enum):
    """In which order processes, and the tracks in each, are stacked."""

    FILE = "as in the file"
    NAME = "by name"
    TIME = "by first slice"
    BUSY = "busiest first"


@dataclass(frozen=True, slots=True)
class TrackView:
    """Which tracks are seen, and how they lie.

    A part is a process by (trace, name) or a track by (trace, number). collapsed: parts that are
    folded. pinned: tracks that stand on top, in this order. hidden: parts that are not shown.
    moved: parts that were dragged, with the part that each stands before (None: last of its
    fellows), in the order of dragging. heights: rows of these processes are so many px high.
    filter: only tracks, or processes, whose name holds this text are shown.
    """

    collapsed: frozenset[HeaderPart] = frozenset()
    pinned: tuple[tuple[int, int], ...] = ()
    hidden: frozenset[HeaderPart] = frozenset()
    moved: tuple[tuple[HeaderPart, HeaderPart | None], ...] = ()
    heights: tuple[tuple[HeaderPart, int], ...] = ()
    filter: str = ""
    order: TrackOrder = TrackOrder.FILE

    def toggled(self, part: HeaderPart) -> TrackView:
        """The same with a part folded, or opened again."""
        return replace(self, collapsed=self.collapsed ^ {part})

    def pinned_or_not(self, track: tuple[int, int]) -> TrackView:
        """The same with a track last of those on top, or back in its process."""
        if track in self.pinned:
            return replace(self, pinned=tuple(part for part in self.pinned if part != track))
        return replace(self, pinned=(*self.pinned, track), hidden=self.hidden - {track})

    def without(self, part: HeaderPart) -> TrackView:
        """The same with a part hidden; a track that was pinned is not any more."""
        pinned = tuple(track for track in self.pinned if track != part)
        return replace(self, hidden=self.hidden | {part}, pinned=pinned)

    def of_processes(self) -> TrackView:
        """What of it holds for other tracks of the same processes."""
        return TrackView(
            collapsed=frozenset(part for part in self.collapsed if isinstance(part[1], str)),
            hidden=frozenset(part for part in self.hidden if isinstance(part[1], str)),
            moved=tuple(move for move in self.moved if isinstance(move[0][1], str)),
            heights=self.heights,
            order=self.order,
        )

    def with_all(self) -> TrackView:
        """The same with nothing hidden or filtered away."""
        return replace(self, hidden=frozenset(), filter="")

    def placed_before(self, part: HeaderPart, before: HeaderPart | None) -> TrackView:
        """The same with a part before one of its fellows, or after them all.

        A pinned track is placed among the pinned ones.
        """
        if part in self.pinned:
            order: list[HeaderPart] = _placed(list(self.pinned), part, before)
            return replace(self, pinned=tuple(t for t in order if t in self.pinned))
        return replace(self, moved=(*self.moved, (part, before)))

    def ordered(self, order: TrackOrder) -> TrackView:
        """The same in another order; what was dragged is in its place again."""
        return replace(self, order=order, moved=())

    def row_height(self, process: HeaderPart) -> int:
        """How high the rows of a process are, in px."""
        return dict(self.heights).get(process, ROW_HEIGHT)

    def with_row_height(self, process: HeaderPart, height: int) -> TrackView:
        """The same with rows of a process so many px high, kept within what can be read."""
        chosen = dict(self.heights) | {process: min(max(height, LOWEST_ROW), HIGHEST_ROW)}
        if chosen[process] == ROW_HEIGHT:
            del chosen[process]
        return replace(self, heights=tuple(chosen.items()))

    def showing(self, track: tuple[int, int], name: str, process: tuple[int, str]) -> TrackView:
        """The same with all rows of a track shown, whatever hid it; name: what it is called."""
        hidden = self.hidden - {track}
        if track in self.pinned:
            return replace(self, collapsed=self.collapsed - {track}, hidden=hidden)
        found = _holds(self.filter, (process[1], name)).any()
        return replace(
            self,
            collapsed=self.collapsed - {track, process},
            hidden=hidden - {process},
            filter=self.filter if found else "",
        )

    def showing_only(self, stock: TrackList, part: HeaderPart) -> TrackView:
        """The same with everything hidden but a process, or a track; pinned tracks stay."""
        process = stock.process_of(part)
        hidden: set[HeaderPart] = {p.part for i, p in enumerate(stock.processes) if i != process}
        if stock.track_of(part) >= 0:
            fellows = np.flatnonzero(stock.process == process).tolist()
            hidden |= {stock.part(track) for track in fellows} - {part, *self.pinned}
        return replace(self, hidden=frozenset(hidden))


@dataclass(frozen=True)
class Arrangement:
    """What of a stock is seen, and in which order; numbers are positions in the stock.

    pinned: tracks on top. processes: those shown. tracks: those of processes that are open, one
    process after another. folded: per track whether its first row alone is shown. shown: per track
    whether it is neither hidden nor filtered away. counters: per shown process those of its
    counters that are shown, by number in the trace. hidden, filtered: how many tracks and
    counters are not shown, and for which of the two reasons.
    """

    pinned: Ints
    processes: Ints
    tracks: Ints
    folded: Bools
    shown: Bools
    counters: tuple[tuple[int, ...], ...]
    hidden: int
    filtered: int


def arrange(stock: TrackList, view: TrackView, busy: Busy | None = None) -> Arrangement:
    """Put a choice to what there is. Parts that do not exist are ignored.

    busy: the ns for which something lies on each track, for the order by it alone; without it that
    order is the one of the file.
    """
    tracks, processes = len(stock.names), len(stock.processes)
    hidden_track, hidden_process = _masks(stock, view.hidden)
    folded_track, folded_process = _masks(stock, view.collapsed)
    named = _holds(view.filter, [process.name for process in stock.processes])
    found = named[stock.process] | _holds(view.filter, stock.names)

    pinned = [stock.track_of(part) for part in dict.fromkeys(view.pinned)]
    pinned = [track for track in pinned if track >= 0 and not hidden_track[track]]
    on_top = np.zeros(tracks, np.bool_)
    on_top[pinned] = True
    hidden = (hidden_track | hidden_process[stock.process]) & ~on_top
    filtered = ~found & ~hidden & ~on_top
    below = ~hidden & ~filtered & ~on_top

    order = _process_order(stock, view, busy)
    has_some = named | np.bincount(stock.process[below], minlength=processes).astype(np.bool_)
    numbers, away = [], [0, 0]
    shown: list[int] = []
    for process in order:
        spec = stock.processes[process]
        kept = _holds(view.filter, spec.counter_names) | named[process]
        plotted = tuple(n for n, keep in zip(spec.counters, kept.tolist(), strict=True) if keep)
        if hidden_process[process]:
            away[0] += len(spec.counters)
            continue
        away[1] += len(spec.counters) - len(plotted)
        if has_some[process] or plotted:
            shown.append(process)
            numbers.append(() if folded_process[process] else plotted)
    rank = np.zeros(processes, np.int64)
    rank[order] = np.arange(processes)
    stacked = _track_order(stock, view, rank, busy)
    stacked = stacked[(below & ~folded_process[stock.process])[stacked]]
    return Arrangement(
        np.array(pinned, np.int64),
        np.array(shown, np.int64),
        stacked,
        folded_track,
        below | on_top,
        tuple(numbers),
        int(hidden.sum()) + away[0],
        int(filtered.sum()) + away[1],
    )


def _masks(stock: TrackList, parts: Iterable[HeaderPart]) -> tuple[Bools, Bools]:
    """Which tracks and which processes some parts are."""
    tracks = np.zeros(len(stock.names), np.bool_)
    processes = np.zeros(len(stock.processes), np.bool_)
    for part in parts:
        track = stock.track_of(part)
        if track >= 0:
            tracks[track] = True
        elif (process := stock.process_of(part)) >= 0:
            processes[process] = True
    return tracks, processes


def _holds(text: str, names: Sequence[str]) -> Bools:
    """Which names hold a text, in letters of either case; all of them if it is empty."""
    wanted = text.strip().casefold()
    if not wanted:
        return np.ones(len(names), np.bool_)
    return np.fromiter((wanted in name.casefold() for name in names), np.bool_, len(names))


def _process_order(stock: TrackList, view: TrackView, busy: Busy | None) -> list[int]:
    """All processes in their order."""
    order = list(range(len(stock.processes)))
    if view.order is TrackOrder.NAME:
        order.sort(key=lambda i: _natural(stock.processes[i].name))
    elif view.order is TrackOrder.TIME:
        starts = stock.process_starts()
        order.sort(key=lambda i: (starts[i] is None, starts[i] or 0))
    elif view.order is TrackOrder.BUSY and busy is not None:
        total = np.bincount(stock.process, busy, minlength=len(order))
        order.sort(key=lambda i: -total[i])
    for part, before in view.moved:
        if isinstance(part[1], str) and (before is None or isinstance(before[1], str)):
            at = stock.process_of(part)
            order = _placed(order, at, None if before is None else stock.process_of(before))
    return order


def _track_order(stock: TrackList, view: TrackView, rank: Ints, busy: Busy | None) -> Ints:
    """All tracks, one process after another."""
    tracks = len(stock.names)
    if view.order is TrackOrder.NAME:
        by_name = sorted(range(tracks), key=lambda i: _natural(stock.names[i]))
        key = np.empty(tracks, np.int64)
        key[by_name] = np.arange(tracks)
    elif view.order is TrackOrder.TIME:
        key = stock.first
    elif view.order is TrackOrder.BUSY and busy is not None:
        key = np.argsort(np.argsort(-busy, kind="stable"), kind="stable")
    else:
        key = np.arange(tracks)
    place = rank[stock.process]
    order: Ints = np.lexsort((key, place))
    for part, before in view.moved:
        track = stock.track_of(part)
        target = None if before is None else stock.track_of(before)
        strangers = target is not None and (
            target < 0 or stock.process[target] != stock.process[track]
        )
        if track < 0 or strangers:
            continue
        own = slice(*np.searchsorted(place[order], [place[track], place[track] + 1]).tolist())
        order[own] = _placed(order[own].tolist(), track, target)
    return order


def _placed(items: list[T], item: T, before: T | None) -> list[T]:
    """A list with one of its items before another of them, or last."""
    if item == before or item not in items or (before is not None and before not in items):
        return items
    rest = [one for one in items if one != item]
    at = len(rest) if before is None else rest.index(before)
    return [*rest[:at], item, *rest[at:]]


_DIGITS = re.compile(r"([0-9]+)")


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which "core 2" stands before "core 10"."""
    parts = _DIGITS.split(name.casefold())
    return [
        (len(digits := part.lstrip("0")), digits) if i % 2 else (0, part)
        for i, part in enumerate(parts)
    ]
