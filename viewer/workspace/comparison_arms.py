"""Makes the arms of a comparison from the profiles of workspaces, and finds their order.

If all sessions of one arm were recorded before all of the other, heat, or whatever else changed
meanwhile, may look like a change of the program. Profiles on one clock, those that state the time
of day, and those that `opscope record` made state their order. Another ETDump does not: it has no
date, and the clock of its runtime starts with the process or the device. The modification time of
its file is a hint only, as copying changes it. It is taken if a recording fits between each file
and the one before, which copies of files do not leave room for.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import Session, sessions_of
from viewer.model.times import RateOrigin, tick_to_ns
from viewer.model.trace import Trace
from viewer.recording.run_file import conditions_of
from viewer.workspace.run_choice import RunChoice
from viewer.workspace.shared_clocks import time_of_day_ns
from viewer.workspace.workspace import Workspace


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
