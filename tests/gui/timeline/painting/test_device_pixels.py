"""Rows that are written into the device of the painter look as those of an image that is drawn."""

import gc
import random
import weakref
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage, QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QGraphicsOpacityEffect, QLabel, QWidget

from tests.builders.compared_windows import arms_of, write_arms
from tests.builders.torq_planned import LOWERED, PROFILE, open_planned
from tests.gui.events import canvas, wheel
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.session.comparison import compare
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.selection import toggle_slice
from viewer.gui.timeline.painting import frame
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.painting.pixels import draw_parts, pixels_under
from viewer.gui.timeline.view import TimelineView
from viewer.render.layout import Canvas
from viewer.view.state import SliceRef

WIDTH, HEIGHT = 480, 300
AROUND = 0xFFCC00CC
CORNER = QPoint(13, 7)
SCHEMES = "name", "duration", "operator"
FORMATS = (
    QImage.Format.Format_RGB32,
    QImage.Format.Format_ARGB32_Premultiplied,
)


def device(ratio, image_format=FORMATS[0]):
    """An image that is larger than the canvas, and of one color."""
    size = Canvas(WIDTH + 40, HEIGHT + 30, ratio)
    image = QImage(size.columns, size.lines, image_format)
    image.setDevicePixelRatio(ratio)
    image.fill(AROUND)
    return image


def pixels_of(image):
    flat = np.frombuffer(image.constBits(), np.uint32)
    return flat.reshape(image.height(), -1)[:, : image.width()].copy()


def corner_of(ratio):
    """A corner at a whole device pixel."""
    return CORNER if float(ratio).is_integer() else QPoint(12, 8)


class Painted:
    """Frames of a strip on a device, in either way; counts those written into it."""

    def __init__(self, strip, monkeypatch):
        self.strip, self.monkeypatch = strip, monkeypatch
        self.written = 0

    def _under(self, painter, canvas):
        pixels = pixels_under(painter, canvas)
        self.written += pixels is not None
        return pixels

    def frame(self, ratio, direct, image_format=FORMATS[0]):
        view = self.strip.view
        frames = FramePainter(view.rows, view.theme)
        frames.title_indent = view.frames.title_indent
        frames.ruler_scene = view.frames.ruler_scene
        frames.tails.is_b = view.frames.tails.is_b
        image = device(ratio, image_format)
        self.monkeypatch.setattr(frame, "pixels_under", self._under if direct else lambda *_: None)
        painter = QPainter(image)
        painter.translate(corner_of(ratio))
        # The rest of a device stays as it was.
        frames.paint(painter, Canvas(WIDTH, HEIGHT, ratio), Overlay(mouse=QPoint(200, 90)))
        painter.end()
        return pixels_of(image)

    def check(self, what):
        for ratio in (1.0, 2.0, 1.5):
            drawn = self.frame(ratio, direct=False)
            for image_format in FORMATS:
                before = self.written
                assert (self.frame(ratio, True, image_format) == drawn).all(), (what, ratio)
                assert self.written == before + 1


def check_views(shown, monkeypatch, seed, steps):
    """Compare both ways in views that follow each other at random."""
    rng, session = random.Random(seed), shown.session
    queries = ["", "add", "conv", "a", "Method"]

    def zoom():
        first, last = session.group.span_ns // 50, session.group.span_ns
        start = rng.randrange(last)
        session.set_range(start, start + rng.randrange(1, first + 1) * rng.choice((1, 60)))

    def select():
        trace = rng.randrange(len(session.traces))
        count = len(session.traces[trace].trace.slices)
        session.select_slice(SliceRef(trace, rng.randrange(count)))
        for _ in range(rng.randrange(3)):
            toggle_slice(session, SliceRef(trace, rng.randrange(count)))

    def search():
        Search.of(session).set_query(rng.choice(queries))
        Search.of(session).show_only_hits(rng.random() < 0.3)

    def pin():
        arrange_tracks(session, session.state.tracks.pinned_or_not((0, rng.randrange(3))))

    changes = [zoom, zoom, select, search, pin,
               lambda: shown.theme.set_choice(rng.choice(("dark", "light"))),
               lambda: session.change(replace(session.state, scheme=rng.choice(SCHEMES))),
               lambda: shown.timeline.scene.scroll_to(rng.randrange(300))]  # fmt: skip
    for strip in shown.timeline.strips:
        Painted(strip, monkeypatch).check("at first")
    for _ in range(steps):
        change = rng.choice(changes)
        change()
        shown.settle()
        for strip in shown.timeline.strips:
            Painted(strip, monkeypatch).check(change)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_views_of_a_sample(attention, monkeypatch, seed):
    check_views(attention, monkeypatch, seed, steps=12)


