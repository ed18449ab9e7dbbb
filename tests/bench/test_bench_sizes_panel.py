"""The Sizes panel over a program of 5,000 parts: its first display, and what follows.

python -m pytest tests/bench/test_bench_sizes_panel.py --benchmark-enable -s

Prints seconds of the clock; nothing is asserted about time. Goal: 0.3 s to the first picture.
"""

import time

import numpy as np
import pytest

from tests.builders.bench_sizes import size
from tests.builders.sized_programs import write_constants
from tests.gui.dark_theme import dark_theme
from tests.gui.fake_host import FakeHost
from viewer.formats import open_file
from viewer.gui.panels.sizes.answer import Grouping, SizesQuestion, size_tree, work_out
from viewer.gui.panels.sizes.panel import SizesPanel
from viewer.gui.session.session import Session
from viewer.render.box_pictures import Rest, TileRoom, draw_tiles, place_tiles

pytestmark = pytest.mark.nightly

COUNT = size(5_000, 300)


def timed(work, *given):
    began = time.perf_counter()
    found = work(*given)
    return found, time.perf_counter() - began


def test_a_program_of_many_parts(tmp_path, qapp, qtbot):
    dice = np.random.default_rng(1)
    sizes = (16 * (1 + dice.pareto(1.2, COUNT)).astype(np.int64).clip(1, 4096)).tolist()
    path = write_constants(tmp_path / "a.pte", sizes)
    other = write_constants(tmp_path / "b.pte", [16 + one for one in sizes], seed=1)
    executables = [open_file(str(path)), open_file(str(other))]
    session = Session()
    session.add([executables[0]])
    panel = SizesPanel(FakeHost(session, dark_theme()))
    qtbot.addWidget(panel)
    panel.resize(1280, 500)
    began, cpu = time.perf_counter(), time.process_time()
    panel.show()
    qtbot.waitUntil(lambda: panel.shown_answer is not None)
    panel.grab()
    first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
    answer, parts = timed(work_out, SizesQuestion(session.workspace, executables[0]))
    _, compared = timed(work_out, SizesQuestion(session.workspace, *executables))
    tree, grouped = timed(size_tree, answer, Grouping.KIND)
    room = TileRoom(18, 2, (56, 42), 16)
    tiles, placed = timed(place_tiles, tree.sizes, Rest(0, 0), 1280, 300, room)
    _, drawn = timed(draw_tiles, tiles, 1280, 300, 2)
    _, painted = timed(panel.grab)
    qtbot.waitUntil(lambda: panel.copies is not None, timeout=30_000)
    _, filtered = timed(panel.filter.setText, "constant 1")
    _, selected = timed(panel._choose_row, 0)
    print(f"\n{COUNT} parts: first display {first:.3f} s, {first_cpu:.3f} s of CPU (parts "
          f"{parts:.3f}, two files {compared:.3f}, tree {grouped:.3f}, {len(tiles)} tiles in "
          f"{placed:.3f}, drawn in {drawn:.3f}), painted again {painted:.3f}, filter "
          f"{filtered:.3f}, click {selected:.3f} s")  # fmt: skip
    assert len(answer) >= COUNT
