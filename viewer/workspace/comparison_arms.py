"""Makes the arms of a comparison from profiles or some of their inferences, and finds their order.

If all sessions of one arm were recorded before all of the other, heat, or whatever else changed
meanwhile, may look like a change of the program. Profiles on one clock, those that state the time
of day, and those that `opscope record` made state their order. Another ETDump does not: the clock
of its runtime starts with the process or the device. The modification time of its file is taken
only if a recording fits between each file and the one before, which copies of files do not leave
room for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import Session, sessions_of
from viewer.analysis.links.link_table import LinkTable
from viewer.dataclasses import dataclass, replace
from viewer.model.text import listed
from viewer.model.times import RateOrigin, tick_to_ns
from viewer.model.trace import Run, Trace
from viewer.model.trace_attributes import WorkUnit, common_unit
from viewer.recording.run_file import conditions_of
from viewer.workspace.clocks import time_of_day_ns
from viewer.workspace.workspace import Workspace

# Ranges of numbers that are listed; more of them are only counted.
_MOST_RANGES = 3


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Some inferences of profiles.

    words: what they are, such as "method prefill". includes: whether an inference of a profile is
    one of them. method: the method that all of them ran, "" if they were not chosen by it. warm_up:
    whether those that warm up count.
    """

    words: str
    includes: Callable[[LinkTable, Run], bool]
    method: str = ""
    warm_up: bool = False


def of_numbers(workspace: Workspace, numbers: Collection[int]) -> RunChoice:
    """Return the inferences with some numbers, also those that warm up."""
    chosen = frozenset(numbers)
    words = _words(sorted(chosen), common_unit(trace.unit for trace in workspace.traces))
    return RunChoice(words, lambda _, run: run.number in chosen, warm_up=True)


def of_scope(
    workspace: Workspace, paths: Collection[str], numbers: Collection[int], scope: str
) -> RunChoice:
    """Return the inferences with some numbers in one scope, which the files name so.

    paths: the profiles whose links name its method.
    """
    chosen = frozenset(numbers)
    unit = common_unit(trace.unit for trace in workspace.traces if trace.path in paths)
    tables = [workspace.links(trace) for trace in workspace.traces if trace.path in paths]
    runs = ((table, run) for table in tables for run in table.trace.inferences())
    methods = (_method_of(table, run) for table, run in runs if _scope_of(table, run) == scope)
    method = next(methods, scope)
    return RunChoice(
        f"{_words(sorted(chosen), unit)} of {method}",
        lambda table, run: run.number in chosen and _scope_of(table, run) == scope,
        method,
        warm_up=True,
    )


def _words(numbers: Sequence[int], unit: WorkUnit) -> str:
    """Ascending numbers in words: "inference 3", "inferences 1 to 4 and 6"."""
    if len(numbers) == 1:
        return f"{unit.noun} {numbers[0]}"
    first = [n for i, n in enumerate(numbers) if not i or n != numbers[i - 1] + 1]
    last = [n for i, n in enumerate(numbers) if i == len(numbers) - 1 or numbers[i + 1] != n + 1]
    if len(first) > _MOST_RANGES:
        return f"{len(numbers)} chosen {unit.plural}"
    parts = [f"{x} to {y}" if y > x else str(x) for x, y in zip(first, last, strict=True)]
    return f"{unit.plural} {listed(parts)}"


def of_method(workspace: Workspace, name: str) -> RunChoice:
    """Return the inferences of a method.

    name: of the method, or of its runs as the profile has it. Raises ValueError if no inference has
    it, or if the runs of that name are of several methods.
    """
    names = _names(workspace)
    methods = {method for method, runs in names if name in (method, runs)}
    if name in methods:
        methods = {name}
    every = ", ".join(sorted({method for method, _ in names})) or "none"
    if not methods:
        raise ValueError(f"no inference runs a method {name!r}; the methods are: {every}")
    if len(methods) > 1:
        raise ValueError(f"{name!r} is {' and '.join(sorted(methods))}; name one of them")
    method = methods.pop()
    return RunChoice(
        f"method {method}", lambda table, run: _method_of(table, run) == method, method
    )


def all_of(choices: Iterable[RunChoice]) -> RunChoice | None:
    """Return the inferences that all of some choices include; None without any choice."""
    run_choices = tuple(choices)
    if len(run_choices) < 2:
        return run_choices[0] if run_choices else None
    return RunChoice(
        ", ".join(run_choice.words for run_choice in run_choices),
        lambda table, run: all(run_choice.includes(table, run) for run_choice in run_choices),
        next((run_choice.method for run_choice in run_choices if run_choice.method), ""),
        any(run_choice.warm_up for run_choice in run_choices),
    )


def _names(workspace: Workspace) -> set[tuple[str, str]]:
    """The method of every inference, and the name of its runs."""
    names = set()
    for trace in workspace.traces:
        table = workspace.links(trace)
        for scope in {run.scope for run in trace.inferences()}:
            name = trace.scopes[scope].name
            names.add((table.method_of_scope(scope) or name, name))
    return names


def _method_of(table: LinkTable, run: Run) -> str:
    return table.method_of_scope(run.scope) or _scope_of(table, run)


def _scope_of(table: LinkTable, run: Run) -> str:
    return table.trace.scopes[run.scope].name


def arm_of(
    workspace: Workspace,
    choice: RunChoice | None = None,
    paths: Collection[str] | None = None,
) -> Arm:
    """Return the arm of the profiles of a workspace, in the order in which they were added.

    choice: only some of their inferences. paths: only these profiles.
    """
    chosen = (trace for trace in workspace.traces if paths is None or trace.path in paths)
    sessions = tuple(
        replace(session, conditions=conditions_of(trace.path))
        for trace in chosen
        for session in _sessions(workspace, trace, choice)
    )
    return Arm(sessions) if choice is None else Arm(sessions, choice.words, choice.method)


