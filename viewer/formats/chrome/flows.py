"""Flow events of a Chrome trace (s, t, f): from which slices to which they lead.

Events of one category, name and id are one flow: it begins at an s, passes each t and ends at each
f. An event is of the innermost slice of its thread that goes on at its time; an f that does not say
otherwise (`bp` is not "e") is of the next slice that begins there.
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
    """The flows, and how many events are at no slice or lead nowhere.

    Parallel arrays of events in the order of their file: the track of their thread, their time,
    the flow that they are of, "s", "t" or "f", and whether they are of the next slice.
    """
    at = np.where(next, _next_slices(slices, track, tick), _slices_around(slices, track, tick))
    known = np.flatnonzero(at >= 0)
    order = known[np.lexsort((tick[known], identity[known]))]
    if not len(order):
        return Flows.none(), len(tick)
    at, phase, identity = at[order], phase[order], identity[order]
    place = np.arange(len(order))
    first = np.append(True, identity[1:] != identity[:-1])
    # What a flow comes from: the latest s or t before, if it is of the same flow.
    gives = phase != "f"
    latest = np.maximum.accumulate(np.where(gives, place, -1))
    before = np.append(-1, latest[:-1])
    begun = np.maximum.accumulate(np.where(first, place, 0))
    leads = (phase != "s") & (before >= begun) & ~first
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
    """Track by track: which of the events are on it, when, and the first slice and the end of each
    of its rows, from the outside in."""
    for one in np.unique(track).tolist():
        own = np.flatnonzero(track == one)
        rows = np.flatnonzero(slices.row_track == one)
        rows = rows[np.argsort(slices.row_depth[rows], kind="stable")]
        bounds = [(int(slices.row_ptr[r]), int(slices.row_ptr[r + 1])) for r in rows.tolist()]
        yield own, tick[own], bounds


def _slices_around(slices: Slices, track: Codes, tick: Ints) -> Ints:
    """The innermost slice that goes on at a time, -1 if none does."""
    found = np.full(len(tick), -1)
    for own, when, rows in _by_track(slices, track, tick):
        best, begun = np.full(len(own), -1), np.full(len(own), np.iinfo(np.int64).min)
        for first, last in rows:
            i = first + np.searchsorted(slices.start[first:last], when, "right") - 1
            i = np.maximum(i, first)
            start = slices.start[i]
            # One that ends there has ended, but for one that begins there too.
            inside = (start <= when) & ((when < slices.end[i]) | (start == when))
            inside &= start >= begun  # of equal starts the later row is the inner one
            best[inside], begun[inside] = i[inside], start[inside]
        found[own] = best
    return found


def _next_slices(slices: Slices, track: Codes, tick: Ints) -> Ints:
    """The first slice that begins at a time or after it, the outermost of several; -1 if none."""
    found = np.full(len(tick), -1)
    for own, when, rows in _by_track(slices, track, tick):
        best, begins = np.full(len(own), -1), np.full(len(own), np.iinfo(np.int64).max)
        for first, last in rows:
            i = first + np.searchsorted(slices.start[first:last], when, "left")
            is_there = i < last
            start = np.where(is_there, slices.start[np.minimum(i, last - 1)], begins)
            sooner = is_there & ((start < begins) | ((start == begins) & (best < 0)))
            best[sooner], begins[sooner] = i[sooner], start[sooner]
        found[own] = best
    return found
