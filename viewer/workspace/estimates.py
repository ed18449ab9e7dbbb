"""Compares Torq compiler estimates and measurements across everything that is open. No Qt."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from viewer.analysis.torq.measured_actions import ASSUMED_CYCLES
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.torq.estimates import Estimates


def of_workspace(workspace: Workspace) -> Estimates:
    """Return the comparison of everything that is open."""
    return of_snapshot(Snapshot.of(workspace))


_computing = Lock()
_shared: WeakKeyDictionary[Workspace, Estimates] = WeakKeyDictionary()


def shared_estimates(workspace: Workspace) -> Estimates:
    """Return the comparison of a workspace that does not change any more; computed once.

    Several threads may ask, for several panels.
    """
    with _computing:
        workspace_estimates = _shared.get(workspace)
        if workspace_estimates is None:
            workspace_estimates = _shared[workspace] = of_workspace(workspace)
        return workspace_estimates


def of_snapshot(opened: Snapshot) -> Estimates:
    """Return the comparison of everything that was open at one moment."""
    from viewer.analysis.torq.estimates import compare_estimates

    linked = {linked_trace.trace: linked_trace for linked_trace in opened.traces}
    return compare_estimates(
        tuple(linked),
        opened.dispatches,
        lambda trace: linked[trace].table,
        lambda trace: linked[trace].rate,
        opened.cycle_rate or ASSUMED_CYCLES,
    )
