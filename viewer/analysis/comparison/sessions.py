"""The sessions of an arm: the time of every part of the program in each inference, and conditions.

A *part* is the finest piece that can be compared: an instruction of a method (a kernel call or a
call of a delegate), or one event inside a delegate call. It has the same identity in every session
of an arm. Parts that do not run in an inference, such as those of a branch, have no time there,
which is not 0.

Conditions may explain a change as well as the program does. If they differ between the arms, and
hardly within each, the two are confounded. What was set before a session counts, not what the
program did to it: so the temperature is that before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from statistics import fmean

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Codes, Floats, Ints, flags_at, lists_by_key, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.inference_views import of_one_phase
from viewer.model.queries import foreign, run_of_slices
from viewer.model.recorded_names import KERNEL_PREFIX
from viewer.model.timing import ROUNDING_TICKS, UNMEASURED, Timing, timings
from viewer.model.trace import KeyKind, Run, RunKind
from viewer.model.warm_up import counted_inferences
from viewer.program.program import Program

# Smaller differences say nothing: sensors are that coarse, and clocks that restless.
LEAST_C, LEAST_CLOCK = 3.0, 0.05
# The share of the variance of a condition that is between the arms, from which on they are one.
INSEPARABLE = 0.75
_LEAST_SESSIONS = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a session ran, as its `run.json` states it; None where it is not known.

    recording, order: which recording it is of, and its place in it. started: seconds since 1970.
    temperature_c: before it; temperature_of: "cpu", "battery" or "other". frequency_khz: of the
    fastest CPUs, while it ran. program: the SHA-256 of its program.
    """

    recording: str = ""
    order: int | None = None
    started: float | None = None
    temperature_c: float | None = None
    temperature_of: str = ""
    frequency_khz: float | None = None
    program: str = ""


UNKNOWN = Conditions()


def celsius_text(celsius: float | None) -> str:
    """Return a temperature as "41.2 °C", "" if it is not known."""
    return "" if celsius is None else f"{celsius:.1f} °C"


