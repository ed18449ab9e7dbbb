"""Which plans the timeline has, and the columns that they take."""

from fractions import Fraction

import numpy as np
import pytest

from tests.builders.torq_host_trace import EXECUTION, host_trace
from tests.builders.torq_planned import CYCLES, JOBS, LOWERED, PROFILE, open_planned, plan_band
from viewer.formats import open_file
from viewer.gui.session import clocks
from viewer.gui.session.choices import arrange_tracks, toggle_part
from viewer.gui.timeline.scene import drawings
from viewer.gui.timeline.scene.drawings import narrow_rooms, rooms_of, wide_rooms
from viewer.model.inference_views import Inferences
from viewer.render.layout import BandKind
from viewer.render.time_axis import XMap


@pytest.fixture
def torq(data):
    return data / "torq"


def plans(harness):
    (found,) = harness.timeline.scene.plans.tracks.values()
    return found


def view(harness, columns, t0=0, t1=1_200_000):
    return XMap(t0, t1, columns).on(harness.session.traces[0].axis)


def rooms(found):
    parts = (found.index, found.first, found.planned, found.measured, found.last)
    return list(zip(*(part.tolist() for part in parts), strict=True))


def test_a_plan_takes_the_columns_from_the_start_of_its_job_to_the_planned_end(harness, torq):
    """One column is 1 µs: job 0 runs from 146 to 269, and 55002 cycles at 800 MHz are 68.75 µs."""
    open_planned(harness, torq, LOWERED, PROFILE)
    found = wide_rooms(plans(harness), view(harness, 1200), 6)
    ends = [int(start + cycles / 800) for (start, _), cycles in zip(JOBS, CYCLES, strict=True)]
    assert rooms(found) == [
        (i, start, planned, end, end)
        for i, ((start, end), planned) in enumerate(zip(JOBS, ends, strict=True))
    ]
    assert found.next.tolist() == [270, 406, 467, 1200]


def test_plans_rescale_with_a_chosen_clock_rate_and_end_where_the_next_job_starts(harness, torq):
    """At 400 MHz, the plan of job 0 takes 137.5 µs, more than its job and than the room for it."""
    open_planned(harness, torq, LOWERED, PROFILE)
    clocks.set_clock(harness.session, 1, Fraction(5, 2))
    harness.settle()
    found = rooms(rooms_of(plans(harness), np.arange(4), view(harness, 1200)))
    assert found[0] == (0, 146, 283, 269, 270)
    assert found[3] == (3, 467, 542, 552, 552)


def test_debug_info_alone_has_its_own_rate(harness, torq):
    open_planned(harness, torq, LOWERED)
    clocks.set_clock(harness.session, None, Fraction(5, 2))
    harness.settle()
    assert rooms(rooms_of(plans(harness), np.arange(1), view(harness, 1200)))[0][2] == 283


@pytest.mark.parametrize("first", [0, 1])
def test_the_files_may_be_opened_in_any_order(harness, torq, first):
    items = [host_trace(), open_file(str(torq / PROFILE))]
    harness.session.add([open_file(str(torq / LOWERED)), items[first]])
    harness.settle()
    alone = harness.timeline.scene.plans.tracks
    assert [found.lanes for found in alone.values()] == ([()] if first == 0 else [])
    harness.session.add([items[1 - first]])
    harness.settle()
    assert (plans(harness).trace, len(plans(harness).lanes)) == (first, 6)
    assert plans(harness).jobs[0].profile.trace == 1 - first


def test_plans_end_with_the_files_that_they_come_from(harness, torq):
    open_planned(harness, torq, LOWERED, PROFILE)
    harness.session.close_all()
    harness.settle()
    scene = harness.timeline.scene
    assert scene.plans.tracks == {}
    assert not (scene.layout.kind == BandKind.PLAN).any()
    harness.session.add([host_trace(), open_file(str(torq / LOWERED))])
    harness.settle()
    assert plans(harness).lanes == ()
    assert plan_band(harness) >= 0


def test_only_inferences_as_they_ran_have_plans(harness, torq):
    harness.open_sample("torq_npu")
    assert plan_band(harness) >= 0
    harness.session.show_inferences(Inferences.ALIGNED)
    harness.settle()
    assert plan_band(harness) < 0
    harness.session.show_inferences(Inferences.AS_RUN)
    harness.settle()
    assert plan_band(harness) >= 0


def test_plans_fold_and_hide_and_are_pinned_with_their_track(harness, torq):
    open_planned(harness, torq, LOWERED, PROFILE)
    session, scene = harness.session, harness.timeline.scene
    part = plans(harness).trace, plans(harness).track
    toggle_part(session, part)
    assert plan_band(harness) < 0
    toggle_part(session, part)
    arrange_tracks(session, session.state.tracks.pinned_or_not(part))
    assert 0 < plan_band(harness) < scene.layout.pinned
    arrange_tracks(session, session.state.tracks.without(part))
    assert plan_band(harness) < 0


def test_plans_of_large_traces_arrive_from_a_thread(harness, torq, monkeypatch):
    monkeypatch.setattr(drawings, "AT_ONCE", 0)
    open_planned(harness, torq, LOWERED, PROFILE)
    assert len(plans(harness).start) == 4
    assert plan_band(harness) >= 0


def test_narrow_jobs_are_found_by_column_not_by_job(harness, torq):
    """1000 runs of four jobs on 100 columns: at most one room per column."""
    open_planned(harness, torq, LOWERED, executions=[EXECUTION] * 40)
    found, here = plans(harness), view(harness, 100, 0, 400_000_000)
    wide = wide_rooms(found, here, 6)
    narrow = narrow_rooms(found, here, wide.index)
    assert len(wide.index) == 0
    assert np.unique(narrow.first).tolist() == narrow.first.tolist()
    # Of the jobs of one run, which start in one column, the last.
    assert narrow.index.tolist() == [4 * run + 3 for run in range(40)]
    assert (narrow.planned == narrow.first + 1).all()


@pytest.mark.parametrize("columns", [7, 50, 333, 1200, 5000])
@pytest.mark.parametrize("window", [(0, 1_200_000), (200_000, 470_000), (300_001, 300_009)])
def test_wide_rooms_are_those_of_a_plain_search(harness, torq, columns, window):
    open_planned(harness, torq, LOWERED, executions=[EXECUTION] * 3)
    found, here = plans(harness), view(harness, columns, *window)
    every = rooms_of(found, np.arange(len(found.start)), here)
    wide = every.last - every.first >= 6
    from_left = (found.start < here.edges[0]) & (every.last > 0)
    # Of the rooms that start before the view, only the last can reach into it.
    assert wide_rooms(found, here, 6).index.tolist() == np.flatnonzero(wide | from_left).tolist()
