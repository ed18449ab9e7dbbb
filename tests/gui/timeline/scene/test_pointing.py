"""What the mouse meets in a plan: slices of the compile profile, or the plan itself."""

import pytest
from PySide6.QtCore import QPoint

from tests.builders.torq_host_trace import EXECUTION
from tests.builders.torq_planned import LOWERED, MODEL, PROFILE, open_planned, plan_band
from tests.gui.events import LEFT, canvas, column, move, press, release
from viewer.gui.timeline.scene.texts import plan_at, plans_of, slice_at, slice_lines
from viewer.model.times import plain_spaces
from viewer.render.stacking import plan_room
from viewer.view.state import SliceRef


@pytest.fixture
def planned(harness, data):
    open_planned(harness, data / "torq", LOWERED, MODEL, PROFILE)
    return harness


def point(harness, us, lane):
    """A point of the canvas at a time, in the middle of a lane of the plans."""
    scene, band = harness.timeline.scene, plan_band(harness)
    room = plan_room(
        int(scene.layout.height[band]), len(plans_of(scene, band).lanes), scene.font_scale
    )
    y = int(scene.layout.y[band]) - scene.scroll + room.first + lane * room.lane + room.lane // 2
    return QPoint(column(harness, round(us * 1000)), y)


def slices_of_plans(harness):
    """(slice, its job, its lane, its middle in the plan in µs) of all slices wide enough to hit."""
    scene = harness.timeline.scene
    found = plans_of(scene, plan_band(harness))
    slices = harness.session.traces[1].trace.slices
    for i in range(len(slices)):
        start, end = int(slices.start[i]), int(slices.end[i])
        number = next(
            n for n, job in enumerate(found.jobs)
            if job.profile.start <= start and end <= job.profile.start + job.cycles
        )  # fmt: skip
        job = found.jobs[number]
        lane = found.lanes_of[number][job.profile.rows.index(slices.row_of(i))]
        middle = ((start + end) / 2 - job.profile.start) / 800
        if end - start > 2500:
            yield i, number, lane, int(found.start[number]) + middle


def test_every_slice_is_hit_where_its_plan_shows_it(planned):
    """In the view of the measured trace, and in the lane of its unit."""
    scene, hits = planned.timeline.scene, 0
    for i, number, lane, us in slices_of_plans(planned):
        at = point(planned, us, lane)
        view = planned.timeline.view
        assert slice_at(scene, view.canvas, at) == SliceRef(1, i)
        assert plan_at(scene, view.canvas, at).index == number
        hits += 1
    assert hits > 20


def test_a_click_selects_the_planned_slice_and_its_tip_says_that_it_is_planned(planned):
    i, _, lane, us = next(slices_of_plans(planned))
    at, session = point(planned, us, lane), planned.session
    move(canvas(planned), at)
    shown = session.traces[1]
    expected = slice_lines(shown, i, planned.timeline.scene.ns_per_pixel(canvas(planned).width()))
    assert list(planned.timeline.view.tip.lines) == [f"Planned: {expected[0]}", *expected[1:]]
    press(canvas(planned), at, LEFT)
    release(canvas(planned), at, LEFT)
    assert session.state.slice == SliceRef(1, i)


def test_elsewhere_in_a_plan_the_tip_compares_it_with_the_measured_job(planned):
    """In the hatched part, and in a lane without a slice there: job 0 uses no CDMA (lane 2)."""
    for us, lane in ((240, 0), (160, 2)):
        move(canvas(planned), point(planned, us, lane))
        assert [plain_spaces(line) for line in planned.timeline.view.tip.lines] == [
            "job 0: planned 68.8 µs (55 002 cycles at 800 MHz assumed), measured 123 µs, 1.79×",
            "tosa.conv2d@L11 + tosa.clamp@L13",
        ]


def test_between_jobs_and_beyond_them_there_is_no_plan(planned):
    scene, view = planned.timeline.scene, planned.timeline.view
    for us in (100, 600):
        at = point(planned, us, 0)
        assert plan_at(scene, view.canvas, at) is None
        assert slice_at(scene, view.canvas, at) is None
    above = QPoint(point(planned, 200, 0).x(), 0)
    assert plan_at(scene, view.canvas, above) is None


def test_of_several_jobs_in_a_column_the_drawn_one_is_hit(harness, data):
    open_planned(harness, data / "torq", LOWERED, executions=[EXECUTION] * 20)
    harness.session.set_range(0, 150_000_000, now=0.0)
    harness.settle()
    scene, view = harness.timeline.scene, harness.timeline.view
    at = point(harness, 10_467, 0)
    assert plan_at(scene, view.canvas, at).index == 7  # the last job of the second run
