"""Which END closes which BEGIN of a Perfetto track, for all events at once.

Events are matched a part at a time that stays in the processor's cache: the ten passes over twenty
million events that matching takes need 5 s in memory that is fresh each time, and 0.5 s so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints

BEGIN, END, POINT, COMPLETE = 1, 2, 3, 4
_SHORT = 1 << 16
AT_ONCE = 1 << 15

# Positions of events, int32 as long as there are fewer than 2**31.
Places = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class PairedSlices:
    """The slices of all tracks, by track, time and place in the file: parents before children.

    begin: the event that begins each. end: the one that ends it, -1 for a BEGIN without one; of a
    point itself. level: how many slices of its track are open around it (int32). lone_ends: how
    many ENDs have no BEGIN.
    """

    begin: Places
    end: Places
    level: NDArray[np.int32]
    lone_ends: int

    def chosen(self, which: Bools) -> PairedSlices:
        """Some of the slices."""
        return PairedSlices(self.begin[which], self.end[which], self.level[which], self.lone_ends)


def paired(track: Codes, time: Ints, kind: NDArray[np.uint8]) -> PairedSlices:
    """Sorts events by track and time, stable, and matches as a stack a track would.

    kind: BEGIN, END, POINT or COMPLETE, the last two of which neither open nor close anything.
    """
    order = _by_track_and_time(track, time)
    matching = _Matching(len(kind) - int(np.count_nonzero(kind == END)), len(kind))
    first = 0
    while first < len(kind):
        # What is open is looked at again in every part, so a part is no smaller than that.
        here = slice(first, min(first + max(AT_ONCE, len(matching.open)), len(kind)))
        rows = here if order is None else order[here]
        matching.add(rows, track[rows], kind[rows])
        first = here.stop
    return PairedSlices(matching.begin, matching.end, matching.level, matching.lone_ends)


def taken(values: NDArray[Any], places: Places) -> NDArray[Any]:
    """The values at some places, a part at a time: numpy makes int64 of all other places first."""
    found = np.empty(len(places), values.dtype)
    for first in range(0, len(places), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        found[part] = values[places[part]]
    return found


def slices_of(pairs: PairedSlices, events: int) -> Places:
    """Which slice each of all events begins or ends, -1 where none."""
    found = np.full(events + 1, -1, pairs.begin.dtype)  # the last one is for what has no end
    for first in range(0, len(pairs.begin), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        begin = pairs.begin[part]
        number = np.arange(first, first + len(begin), dtype=found.dtype)
        found[begin] = number
        found[pairs.end[part]] = number
    return found[:events]


class _Matching:
    """The pairs of the events so far, which come by track and time, and what is open at the end.

    open: the slices, by their numbers, that the last track has open, outermost first.
    """

    def __init__(self, slices: int, events: int) -> None:
        dtype = np.int32 if events < 1 << 31 else np.int64
        self.begin: Places = np.empty(slices, dtype)
        self.end: Places = np.empty(slices, dtype)
        self.level: NDArray[np.int32] = np.empty(slices, np.int32)
        self.lone_ends = 0
        self.open: Ints = np.empty(0, np.int64)
        self._count = 0
        self._track = -1

    def add(self, rows: slice | Ints, track: Codes, kind: NDArray[np.uint8]) -> None:
        """Match some events: where each stands, its track and its kind."""
        if int(track[0]) != self._track:
            self.open = self.open[:0]
        self._track = int(track[-1])
        is_one = int(track[0]) == self._track and bool((track == track[0]).all())
        # What is open comes again, as if it began here: so the events that close it find it.
        known = len(self.open)
        if known:
            kind = np.concatenate([np.full(known, BEGIN, np.uint8), kind])
            track = np.concatenate([np.full(known, track[0], track.dtype), track])
        is_end, is_begin = kind == END, kind == BEGIN
        starts = np.zeros(1, np.int64)
        if not is_one:
            starts = np.flatnonzero(np.append(True, track[1:] != track[:-1]))
        level, is_lone = _levels(is_begin, is_end, starts)
        self.lone_ends += 0 if is_lone is None else int(np.count_nonzero(is_lone))
        own = ~is_end
        number = np.cumsum(own, dtype=np.int64)
        number += self._count - known - 1
        number[:known] = self.open
        begun = np.flatnonzero(own[known:])
        new = slice(self._count, self._count + len(begun))
        places = _at(rows, begun)
        self._count = new.stop
        self.begin[new], self.level[new] = places, level[known:][begun]
        self.end[new] = np.where(kind[known:][begun] >= POINT, places, -1)
        opening, closing = _brackets(level, starts, is_begin, is_end, is_lone)
        self.end[number[opening]] = _at(rows, closing - known)
        is_begin[opening] = False
        is_begin[: starts[-1]] = False
        self.open = number[is_begin]


def _levels(is_begin: Bools, is_end: Bools, starts: Ints) -> tuple[Ints, Bools | None]:
    """How many slices are open around each event, of a BEGIN or an END without its own, and which
    ENDs have no BEGIN, None if each has one. starts: where the events of each track begin."""
    step = is_begin.view(np.int8) - is_end.view(np.int8)
    opened = np.cumsum(step, dtype=np.int64)
    count = np.diff(np.append(starts, len(step)))
    if len(starts) > 1:
        opened -= np.repeat(np.append(0, opened[starts[1:] - 1]), count)
    is_lone = None
    if int(opened.min()) < 0:
        # An END at a new low closes nothing; all after it stand one level higher.
        base = np.repeat(np.arange(len(starts)) * np.int64(2 * len(step) + 2), count)
        low = np.minimum.accumulate(np.minimum(opened, 0) - base) + base
        was = np.append(0, low[:-1])
        was[starts] = 0
        is_lone = is_end & (low < was)
        opened -= low
    opened -= is_begin
    return opened, is_lone


def _brackets(
    level: Ints, starts: Ints, is_begin: Bools, is_end: Bools, is_lone: Bools | None
) -> tuple[Ints, Ints]:
    """The BEGINs that are closed, and the END of each."""
    place = level
    if len(starts) > 1:
        row = np.arange(len(starts)) * (int(level.max()) + 1)
        place = level + np.repeat(row, np.diff(np.append(starts, len(level))))
    turn = None
    is_bracket = is_begin | is_end
    if is_lone is not None:
        is_bracket &= ~is_lone
    if not is_bracket.all():
        turn = np.flatnonzero(is_bracket)
        place = place[turn]
    # Inside one track and level begins and ends take turns, a begin first. Short numbers are
    # sorted by radix.
    top = int(place.max(initial=0))
    if top < 1 << 8:
        place = place.astype(np.uint8)
    elif top < 1 << 16:
        place = place.astype(np.uint16)
    by_place = np.argsort(place, kind="stable")
    turn = by_place if turn is None else turn[by_place]
    closing = np.flatnonzero(is_end[turn])
    return turn[closing - 1], turn[closing]


def _at(rows: slice | Ints, some: Ints) -> Ints:
    return some + rows.start if isinstance(rows, slice) else rows[some]


def _by_track_and_time(track: Codes, time: Ints) -> Ints | None:
    """The order by track, then time, then place in the file; None if that is the order already."""
    order = None
    if _falls(track):
        short = track.astype(np.uint16) if int(track.max(initial=0)) < _SHORT else track
        order = np.argsort(short, kind="stable")
        track, time = track[order], time[order]
    if _falls_within(time, track):
        again = np.lexsort((time, track))
        return again if order is None else order[again]
    return order


def _falls(track: Codes) -> bool:
    """Whether some number is less than the one before it."""
    parts = (track[a : a + AT_ONCE + 1] for a in range(0, len(track), AT_ONCE))
    return any(bool((part[1:] < part[:-1]).any()) for part in parts)


def _falls_within(time: Ints, track: Codes) -> bool:
    """Whether some time is less than the one before it on its track."""
    for a in range(0, len(track), AT_ONCE):
        part = slice(a, a + AT_ONCE + 1)
        t, own = time[part], track[part]
        if ((t[1:] < t[:-1]) & (own[1:] == own[:-1])).any():
            return True
    return False
