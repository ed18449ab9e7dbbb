"""How long the overview of units takes where every row begins a new interval.

Run with `pytest tests/bench/test_bench_overview.py --benchmark-enable`; OPSCOPE_BENCH_ROWS sets the
size (1,000,000 rows unless set). Torq's own profiler is quadratic on such a file: 2.5 s for 40,000.
Prints only; nothing is asserted about time.
"""

import numpy as np
import pytest

from tests.builders.bench_sizes import rounds, size
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.group_keys import KEYS
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace, Unit

pytestmark = pytest.mark.nightly

ROWS = size(1_000_000, 40_000, "OPSCOPE_BENCH_ROWS")


@pytest.fixture(scope="module")
def alternating() -> Trace:
    """DMA In, slice unit 0, DMA Out, slice unit 1 by turns; none touches the next of its kind."""
    builder = TraceBuilder("a.csv", "bench", "", Clock())
    threads = [("DMA In", Unit.DMA_IN), ("Slice unit 0", Unit.SLICE),
               ("DMA Out", Unit.DMA_OUT), ("Slice unit 1", Unit.SLICE)]  # fmt: skip
    tracks = [builder.track("a.csv", name, flat=True, unit=unit) for name, unit in threads]
    keys = [
        builder.key(KeyKind.LOCATION, name, location=f'loc("m.mlir":{line}:1)')
        for line in range(1000)
        for name, _ in threads
    ]
    number = np.arange(ROWS)
    start = number * 10
    builder.add(
        track=np.array(tracks, np.uint32)[number % 4],
        start=start,
        end=start + 5 + number % 9,
        name=builder.intern_all([name for name, _ in threads])[number % 4],
        key=np.array(keys, np.uint32)[number % len(keys)],
    )
    return builder.build()


def test_overview(benchmark, alternating):
    overview = benchmark.pedantic(lambda: UnitOverview(alternating).rows(), rounds=rounds(5))
    assert overview[-1].ticks == alternating.end - alternating.start


def test_overview_of_a_range(benchmark, alternating):
    overview = UnitOverview(alternating)
    rows = benchmark(lambda: overview.rows(alternating.end // 3, alternating.end // 2))
    assert rows[-1].ticks


@pytest.mark.parametrize("key", ["location", "thread", "name"])
def test_statistics_by_key(benchmark, alternating, key):
    table = unlinked(alternating)
    found = benchmark.pedantic(lambda: Grouping(table).by(key), rounds=rounds(3))
    assert key in KEYS
    assert found.groups
