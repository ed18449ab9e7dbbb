"""Determines which runs of an ETDump are loads or failed, and which execute the same method.

An event block is one run, except for a load followed by steps in the same block: those are two. The
file never states the method. After one load there is one method. After several, runs that
contradict each other are different methods: an instruction that is another operator, or a
DELEGATE_CALL in one and a kernel in the other. Two more signs are weaker and used only if they give
no more methods than were loaded:

* the number of instructions. A run that completed without a JF_CALL executed every instruction of
  its method, so runs of three and of four instructions differ, even if the first three are equal.
  With a JF_CALL it skipped some, but an operator at its end is still the last one of its method:
  branches end with a MOVE_CALL of their result;
* for methods that are delegated as a whole, the identifiers that the delegate logged in a call. It
  may log more in one run than in another.

A runtime that loads a method before its first use executes it next, so the first run after a single
load is of the method just loaded: if such runs of several loads have the same instructions, they
are of several methods.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at
from viewer.dataclasses import dataclass
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, Runs
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import EXECUTE, INIT, JUMP, LOAD, STEP
from viewer.model.trace import KeyKind

LOADS = (INIT, LOAD)
# Every restart of the clock is a thread; beyond this number, runs share the last one.
MOST_CLOCKS = 1000
_INT64 = np.iinfo(np.int64)


def part_runs(events: ProfileEvents, loading: Bools) -> tuple[Codes32, Ints]:
    """Split blocks where instructions follow a load: the distinct parts and their first events.

    Sets `events.run` to twice the block's number, plus 1 for events after a load in it.
    `Method::step` opens no event block, so its events go to the block of the load before it.
    """
    load_rows = loading.nonzero()[0]
    last = np.full(int(events.run[-1]) + 1, len(events))
    last[events.run[load_rows]] = load_rows
    run = events.run * np.int32(2)
    if len(load_rows):
        after = np.arange(len(events)) > last[events.run]
        stepped = flags_at(len(last), events.run[after & (events.chain >= 0)])
        run += after & stepped[events.run]
    events.run = run
    first = np.flatnonzero(np.concatenate(([True], run[1:] != run[:-1])))
    return run[first], first


def loads(
    runs: Runs,
    parts: Codes32,
    first: Ints,
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    loading: Bools,
) -> Bools:
    """Which parts of runs load a method instead of executing one.

    A run named "Default" without load scopes but with instructions is an execution: a program that
    opens no event block of its own logs this name.
    """
    working = (events.chain >= 0) & (kind != KeyKind.DELEGATE_EVENT)
    loads: Bools = np.logical_or.reduceat(loading, first)
    works = np.logical_or.reduceat(working, first)
    default = np.array([runs.names[run >> 1] == "Default" for run in parts.tolist()])
    return loads | (default & ~works)


def ends_of_runs(events: ProfileEvents) -> Bools:
    """Which events are Method::execute, which the runtime logs when a run completes."""
    return events.named(EXECUTE) & (events.chain < 0)


def failed_runs(
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    first: Ints,
    is_load: Bools,
    loading: Bools,
    executes: Bools,
) -> Ints:
    """The positions of runs that started instructions but never completed.

    Empty for a file without any scopes of the runtime. Steps complete one by one and have no
    Method::execute. executes: `ends_of_runs`.
    """
    if not (executes.any() or loading.any()):
        return np.empty(0, np.int64)
    calls = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL)
    began = np.logical_or.reduceat(calls, first)
    ended = np.logical_or.reduceat(executes | events.named(STEP), first)
    return np.flatnonzero(began & ~ended & ~is_load)


def spans(events: ProfileEvents, first: Ints, count: Ints, executes: Bools) -> tuple[Ints, Ints]:
    """Start and end of every run.

    first, count: the first event of each, and how many it has. executes: `ends_of_runs`.
    If a run has a Method::execute, only that counts: times of other events may contradict it.
    """
    has_one = np.logical_or.reduceat(executes, first)
    counted = executes | (~has_one).repeat(count)
    run_start = np.minimum.reduceat(np.where(counted, events.start, _INT64.max), first)
    return run_start, np.maximum.reduceat(np.where(counted, events.end, _INT64.min), first)


def clocks(begin: Ints, finish: Ints) -> Ints:
    """How often the clock had restarted before each run, at most `MOST_CLOCKS` - 1 times.

    Runs never overlap, so the clock restarted if a run starts before an earlier one ended.
    """
    clock_of = np.zeros(len(begin), np.int64)
    clock, over = 0, int(_INT64.min)
    for i, (starts, ends) in enumerate(zip(begin.tolist(), finish.tolist(), strict=True)):
        if starts < over and clock < MOST_CLOCKS - 1:
            clock, over = clock + 1, ends
        over = max(over, ends)
        clock_of[i] = clock
    return clock_of


# Sessions load a handful, at most one per input size. This limits the search, whose tables take one
# byte per method and fact.
MOST_METHODS = 256

_KERNEL, _CALL, _IDENTIFIERS, _ASPECTS = 0, 1, 2, 3
_COUNT = -_ASPECTS << 32  # applies to the whole run, so it is below every 32-bit instruction
# instead of a count; with the second, another run may end elsewhere
_UNTOLD, _ENDS_IN_BRANCH = -2, -1
_ODD = np.uint64(0x9E3779B97F4A7C15)


class _Signs(IntEnum):
    """The signs that distinguish runs; each level includes those before it."""

    CONTRADICTIONS = 0
    COUNTS = 1
    IDENTIFIERS = 2


def methods_of_runs(
    events: ProfileEvents,
    kind: NDArray[np.uint8],
    first: Ints,
    is_load: Bools,
    builder: TraceBuilder,
) -> tuple[Ints, int]:
    """The method of every run, numbered by first appearance (-1 for loads), and their count.

    first: index of each run's first event. A run belongs to the first method with which it shares
    an instruction and has no contradiction.
    """
    method = np.where(is_load, -1, 0)
    loads = int(is_load.sum())
    if loads <= 1:
        return method, int(not is_load.all())
    runs = np.flatnonzero(~is_load)
    log = _Log.of(events, kind, np.append(first, len(events)))
    method_of, count = log.told_apart(runs, _Signs.CONTRADICTIONS)
    for signs in log.weaker_signs(runs):
        finer, more = log.told_apart(runs, signs)
        if count < more <= loads and more < MOST_METHODS:
            method_of, count = finer, more
    if count == MOST_METHODS:
        builder.problem(f"more than {MOST_METHODS} methods: the rest are shown as the last")
    method[runs] = method_of
    return method, count


def loads_of_runs(method: Ints, is_load: Bools) -> Ints:
    """The load whose method each run executed, from 1; -1 if it may be that of several loads.

    0 for loads, and where nothing shows that runs of one method by `methods_of_runs` are of several
    ones. method: per run that method, -1 for a load. is_load: which runs load a method.

    The first run after a load is of its method, unless several methods were loaded in a row: then
    any of them may be next. A later run is of one of the methods loaded before.
    """
    number = np.cumsum(is_load)
    before = np.append(False, is_load[:-1])
    in_a_row = before & np.append(False, before[:-1])
    is_first = (method >= 0) & before & ~in_a_row
    load_of = np.zeros(len(method), np.int64)
    if np.count_nonzero(is_first) < 2:
        return load_of
    # Loads that no such run followed: their methods are not known.
    unused = np.setdiff1d(np.arange(1, number[-1] + 1), number[is_first])
    for method_number in np.unique(method[is_first]).tolist():
        runs = np.flatnonzero(method == method_number)
        of_first = number[runs[is_first[runs]]]
        if len(of_first) < 2:
            continue
        load_count = np.searchsorted(of_first, number[runs], "right")
        other = np.searchsorted(unused, number[runs], "right")
        several = (load_count != 1) | (other > 0)
        later = np.where(several, -1, of_first[np.maximum(load_count, 1) - 1])
        load_of[runs] = np.where(is_first[runs], number[runs], later)
    return load_of


@dataclass(slots=True)
class _Log:
    """The facts that an ETDump's events state about instructions, one per event.

    about: what the fact is about. said: whether the event states one. bounds: where each run
    starts. counts: per run, the number of instructions in its method, as far as the run shows it.
    """

    about: Ints
    fact: Ints
    said: Bools
    bounds: Ints
    counts: Ints

    @staticmethod
    def of(events: ProfileEvents, kind: NDArray[np.uint8], bounds: Ints) -> _Log:
        control = kind == KeyKind.CONTROL
        calls = (kind == KeyKind.OPERATOR_CALL) | (kind == KeyKind.DELEGATE_CALL) | control
        logged = (kind == KeyKind.DELEGATE_EVENT) & (events.chain >= 0)
        aspect = np.where(calls, _CALL, np.where(logged, _IDENTIFIERS, _KERNEL))
        # Texts and numbers use separate ranges: numbers below -1, text codes above.
        number = events.number.astype(np.int64)
        identifier = np.where(number != -1, -2 - np.abs(number) * 2 - (number < 0), events.text)
        # The identity of a call: below 0 for a MOVE, JF or FREE of that name, else its event kind.
        call = np.where(control, -1 - events.name.astype(np.int64), kind)
        return _Log(
            events.instruction.astype(np.int64) * _ASPECTS + aspect,
            np.where(calls, call, np.where(logged, identifier, events.name)),
            calls | logged | (kind == KeyKind.KERNEL),
            bounds,
            _counts(events, calls, control, bounds),
        )

    def weaker_signs(self, runs: Ints) -> list[_Signs]:
        """The weaker signs that these runs have: different counts, or logged identifiers."""
        counts = self.counts[runs][self.counts[runs] != _UNTOLD]
        signs = [_Signs.COUNTS] if len(counts) and (counts != counts[0]).any() else []
        if (self.said & (self.about % _ASPECTS == _IDENTIFIERS)).any():
            signs.append(_Signs.IDENTIFIERS)
        return signs

    def told_apart(self, runs: Ints, signs: _Signs) -> tuple[Ints, int]:
        """The method of each run, and the number of methods."""
        has_fact = self.said
        if signs < _Signs.IDENTIFIERS:
            has_fact = has_fact & (self.about % _ASPECTS != _IDENTIFIERS)
        counts = self.counts if signs >= _Signs.COUNTS else np.full_like(self.counts, _UNTOLD)
        mixed = _mixed(self.about.astype(np.uint64) * _ODD ^ self.fact.astype(np.uint64))
        signature = np.add.reduceat(np.where(has_fact, mixed, 0), self.bounds[:-1])[runs]
        signature += _mixed(counts[runs].astype(np.uint64) ^ _ODD)
        _, first_runs, inverse = np.unique(signature, return_index=True, return_inverse=True)
        # Runs that logged the same are compared once, in order of appearance.
        appears = np.argsort(first_runs)
        alike = runs[first_runs[appears]]
        size = self.bounds[alike + 1] - self.bounds[alike]
        run = np.repeat(np.arange(len(alike)), size)
        event = np.arange(len(run)) + np.repeat(self.bounds[alike] - (np.cumsum(size) - size), size)
        run, event = run[has_fact[event]], event[has_fact[event]]
        about, fact = self.about[event], self.fact[event].astype(np.uint64)
        if signs is _Signs.IDENTIFIERS:
            run, about, fact = _sets_as_facts(run, about, fact)
        counted = np.flatnonzero(counts[alike] != _UNTOLD)
        run, about = np.append(run, counted), np.append(about, np.full(len(counted), _COUNT))
        fact = np.append(fact, counts[alike[counted]].astype(np.uint64))
        assigned, methods = _assigned(_Facts.of(run, about, fact, len(alike)))
        of_signature = np.empty(len(alike), np.int64)
        of_signature[appears] = assigned
        return of_signature[inverse], methods


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes that can be added up."""
    values = values * np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(29)
    return values * values


