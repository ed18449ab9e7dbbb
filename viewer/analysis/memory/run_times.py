"""When instructions of a program file ran: as the planned bytes over time, and per instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from viewer.analysis.memory.plan import known_plan
from viewer.arrays import Bools, Ints
from viewer.model.counter import Counter, changes
from viewer.model.times import group_digits
from viewer.model.trace import KeyKind, Run, Trace
from viewer.program.executable.executable import ExecutableMethod

IN_USE = "Planned memory in use"
DERIVED = "derived from the memory plan of the program file"
# What the runtime logs with the number of an instruction.
_KINDS = (KeyKind.CONTROL, KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL)


def planned_counters(trace: Trace, ran: Sequence[ExecutableMethod | None]) -> tuple[Counter, ...]:
    """Return the planned bytes in use while a trace ran, per process and method.

    From the start of an instruction its bytes are those of the plan; between inferences, only what
    keeps its contents. Inferences that overlap, as in views that align them, have no counter: their
    bytes were not in use together. ran: per scope the method that ran, None if that is not known.
    Takes 20 ms for 200,000 slices.
    """
    if any(counter.name.startswith(IN_USE) for counter in trace.counters):
        return ()  # our own exports already contain them
    planned = {i: method for i, method in enumerate(ran) if method and method.planned_bytes}
    processes = [track.process for track in trace.tracks]
    groups: dict[tuple[str, ExecutableMethod], list[Run]] = {}
    for run in trace.inferences() if planned else ():
        method = planned.get(run.scope)
        if method is not None:
            groups.setdefault((processes[run.track], method), []).append(run)
    several = len({method for _, method in groups}) > 1
    return tuple(
        counter
        for (process, method), runs in groups.items()
        if (counter := _counter(trace, ran, process, method, runs, several=several)) is not None
    )


def _counter(
    trace: Trace,
    ran: Sequence[ExecutableMethod | None],
    process: str,
    method: ExecutableMethod,
    runs: Sequence[Run],
    *,
    several: bool,
) -> Counter | None:
    ordered = sorted(runs, key=lambda run: run.start)
    if any(later.start < run.end for run, later in pairwise(ordered)):
        return None
    plan = known_plan(method)
    instruction = _instruction_of_keys(trace, [i for i, own in enumerate(ran) if own is method])
    own = np.flatnonzero((instruction >= 0)[trace.slices.key])
    if len({track.process for track in trace.tracks}) > 1:
        is_here = np.array([track.process == process for track in trace.tracks], np.bool_)
        own = own[is_here[trace.slices.tracks_of(own)]]
    number = instruction[trace.slices.key[own]]
    own, number = own[number < len(plan.live)], number[number < len(plan.live)]
    # An end comes before a start at the same time, which then decides.
    ends = np.array([run.end for run in ordered], np.int64)
    tick = np.concatenate((ends, trace.slices.start[own]))
    value = np.concatenate((np.full(len(ends), plan.kept), plan.live[number]))
    order = np.argsort(tick, kind="stable")
    tick, value = changes(tick[order], value[order])
    note = f"{DERIVED}; its arena has {group_digits(plan.arena)} B"
    name = f"{IN_USE} · {method.name}" if several else IN_USE
    return Counter(process, name, "B", tick, value, note=note, limit=plan.arena)


def _instruction_of_keys(trace: Trace, scopes: Sequence[int]) -> Ints:
    """Return per key of a trace its instruction in some scopes, -1 for none."""
    keys = trace.keys
    is_own: Bools = np.isin(keys.kind, _KINDS) & np.isin(keys.scope, scopes)
    return np.where(is_own, keys.instruction, -1)


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTimes:
    """When the instructions of a method ran in one inference, in ticks of the trace.

    start: the first time at which each or a later one starts; end: the last time at which each or
    an earlier one ends. So an instruction that did not run has no time of its own. tick, number:
    all starts in order of time, with the instruction of each.
    """

    run: Run
    start: Ints
    end: Ints
    tick: Ints
    number: Ints


def instruction_times(trace: Trace, run: Run, method: ExecutableMethod) -> InstructionTimes | None:
    """Return when the instructions of a method ran in an inference; None if none was logged."""
    slices, count = trace.slices, len(method.instructions)
    instruction = _instruction_of_keys(trace, [run.scope])
    own = np.flatnonzero((instruction >= 0)[slices.key])
    start = slices.start[own]
    inside = (start >= run.start) & (start <= trace.last_start(run))
    own = own[inside & (instruction[slices.key[own]] < count)]
    if not run.all_tracks:
        own = own[slices.tracks_of(own) == run.track]
    if not len(own):
        return None
    own = own[np.argsort(slices.start[own], kind="stable")]
    number = instruction[slices.key[own]]
    first = np.full(count, run.end)
    np.minimum.at(first, number, slices.start[own])
    last = np.full(count, run.start)
    np.maximum.at(last, number, slices.end[own])
    return InstructionTimes(
        run,
        np.minimum.accumulate(first[::-1])[::-1],
        np.maximum.accumulate(last),
        slices.start[own],
        number,
    )


def slices_of_instruction(trace: Trace, scopes: Sequence[int], instruction: int) -> Ints:
    """Return the slices of an instruction's calls in some scopes, without the kernels in them."""
    found = _instruction_of_keys(trace, scopes) == instruction
    calls = found & (trace.keys.kind != KeyKind.KERNEL)
    is_own = calls if calls.any() else found
    return np.flatnonzero(is_own[trace.slices.key])