def clock_text(khz: float | None) -> str:
    """Return a clock as "1.80 GHz", "" if it is not known."""
    return "" if khz is None else f"{khz / 1e6:.2f} GHz"


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition that differs between the arms. text: "B ran 6.1 °C warmer than A (…)".

    is_inseparable: whether the sessions cannot tell it from a change of the program.
    """

    text: str
    is_inseparable: bool

    @property
    def sentence(self) -> str:
        """What the user should know of it."""
        text = f"{self.text[:1].upper()}{self.text[1:]}"
        if not self.is_inseparable:
            return f"{text}."
        return (
            f"{text}: these sessions cannot separate that from a change of the program. Record A "
            "and B again, in turn and under equal conditions."
        )


def differences(a: Sequence[Conditions], b: Sequence[Conditions]) -> tuple[Difference, ...]:
    """Return the conditions that differ between the sessions of two arms."""
    differing = []
    of = {x.temperature_of for x in (*a, *b) if x.temperature_of}
    heat = _means(a, b, lambda session: session.temperature_c) if len(of) == 1 else None
    if heat is not None and abs(heat[1] - heat[0]) >= LEAST_C:
        word = "warmer" if heat[1] > heat[0] else "cooler"
        differing.append(
            Difference(
                f"B ran {celsius_text(abs(heat[1] - heat[0]))} {word} than A ({heat[1]:.1f} "
                f"instead of {celsius_text(heat[0])} before a session)",
                heat[2] >= INSEPARABLE,
            )
        )
    clock = _means(a, b, lambda session: session.frequency_khz)
    if clock is not None and abs(clock[1] / clock[0] - 1) >= LEAST_CLOCK:
        word = "higher" if clock[1] > clock[0] else "lower"
        differing.append(
            Difference(
                f"the clock was {100 * abs(clock[1] / clock[0] - 1):.0f} % {word} in B than in A "
                f"({clock[1] / 1e6:.2f} instead of {clock_text(clock[0])})",
                clock[2] >= INSEPARABLE,
            )
        )
    return tuple(differing)


def _means(
    a: Sequence[Conditions],
    b: Sequence[Conditions],
    value: Callable[[Conditions], float | None],
) -> tuple[float, float, float] | None:
    """The means of A and of B, and the share of the variance between them; None if not known."""
    of_a, of_b = ([x for session in arm if (x := value(session)) is not None] for arm in (a, b))
    if min(len(of_a), len(of_b)) < _LEAST_SESSIONS:
        return None
    mean_a, mean_b, mean = fmean(of_a), fmean(of_b), fmean((*of_a, *of_b))
    between = len(of_a) * (mean_a - mean) ** 2 + len(of_b) * (mean_b - mean) ** 2
    total = sum((x - mean) ** 2 for x in (*of_a, *of_b))
    return mean_a, mean_b, between / total if total > 0 else 0.0


_CALLS = (KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL)
_COMPARED = (*_CALLS, KeyKind.DELEGATE_EVENT)


@dataclass(frozen=True, slots=True)
class PartId:
    """The identity of a part.

    method: its method, or the name of its scope if no record states the method. event: for an event
    inside a delegate call, its name and its number among the events of that name, from 0. group:
    of a group of slices that share a line, module or type, what they share; its instruction is -1.
    """

    method: str
    instruction: int
    event: tuple[str, int] | None = None
    group: tuple[str, ...] = ()

    @property
    def call(self) -> PartId:
        """The instruction that it is, or that it is in."""
        return self if self.event is None else PartId(self.method, self.instruction)


@dataclass(frozen=True, slots=True)
class Part:
    """What is known about a part: its name in the profile, its backend and its operators.

    name: of the kernel, the backend or the event. operators: indexes into `Program.operators`,
    ascending. is_method_known: whether `PartId.method` is the name of a method.
    """

    id: PartId
    name: str
    backend: str
    operators: tuple[int, ...]
    is_method_known: bool


@dataclass(frozen=True, eq=False)
class MethodTimes:
    """The times of the parts of one method in one session.

    runs: those that count. ticks: of shape (runs, parts), NaN where a part did not run. measured:
    per part, whether all of its times are measured and on the clock of the file. calls: per part,
    the number of its slices in a run, on average. grain: per part, the ticks by which times on its
    clock differ at least.
    """

    method: str
    runs: tuple[Run, ...]
    parts: tuple[Part, ...]
    ticks: Floats
    measured: Bools
    calls: Floats
    grain: Ints


@dataclass(frozen=True, eq=False)
class Session:
    """One recording: the inferences of a file, or those between two restarts of its clock.

    runs: those that count, in the order of the file. ns_per_tick: of the clock of the file.
    is_whole: the file has no inferences, so its only run is all of it. unit: of the clock: "ns", or
    "cycle" if the rate is only assumed. conditions: under which it ran.
    """

    table: LinkTable
    ns_per_tick: float
    runs: tuple[Run, ...]
    is_whole: bool = False
    unit: str = "ns"
    conditions: Conditions = UNKNOWN

    @property
    def name(self) -> str:
        """The name of its file."""
        return os.path.basename(self.table.trace.path)

    @cached_property
    def is_estimated(self) -> bool:
        """Whether it is a file of estimates: it has no inferences, and times that are estimated."""
        is_estimate = timings(self.table.trace.slices) & Timing.ESTIMATED > 0
        return self.is_whole and bool(is_estimate.any())

    @property
    def program(self) -> Program | None:
        """The program that its slices are linked to."""
        return self.table.program

    @cached_property
    def methods(self) -> tuple[MethodTimes, ...]:
        """The times of every method that has inferences, in the order of the first of each."""
        if self.is_whole:
            return ()
        found = lists_by_key(
            (self.method_of(scope), scope)
            for scope in dict.fromkeys(run.scope for run in self.runs)
        )
        return tuple(self._times(method, scopes) for (method, _), scopes in found.items())

    def method_of(self, scope: int) -> tuple[str, bool]:
        """The method of a scope and True, else the name of the scope and False."""
        method = self.table.method_of_scope(scope)
        return (method, True) if method else (self.table.trace.scopes[scope].name, False)

    def numbers_of_events(self, at: Ints, row: Ints) -> Ints:
        """The number of each of some slices, from 0, among those of its row, call and name."""
        trace = self.table.trace
        key = trace.slices.key[at]
        name = trace.keys.name[key].astype(np.int64)
        return _nth(row, trace.keys.instruction[key], name, trace.slices.start[at])

    def _times(self, method: str, scopes: Sequence[int]) -> MethodTimes:
        trace = self.table.trace
        slices, keys = trace.slices, trace.keys
        runs = tuple(run for run in self.runs if run.scope in scopes)
        row_of_run = self._rows_of_runs(runs)
        is_compared = np.isin(keys.kind, _COMPARED) & (keys.instruction >= 0)
        is_compared &= np.isin(keys.scope, scopes)
        at = np.flatnonzero(is_compared[slices.key])
        row = row_of_run[self._run_of_slices[at]]
        at, row = at[row >= 0], row[row >= 0]
        part_of, parts = self._parts(at, row, method)
        ticks = (slices.end[at] - slices.start[at]).astype(np.float64)
        count, place = len(parts), row * len(parts) + part_of
        shape = len(runs), count
        total = np.bincount(place, ticks, len(runs) * count).reshape(shape)
        calls = np.bincount(place, minlength=len(runs) * count).reshape(shape)
        is_measured_part = np.ones(count, np.bool_)
        is_measured_part[part_of[~self._is_measured[at]]] = False
        ran = np.maximum((calls > 0).sum(axis=0), 1)
        grain = np.ones(count, np.int64)
        is_rounded = timings(self.table.trace.slices)[at] & Timing.ROUNDED > 0
        grain[part_of[is_rounded]] = ROUNDING_TICKS
        return MethodTimes(
            method,
            runs,
            parts,
            np.where(calls > 0, total, np.nan),
            is_measured_part,
            calls.sum(axis=0) / ran,
            grain,
        )

    @cached_property
    def row_of_slices(self) -> Ints:
        """The index in `runs` of the run in which each slice starts, -1 for none (int64)."""
        trace = self.table.trace
        if self.is_whole:
            return np.zeros(len(trace.slices), np.int64)
        return self._rows_of_runs(self.runs)[self._run_of_slices]

    def _rows_of_runs(self, runs: Sequence[Run]) -> Ints:
        """Per run of the trace its index among some runs, -1 for none; at last for no run."""
        trace = self.table.trace
        row_of_run = np.full(len(trace.runs) + 1, -1)
        number = {id(run): i for i, run in enumerate(trace.runs)}
        row_of_run[[number[id(run)] for run in runs]] = np.arange(len(runs))
        return row_of_run

    @cached_property
    def _run_of_slices(self) -> Ints:
        return run_of_slices(self.table.trace)

    @cached_property
    def _is_measured(self) -> Bools:
        slices = self.table.trace.slices
        found: Bools = timings(slices) & UNMEASURED == 0
        found[foreign(slices)] = False
        return found

    def _parts(self, at: Ints, row: Ints, method: str) -> tuple[Ints, tuple[Part, ...]]:
        """The part of each of some slices, and the parts in the order in which they first ran."""
        trace = self.table.trace
        keys = trace.keys
        key = trace.slices.key[at]
        is_event = keys.kind[key] == KeyKind.DELEGATE_EVENT
        instruction = keys.instruction[key]
        nth = numbers_at(len(at), is_event, self.numbers_of_events(at[is_event], row[is_event]))
        name_of_key = np.where(keys.kind == KeyKind.DELEGATE_EVENT, keys.name.astype(np.int64), -1)
        first, part_of = _distinct(key, keys.instruction, name_of_key, nth)
        order = np.argsort(trace.slices.start[at[first]], kind="stable")
        place = numbers_at(len(first), order, np.arange(len(first)))
        operators = self._operators_of_calls
        is_known = any(
            known for name_of, known in map(self.method_of, range(len(trace.scopes)))
            if name_of == method
        )  # fmt: skip
        some = first[order]
        # Lists: of 5,000 parts in 14 sessions, reading single items of arrays takes a second.
        scopes, texts = keys.scope[key[some]].tolist(), trace.strings
        parts = []
        for own, scope, number, event, text, count in zip(
            key[some].tolist(),
            scopes,
            instruction[some].tolist(),
            is_event[some].tolist(),
            keys.name[key[some]].tolist(),
            nth[some].tolist(),
            strict=True,
        ):
            call = scope, number
            linked = self.table.links[own].operators if event else operators.get(call, ())
            parts.append(
                Part(
                    PartId(method, number, (texts[text], count) if event else None),
                    texts[text] if event else self._kernel_of_calls.get(call, texts[text]),
                    self._backend_of_calls.get(call, ""),
                    tuple(sorted(linked)) if len(linked) > 1 else linked,
                    is_known,
                )
            )
        return place[part_of], tuple(parts)

    @cached_property
    def _operators_of_calls(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Scope and instruction -> the operators that any of its calls and kernels has."""
        keys = self.table.trace.keys
        found: dict[tuple[int, int], set[int]] = {}
        for key, call, _ in self._named(np.isin(keys.kind, (*_CALLS, KeyKind.KERNEL))):
            found.setdefault(call, set()).update(self.table.links[key].operators)
        return {call: tuple(sorted(own)) for call, own in found.items()}

    @cached_property
    def _kernel_of_calls(self) -> dict[tuple[int, int], str]:
        """Scope and instruction -> the kernel that it runs, or the backend that it calls."""
        keys, strings = self.table.trace.keys, self.table.trace.strings
        found = dict(self._backend_of_calls)
        for _, call, name in self._named(keys.kind == KeyKind.KERNEL):
            found.setdefault(call, strings[name].removeprefix(KERNEL_PREFIX))
        return found

    @cached_property
    def _backend_of_calls(self) -> dict[tuple[int, int], str]:
        """Scope and instruction of a delegate call -> its backend."""
        keys, strings = self.table.trace.keys, self.table.trace.strings
        return {
            call: self.table.links[key].backend or strings[name]
            for key, call, name in self._named(keys.kind == KeyKind.DELEGATE_CALL)
        }

    def _named(self, some: Bools) -> Iterator[tuple[int, tuple[int, int], int]]:
        """Some keys that have an instruction: each with its scope and instruction, and its name."""
        keys = self.table.trace.keys
        at = np.flatnonzero(some & (keys.instruction >= 0))
        calls = zip(keys.scope[at].tolist(), keys.instruction[at].tolist(), strict=True)
        yield from zip(at.tolist(), calls, keys.name[at].tolist(), strict=True)


