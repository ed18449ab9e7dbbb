"""How long the delegation report of a million slices takes, and what of it the window waits for.

5,000 operators outside and 200 delegate calls with 20 events each, in 70 runs. In a worker: report
and rows. On the GUI thread: only that the table takes the rows. OPSCOPE_BENCH_RUNS sets the size.
Prints only: `pytest tests/bench/test_bench_delegation.py --benchmark-enable -s`.
"""

import os

import numpy as np
import pytest

from viewer.model.builder import TraceBuilder
from viewer.model.scope import Scope
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.opening import Inferences, views_of
from viewer.panels.delegation_table import DelegationModel, DelegationView, page_of
from viewer.panels.handle_map_table import HandleMapModel, maps_of
from viewer.program.debug_handles import DelegateMap
from viewer.program.delegation import Delegation
from viewer.program.graph import GraphNode, Method, Operator, Program
from viewer.program.handle_maps import HandleMaps
from viewer.theme import Theme
from viewer.workspace import Workspace

RUNS = int(os.environ.get("OPSCOPE_BENCH_RUNS", "70"))
OPERATORS, CALLS, EVENTS = 5000, 200, 20
STEP = 1000  # ns of an instruction


@pytest.fixture(scope="module")
def shown():
    """The open trace, linked: operators at instructions 0 to 4999, delegates at those behind."""
    builder = TraceBuilder("/bench/run.etdp", "ETDump", "", Clock())
    track = builder.track("run", "forward")
    scope = builder.scope("Execute", "forward")
    execute = builder.key(KeyKind.FRAMEWORK, "Method::execute", scope=scope)
    start, long, key, depth = [0], [(OPERATORS + CALLS) * STEP], [execute], [0]
    for i in range(OPERATORS):
        for kind, name, level in (
            (KeyKind.OPERATOR_CALL, "OPERATOR_CALL", 1),
            (KeyKind.KERNEL, "native_call_relu.out", 2),
        ):
            start.append(i * STEP + 10 * level)
            long.append(STEP - 20 * level)
            key.append(builder.key(kind, name, scope=scope, instruction=i))
            depth.append(level)
    for i in range(OPERATORS, OPERATORS + CALLS):
        start.append(i * STEP)
        long.append(STEP - 10)
        key.append(builder.key(KeyKind.DELEGATE_CALL, "DELEGATE_CALL", scope=scope, instruction=i))
        depth.append(1)
        for n in range(EVENTS):
            start.append(i * STEP + 40 * n)
            long.append(30)
            key.append(
                builder.key(
                    KeyKind.DELEGATE_EVENT,
                    f"op{n}",
                    scope=scope,
                    instruction=i,
                    identifier=f"op{n}",
                )
            )
            depth.append(2)
    span = (OPERATORS + CALLS + 10) * STEP
    offset = np.repeat(np.arange(RUNS) * span, len(start))
    starts = np.tile(np.array(start), RUNS) + offset
    builder.add(
        track=np.full(len(starts), track, np.uint32), start=starts,
        end=starts + np.tile(np.array(long), RUNS),
        name=builder.intern_all(["x"])[np.zeros(len(starts), np.int64)],
        key=np.tile(np.array(key, np.uint32), RUNS), levels=np.tile(np.array(depth), RUNS),
    )  # fmt: skip
    for run in range(RUNS):
        at = run * span
        builder.run(RunKind.INFERENCE, "Execute", track, scope, at, at + (OPERATORS + CALLS) * STEP)
    space = Workspace()
    trace = builder.build()
    space.add(trace)
    space.add(record())
    space.pair(trace.path, "/bench/model.etrecord")
    return views_of(space, {Inferences.AS_RUN}, {})[id(trace), Inferences.AS_RUN]


def record() -> Program:
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"relu_{i}", "aten.relu.default", i + 1),))
        for i in range(OPERATORS + CALLS)
    )
    entries = {f"op{n}": (n + 1,) for n in range(EVENTS)}
    delegates = {i: DelegateMap("Npu", entries) for i in range(OPERATORS, OPERATORS + CALLS)}
    handles = {i: (i + 1,) for i in range(OPERATORS + CALLS)}
    method = Method("forward", operators, handles, delegates)
    return Program("/bench/model.etrecord", "ETRecord", "1.2+", (method,))


def test_the_report_of_all_runs(benchmark, shown):
    report = benchmark.pedantic(lambda: Delegation(shown.table).report(), rounds=3)
    assert len(report.instances) == CALLS


def test_the_report_of_another_run(benchmark, shown):
    delegation = Delegation(shown.table)
    run = shown.trace.runs[RUNS // 2]
    delegation.report(*Scope(run).span)
    assert benchmark(delegation.report, *Scope(run).span).whole


def test_the_rows_of_the_handle_maps(benchmark, shown):
    rows = benchmark.pedantic(lambda: HandleMaps(shown.table).rows(), rounds=3)
    assert len(rows) == CALLS * (EVENTS + 1)


def test_the_window_takes_a_report(benchmark, shown, qapp, qtbot):
    page = page_of(shown, Delegation(shown.table).report())
    theme, model = Theme(qapp, "dark"), DelegationModel()
    view = DelegationView(model, theme)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    model.page = page
    benchmark(view.show_contents, page.contents, -1)
    model.expand("Stayed outside")
    assert len(model.rows) > OPERATORS


def test_the_window_takes_all_rows_of_a_report(benchmark, shown, qapp, qtbot):
    page = page_of(shown, Delegation(shown.table).report())
    theme, model = Theme(qapp, "dark"), DelegationModel()
    view = DelegationView(model, theme)
    qtbot.addWidget(view)
    view.resize(600, 500)
    view.show()
    model.page = page
    view.show_contents(page.contents, -1)
    benchmark(model.expand, "Stayed outside")


def test_the_window_takes_the_handle_maps(benchmark, shown):
    maps = maps_of(HandleMaps(shown.table).rows(), shown.table.program, shown)
    model = HandleMapModel()
    model.maps = maps
    benchmark(model.show, maps.contents)


def test_a_click_on_a_reason_finds_its_slices(benchmark, shown):
    delegation = Delegation(shown.table)
    keys = delegation.report().unlinked[0].keys
    assert len(benchmark(delegation.slices_of, keys))
