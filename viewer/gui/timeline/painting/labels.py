"""Paints what is written on slices: labels, durations, the operators of shared slices, stripes.

A label needs `LABEL_WIDTH` px of its row, so the cost of a frame does not depend on the number of
slices. Texts that are painted often are kept as pictures: copying one takes a third of writing it.
A picture has the same pixels as the text, up to 1 of 255. Qt places text in 64ths of a device
pixel, and cuts off the rest; a picture is of one such place, and is copied to whole device pixels.
Making a picture takes longer, so texts are written until they were painted often. Where text has
the colors of subpixels, or the painter makes vectors, all texts are written.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPaintEngine, QPainter, QStaticText, QTransform

from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache, distinct_room
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.queries import NATIVE_DURATION
from viewer.model.text import name_text
from viewer.model.times import format_time, tick_to_ns
from viewer.model.trace import KeyKind, Slices
from viewer.render.layout import SLICE_TOP, STRIP_HEIGHT, Canvas
from viewer.render.palette import (
    PALETTE_SIZE,
    UNATTRIBUTED,
    UNLINKED,
    Emphasis,
    Pixels,
    fills,
    label_colors,
)
from viewer.render.raster import LABEL_WIDTH, Labels
from viewer.render.time_axis import XMap
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef

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
    pixels: Pixels = np.frombuffer(image.constBits(), np.uint32)
    return pixels.reshape(image.height(), image.width())


LABEL_INSET = 6
_NARROW, _NARROW_INSET = 30, 2  # px; on narrower slices every pixel is needed for letters
UNATTRIBUTED_ROOM = 120  # px; narrower unattributed time is recognized by its stripes alone
_COMPACT = 15  # px for a 13 px font; slices up to this height have the small font
_UNATTRIBUTED = int(KeyKind.UNATTRIBUTED)
_IS_TIMED = np.isin(np.arange(256), (KeyKind.FRAMEWORK, KeyKind.PLAIN, KeyKind.UNATTRIBUTED))
_OVERHANG = 4  # px by which a line of text may exceed the height of its slice
_RIBBON_ROOM = 22  # px; a slice less tall has no space for a label above the chips
_LIFT = 4  # px by which a label makes room for the chips below it
_HATCHED = UNLINKED, UNATTRIBUTED
_IS_HATCHED = np.isin(np.arange(PALETTE_SIZE), _HATCHED)
_LEAST_TALL = 6  # px; a slice less tall gets no stripes and no text
MARK = 3  # half the height of a diamond
_MARK_LABEL_ROOM = 56
_FOREIGN_EDGE = 5  # px

Numbers = TypeVar("Numbers", int, Ints)


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of one trace in a frame, in parallel arrays.

    slice: their slices. x, wide, top, tall: their rooms in px. text: their texts, -1 for none.
    inset: px left and right of the texts. room: px between, as far as it makes a difference. ink:
    0xAARRGGBB. y: the upper edge of texts in px, without chips. column, line, rest: the upper left
    corner of the texts, as pictures have it. look: what pictures depend on, except for the texts.
    free: px that a text must be narrower than, to have room for a time. is_small: the font.
    is_foreign: whether a separate clock timed the slice.
    """

    slice: Ints
    x: Floats
    wide: Floats
    top: Ints
    tall: Ints
    text: Ints
    inset: Ints
    room: Ints
    ink: Ints
    y: Floats
    column: Ints
    line: Ints
    rest: Ints
    look: Ints
    free: Floats
    is_small: Ints
    is_hatched: Bools
    is_foreign: Bools
    is_shared: Bools

    def rect(self, index: int) -> QRectF:
        x, wide, top, tall = self.x[index], self.wide[index], self.top[index], self.tall[index]
        return QRectF(float(x), int(top), float(wide), int(tall))


def name_of(label: str) -> str:
    """The label of a slice, or what every view shows of an empty one; controls stay as they are."""
    return label if label.strip() else name_text(label)


