"""Frames of a large trace in the real window, beside a plain blit through the same widget.

python -m pytest tests/bench/test_bench_timeline.py --benchmark-enable -s
OPSCOPE_BENCH_SLICES=10000000 xvfb-run python -m pytest \
    tests/bench/test_bench_timeline.py --benchmark-enable -s

QT_SCALE_FACTOR=2 makes it a canvas of 3840 x 2160 device pixels. With QT_QPA_PLATFORM=xcb frames go
to the server of Xvfb, else they stay in memory.

The table is printed and written to OPSCOPE_BENCH_TABLE (a temporary file unless set). CPU ms of the
process, medians; a ratio is to the blit. Nothing is asserted about time.
"""

import itertools
import os
import statistics
import time
from dataclasses import fields
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QSize
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QDockWidget

from tests.builders import many_slices
from tests.builders.bench_sizes import rounds
from tests.builders.stocks import Tracked, table
from tests.gui.events import CTRL, move, wheel
from viewer.gui.session.feeds.search import Search
from viewer.model.trace import Slices
from viewer.render import stacking
from viewer.render.arrangement import TrackView, track_list
from viewer.render.frame import Backdrop, RasterSource, draw_frame
from viewer.render.layout import BandKind, TimelineLayout
from viewer.render.lod import DrawnSlices, build_mips
from viewer.render.palette import cell_colors
from viewer.render.raster import RowRaster
from viewer.render.time_axis import Axis, XMap
from viewer.view.state import SliceRef

pytestmark = pytest.mark.nightly

SLICES = many_slices.SLICES
ROWS = 60
WIDTH, HEIGHT = 1920, 1080
ORIGIN = 1_700_000_000_000_000_000
SPAN = 100_000_000_000
QUERY = "attention"  # in half of the names
LABELED = 48  # px from slice to slice: narrower ones have no room for three letters
BACKDROP = Backdrop(0xFF14161A, 0xFF1F2329, np.arange(0, WIDTH, 120))
ZOOMS = {"fit-all": 1, "x10": 10, "x100": 100, "close": SLICES // 200}


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
        order=None,
        row_ptr=np.concatenate([[0], np.cumsum(counts)]),
        row_track=np.arange(ROWS, dtype=np.uint32),
        row_lane=number,
        row_depth=number,
    )


@cache
def raster() -> RowRaster:
    return RowRaster.of(slices(), slices().key.astype(np.uint8))


@cache
def stack() -> TimelineLayout:
    tracks = (Tracked("bench", f"track {t}") for t in range(ROWS))
    return stacking.stack(track_list([table(*tracks)]), TrackView())


