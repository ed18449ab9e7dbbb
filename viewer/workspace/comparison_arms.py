"""Makes the arms of a comparison from the profiles of workspaces."""

from __future__ import annotations

from collections.abc import Collection

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import sessions_of
from viewer.workspace.workspace import Workspace


def arm_of(workspace: Workspace, numbers: Collection[int] | None = None) -> Arm:
    """Return the arm of all profiles of a workspace, in the order in which they were added.

    numbers: only inferences with these numbers.
    """
    return Arm(
        tuple(
            session
            for trace in workspace.traces
            for session in sessions_of(
                workspace.links(trace), float(workspace.clocks.ns_per_tick(trace)), numbers
            )
        )
    )
