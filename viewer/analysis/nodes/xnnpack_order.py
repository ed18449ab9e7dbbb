"""Finds which nodes may have logged which events, if both are in the same order.

Every node has some alternatives: the runs of events that it may log. All ways to explain the events
are followed at once. Sets of events are the bits of integers, so that a step takes one operation
for all events. If no way explains everything, the ways that leave the fewest nodes and events
unexplained are followed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

# Bits of all sets: of one call, a file may have as many nodes and events as it wants.
_MOST_BITS = 1 << 29
_MOST_DIFFERENCES = 48
TOO_DIFFERENT, TOO_LARGE = -1, -2


@dataclass(frozen=True, slots=True)
class Choice:
    """What a node may log: runs of events by length, with the events at which such a run starts.

    may_be_silent: whether it may log nothing.
    """

    runs: tuple[tuple[int, int], ...]
    may_be_silent: bool


@dataclass(slots=True)
class Ways:
    """What all best ways have in common.

    differences: how many nodes and events each of them leaves unexplained; `TOO_DIFFERENT` if there
    are too many of them, `TOO_LARGE` of nodes and events. owners: per event the node that logged it
    in these ways, or one of those with the same answer; -1 if they do not agree, or if some have
    none. unexplained, inserted: the
    events that some ways leave unexplained, or take as inserted. silent: the nodes that some ways
    leave unexplained.
    """

    differences: int
    owners: list[int] = field(default_factory=list)
    unexplained: int = 0
    inserted: int = 0
    silent: list[int] = field(default_factory=list)


_Levels = list[int]  # by differences: the numbers of events explained so far, as bits


def best_ways(
    choices: Sequence[Choice], events: int, inserted: int, answers: Sequence[int] = ()
) -> Ways:
    """Return what the best ways to explain some events have in common.

    choices: of the nodes, in order. inserted: the events that may belong to no node. answers: per
    node a number; ways agree on an event if its nodes have the same. Without, each node is its own.
    """
    if not fits(len(choices), events):
        return Ways(TOO_LARGE)
    room = _MOST_BITS // ((len(choices) + 1) * (events + 1))
    for most in (0, min(_MOST_DIFFERENCES, room - 1)):
        step = _Steps(events, inserted, most)
        reached = [step.over_events([1])]
        for choice in choices:
            reached.append(step.over_events(step.over_node(reached[-1], choice)))
        for differences, mask in enumerate(reached[-1]):
            if mask >> events & 1:
                return step.trace(choices, reached, differences, answers)
    return Ways(TOO_DIFFERENT)


def fits(nodes: int, events: int) -> bool:
    """Return whether so many nodes can be compared with so many events."""
    return (nodes + 1) * (events + 1) <= _MOST_BITS


def explains(choices: Sequence[Choice], events: int, inserted: int) -> bool:
    """Return whether nodes explain all events, if any of the nodes may be silent."""
    step = _Steps(events, inserted, 0)
    mask = step.over_events([1])[0]
    for choice in choices:
        after = mask
        for length, starts in choice.runs:
            after |= (mask & starts) << length
        mask = step.over_events([after])[0]
    return bool(mask >> events & 1)


class _Steps:
    """The steps of all ways at once."""

    def __init__(self, events: int, inserted: int, most: int) -> None:
        self._events = events
        self._inserted = inserted
        self._most = most

    def over_node(self, levels: _Levels, choice: Choice) -> _Levels:
        """The sets after a node."""
        new_levels = [0] * (len(levels) + 1)
        for level, mask in enumerate(levels):
            for length, starts in choice.runs:
                new_levels[level] |= (mask & starts) << length
            new_levels[level if choice.may_be_silent else level + 1] |= mask
        return new_levels[: self._most + 1]

    def over_events(self, levels: _Levels) -> _Levels:
        """The sets after any events without a node; each number only where it is first reached."""
        whole = (1 << self._events) - 1

        def after(mask: int) -> int:
            return (mask & whole & ~self._inserted) << 1

        return self._closed(levels, after, lambda mask: _spread_up(mask, self._inserted))

    def over_events_back(self, levels: _Levels) -> _Levels:
        """The same in the other direction."""
        whole = (1 << self._events) - 1

        def before(mask: int) -> int:
            return (mask >> 1) & whole & ~self._inserted

        return self._closed(levels, before, lambda mask: _spread_down(mask, self._inserted))

    def _closed(
        self, levels: _Levels, unexplained: Callable[[int], int], free: Callable[[int], int]
    ) -> _Levels:
        seen, more = 0, 0
        closed: _Levels = []
        for level in range(self._most + 1):
            mask = (levels[level] if level < len(levels) else 0) | more
            mask = free(mask & ~seen) & ~seen if self._inserted else mask & ~seen
            seen |= mask
            closed.append(mask)
            more = unexplained(mask)
            if not more and level >= len(levels):
                break
        return closed

    def over_node_back(self, levels: _Levels, choice: Choice) -> _Levels:
        """The sets before a node, in the other direction."""
        new_levels = [0] * (len(levels) + 1)
        for level, mask in enumerate(levels):
            for length, starts in choice.runs:
                new_levels[level] |= (mask >> length) & starts
            new_levels[level if choice.may_be_silent else level + 1] |= mask
        return new_levels[: self._most + 1]

    def trace(
        self,
        choices: Sequence[Choice],
        reached: Sequence[_Levels],
        differences: int,
        answers: Sequence[int],
    ) -> Ways:
        """What all ways with this number of differences have in common."""
        ways = Ways(differences, [-1] * self._events)
        ahead = self.over_events_back([1 << self._events])
        self._note_events(ways, reached[-1], ahead)
        once = several = 0
        logged_by: dict[int, int] = {}  # by answer
        for node in range(len(choices) - 1, -1, -1):
            choice, logged = choices[node], 0
            for level, mask in enumerate(reached[node][: differences + 1]):
                rest = _level(ahead, differences - level)
                for length, starts in choice.runs:
                    run = mask & starts & (rest >> length)
                    for place in range(length if run else 0):
                        logged |= run << place
                if not choice.may_be_silent and mask & _level(ahead, differences - level - 1):
                    ways.silent.append(node)
            for event in _bits(logged & ~once):
                ways.owners[event] = node
            answer = answers[node] if answers else node
            several |= once & logged & ~logged_by.get(answer, 0)
            logged_by[answer] = logged_by.get(answer, 0) | logged
            once |= logged
            ahead = self.over_events_back(self.over_node_back(ahead, choice))
            self._note_events(ways, reached[node], ahead)
        for event in _bits(once & (several | ways.unexplained | ways.inserted)):
            ways.owners[event] = -1
        ways.silent.reverse()
        return ways

    def _note_events(self, ways: Ways, levels: _Levels, ahead: _Levels) -> None:
        """Note the events that some best ways explain by no node between two nodes."""
        for level, mask in enumerate(levels[: ways.differences + 1]):
            left = ways.differences - level
            ways.inserted |= mask & self._inserted & (_level(ahead, left) >> 1)
            ways.unexplained |= mask & ~self._inserted & (_level(ahead, left - 1) >> 1)


def bits_of(places: Sequence[int], count: int) -> int:
    """Return an integer with the bits at some places, of so many."""
    marks = np.zeros(count, np.uint8)
    marks[np.array(places, np.int64)] = 1
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")


def _level(levels: _Levels, level: int) -> int:
    return levels[level] if 0 <= level < len(levels) else 0


def _spread_up(mask: int, over: int) -> int:
    """Return some bits and all that are reached from them upward over others."""
    step, shift = over, 1
    while step:
        mask |= (mask & step) << shift
        step &= step >> shift
        shift *= 2
    return mask


def _spread_down(mask: int, over: int) -> int:
    """Return some bits and all that are reached from them downward over others."""
    step, shift = over, 1
    while step:
        mask |= (mask >> shift) & step
        step &= step >> shift
        shift *= 2
    return mask


def _bits(number: int) -> list[int]:
    """Return the positions of the bits of a number, ascending."""
    digits = bin(number)[:1:-1]
    places, place = [], digits.find("1")
    while place >= 0:
        places.append(place)
        place = digits.find("1", place + 1)
    return places
