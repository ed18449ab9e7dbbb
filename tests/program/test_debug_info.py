"""Actions, jobs and tasks of a lowered dispatch, against what Torq's own tool made of the text."""

import re
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.model.trace import Unit
from viewer.program.mlir.locations import LocationAliases
from viewer.program.mlir.operations import OperationReader
from viewer.program.program import Dispatch, UnitWork
from viewer.program.torq_debug_info import read_dispatches

# The tracks of the reference's "NPU Task Breakdown" and the units that they are.
TRACKS = {
    "NDMA In": (Unit.DMA_IN, 0), "NDMA Out": (Unit.DMA_OUT, 0), "CDMA": (Unit.CDMA, 0),
    "Slice 0": (Unit.SLICE, 0), "Slice 1": (Unit.SLICE, 1), "CSS": (Unit.CSS, 0),
}  # fmt: skip


def parsed(text: str) -> tuple[tuple[Dispatch, ...], dict[str, int]]:
    """The dispatches of a text, and its problems by kind."""
    lines = text.split("\n")
    reader = OperationReader(lines)
    found, problems = read_dispatches("d.mlir", list(reader), reader, LocationAliases(lines))
    return found, {p.kind: p.count for p in problems}


@pytest.fixture(scope="module")
def dispatch(request) -> Dispatch:
    folder = DATA / "torq"
    (found,), problems = parsed((folder / "tiny_cnn.lowered_generic.mlir").read_text())
    assert problems == {}
    return found


def reference(data: Path, name: str, process: str) -> dict[str, list[tuple[int, int, str]]]:
    """Track -> (start, end, name) in ns, as the reference converter drew them."""
    found = defaultdict(list)
    for line in (data / "torq" / "reference_head" / name).read_text().splitlines()[1:]:
        own, track, start, end, slice_name = line.split("\t")[:5]
        if own == process:
            found[track].append((int(start), int(end), slice_name))
    return found


def work_of(dispatch: Dispatch) -> dict[tuple[Unit, int], list[UnitWork]]:
    found = defaultdict(list)
    for task in dispatch.tasks.values():
        for work in task.work:
            found[work.unit, work.number].append(work)
    return {unit: sorted(works, key=lambda w: w.start) for unit, works in found.items()}


