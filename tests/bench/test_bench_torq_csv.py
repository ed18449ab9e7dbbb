"""How long a large Torq compile or host profile takes, beside the least that any reader would do.

Run with `pytest tests/bench/test_bench_torq_csv.py --benchmark-enable`; OPSCOPE_BENCH_ROWS sets the
size (200,000 rows unless set). Prints only; nothing is asserted about time.
"""

from pathlib import Path

import pytest

from tests.builders.bench_sizes import size
from tests.paths import DATA
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file
from viewer.formats.torq.compile_csv import FORMAT
from viewer.model.trace import Trace

pytestmark = pytest.mark.nightly

ROWS = size(200_000, 6_000, "OPSCOPE_BENCH_ROWS")
FUSED = (
    'loc(fused[callsite("tiny_cnn.mlir":{}:10 at "tiny_cnn.mlir":2:3), '
    'callsite("tiny_cnn.mlir":11:10 at "tiny_cnn.mlir":2:3)])'
)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same schedule as C0 (every event has a name of its own) and as C3."""
    folder = tmp_path_factory.mktemp("torq")
    c0, c3 = [], ["taskId, elapsed_time(us), timestamp(us), event, location, bytes"]
    for i in range(ROWS):
        location = FUSED.format(11 + i // 3 % 40)
        start = i // 3 * 100
        event, name, kind = (
            (f"DI{i}", "DMA In", "DMA_IN"), (f"DO{i}", "DMA Out", "DMA_OUT"),
            (f"S{i}", f"Slice {i % 2}", "conv2d"),
        )[i % 3]  # fmt: skip
        c0.append(f"{event},{start},{start + 90},{location},{kind}")
        c3.append(f"{i // 3},90,{start},{name},{location},{'' if i % 3 == 2 else 9408}")
    files = {"c0": folder / "c0.csv", "c3": folder / "c3.csv"}
    files["c0"].write_text("\n".join(c0) + "\n")
    files["c3"].write_text("\n".join(c3) + "\n")
    return files


@pytest.mark.parametrize("generation", ["c0", "c3"])
def test_read(benchmark, profiles, generation):
    path = str(profiles[generation])
    trace = benchmark(lambda: FORMAT.read(path, no_progress, never_cancelled))
    assert len(trace.slices) == ROWS


@pytest.mark.parametrize("generation", ["c0", "c3"])
def test_floor_split_at_every_comma(benchmark, profiles, generation):
    path = profiles[generation]
    rows = benchmark(lambda: [line.split(b",") for line in path.read_bytes().splitlines()])
    assert len(rows) == ROWS + (generation == "c3")


@pytest.fixture(scope="module")
def host_profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample of two inferences (60 rows each), with as many more as it takes."""
    sample = DATA / "torq/host_h4_latest_2inv.csv"
    header, *lines = sample.read_text().splitlines()
    inference = [line.split(",") for line in lines[10:70]]
    rows = [header, *lines[:10]]
    for number in range(ROWS // 60):
        rows += [
            f"{name},{int(scope) + 4 * number},{action},{int(time) + 1518 * number},{event}"
            for name, scope, action, time, event in inference
        ]
    path = tmp_path_factory.mktemp("torq_host") / "h4.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_read_host(benchmark, host_profile):
    trace = benchmark(lambda: open_file(str(host_profile)))
    assert isinstance(trace, Trace)
    stated = len(trace.slices) - trace.slices.derived_count
    assert stated == 5 + ROWS // 60 * 30
