"""What logging an event costs, beside two looks at the clock, and writing a million of them.

Prints only: `pytest tests/bench/test_bench_event_tracer.py --benchmark-enable -s`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from viewer.record import EventTracer
from viewer.record.etdump_writer import write_etdump
from viewer.record.event_batches import EventBatches, EventKind

pytestmark = pytest.mark.nightly

PAIRS = 10_000  # a round; the bench divides by it
EVENTS = 1_000_000


def floor(tracer: EventTracer) -> None:
    clock = time.perf_counter_ns
    for _ in range(PAIRS):
        clock()
        clock()


def operators(tracer: EventTracer) -> None:
    start, end = tracer.start_profiling, tracer.end_profiling
    for i in range(PAIRS):
        end(start("OPERATOR_CALL", 0, i))


def names(tracer: EventTracer) -> None:
    start, end = tracer.start_profiling_delegate, tracer.end_profiling_delegate
    for _ in range(PAIRS):
        end(start("Fancy Fusion"))


def numbers(tracer: EventTracer) -> None:
    start, end = tracer.start_profiling_delegate, tracer.end_profiling_delegate
    for i in range(PAIRS):
        end(start(None, i))


def with_statements(tracer: EventTracer) -> None:
    for _ in range(PAIRS):
        with tracer.start_profiling_delegate("Fancy Fusion"):
            pass


def with_metadata(tracer: EventTracer) -> None:
    start, end = tracer.start_profiling_delegate, tracer.end_profiling_delegate
    for _ in range(PAIRS):
        end(start("Fancy Fusion"), b"tiles=4")


LOGS = (floor, operators, names, numbers, with_statements, with_metadata)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.__name__)
def test_a_start_and_its_end(benchmark, log: Callable[[EventTracer], None]):
    tracer = EventTracer()
    tracer.create_event_block("Execute")
    with tracer.start_profiling("DELEGATE_CALL", 0, 0):
        benchmark(log, tracer)
    assert tracer.problems == ()
    if benchmark.enabled:
        stats = benchmark.stats.stats
        best, median = stats.min / PAIRS * 1e6, stats.median / PAIRS * 1e6
        print(f"\n{log.__name__}: {best:.2f} µs a pair at best, {median:.2f} in the median")


def test_a_start_and_its_end_that_go_to_disk(benchmark, tmp_path):
    tracer = EventTracer(spill_folder=tmp_path)
    benchmark(names, tracer)
    if benchmark.enabled:
        print(f"\n{benchmark.stats.stats.median / PAIRS * 1e6:.2f} µs a pair in the median")


def test_write_a_million_events(benchmark, tmp_path):
    count = EVENTS if benchmark.enabled else 1000
    batches = EventBatches(1 << 30, None)
    for i in range(count):
        block, at = i * 1000 // count, 10 * i
        batches.add(EventKind.TEXT, block, f"fused {i % 500}", 0, i % 100, at, at + 9, b"tiles=4")
    path = tmp_path / "run.etdp"
    listed = batches.snapshot()
    benchmark(write_etdump, path, ["Execute"] * 1000, [], listed)
    size = path.stat().st_size
    print(f"\n{size / 1e6:.1f} MB, {size / count:.1f} bytes an event")
