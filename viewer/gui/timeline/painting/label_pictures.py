"""Keeps texts that are painted often as pictures: copying one takes a third of writing it.

A picture has the same pixels as the text, up to 1 of 255. Qt places text in 64ths of a device
pixel, and cuts off the rest; a picture is of one such place, and is copied to whole device pixels.
Making a picture takes longer, so texts are written until they were painted often. Where text has
the colors of subpixels, or the painter makes vectors, all texts are written.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QImage,
    QPaintEngine,
    QPainter,
    QStaticText,
    QTransform,
)

from viewer.arrays import Floats, Ints
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.render.palette import Pixels

# As Qt places text: in 1 / 64 of a device pixel.
_STEPS, _SHIFT = 64, 6
OFTEN = 8  # making a picture takes as long as writing 20 texts, so most are written a few times
_SAMPLE = "Agjk 0.5 µs…"
_SAMPLE_COLORS = QColor(40, 90, 160), QColor(240, 240, 235)
_MOST_LABELS = 8192
_MOST_NEW = 4  # pictures per frame: 0.5 ms
_MOST_PIXELS = 4_000_000  # in all pictures: twice those of a screen


@dataclass(slots=True)
class Picture:
    """The picture of a text; `x`, `y`: from the whole device pixel of its place.

    image: None until the text was written `OFTEN` times, and after its memory is needed for others.
    """

    image: QImage | None = None
    x: int = 0
    y: int = 0
    written: int = 0


@dataclass(slots=True)
class Written:
    """What was written of a label: None if nothing fits; the px that it takes, and its picture.

    Labels of which the same part is written share the picture.
    """

    text: QStaticText | None
    wide: float
    picture: Picture


class LabelPictures:
    """The labels that were painted last, with pictures of texts that are painted often.

    Places are whole device pixels and the 64ths between them. The painter copies pictures in device
    pixels; `logical` returns it for anything else.
    """

    def __init__(self) -> None:
        self._labels: OrderedDict[Hashable, Written] = OrderedDict()
        self._pictures: OrderedDict[Hashable, Picture] = OrderedDict()  # by what they show
        self._painted: deque[Picture] = deque()  # those with an image, oldest first
        self._pixels = 0  # of all of these
        self._free = 0  # how many more the frame may make
        self._scale = 0.0  # of all pictures: device pixels per logical pixel
        self._exact: dict[str, bool] = {}  # by font: whether a picture looks as the text
        self._start = self._origin = QPointF()
        self._usual = self._whole = QTransform()
        self._painter = self._idle = QPainter()
        self._is_raster = self._in_device = False
        self.converts = False  # whether logical pixels are no device pixels

    def clear(self) -> None:
        """Forget all labels, because fonts or the scale are others."""
        self._labels.clear()
        self._pictures.clear()
        self._painted.clear()
        self._exact.clear()
        self._pixels = 0

    def start_frame(self) -> None:
        """Let a frame make some pictures."""
        self._free = _MOST_NEW

    def start(self, painter: QPainter) -> None:
        """Paint with this painter from now on, with its transformation of now."""
        device = painter.deviceTransform()
        scale = device.m11()
        is_even = device.isAffine() and not device.isRotating() and scale == device.m22() > 0
        engine = painter.paintEngine().type()
        is_raster = is_even and engine == QPaintEngine.Type.Raster
        if (scale, is_raster) != (self._scale, self._is_raster):
            self._scale, self._is_raster = scale, is_raster
            self.clear()
        x, y = device.dx(), device.dy()
        is_whole = scale == 1 and x.is_integer() and y.is_integer()
        self.converts = self._is_raster and not is_whole
        self._painter, self._usual, self._in_device = painter, painter.worldTransform(), False
        if self.converts:
            self._whole = device.inverted()[0] * self._usual
        self._start = QPointF(x, y)
        self._origin = QPointF(x, y) if is_whole else QPointF()

    def finish(self) -> None:
        """Leave the painter as it was, and keep no reference to it."""
        self.logical()
        self._painter = self._idle

    def places(self, x: Floats, y: Floats) -> tuple[Ints, Ints, Ints]:
        """Where logical places are: columns, lines, and 64ths right of and below them."""
        # As Qt calculates it: for 1.5 device pixels, the last bit may decide about a 64th.
        across = np.floor((x * self._scale + self._start.x()) * _STEPS).astype(np.int64)
        down = np.floor((y * self._scale + self._start.y()) * _STEPS).astype(np.int64)
        rest = (across & _STEPS - 1) << _SHIFT | down & _STEPS - 1
        left, top = int(self._origin.x()), int(self._origin.y())
        return (across >> _SHIFT) - left, (down >> _SHIFT) - top, rest

    def place(self, x: float, y: float) -> tuple[int, int, int]:
        """Where a logical place is, as `places` does."""
        across = math.floor((x * self._scale + self._start.x()) * _STEPS)
        down = math.floor((y * self._scale + self._start.y()) * _STEPS)
        rest = (across & _STEPS - 1) << _SHIFT | down & _STEPS - 1
        left, top = int(self._origin.x()), int(self._origin.y())
        return (across >> _SHIFT) - left, (down >> _SHIFT) - top, rest

    def find(self, key: Hashable) -> Written | None:
        """The label of a key, None if it was not painted lately."""
        written = self._labels.get(key)
        if written is not None:
            self._labels.move_to_end(key)
        return written

    def add(self, key: Hashable, label: Written) -> None:
        """Remember a label that is painted for the first time."""
        self._labels[key] = label
        if len(self._labels) > _MOST_LABELS:
            self._labels.popitem(last=False)

    def of(self, key: Hashable) -> Picture:
        """The picture of a text in one look, which may have no image yet."""
        picture = self._pictures.get(key)
        if picture is None:
            picture = self._pictures[key] = Picture()
            if len(self._pictures) > _MOST_LABELS:
                self._pictures.popitem(last=False)
        return picture

    def take(
        self, picture: Picture, text: QStaticText, labels: LabelCache, ink: int, rest: int
    ) -> bool:
        """Whether there is an image of a text; takes it if the text was written often.

        Not where it would look different, or shows nothing, or when the frame has made enough.
        rest: of the text's place.
        """
        if picture.image is not None:
            return True
        if picture.written < OFTEN:
            picture.written += 1
            return False
        if not self._free or not self._is_exact(labels):
            return False
        painted = _picture(text, labels, QColor.fromRgba(ink), self._scale, rest)
        if painted is None:
            return False
        image, picture.x, picture.y = painted
        picture.image = image
        self._free -= 1
        self._painted.append(picture)
        self._pixels += image.width() * image.height()
        while self._pixels > _MOST_PIXELS:
            self._forget_oldest()
        return True

    def copy(self, column: int, line: int, image: QImage) -> None:
        """Copy an image; if nothing `converts`, the painter can do it without this."""
        if self.converts and not self._in_device:
            self._painter.setWorldTransform(self._whole)
            self._in_device = True
        self._painter.drawImage(column, line, image)

    def logical(self) -> QPainter:
        """The painter in logical pixels."""
        if self._in_device:
            self._painter.setWorldTransform(self._usual)
            self._in_device = False
        return self._painter

    def _forget_oldest(self) -> None:
        picture = self._painted.popleft()
        if picture.image is not None:
            self._pixels -= picture.image.width() * picture.image.height()
            picture.image = None

    def _is_exact(self, labels: LabelCache) -> bool:
        """Whether pictures of texts look as the texts: not where these have colored edges."""
        name = labels.font.key()
        if name not in self._exact:
            self._exact[name] = self._is_raster and _looks_alike(labels, self._scale)
        return self._is_raster and self._exact[name]


def _picture(
    text: QStaticText, labels: LabelCache, ink: QColor, scale: float, rest: int
) -> tuple[QImage, int, int] | None:
    """The part of a text that has ink, as a picture, and its column and line from the text's place.

    None without ink. rest: 64ths of a device pixel right of the place, and below it.
    """
    # Letters may exceed the box of their line.
    air, words = labels.line_height, text.text()
    box = QRectF(0, 0, labels.width(words), labels.line_height)
    if not words.isascii():  # marks may be stacked on letters; measuring them takes a fifth
        box = box.united(labels.box(words))
    left, top = math.floor((box.left() - air) * scale), math.floor((box.top() - air) * scale)
    right, bottom = math.ceil((box.right() + air) * scale), math.ceil((box.bottom() + air) * scale)
    whole = QImage(right - left, bottom - top, QImage.Format.Format_ARGB32_Premultiplied)
    whole.fill(Qt.GlobalColor.transparent)
    painter = QPainter(whole)
    painter.scale(scale, scale)
    painter.setFont(labels.font)
    painter.setPen(ink)
    # The middle of a 64th, so that rounding does not reach the next one.
    x = -left + ((rest >> _SHIFT) + 0.5) / _STEPS
    y = -top + ((rest & _STEPS - 1) + 0.5) / _STEPS
    painter.drawStaticText(QPointF(x / scale, y / scale), text)
    painter.end()
    pixels = _pixels(whole) >> np.uint32(24)
    columns, lines = (np.flatnonzero(pixels.any(axis=axis)) for axis in (0, 1))
    if not len(columns):
        return None
    x0, y0 = int(columns[0]), int(lines[0])
    part = whole.copy(x0, y0, int(columns[-1]) + 1 - x0, int(lines[-1]) + 1 - y0)
    return part, left + x0, top + y0


def _looks_alike(labels: LabelCache, scale: float) -> bool:
    """Whether a sample looks the same as a picture, up to 1 of 255."""
    ground, ink = _SAMPLE_COLORS
    text = QStaticText(_SAMPLE)
    painted = _picture(text, labels, ink, scale, 0)
    if painted is None:
        return False
    picture, x, y = painted
    seen = []
    for copies in (False, True):
        image = QImage(picture.size(), QImage.Format.Format_RGB32)
        image.fill(ground)
        painter = QPainter(image)
        if copies:
            painter.drawImage(0, 0, picture)
        else:
            painter.translate(-x, -y)
            painter.scale(scale, scale)
            painter.setFont(labels.font)
            painter.setPen(ink)
            painter.drawStaticText(QPointF(0, 0), text)
        painter.end()
        seen.append(_pixels(image).view(np.uint8).astype(np.int16))
    return int(np.abs(seen[0] - seen[1]).max()) <= 1


def _pixels(image: QImage) -> Pixels:
    """The pixels of an image with 32 bits each."""
    pixels: Pixels = np.frombuffer(image.constBits(), np.uint32)
    return pixels.reshape(image.height(), image.width())
