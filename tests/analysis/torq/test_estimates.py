"""Estimate beside measurement, with figures worked out by hand from the sample files."""

from fractions import Fraction
from pathlib import Path

import pytest

from tests.builders.torq_host_trace import DISPATCH, EXECUTION, host_trace, recompiled, renamed
from viewer.analysis.torq import estimates as module
from viewer.analysis.torq.estimates import Estimates, Measured, compare_estimates
from viewer.formats import open_file
from viewer.model.times import ClockRate, RateOrigin
from viewer.model.trace import Trace
from viewer.workspace.workspace import Workspace

LOWERED, MODEL = "tiny_cnn.lowered_generic.mlir", "tiny_cnn.mlir"
C2, C3 = "compile_c2_actionindex_callsite.csv", "compile_c3_taskid_mtu.csv"
# A second execution, in which the first job and the first copy took longer.
SLOWER = tuple(
    (action, event, begin, end + {2: 1, 4: 10}.get(action, 0))
    for action, event, begin, end in EXECUTION
)


@pytest.fixture
def torq(data) -> Path:
    return data / "torq"


def compared(*items: Trace | Path, cycle_ns: Fraction = Fraction(5, 4)) -> Estimates:
    space = Workspace()
    for item in items:
        space.add(item if isinstance(item, Trace) else open_file(str(item)))
    return compare_estimates(
        space.traces,
        space.dispatches,
        space.links,
        space.clocks.rate,
        ClockRate("cycle", cycle_ns, RateOrigin.ASSUMED),
    )


def jobs(made: Estimates) -> dict[int | None, tuple]:
    """job -> actions, estimate in cycles, mean of the measurement in µs, ratio."""
    return {
        row.job: (
            row.start_action, row.action, row.estimate,
            row.measured and row.measured.mean / 1000, row.ratio and round(row.ratio, 4),
        )
        for row in made.actions
        if row.job is not None
    }  # fmt: skip


def test_jobs_of_debug_info_beside_a_host_profile(torq):
    """Cycles of the tasks at 800 MHz; a job takes from its start's begin to its wait's end."""
    made = compared(host_trace(), torq / LOWERED, torq / MODEL)
    assert jobs(made) == {
        0: (3, 4, 55002, 123.0, round(123_000 / (55002 * 1.25), 4)),
        1: (5, 6, 125557 - 55002, 135.0, round(135_000 / (70555 * 1.25), 4)),
        2: (7, 8, 136048 - 125557, 60.0, round(60_000 / (10491 * 1.25), 4)),
        3: (9, 10, 166068 - 136048, 85.0, round(85_000 / (30020 * 1.25), 4)),
    }
    assert [row.action for row in made.actions] == [0, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15]
    assert {row.dispatch for row in made.actions} == {DISPATCH}
    assert made.notes == ()
    assert [gives for _, gives in made.sources] == ["estimate", "measurement"]


def test_runs_are_told_apart_and_host_work_has_no_estimate(torq):
    made = compared(host_trace([EXECUTION, SLOWER]), torq / LOWERED, torq / MODEL)
    first = next(row for row in made.actions if row.job == 0)
    assert first.measured == Measured(2, 128_000.0, 128_000.0, 123_000.0, 133_000.0)
    copy = next(row for row in made.actions if row.action == 2)
    assert copy.measured == Measured(2, 142_500.0, 142_500.0, 142_000.0, 143_000.0)
    assert (copy.estimate, copy.ratio, copy.reason) == (None, None, module.NO_HOST_CYCLES)
    assert copy.operation == "torq_hl.host_copy"


def test_operators_are_summed_over_their_actions_and_never_divided(torq):
    made = compared(host_trace([EXECUTION, SLOWER]), torq / LOWERED, torq / MODEL)
    rows = {(row.label, row.on_npu): row for row in made.operators}
    conv = rows["tosa.conv2d@L11 + tosa.clamp@L13", True]
    assert (conv.actions, conv.estimate, conv.measured.mean) == (1, 55002, 128_000.0)
    # The two copies and the two allocations of the function: by run 1 + 0 + 142 + 179 µs.
    whole = rows["func.func@L2", False]
    assert whole.actions == 4
    assert whole.measured == Measured(2, 322_500.0, 322_500.0, 322_000.0, 323_000.0)
    # What the host does of an operator is apart from the NPU's part, which alone is estimated.
    assert rows["tosa.max_pool2d@L18", True].estimate == 30020
    assert rows["tosa.max_pool2d@L18", False].reason == module.NO_HOST_CYCLES


