"""A Torq host profile with the plans of its jobs, on a timeline."""

from pathlib import Path

import numpy as np

from tests.builders.torq_host_trace import EXECUTION, host_trace
from tests.gui.timeline_harness import TimelineHarness
from viewer.formats import open_file
from viewer.render.layout import BandKind

LOWERED, MODEL = "tiny_cnn.lowered_generic.mlir", "tiny_cnn.mlir"
PROFILE = "compile_c3_taskid_mtu.csv"
# µs at which the jobs start and end, and cycles of their plans.
JOBS = ((146, 269), (270, 405), (406, 466), (467, 552))
CYCLES = (55002, 70555, 10491, 30020)


def open_planned(
    harness: TimelineHarness, torq: Path, *names: str, executions=(EXECUTION,)
) -> None:
    """Open a host profile as trace 0 and files from the folder; show from 0 to 700 µs."""
    items = [host_trace(executions), *(open_file(str(torq / name)) for name in names)]
    harness.session.add(items)
    harness.window.resize(1400, 900)
    harness.settle()
    harness.session.set_range(0, 700_000)
    harness.settle()


def plan_band(harness: TimelineHarness) -> int:
    """The band of plans below the jobs of trace 0, -1 if there is none."""
    timeline = harness.timeline
    scene = timeline.scene_of(0) if harness.session.traces else timeline.scene
    found = np.flatnonzero(scene.layout.kind == BandKind.PLAN)
    return int(found[0]) if len(found) else -1
