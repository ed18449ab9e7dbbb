"""Counters of a million slices of an NPU: worked out, drawn and exported, beside a plain loop.

python -m pytest tests/bench/test_bench_counters.py -s --benchmark-enable
OPSCOPE_BENCH_SLICES sets the size. Prints only; nothing is asserted about time.
"""

import io
from functools import cache

import numpy as np
import pytest

from tests.builders.bench_sizes import rounds, size
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.export.perfetto.source import PerfettoSource
from viewer.export.perfetto.writer import write_perfetto
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit
from viewer.render.frame import CounterColors, CounterRaster, stamp
from viewer.render.time_axis import XMap

pytestmark = pytest.mark.nightly

SLICES = size(1_000_000, 20_000, "OPSCOPE_BENCH_SLICES")
UNITS = {
    "DMA In": Unit.DMA_IN, "DMA Out": Unit.DMA_OUT, "Slice unit 0": Unit.SLICE,
    "Slice unit 1": Unit.SLICE,
}  # fmt: skip


@cache
def trace() -> Trace:
    """Transfers and slice units that often touch, of a few lengths, as in compile profiles."""
    rng = np.random.default_rng(3)
    builder = TraceBuilder("generated.csv", "test", "1", Clock("cycle"))
    key = builder.key(KeyKind.PLAIN, "")
    for thread, unit in UNITS.items():
        n = SLICES // len(UNITS)
        length = rng.choice([115, 216, 1979, 2639], n)
        end = np.cumsum(length + rng.choice([0, 0, 1, 2000], n))
        builder.add(
            track=builder.track("p", thread, flat=True, unit=unit), start=end - length, end=end,
            name=builder.intern(thread), key=key,
            columns={"bytes": Column(length * 4 + rng.integers(0, 4, n))},
        )  # fmt: skip
    return builder.build()


@cache
def rasters() -> tuple[CounterRaster, ...]:
    return tuple(CounterRaster.of(counter) for counter in unit_counters(trace()))


def test_working_out(benchmark):
    counters = benchmark(unit_counters, trace())
    print(f"\n{len(trace().slices)} slices, {len(counters)} counters of", end=" ")
    print(f"{sum(len(c.tick) for c in counters)} changes")


def test_floor_a_dictionary_of_changes(benchmark):
    """The least that a plain loop does for one of them, the number of units at work."""
    starts, ends = trace().slices.start.tolist(), trace().slices.end.tolist()

    def count():
        change: dict[int, int] = {}
        for start, end in zip(starts, ends, strict=True):
            change[start] = change.get(start, 0) + 1
            change[end] = change.get(end, 0) - 1
        level, steps = 0, []
        for tick in sorted(change):
            if change[tick]:
                level += change[tick]
                steps.append((tick, level))
        return steps

    found = benchmark.pedantic(count, rounds=rounds(2))
    counter = unit_counters(trace())[0]
    assert found == list(zip(counter.tick.tolist(), counter.value.tolist(), strict=True))


def test_preparing_for_the_drawing(benchmark):
    benchmark(lambda: [CounterRaster.of(counter) for counter in unit_counters(trace())])


@pytest.mark.parametrize("share", [1, 10, 1000, 100_000])
def test_a_frame_of_all_counters(benchmark, share):
    image = np.zeros((400, 1920), np.uint32)
    colors = CounterColors(1, 2, 3, 4)
    span = max(trace().end // share, 1)
    xmap = XMap(trace().end // 3, trace().end // 3 + span, 1920)

    def frame():
        for number, raster in enumerate(rasters()):
            stamp(image, 34 * number, 28, raster, xmap, colors)

    benchmark(frame)


@pytest.mark.parametrize("counters", [False, True])
def test_export(benchmark, counters):
    made = PerfettoSource.of(trace())
    source = PerfettoSource(trace(), made.ns_per_tick, made.tracks, counters=counters)
    benchmark.pedantic(lambda: write_perfetto([source], io.BytesIO()), rounds=rounds(3))
