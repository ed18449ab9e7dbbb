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
        for differences, at in enumerate(reached[-1]):
            if at >> events & 1:
                return step.trace(choices, reached, differences, answers)
    return Ways(TOO_DIFFERENT)


def fits(nodes: int, events: int) -> bool:
    """Return whether so many nodes can be compared with so many events."""
    return (nodes + 1) * (events + 1) <= _MOST_BITS


def explains(choices: Sequence[Choice], events: int, inserted: int) -> bool:
    """Return whether nodes explain all events, if any of the nodes may be silent."""
    step = _Steps(events, inserted, 0)
    at = step.over_events([1])[0]
    for choice in choices:
        after = at
        for length, starts in choice.runs:
            after |= (at & starts) << length
        at = step.over_events([after])[0]
    return bool(at >> events & 1)


class _Steps:
    """The steps of all ways at once."""

    def __init__(self, events: int, inserted: int, most: int) -> None:
        self._events = events
        self._inserted = inserted
        self._most = most

    def over_node(self, levels: _Levels, choice: Choice) -> _Levels:
        """The sets after a node."""
        found = [0] * (len(levels) + 1)
        for level, at in enumerate(levels):
            for length, starts in choice.runs:
                found[level] |= (at & starts) << length
            found[level if choice.may_be_silent else level + 1] |= at
        return found[: self._most + 1]

    def over_events(self, levels: _Levels) -> _Levels:
        """The sets after any events without a node; each number only where it is first reached."""
        whole = (1 << self._events) - 1

        def after(at: int) -> int:
            return (at & whole & ~self._inserted) << 1

        return self._closed(levels, after, lambda at: _spread_up(at, self._inserted))

    def over_events_back(self, levels: _Levels) -> _Levels:
        """The same in the other direction."""
        whole = (1 << self._events) - 1

        def before(at: int) -> int:
            return (at >> 1) & whole & ~self._inserted

        return self._closed(levels, before, lambda at: _spread_down(at, self._inserted))

    def _closed(
        self, levels: _Levels, unexplained: Callable[[int], int], free: Callable[[int], int]
    ) -> _Levels:
        seen, more = 0, 0
        found: _Levels = []
        for level in range(self._most + 1):
            at = (levels[level] if level < len(levels) else 0) | more
            at = free(at & ~seen) & ~seen if self._inserted else at & ~seen
            seen |= at
            found.append(at)
            more = unexplained(at)
            if not more and level >= len(levels):
                break
        return found

    def over_node_back(self, levels: _Levels, choice: Choice) -> _Levels:
        """The sets before a node, in the other direction."""
        found = [0] * (len(levels) + 1)
        for level, at in enumerate(levels):
            for length, starts in choice.runs:
                found[level] |= (at >> length) & starts
            found[level if choice.may_be_silent else level + 1] |= at
        return found[: self._most + 1]

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
            for level, at in enumerate(reached[node][: differences + 1]):
                rest = _level(ahead, differences - level)
                for length, starts in choice.runs:
                    run = at & starts & (rest >> length)
                    for place in range(length if run else 0):
                        logged |= run << place
                if not choice.may_be_silent and at & _level(ahead, differences - level - 1):
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
        for level, at in enumerate(levels[: ways.differences + 1]):
            left = ways.differences - level
            ways.inserted |= at & self._inserted & (_level(ahead, left) >> 1)
            ways.unexplained |= at & ~self._inserted & (_level(ahead, left - 1) >> 1)


def bits_of(places: Sequence[int], count: int) -> int:
    """Return an integer with the bits at some places, of so many."""
    marks = np.zeros(count, np.uint8)
    marks[np.array(places, np.int64)] = 1
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")


def _level(levels: _Levels, level: int) -> int:
    return levels[level] if 0 <= level < len(levels) else 0


def _spread_up(at: int, over: int) -> int:
    """Return some bits and all that are reached from them upward over others."""
    step, shift = over, 1
    while step:
        at |= (at & step) << shift
        step &= step >> shift
        shift *= 2
    return at


def _spread_down(at: int, over: int) -> int:
    """Return some bits and all that are reached from them downward over others."""
    step, shift = over, 1
    while step:
        at |= (at >> shift) & step
        step &= step >> shift
        shift *= 2
    return at


def _bits(number: int) -> list[int]:
    """Return the positions of the bits of a number, ascending."""
    digits = bin(number)[:1:-1]
    found, at = [], digits.find("1")
    while at >= 0:
        found.append(at)
        at = digits.find("1", at + 1)
    return found
