"""Large Torq compile profiles to Perfetto, and the overview's figures; -s shows the rates.

Rows are as the compiler writes them: per tile one DMA in, one DMA out and a slice of either unit,
which overlap; 130 bytes a row, every event of C0 and C1 with a number of its own, a new operator
each 7 rows:

    C0  S3,25,200,loc(callsite("/models/vision/mobilenet_v2.mlir":11:10 at "...":2:3)),conv2d
    C1  S3_1,25,200,loc(...),conv2d      DI0,0,110,loc(...),DMA_IN,9408
    C3  3,175,25,Slice 1,loc(...),       0,110,0,DMA In,loc(...),9408

OPSCOPE_BENCH_ROWS sets the size (100,000 unless set), OPSCOPE_BENCH_ROUNDS of how many rounds the
least is told (1 unless set). Each round reads the file anew.
The original is not here: its rates were measured on 200,000 rows, on a machine like that of ours.
"""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.builders.bench_sizes import size
from tests.builders.workspaces import workspace_of
from viewer.compat.perfetto_logger import convert_to_perfetto
from viewer.compat.torq_logger.charts import all_units, two_units
from viewer.workspace import exports as exporting

pytestmark = pytest.mark.nightly

ROWS = size(100_000, 10_000, "OPSCOPE_BENCH_ROWS")
ROUNDS = int(os.environ.get("OPSCOPE_BENCH_ROUNDS", "1"))
# rows/s of the original, wall and CPU: f63e303 on C0, 36d5652 on C1, 183cae4 on C2 (it reads no C3)
ORIGINAL = {"c0": (43_000, 90_000), "c1": (22_000, 62_000), "c3": (29_000, 64_000)}
PATH = "/models/vision/mobilenet_v2.mlir"
TILE = (
    ("DI{0}", "DMA In", "DMA_IN", "9408", 110), ("DO{0}", "DMA Out", "DMA_OUT", "12544", 120),
    ("S{1}", "Slice 0", "conv2d", "", 180), ("S{2}", "Slice 1", "depthwise_conv2d", "", 190),
)  # fmt: skip


def rows(generation: str, count: int) -> list[str]:
    """The lines of a compile profile, as the module's text says."""
    lines = []
    if generation == "c3":
        lines.append("taskId, elapsed_time(us), timestamp(us), event, location, bytes")
    for i in range(count):
        place = f'loc(callsite("{PATH}":{11 + i // 7 % 500}:10 at "{PATH}":2:3))'
        event, name, kind, size, length = TILE[i % 4]
        start, length = i // 4 * 200 + i % 4 * 25, length + i % 97
        if generation == "c3":
            lines.append(f"{i},{length},{start},{name},{place},{size}")
            continue
        event = event.format(i, i // 4 * 2, i // 4 * 2 + 1)
        unit, size = f"_{i % 2}" if i % 4 > 1 else "", f",{size}" if size else ""
        if generation == "c0":
            unit = size = ""
        lines.append(f"{event}{unit},{start},{start + length},{place},{kind}{size}")
    return lines


@pytest.fixture(scope="module", params=["c0", "c1", "c3"])
def profile(request, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("torq") / f"{request.param}.csv"
    path.write_text("\n".join(rows(request.param, ROWS)) + "\n")
    return path


def drop_in(profile: Path, out: Path) -> None:
    convert_to_perfetto([profile], [], out)


def workspace(profile: Path, out: Path) -> None:
    opened = workspace_of(profile)
    assert exporting.export(opened, str(out)) == ROWS


@pytest.mark.parametrize("convert", [drop_in, workspace])
def test_a_compile_profile_to_perfetto(profile, tmp_path, convert):
    took = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        convert(profile, tmp_path / "out.pftrace")
        took.append((time.perf_counter() - wall, time.process_time() - cpu))
    # What else the machine does only adds time, so the least is nearest to the truth.
    wall, cpu = (ROWS / min(times) for times in zip(*took, strict=True))
    theirs = ORIGINAL[profile.stem]
    print(
        f"\n{profile.stem} {convert.__name__}: {wall:,.0f} rows/s, {cpu:,.0f} rows/s of CPU; "
        f"{wall / theirs[0]:.1f} and {cpu / theirs[1]:.1f} times the original's"
    )
    assert (tmp_path / "out.pftrace").stat().st_size > ROWS * 40


def test_the_figures_of_a_million_alternating_rows_are_linear():
    """DMA, gap, slice, gap ...: the original compares each with each (200,000: about a minute)."""
    count = 500_000
    first = np.arange(count) * 100
    dma, slices = (first, first + 40), (first + 50, first + 90)
    everything = np.concatenate([dma[0], slices[0]]), np.concatenate([dma[1], slices[1]])
    began = time.perf_counter()
    two = two_units(everything, dma, slices)
    middle = time.perf_counter()
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    all_units(everything, dma, nothing, slices, nothing, {0: slices})
    ended = time.perf_counter()
    print(f"\ntwo units {middle - began:.2f} s, all units {ended - middle:.2f} s")
    assert two.times["DMA"] == two.times["DMA_ONLY"] == two.times["SLICE"] == 40 * count
    assert two.times["IDLE"] == 20 * count - 10
