"""Makes the arms of a comparison from the profiles of workspaces."""

from __future__ import annotations

import os
from collections.abc import Collection

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import Session, sessions_of
from viewer.model.times import RateOrigin
from viewer.model.trace import Trace
from viewer.workspace.run_choice import RunChoice
from viewer.workspace.workspace import Workspace


def arm_of(
    workspace: Workspace,
    choice: RunChoice | None = None,
    paths: Collection[str] | None = None,
) -> Arm:
    """Return the arm of the profiles of a workspace, in the order in which they were added.

    choice: only some of their inferences. paths: only these profiles.
    """
    own = (trace for trace in workspace.traces if paths is None or trace.path in paths)
    sessions = tuple(session for trace in own for session in _sessions(workspace, trace, choice))
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


def share_programs(one: Workspace, other: Workspace) -> None:
    """Use the ETRecords, and the program files, of one side for the other if that has none."""
    if not any(program.methods for program in other.programs):
        for program in one.programs:
            other.add(program)
    if not other.executables:
        for executable in one.executables:
            other.add(executable)
