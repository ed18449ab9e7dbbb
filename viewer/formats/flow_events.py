"""Connects the flow events of Chrome and Perfetto traces to flows between slices.

The events of one flow come in time order, and in file order at one time. Each gives the flow, takes
it, or both. A taker is the destination of the latest giver before it in its flow. An event may
close its flow: later events of that identity are another flow.

trace_processor differs: once a flow with begin and end events has begun, it ignores further begins
of that identity, so that all its ends lead from the first begin. It also swaps both ends of such a
flow if the slice of the end starts first. The files say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Codes, Ints, flags_at, groups_of
from viewer.model.trace import Slices

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