def _nth(row: Ints, instruction: Ints, name: Ints, start: Ints) -> Ints:
    """The number of each slice, from 0, among those of its run, instruction and name."""
    order = np.lexsort((start, name, instruction, row))
    same = np.zeros(len(order), np.bool_)
    for column in (row, instruction, name):
        one = column[order]
        same[1:] = (one[1:] == one[:-1]) & (same[1:] if column is not row else True)
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(same, 0, place))
    found = np.empty(len(order), np.int64)
    found[order] = place - first
    return found


def _distinct(key: Ints | Codes, instruction: Ints, name: Ints, nth: Ints) -> tuple[Ints, Ints]:
    """Return the first slice with each instruction, name and number, and which each slice has.

    They are in ascending order. key: of each slice; instruction, name: of each key. nth: of each
    slice; the numbers of an instruction and name go from 0 to their last one. So only the keys are
    sorted, of which there are few.
    """
    used = np.flatnonzero(flags_at(len(name), key))
    used = used[np.lexsort((name[used], instruction[used]))]
    of_used = np.stack([instruction[used], name[used]])
    group = numbers_at(
        len(name), used[1:], np.cumsum((of_used[:, 1:] != of_used[:, :-1]).any(axis=0))
    )
    of_slices = group[key]
    counts = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(counts, of_slices, nth + 1)
    part_of = (np.cumsum(counts) - counts)[of_slices] + nth
    first = np.empty(int(counts.sum()), np.int64)
    first[part_of[::-1]] = np.arange(len(key))[::-1]  # of equal ones, the last that is set stays
    return first, part_of


