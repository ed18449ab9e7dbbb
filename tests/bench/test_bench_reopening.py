"""Opening a large profile from kept columns, beside reading it, until it is ready to be drawn.

python -m pytest tests/bench/test_bench_reopening.py --benchmark-enable -s

Processor seconds and peak memory of processes of their own, the best of some. Ready: links, labels,
colors and mipmaps of the first frame are there. The panels of a window are not. Nothing is asserted
about time; slices and links must be the same.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.test_bench_chrome_json import pytorch
from tests.builders import many_slices
from tests.builders.bench_sizes import rounds, size
from tests.paths import ROOT
from viewer.export.perfetto.source import PerfettoSource
from viewer.export.perfetto.writer import write_perfetto

pytestmark = pytest.mark.nightly

SLICES = size(1_000_000, 20_000, "OPSCOPE_BENCH_SLICES")
MEASURE = """
import json, sys, time
from viewer.formats import column_cache, open_file
from viewer.formats.memory import retain_freed
from viewer.gui.session.workspace_edits import count_linked, find_outliers
from viewer.gui.timeline.scene.trace_rasters import keep_columns, prepare
from viewer.model.inference_views import Inferences
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace
folder, path, warm = sys.argv[1:]
retain_freed()
def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1000
for sample in warm.split():
    open_file(sample)
column_cache.LARGE = column_cache._SETTLED_NS = 0
column_cache.CACHE.folder = folder
column_cache.readers()
before, began = peak(), time.process_time()
space = Workspace()
space.add(open_file(path))
opened = time.process_time() - began
views = views_of(space, {Inferences.AS_RUN}, {}, (count_linked, find_outliers, prepare))
ready = time.process_time() - began
(view,) = views.values()
most = peak() - before
keep_columns(view, lambda: False)
kept = time.process_time() - began - ready
damaged = column_cache.CACHE.is_damaged(view.file.slices)
checked = time.process_time() - began - ready - kept
facts = len(view.file.slices), view.file.end, int(view.labels.sum()), damaged
print(json.dumps([opened, ready, most, kept, checked, facts]))
"""
WARM = "tests/data/chrome_json/kineto_cpu.json tests/data/table_csv/two_threads.csv"


def perfetto(path: Path) -> None:
    with open(path, "wb") as file:
        write_perfetto([PerfettoSource.of(many_slices.trace(SLICES))], file)


def chrome(path: Path) -> None:
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        file.write(",\n".join(pytorch(i) for i in range(SLICES // 10)))
        file.write("\n]}\n")


def table(path: Path) -> None:
    many_slices.write_csv(path, SLICES)


def measured(folder: str, path: Path) -> tuple[list[float], list[int]]:
    """The best of some processes, and what they opened."""
    runs = []
    for _ in range(rounds(3)):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, folder, str(path), WARM],
            cwd=ROOT, capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
        runs.append(json.loads(done.stdout))
    return [min(run[i] for run in runs) for i in range(5)], runs[0][5]


@pytest.mark.parametrize(
    ("make", "name"), [(perfetto, "a.pftrace"), (chrome, "a.json"), (table, "a.csv")]
)
def test_from_columns_beside_reading(make, name, tmp_path):
    path, folder = tmp_path / name, str(tmp_path / "columns")
    make(path)
    plain, truth = measured("", path)
    first, _ = measured(folder, path)
    again, facts = measured(folder, path)
    assert facts == truth
    columns = sum(place.stat().st_size for place in Path(folder).iterdir())
    print(f"\n{name}: {path.stat().st_size / 1e6:.0f} MB, kept {columns / 1e6:.0f} MB")
    for title, row in (("read", plain), ("read, kept", first), ("from columns", again)):
        opened, ready, most, kept, checked = row
        print(
            f"  {title:12}: opened {opened:.3f} s, ready {ready:.3f} s, peak {most:.0f} MB more, "
            f"kept in {kept:.3f} s, checked in {checked:.3f} s of a processor"
        )
