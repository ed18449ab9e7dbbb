"""Finds the XNNPACK node behind each event that XNNPACK logged in a delegate call.

A program file lists the nodes of XNNPACK's own graph, each with the debug handle of the operator
that it came from. XNNPACK logs its operators in the same order, by type, "Convolution (NHWC, F32)
IGEMM #1", after it rewrote the graph (`xnnpack_rewrites`). So events are aligned with nodes by
order, type and data types. An event is linked only if all ways to explain the call agree on its
operator. If no way explains the whole call, the ways that leave the fewest nodes and events
unexplained count, and what is next to one of these is not linked either.

All ways are followed at once. Sets of events are the bits of integers, so that a step takes one
operation for all events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise

import numpy as np

from viewer.analysis.nodes.xnnpack_operators import short_type
from viewer.analysis.nodes.xnnpack_rewrites import (
    LOOKUP,
    OWN,
    REPLACED_TYPES,
    Loggers,
    dtypes_of,
    is_inserted,
    is_known,
    is_old,
    loggers,
    types_of,
)
from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass, field, replace
from viewer.model.recorded_names import xnnpack_operator, xnnpack_words
from viewer.model.times import counted
from viewer.model.trace import KeyKind, Trace
from viewer.program.executables import XnnpackDataflow, XnnpackNode

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
    def __init__(self, events: int, inserted: int, most: int) -> None:
        self._events = events
        self._inserted = inserted
        self._most = most

    def over_node(self, levels: _Levels, choice: Choice, *, back: bool = False) -> _Levels:
        """The sets after a node; back: those before it, in the other direction."""
        new_levels = [0] * (len(levels) + 1)
        for level, mask in enumerate(levels):
            for length, starts in choice.runs:
                reached = (mask >> length) & starts if back else (mask & starts) << length
                new_levels[level] |= reached
            new_levels[level if choice.may_be_silent else level + 1] |= mask
        return new_levels[: self._most + 1]

    def over_events(self, levels: _Levels) -> _Levels:
        """The sets after any events without a node; each number only where it is first reached."""
        free = ((1 << self._events) - 1) & ~self._inserted
        spread = partial(_spread_up, over=self._inserted)
        return self._closed(levels, lambda mask: (mask & free) << 1, spread)

    def over_events_back(self, levels: _Levels) -> _Levels:
        """The same in the other direction."""
        free = ((1 << self._events) - 1) & ~self._inserted
        spread = partial(_spread_down, over=self._inserted)
        return self._closed(levels, lambda mask: (mask >> 1) & free, spread)

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
            ahead = self.over_events_back(self.over_node(ahead, choice, back=True))
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


# Of what is explained: alignments that leave more unexplained prove nothing.
MOST_UNEXPLAINED = 0.25
_LONG_ROW = 10
# No known rewrite removes these nodes, or inserts their events.
_LASTING = frozenset(
    {"conv2d", "depthwiseconv2d", "convtranspose2d", "fullyconnected", "batchmatrixmultiply",
     "scaleddotproductattention", "softmax", "avgpooling2d", "maxpooling2d", "argmaxpooling2d",
     "staticresizebilinear2d"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alignment:
    """The nodes of each event, as indexes into the nodes, or why they are not known.

    nodes: per event. Several if one operator runs what they compute. reasons: per event, "" if its
    nodes are known. differences: how many events and nodes are unexplained. explained: how many
    events are not. is_possible: whether no such difference shows that other nodes ran.
    """

    nodes: tuple[tuple[int, ...], ...] = ()
    reasons: tuple[str, ...] = ()
    differences: int = 0
    explained: int = 0
    is_possible: bool = True


def align(
    events: Sequence[str], nodes: Sequence[XnnpackNode], flow: XnnpackDataflow | None = None
) -> Alignment:
    """Align the events of one call, in the order in which they were logged, with its nodes.

    flow: what connects the nodes; without it, fewer events are certain.
    """
    foreign = next((event for event in events if xnnpack_operator(event) is None), None)
    if foreign is not None:
        why = f"{foreign!r} is not an XNNPACK event"
        return replace(_none(events, why), is_possible=False)
    if not fits(len(nodes), len(events)):
        return replace(_none(events, "the call has too many events and nodes"), differences=0)
    call = _Call(events, nodes, flow)
    ways = best_ways(call.choices, len(events), call.inserted, call.answers())
    explained = len(events) - ways.unexplained.bit_count()
    if not ways.differences:
        return call.alignment(ways, [""] * len(events))
    if ways.differences < 0:
        alignment = _none(events, "the call and the program file differ in too many places")
    elif ways.differences > MOST_UNEXPLAINED * explained:
        why = call.first_difference(ways)
        alignment = replace(_none(events, why), differences=ways.differences, explained=explained)
    else:
        alignment = call.alignment(ways, call.near_differences(ways))
    return replace(alignment, is_possible=call.may_be_of_it())


def may_have_logged(
    nodes: Sequence[XnnpackNode], events: Sequence[str], flow: XnnpackDataflow | None = None
) -> bool:
    """Return whether nodes may have logged events in this order, with any nodes skipped.

    If not, the events belong to another model. Events of other delegates are ignored.
    """
    logged = [event for event in events if xnnpack_operator(event) is not None]
    if not fits(len(nodes), len(logged)):
        return True
    call = _Call(logged, nodes, flow)
    return explains(call.choices, len(logged), call.inserted)


def types_that_log(event: str) -> frozenset[str]:
    """Return the types of nodes that may log an event, as in `xnnpack_operators`; or none."""
    name = xnnpack_operator(event)
    if name is None:
        return frozenset()
    return types_of(name.lower()) | REPLACED_TYPES.get(name.lower(), frozenset())


def _none(events: Sequence[str], why: str) -> Alignment:
    count = len(events)
    return Alignment(((),) * count, (why,) * count, count)


class _Call:
    """The events of one call and what its nodes may log."""

    def __init__(
        self, events: Sequence[str], nodes: Sequence[XnnpackNode], flow: XnnpackDataflow | None
    ) -> None:
        self._events = events
        self._nodes = nodes
        self._names = [(xnnpack_operator(event) or "").lower() for event in events]
        words = [xnnpack_words(event) for event in events]
        self._words = [dtypes_of(word) for word in words]
        old = any(map(is_old, self._names, words))
        self._loggers = loggers(nodes, flow, old=old)
        distinct = _Choices(self._names, self._words).of(self._loggers)
        self.choices = [distinct[which] for which in self._loggers.which]
        converts = self._loggers.converts
        places = [place for place, name in enumerate(self._names) if is_inserted(name, converts)]
        self.inserted = bits_of(places, len(events))

    def answers(self) -> list[int]:
        """Return a number per node; nodes with the same are the same operator and type."""
        lookup, number = self._loggers.lookup, dict[object, int]()
        numbers = []
        for index, node in enumerate(self._nodes):
            handles = tuple(self._nodes[i].debug_handle for i in lookup.get(index, ()))
            key = node.debug_handle, node.type, handles
            numbers.append(number.setdefault(key, len(number)))
        return numbers

    def may_be_of_it(self) -> bool:
        """Return whether the nodes that no rewrite removes are those that logged such events.

        An event of an operator that is not known may be that of any of them.
        """
        types = [types_of(name) for name in self._names]
        new = [not is_known(name) for name in self._names]
        lasting = [
            index
            for index, (event_types, is_new) in enumerate(zip(types, new, strict=True))
            if is_new or not _LASTING.isdisjoint(event_types)
        ]
        of_any = bits_of([i for i, index in enumerate(lasting) if new[index]], len(lasting))
        names = [self._names[index] for index in lasting]
        distinct = [
            Choice((*choice.runs, (1, of_any)), choice.may_be_silent)
            for choice in _Choices(names, [self._words[index] for index in lasting]).of(
                self._loggers
            )
        ]
        choices = [
            distinct[which]
            for which, node in zip(self._loggers.which, self._nodes, strict=True)
            if short_type(node.type) in _LASTING
        ]
        return best_ways(choices, len(lasting), of_any).differences in (0, TOO_LARGE)

    def alignment(self, ways: Ways, reasons: Sequence[str]) -> Alignment:
        """Return the nodes of the events that have no reason against it."""
        nodes, whys = [], []
        for index, (owner, why) in enumerate(zip(ways.owners, reasons, strict=True)):
            if not why and owner < 0:
                why = self._why_unowned(ways, index)
            is_table = self._names[index] == LOOKUP
            of_table = self._loggers.lookup.get(owner) if is_table else None
            nodes.append(() if why else of_table or (owner,))
            whys.append(why)
        explained = len(self._events) - ways.unexplained.bit_count()
        return Alignment(tuple(nodes), tuple(whys), ways.differences, explained)

    def _why_unowned(self, ways: Ways, index: int) -> str:
        if ways.inserted >> index & 1:
            return f"XNNPACK may have inserted {self._events[index]!r} itself"
        return f"{self._events[index]!r} may be one of several nodes"

    def near_differences(self, ways: Ways) -> list[str]:
        """Return per event why its neighbors leave it uncertain, "" if they do not.

        An unknown rewrite changes nodes that are next to each other, so the events next to what is
        unexplained are not certain, even if all best ways agree on them.
        """
        owners, count = ways.owners, len(self._events)
        is_firm = self._firm(ways)
        clauses = []
        for index in range(count):
            if ways.unexplained >> index & 1:
                clauses.append(
                    f"the program file has no node for {self._events[index]!r} at its place"
                )
            elif owners[index] >= 0 and not (is_firm[index] and is_firm[index + 1]):
                clauses.append(self._nearest(ways, index))
            else:
                clauses.append("")
        return clauses

    def _firm(self, ways: Ways) -> list[bool]:
        """Return before which events, and whether after the last one, the order is certain.

        Where layers repeat, a few events between two differences fit another layer as well. So only
        a long row of events is certain, or one from the start or to the end of the call.
        """
        joined = self._joined(ways)
        is_firm = list(joined)
        for is_joined, group in groupby(range(len(joined)), joined.__getitem__):
            places = list(group)
            is_at_end = places[0] == 0 or places[-1] == len(joined) - 1
            if is_joined and not is_at_end and len(places) < _LONG_ROW:
                for place in places:
                    is_firm[place] = False
        return is_firm

    def _joined(self, ways: Ways) -> list[bool]:
        """Return whether nothing is unexplained before each event, and after the last one.

        That is, between it and the event before it, both of which have a node.
        """
        silent = np.array(ways.silent, np.int64)
        ends = [-1, *ways.owners, len(self._nodes)]
        joined: list[bool] = []
        for before, after in pairwise(ends):
            is_known = (before >= 0 or not joined) and after >= 0
            first, last = np.searchsorted(silent, (before, after + 1))
            joined.append(is_known and first == last)
        return joined

    def _nearest(self, ways: Ways, index: int) -> str:
        """Return what is unexplained next to an event, as a clause."""
        owner = ways.owners[index]
        for node in sorted(ways.silent, key=lambda node: abs(node - owner))[:1]:
            place = f"{self._nodes[node].type}, which logged nothing"
            return f"the program file has a {place}, near {self._events[index]!r}"
        return f"the program file has no node for an event next to {self._events[index]!r}"

    def first_difference(self, ways: Ways) -> str:
        """Return where events and nodes differ first, as a clause."""
        if ways.unexplained:
            first = (ways.unexplained & -ways.unexplained).bit_length() - 1
            return f"the program file has no node for {self._events[first]!r} at its place"
        events = counted(len(self._events), "event")
        were = "was" if len(self._events) == 1 else "were"
        return f"the program file has more nodes than the {events} that {were} logged"


class _Choices:
    """Finds where in some events each node may have logged a run of them."""

    def __init__(self, names: Sequence[str], words: Sequence[tuple[int, ...]]) -> None:
        places = lists_by_key(
            (key, index) for index, key in enumerate(zip(names, words, strict=True))
        )
        self._count = len(names)
        self._places = places
        self._types = {name: types_of(name) for name in set(names)}

    def of(self, node_loggers: Loggers) -> list[Choice]:
        """Return the choice of each distinct kind of node."""
        return [
            Choice(
                tuple(
                    (len(run), starts)
                    for run in runs
                    if run and (starts := self._starts(node_type, dtypes, run))
                ),
                () in runs,
            )
            for node_type, dtypes, runs in node_loggers.runs
        ]

    def _starts(self, node_type: str, dtypes: int, run: tuple[str, ...]) -> int:
        starts = -1
        for place, symbol in enumerate(run):
            starts &= self._logged(node_type, dtypes, symbol) >> place
        return starts

    def _logged(self, node_type: str, dtypes: int, symbol: str) -> int:
        """Return the events that are those of a symbol and contradict no data type."""
        matching = [
            places
            for (name, words), places in self._places.items()
            if (node_type in self._types[name] if symbol == OWN else name == symbol)
            and (not dtypes or all(dtypes & word for word in words))
        ]
        return bits_of([place for places in matching for place in places], self._count)


def call_events(trace: Trace) -> dict[tuple[int, int], list[int]]:
    """Return the keys of the events of each delegate call, in the order they were first logged.

    By (scope, instruction). Identifiers that are not texts are left out.
    """
    keys, slices = trace.keys, trace.slices
    first = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(first, slices.key, slices.source_row.astype(np.int64))
    of_calls = (keys.kind == KeyKind.DELEGATE_EVENT) & (keys.instruction >= 0)
    events_of: dict[tuple[int, int], list[int]] = {}
    events = np.flatnonzero(of_calls)
    for key in events[np.argsort(first[events], kind="stable")].tolist():
        if isinstance(keys.identifier[key], str):
            place = (int(keys.scope[key]), int(keys.instruction[key]))
            events_of.setdefault(place, []).append(key)
    return events_of
