"""How long `opscope inspect` takes, beside the official Inspector where executorch is installed.

Prints only: `pytest tests/bench/test_bench_inspect.py --benchmark-enable -s`. The official tool
takes minutes for the wide dump, so it is asked there only with OPSCOPE_BENCH_WIDE=1.
"""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders.etdump_writer import framework, operator
from viewer.analysis.statistics.events import EventStatistics, event_statistics
from viewer.codecs.atomic_file import replacing
from viewer.compat.inspector.answers import InspectorAnswers
from viewer.workspace.workspace import Workspace

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),  # importing torch warns of many things
]
RUNS, OPERATORS = 450, 240  # 481 events a run, 216,450 in all
WIDE = 100_000  # instructions, each a kernel and its call: 200,003 events in all
LOAD = ("Default", [framework("Method::init", 10, 20), framework("Program::load_method", 5, 25)])


def events(number: int) -> list[dict]:
    origin = 1_000_000 * (number + 1)
    found = []
    for i in range(OPERATORS):
        at = origin + 1000 * i
        found.append(operator(f"native_call_op_{i % 12}.out", i, at + 50, at + 800 + number % 90))
        found.append(operator("OPERATOR_CALL", i, at + 10, at + 900))
    return [*found, framework("Method::execute", origin, origin + 1000 * OPERATORS)]


def wide_events(count: int) -> list[dict]:
    found = []
    for i in range(count):
        at = 1000 * (i + 1)
        found.append(operator(f"native_call_op_{i % 12}.out", i, at + 100, at + 900))
        found.append(operator("OPERATOR_CALL", i, at, at + 950))
    return [*found, framework("Method::execute", 1000, 1000 * (count + 1))]


def statistics(path: Path) -> EventStatistics:
    work = Workspace()
    trace = work.open(str(path))
    return event_statistics(work.links(trace))


def write_tsv(path: Path, out: Path) -> int:
    sheet = InspectorAnswers(statistics(path)).sheet()
    with replacing(out) as file:
        sheet.write_tsv(file)
    return len(sheet)


def beside(benchmark, answer: Callable[[Any], object], what: str) -> None:
    """Time the official Inspector once too, where we are timed and where it is installed."""
    if not benchmark.enabled:
        return
    devtools = pytest.importorskip("executorch.devtools", reason="the extra `peers` is missing")
    begin, cpu = time.perf_counter(), time.process_time()
    answer(devtools.Inspector)
    wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    own = benchmark.stats.stats.median
    print(
        f"\n{what}: Inspector {wall:.2f} s (processor {cpu:.2f} s), Opscope {own:.3f} s, "
        f"{wall / own:.0f} times"
    )


def test_statistics_of_216_450_events(benchmark, dump):
    runs = RUNS if benchmark.enabled else 2
    path = dump(LOAD, *(("Execute", events(number)) for number in range(runs)))
    found = benchmark.pedantic(statistics, args=(path,), rounds=5, warmup_rounds=1)
    assert len(found) == 2 * OPERATORS + 3
    assert len(found.slices) == runs * (2 * OPERATORS + 1) + 2
    beside(benchmark, lambda inspector: inspector(etdump_path=str(path)), "216,452 events")


def test_200_003_distinct_events_as_tsv(benchmark, dump, tmp_path):
    count = WIDE if benchmark.enabled else 100
    path = dump(LOAD, ("Execute", wide_events(count)))
    rows = benchmark.pedantic(
        write_tsv, args=(path, tmp_path / "events.tsv"), rounds=5, warmup_rounds=1
    )
    assert rows == count + 3  # the calls are not shown
    if benchmark.enabled and not os.environ.get("OPSCOPE_BENCH_WIDE"):
        pytest.skip("the official tool takes minutes here: set OPSCOPE_BENCH_WIDE=1")
    faulthandler.cancel_dump_traceback_later()  # it is slow, not stuck
    out = str(tmp_path / "official.tsv")
    beside(
        benchmark,
        lambda inspector: inspector(etdump_path=str(path)).save_data_to_tsv(out),
        "read, aggregate and write, 200,003 distinct events",
    )
