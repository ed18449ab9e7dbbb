"""The picture of a plane of a tensor: differences from dark to bright, or values.

Where several cells share a pixel the largest is drawn, so that single outliers stay visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QHideEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from viewer.analysis.numeric.plane import Plane, Shown
from viewer.arrays import Floats, Ints
from viewer.gui.panels.numbers.contents import figure_text, index_text
from viewer.gui.qt.accessibility import claims_key, has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.hover_tip import HoverTip
from viewer.model.times import counted
from viewer.render.palette import HEAT_FILLS, RAMP_FILLS, Pixels, canvas_rgb

_COLORS = 256
_LEGEND = 20  # px below the picture
_SCALE_WIDTH, _SCALE_HEIGHT = 96, 8  # px
_MOST_SIDE = 22  # px of a value: small tensors do not fill the panel with a few squares
_MARK = 9  # px, of the ring around the largest error
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_ARROWS = {
    Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}  # fmt: skip


@has_role(QAccessible.Role.Graphic)
class HeatMap(QWidget):
    """Shows one plane. `pointed(text)`: what is below the mouse, "" for nothing."""

    pointed = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.plane: Plane | None = None
        self._sizes: tuple[int, ...] = ()
        self._mark: tuple[int, int] | None = None  # a cell
        self._cell: tuple[int, int] | None = None  # below the mouse, or of the keys
        self._image: tuple[object, QImage] | None = None
        self.tip = HoverTip(self, theme)
        self.opacity = 1.0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Picture of the tensor")
        self.setMinimumSize(theme.px(120), theme.px(60))

    def show_plane(self, plane: Plane | None, largest: int | None) -> None:
        """Show a plane. largest: the number of the value to mark, None for none."""
        self.plane, self._image, self._cell = plane, None, None
        self._mark = None if plane is None or largest is None else plane.cell_of(largest)
        self._point(None)
        self.update()

    @property
    def mark(self) -> tuple[int, int] | None:
        """The cell with the largest error, None if it is elsewhere."""
        return self._mark

    def accessible_value(self) -> str:
        """Return the text for screen readers: the current cell."""
        return "" if self._cell is None else ", ".join(self.lines_of(*self._cell))

    # -- places ------------------------------------------------------------------------------------

    @property
    def picture(self) -> QRect:
        """The place of the picture in px: the shape is kept, unless a side would be too thin."""
        if self.plane is None:
            return QRect()
        px = self._theme.px
        shape = self.plane.shape
        room_w, room_h = self.width(), max(self.height() - px(_LEGEND), 1)
        least = px(14)
        scale = min(room_w / shape.width, room_h / shape.height, px(_MOST_SIDE))
        width = min(max(round(shape.width * scale), least), room_w)
        height = min(max(round(shape.height * scale), least), room_h)
        return QRect(0, 0, max(width, 1), max(height, 1))

    def cell_at(self, at: QPointF) -> tuple[int, int] | None:
        """Return the cell at a point: of several, the largest that the pixel shows."""
        plane, room = self.plane, self.picture
        if plane is None or not QRectF(room).contains(at):
            return None
        rows, columns = plane.size.shape
        r0, r1 = _range_of(int(at.y()) - room.top(), room.height(), rows)
        c0, c1 = _range_of(int(at.x()) - room.left(), room.width(), columns)
        part = plane.size[r0:r1, c0:c1]
        row, column = divmod(int(np.argmax(part)), part.shape[1])
        return r0 + row, c0 + column

    def center_of(self, cell: tuple[int, int]) -> QPointF:
        """Return the middle of a cell in px."""
        plane, room = self.plane, self.picture
        assert plane is not None
        rows, columns = plane.size.shape
        x = room.left() + (cell[1] + 0.5) / columns * room.width()
        return QPointF(x, room.top() + (cell[0] + 0.5) / rows * room.height())

    def lines_of(self, row: int, column: int) -> tuple[str, ...]:
        """Return the lines about a cell: its index, the values, and how many it stands for."""
        plane = self.plane
        assert plane is not None
        number = int(plane.number[row, column])
        lines = [f"[{index_text(_index(plane.shape.sizes, number))}]"]
        a = float(plane.a[row, column])
        if plane.b.size:
            b = float(plane.b[row, column])
            with np.errstate(invalid="ignore", over="ignore"):
                difference = float(np.subtract(a, b))
            lines += [f"A {_exact(a)}", f"B {_exact(b)}", f"A − B {figure_text(difference)}"]
        else:
            lines.append(_exact(a))
        r0, r1 = plane.rows_of(row)
        c0, c1 = plane.columns_of(column)
        count = (r1 - r0) * (c1 - c0)
        if count > 1:
            lines.append(f"the largest of {counted(count, 'value')}")
        return tuple(lines)

    # -- mouse and keys ----------------------------------------------------------------------------

    def _point(self, at: QPointF | None) -> None:
        cell = None if at is None else self.cell_at(at)
        self._go(cell, at)

    def _go(self, cell: tuple[int, int] | None, at: QPointF | None) -> None:
        lines: Sequence[str] = () if cell is None else self.lines_of(*cell)
        place = at if at is not None else QPointF()
        self.tip.show_lines(lines, place.toPoint())
        self.pointed.emit(" · ".join(lines))
        if cell != self._cell:
            self._cell = cell
            self.update()

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(event.position())

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._point(event.position())

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        self._point(None)

    @guard
    def hideEvent(self, event: QHideEvent) -> None:
        self._point(None)  # the tip belongs to the window

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Handle arrows before shortcuts."""
        return claims_key(event, self._is_own) or bool(super().event(event))

    def _is_own(self, event: QKeyEvent) -> bool:
        return event.key() in _ARROWS and not event.modifiers() and self.plane is not None

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _ARROWS.get(Qt.Key(event.key()))
        if step is None or self.plane is None:
            event.ignore()
            return
        rows, columns = self.plane.size.shape
        if self._cell is None:
            cell = self._mark or (0, 0)
        else:
            cell = (
                min(max(self._cell[0] + step[0], 0), rows - 1),
                min(max(self._cell[1] + step[1], 0), columns - 1),
            )
        self._go(cell, self.center_of(cell))

    # -- painting ----------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, plane = QPainter(self), self.plane
        painter.setOpacity(self.opacity)
        if plane is not None:
            room = self.picture
            painter.drawImage(QRectF(room), self._drawn(plane, room))
            painter.setPen(QPen(self._theme.color("hairline"), 1))
            painter.drawRect(QRectF(room).adjusted(0.5, 0.5, -0.5, -0.5))
            if self._mark is not None:
                self._ring(painter, self._mark)
            if self._cell is not None:
                self._outline(painter, self._cell)
            self._legend(painter, plane, room)
        painter.end()

    def _drawn(self, plane: Plane, room: QRect) -> QImage:
        ratio = self.devicePixelRatioF()
        lines, columns = max(round(room.height() * ratio), 1), max(round(room.width() * ratio), 1)
        key = id(plane), lines, columns, self._theme.dark
        if self._image is None or self._image[0] != key:
            pixels = picture_of(plane, lines, columns, self._theme.dark, self._odd)
            image = QImage(
                pixels.data, columns, lines, columns * 4, QImage.Format.Format_RGB32
            ).copy()
            image.setDevicePixelRatio(ratio)
            self._image = key, image
        return self._image[1]

    @property
    def _odd(self) -> int:
        return self._theme.pixel("hit")

    def _ring(self, painter: QPainter, cell: tuple[int, int]) -> None:
        side = self._theme.px(_MARK)
        center = self.center_of(cell)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for color, width in (("canvas", 4.0), ("ring", 2.0)):
            painter.setPen(QPen(self._theme.color(color), width))
            painter.drawEllipse(center, side, side)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _outline(self, painter: QPainter, cell: tuple[int, int]) -> None:
        plane, room = self.plane, self.picture
        assert plane is not None
        rows, columns = plane.size.shape
        wide, high = room.width() / columns, room.height() / rows
        box = QRectF(room.left() + cell[1] * wide, room.top() + cell[0] * high, wide, high)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._theme.color("accent"), 1))
        painter.drawRect(box.adjusted(0.5, 0.5, max(3 - wide, -0.5), max(3 - high, -0.5)))

    def _legend(self, painter: QPainter, plane: Plane, room: QRect) -> None:
        theme, px = self._theme, self._theme.px
        low, high, has_odd = range_of(plane)
        painter.setFont(theme.font("caption"))
        metrics = painter.fontMetrics()
        y, height = room.bottom() + 1, px(_LEGEND)
        x = 0
        texts = [figure_text(low), figure_text(high)]
        painter.setPen(theme.color("text2"))
        painter.drawText(QRect(x, y, self.width(), height), _LEFT, texts[0])
        x += metrics.horizontalAdvance(texts[0]) + px(6)
        colors = colors_of(plane.shown, theme.dark)
        room_left = self.width() - x - metrics.horizontalAdvance(texts[1]) - px(8)
        wide = min(px(_SCALE_WIDTH), max(room_left, px(16)))
        scale = QRect(x, y + (height - px(_SCALE_HEIGHT)) // 2, wide, px(_SCALE_HEIGHT))
        bar = QImage(colors.data, _COLORS, 1, _COLORS * 4, QImage.Format.Format_RGB32)
        painter.drawImage(QRectF(scale), bar)
        x = scale.right() + px(6)
        painter.drawText(QRect(x, y, self.width(), height), _LEFT, texts[1])
        x += metrics.horizontalAdvance(texts[1]) + px(12)
        if has_odd:
            side = px(_SCALE_HEIGHT)
            box = QRect(x, scale.top(), side, side)
            painter.fillRect(box, theme.color("hit"))
            left = box.right() + px(6)
            painter.drawText(QRect(left, y, self.width(), height), _LEFT, "NaN or Inf")


# -- pixels ----------------------------------------------------------------------------------------


@lru_cache
def colors_of(shown: Shown, dark: bool) -> Pixels:
    """Return 256 pixels from low to high: of heat for differences, of the ramp for values."""
    steps: tuple[int, ...] = RAMP_FILLS if dark else RAMP_FILLS[::-1]
    if shown is Shown.DIFFERENCE:
        steps = (canvas_rgb(dark), *HEAT_FILLS[dark])
    places = np.linspace(0, 1, len(steps))
    at = np.linspace(0, 1, _COLORS)
    found = np.full(_COLORS, 0xFF000000, np.uint32)
    for shift in (16, 8, 0):
        channel = np.interp(at, places, [step >> shift & 255 for step in steps])
        found |= np.round(channel).astype(np.uint32) << np.uint32(shift)
    found.flags.writeable = False
    return found


def range_of(plane: Plane) -> tuple[float, float, bool]:
    """Return the values of the first and the last color, and whether any value is odd."""
    values = plane.values
    is_finite = np.isfinite(values)
    known = values[is_finite]
    low = 0.0 if plane.shown is Shown.DIFFERENCE or not len(known) else float(known.min())
    high = float(known.max()) if len(known) else 0.0
    return low, max(high, low), not bool(is_finite.all())


def picture_of(plane: Plane, lines: int, columns: int, dark: bool, odd: int) -> Pixels:
    """Return the pixels of a plane (lines, columns). odd: of values that are NaN or infinite.

    A pixel of several cells shows the one with the largest size.
    """
    low, high, _ = range_of(plane)
    values = np.where(np.isnan(plane.values), np.inf, plane.values)
    most, least = (
        _reduced(_reduced(values, lines, 0, by), columns, 1, by) for by in (np.maximum, np.minimum)
    )
    picked = np.where(-least > most, least, most)
    colors = colors_of(plane.shown, dark)
    # Halves: the width of the range may exceed the largest float.
    with np.errstate(invalid="ignore"):
        part = (picked / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    is_finite = np.isfinite(picked)
    part[~is_finite] = 0.0
    found: Pixels = colors[np.clip(np.round(part * (_COLORS - 1)), 0, _COLORS - 1).astype(np.int64)]
    found[~is_finite] = np.uint32(odd | 0xFF000000)
    return np.ascontiguousarray(found)


def _reduced(values: Floats, pixels: int, axis: int, by: np.ufunc) -> Floats:
    """Map cells to pixels along an axis; of several cells in one pixel, take one by a function."""
    cells = values.shape[axis]
    first: Ints = np.arange(pixels) * cells // pixels
    if pixels >= cells:
        return np.take(values, first, axis)
    found: Floats = by.reduceat(values, first, axis)
    return found


def _range_of(pixel: int, pixels: int, cells: int) -> tuple[int, int]:
    """The cells of a pixel along an axis."""
    first = pixel * cells // pixels
    return first, max((pixel + 1) * cells // pixels, first + 1) if pixels < cells else first + 1


def _index(sizes: Sequence[int], number: int) -> tuple[int, ...]:
    found: list[int] = []
    for size in reversed(sizes):
        number, index = divmod(number, size)
        found.append(index)
    return tuple(found[::-1])


def _exact(value: float) -> str:
    return f"{value:.7g}"
