"""Labels that are painted often are copied, and look as if they were written."""

import numpy as np
import pytest
from PySide6.QtCore import QBuffer, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QStaticText
from PySide6.QtSvg import QSvgGenerator

from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.gui.timeline.painting import labels as label_pictures
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.painting.labels import OFTEN, LabelPictures, Picture, Written
from viewer.render.layout import Canvas
from viewer.view.state import SliceRef

# Text is painted, which ends a process without the application.
pytestmark = pytest.mark.usefixtures("qapp")

RATIOS = [1.0, 1.25, 1.5, 1.75, 2.0, 3.0]
INK, GROUND = 0xFFF0F0EB, QColor(40, 90, 160)


@pytest.fixture
def labels_are_written():
    """Not here: see `tests.gui.conftest`."""


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


def known():
    """The picture of a text that was written often."""
    return Picture(written=OFTEN)


def copied(pictures, words, labels, x, y):
    """How a text is painted by its picture, as a function of a painter."""

    def paint(painter):
        pictures.start(painter)
        pictures.start_frame()
        column, line, rest = pictures.place(x, y)
        every = pictures.places(np.array([0.0, x]), np.array([0.0, y]))
        assert [int(of[1]) for of in every] == [column, line, rest]
        picture = known()
        assert pictures.take(picture, text(words), labels, INK, rest)
        pictures.copy(column + picture.x, line + picture.y, picture.image)
        pictures.logical().fillRect(0, 50, 7, 5, Qt.GlobalColor.red)

    return paint


def written(words, labels, x, y):
    def paint(painter):
        painter.setFont(labels.font)
        painter.setPen(QColor.fromRgba(INK))
        painter.drawStaticText(QPointF(x, y), text(words))
        painter.fillRect(0, 50, 7, 5, Qt.GlobalColor.red)

    return paint


@pytest.mark.parametrize("origin", [(0.0, 0.0), (13.0, 2.0), (7.3, 1.6)])
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("role", ["label", "zero_length"])
def test_a_picture_has_the_pixels_of_the_text(theme, role, ratio, origin):
    """At each place that a column has, and in between."""
    labels, pictures = LabelCache(theme.font(role)), LabelPictures()
    for name in ("model.AVfgj…", "1.25 µs", "层 ÅÇ"):
        for column in range(0, 30):
            x, y = column / ratio + 6, 7 + (22 - 13.297) / 2
            for place in ((x, y), (x + 0.37 * column, y - 4)):
                wanted = on_image(written(name, labels, *place), ratio, origin)
                found = on_image(copied(pictures, name, labels, *place), ratio, origin)
                assert np.abs(wanted - found).max() <= 1, (name, place)


@pytest.fixture
def copies(monkeypatch):
    """Whether each text was copied."""
    asked, find, take = [], LabelPictures.find, LabelPictures.take

    def found(pictures, key):
        label = find(pictures, key)
        if label is not None and label.picture.image is not None:
            asked.append(True)
        return label

    def taken(pictures, *args):
        asked.append(take(pictures, *args))
        return asked[-1]

    monkeypatch.setattr(LabelPictures, "find", found)
    monkeypatch.setattr(LabelPictures, "take", taken)
    monkeypatch.setattr(label_pictures, "_MOST_NEW", 1000)
    monkeypatch.setattr(label_pictures, "OFTEN", 1)
    return asked


def frame(frames, ratio):
    canvas = Canvas(900, 400, ratio)
    paint = lambda painter: frames.paint(painter, canvas, Overlay())  # noqa: E731
    return on_image(paint, ratio, size=(900, 400))


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_frame_is_the_same_when_painted_again(attention, copies, monkeypatch, ratio):
    """Of a sample with stripes, times and chips beside labels, whose pixels are all of both."""
    with monkeypatch.context() as patch:
        patch.setattr(label_pictures, "_looks_alike", lambda labels, scale: False)
        first = frame(FramePainter(attention.timeline.scene, attention.theme), ratio)
    frames = FramePainter(attention.timeline.scene, attention.theme)
    frame(frames, ratio)
    for _ in range(2):
        copies.clear()
        assert np.abs(frame(frames, ratio) - first).max() <= 1
        assert len(copies) > 5
        assert all(copies)


