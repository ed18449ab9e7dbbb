"""Which runs of a dump are of one method; the file never says.

After one load there is one method. After several, runs are told apart by what they contradict each
other in: an instruction that is another operator, a DELEGATE_CALL here and a kernel there. Two more
signs are weaker and count only as long as they make no more methods than were loaded:

* the number of instructions. A run that came to its end without a JF_CALL took every instruction of
  its method, so one of three and one of four are not the same, though the first three are equal.
  With one, it left some out, but an operator that it ended with is the last of its method: branches
  end with a MOVE_CALL of what they return;
* for methods that a delegate swallowed whole, which identifiers it logged in a call. It may log now
  more and now less.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.formats.etdump_events import Events
from viewer.model.builder import TraceBuilder
from viewer.model.trace import EXECUTE, JUMP, Bools, Ints, KeyKind

# No session had more than a handful; bounds the search for a run's method.
MOST_METHODS = 64

# What is known about instructions: a number for (instruction, aspect) -> the values seen.
_Facts = dict[int, set[int]]
_KERNEL, _CALL, _IDENTIFIERS, _ASPECTS = 0, 1, 2, 3
_COUNT = -_ASPECTS << 32  # of the whole run, so below what any 32-bit instruction has
_ENDS_IN_BRANCH = -1  # in place of a count: another run may end elsewhere


class _Signs(IntEnum):
    """By what runs are told apart; each takes in those before it."""

    CONTRADICTIONS = 0
    COUNTS = 1
    IDENTIFIERS = 2


def methods_of_runs(
    events: Events, kind: NDArray[np.uint8], first: Ints, is_load: Bools, builder: TraceBuilder
) -> tuple[Ints, int]:
    """The method of every run, counted by first appearance (-1 for loads), and how many there are.

    first: where each run's events begin. A run belongs to the first method that it shares an
    instruction with and never contradicts.
    """
    method = np.where(is_load, -1, 0)
    loads = int(is_load.sum())
    if loads <= 1:
        return method, int(not is_load.all())
    runs = np.flatnonzero(~is_load)
    log = _Log.of(events, kind, np.append(first, len(events)))
    found, count = log.told_apart(runs, _Signs.CONTRADICTIONS)
    for signs in (_Signs.COUNTS, _Signs.IDENTIFIERS):
        finer, more = log.told_apart(runs, signs)
        if count < more <= loads:
            found, count = finer, more
    if count == MOST_METHODS:
        builder.problem(f"more than {MOST_METHODS} methods: the rest are shown as the last")
    method[runs] = found
    return method, count


@dataclass(slots=True)
class _Log:
    """What the events of a dump say about instructions: per event a fact and what it is about.

    jumps, ends: which events are a JF_CALL, and which a Method::execute, logged when it returned.
    """

    about: Ints
    fact: Ints
    said: Bools
    jumps: Bools
    ends: Bools
    bounds: Ints

    @staticmethod
    def of(events: Events, kind: NDArray[np.uint8], bounds: Ints) -> _Log:
        control = kind == KeyKind.CONTROL
        calls = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL) | control
        logged = (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
        aspect = np.where(calls, _CALL, np.where(logged, _IDENTIFIERS, _KERNEL))
        # Texts and numbers are apart: a number goes below -1, a text's code above.
        number = events.number.astype(np.int64)
        identifier = np.where(number != -1, -2 - np.abs(number) * 2 - (number < 0), events.text)
        # What a call is: below 0 the MOVE, JF or FREE of that name, else the kind of its event.
        call = np.where(control, -1 - events.name.astype(np.int64), kind)
        return _Log(
            events.instruction.astype(np.int64) * _ASPECTS + aspect,
            np.where(calls, call, np.where(logged, identifier, events.name)),
            calls | logged | (kind == KeyKind.KERNEL),
            control & events.named(JUMP),
            (kind == KeyKind.FRAMEWORK) & events.named(EXECUTE),
            bounds,
        )

    def told_apart(self, runs: Ints, signs: _Signs) -> tuple[Ints, int]:
        """The method of each of some runs, and how many methods that makes."""
        said = self.said
        by_identifiers = signs is _Signs.IDENTIFIERS
        if not by_identifiers:
            said = said & (self.about % _ASPECTS != _IDENTIFIERS)
        mixed = self.about.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= self.fact.astype(np.uint64)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
        signature = np.add.reduceat(np.where(said, mixed * mixed, 0), self.bounds[:-1])[runs]
        distinct, at, inverse = np.unique(signature, return_index=True, return_inverse=True)
        if by_identifiers and len(distinct) > MOST_METHODS:
            # What differs from run to run tells runs apart, not methods.
            return inverse, len(distinct)
        methods: list[_Facts] = []
        of_signature = np.empty(len(distinct), np.int64)
        for k in np.argsort(at).tolist():
            run = int(runs[at[k]])
            facts = self._facts(run, said)
            if signs is not _Signs.CONTRADICTIONS:
                facts |= self._count(run, facts)
            of_signature[k] = _method_with(facts, methods)
        return of_signature[inverse], len(methods)

    def _count(self, run: int, facts: _Facts) -> _Facts:
        """How many instructions its method has; nothing for a run that failed or was cut short."""
        own = slice(int(self.bounds[run]), int(self.bounds[run + 1]))
        calls = [about for about in facts if about % _ASPECTS == _CALL]
        if not calls or not self.ends[own].any():
            return {}
        last = max(calls)
        is_operator = min(facts[last]) >= 0
        count = last // _ASPECTS + 1
        return {_COUNT: {count if is_operator or not self.jumps[own].any() else _ENDS_IN_BRANCH}}

    def _facts(self, run: int, said: Bools) -> _Facts:
        lo, hi = int(self.bounds[run]), int(self.bounds[run + 1])
        own = np.flatnonzero(said[lo:hi]) + lo
        facts: _Facts = {}
        for about, fact in zip(self.about[own].tolist(), self.fact[own].tolist(), strict=True):
            facts.setdefault(about, set()).add(fact)
        for about, values in facts.items():
            if about % _ASPECTS == _IDENTIFIERS:
                # All that a call logged is one fact: fewer or more of it is another.
                facts[about] = {hash(frozenset(values))}
        return facts


def _method_with(facts: _Facts, methods: list[_Facts]) -> int:
    """The first method that agrees with the facts of a run, which join it; else a new one."""
    m = next((m for m, had in enumerate(methods) if _agree(facts, had)), len(methods))
    if m == len(methods) < MOST_METHODS:
        methods.append({})
    m = min(m, MOST_METHODS - 1)
    for about, values in facts.items():
        methods[m].setdefault(about, set()).update(values)
    return m


def _agree(one: _Facts, other: _Facts) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared - {_COUNT}) and not any(
        one[about].isdisjoint(other[about]) for about in shared
    )
