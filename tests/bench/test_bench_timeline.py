"""Frames of a large trace, beside the copy of one frame's pixels: the floor of any drawing.

python -m pytest tests/bench/test_bench_timeline.py -s --benchmark-enable
OPSCOPE_BENCH_SLICES=10000000 python -m pytest tests/bench/test_bench_timeline.py -s
"""

import os
import statistics
import time
from functools import cache

import numpy as np
import pytest

from tests.timeline.stocks import Tracked, table
from viewer.model.trace import Slices
from viewer.timeline import stacking
from viewer.timeline.arrangement import TrackView
from viewer.timeline.colouring import cell_colours
from viewer.timeline.layout import ROW_HEIGHT, Axis, Layout, XMap
from viewer.timeline.lod import DrawnSlices, build_mips
from viewer.timeline.raster import Backdrop, RowRaster, Source, draw_frame
from viewer.timeline.track_table import stock_of

SLICES = int(os.environ.get("OPSCOPE_BENCH_SLICES", "1000000"))
ROWS = 60
WIDTH, HEIGHT = 1920, 1080
ORIGIN = 1_700_000_000_000_000_000
SPAN = 100_000_000_000
BACKDROP = Backdrop(0xFF14161A, 0xFF1F2329, np.arange(0, WIDTH, 120))
ZOOMS = {"fit-all": 1, "x10": 10, "x100": 100, "close": SLICES // 200}
# Frames of 1080p may cost this many copies of their pixels; measured 5 to 25.
MOST_COPIES = 60


@cache
def slices() -> Slices:
    """Pareto lengths and gaps on rows of unlike weight, over 100 s at Unix time."""
    rng = np.random.default_rng(0)
    share = rng.pareto(1.5, ROWS) + 0.2
    counts = np.maximum((SLICES * share / share.sum()).astype(int), 1)
    starts, ends = [], []
    for n in counts.tolist():
        length = rng.pareto(1.3, n) + 0.01
        gap = rng.pareto(1.3, n) + 0.01
        at = np.cumsum(length + gap)
        scale = (SPAN - 2 * n) / at[-1]
        end = (at * scale).astype(np.int64) + np.arange(1, n + 1)
        start = np.minimum(((at - length) * scale).astype(np.int64) + np.arange(n), end - 1)
        starts.append(start)
        ends.append(end)
    total = int(counts.sum())
    zeros = np.zeros(total, np.uint32)
    number = np.zeros(ROWS, np.uint32)
    return Slices(
        start=np.concatenate(starts) + ORIGIN,
        end=np.concatenate(ends) + ORIGIN,
        name=zeros,
        key=rng.integers(0, 28, total).astype(np.uint32),
        source_row=zeros,
        order=zeros,
        row_ptr=np.concatenate([[0], np.cumsum(counts)]),
        row_track=np.arange(ROWS, dtype=np.uint32),
        row_lane=number,
        row_depth=number,
    )


@cache
def raster() -> RowRaster:
    return RowRaster.of(slices(), slices().key.astype(np.uint8))


@cache
def stack() -> Layout:
    tracks = (Tracked("bench", f"track {t}") for t in range(ROWS))
    return stacking.stack(stock_of([table(*tracks)]), TrackView())


def view(zoom: str) -> XMap:
    span = max(SPAN // ZOOMS[zoom], 1)
    middle = ORIGIN + SPAN // 2
    return XMap(middle - span // 2, middle - span // 2 + span, WIDTH)


def frame(zoom: str, image: np.ndarray, hits: RowRaster | None = None) -> np.ndarray:
    """A frame of 1080 lines: all 60 rows as the raster sees them, 34 of them in the picture."""
    colours = cell_colours(True)
    source = Source(raster(), Axis(), colours, hits, colours)
    return draw_frame(stack(), 0, HEIGHT, view(zoom), [source], BACKDROP, image)


def cpu_ms(run, rounds: int = 25) -> float:
    run()
    times = []
    for _ in range(rounds):
        began = time.process_time_ns()
        run()
        times.append((time.process_time_ns() - began) / 1e6)
    return statistics.median(times)


def test_a_frame_costs_pixels_not_slices():
    image, other = (np.zeros((HEIGHT, WIDTH), np.uint32) for _ in range(2))
    hits = RowRaster.subset(
        slices(), slices().key.astype(np.uint8), np.flatnonzero(slices().key == 3)
    )
    floor = cpu_ms(lambda: np.copyto(other, image))
    print(f"\n{len(slices())} slices, {ROWS} rows; CPU ms, median; copy of a frame {floor:.2f}")
    print(f"{'':8} 60 rows    frame  with hits   labels")
    for zoom in ZOOMS:
        xmap, rows = view(zoom), list(range(ROWS))
        cells = cpu_ms(lambda rows=rows, xmap=xmap: raster().draw(rows, xmap))
        plain = cpu_ms(lambda zoom=zoom: frame(zoom, image))
        marked = cpu_ms(lambda zoom=zoom: frame(zoom, image, hits))
        labels = cpu_ms(lambda rows=rows, xmap=xmap: raster().labels(rows, xmap))
        print(f"{zoom:8} {cells:7.2f}  {plain:7.2f}  {marked:9.2f}  {labels:7.2f}")
        assert plain < MOST_COPIES * max(floor, 0.1)
    assert stack().total_height > HEIGHT + ROW_HEIGHT


@pytest.mark.parametrize("zoom", ZOOMS)
def test_frame(benchmark, zoom):
    image = np.zeros((HEIGHT, WIDTH), np.uint32)
    assert (benchmark(frame, zoom, image) != BACKDROP.canvas).any()


def test_building_mipmaps(benchmark):
    drawn = DrawnSlices.of(slices())
    mips = benchmark.pedantic(build_mips, (drawn, slices().key.astype(np.uint8)), rounds=3)
    held = sum(level.nbytes for mip in mips.values() for level in mip.levels)
    assert held < 4.2 * len(slices())


def test_hit(benchmark):
    rng = np.random.default_rng(1)
    xs = rng.uniform(0, WIDTH, 100).tolist()
    xmap = view("fit-all")
    benchmark(lambda: [raster().hit(i % ROWS, x, xmap) for i, x in enumerate(xs)])
