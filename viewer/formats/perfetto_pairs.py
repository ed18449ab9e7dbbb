"""Which END closes which BEGIN of a Perfetto track, for all events at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.model.trace import Codes, Ints

BEGIN, END, POINT, COMPLETE = 1, 2, 3, 4
_SHORT = 1 << 16


@dataclass(frozen=True, slots=True)
class Pairs:
    """The slices of all tracks, by track, time and place in the file: parents before children.

    begin: the event that begins each. end: the one that ends it, -1 for a BEGIN without one; of a
    point itself. level: how many slices of its track are open around it. lone_ends: ENDs without a
    BEGIN.
    """

    begin: Ints
    end: Ints
    level: Ints
    lone_ends: Ints


def paired(track: Codes, time: Ints, kind: np.ndarray) -> Pairs:
    """Sorts events by track and time, stable, and matches as a stack a track would.

    kind: BEGIN, END, POINT or COMPLETE, the last two of which neither open nor close anything.
    """
    order = _by_track_and_time(track, time)
    by_track, by_kind = _taken(track, order), _taken(kind, order)
    n = len(by_track)
    if not n:
        none = np.empty(0, np.int64)
        return Pairs(none, none, none, none)
    is_end = by_kind == END
    step = (by_kind == BEGIN).astype(np.int8) - is_end.astype(np.int8)
    opened = np.cumsum(step, dtype=np.int64)
    first = np.flatnonzero(np.append(True, by_track[1:] != by_track[:-1]))
    before = np.append(0, opened[:-1])[first]
    count = np.diff(np.append(first, n))
    opened -= np.repeat(before, count)
    # An END at a new low closes nothing; all after it stand one level higher.
    base = np.repeat(np.arange(len(first)) * np.int64(2 * n + 2), count)
    low = np.minimum.accumulate(np.minimum(opened, 0) - base) + base
    was = np.append(0, low[:-1])
    was[first] = 0
    is_lone = is_end & (low < was)
    lone = np.flatnonzero(is_lone)
    opened -= low
    level = opened - (by_kind == BEGIN)
    # Inside one track and level begins and ends take turns, and a begin without an end is last.
    turn = np.flatnonzero((step != 0) & ~is_lone)
    place = level[turn]
    most = int(place.max(initial=0))
    if len(first) > 1:
        place = place + np.repeat(np.arange(len(first)) * (most + 1), count)[turn]
    top = int(place.max(initial=0))
    if top < _SHORT:
        place = place.astype(np.uint16)
    elif top < 1 << 31:
        place = place.astype(np.int32)
    by_place = np.argsort(place, kind="stable")
    turn = turn[by_place]
    place = place[by_place]
    opens = np.flatnonzero(~is_end[turn])
    after = np.minimum(opens + 1, len(turn) - 1)
    closed = (after > opens) & is_end[turn[after]] & (place[after] == place[opens])
    partner = np.full(n, -1, np.int64)
    partner[turn[opens]] = np.where(closed, turn[after], -1)
    slices = np.flatnonzero(~is_end)
    points = by_kind[slices] >= POINT
    ends = np.where(points, slices, partner[slices])
    if order is None:
        return Pairs(slices, ends, level[slices], lone)
    ended = np.where(ends >= 0, order[ends], -1)
    return Pairs(order[slices], ended, level[slices], order[lone])


def _by_track_and_time(track: Codes, time: Ints) -> Ints | None:
    """The order by track, then time, then place in the file; None if that is the order already."""
    order = None
    if (track[1:] < track[:-1]).any():
        short = track.astype(np.uint16) if int(track.max(initial=0)) < _SHORT else track
        order = np.argsort(short, kind="stable")
        track, time = track[order], time[order]
    back = (time[1:] < time[:-1]) & (track[1:] == track[:-1])
    if back.any():
        again = np.lexsort((time, track))
        return again if order is None else order[again]
    return order


def _taken(values: np.ndarray, order: Ints | None) -> np.ndarray:
    return values if order is None else values[order]