def view(zoom: str) -> XMap:
    span = max(SPAN // ZOOMS[zoom], 1)
    middle = ORIGIN + SPAN // 2
    return XMap(middle - span // 2, middle - span // 2 + span, WIDTH)


def frame(zoom: str, image: np.ndarray, hits: RowRaster | None = None) -> np.ndarray:
    """A frame of 1080 lines: all 60 rows as the raster sees them, 34 of them in the picture."""
    colors = cell_colors(True)
    source = RasterSource(raster(), Axis(), colors, hits, colors)
    return draw_frame(stack(), 0, HEIGHT, view(zoom), [source], BACKDROP, image).image


def cpu_ms(run, times: int = 25) -> float:
    run()
    took = []
    for _ in range(rounds(times)):
        began = time.process_time_ns()
        run()
        took.append((time.process_time_ns() - began) / 1e6)
    return statistics.median(took)


class Shown:
    """The timeline of a window with one trace open, its canvas 1920 x 1080."""

    def __init__(self, qtbot, controller, trace) -> None:
        self.session, self.timeline = controller.session, controller.timeline
        self.scene, self.view = self.timeline.scene, self.timeline.view
        self.session.close_all()
        self.session.add([trace])
        qtbot.waitUntil(lambda: len(self.session.traces) == 1, timeout=120_000)
        # The panels beside work out their figures in threads, and would be counted with the frames.
        qtbot.waitUntil(
            lambda: not any(x.pending for x in controller.window.background_tasks()),
            timeout=300_000,
        )
        for dock in controller.window.findChildren(QDockWidget):
            dock.hide()
        self.view.setFixedSize(WIDTH, HEIGHT)
        self.view.show()
        # With room for all of it: what the window cuts off costs nothing to copy.
        controller.window.resize(WIDTH + 320, HEIGHT + 320)
        QApplication.processEvents()
        seen = self.view.viewport().visibleRegion().boundingRect()
        assert seen.size() == self.view.viewport().size() == QSize(WIDTH, HEIGHT)
        self._odd, self.ratio = 0, self.view.devicePixelRatioF()

    def look(self, zoom: float) -> None:
        """Show the whole trace or a part around its fullest row's middle, and the fullest rows."""
        picture, whole = self.scene.rasters[0], self.session.group.span_ns
        drawn = picture.raster.drawn
        full = int(np.argmax(np.diff(drawn.row_ptr)))
        middle = picture.open_trace.axis.to_ns(
            int(drawn.start[int(drawn.row_ptr[full : full + 2].sum()) // 2])
        )
        span = max(int(whole / zoom), 1000)
        t0 = max(min(middle - span // 2, whole - span), 0)
        self.session.set_range(t0, t0 + span)
        rows = self.scene.layout.kind == BandKind.ROW
        ptr = self.scene.rasters[0].raster.drawn.row_ptr
        held = np.where(rows, np.diff(ptr)[self.scene.layout.row], 0)
        at = np.searchsorted(self.scene.layout.y, self.scene.layout.y + HEIGHT)
        total = np.append(0, np.cumsum(held))
        best = int(np.argmax(total[at] - total[:-1]))
        self.scene.scroll_to(int(self.scene.layout.y[best]))

    def close(self) -> float:
        """The zoom at which thirty slices of the fullest row are in view: most have a label."""
        drawn = self.scene.rasters[0].raster.drawn
        full = int(np.argmax(np.diff(drawn.row_ptr)))
        middle = int(drawn.row_ptr[full : full + 2].sum()) // 2
        return self.session.group.span_ns / int(drawn.start[middle + 15] - drawn.start[middle - 15])

    def canvas(self) -> None:
        """A frame of the canvas, of a range that is another one each time."""
        self._odd ^= 1
        state = self.session.state
        by = max((state.t1 - state.t0) // 997, 1) * (1 if self._odd else -1)
        self.session.set_range(state.t0 + by, state.t1 + by, now=time.monotonic())
        self.view.viewport().repaint()  # and with it what else has to be painted

    def alone(self, alone: bool) -> None:
        """Keep headers, ruler and overview from being painted with the canvas, or let them."""
        for part in (self.timeline.headers, self.timeline.ruler, self.timeline.overview):
            part.setUpdatesEnabled(not alone)

    def blit_ms(self) -> float:
        """What a ready image costs through the same widget."""
        frames = self.view.frames
        image = QImage(self.view.size() * self.ratio, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(self.ratio)
        image.fill(0x14161A)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frames, "paint_rest", lambda p, canvas, overlay: p.drawImage(0, 0, image))
            return cpu_ms(lambda: self.view.viewport().repaint())

    def mouse_ms(self) -> float:
        """A move of the mouse over the canvas, up to all that it repaints."""
        port, x = self.view.viewport(), itertools.count(100, 7)

        def moved() -> None:
            move(port, QPoint(next(x) % WIDTH, HEIGHT // 2))
            QApplication.processEvents()

        moved()  # paints the frame without the mouse
        ms = cpu_ms(moved)
        QApplication.sendEvent(self.view, QEvent(QEvent.Type.Leave))
        return ms

    def search(self, qtbot, query: str) -> int:
        """Search, and wait for the rasters of the hits; returns their number."""
        search = Search.of(self.session)
        search.set_query(query)
        qtbot.waitUntil(lambda: not search.pending, timeout=300_000)
        drawn = self.scene.rasters[0]
        qtbot.waitUntil(lambda: bool(query) == (drawn.search_hits is not None), timeout=300_000)
        QApplication.processEvents()
        return len(search.hits)

    def labels(self) -> int:
        """How many slices are wide enough for a label."""
        layout = self.scene.layout
        shown = layout.bands_between(self.scene.scroll, self.scene.scroll + HEIGHT)
        rows = [int(layout.row[b]) for b in shown if layout.kind[b] == BandKind.ROW]
        picture = self.scene.rasters[0]
        here = self.scene.xmap(WIDTH).on(picture.open_trace.axis)
        return len(picture.raster.labels(rows, here).slice)

    def scroll_ms(self) -> tuple[float, float]:
        """Median and greatest CPU ms of a frame while all tracks are scrolled over."""
        times = []
        QApplication.processEvents()  # of what was before, headers and overview wait to be painted
        for y in range(0, self.scene.scroll_limit, max(self.scene.scroll_limit // 60, 1)):
            began = time.process_time_ns()
            self.scene.scroll_to(y)
            self.view.viewport().repaint()
            times.append((time.process_time_ns() - began) / 1e6)
        return statistics.median(times), max(times)

    def input_ms(self) -> list[float]:
        """Wall ms from a wheel event until the frame that shows it, with ruler and overview, is
        painted and handed to the screen, zooming in and out; sorted."""
        times: list[float] = []
        frames, paint = self.view.frames, self.view.frames.paint_rest
        painted = [0.0]

        def then(*args) -> None:
            paint(*args)
            painted[0] = time.perf_counter()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frames, "paint_rest", then)
            for notch in [1] * 40 + [-1] * 40:
                began = time.perf_counter()
                wheel(self.view.viewport(), QPoint(WIDTH // 2, HEIGHT // 2), notch, held=CTRL)
                while painted[0] < began:
                    QApplication.processEvents()
                times.append((time.perf_counter() - began) * 1e3)
        return sorted(times)

    def hit_us(self) -> float:
        """What a hover asks: the slice at a point, and nothing painted."""
        rng = np.random.default_rng(1)
        points = [QPoint(*xy) for xy in rng.integers(0, (WIDTH, HEIGHT), (300, 2)).tolist()]
        return cpu_ms(lambda: [self.view.slice_at(point) for point in points], 9) / 300 * 1e3

    def crowd(self, height: int) -> None:
        """Rows of few pixels, without headers between them."""
        layout = self.scene.layout
        rows = layout.kind == BandKind.ROW
        whole = {f.name: getattr(layout, f.name) for f in fields(layout)}
        columns = {name: c[rows] for name, c in whole.items() if isinstance(c, np.ndarray)}
        count = int(rows.sum())
        columns["height"] = np.full(count, height)
        columns["slice_height"] = np.full(count, max(height - 1, 1))
        columns["y"] = np.arange(count) * height
        self.scene.layout = TimelineLayout(**columns)
        self.scene.scroll_to(0)


def test_frames_of_the_window_beside_a_blit(qtbot, controller, tmp_path):
    sizes = sorted({min(100_000, many_slices.SLICES), many_slices.SLICES})
    lines = ["CPU ms, medians; x: times the blit", ""]
    for size in sizes:
        shown = Shown(qtbot, controller, many_slices.trace(size))
        blit = shown.blit_ms()
        canvas = shown.view.canvas
        lines += [f"canvas {canvas.columns} x {canvas.lines}, ratio {canvas.ratio:g}"]
        lines += [f"{size:,} slices on {many_slices.TRACKS} tracks; blit {blit:.2f}"]
        lines += [f"{'view':22}{'canvas':>8}{'x':>7}{'whole':>8}{'labels':>8}"]

        def line(name: str, shown=shown, blit=blit) -> str:
            whole = cpu_ms(shown.canvas)
            shown.alone(True)
            ms = cpu_ms(shown.canvas)
            shown.alone(False)
            return f"{name:22}{ms:8.2f}{ms / blit:7.1f}{whole:8.2f}{shown.labels():8}"

        for name, zoom in (("fit-all", 1), ("x10", 10), ("x100", 100), ("close", shown.close())):
            shown.look(zoom)
            lines.append(line(name))
        shown.look(1)
        median, most = shown.scroll_ms()
        lines.append(f"{'scroll, median':22}{median:8.2f}{median / blit:7.1f}")
        lines.append(f"{'scroll, most':22}{most:8.2f}{most / blit:7.1f}")
        shown.look(1)
        waits = shown.input_ms()
        lines.append(f"input to frame, wall ms: median {waits[40]:.1f}, p95 {waits[76]:.1f}")
        shown.look(1)
        lines.append(f"hit test: {shown.hit_us():.1f} us")
        moved = shown.mouse_ms()
        lines.append(f"{'mouse':22}{'':15}{moved:8.2f}")
        hits = shown.search(qtbot, QUERY)
        lines.append(f"search {QUERY}, {hits:,} hits; blit {shown.blit_ms():.2f}")
        for name, zoom in (("fit-all", 1), ("x100", 100), ("close", shown.close())):
            shown.look(zoom)
            lines.append(line(f"{name}, search"))
        shown.search(qtbot, "")
        shown.crowd(3)
        shown.look(1)
        lines.append(line("360 rows of 3 px"))
        shown = Shown(qtbot, controller, many_slices.even(size))
        shown.look(shown.session.group.span_ns * LABELED / (many_slices.EVEN_STEP * WIDTH))
        lines.append(line("most labels"))
        shown.session.select_slice(SliceRef(0, size // 2))
        lines += [line("and one selected"), ""]
    text = "\n".join(lines)
    print("\n" + text)
    place = os.environ.get("OPSCOPE_BENCH_TABLE") or tmp_path / "timeline.txt"
    Path(place).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("zoom", ZOOMS)
def test_frame(benchmark, zoom):
    image = np.zeros((HEIGHT, WIDTH), np.uint32)
    assert (benchmark(frame, zoom, image) != BACKDROP.canvas).any()


def test_building_mipmaps(benchmark):
    drawn = DrawnSlices.of(slices())
    mips = benchmark.pedantic(build_mips, (drawn, slices().key.astype(np.uint8)), rounds=rounds(3))
    held = sum(level.nbytes for mip in mips.values() for level in mip.levels)
    assert held < 4.2 * len(slices())


def test_hit(benchmark):
    rng = np.random.default_rng(1)
    xs = rng.uniform(0, WIDTH, 100).tolist()
    xmap = view("fit-all")
    benchmark(lambda: [raster().hit(i % ROWS, x, xmap) for i, x in enumerate(xs)])
