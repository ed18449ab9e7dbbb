"""Flow events of a Chrome trace (s, t, f) as flows between slices.

Events with the same category, name and id form one flow. It starts at an s, passes through each t
and ends at each f. An event belongs to the innermost slice on its thread at its time. An f belongs
to the next slice that starts there, unless its `bp` is "e".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.model.trace import Flows, Slices


def flows_of(
    slices: Slices, track: Codes, tick: Ints, identity: Ints, phase: NDArray[np.str_], next: Bools
) -> tuple[Flows, int]:
    """The flows, and the number of events without a slice or counterpart.

    Parallel arrays of events in file order: the track of their thread, their time, their flow, "s",
    "t" or "f", and whether they belong to the next slice.
    """
    at = np.where(next, _next_slices(slices, track, tick), _slices_around(slices, track, tick))
    known = np.flatnonzero(at >= 0)
    order = known[np.lexsort((tick[known], identity[known]))]
    if not len(order):
        return Flows.none(), len(tick)
    at, phase, identity = at[order], phase[order], identity[order]
    place = np.arange(len(order))
    first = np.append(True, identity[1:] != identity[:-1])
    # The source of a flow: the latest s or t before, if it is in the same flow.
    gives = phase != "f"
    latest = np.maximum.accumulate(np.where(gives, place, -1))
    before = np.append(-1, latest[:-1])
    flow_start = np.maximum.accumulate(np.where(first, place, 0))
    leads = (phase != "s") & (before >= flow_start) & ~first
    producer, consumer = at[np.maximum(before, 0)][leads], at[leads]
    good = producer != consumer
    used = np.zeros(len(order), np.bool_)
    used[np.flatnonzero(leads)] = True
    used[before[leads]] = True
    lone = len(tick) - int(used.sum())
    return Flows(producer[good].astype(np.int64), consumer[good].astype(np.int64)), lone


def _by_track(
    slices: Slices, track: Codes, tick: Ints
) -> Iterator[tuple[Ints, Ints, list[tuple[int, int]]]]:
    """For each track: its events, their times, and the slice range of its rows, outermost first."""
    for one in np.unique(track).tolist():
        events = np.flatnonzero(track == one)
        rows = np.flatnonzero(slices.row_track == one)
        rows = rows[np.argsort(slices.row_depth[rows], kind="stable")]
        bounds = [(int(slices.row_ptr[r]), int(slices.row_ptr[r + 1])) for r in rows.tolist()]
        yield events, tick[events], bounds


def _slices_around(slices: Slices, track: Codes, tick: Ints) -> Ints:
    """The innermost slice at each time, -1 if none."""
    found = np.full(len(tick), -1)
    for own, when, rows in _by_track(slices, track, tick):
        best, best_start = np.full(len(own), -1), np.full(len(own), np.iinfo(np.int64).min)
        for first, last in rows:
            i = first + np.searchsorted(slices.start[first:last], when, "right") - 1
            i = np.maximum(i, first)
            start = slices.start[i]
            # A slice that ends at this time does not count, unless it also starts there.
            inside = (start <= when) & ((when < slices.end[i]) | (start == when))
            inside &= start >= best_start  # for equal starts, the later row is the inner one
            best[inside], best_start[inside] = i[inside], start[inside]
        found[own] = best
    return found


def _next_slices(slices: Slices, track: Codes, tick: Ints) -> Ints:
    """The first slice that starts at or after each time, outermost first; -1 if none."""
    found = np.full(len(tick), -1)
    for own, when, rows in _by_track(slices, track, tick):
        best, best_start = np.full(len(own), -1), np.full(len(own), np.iinfo(np.int64).max)
        for first, last in rows:
            i = first + np.searchsorted(slices.start[first:last], when, "left")
            is_there = i < last
            start = np.where(is_there, slices.start[np.minimum(i, last - 1)], best_start)
            sooner = is_there & ((start < best_start) | ((start == best_start) & (best < 0)))
            best[sooner], best_start[sooner] = i[sooner], start[sooner]
        found[own] = best
    return found
