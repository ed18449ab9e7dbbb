"""The plans of measured NSS jobs below their tracks, and where each plan is on the canvas.

A plan starts where its job starts and has the time scale of the job. Above 20,000 slices, the jobs
and their estimates are matched in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.torq.plans import TrackPlans
from viewer.arrays import Ints
from viewer.gui.qt.background import Latest
from viewer.gui.session.session import Session
from viewer.render.axis.xmap import XMap
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.torq.plans import PlannedJob


Tracks = Mapping[tuple[int, int], TrackPlans]  # by (trace, track)


class JobPlans(QObject):
    """The plans of all open traces; `changed` when they arrive from a thread."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.tracks: Tracks = {}
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)

    @property
    def lanes(self) -> dict[tuple[int, int], int]:
        """The number of lanes in the plans of each track that has some."""
        return {part: len(plans.lanes) for part, plans in self.tracks.items()}

    def show(self) -> None:
        """Update the plans to the session's traces; for large ones, they arrive later.

        Traces with aligned or averaged inferences have no plans.
        """
        from viewer.analysis.torq.measured_actions import source_of

        self._latest.cancel()
        self.tracks = {}
        traces = self._session.workspace.traces
        if all(source_of(trace) is None for trace in traces):
            return
        if sum(len(trace.slices) for trace in traces) <= AT_ONCE:
            self.tracks = self._displayed(_plans(self._session.workspace))
        else:
            self._latest.submit(_plans, self._session.workspace)

    @Slot(object)
    def _take(self, tracks: Tracks) -> None:
        self.tracks = self._displayed(tracks)
        self.changed.emit()

    def _displayed(self, tracks: Tracks) -> Tracks:
        """The plans of the traces that are displayed as they ran."""
        opened = self._session.traces
        return {
            part: plans
            for part, plans in tracks.items()
            if part[0] < len(opened) and opened[part[0]].trace is opened[part[0]].file
        }


def _plans(space: Workspace) -> Tracks:
    from viewer.analysis.torq.plans import plans_of_tracks
    from viewer.workspace.estimates import shared_estimates

    return plans_of_tracks(shared_estimates(space).plans, space.traces)


@dataclass(frozen=True, slots=True, eq=False)
class PlanRooms:
    """Executions with their columns: from the start of the job to the end of job and plan.

    index: which executions. first: the column of the start. planned, measured: the columns in which
    plan and job end. last: where the room ends: at the later of the two, but not after the start of
    the next job. next: the column of that start. All are clipped to the view.
    """

    index: Ints
    first: Ints
    planned: Ints
    measured: Ints
    last: Ints
    next: Ints


def rooms_of(plans: TrackPlans, index: Ints, here: XMap) -> PlanRooms:
    """The columns of some executions; here: the view in ticks of their trace."""
    start, end = plans.start[index], plans.end[index]
    per_column = float(here.ticks_per_pixel * here.axis.ns_per_tick)
    planned = here.x_of(start) + plans.ns_of_jobs[plans.job[index]] / per_column
    first, measured = here.pixel_of(start), here.end_pixel_of(end)
    after = np.full(len(index), here.width, np.int64)
    is_last = index + 1 >= len(plans.start)
    after[~is_last] = here.pixel_of(plans.start[index[~is_last] + 1])
    # A plan takes a column at least, as a slice does.
    columns = np.clip(planned, 0, here.width).astype(np.int64)
    columns = np.minimum(np.maximum(columns, np.where(planned > 0, first + 1, 0)), here.width)
    measured = np.minimum(np.maximum(measured, first + (start >= here.edges[0])), here.width)
    return PlanRooms(
        index, first, columns, measured, np.minimum(np.maximum(columns, measured), after), after
    )


def wide_rooms(plans: TrackPlans, here: XMap, least: int) -> PlanRooms:
    """All rooms of at least `least` visible columns, and one that reaches in from the left.

    There are at most width / (least - 1) + 1, found without a look at the others.
    """
    probes = here.edges[np.arange(0, here.width, max(least - 1, 1))]
    near = np.unique(np.searchsorted(plans.start, probes, side="right") - 1)
    plan_rooms = rooms_of(plans, near[near >= 0], here)
    from_left = plans.start[plan_rooms.index] < here.edges[0]
    wide = plan_rooms.last - plan_rooms.first >= np.where(from_left, 1, least)
    return PlanRooms(
        plan_rooms.index[wide],
        plan_rooms.first[wide],
        plan_rooms.planned[wide],
        plan_rooms.measured[wide],
        plan_rooms.last[wide],
        plan_rooms.next[wide],
    )


def narrow_rooms(plans: TrackPlans, here: XMap, wide: Ints) -> PlanRooms:
    """The last room that starts in each column, without the wide ones: at most one per column."""
    bounds = np.searchsorted(plans.start, here.edges)
    last = bounds[1:][np.diff(bounds) > 0] - 1
    return rooms_of(plans, last[~np.isin(last, wide)], here)


def zero_of(plans: TrackPlans, index: int, open_trace: OpenTrace) -> Fraction:
    """The exact time of tick 0 of the compile profile in a plan, in ns of the job's axis.

    open_trace: the trace of the measured job, which has a profile.
    """
    job = plans.jobs[int(plans.job[index])]
    assert job.profile is not None
    start = int(plans.start[index]) * open_trace.axis.ns_per_tick + open_trace.axis.offset_ns
    return start - job.profile.start * job.rate.ns_per_tick


def ratio_of(plans: TrackPlans, index: int, open_trace: OpenTrace) -> float:
    """The measured time of an execution divided by the planned one."""
    return measured_ns(plans, index, open_trace) / job_of(plans, index).ns


def measured_ns(plans: TrackPlans, index: int, open_trace: OpenTrace) -> float:
    """The measured time of an execution."""
    ticks = int(plans.end[index]) - int(plans.start[index])
    return float(ticks * open_trace.axis.ns_per_tick)


def job_of(plans: TrackPlans, index: int) -> PlannedJob:
    """The job of an execution."""
    return plans.jobs[int(plans.job[index])]