def _sessions(workspace: Workspace, trace: Trace, choice: RunChoice | None) -> list[Session]:
    table, rate = workspace.links(trace), workspace.clocks.rate(trace)
    ns_per_tick = float(rate.ns_per_tick)
    unit = rate.unit if rate.origin is RateOrigin.ASSUMED else "ns"
    if choice is None:
        return sessions_of(table, ns_per_tick, unit=unit)
    return sessions_of(
        table,
        ns_per_tick,
        lambda run: choice.includes(table, run),
        warm_up=choice.warm_up,
        unit=unit,
    )


def arm_problem(arm: Arm) -> str:
    """Return why the sessions of an arm are not recordings of one program; "" if they may be."""
    if not arm.sessions:
        return "there is no inference to compare"
    same: dict[object, str] = {}
    for session in arm.sessions:
        times = tuple((run.start, run.end) for run in session.runs)
        other = same.setdefault(times, session.name)
        if other != session.name:
            return f"{other} and {session.name} are the same recording"
    formats = list(dict.fromkeys(session.table.trace.format for session in arm.sessions))
    if len(formats) > 1:
        return (
            f"its profiles have different formats, {' and '.join(formats[:2])}. Compare one of them"
        )
    linked = {session.table.trace.path: session.table.program_path for session in arm.sessions}
    records = list(dict.fromkeys(path for path in linked.values() if path))
    if len(records) > 1:
        names = " and ".join(map(os.path.basename, records[:2]))
        return f"its profiles belong to different ETRecords, {names}. Compare one at a time"
    if records and None in linked.values():
        name = os.path.basename(next(path for path, record in linked.items() if record is None))
        return f"{name} is not linked to {os.path.basename(records[0])}, and others are"
    return ""


def share_programs(workspace: Workspace, other: Workspace) -> None:
    """Use the ETRecords, and the program files, of one side for the other if that has none."""
    if not any(program.methods for program in other.programs):
        for program in workspace.programs:
            other.add(program)
    if not other.executables:
        for executable in workspace.executables:
            other.add(executable)


# One session each is always one after the other.
_LEAST = 2
_NS = 1_000_000_000


def order_note(a: Arm, b: Arm) -> str:
    """Return a sentence if one arm was recorded before the other, "" if not or if not known."""
    if min(len(a.sessions), len(b.sessions)) < _LEAST:
        return ""
    of_a, of_b = ({session.table.trace.path: session for session in arm.sessions} for arm in (a, b))
    if of_a.keys() & of_b.keys():  # the inferences of one file
        return ""
    hint, (times_a, times_b) = "", _recorded(a, b)
    if times_a is None or times_b is None:
        times_a, times_b = _on_one_clock(a, b, 0), _on_one_clock(a, b, 1)
    if times_a is None or times_b is None:
        ends = {path: _modified_ns(path) for path in (*of_a, *of_b)}
        if not _may_be_recordings(ends, {**of_a, **of_b}):
            return ""
        times_a, times_b = ([ends[path] or 0 for path in sessions] for sessions in (of_a, of_b))
        hint = " This is only a hint, from the modification times of the files."
    if max(times_a) < min(times_b):
        first, last = "A", "B"
    elif max(times_b) < min(times_a):
        first, last = "B", "A"
    else:
        return ""
    return (
        f"All sessions of {first} were recorded before those of {last}, so heat or load can look "
        f"like a change. Record A and B in turn.{hint}"
    )


def _recorded(a: Arm, b: Arm) -> tuple[Sequence[float] | None, Sequence[float] | None]:
    """The order in which the sessions of each arm were recorded; None if that is not known.

    In one recording they are counted; times of day serve for several.
    """
    of_arms = [[session.conditions for session in arm.sessions] for arm in (a, b)]
    recordings = {conditions.recording for arm in of_arms for conditions in arm}
    is_counted = len(recordings) == 1 and recordings != {""}
    places = [[x.order if is_counted else x.started for x in arm] for arm in of_arms]
    of_a, of_b = ([place for place in arm if place is not None] for arm in places)
    return (of_a, of_b) if len(of_a) + len(of_b) == sum(map(len, places)) else (None, None)


def _on_one_clock(a: Arm, b: Arm, side: int) -> list[int] | None:
    """The starts of the sessions of an arm, in ns or ticks; None if not all share a clock."""
    every = [session.table.trace.clock for session in (*a.sessions, *b.sessions)]
    starts = [min(run.start for run in session.runs) for session in (b if side else a).sessions]
    if every[0].domain and all(clock == every[0] for clock in every):
        return starts
    times = [
        time_of_day_ns(session.table.trace, tick_to_ns(start, Fraction(session.ns_per_tick)))
        for session, start in zip((b if side else a).sessions, starts, strict=True)
    ]
    return None if None in times else [ns for ns in times if ns is not None]


def _modified_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def _may_be_recordings(ends: dict[str, int | None], sessions: dict[str, Session]) -> bool:
    """Whether every file was modified later than the one before, by its length at least."""
    known_ends = {path: end for path, end in ends.items() if end is not None}
    if len(known_ends) < len(ends):
        return False
    order = sorted(known_ends, key=lambda path: known_ends[path])
    for before, after in pairwise(order):
        trace = sessions[after].table.trace
        length = (trace.end - trace.start) * sessions[after].ns_per_tick
        if known_ends[after] - known_ends[before] < max(length, 1):
            return False
    return True