def test_flows_know_the_places_of_copied_labels_too(attention, copies):
    session, shown = attention.session, attention.session.traces[0]
    spans = [shown.span_ns(i) for i in range(len(shown.trace.slices))]
    in_view = [i for i, (start, end) in enumerate(spans)
               if session.state.t0 <= start and end <= session.state.t1]  # fmt: skip
    session.select_slice(SliceRef(0, max(in_view, key=lambda i: spans[i][1] - spans[i][0])))
    frames = FramePainter(attention.timeline.scene, attention.theme)
    frame(frames, 1.0)
    written = frames.labels.taken, frames.labels.selected_label
    assert len(written[0]) > 5
    assert not written[1].isEmpty()
    copies.clear()
    frame(frames, 1.0)
    assert all(copies)
    assert (frames.labels.taken, frames.labels.selected_label) == written


def test_another_scale_or_font_has_other_pictures(attention, copies):
    frames = FramePainter(attention.timeline.scene, attention.theme)
    frame(frames, 1.0)
    changes = [lambda: None, lambda: frame(frames, 1.25), frames.retheme]
    for change, is_same in zip(changes, (True, False, False), strict=True):
        change()
        copies.clear()
        frame(frames, 1.0)
        assert all(copies) == is_same
        copies.clear()
        frame(frames, 1.0)
        assert all(copies)


def test_other_colors_have_other_pictures(attention):
    frames = FramePainter(attention.timeline.scene, attention.theme)
    for _ in range(2):
        frame(frames, 1.0)
    attention.theme.set_choice("light" if attention.theme.dark else "dark")
    light = frame(frames, 1.0)
    fresh = frame(FramePainter(attention.timeline.scene, attention.theme), 1.0)
    assert np.abs(light - fresh).max() <= 1


def test_labels_with_colored_edges_are_written(attention, copies, monkeypatch):
    monkeypatch.setattr(label_pictures, "_looks_alike", lambda labels, scale: False)
    frames = FramePainter(attention.timeline.scene, attention.theme)
    first = frame(frames, 1.0)
    assert (frame(frames, 1.0) == first).all()
    assert copies
    assert not any(copies)


def test_vectors_are_of_texts(attention):
    """Also when a screen showed the same labels before."""
    frames = FramePainter(attention.timeline.scene, attention.theme)
    counts = []
    for before in (0, OFTEN + 20):
        for _ in range(before):
            frame(frames, 1.0)
        buffer, generator = QBuffer(), QSvgGenerator()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        generator.setOutputDevice(buffer)
        painter = QPainter(generator)
        frames.paint(painter, Canvas(900, 400, 1.0), Overlay())
        painter.end()
        counts.append(bytes(buffer.data().data()).count(b"<text"))
    assert counts[0] == counts[1] > 5


def taken(pictures, count, labels):
    """Pictures of texts that were written often, in a frame of their own."""
    found = []

    def paint(painter):
        pictures.start(painter)
        pictures.start_frame()
        for number in range(count):
            found.append(known())
            pictures.take(found[-1], text(f"label {number}"), labels, INK, 0)

    on_image(paint)
    return found


def test_pictures_take_limited_memory(monkeypatch):
    monkeypatch.setattr(label_pictures, "_MOST_PIXELS", 5_000)
    monkeypatch.setattr(label_pictures, "_MOST_NEW", 40)
    found = taken(LabelPictures(), 40, LabelCache(QFont()))
    kept = [picture.image for picture in found if picture.image is not None]
    assert 2 < len(kept) < 38
    assert all(picture.image is not None for picture in found[-len(kept) :])
    assert sum(image.width() * image.height() for image in kept) <= 5_000


def test_a_frame_makes_few_pictures():
    """All labels of a view may be new, and become frequent at once."""
    pictures, labels = LabelPictures(), LabelCache(QFont())
    for _ in range(2):
        made = [one.image is not None for one in taken(pictures, 40, labels)]
        assert made == [True] * 4 + [False] * 36


def test_a_text_has_a_picture_when_it_was_written_often():
    pictures, labels, picture = LabelPictures(), LabelCache(QFont()), Picture()

    def paint(painter):
        pictures.start(painter)
        pictures.start_frame()
        asked = [pictures.take(picture, text("a"), labels, INK, 0) for _ in range(OFTEN + 2)]
        assert asked == [False] * OFTEN + [True] * 2

    on_image(paint)


def test_labels_with_the_same_text_share_a_picture_and_are_forgotten(monkeypatch):
    monkeypatch.setattr(label_pictures, "_MOST_LABELS", 3)
    pictures = LabelPictures()
    first = pictures.of("text")
    assert pictures.of("text") is first
    for number in range(5):
        pictures.add(number, Written(None, 0.0, pictures.of(number)))
    assert [number for number in range(5) if pictures.find(number) is not None] == [2, 3, 4]
    assert pictures.of("text") is not first
