"""Moves of the mouse repaint little, and leave the pixels that a whole repaint has."""

import random

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRect
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QApplication

from tests.gui.events import canvas, column, middle_of, move, place_of
from viewer.gui.session import navigation
from viewer.gui.timeline.painting.frame import FramePainter
from viewer.render.layout import BandKind
from viewer.view.state import SliceRef


class Store:
    """A store that keeps what was painted, as that of a window does; counts whole frames."""

    def __init__(self, shown, monkeypatch, ratio=1):
        self.view, port = shown.timeline.view, canvas(shown)
        self.size, self.ratio = port.size(), ratio
        self.whole_frames = 0
        self.image = self._empty()
        self.asked = QRegion()
        self.areas: list[int] = []
        real = FramePainter.paint_rest

        def paint_rest(frames, *arguments):
            self.whole_frames += frames is self.view.frames
            real(frames, *arguments)

        monkeypatch.setattr(FramePainter, "paint_rest", paint_rest)
        monkeypatch.setattr(port, "update", self._ask)

    def _empty(self):
        image = QImage(self.size * self.ratio, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(self.ratio)
        image.fill(0)
        return image

    def _ask(self, region=None):
        region = QRegion(QRect(QPoint(), self.size)) if region is None else QRegion(region)
        self.asked += region

    def flush(self):
        """Paint what was asked for, clipped to it."""
        region, self.asked = self.asked, QRegion()
        if region.isEmpty():
            return
        self.areas.append(sum(r.width() * r.height() for r in region))
        part_region = None if region == QRegion(QRect(QPoint(), self.size)) else region
        painter = QPainter(self.image)
        painter.setClipRegion(region)
        part = self._empty()
        inner = QPainter(part)
        self.view._rest.paint(inner, self.view.canvas, self.view._overlay, part_region)
        inner.end()
        painter.drawImage(0, 0, part)
        painter.end()

    def whole(self):
        """A whole frame as it is now, by a painter that has painted nothing before."""
        image = self._empty()
        painter = QPainter(image)
        frames = FramePainter(self.view.rows, self.view.theme)
        frames.title_indent = self.view.frames.title_indent
        frames.paint(painter, self.view.canvas, self.view._overlay)
        painter.end()
        return image

    def check(self):
        self.flush()
        assert pixels_of(self.image) == pixels_of(self.whole())


def pixels_of(image):
    return bytes(image.constBits())


def spots(shown):
    """Points of all kinds: on slices, marks, counters, headers, chips and empty places."""
    scene, port = shown.timeline.scene, canvas(shown)
    rng = random.Random(1)
    points = [QPoint(rng.randrange(port.width()), rng.randrange(port.height())) for _ in range(40)]
    for kind in (BandKind.STRIP, BandKind.COUNTER, BandKind.PROCESS, BandKind.ROW):
        bands = np.flatnonzero(scene.layout.kind == kind).tolist()[:3]
        for band in bands:
            y = middle_of(shown, band)
            points += [QPoint(rng.randrange(port.width()), y) for _ in range(6)]
    return points


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attn_xnnpack_x5.etdp", "cnn_portable_x10.etdp"])
def test_moves_leave_the_pixels_of_a_whole_frame(harness, data, monkeypatch, name):
    harness.open(data / "etdump" / name)
    store = Store(harness, monkeypatch)
    harness.timeline.view.repaint_all()
    store.check()
    for number, point in enumerate(spots(harness)):
        move(canvas(harness), point)
        store.check()
        if number % 9 == 5:
            QApplication.sendEvent(harness.timeline.view, QEvent(QEvent.Type.Leave))
            store.check()
        if number % 11 == 7:
            harness.session.select_slice(SliceRef(0, number))
            store.check()
        if number % 13 == 3:
            middle = (harness.session.state.t0 + harness.session.state.t1) // 2
            navigation.zoom(harness.session, 0.9, middle, now=0.0)
            store.check()
    # Moves that changed nothing else asked for little, and painted no whole frame.
    whole = store.size.width() * store.size.height()
    assert np.median(store.areas) < whole / 8
    assert store.whole_frames < len(store.areas)


@pytest.mark.slow
def test_moves_over_counters_and_marks_leave_the_pixels_of_a_whole_frame(
    harness, data, monkeypatch
):
    harness.open(data / "torq" / "compile_c3_taskid_mtu.csv")
    store = Store(harness, monkeypatch)
    harness.timeline.view.repaint_all()
    for point in spots(harness):
        move(canvas(harness), point)
        store.check()


def test_the_cursor_of_an_aligned_strip_moves_alone(harness, data, monkeypatch):
    harness.open(data / "etdump" / "cnn_portable_x10.etdp")
    store = Store(harness, monkeypatch)
    view, scene = harness.timeline.view, harness.timeline.scene
    view.repaint_all()
    for x in (40, 100, 101, 300):
        view.show_cursor(scene.xmap(store.size.width()).place_at(x))
        store.check()
    view.show_cursor(None)
    store.check()
    assert store.whole_frames <= 2


def test_a_hover_paints_one_frame_for_many_moves(harness, data, monkeypatch):
    harness.open(data / "etdump" / "cnn_portable_x10.etdp")
    store = Store(harness, monkeypatch)
    harness.timeline.view.repaint_all()
    store.flush()
    assert store.whole_frames == 1
    y = place_of(harness, 0).y()
    for x in range(50, 250, 3):
        move(canvas(harness), QPoint(x, y))
        store.flush()
    assert store.whole_frames == 2, "once more, for the frame without the mouse"
    assert max(store.areas[1:]) < store.size.width() * store.size.height() / 4
    assert column(harness, 0) >= 0


@pytest.mark.slow
def test_the_window_has_the_pixels_of_a_whole_frame(harness, data):
    """What is on the screen of the platform, where Qt chooses what to paint."""
    harness.open(data / "etdump" / "attn_xnnpack_x5.etdp")
    view = harness.timeline.view
    port = canvas(harness)
    for point in spots(harness)[:30]:
        move(port, point)
        QApplication.processEvents()
        view.tip.hide()
        QApplication.processEvents()
        corner = port.mapTo(port.window(), QPoint())
        window = port.window().windowHandle()
        shown = window.screen().grabWindow(
            port.window().winId(), corner.x(), corner.y(), port.width(), port.height()
        )
        expected = QImage(port.size(), QImage.Format.Format_RGB32)
        painter = QPainter(expected)
        frames = FramePainter(view.rows, view.theme)
        frames.title_indent = view.frames.title_indent
        frames.paint(painter, view.canvas, view._overlay)
        painter.end()
        image = shown.toImage().convertToFormat(QImage.Format.Format_RGB32)
        assert pixels_of(image) == pixels_of(expected)
