"""What is drawn at a point of the canvas: a slice, or the plan of a job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPoint

from viewer.analysis.torq.plans import TrackPlans
from viewer.gui.timeline.scene.job_plans import job_of, rooms_of, zero_of
from viewer.gui.timeline.scene.plan_texts import plans_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.render.layout import BandKind
from viewer.render.stacking import plan_room
from viewer.view.state import SliceRef

_MARK_REACH = 6  # px around a zero-length mark within which a click hits it


@dataclass(frozen=True, slots=True, eq=False)
class PointedPlan:
    """An execution whose plan is at a point, and the slice of the compile profile there."""

    plans: TrackPlans
    index: int
    slice: SliceRef | None


def slice_at(scene: Scene, canvas: Canvas, point: QPoint) -> SliceRef | None:
    """The slice drawn at a point of the canvas, None if there is none."""
    layout = scene.layout
    band = layout.band_at(point.y() + scene.scroll)
    if band >= 0 and layout.kind[band] == BandKind.PLAN:
        plan = plan_at(scene, canvas, point)
        return None if plan is None else plan.slice
    if band < 0 or layout.trace[band] < 0 or layout.row[band] < 0:
        return None
    trace = int(layout.trace[band])
    drawn = scene.rasters[trace]
    here = scene.xmap(canvas.columns).on(drawn.open_trace.axis)
    row, column = int(layout.row[band]), canvas.column(point.x())
    if layout.kind[band] == BandKind.STRIP:
        marks = drawn.raster.zero_marks(row, here)
        if len(marks.x) == 0:
            return None
        distance = abs(marks.x - column)
        nearest = int(distance.argmin())
        is_near = distance[nearest] <= canvas.device(_MARK_REACH)
        return SliceRef(trace, int(marks.first[nearest])) if is_near else None
    index = drawn.raster.hit(row, column, here)
    return SliceRef(trace, index) if index >= 0 else None


def plan_at(scene: Scene, canvas: Canvas, point: QPoint) -> PointedPlan | None:
    """The plan at a point of the canvas with its slice there, None if there is none."""
    layout = scene.layout
    band = layout.band_at(point.y() + scene.scroll)
    if band < 0 or layout.kind[band] != BandKind.PLAN:
        return None
    plans, xmap = plans_of(scene, band), scene.xmap(canvas.columns)
    open_trace, column = scene.rasters[plans.trace].open_trace, int(canvas.column(point.x()))
    here = xmap.on(open_trace.axis)
    if not 0 <= column < here.width:
        return None
    # The last job that starts before the next column: of several in one column, the drawn one.
    index = int(np.searchsorted(plans.start, here.edges[column + 1])) - 1
    if index < 0:
        return None
    rooms = rooms_of(plans, np.array([index]), here)
    first, last, planned = (int(part[0]) for part in (rooms.first, rooms.last, rooms.planned))
    if not first <= column < max(last, first + 1):
        return None
    profile = job_of(plans, index).profile
    if profile is None or column >= planned:
        return PointedPlan(plans, index, None)
    room = plan_room(int(layout.height[band]), len(plans.lanes), scene.font_scale)
    line = point.y() + scene.scroll - int(layout.y[band]) - room.first
    lane = line // room.lane
    lanes = plans.lanes_of[int(plans.job[index])]
    if line >= room.lane * len(plans.lanes) or lane not in lanes:
        return PointedPlan(plans, index, None)
    rate = job_of(plans, index).rate.ns_per_tick
    moved = here.gap_before(int(plans.start[index]))
    x_map = xmap.part(first, planned, rate, zero_of(plans, index, open_trace) + moved)
    raster = scene.rasters[profile.trace].raster
    hit = raster.hit(profile.rows[lanes.index(lane)], column - first, x_map)
    ref = SliceRef(profile.trace, hit) if hit >= 0 else None
    return PointedPlan(plans, index, ref)
