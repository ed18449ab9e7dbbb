"""Sets of sessions: the open profiles that are recordings of one program, as one object.

Profiles are of one program if they belong to the same ETRecord, or else if the same instructions or
names ran in them. Those that ran at the same time, such as the ranks of a job, are parts of one
session.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from viewer.dataclasses import dataclass, replace
from viewer.model.trace import Trace
from viewer.workspace.clocks import time_of_day_ns
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Arm, Spread


@dataclass(frozen=True, eq=False)
class SessionSet:
    """Sessions of one program. traces: their files, in the order in which they were opened."""

    traces: tuple[Trace, ...]
    arm: Arm

    @cached_property
    def inferences(self) -> tuple[Spread, ...]:
        """What an inference takes, per method; the dearest first."""
        from viewer.analysis.comparison.arms import inference_spread

        return tuple(sorted(inference_spread(self.arm), key=lambda row: -row.median))

    @cached_property
    def operators(self) -> tuple[Spread, ...]:
        """What each operator takes in an inference; the dearest first."""
        from viewer.analysis.comparison.arms import operator_spread

        return operator_spread(self.arm)

    @property
    def text(self) -> str:
        """What it is: "7 sessions, 154 inferences"."""
        from viewer.analysis.comparison.arms import set_text

        return set_text(self.arm)


def session_sets(
    workspace: Workspace, arms: Sequence[Collection[str]] = ()
) -> tuple[SessionSet, ...]:
    """Return the sets of at least two sessions, in the order of their first files.

    arms: the paths of the profiles that are compared, which are not of one program.
    """
    groups: dict[tuple[object, ...], list[Trace]] = {}
    if len(workspace.traces) > 1:
        for trace in workspace.traces:
            arm = next((number for number, arm in enumerate(arms) if trace.path in arm), -1)
            groups.setdefault((arm, *_program_key(workspace, trace)), []).append(trace)
    sets = (_set_of(workspace, traces) for traces in groups.values() if len(traces) > 1)
    return tuple(sessions for sessions in sets if sessions is not None)


def set_with(sets: Sequence[SessionSet], trace: Trace) -> SessionSet | None:
    """Return the set that a trace is in."""
    return next((sessions for sessions in sets if trace in sessions.traces), None)


def _program_key(workspace: Workspace, trace: Trace) -> tuple[object, ...]:
    """What profiles of one program have in common."""
    from viewer.recording.run_file import conditions_of

    table = workspace.links(trace)
    recorded = conditions_of(trace.path).program
    if recorded or table.program_path is not None:
        return trace.format, table.program_path, recorded
    keys, slices = trace.keys, trace.slices
    used = np.unique(slices.key)
    scopes = [scope.name for scope in trace.scopes]
    names = frozenset(
        (scopes[scope] if instruction >= 0 else "", instruction, trace.strings[name])
        for scope, instruction, name in zip(
            keys.scope[used].tolist(),
            keys.instruction[used].tolist(),
            keys.name[used].tolist(),
            strict=True,
        )
    )
    return trace.format, names


def _set_of(workspace: Workspace, traces: Sequence[Trace]) -> SessionSet | None:
    """Return the set of profiles with one program; None if they are not several sessions."""
    from viewer.workspace.comparison_arms import arm_of, arm_problem

    arm = arm_of(workspace, paths={trace.path for trace in traces})
    arm = _without_copies(arm)
    arm = replace(
        arm, sessions=tuple(session for session in arm.sessions if not session.is_estimated)
    )
    used = {session.table.trace.path for session in arm.sessions}
    members = tuple(trace for trace in traces if trace.path in used)
    is_weighed = any(workspace.clocks.rate(trace).weight for trace in members)
    if len(members) < 2 or is_weighed or arm_problem(arm) or _ran_at_once(workspace, members):
        return None
    return SessionSet(members, arm)


def _without_copies(arm: Arm) -> Arm:
    """Leave out sessions with the times of an earlier one, which are the same recording."""
    first = {
        tuple((run.start, run.end) for run in session.runs): session
        for session in reversed(arm.sessions)
    }
    return replace(
        arm, sessions=tuple(session for session in arm.sessions if session in first.values())
    )


def _ran_at_once(workspace: Workspace, traces: Sequence[Trace]) -> bool:
    """Whether profiles that state the time of day overlap."""
    spans = []
    for trace in traces:
        rate = workspace.clocks.rate(trace).ns_per_tick
        start, end = (time_of_day_ns(trace, int(tick * rate)) for tick in (trace.start, trace.end))
        if start is not None and end is not None:
            spans.append((start, end))
    return any(second[0] < first[1] for first, second in pairwise(sorted(spans)))
