"""What is written and said about the plans of measured NSS jobs."""

from __future__ import annotations

from viewer.analysis.torq.plans import TrackPlans
from viewer.gui.timeline.scene.job_plans import job_of, measured_ns, ratio_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.text import display_name
from viewer.model.times import counted, format_briefly, format_ratio
from viewer.model.trace import Unit
from viewer.view.open_trace import OpenTrace

TITLE = "Plan of each job"
_UNITS = {
    Unit.DMA_IN: "DMA",
    Unit.DMA_OUT: "DMA",
    Unit.CDMA: "DMA",
    Unit.SLICE: "slice units",
    Unit.CSS: "CSS",
}
_LENGTHS_ONLY = "lengths only"


def plan_title(scene: Scene, band: int) -> tuple[str, str]:
    """The title of a row of plans, and the units in it."""
    plans = plans_of(scene, band)
    names = dict.fromkeys(_UNITS[unit] for unit in plans.lanes if unit in _UNITS)
    return TITLE, ", ".join(names) or _LENGTHS_ONLY


def plan_header_tip(scene: Scene, band: int) -> str:
    """Where the plans of a row come from, and at which clock rate they are drawn."""
    lines = [TITLE]
    for job in plans_of(scene, band).jobs:
        path = job.source
        if job.profile is not None:
            path = scene.rasters[job.profile.trace].open_trace.file.path
        lines.append(f"{display_name(path)}, {job.rate.text}")
    if any(job.profile is None for job in plans_of(scene, band).jobs):
        lines.append("Plain bars: no open compile profile has slices for exactly this estimate")
    return "\n".join(dict.fromkeys(lines))


def plan_lines(plans: TrackPlans, index: int, open_trace: OpenTrace) -> list[str]:
    """The lines of the hover tip for one plan; shown: the trace of its job."""
    job = job_of(plans, index)
    lines = [
        f"{job.name}: planned {format_briefly(job.ns)} ({counted(job.cycles, 'cycle')} at "
        f"{job.rate.text}), measured {format_briefly(measured_ns(plans, index, open_trace))}, "
        f"{format_ratio(ratio_of(plans, index, open_trace))}"
    ]
    several = len({planned_job.dispatch for planned_job in plans.jobs}) > 1
    return [*lines, *filter(None, (job.label, job.dispatch if several else ""))]


def plans_of(scene: Scene, band: int) -> TrackPlans:
    """The plans in a band of plans."""
    layout = scene.layout
    return scene.plans.tracks[int(layout.trace[band]), int(layout.track[band])]