def test_actions_of_one_set_that_ran_differently_often_have_a_mean_only(torq):
    short = tuple(event for event in EXECUTION if event[0] != 13)
    made = compared(host_trace([EXECUTION, short]), torq / LOWERED, torq / MODEL)
    whole = next(row for row in made.operators if row.label == "func.func@L2")
    assert whole.measured == Measured(1, 322_000.0, None, None, None)


def test_a_compile_profile_with_action_ids_meets_a_runtime_profile_without_debug_info(torq):
    """C2's action is the one that waits; its rows span 0 .. 47953 cycles for action 4."""
    made = compared(host_trace(), torq / C2, torq / MODEL)
    found = jobs(made)
    assert found[0] == (3, 4, 47953, 123.0, round(123_000 / (47953 * 1.25), 4))
    assert [row[:3] for row in found.values()] == [
        (3, 4, 47953), (5, 6, 101333 - 47953), (7, 8, 111824 - 101333), (9, 10, 132209 - 111824)
    ]  # fmt: skip
    labels = {row.job: row.label for row in made.actions if row.job is not None}
    assert labels[0] == "tosa.conv2d@L11"
    assert labels[1] == "tosa.depthwise_conv2d@L14 + tosa.add@L16"


def test_a_compile_profile_that_could_be_of_two_dispatches_is_of_neither(torq):
    made = compared(host_trace([EXECUTION, EXECUTION], (DISPATCH, "other")), torq / C2)
    assert {row.estimate for row in made.actions} == {None}
    assert made.notes == (
        f"{C2}: It does not name its dispatch and matches each of {DISPATCH} and other",
    )
    alone = compared(host_trace([EXECUTION[:7]]), torq / C2)
    assert alone.notes == (
        f"{C2}: It has actions that no open dispatch has: it belongs to another dispatch",
    )


def test_tasks_meet_jobs_through_debug_info_without_cycles(torq, tmp_path):
    """C3's rows of tasks 0 .. 24 span 0 .. 55002 cycles."""
    text = (torq / LOWERED).read_text().replace("-time-cycles", "-time")
    (tmp_path / LOWERED).write_text(text)
    made = compared(host_trace(), tmp_path / LOWERED, torq / C3)
    assert [row[2] for row in jobs(made).values()] == [55002, 70555, 10491, 30020]
    assert compared(host_trace(), tmp_path / LOWERED).actions[3].reason == module.NO_ESTIMATE


def test_a_row_of_no_known_unit_may_have_a_task_that_is_in_no_debug_info(torq, tmp_path):
    odd = tmp_path / C3
    odd.write_text((torq / C3).read_text() + "9999,5,60000,Teleport,loc(unknown),\n")
    made = compared(host_trace(), torq / LOWERED, odd)
    assert jobs(made) == jobs(compared(host_trace(), torq / LOWERED, torq / C3))


def test_tasks_without_debug_info_are_compared_by_operators(torq, tmp_path):
    """The union of all units' rows: the cast's CDMA and CSS rows lie end to end."""
    places = tmp_path / "jobs.csv"
    places.write_text(
        "id;time_since_open;time_since_start;location\n"
        '2;100;60;loc(callsite("tiny_cnn.mlir":15:10 at "tiny_cnn.mlir":2:3))\n'
    )
    made = compared(places, torq / C3, torq / MODEL)
    cast = next(row for row in made.operators if row.label == "tosa.cast@L15")
    assert (cast.estimate, cast.measured.mean) == (10491, 60_000.0)
    assert cast.ratio == pytest.approx(60_000 / (10491 * 1.25))
    (note,) = made.notes
    assert note == (
        f"{C3}: It numbers tasks, and only debug info assigns tasks to actions: it is compared by "
        f"operators only"
    )
    assert "it is not compared" in compared(host_trace(), torq / C3).notes[0]