@pytest.mark.slow
def test_views_with_counters(harness, data, monkeypatch):
    harness.open(data / "torq" / "compile_c3_taskid_mtu.csv")
    check_views(harness, monkeypatch, 2, steps=8)


@pytest.mark.slow
def test_views_with_plans(harness, data, monkeypatch):
    open_planned(harness, data / "torq", LOWERED, PROFILE)
    check_views(harness, monkeypatch, 3, steps=8)


@pytest.mark.slow
def test_views_of_compared_strips(harness, tmp_path, monkeypatch):
    a, b = write_arms(tmp_path)
    harness.open(*a, *b)
    compare(harness.session, arms_of(a, b))
    harness.settle()
    assert len(harness.timeline.strips) == 2
    check_views(harness, monkeypatch, 4, steps=8)


def test_an_empty_timeline(harness, monkeypatch):
    Painted(harness.timeline.strips[0], monkeypatch).check("nothing open")


# -- when a device is written into ---------------------------------------------------------------


def pixels_on(image, canvas, prepare=lambda painter: None):
    """What a painter on an image gets, and lets go of before it ends."""
    painter = QPainter(image)
    prepare(painter)
    pixels = pixels_under(painter, canvas)
    found = None if pixels is None else (pixels.shape, pixels.strides)
    del pixels
    painter.end()
    return found


def test_the_pixels_are_those_at_the_place_of_the_painter(qapp):
    image = device(2.0)
    painter = QPainter(image)
    painter.translate(CORNER)
    pixels = pixels_under(painter, Canvas(WIDTH, HEIGHT, 2.0))
    assert pixels is not None
    assert pixels.shape == (2 * HEIGHT, 2 * WIDTH)
    pixels[:] = 0xFF102030
    del pixels
    painter.end()
    written = pixels_of(image) == 0xFF102030
    lines, columns = np.nonzero(written)
    assert (lines.min(), lines.max()) == (2 * CORNER.y(), 2 * (CORNER.y() + HEIGHT) - 1)
    assert (columns.min(), columns.max()) == (2 * CORNER.x(), 2 * (CORNER.x() + WIDTH) - 1)
    assert int(written.sum()) == 4 * WIDTH * HEIGHT


PLAIN = Canvas(WIDTH, HEIGHT)


@pytest.mark.parametrize(
    "prepare",
    [
        lambda painter: painter.setClipRect(QRect(0, 0, WIDTH, HEIGHT)),
        lambda painter: painter.setOpacity(0.5),
        lambda painter: painter.setCompositionMode(
            QPainter.CompositionMode.CompositionMode_Multiply
        ),
        lambda painter: painter.translate(0.5, 0),
        lambda painter: painter.translate(-1, 0),
        lambda painter: painter.translate(0, 31),
        lambda painter: painter.scale(2, 1),
        lambda painter: painter.scale(-1, 1),
        lambda painter: painter.rotate(90),
        lambda painter: painter.shear(0.1, 0),
    ],
)
def test_what_a_painter_would_change_is_left_to_it(qapp, prepare):
    assert pixels_on(device(1), PLAIN) is not None
    assert pixels_on(device(1), PLAIN, prepare) is None