class LabelPainter:
    """Paints the labels of one scene, and caches the fitted texts between frames.

    `taken` has the place of each label of the current frame on the canvas while a slice is
    selected, else nothing; `own` is that of the selected slice, empty if it has none.
    """

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.theme = theme
        self.taken: list[QRectF] = []
        self.selected_label = QRectF()
        # The font and the color that the painter has: setting them is expensive.
        self._font: LabelCache | None = None
        self._ink = -1
        self._pictures = LabelPictures()
        self.retheme()

    def retheme(self) -> None:
        """Update cached fonts after the theme changed."""
        self._usual = LabelCache(self.theme.font("label"))
        self._small = LabelCache(self.theme.font("zero_length"))
        self._compact = self.theme.px(_COMPACT)
        self._pictures.clear()

    def start(self) -> None:
        """Start a frame: no label is painted yet."""
        self.taken, self.selected_label = [], QRectF()
        self._font, self._ink = None, -1
        self._pictures.start_frame()

    # -- slices ------------------------------------------------------------------------------

    def paint(
        self,
        painter: QPainter,
        canvas: Canvas,
        xmap: XMap,
        number: int,
        bands: Sequence[int],
    ) -> None:
        """Paint the labels and stripes of one trace in some bands of slices."""
        scene, layout = self.scene, self.scene.layout
        bands = [b for b in bands if layout.slice_height[b] >= _LEAST_TALL]
        if not bands:
            return
        drawn = scene.rasters[number]
        open_trace, trace_xmap = drawn.open_trace, xmap.on(drawn.open_trace.axis)
        rows = [int(layout.row[b]) for b in bands]
        unplaced = drawn.raster.labels(rows, trace_xmap, canvas.device(LABEL_WIDTH))
        selected = scene.session.state.slice
        lit = scene.drawings.stand_out(number, unplaced.slice)
        if scene.search.dims and scene.search.shows_only_hits:  # `lit` is then a hit
            chosen = selected.index if selected is not None and selected.trace == number else -1
            unplaced = unplaced.chosen(np.flatnonzero(lit | (unplaced.slice == chosen)))
            lit = scene.drawings.stand_out(number, unplaced.slice)
        if not len(unplaced.slice):
            return
        self._use(painter, self._usual)
        pictures, strings = self._pictures, open_trace.label_strings
        pictures.start(painter)
        labels = self._placed(drawn, canvas, bands, unplaced, lit)
        is_plain = ~(labels.is_hatched | labels.is_shared | labels.is_foreign) & (labels.text >= 0)
        copy = pictures.copy if pictures.converts else painter.drawImage
        # Most labels are plain and have a picture: each call more is a tenth of their time.
        for index, (text, look, column, line, free, plain) in enumerate(
            zip(
                labels.text.tolist(),
                labels.look.tolist(),
                labels.column.tolist(),
                labels.line.tolist(),
                labels.free.tolist(),
                is_plain.tolist(),
                strict=True,
            )
        ):
            if plain and (label := pictures.find((strings[text], look))) is not None:
                picture = label.picture
                if (image := picture.image) is not None:
                    copy(column + picture.x, line + picture.y, image)
                    if label.wide < free:
                        self._write_time(open_trace, labels, index, label.wide)
                    if selected is not None:
                        self._take_room(number, labels, index, label.wide)
                    continue
                if label.text is None:  # nothing fits
                    continue
            self._paint_one(number, labels, index)
        pictures.finish()

    def _placed(
        self, drawn: TraceRasters, canvas: Canvas, bands: Sequence[int], labels: Labels, lit: Bools
    ) -> _Labels:
        """Where the labels of some slices are; lit: whether each stands out."""
        scene, layout, open_trace = self.scene, self.scene.layout, drawn.open_trace
        tops, talls = layout.y[bands] - scene.scroll + SLICE_TOP, layout.slice_height[bands]
        are_small = talls <= self._compact
        needed = np.where(are_small, self._small.line_height, self._usual.line_height)
        ys = tops + (talls - needed) / 2
        row = labels.position
        keys, palette = open_trace.trace.slices.key[labels.slice], drawn.palette[labels.slice]
        kinds = open_trace.trace.keys.kind[keys]
        left, right = labels.x0 / canvas.ratio, (labels.x1 - 1) / canvas.ratio
        wide, tall = right - left, talls[row]
        inset = np.where(wide < _NARROW, _NARROW_INSET, LABEL_INSET)
        room = distinct_room(np.maximum(wide - 2 * inset, 0).astype(np.int64))
        is_shared = (tall >= _RIBBON_ROOM) & open_trace.table.are_shared[keys]
        y = ys[row]
        lifted = y - np.where(is_shared, _LIFT, 0)
        column, line, rest = self._pictures.places(left + inset, lifted)
        inks = _inks(self.theme.dark, self.theme.tokens.text2, scene.drawings.behind)
        ink, is_small = inks[lit.astype(np.intp), palette], are_small[row].astype(np.int64)
        has_text = (talls >= needed - _OVERHANG)[row]
        has_text &= (kinds != _UNATTRIBUTED) | (wide >= UNATTRIBUTED_ROOM)
        return _Labels(
            slice=labels.slice,
            x=left,
            wide=wide,
            top=tops[row],
            tall=tall,
            text=np.where(has_text, open_trace.labels[labels.slice].astype(np.int64), -1),
            inset=inset,
            room=room,
            ink=ink,
            y=y,
            column=column,
            line=line,
            rest=rest,
            look=_look(ink, room, rest, is_small),
            # The insets of both texts, without the time itself.
            free=np.where(_IS_TIMED[kinds], wide - 2 * inset - 3 * LABEL_INSET, 0.0),
            is_small=is_small,
            is_hatched=_IS_HATCHED[palette],
            is_foreign=_are_foreign(open_trace.trace.slices, labels.slice),
            is_shared=is_shared,
        )

    def _paint_one(self, number: int, labels: _Labels, index: int) -> None:
        """Paint the stripes, label, time and chips of one slice of a trace."""
        open_trace = self.scene.rasters[number].open_trace
        i, text, room = int(labels.slice[index]), int(labels.text[index]), labels.rect(index)
        if labels.is_hatched[index]:
            self._hatch(room)
        if labels.is_foreign[index]:
            self._foreign_edge(room)
        if text < 0:
            return
        inset = int(labels.inset[index])
        place = (int(labels.column[index]), int(labels.line[index]))
        lift = _LIFT if labels.is_shared[index] else 0
        corner = QPointF(room.left() + inset, float(labels.y[index]) - lift)
        fits, rest = int(labels.room[index]), int(labels.rest[index])
        label = self._write(
            labels, index, open_trace.label_strings[text], fits, rest, corner, place
        )
        if label.text is None:
            return
        if label.wide < labels.free[index]:
            self._write_time(open_trace, labels, index, label.wide)
        if labels.is_shared[index]:
            self._ribbon(open_trace, open_trace.link(i).operators, room)
        if self.scene.session.state.slice is not None:
            self._take_room(number, labels, index, label.wide)

    def _take_room(self, number: int, labels: _Labels, index: int, wide: float) -> None:
        """Remember the place of a label, whose text is `wide` px, while a slice is selected."""
        room = labels.rect(index)
        room.setWidth(wide + 2 * int(labels.inset[index]))
        self.taken.append(room)
        if self.scene.session.state.slice == SliceRef(number, int(labels.slice[index])):
            self.selected_label = room

    def _write(
        self,
        labels: _Labels,
        index: int,
        text: str,
        room: int,
        rest: int,
        corner: QPointF,
        place: tuple[int, int],
    ) -> Written:
        """Write what fits of a text into `room` px, or copy its picture.

        corner: its upper left one in px; place, rest: the same as pictures have it.
        """
        pictures, ink = self._pictures, int(labels.ink[index])
        font = self._small if labels.is_small[index] else self._usual
        key = text, _look(ink, room, rest, int(labels.is_small[index]))
        written = pictures.find(key)
        if written is None:
            fitted = font.fit(name_of(text), room)
            part = "" if fitted is None else fitted.text()
            picture = pictures.of((part, _look(ink, 0, rest, int(labels.is_small[index]))))
            written = Written(fitted, font.width(part), picture)
            pictures.add(key, written)
        if written.text is None:
            return written
        picture = written.picture
        if pictures.take(picture, written.text, font, ink, rest) and picture.image is not None:
            pictures.copy(place[0] + picture.x, place[1] + picture.y, picture.image)
        else:
            painter = pictures.logical()
            if font is not self._font:
                self._use(painter, font)
            if ink != self._ink:
                painter.setPen(QColor.fromRgba(ink))
                self._ink = ink
            painter.drawStaticText(corner, written.text)
        return written

    def _write_time(self, open_trace: OpenTrace, labels: _Labels, index: int, wide: float) -> None:
        """Write how long a slice took at its right end, beside its label of `wide` px."""
        i, slices = int(labels.slice[index]), open_trace.trace.slices
        length = int(slices.end[i] - slices.start[i])
        if not length or (NATIVE_DURATION in slices.columns and open_trace.native(i) is not None):
            time = open_trace.length_text(i)  # its extent on the canvas is no time
        else:
            time = _time_text(tick_to_ns(length, open_trace.axis.ns_per_tick))
        font = self._small if labels.is_small[index] else self._usual
        used = font.width(time) + LABEL_INSET
        room = labels.rect(index)
        if wide + 2 * int(labels.inset[index]) + used + 2 * LABEL_INSET < room.width():
            corner = QPointF(room.right() - used, float(labels.y[index]))
            column, line, rest = self._pictures.place(corner.x(), corner.y())
            label = self._write(labels, index, time, int(used), rest, corner, (column, line))
            if label.text is not None:
                room.setLeft(corner.x())
                self.taken.append(room)

    def _use(self, painter: QPainter, labels: LabelCache) -> None:
        painter.setFont(labels.font)
        self._font, self._ink = labels, -1

    def _ribbon(self, open_trace: OpenTrace, operators: tuple[int, ...], room: QRectF) -> None:
        """Draw a chip per operator of a shared slice, without dividing its time among them."""
        painter = self._pictures.logical()
        table = fills(self.theme.dark)
        colors = open_trace.operator_colors(self.scene.session.state.scheme)
        x, y = room.left() + LABEL_INSET, room.bottom() - 7
        for operator in operators:
            if x + 8 > room.right() - 5:
                break
            painter.fillRect(QRectF(x, y, 8, 4), QColor.fromRgb(table[int(colors[operator])]))
            x += 10

    def _hatch(self, room: QRectF) -> None:
        painter = self._pictures.logical()
        brush = QBrush(self.theme.color("text3"), Qt.BrushStyle.BDiagPattern)
        painter.setOpacity(0.55)
        painter.fillRect(room, brush)
        painter.setOpacity(1.0)

    def _foreign_edge(self, room: QRectF) -> None:
        """Draw stripes over the canvas color, because a slice may have the color of the stripes."""
        painter = self._pictures.logical()
        edge = QRectF(room.left(), room.top(), min(_FOREIGN_EDGE, room.width()), room.height())
        painter.fillRect(edge, self.theme.color("canvas"))
        painter.fillRect(edge, QBrush(self.theme.color("warning"), Qt.BrushStyle.BDiagPattern))

    # -- zero-length slices ------------------------------------------------------------------

    def paint_bookmarks(
        self,
        painter: QPainter,
        canvas: Canvas,
        xmap: XMap,
        bands: Sequence[int],
        hovered: SliceRef | None,
    ) -> None:
        """Paint how many zero-length slices share a place, and the names of those in focus."""
        layout = self.scene.layout
        focus = [ref for ref in (self.scene.session.state.slice, hovered) if ref is not None]
        self._use(painter, self._small)
        painter.setPen(self.theme.color("text2"))
        for band in bands:
            trace = int(layout.trace[band])
            drawn = self.scene.rasters[trace]
            if layout.height[band] < STRIP_HEIGHT:
                continue
            raster = drawn.raster
            if self.scene.search.shows_only_hits:
                if drawn.search_hits is None:
                    continue
                raster = drawn.search_hits
            marks = raster.zero_marks(int(layout.row[band]), xmap.on(drawn.open_trace.axis))
            firsts = marks.first.tolist()
            named = {ref.index for ref in focus if ref.trace == trace}
            tall = self._small.line_height
            y = int(layout.y[band]) - self.scene.scroll + (int(layout.height[band]) - tall) / 2
            for first, last, columns in _groups(
                marks.x, canvas.device(_MARK_LABEL_ROOM), xmap.width
            ):
                count = int(marks.count[first:last].sum())
                x = canvas.x(int(marks.x[last - 1])) + MARK + 4
                more = f"+{count - 1}" if count > 1 else ""
                name = next((i for i in firsts[first:last] if i in named), None)
                if name is not None:
                    used = self._small.width(f" {more}") if more else 0
                    free = canvas.x(columns) - MARK - 10 - used
                    text = self._small.fit(name_of(drawn.open_trace.label(name)), free)
                    if text is not None:
                        painter.drawStaticText(QPointF(x, y), text)
                        place = QRectF(x, y, self._small.width(text.text()), tall)
                        self.taken.append(place)
                        if SliceRef(trace, name) == self.scene.session.state.slice:
                            self.selected_label = place
                        x += int(self._small.width(f"{text.text()} "))
                if more:
                    painter.drawText(QRectF(x, y, 60, tall), Qt.AlignmentFlag.AlignLeft, more)