def test_two_compilations_of_one_dispatch_are_not_added(torq):
    """As when both are open to see which is better: neither takes the sum of both."""
    first, second = C3, "compile_c3_taskid.csv"
    both = compared(torq / "host_h1_quoted.csv", torq / first, torq / second, torq / MODEL)
    alone = compared(torq / "host_h1_quoted.csv", torq / first, torq / MODEL)
    assert both.operators == alone.operators
    assert [path for path, gives in both.sources if gives == "estimate"] == [str(torq / first)]
    assert f"{second}: Operators in an earlier compile profile use its estimates" in (both.notes)


def test_the_rate_of_cycles_is_the_one_in_force(torq):
    slow = compared(host_trace(), torq / LOWERED, cycle_ns=Fraction(10))
    row = next(row for row in slow.actions if row.job == 0)
    assert (row.estimate, row.estimate_ns, slow.cycles.ns_per_tick) == (55002, 550_020.0, 10)


def test_estimates_of_a_dispatch_that_did_not_run_say_so(torq, tmp_path):
    other = renamed(torq / LOWERED, tmp_path, "main_dispatch_7")
    made = compared(host_trace(), other)
    by_dispatch = {(row.dispatch, row.job): row.reason for row in made.actions if row.job == 0}
    assert by_dispatch == {
        ("main_dispatch_7", 0): module.NOT_MEASURED, (DISPATCH, 0): module.NO_ESTIMATE
    }  # fmt: skip
    assert made.notes == (
        f"host.csv: The open debug info is for main_dispatch_7, but this ran in {DISPATCH}",
    )


def test_estimates_of_another_compilation_are_beside_no_measurement(torq, tmp_path):
    made = compared(host_trace(), recompiled(torq / LOWERED, tmp_path), torq / MODEL)
    assert [(row.dispatch, row.ratio) for row in made.actions if row.estimate is not None] == [
        (DISPATCH, None)
    ] * 4
    measured = [row for row in made.actions if row.measured is not None]
    assert {row.dispatch for row in measured} == {f"{DISPATCH} (another compilation)"}
    assert [row.action for row in measured] == [0, 1, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15]
    (note,) = made.notes
    assert note.endswith("it is from another compilation")


def test_an_annotated_profile_without_files_in_its_positions_meets_its_debug_info(torq):
    """The rows of A3 are those of the host profile that it was made of."""
    made = compared(torq / "annotated_a3_latest.csv", torq / LOWERED, torq / MODEL)
    assert (
        made.actions == compared(torq / "host_h4_latest.csv", torq / LOWERED, torq / MODEL).actions
    )


def test_an_annotated_profile_of_several_dispatches_is_not_mixed_up(torq, tmp_path):
    """Both number from 0 and neither is named: the mean of a copy and an allocation is of none."""
    path = tmp_path / "annotated.csv"
    header = (torq / "annotated_a3_latest.csv").read_text().partition("\n")[0]
    rows = [
        "0;;memref.alloc;;;1;;;;;;;1000;1001;@L2C3",
        "0;;torq_hl.host_copy;;;50;;;;;;;2001;2051;@L18C10",
    ]
    path.write_text("\n".join([header, *rows, ""]))
    made = compared(path, torq / MODEL)
    assert made.actions == ()
    assert made.notes == (
        "annotated.csv: It has actions of several dispatches but does not name the dispatch: "
        "action 0 is memref.alloc @L2C3 and torq_hl.host_copy @L18C10",
    )
    path.write_text("\n".join([header, rows[0], rows[0].replace(";100", ";300"), ""]))
    (row,) = compared(path, torq / MODEL).actions
    assert (row.action, row.measured.runs) == (0, 2)


def test_profiles_of_other_runtimes_and_nothing_at_all_give_no_rows(data):
    assert compared().actions == ()
    assert compared(data / "etdump" / "cnn_portable_x1.etdp").actions == ()