def test_other_formats_and_sizes_are_left_to_the_painter(qapp):
    for image_format in (
        QImage.Format.Format_RGB16,
        QImage.Format.Format_RGBX8888,
        QImage.Format.Format_RGBA64_Premultiplied,
        QImage.Format.Format_Grayscale8,
    ):
        assert pixels_on(device(1, image_format), PLAIN) is None
    assert pixels_on(device(2.0), PLAIN) is None  # another ratio
    assert pixels_on(QImage(WIDTH, HEIGHT - 1, FORMATS[0]), PLAIN) is None
    assert pixels_on(QImage(WIDTH, HEIGHT, FORMATS[0]), PLAIN) is not None


def test_an_image_that_is_shared_is_not_changed_elsewhere(qapp):
    image = device(1)
    copy = QImage(image)
    painter = QPainter(image)
    pixels = pixels_under(painter, PLAIN)
    pixels[:] = 0xFF000000
    del pixels
    painter.end()
    assert (pixels_of(copy) == AROUND).all()
    assert (pixels_of(image)[:HEIGHT, :WIDTH] == 0xFF000000).all()


# -- widgets -------------------------------------------------------------------------------------


class Filled(QWidget):
    """A widget that asks for its pixels, and paints one color without them."""

    def __init__(self, parent=None):
        super().__init__(parent)
        self.direct = []

    def paintEvent(self, event):
        painter = QPainter(self)
        canvas = Canvas(self.width(), self.height(), self.devicePixelRatioF())
        pixels = pixels_under(painter, canvas)
        self.direct.append(pixels is not None)
        if pixels is None:
            painter.fillRect(self.rect(), 0xFF336699)
        else:
            pixels[:] = 0xFF336699
        del pixels
        painter.end()


@pytest.fixture
def filled(qtbot):
    window = QWidget()
    window.resize(300, 200)
    part = Filled(window)
    part.setGeometry(20, 30, 200, 100)
    window.show()
    qtbot.addWidget(window)
    qtbot.waitUntil(lambda: bool(part.direct))
    part.direct.clear()
    yield part
    window.close()