def sessions_of(
    table: LinkTable,
    ns_per_tick: float,
    is_chosen: Callable[[Run], bool] | None = None,
    *,
    warm_up: bool = False,
    unit: str = "ns",
) -> list[Session]:
    """Return the sessions of a file: one, or one per restart of its clock.

    Of the inferences of a scope that are of several phases or may be of several methods, only those
    count that are known to be of the one with most of them. A clock restarts with the device: an
    inference starts before an earlier one of the file ended. Only dumps state their order. A file
    without inferences counts as one.

    is_chosen: which inferences; None for all. warm_up: whether those that warm up count.
    unit: as of `Session`.
    """
    trace = table.trace
    runs = counted_inferences(trace, warm_up=warm_up)
    if is_chosen is not None:
        runs = list(filter(is_chosen, runs))
    elif not runs:
        if not len(trace.slices) or trace.runs:
            return []
        name = os.path.basename(trace.path)
        whole = Run(RunKind.INFERENCE, 1, name, 0, 0, trace.start, trace.end, all_tracks=True)
        return [Session(table, ns_per_tick, (whole,), is_whole=True, unit=unit)]
    runs = of_one_phase(runs)
    if runs and any(run.first_row < 0 for run in runs):
        return [Session(table, ns_per_tick, tuple(runs), unit=unit)]
    found: list[list[Run]] = []
    over = 0
    for run in sorted(runs, key=lambda run: run.first_row):
        if not found or run.start < over:
            found.append([])
            over = run.end
        found[-1].append(run)
        over = max(over, run.end)
    return [Session(table, ns_per_tick, tuple(own), unit=unit) for own in found]
