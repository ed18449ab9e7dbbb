"""Plans of measured jobs: every one is as long as the estimate that the job is compared with."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.builders.torq_host_trace import DISPATCH, EXECUTION, host_trace, recompiled
from viewer.analysis.torq.measured_actions import plans_of_tracks
from viewer.formats import open_file
from viewer.model.times import plain_spaces
from viewer.model.trace import Trace, Unit
from viewer.workspace.snapshot import shared_estimates
from viewer.workspace.workspace import Workspace

LOWERED, MODEL = "tiny_cnn.lowered_generic.mlir", "tiny_cnn.mlir"
C2, C3 = "compile_c2_actionindex_callsite.csv", "compile_c3_taskid_mtu.csv"
CYCLES = [55002, 70555, 10491, 30020]


@pytest.fixture
def torq(data) -> Path:
    return data / "torq"


def opened(*items: Trace | Path) -> Workspace:
    space = Workspace()
    for item in items:
        space.add(item if isinstance(item, Trace) else open_file(str(item)))
    return space


def planned(space: Workspace):
    """The estimates, and the plans of the only track that has some."""
    made = shared_estimates(space)
    (plans,) = plans_of_tracks(made.plans, space.traces).values()
    return made, plans


@pytest.mark.parametrize("profile", [C2, C3, None])
def test_every_plan_is_as_long_as_the_estimate_of_its_row(torq, profile):
    """Also with debug info and a compile profile together, or with debug info alone."""
    for texts in ([LOWERED, MODEL], [LOWERED], [MODEL]):
        if profile is None and LOWERED not in texts:
            continue
        files = [torq / name for name in [*texts, *([profile] if profile else [])]]
        space = opened(host_trace([EXECUTION, EXECUTION]), *files)
        made = shared_estimates(space)
        rows = {f"job {row.job}": row for row in made.actions if row.job is not None}
        for job in made.plans:
            row = rows[job.name]
            assert (job.cycles, job.ns) == (row.estimate, row.estimate_ns)
            assert (job.dispatch, job.label) == (row.dispatch, row.label)
            assert sum(len(one.start) for one in job.executions) == row.measured.runs
            if job.profile is not None:
                slices = space.traces[job.profile.trace].slices
                own = np.isin(slices.rows(), job.profile.rows)
                own &= (slices.start >= job.profile.start) & (
                    slices.start < job.profile.start + job.cycles
                )
                assert slices.start[own].min() == job.profile.start
                assert slices.end[own].max() - job.profile.start == row.estimate
        estimated = [row for row in rows.values() if row.estimate is not None]
        assert len(made.plans) == len(estimated) == (0 if profile == C3 and texts == [MODEL] else 4)


def test_every_run_of_a_job_has_its_plan(torq):
    """Four jobs in each of three runs, on the only track of jobs, in order of start."""
    space = opened(host_trace([EXECUTION] * 3), torq / LOWERED, torq / C3)
    _, plans = planned(space)
    assert (plans.trace, space.traces[0].tracks[plans.track].unit) == (0, Unit.NSS)
    assert [plans.jobs[job].name for job in plans.job.tolist()] == [
        "job 0", "job 1", "job 2", "job 3",
    ] * 3  # fmt: skip
    one = np.array([146, 270, 406, 467])
    assert plans.start.tolist() == np.concatenate([one, one + 10_000, one + 20_000]).tolist()
    assert (plans.end - plans.start)[:4].tolist() == [123, 135, 60, 85]
    assert [job.cycles for job in plans.jobs] == CYCLES


def test_units_share_lanes_in_all_plans(torq):
    _, plans = planned(opened(host_trace(), torq / LOWERED, torq / C3))
    assert plans.lanes == (
        Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.SLICE, Unit.CSS,
    )  # fmt: skip
    # The cast uses CDMA and CSS alone.
    assert plans.lanes_of[2] == (2, 5)
    assert plans.jobs[2].profile.rows == (2, 5)


def test_a_compile_profile_of_another_length_gives_no_slices(torq):
    """C2's rows of job 0 span 47953 cycles, but the debug info says 55002, which is in effect."""
    made, plans = planned(opened(host_trace(), torq / LOWERED, torq / C2))
    assert [job.cycles for job in made.plans] == CYCLES
    # The cast has the same cycles in both.
    assert [job.name for job in made.plans if job.profile is not None] == ["job 2"]
    assert {Path(job.source).name for job in made.plans} == {LOWERED}
    assert plans.lanes == (Unit.CDMA, Unit.CSS)


def test_slices_that_others_overlap_are_not_drawn_as_a_plan(torq, tmp_path):
    """A row without a task runs in the DMA during job 1: it is not part of its plan."""
    odd = tmp_path / C3
    odd.write_text((torq / C3).read_text() + "-1,5,80000,DMA In,loc(unknown),\n")
    made, _ = planned(opened(host_trace(), torq / LOWERED, odd))
    named = {job.name: job.profile is not None for job in made.plans}
    assert named == {"job 0": True, "job 1": False, "job 2": True, "job 3": True}


def test_only_debug_info_gives_lengths_without_slices(torq):
    _, plans = planned(opened(host_trace(), torq / LOWERED))
    assert plans.lanes == ()
    assert [job.profile for job in plans.jobs] == [None] * 4
    assert [job.cycles for job in plans.jobs] == CYCLES


def test_what_does_not_match_without_doubt_has_no_plan(torq, tmp_path):
    other = shared_estimates(opened(host_trace(), recompiled(torq / LOWERED, tmp_path)))
    assert other.plans == ()
    either = shared_estimates(
        opened(host_trace([EXECUTION, EXECUTION], (DISPATCH, "other")), torq / C2)
    )
    assert either.plans == ()
    assert shared_estimates(opened(torq / LOWERED, torq / C3)).plans == ()


def test_plans_follow_a_chosen_clock_rate(torq):
    space = opened(host_trace(), torq / LOWERED, torq / C3)
    space.set_clock(space.traces[1].path, Fraction(10))
    made, _ = planned(space)
    assert [job.ns for job in made.plans] == [cycles * 10.0 for cycles in CYCLES]
    assert {plain_spaces(job.rate.text) for job in made.plans} == {"100 MHz chosen"}
    assert all(job.profile is not None for job in made.plans)


def test_plans_of_one_dispatch_are_not_those_of_another(torq):
    """Both dispatches ran, but the debug info is of the first alone."""
    space = opened(host_trace([EXECUTION, EXECUTION], (DISPATCH, "other")), torq / LOWERED)
    _, plans = planned(space)
    assert plans.start.tolist() == [146, 270, 406, 467]
    assert {job.dispatch for job in plans.jobs} == {DISPATCH}
