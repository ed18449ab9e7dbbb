"""Labels that are painted again are copied, and look as if they were written."""

import numpy as np
import pytest
from PySide6.QtCore import QBuffer, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QStaticText
from PySide6.QtSvg import QSvgGenerator

from viewer.gui.timeline.painting import label_pictures
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.painting.label_pictures import LabelPictures, Written
from viewer.render.canvas import Canvas

RATIOS = [1.0, 1.25, 1.5, 1.75, 2.0, 3.0]
INK, GROUND = 0xFFF0F0EB, QColor(40, 90, 160)


def pixels(image):
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows.astype(np.int16)


def on_image(paint, ratio=1.0, at=(0.0, 0.0), size=(400, 60)):
    """What is painted on an opaque image, with a painter that has its origin `at` there."""
    image = QImage(QSize(*size) * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(GROUND)
    painter = QPainter(image)
    painter.translate(*at)
    paint(painter)
    painter.end()
    return pixels(image)


def text(of):
    return QStaticText(of)


def copied(pictures, label, font, x, y):
    """How a label is painted by its picture, as a function of a painter."""

    def paint(painter):
        pictures.start(painter)
        column, line, rest = pictures.place(x, y)
        every = pictures.places(np.array([0.0, x]), np.array([0.0, y]))
        assert [int(of[1]) for of in every] == [column, line, rest]
        label.picture = None  # of this place
        assert pictures.take(label, font, INK, rest)
        pictures.copy(column + label.x, line + label.y, label.picture)
        pictures.logical().fillRect(0, 50, 7, 5, Qt.GlobalColor.red)

    return paint


def written(label, font, x, y):
    def paint(painter):
        painter.setFont(font)
        painter.setPen(QColor.fromRgba(INK))
        painter.drawStaticText(QPointF(x, y), label.text)
        painter.fillRect(0, 50, 7, 5, Qt.GlobalColor.red)

    return paint


@pytest.mark.parametrize("origin", [(0.0, 0.0), (13.0, 2.0), (7.3, 1.6)])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("role", ["label", "zero_length"])
def test_a_picture_has_the_pixels_of_the_text(theme, role, ratio, origin):
    """At each place that a column has, and in between."""
    font, pictures = theme.font(role), LabelPictures()
    for name in ("model.AVfgj…", "1.25 µs", "层 ÅÇ"):
        label = Written(text(name), 0.0)
        for column in range(0, 30):
            x, y = column / ratio + 6, 7 + (22 - 13.297) / 2
            for place in ((x, y), (x + 0.37 * column, y - 4)):
                wanted = on_image(written(label, font, *place), ratio, origin)
                found = on_image(copied(pictures, label, font, *place), ratio, origin)
                assert np.abs(wanted - found).max() <= 1, (name, place)


@pytest.fixture
def copies(monkeypatch):
    """Whether each label that was painted before has a picture."""
    asked, find, take = [], LabelPictures.find, LabelPictures.take

    def found(pictures, key):
        label = find(pictures, key)
        if label is not None and label.picture is not None:
            asked.append(True)
        return label

    def taken(pictures, *args):
        asked.append(take(pictures, *args))
        return asked[-1]

    monkeypatch.setattr(LabelPictures, "find", found)
    monkeypatch.setattr(LabelPictures, "take", taken)
    return asked


def frame(frames, ratio):
    canvas = Canvas(900, 400, ratio)
    paint = lambda painter: frames.paint(painter, canvas, Overlay())  # noqa: E731
    return on_image(paint, ratio, size=(900, 400))


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_frame_is_the_same_when_painted_again(attention, copies, monkeypatch, ratio):
    """Of a sample with stripes, times and chips beside labels, whose pixels are all of both."""
    with monkeypatch.context() as patch:
        patch.setattr(label_pictures, "_looks_alike", lambda font, scale: False)
        first = frame(FramePainter(attention.timeline.scene, attention.theme), ratio)
    frames = FramePainter(attention.timeline.scene, attention.theme)
    frame(frames, ratio)
    for _ in range(2):
        copies.clear()
        assert np.abs(frame(frames, ratio) - first).max() <= 1
        assert len(copies) > 5
        assert all(copies)


def test_another_scale_or_font_has_other_pictures(attention, copies):
    frames = FramePainter(attention.timeline.scene, attention.theme)
    for _ in range(2):
        frame(frames, 1.0)
    copies.clear()
    frame(frames, 1.25)
    assert not copies
    frame(frames, 1.25)
    assert copies
    copies.clear()
    frames.retheme()
    frame(frames, 1.25)
    assert not copies


def test_other_colors_have_other_pictures(attention):
    frames = FramePainter(attention.timeline.scene, attention.theme)
    for _ in range(2):
        frame(frames, 1.0)
    attention.theme.set_choice("light" if attention.theme.dark else "dark")
    light = frame(frames, 1.0)
    fresh = frame(FramePainter(attention.timeline.scene, attention.theme), 1.0)
    assert np.abs(light - fresh).max() <= 1


def test_labels_with_colored_edges_are_written(attention, copies, monkeypatch):
    monkeypatch.setattr(label_pictures, "_looks_alike", lambda font, scale: False)
    frames = FramePainter(attention.timeline.scene, attention.theme)
    first = frame(frames, 1.0)
    assert (frame(frames, 1.0) == first).all()
    assert copies
    assert not any(copies)


def test_vectors_are_of_texts(attention):
    frames = FramePainter(attention.timeline.scene, attention.theme)
    counts = []
    for _ in range(2):
        buffer, generator = QBuffer(), QSvgGenerator()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        generator.setOutputDevice(buffer)
        painter = QPainter(generator)
        frames.paint(painter, Canvas(900, 400, 1.0), Overlay())
        painter.end()
        counts.append(bytes(buffer.data().data()).count(b"<text"))
    assert counts[0] == counts[1] > 5


def test_pictures_take_limited_memory(monkeypatch):
    monkeypatch.setattr(label_pictures, "_MOST_PIXELS", 5_000)
    pictures, font = LabelPictures(), QFont()
    shown = []

    def paint(painter):
        pictures.start(painter)
        for number in range(40):
            label = Written(text(f"label {number}"), 0.0)
            pictures.add(number, label)
            assert pictures.take(label, font, INK, 0)
            shown.append(label.picture.width() * label.picture.height())

    on_image(paint)
    kept = [number for number in range(40) if pictures.find(number) is not None]
    assert kept == list(range(kept[0], 40))
    assert sum(shown[number] for number in kept) <= 5_000 < sum(shown[kept[0] - 1 :])


def test_many_labels_are_forgotten(monkeypatch):
    monkeypatch.setattr(label_pictures, "_MOST_LABELS", 3)
    pictures = LabelPictures()
    for number in range(5):
        pictures.add(number, Written(None, 0.0))
    assert [pictures.find(number) is not None for number in range(5)] == [
        False, False, True, True, True,
    ]  # fmt: skip
