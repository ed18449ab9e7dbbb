"""How long the debug info of a large dispatch takes, beside finding its operations alone.

Run with `pytest tests/bench/test_bench_debug_info.py --benchmark-enable`; OPSCOPE_BENCH_OPERATIONS
sets the size (100,000 operations unless set). Prints only; nothing is asserted about time.
"""

import pytest

from tests.builders.bench_sizes import size
from tests.builders.torq_host_trace import host_trace
from viewer.analysis.links.mlir_locations import located
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import mlir_text as mlir_file
from viewer.program.mlir.operations import operations
from viewer.program.program import Program

pytestmark = pytest.mark.nightly

OPERATIONS = size(100_000, 5_000, "OPSCOPE_BENCH_OPERATIONS")
LOCATION = (
    'loc(fused[callsite("m.mlir":{0}:10 at "m.mlir":2:3), '
    'callsite("m.mlir":11:10 at "m.mlir":2:3)])'
)
TASKS_PER_JOB = 250


@pytest.fixture(scope="module")
def text() -> list[str]:
    """Tasks of five operations each, in jobs of 250 tasks."""
    lines = ["func.func @dispatch() {"]
    actions: list[str] = []
    for task in range(OPERATIONS // 5):
        job, first = divmod(task, TASKS_PER_JOB)
        if first == 0:
            lines.append(f'  %p{job} = "torq_hl.program"() ({{')
        location = LOCATION.format(11 + task % 40)
        lines += [
            '    "torq_hw.nss_task"() ({',
            f'      "torq_hw.slice_start"(%a) {{id = {task % 2} : index, '
            f'"torq-async-duration-cycles" = 90 : i64}} : (!a) -> () {location}',
            '      "torq_hw.dma_in_start"() {"torq-async-duration-cycles" = 40 : i64} : () -> () '
            + location,
            f'      "torq_hw.dma_in_wait"() : () -> () {location}',
            f'      "torq_hw.slice_wait"() {{id = {task % 2} : index}} : () -> () {location}',
            f'    }}) {{"torq-task-id" = {task} : i64, '
            f'"torq-start-time-cycles" = {task * 100} : i64, '
            f'"torq-end-time-cycles" = {task * 100 + 100} : i64}} : () -> () {location}',
        ]
        if first == TASKS_PER_JOB - 1:
            lines.append(f'  }}) {{name = "nss_program_{job}"}} : () -> !p {location}')
            lines.append(
                f'  %i{job} = "torq_hl.create_invocation"(%p{job}) {{name = "nss_program_{job}", '
                f'"torq-job-id" = {job} : i32}} : (!p) -> !i {location}'
            )
            for number, op in enumerate(("start", "wait")):
                actions.append(
                    f'  "torq_hl.{op}_program"(%i{job}) {{"torq-action-id" = {2 * job + number} : '
                    f"i32}} : (!i) -> () {location}"
                )
    return [*lines, *actions, "}"]


@pytest.fixture(scope="module")
def path(text, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("debug_info") / "dispatch.mlir"
    file.write_text("\n".join(text))
    return str(file)


def read(path: str) -> Program:
    return mlir_file.read(path, no_progress, never_cancelled)


def test_read(benchmark, path):
    (dispatch,) = benchmark(lambda: read(path)).dispatches
    jobs = OPERATIONS // 5 // TASKS_PER_JOB
    assert (len(dispatch.tasks), len(dispatch.jobs)) == (jobs * TASKS_PER_JOB, jobs)


def test_operations_alone(benchmark, text):
    assert benchmark(lambda: sum(1 for _ in operations(text))) > OPERATIONS // 5 * 5


def test_locate_a_profile(benchmark, path):
    dispatches = read(path).dispatches
    trace = host_trace([tuple(
        (action, "NSS_WAIT" if action % 2 else "NSS_START", action * 10, action * 10 + 9)
        for action in range(2 * (OPERATIONS // 5 // TASKS_PER_JOB))
    )], ["dispatch"])  # fmt: skip
    assert benchmark(lambda: located(trace, dispatches)) is not trace
