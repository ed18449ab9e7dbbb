"""Gaps in the axis of a clock: empty room on screen, so that something else begins further right.

A comparison puts them before the calls of each arm, so that paired calls begin at the same place.
Times and durations stay what they are: only their place on screen moves. A moment at which a gap
is has two places: what begins then is after the gap, what ends then is before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from viewer.arrays import Ints

_MOST = 1 << 61  # ticks


class Gaps:
    """Some gaps, as parallel columns in order of time; compared by identity.

    at: the times of the gaps, distinct ascending int64. added: the lengths of all gaps up to and
    including each, ascending int64. Both are in one unit: ns of a clock, or ticks of a file. A
    place on screen is in this unit, too.
    """

    def __init__(
        self, places: Ints, added: Ints, on_axes: Mapping[object, Gaps] | None = None
    ) -> None:
        """on_axes: the same gaps in ticks of some axes, where they are known exactly."""
        self.at, self.added = places, added
        self._before = np.append(np.int64(0), added)  # the length of the first n gaps
        self._left = places + self._before[:-1]  # where each gap begins on screen
        self._right = places + added  # where each gap ends on screen
        self._on: dict[object, Gaps] = dict(on_axes or {})

    def __len__(self) -> int:
        return len(self.at)

    def places(self, times: Ints) -> Ints:
        """Return where on screen something begins at each of some times."""
        moved: Ints = times + self._before[np.searchsorted(self.at, times, side="right")]
        return moved

    def end_places(self, times: Ints) -> Ints:
        """Return where on screen something ends that ends at each of some times."""
        moved: Ints = times + self._before[np.searchsorted(self.at, times, side="left")]
        return moved

    def place(self, time: int) -> int:
        """Return where on screen something begins at a time."""
        return time + int(self._before[np.searchsorted(self.at, time, side="right")])

    def end_place(self, time: int) -> int:
        """Return where on screen something ends that ends at a time."""
        return time + int(self._before[np.searchsorted(self.at, time, side="left")])

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return where on screen a span of times begins and ends; a moment stays one."""
        start = self.place(first)
        return (start, start) if first == last else (start, self.end_place(last))

    def times(self, start: int, end: int) -> tuple[int, int]:
        """Return the last times at or before two places."""
        return self.last_at(start), self.last_at(end)

    def first_at(self, places: Ints) -> Ints:
        """Return the first times at which something that begins is not left of some places."""
        passed = np.searchsorted(self._right, places, side="right")
        return self._clipped(places - self._before[passed], passed, 0)

    def last_at(self, place: int) -> int:
        """Return the last time at which something that begins is not right of a place."""
        passed = np.searchsorted(self._right, [place], side="right")
        return int(self._clipped(place - self._before[passed], passed, -1)[0])

    def first_end_at(self, places: Ints) -> Ints:
        """Return the first times at which something that ends is not left of some places."""
        begun = np.searchsorted(self._left, places, side="left")
        times = places - self._before[begun]
        if len(self.at):
            times = np.where(begun > 0, np.maximum(times, self.at[begun - 1] + 1), times)
        moved: Ints = times
        return moved

    def last_end_at(self, place: int) -> int:
        """Return the last time at which something that ends is not right of a place."""
        begun = int(np.searchsorted(self._left, place, side="right"))
        time = place - int(self._before[begun])
        return max(time, int(self.at[begun - 1])) if begun else time

    def _clipped(self, times: Ints, passed: Ints, by: int) -> Ints:
        """Return times inside of the next gap as its own time plus `by`."""
        if not len(self.at):
            return times
        following = self.at[np.minimum(passed, len(self.at) - 1)] + by
        clipped: Ints = np.where(passed < len(self.at), np.minimum(times, following), times)
        return clipped

    def on(self, axis: object, ns_per_tick: Fraction, offset_ns: int) -> Gaps:
        """Return these gaps, which are in ns, in ticks of a file: ns = tick * ns_per_tick + offset.

        axis: what stands for the file, so that its gaps are made once. A gap is at the first tick
        that is not before it, and of whole ticks.
        """
        if axis not in self._on:
            places = [
                -((offset_ns - ns) * ns_per_tick.denominator // ns_per_tick.numerator)
                for ns in self.at.tolist()
            ]
            added = [
                ns * ns_per_tick.denominator // ns_per_tick.numerator for ns in self.added.tolist()
            ]
            # The ticks of another file of the clock may be so short that int64 does not hold them.
            places, added = (
                [min(max(t, -_MOST), _MOST) for t in values] for values in (places, added)
            )
            self._on[axis] = gaps_of(np.array(places, np.int64), np.array(added, np.int64))
        return self._on[axis]


def gaps_of(places: Ints, added: Ints, on_axes: Mapping[object, Gaps] | None = None) -> Gaps:
    """Return gaps from ascending columns in which several may be at one time, or be empty."""
    last = np.append(places[1:] != places[:-1], True) if len(places) else np.empty(0, np.bool_)
    places, added = places[last], added[last]
    grows = np.diff(added, prepend=np.int64(0)) > 0
    return Gaps(places[grows], added[grows], on_axes)


NO_GAPS = Gaps(np.empty(0, np.int64), np.empty(0, np.int64))