def _counts(events: ProfileEvents, calls: Bools, control: Bools, bounds: Ints) -> Ints:
    """The instruction count of each run's method, or _UNTOLD or _ENDS_IN_BRANCH.

    A run that failed or was cut short has no count.
    """
    first = bounds[:-1]
    last = np.maximum.reduceat(np.where(calls, events.instruction, -1).astype(np.int64), first)
    in_last = calls & (events.instruction == np.repeat(last, np.diff(bounds)))
    moves = np.logical_or.reduceat(in_last & control, first)
    jumped = np.logical_or.reduceat(control & events.named(JUMP), first)
    ended = np.logical_or.reduceat(ends_of_runs(events), first)
    counts = np.where(moves & jumped, _ENDS_IN_BRANCH, last + 1)
    return np.where(ended & (last >= 0), counts, _UNTOLD)


def _distinct(*columns: NDArray[Any]) -> Ints:
    """The first position of every distinct row of some columns, sorted by the columns."""
    order: Ints = np.lexsort(columns[::-1])
    differs = np.zeros(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        differs |= np.diff(column[order]) != 0
    first: Ints = order[np.append(True, differs)[: len(order)]]
    return first


def _sets_as_facts(
    run: Ints, about: Ints, fact: NDArray[np.uint64]
) -> tuple[Ints, Ints, NDArray[np.uint64]]:
    """Combine all identifiers that a call logged into one fact, so that sets must be equal."""
    by_set = about % _ASPECTS == _IDENTIFIERS
    rest = ~by_set
    rows = np.flatnonzero(by_set)
    rows = rows[_distinct(run[rows], about[rows], fact[rows])]
    first = _distinct(run[rows], about[rows])
    total = np.add.reduceat(_mixed(fact[rows] ^ _ODD), first) if len(rows) else fact[rows]
    return (
        np.append(run[rest], run[rows[first]]),
        np.append(about[rest], about[rows[first]]),
        np.append(fact[rest], total),
    )


@dataclass(slots=True)
class _Facts:
    """Distinct facts of runs, sorted by run and by what they are about.

    about: code of what a fact is about. pair: code of that and the fact. bounds: the first fact of
    each run. joins: per `about` code, whether sharing it makes runs the same method; an instruction
    count alone does not.
    """

    about: Ints
    pair: Ints
    bounds: Ints
    joins: Bools

    @staticmethod
    def of(run: Ints, about: Ints, fact: NDArray[np.uint64], runs: int) -> _Facts:
        abouts, about = np.unique(about, return_inverse=True)
        values, fact_code = np.unique(fact, return_inverse=True)
        pairs, pair = np.unique(about * len(values) + fact_code, return_inverse=True)
        codes = np.sort(run * len(pairs) + pair)
        codes = codes[np.append(True, np.diff(codes) != 0)[: len(codes)]]
        run, pair = np.divmod(codes, max(len(pairs), 1))
        return _Facts(
            (pairs // max(len(values), 1))[pair],
            pair,
            np.searchsorted(run, np.arange(runs + 1)),
            abouts != _COUNT,
        )


def _assigned(facts: _Facts) -> tuple[Ints, int]:
    """The method of each run (the first that agrees, or a new one), and the number of methods.

    A run joins a method if they share a fact and agree in everything that both state. Its facts are
    added to the method's.
    """
    method_of = np.empty(len(facts.bounds) - 1, np.int64)
    knows = np.zeros((1, int(facts.about.max(initial=-1)) + 1), np.bool_)
    holds = np.zeros((1, int(facts.pair.max(initial=-1)) + 1), np.bool_)
    count = 0
    for run in range(len(method_of)):
        fact_slice = slice(int(facts.bounds[run]), int(facts.bounds[run + 1]))
        about, pair = facts.about[fact_slice], facts.pair[fact_slice]
        method = count
        if len(about):
            first = np.flatnonzero(np.append(True, np.diff(about) != 0))
            shared = knows[:count, about[first]]
            agrees = np.logical_or.reduceat(holds[:count, pair], first, axis=1)
            joins = shared & facts.joins[about[first]]
            fits = joins.any(axis=1) & ~(shared & ~agrees).any(axis=1)
            method = int(np.argmax(fits)) if fits.any() else count
        if method == count:
            if count == MOST_METHODS:
                method = MOST_METHODS - 1
            else:
                count += 1
        if method == len(knows):
            knows = np.concatenate([knows, np.zeros_like(knows)])
            holds = np.concatenate([holds, np.zeros_like(holds)])
        knows[method, about] = True
        holds[method, pair] = True
        method_of[run] = method
    return method_of, count
