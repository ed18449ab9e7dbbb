"""Makes the arms of a comparison from the profiles of workspaces."""

from __future__ import annotations

import os
from collections.abc import Collection

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import sessions_of
from viewer.workspace.workspace import Workspace


def arm_of(
    workspace: Workspace,
    numbers: Collection[int] | None = None,
    paths: Collection[str] | None = None,
) -> Arm:
    """Return the arm of the profiles of a workspace, in the order in which they were added.

    numbers: only inferences with these numbers. paths: only these profiles.
    """
    return Arm(
        tuple(
            session
            for trace in workspace.traces
            if paths is None or trace.path in paths
            for session in sessions_of(
                workspace.links(trace), float(workspace.clocks.ns_per_tick(trace)), numbers
            )
        )
    )


def arm_problem(arm: Arm) -> str:
    """Return why the sessions of an arm are not recordings of one program; "" if they are."""
    if not arm.sessions:
        return "there is no inference to compare"
    same: dict[object, str] = {}
    for session in arm.sessions:
        times = tuple((run.start, run.end) for run in session.runs)
        other = same.setdefault(times, session.name)
        if other != session.name:
            return f"{other} and {session.name} are the same recording"
    linked = {session.table.trace.path: session.table.program_path for session in arm.sessions}
    records = list(dict.fromkeys(path for path in linked.values() if path))
    if len(records) > 1:
        names = " and ".join(map(os.path.basename, records[:2]))
        return f"its profiles belong to different ETRecords, {names}. Compare one at a time"
    if records and None in linked.values():
        name = os.path.basename(next(path for path, record in linked.items() if record is None))
        return f"{name} is not linked to {os.path.basename(records[0])}, and others are"
    return ""
