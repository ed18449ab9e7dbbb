"""Pairs events of traces: END with BEGIN events to slices, and flow events to flows between slices.

BEGIN and END events of one track are sorted by time; those at one time keep their file order. An
end closes the innermost open begin. In Chrome traces, an end with a name closes the innermost begin
with that name, so that overlapping slices keep their durations. Matching takes ten passes over the
events: for twenty million, 5 s if each pass allocates new memory, and 0.5 s in parts that fit in
the processor's cache.

The events of one flow come in time order, and in file order at one time. Each gives the flow, takes
it, or both. A taker is the destination of the latest giver before it in its flow. An event may
close its flow: later events of that identity are another flow. trace_processor differs: once a flow
with begin and end events has begun, it ignores further begins of that identity, so that all its
ends lead from the first begin. It also swaps both ends of such a flow if the slice of the end
starts first. The files say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, counts_of, flags_at, groups_of, parts_of
from viewer.codecs import large_arrays
from viewer.dataclasses import dataclass
from viewer.model.trace import Slices

BEGIN, END, POINT, COMPLETE = 1, 2, 3, 4
_SHORT = 1 << 16
AT_ONCE = 1 << 15
_SORTED = 1 << 25

# Positions of events: int32 if there are fewer than 2**31.
Places = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class PairedSlices:
    """The slices of all tracks, sorted by track, time and file order: parents before children.

    begin: the event that starts each slice. end: the event that ends it, -1 for a BEGIN without
    one; for a point, itself. level: the number of slices open around it on its track (int32).
    lone_ends: the number of ENDs without a BEGIN.
    """

    begin: Places
    end: Places
    level: NDArray[np.int32]
    lone_ends: int


def paired(track: Codes | Ints, time: Ints, kind: NDArray[np.uint8]) -> PairedSlices:
    """Sort events by track and time (stable) and match them like one stack per track would.

    kind: BEGIN, END, POINT or COMPLETE. The last two neither open nor close anything.
    """
    matching = _Matching(len(kind) - int(np.count_nonzero(kind == END)), len(kind))
    for order in _by_track_and_time(track, time):
        first, count = 0, len(kind) if order is None else len(order)
        while first < count:
            # Every part rescans the open slices, so a part is at least as large as their number.
            here = slice(first, min(first + max(AT_ONCE, len(matching.open)), count))
            rows = here if order is None else order[here]
            matching.add(rows, track[rows], kind[rows])
            first = here.stop
            large_arrays.let_go()
    return PairedSlices(matching.begin, matching.end, matching.level, matching.lone_ends)


def taken(values: NDArray[Any], places: Places) -> NDArray[Any]:
    """The values at some positions, in parts: numpy first converts the positions to int64."""
    column = large_arrays.empty(len(places), values.dtype)
    for first in range(0, len(places), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        column[part] = values[places[part]]
        large_arrays.let_go()
    return column


def slices_of(pairs: PairedSlices, events: int) -> Places:
    """The slice that each event starts or ends, -1 if none."""
    # the last entry is for slices without an end
    numbers: Places = large_arrays.empty(events + 1, pairs.begin.dtype)
    numbers[:] = -1
    for first in range(0, len(pairs.begin), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        begin = pairs.begin[part]
        number = np.arange(first, first + len(begin), dtype=numbers.dtype)
        numbers[begin] = number
        numbers[pairs.end[part]] = number
        large_arrays.let_go()
    return numbers[:events]


class _Matching:
    """The pairs of the events so far, which come sorted by track and time.

    open: numbers of the slices still open on the last track, outermost first.
    """

    def __init__(self, slices: int, events: int) -> None:
        dtype = np.int32 if events < 1 << 31 else np.int64
        self.begin: Places = large_arrays.empty(slices, dtype)
        self.end: Places = large_arrays.empty(slices, dtype)
        self.level: NDArray[np.int32] = large_arrays.empty(slices, np.int32)
        self.lone_ends = 0
        self.open: Ints = np.empty(0, np.int64)
        self._count = 0
        self._track = -1

    def add(self, rows: slice | Ints, track: Codes | Ints, kind: NDArray[np.uint8]) -> None:
        """Match some events, given their positions, tracks and kinds."""
        if int(track[0]) != self._track:
            self.open = self.open[:0]
        self._track = int(track[-1])
        is_one = int(track[0]) == self._track and bool((track == track[0]).all())
        # Open slices are repeated as if they started here, so that later events can close them.
        open_count = len(self.open)
        if open_count:
            kind = np.concatenate([np.full(open_count, BEGIN, np.uint8), kind])
            track = np.concatenate([np.full(open_count, track[0], track.dtype), track])
        is_end, is_begin = kind == END, kind == BEGIN
        starts = np.zeros(1, np.int64)
        if not is_one:
            starts = np.flatnonzero(np.append(True, track[1:] != track[:-1]))
        level, is_lone = _levels(is_begin, is_end, starts)
        self.lone_ends += 0 if is_lone is None else int(np.count_nonzero(is_lone))
        has_number = ~is_end
        number = np.cumsum(has_number, dtype=np.int64)
        number += self._count - open_count - 1
        number[:open_count] = self.open
        slice_starts = np.flatnonzero(has_number[open_count:])
        new = slice(self._count, self._count + len(slice_starts))
        places = _at(rows, slice_starts)
        self._count = new.stop
        self.begin[new], self.level[new] = places, level[open_count:][slice_starts]
        self.end[new] = np.where(kind[open_count:][slice_starts] >= POINT, places, -1)
        opening, closing = _brackets(level, starts, is_begin, is_end, is_lone)
        self.end[number[opening]] = _at(rows, closing - open_count)
        is_begin[opening] = False
        is_begin[: starts[-1]] = False
        self.open = number[is_begin]


def _levels(is_begin: Bools, is_end: Bools, starts: Ints) -> tuple[Ints, Bools | None]:
    """The number of slices open around each event, and which ENDs have no BEGIN.

    A BEGIN or END does not count its own slice. The second is None if each END has a BEGIN. starts:
    the first event of each track.
    """
    step = is_begin.view(np.int8) - is_end.view(np.int8)
    opened = np.cumsum(step, dtype=np.int64)
    count = np.diff(np.append(starts, len(step)))
    if len(starts) > 1:
        opened -= np.repeat(np.append(0, opened[starts[1:] - 1]), count)
    is_lone = None
    if int(opened.min()) < 0:
        # An END at a new minimum closes nothing; all later events are one level higher.
        base = np.repeat(np.arange(len(starts)) * np.int64(2 * len(step) + 2), count)
        low = np.minimum.accumulate(np.minimum(opened, 0) - base) + base
        earlier = np.append(0, low[:-1])
        earlier[starts] = 0
        is_lone = is_end & (low < earlier)
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
    # On one track and level, BEGINs and ENDs alternate, starting with a BEGIN. Short integers are
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


def _at(rows: slice | Ints, index: Ints) -> Ints:
    return index + rows.start if isinstance(rows, slice) else rows[index]


def _by_track_and_time(track: Codes | Ints, time: Ints) -> Iterator[Ints | None]:
    """The order by track, time and file position, of some tracks after others; None if sorted.

    Sorting takes 40 bytes an event, so no more tracks are sorted at once than have `_SORTED`
    events, unless one alone has.
    """
    tracks = int(track.max(initial=0)) + 1
    is_small = len(track) <= _SORTED or tracks > len(track) or int(track.min(initial=0)) < 0
    if is_small or not (_falls(track) or _falls_within(time, track)):
        yield _order_of(track, time)
        return
    until = np.cumsum(counts_of(track, tracks))
    first = begin = 0
    while begin < len(track):
        end_track = max(int(np.searchsorted(until, begin + _SORTED, side="right")), first + 1)
        rows = _rows_of_tracks(track, first, end_track, int(until[end_track - 1]) - begin)
        order = _order_of(track[rows], time[rows])
        yield rows if order is None else rows[order]
        first, begin = end_track, int(until[end_track - 1])


def _rows_of_tracks(track: Codes | Ints, first: int, end: int, count: int) -> Ints:
    """The events of the tracks first .. end-1, of which there are `count`."""
    rows, filled = np.empty(count, np.int64), 0
    for part in parts_of(len(track)):
        of = track[part]
        here = np.flatnonzero((of >= first) & (of < end))
        rows[filled : filled + len(here)] = here + part.start
        filled += len(here)
        large_arrays.let_go()
    return rows


def _order_of(track: Codes | Ints, time: Ints) -> Ints | None:
    """The order by track, time and file position; None if already sorted."""
    order = None
    if _falls(track):
        short = track.astype(np.uint16) if int(track.max(initial=0)) < _SHORT else track
        order = np.argsort(short, kind="stable")
        track, time = track[order], time[order]
    if _falls_within(time, track):
        again = np.lexsort((time, track))
        return again if order is None else order[again]
    return order


def _falls(track: Codes | Ints) -> bool:
    """Whether a number is less than the one before it."""
    parts = (track[a : a + AT_ONCE + 1] for a in range(0, len(track), AT_ONCE))
    return any(bool((part[1:] < part[:-1]).any()) for part in parts)


def _falls_within(time: Ints, track: Codes | Ints) -> bool:
    """Whether a time is less than the one before it on its track."""
    for a in range(0, len(track), AT_ONCE):
        part = slice(a, a + AT_ONCE + 1)
        t, tracks = time[part], track[part]
        if ((t[1:] < t[:-1]) & (tracks[1:] == tracks[:-1])).any():
            return True
    return False


@dataclass(frozen=True, slots=True)
class EventPairs:
    """begin[i] is closed by end[i]. All arrays are positions; lone events have no counterpart."""

    begin: Places
    end: Places
    lone_begin: Places
    lone_end: Places


def paired_by_name(
    stack: Codes | Ints, time: Ints, is_end: Bools, name: Codes, nameless: int
) -> EventPairs:
    """Pair events given as parallel arrays.

    stack: what a begin and its end share, such as their thread. nameless: the code in `name` of
    ends that may close any begin.
    """
    pairs = paired(stack, time, np.where(is_end, END, BEGIN).astype(np.uint8))
    is_closed = pairs.end >= 0
    begin, end, lone_begin = pairs.begin[is_closed], pairs.end[is_closed], pairs.begin[~is_closed]
    is_lone = is_end.copy()
    is_lone[end] = False
    lone_end = np.flatnonzero(is_lone)
    fits = (name[end] == name[begin]) | (name[end] == nameless)
    if not fits.all() or _may_fit(stack, name, lone_begin, lone_end):
        order = np.lexsort((time, stack))
        return _by_name(order, stack[order], is_end[order], name[order], nameless)
    return EventPairs(begin, end, lone_begin, lone_end)


def _may_fit(of: Codes | Ints, named: Codes, begins: Places, ends: Places) -> bool:
    """Whether a lone begin and a lone end have the same stack and name."""
    if not len(begins) or not len(ends):
        return False
    pairs = {(int(of[i]), int(named[i])) for i in begins.tolist()}
    return any((int(of[i]), int(named[i])) in pairs for i in ends.tolist())


def _by_name(order: Ints, of: Codes | Ints, ends: Bools, named: Codes, nameless: int) -> EventPairs:
    """Like `paired_by_name`, one by one: an end does not match the innermost begin."""
    begin, end, lone_begin, lone_end = [], [], [], []
    open_: list[int] = []
    by_name: dict[int, list[int]] = {}
    closed: set[int] = set()
    stack = -1
    for i, (now, is_end, name) in enumerate(
        zip(of.tolist(), ends.tolist(), named.tolist(), strict=True)
    ):
        if now != stack:
            lone_begin += [k for k in open_ if k not in closed]
            open_, by_name, closed, stack = [], {}, set(), now
        if not is_end:
            open_.append(i)
            by_name.setdefault(name, []).append(i)
            continue
        among = open_ if name == nameless else by_name.get(name, [])
        while among and among[-1] in closed:
            among.pop()
        if not among:
            lone_end.append(i)
            continue
        closed.add(among[-1])
        begin.append(among.pop())
        end.append(i)
    lone_begin += [k for k in open_ if k not in closed]
    return EventPairs(
        *(order[np.array(part, np.int64)] for part in (begin, end, lone_begin, lone_end))
    )


LONE_FLOWS = "flow events without a slice, or without a destination: left out"


@dataclass(frozen=True, slots=True)
class FlowEvents:
    """Flow events as parallel arrays in file order.

    slice: the slice of each event, -1 if none. time: in any unit. flow: the identity of its flow.
    gives, takes, closes: what it does, see above.
    """

    slice: Ints
    time: Ints
    flow: Ints
    gives: Bools
    takes: Bools
    closes: Bools

    def edges(self) -> tuple[Ints, Ints, Ints]:
        """The giver and the taker of each edge, and the events without a slice or counterpart.

        The edges are in order of the flows. An edge from a slice to itself is left out.
        """
        rows = np.flatnonzero(self.slice >= 0)
        order = rows[np.lexsort((self.time[rows], self.flow[rows]))]
        none: Ints = np.empty(0, np.int64)
        if not len(order):
            return none, none, np.arange(len(self.slice))
        slices, flow = self.slice[order], self.flow[order]
        gives, takes, closes = self.gives[order], self.takes[order], self.closes[order]
        place = np.arange(len(order))
        is_first = np.append(True, flow[1:] != flow[:-1])
        # The earliest place from which a flow may lead here: a closing event ends what came before.
        begin = np.maximum.accumulate(np.where(is_first | np.append(False, closes[:-1]), place, 0))
        latest = np.maximum.accumulate(np.where(gives & ~closes, place, -1))
        before = np.append(-1, latest[:-1])
        leads = takes & (before >= begin)
        giver, taker = before[leads], place[leads]
        used = leads.copy()
        used[giver] = True
        good = slices[giver] != slices[taker]
        is_lone = ~flags_at(len(self.slice), order[used])
        return order[giver[good]], order[taker[good]], np.flatnonzero(is_lone)


def slices_at(slices: Slices, track: Codes, tick: Ints, is_next: Bools) -> Ints:
    """The innermost slice on a track at each time, -1 if none.

    is_next: where the first slice at or after the time is meant instead, outermost first.
    """
    index = np.full(len(tick), -1)
    for number, events in groups_of(track):
        rows = np.flatnonzero(slices.row_track == number)
        rows = rows[np.argsort(slices.row_depth[rows], kind="stable")]
        bounds = [(int(slices.row_ptr[r]), int(slices.row_ptr[r + 1])) for r in rows.tolist()]
        around, after = events[~is_next[events]], events[is_next[events]]
        index[around] = _around(slices, tick[around], bounds)
        index[after] = _after(slices, tick[after], bounds)
    return index


def _around(slices: Slices, when: Ints, rows: Sequence[tuple[int, int]]) -> Ints:
    """The innermost slice at each time. rows: of a track, outermost first."""
    best, best_start = np.full(len(when), -1), np.full(len(when), np.iinfo(np.int64).min)
    ended = best.copy()
    for first, last in rows:
        i = first + np.searchsorted(slices.start[first:last], when, "right") - 1
        i = np.maximum(i, first)
        start, end = slices.start[i], slices.end[i]
        inside = (start <= when) & ((when < end) | (start == when))
        inside &= start >= best_start  # for equal starts, the later row is the inner one
        best[inside], best_start[inside] = i[inside], start[inside]
        ends = (end == when) & (start <= when)
        ended[ends] = i[ends]
    # A slice that ends at this time counts where nothing else is open.
    return np.where(best < 0, ended, best)


def _after(slices: Slices, when: Ints, rows: Sequence[tuple[int, int]]) -> Ints:
    """The first slice at or after each time. rows: of a track, outermost first."""
    best, best_start = np.full(len(when), -1), np.full(len(when), np.iinfo(np.int64).max)
    for first, last in rows:
        i = first + np.searchsorted(slices.start[first:last], when, "left")
        is_there = i < last
        start = np.where(is_there, slices.start[np.minimum(i, last - 1)], best_start)
        sooner = is_there & ((start < best_start) | ((start == best_start) & (best < 0)))
        best[sooner], best_start[sooner] = i[sooner], start[sooner]
    return best