def test_every_task_is_where_the_reference_has_it(data, dispatch):
    drawn = reference(data, "compile.slices.tsv", "NPU Task Breakdown")["NSS CFG Tasks"]
    assert len(drawn) == len(dispatch.tasks) == 45
    for start, end, name in drawn:
        task = dispatch.tasks[int(re.search(r"Task: (\d+)", name)[1])]
        # The reference has 800 MHz and cuts off what is no whole ns.
        assert (task.start * 5 // 4, task.end * 5 // 4) == (start, end)


def test_every_piece_of_work_is_where_the_reference_has_it(data, dispatch):
    drawn = reference(data, "compile.slices.tsv", "NPU Task Breakdown")
    works = work_of(dispatch)
    assert set(works) == set(TRACKS.values())
    for track, unit in TRACKS.items():
        busy = [row for row in drawn[track] if row[2] != "WAITING"]
        waiting = [row for row in drawn[track] if row[2] == "WAITING"]
        # The reference cuts the duration on its own, then adds it.
        ready = [w.start * 5 // 4 + (w.ready - w.start) * 5 // 4 for w in works[unit]]
        begin = [w.start * 5 // 4 for w in works[unit]]
        end = [w.end * 5 // 4 for w in works[unit]]
        assert [row[:2] for row in busy] == list(zip(begin, ready, strict=True))
        assert [row[:2] for row in waiting] == list(zip(ready, end, strict=True))
        if unit[0] is Unit.SLICE:
            assert [f"Slice Program | {w.details}" for w in works[unit]] == [n for *_, n in busy]


def test_every_job_is_where_the_reference_has_it(data, dispatch):
    drawn = reference(data, "compile.slices.tsv", "Host")["NSS Programs"]
    assert len(drawn) == len(dispatch.jobs) == 4
    for (start, end, name), job in zip(drawn, dispatch.jobs.values(), strict=True):
        assert (job.start * 5 // 4, job.end * 5 // 4) == (start, end)
        assert f"Nss Program | {job.name} |" in name
        assert name.endswith(
            f"Job: {job.id} | Start Action: {job.start_action} | Wait Action: {job.wait_action}"
        )


def test_estimates_at_100_mhz_beside_a_run_are_those_of_the_reference(data, dispatch):
    """There every job begins where the run had it, so all is relative to its first task."""
    drawn = reference(data, "trace.slices.tsv", "NPU Task Breakdown")
    runs = {
        int(re.search(r"Job: (\d+)", name)[1]): start
        for start, _, name in reference(data, "trace.slices.tsv", "Host")["NSS Programs"]
    }
    works = work_of(dispatch)
    job_of = {id(w): dispatch.jobs[t.job] for t in dispatch.tasks.values() for w in t.work}
    for track, unit in TRACKS.items():
        expected = [row[:2] for row in drawn[f"{track} (Compile)"] if row[2] != "WAITING"]
        found = [
            (runs[job.id] + (w.start - job.start) * 10, runs[job.id] + (w.ready - job.start) * 10)
            for w in works[unit]
            for job in [job_of[id(w)]]
        ]
        assert found == expected


def test_actions_have_their_job_their_operation_and_their_cycles(dispatch):
    assert dispatch.name == "main_dispatch_0_conv_56x56x32_i8"
    assert list(dispatch.actions) == list(range(16))
    start, wait = dispatch.actions[3], dispatch.actions[4]
    assert (start.op, start.job, start.invocation) == (
        "torq_hl.start_program", 0, "nss_program_0",
    )  # fmt: skip
    assert (wait.op, wait.start, wait.end) == ("torq_hl.wait_program", 0, 55002)
    assert wait.location.startswith('loc(fused[callsite("tiny_cnn.mlir":13:10 at')
    host = dispatch.actions[11]
    assert (host.job, host.invocation, host.start, host.end) == (None, "host_fn_0", 166068, 166068)
    copy = dispatch.actions[2]
    assert (copy.op, copy.job, copy.start, copy.location) == (
        "torq_hl.host_copy", None, None, 'loc("tiny_cnn.mlir":2:3)',
    )  # fmt: skip
    assert dispatch.actions[15].location == "loc(unknown)"


def test_jobs_say_which_units_work_in_them(dispatch):
    dma = [(Unit.DMA_IN, 0), (Unit.DMA_OUT, 0)]
    assert [list(job.units) for job in dispatch.jobs.values()] == [
        [*dma, (Unit.SLICE, 0), (Unit.SLICE, 1)],
        [*dma, (Unit.SLICE, 0), (Unit.SLICE, 1)],
        [(Unit.CDMA, 0), (Unit.CSS, 0)],
        [*dma, (Unit.SLICE, 0), (Unit.SLICE, 1)],
    ]


# What iree-opt --mlir-print-op-generic prints of the same: a module around, names and ids among the
# properties, values numbered anew in every region.
GENERIC = r"""
"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "two"}> ({
    %0 = "torq_hl.program"() <{name = "nss_program_0"}> ({
    ^bb0(%arg0: !torq_hl.invocation<slice>):
      "torq_hw.nss_task"() ({
        "torq_hw.slice_start"(%arg0) <{id = 1 : index}> {"torq-async-duration-cycles" = 40 : i64} : (!torq_hl.invocation<slice>) -> () loc("m.mlir":7:1)
      }) {
        note = "\"torq-task-id\" = 9 : i64 loc(",
        "torq-task-id" = 5 : i64, "torq-start-time-cycles" = 10 : i64, "torq-end-time-cycles" = 20 : i64
      } : () -> () loc("a loc(x) \\ \22 name"("m.mlir":7:1)) // "torq-task-id" = 8
      "torq_hl.return"() : () -> ()
    }) : () -> !torq_hl.program<nss>
    %1 = "torq_hl.program"() <{name = "nss_program_1"}> ({
      "torq_hw.nss_task"() ({
        "torq_hw.slice_wait"() <{id = 1 : index}> : () -> ()
      }) {"torq-task-id" = 6 : i64, "torq-start-time-cycles" = 20 : i64, "torq-end-time-cycles" = 60 : i64} : () -> ()
    }) : () -> !torq_hl.program<nss>
    %2 = "torq_hl.program"() ({
      "torq_hl.return"() : () -> ()
    }) : () -> !torq_hl.program<slice>
    %3 = "torq_hl.create_invocation"(%2) <{name = "slice_program_torq_hl.add_3"}> : (!torq_hl.program<slice>) -> !torq_hl.invocation<slice>
    %4:2 = "torq_hl.create_invocation"(%0) <{name = "nss_program_0"}> {"torq-job-id" = 0 : i32} : (!torq_hl.program<nss>) -> (!torq_hl.invocation<nss>, memref<8xi8>)
    %5:2 = "torq_hl.create_invocation"(%1) <{name = "nss_program_1"}> {"torq-job-id" = 1 : i32} : (!torq_hl.program<nss>) -> (!torq_hl.invocation<nss>, memref<8xi8>)
    "torq_hl.start_program"(%4#0, %4#1, %3) <{operandSegmentSizes = array<i32: 1, 1, 1>}> {"torq-action-id" = 0 : i32} : (!a, !b, !c) -> () loc(callsite("m.mlir":7:1 at "m.mlir":1:1))
    "torq_hl.wait_program"(%4#0) {"torq-action-id" = 1 : i32} : (!a) -> ()
    "torq_hl.start_program"(%5#0, %5#1) <{operandSegmentSizes = array<i32: 1, 1, 0>}> {"torq-action-id" = 2 : i32} : (!a, !b) -> ()
    "torq_hl.wait_program"(%5#0) {"torq-action-id" = 3 : i32} : (!a) -> ()
    "func.return"() : () -> ()
  }) {"torq-other" = 1 : i64} : () -> ()
}) : () -> ()
"""  # noqa: E501


def test_generic_form_with_properties_and_work_that_outlasts_its_job():
    (dispatch,), problems = parsed(GENERIC)
    assert problems == {}
    assert dispatch.name == "two"
    assert {a.id: (a.job, a.invocation) for a in dispatch.actions.values()} == {
        0: (0, "nss_program_0"), 1: (0, "nss_program_0"),
        2: (1, "nss_program_1"), 3: (1, "nss_program_1"),
    }  # fmt: skip
    assert dispatch.actions[0].location == 'loc(callsite("m.mlir":7:1 at "m.mlir":1:1))'
    assert dispatch.actions[1].location == ""
    task = dispatch.tasks[5]
    assert task.location == r'loc("a loc(x) \\ \22 name"("m.mlir":7:1))'
    # Started in one job and waited for in the next.
    assert task.work == (UnitWork(Unit.SLICE, 1, 10, 50, 60, 'loc("m.mlir":7:1)', "add_3"),)
    assert list(dispatch.tasks) == [5, 6]
    assert (dispatch.jobs[0].start, dispatch.jobs[1].end) == (10, 60)


def test_a_text_without_the_attributes_is_no_debug_info(data):
    assert parsed((data / "torq" / "tiny_cnn.mlir").read_text()) == ((), {})


def test_without_cycles_all_else_is_known():
    text = re.sub(r'"torq-(start|end)-time-cycles" = \d+ : i64,?', "", GENERIC)
    (dispatch,), problems = parsed(text)
    assert problems == {}
    assert (dispatch.jobs[0].start, dispatch.tasks[5].start) == (None, None)
    assert dispatch.tasks[5].work[0].end is None
    assert len(dispatch.actions) == 4


ODD = {
    "an action id twice in one dispatch: the first one counts": (
        '"torq-action-id" = 1', '"torq-action-id" = 0',
    ),
    "a job id twice in one dispatch: the first one counts": (
        '"torq-job-id" = 1', '"torq-job-id" = 0',
    ),
    "a task id twice in one dispatch: the first one counts": (
        '"torq-task-id" = 6', '"torq-task-id" = 5',
    ),
    "a task without an id: left out": ('"torq-task-id" = 6', '"torq-task" = 6'),
    "a start or wait of which no invocation is found": ("(%5#0)", "(%7#0)"),
    "cycles that end before they start: left out": ('-cycles" = 60', '-cycles" = 6'),
    "work that nothing waits for: without an end": ("torq_hw.slice_wait", "torq_hw.slice_stay"),
    "a wait for work that was not started": ("torq_hw.slice_start", "torq_hw.slice_stay"),
    "a slice unit without an id: left out": ("slice_wait\"() <{id = 1", "slice_wait\"() <{ib = 1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_what_does_not_fit_is_counted(kind):
    old, new = ODD[kind]
    assert old in GENERIC
    (dispatch,), problems = parsed(GENERIC.replace(old, new))
    assert problems[kind] == 1
    assert len(dispatch.actions) >= 3


def test_a_program_of_many_jobs_has_its_tasks_in_each_of_them():
    tasks = "".join(
        '"torq_hw.nss_task"() ({\n"torq_hw.css_start"() : () -> ()\n'
        f'"torq_hw.css_wait"() : () -> ()\n}}) {{"torq-task-id" = {i} : i64, '
        f'"torq-start-time-cycles" = {i} : i64, '
        f'"torq-end-time-cycles" = {i + 5} : i64}} : () -> ()\n'
        for i in range(1000)
    )
    jobs = "".join(
        f'%i{i} = "torq_hl.create_invocation"(%p) {{"torq-job-id" = {i} : i32}} : (i32) -> i32\n'
        for i in range(1000)
    )
    began = time.process_time()
    (dispatch,), problems = parsed(
        f'"func.func"() ({{\n%p = "torq_hl.program"() ({{\n{tasks}}}) : () -> i32\n{jobs}}})'
        ' {sym_name = "d"} : () -> ()'
    )
    assert time.process_time() - began < 5  # gone through once, not once a job
    assert problems == {}
    for job in (dispatch.jobs[0], dispatch.jobs[999]):
        assert job.tasks == tuple(range(1000))
        assert (job.start, job.end, job.units) == (0, 1004, ((Unit.CSS, 0),))
    assert {task.job for task in dispatch.tasks.values()} == {0}


def test_cut_anywhere_and_filled_with_nonsense_it_is_still_answered():
    for at in range(0, len(GENERIC), 37):
        parsed(GENERIC[:at])
        parsed(GENERIC[at:])
        parsed(GENERIC[:at] + '}{("<loc(%0' + GENERIC[at:])
    parsed(GENERIC.replace("= 5 : i64", "= 99999999999999999999999 : i64"))
    parsed(GENERIC.replace("%", "%0"))


@pytest.mark.slow
def test_hostile_texts_end_quickly():
    start = '"torq_hw.dma_in_start"() {"torq-action-id" = 1 : i64} : () -> ()'
    nested = ['"torq_hw.nss_task"() ({'] * 4_000
    for lines in (
        nested,
        [*nested, *[start] * 4_000],
        ['"torq_hl.const"() {"torq-action-id" = 1, v = ' + "a" * 400_000],
        ['"torq_hl.const"() {"torq-action-id" = 1, v = ' + "a " * 200_000],
        ['"torq_hl.start_program"(' + "%a, " * 100_000],
        ['"torq_hl.x"() {"torq-action-id" = 1 : i32} loc(' + "loc(" * 100_000 + ")"],
        [start] * 10_000,
    ):
        began = time.process_time()
        reader = OperationReader(lines)
        read_dispatches("d.mlir", list(reader), reader, LocationAliases(lines))
        assert time.process_time() - began < 5, lines[0][:40]


def test_a_text_printed_with_aliases_of_its_locations_says_the_same(request):
    """As iree-opt prints it without --mlir-print-local-scope."""
    folder = DATA / "torq"
    text = (folder / "tiny_cnn.lowered_generic.mlir").read_text()
    numbers: dict[str, int] = {}
    lines = []
    for line in text.splitlines():
        at = line.rfind(" loc(")
        # Only where the location alone ends the line is it cut so simply.
        if at < 0 or line.count(" loc(") > 1 or not line.endswith(")"):
            lines.append(line)
            continue
        alias = numbers.setdefault(line[at + 1 :], len(numbers))
        lines.append(f"{line[:at]} loc(#loc{alias})")
    lines += [f"#loc{alias} = {location}" for location, alias in numbers.items()]
    (plain,), odd = parsed(text)
    (aliased,), more = parsed("\n".join(lines))
    assert len(numbers) > 5
    assert aliased == plain
    assert more == odd
