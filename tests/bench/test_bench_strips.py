"""Frames of two clocks in two strips, beside the same files on one clock in one strip.

python -m pytest tests/bench/test_bench_strips.py --benchmark-enable -s
OPSCOPE_BENCH_SLICES=10000000 python -m pytest \
    tests/bench/test_bench_strips.py --benchmark-enable -s

Both windows have the same size, and show the same two files of half of the slices each. The strips
are aligned, so that both of them move in every frame, or free, so that one does. No range comes
twice in a row, so that nothing is kept of the frame before. A frame ends when all parts are
painted. Memory is what Python and numpy hold after the files were opened.

The table is printed and written to OPSCOPE_BENCH_TABLE (a temporary file unless set). CPU ms of the
process, medians; a ratio is to one clock. Nothing is asserted about time.
"""

import os
import statistics
import time
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from tests.builders import many_slices
from tests.builders.bench_sizes import rounds
from tests.gui.dark_theme import dark_theme
from tests.gui.timeline_harness import TimelineHarness
from viewer.gui.qt.background import Latest
from viewer.view.clock_groups import Tie

pytestmark = pytest.mark.nightly

WIDTH, HEIGHT = 1600, 900
ZOOMS = (1, 10, 100, 1000, 20000)
BLOCKS, FRAMES = 6, 60  # the configurations take turns in blocks, as the machine is never quiet
MANY = (1, 10, 50)
SMALL = 2000  # slices of each of many files


def clocks(count: int, slices: int, shared: bool = False) -> list:
    """Files of some slices in total, each on a clock of its own or all on one."""
    whole = many_slices.trace(slices // count)
    return [
        replace(
            whole, path=f"{n}.csv", clock=replace(whole.clock, domain="one" if shared else f"c{n}")
        )
        for n in range(count)
    ]


class Shown:
    """Files in a timeline of their own, opened and drawn once."""

    def __init__(self, qtbot, theme, files) -> None:
        self.harness = TimelineHarness(qtbot, theme)
        self.harness.window.resize(WIDTH, HEIGHT)
        began = time.process_time_ns()
        self.session = self.harness.session
        self.session.add(files)
        qtbot.waitUntil(lambda: len(self.session.traces) == len(files), timeout=120_000)
        QApplication.processEvents()
        self.opening_ms = (time.process_time_ns() - began) / 1e6
        tasks = self.harness.window.findChildren(Latest)
        qtbot.waitUntil(lambda: not any(task.pending for task in tasks), timeout=300_000)
        QApplication.processEvents()
        self._turn = 0

    def align(self, *, tied: bool) -> None:
        """Let all strips move together, or only the active one."""
        ties = {g.key: Tie(Fraction(1), anchor=0) for g in self.session.groups} if tied else {}
        self.session.change(replace(self.session.state, ties=ties))

    def frame_ms(self, zoom: int) -> float:
        """What a frame of a range that is new costs."""
        whole = self.session.group.span_ns
        span, self._turn = whole // zoom, self._turn + 1
        t0 = (whole - span) // 2 + (self._turn % 97 - 48) * max(span // 5000, 1)
        began = time.process_time_ns()
        self.session.set_range(t0, t0 + span - self._turn % 2 * (span // 99))
        QApplication.processEvents()
        return (time.process_time_ns() - began) / 1e6

    def block_ms(self, zoom: int) -> float:
        """The median of some frames, after some that warm up."""
        times = [self.frame_ms(zoom) for _ in range(rounds(FRAMES) + 1)]
        return statistics.median(times[len(times) // 6 :])


def beside(one: Shown, two: Shown, zoom: int) -> tuple[float, float]:
    """The least medians of both, in turns."""
    blocks = [(one.block_ms(zoom), two.block_ms(zoom)) for _ in range(rounds(BLOCKS))]
    return min(ms for ms, _ in blocks), min(ms for _, ms in blocks)


def held_mb(qtbot, theme, shared: bool) -> float:
    """What two open files hold, without what was there before."""
    files = clocks(2, many_slices.SLICES, shared)
    tracemalloc.start()
    try:
        shown = Shown(qtbot, theme, files)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    shown.harness.put_away()
    return held / 1e6


@pytest.fixture
def theme(qapp):
    return dark_theme()


@pytest.fixture
def table(tmp_path):
    """The lines of a table, printed and written at the end."""
    lines: list[str] = []
    yield lines
    text = "\n".join(lines)
    print("\n" + text)
    place = os.environ.get("OPSCOPE_BENCH_TABLE") or tmp_path / "strips.txt"
    Path(place).write_text(text, encoding="utf-8")


def test_frames_of_two_clocks_beside_one_clock(qtbot, theme, table):
    slices = many_slices.SLICES
    one = Shown(qtbot, theme, clocks(2, slices, shared=True))
    two = Shown(qtbot, theme, clocks(2, slices))
    assert [len(shown.harness.timeline.strips) for shown in (one, two)] == [1, 2]
    table += [f"{slices:,} slices, window {WIDTH} x {HEIGHT}; CPU ms, x: times one clock", ""]
    table += [f"{'zoom':>6}{'one':>8}{'aligned':>9}{'x':>6}{'one':>8}{'free':>9}{'x':>6}"]
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for zoom in ZOOMS:
        line = f"{zoom:6}"
        for tied in (True, False):
            two.align(tied=tied)
            least = beside(one, two, zoom)
            ratios[tied].append(least[1] / least[0])
            line += f"{least[0]:8.2f}{least[1]:9.2f}{ratios[tied][-1]:6.2f}"
        table.append(line)
    mean = [f"{statistics.mean(ratios[tied]):.2f}" for tied in (True, False)]
    table.append(f"mean x: aligned {mean[0]}, free {mean[1]}")
    for shown in (one, two):
        shown.harness.put_away()


def test_memory_of_two_clocks_beside_one_clock(qtbot, theme, table):
    held = [held_mb(qtbot, theme, shared) for shared in (True, False)]
    table.append(f"held by open files, MB: one clock {held[0]:.1f}, two {held[1]:.1f}")
    assert held[1] < 1.02 * held[0] + 2  # the widgets of a strip


def test_frames_of_many_clocks(qtbot, theme, table):
    table += [f"files of {SMALL:,} slices, each on its clock; CPU ms", ""]
    table += [f"{'clocks':>8}{'open':>9}{'per clock':>11}{'frame':>9}"]
    for count in MANY:
        shown = Shown(qtbot, theme, clocks(count, SMALL * count))
        assert len(shown.harness.timeline.strips) == count
        shown.align(tied=count > 1)
        frame = shown.block_ms(10)
        opening = shown.opening_ms
        table.append(f"{count:8}{opening:9.0f}{opening / count:11.1f}{frame:9.2f}")
        shown.harness.put_away()
