"""How long a large plain profile CSV takes, next to the csv module and to pyarrow alone.

Run with `pytest tests/bench/test_bench_table_csv.py --benchmark-enable`; OPSCOPE_BENCH_ROWS sets
the size (200,000 rows unless set). Prints only; nothing is asserted about time.
"""

import csv
import gc
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from PySide6.QtCore import QTimer

from tests.builders import many_slices
from tests.builders.bench_sizes import size
from tests.gui.events import settle
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.memory import release_freed
from viewer.formats.table.reader import FORMAT
from viewer.gui.timeline.scene.trace_rasters import prepare
from viewer.model.inference_views import Inferences
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

ROWS = size(200_000, 10_000, "OPSCOPE_BENCH_ROWS")


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight threads, three levels, 300 names, two arguments."""
    path = tmp_path_factory.mktemp("table") / "profile.csv"
    with path.open("w") as file:
        file.write("process,thread,name,start_ns,dur_ns,depth,instruction_id,core,note\n")
        for i in range(ROWS):
            level = i // 8 % 3
            start = 4812337551000000 + i // 24 * 100 + level
            file.write(
                f"camera,thread {i % 8},op {i % 300},{start},{90 - 10 * level},{level},"
                f'{i % 300},{i % 4},"note {i % 50}"\n'
            )
    return path


def test_read(benchmark, profile):
    trace = benchmark(lambda: FORMAT.read(str(profile), no_progress, never_cancelled))
    assert len(trace.slices) == ROWS
    assert trace.problems == ()


def test_floor_csv_module(benchmark, profile):
    def rows() -> int:
        with profile.open(newline="") as file:
            return sum(1 for _ in csv.reader(file))

    assert benchmark(rows) == ROWS + 1


def test_cells_in_quotes_next_to_plain_ones(tmp_path):
    """CPU seconds of the same rows as Opscope reads them and as pyarrow alone does; best of 3."""
    plain, quoted = tmp_path / "plain.csv", tmp_path / "quoted.csv"
    count = many_slices.write_csv(plain, many_slices.SLICES)
    with plain.open() as lines, quoted.open("w") as out:
        out.write(next(lines))
        for process, thread, name, rest in (line.split(",", 3) for line in lines):
            out.write(f'"{process}","{thread}","{name}",{rest}')
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(("process", "thread", "name"), text)
    )

    def opscope(path: Path) -> int:
        return len(FORMAT.read(str(path), no_progress, never_cancelled).slices)

    def alone(path: Path) -> int:
        return arrow_csv.read_csv(str(path), convert_options=kinds).num_rows

    def seconds(read: Callable[[Path], int], path: Path) -> float:
        began = time.process_time()
        assert read(path) == count
        return time.process_time() - began

    ways = [(read, path) for path in (plain, quoted) for read in (opscope, alone)]
    rounds = [[seconds(*way) for way in ways] for _ in range(3)]
    best = [min(times) for times in zip(*rounds, strict=True)]
    print(
        f"\n{count:,} rows: "
        + ", ".join(
            f"{path.stem} {read.__name__} {each:.2f} s"
            for (read, path), each in zip(ways, best, strict=True)
        )
    )


def test_plain_file_to_what_the_first_frame_needs(tmp_path):
    """OPSCOPE_BENCH_SLICES=10000000 writes and reads 1.15 GB."""
    path = tmp_path / "many.csv"
    count = many_slices.write_csv(path, many_slices.SLICES)
    began, worked = time.perf_counter(), time.process_time()
    space = Workspace()
    space.add(FORMAT.read(str(path), no_progress, never_cancelled))
    (shown,) = views_of(space, {Inferences.AS_RUN}, {}, [prepare]).values()
    wall, cpu = time.perf_counter() - began, time.process_time() - worked
    slices, drawing = shown.trace.slices, shown.drawing
    assert len(slices) == count
    assert drawing is not None
    drawn, mips = drawing[1].drawn, drawing[1].mips.values()
    columns = (slices.start, slices.end, slices.name, slices.key, slices.source_row)
    assert slices.order is None  # 4 bytes in traces that need it
    # Names, keys and labels are one array if each name is one identity.
    parts = {
        "columns": columns,
        "labels": (shown.labels,),
        "palettes": tuple(shown.palettes.values()),
        "sums": (drawn.busy,),
        "mipmaps": tuple(part for mip in mips for part in (*mip.levels, *mip.wide)),
    }
    held, seen = {}, set()
    for name, arrays in parts.items():
        own = {id(part): part.nbytes for part in arrays if id(part) not in seen}
        seen |= own.keys()
        held[name] = sum(own.values()) / count
    print(f"\n{count:,} slices, {path.stat().st_size / 1e6:,.0f} MB: {wall:.1f} s, CPU {cpu:.1f} s")
    each = ", ".join(f"{name} {size:.1f}" for name, size in held.items())
    print(f"held {sum(held.values()):.1f} bytes a slice: {each}")
    # A small trace has rows with a finer mipmap; ten million slices take 29.
    assert sum(held.values()) < 45


def in_status(name: str) -> float:
    """A size of this process in MB, from /proc."""
    return int(Path("/proc/self/status").read_text().partition(f"{name}:")[2].split()[0]) / 1000


def forget_peak() -> float:
    """Free what wrote the file and start a new peak; the memory used now, in MB."""
    many_slices.columns.cache_clear()
    gc.collect()
    release_freed()
    Path("/proc/self/clear_refs").write_text("5")
    return in_status("VmRSS")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is asked of /proc")
def test_from_opening_a_plain_file_to_the_first_frame(controller, qtbot, tmp_path, monkeypatch):
    """Also the longest time for which the window answers nothing, and the memory."""
    path = tmp_path / "many.csv"
    count = many_slices.write_csv(path, many_slices.SLICES)
    before = forget_peak()
    turns, frames = [], []
    frame = controller.timeline.view.frames.paint

    def painted(*args):
        frame(*args)
        if controller.session.traces:
            frames.append(time.perf_counter())

    monkeypatch.setattr(controller.timeline.view.frames, "paint", painted)
    clock = QTimer(controller.window)
    clock.timeout.connect(lambda: turns.append(time.perf_counter()))
    clock.start(5)
    began, worked = time.perf_counter(), time.process_time()
    controller.opener.open([str(path)])
    qtbot.waitUntil(lambda: bool(frames), timeout=120_000)
    cpu = time.process_time() - worked
    clock.stop()
    gaps = [(after - before) * 1000 for before, after in itertools.pairwise([began, *turns])]
    print(
        f"\n{count:,} slices, {path.stat().st_size / 1e6:,.0f} MB: first frame after "
        f"{frames[0] - began:.1f} s, CPU {cpu:.1f} s; longest gaps "
        f"{', '.join(f'{gap:.0f}' for gap in sorted(gaps)[:-4:-1])} ms; "
        f"peak {in_status('VmHWM'):,.0f} MB, {before:,.0f} MB before"
    )
    assert len(controller.session.traces[0].trace.slices) == count
    settle(qtbot, controller)