def _look(ink: Numbers, room: Numbers, rest: Numbers, is_small: Numbers) -> Numbers:
    """What a picture depends on, except for the text, as one number: 32 + 16 + 12 + 1 bits."""
    return ((ink << 16 | room) << 12 | rest) << 1 | is_small


def _are_foreign(slices: Slices, index: Ints) -> Bools:
    """Whether a separate clock timed the slices at `index`."""
    native = slices.columns.get(NATIVE_DURATION)
    if native is None or native.valid is None:
        return np.full(len(index), native is not None)
    return native.valid[index]


@lru_cache(maxsize=4)
def _inks(dark: bool, hatched: str, behind: Emphasis) -> Ints:
    """0xAARRGGBB of labels by palette index: of slices drawn as `behind`, then of others."""
    faint, full = (
        np.array(label_colors(dark, emphasis), np.uint32) | np.uint32(0xFF000000)
        for emphasis in (behind, Emphasis.FULL)
    )
    full[list(_HATCHED)] = QColor(hatched).rgba()
    return np.stack([faint, full]).astype(np.int64)


@lru_cache(maxsize=8192)
def _time_text(ns: int) -> str:
    """Format a duration; cached, because the same slices are labeled in each frame."""
    return format_time(ns)


def _groups(x: Ints, room: int, width: int) -> list[tuple[int, int, int]]:
    """Runs of marks that share a label: (first, last + 1, free px to the next run)."""
    if len(x) == 0:
        return []
    breaks = np.flatnonzero(np.diff(x) >= room) + 1
    first = np.concatenate([[0], breaks])
    last = np.concatenate([breaks, [len(x)]])
    after = np.concatenate([x[breaks], [width]])
    free = after - x[last - 1]
    return list(zip(first.tolist(), last.tolist(), free.tolist(), strict=True))