def grabbed(widget):
    """What is on the screen of the platform."""
    window = widget.window()
    screen = window.windowHandle().screen()
    return pixels_of(
        screen.grabWindow(window.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    )


def test_a_whole_widget_is_written_into_the_store_of_its_window(filled):
    before = grabbed(filled)
    assert (before[30:130, 20:220] == 0xFF336699).all()
    filled.repaint()
    assert filled.direct == [True]
    assert (grabbed(filled) == before).all()


def test_a_part_of_a_widget_is_left_to_the_painter(filled):
    filled.repaint(QRegion(5, 5, 20, 20))
    assert filled.direct == [False]


def test_what_another_widget_covers_is_left_to_the_painter(filled):
    above = QLabel("above", filled)
    above.setAutoFillBackground(True)
    above.show()
    filled.repaint()
    assert filled.direct[-1] is False
    assert (grabbed(filled)[129, 20:220] == 0xFF336699).all()


def test_a_widget_beyond_its_window_is_left_to_the_painter(filled):
    filled.setGeometry(200, 30, 200, 100)
    filled.repaint()
    assert filled.direct[-1] is False


def test_a_widget_with_an_effect_is_blended(filled):
    effect = QGraphicsOpacityEffect(filled)
    effect.setOpacity(0.5)
    filled.setGraphicsEffect(effect)
    filled.window().repaint()
    color = int(grabbed(filled)[80, 120])
    assert color not in (0xFF336699, AROUND)


def test_pictures_of_a_widget_have_its_pixels(filled):
    assert (pixels_of(filled.grab().toImage()) == 0xFF336699).all()
    image = QImage(400, 300, QImage.Format.Format_RGB32)
    image.fill(AROUND)
    filled.render(image, QPoint(11, 13))
    inside = pixels_of(image) == 0xFF336699
    assert int(inside.sum()) == 200 * 100
    assert inside[13:113, 11:211].all()
    pixmap = QPixmap(200, 100)
    painter = QPainter(pixmap)
    filled.render(painter, QPoint(0, 0))
    painter.end()
    assert (pixels_of(pixmap.toImage()) == 0xFF336699).all()


def test_a_window_shows_what_a_painter_draws(attention, monkeypatch):
    """What is on the screen was written, and is what an image of the same frame is."""
    view, port = attention.timeline.view, canvas(attention)
    painted = Painted(attention.timeline.strips[0], monkeypatch)
    monkeypatch.setattr(frame, "pixels_under", painted._under)
    for query in ("", "conv"):
        Search.of(attention.session).set_query(query)
        attention.settle()
        painted.written = 0
        view.repaint_all()
        attention.settle()
        assert painted.written == 1
        corner = port.mapTo(port.window(), QPoint())
        image = QImage(port.size(), FORMATS[0])
        frames = FramePainter(view.rows, view.theme)
        frames.title_indent = view.frames.title_indent
        with monkeypatch.context() as patch:
            patch.setattr(frame, "pixels_under", lambda *_: None)
            painter = QPainter(image)
            frames.paint(painter, view.canvas, Overlay())
            painter.end()
        shown = grabbed(port)[corner.y() :, corner.x() :][: port.height(), : port.width()]
        assert (shown == pixels_of(image)).all()


def test_parts_are_written_or_drawn_alike(qapp):
    """Into any part of the device, and not beyond the canvas."""
    rng = np.random.default_rng(0)
    for ratio in (1.0, 2.0):
        canvas = Canvas(WIDTH, HEIGHT, ratio)
        source = rng.integers(0, 1 << 24, (canvas.lines, canvas.columns), np.uint32) | 0xFF000000
        image = QImage(
            source.data, canvas.columns, canvas.lines, canvas.columns * 4, FORMATS[0]
        )  # fmt: skip
        region = QRegion(10, 20, 3, HEIGHT)
        region += QRegion(0, 0, WIDTH + 30, 5)
        region += QRegion(200, 100, 40, 30)
        results = []
        for image_format in (*FORMATS, QImage.Format.Format_RGBX8888):
            target = device(ratio, image_format)
            painter = QPainter(target)
            painter.translate(CORNER)
            draw_parts(painter, image, canvas, region)
            painter.end()
            results.append(pixels_of(target.convertToFormat(FORMATS[0])))
        assert (results[0] == results[1]).all()
        assert (results[0] == results[2]).all()
        assert (results[0] != AROUND).any()


def test_a_part_beyond_the_clip_is_left_to_the_painter(filled):
    """As that of a picture of a part of a widget."""
    seen = []

    class Asking(QWidget):
        def paintEvent(self, event):
            painter = QPainter(self)
            canvas = Canvas(self.width(), self.height(), self.devicePixelRatioF())
            for region in (QRegion(6, 6, 5, 5), QRegion(0, 0, 8, 8), None):
                pixels = pixels_under(painter, canvas, region)
                seen.append(pixels is not None)
                del pixels
            painter.end()

    part = Asking(filled.window())
    part.setGeometry(20, 30, 100, 50)
    part.show()
    part.repaint(QRegion(5, 5, 20, 20))
    assert seen[-3:] == [True, False, False]


# -- lifetime ------------------------------------------------------------------------------------


def test_nothing_keeps_the_pixels_of_a_window(attention, monkeypatch):
    """They are freed with the store, as when a window is resized."""
    taken = []

    def under(painter, canvas):
        pixels = pixels_under(painter, canvas)
        if pixels is not None:
            taken.append(weakref.ref(pixels))
        return pixels

    monkeypatch.setattr(frame, "pixels_under", under)
    view = attention.timeline.view
    assert isinstance(view, TimelineView)
    gc.disable()  # a cycle would keep them too
    try:
        for width in (900, 700, 1200):
            attention.window.resize(width, 400)
            attention.settle()
            wheel(canvas(attention), QPoint(200, 100), 1)
            view.viewport().repaint()
            Search.of(attention.session).set_query("add")
            attention.session.select_slice(SliceRef(0, 3))
            view.viewport().repaint()
        assert len(taken) >= 6
        assert [pixels for pixels in taken if pixels() is not None] == []
    finally:
        gc.enable()
