"""Painting of operator colors outside the timeline: swatches, cost bars and hatches.

The swatch of one operator is a square in its color; several operators share a 2 × 2 grid of small
squares. A color is a palette index, like a slice's: the operator's own, or that of its type, module
or backend, depending on the color scheme. Everything is painted by hand, so that a table of
thousands of rows needs no widget per cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme, mix
from viewer.render.palette import OPERATORS, Palette, fills

SWATCH = 12
_SHARP = 2  # pixmaps have two pixels per point, for high-density screens
_RADIUS = 2.5
_SMALL = 5
_BAR_RADIUS = 1.5
# Fills are light in both themes; on white they need an outline to be visible.
_EDGE = QColor(0, 0, 0, 41)
_HATCH_STEP = 5.0
# The share of the panel's color in a bar behind a number, by dark theme or not.
_SHARE_MIX = {True: 0.58, False: 0.45}
_SHARE_INSET = 2  # px


def colors_of(operators: Sequence[int], palette: Palette | None) -> tuple[int, ...]:
    """Return the palette index of each of some operators, given by their index in the program.

    palette: the palette index of every operator, as `OpenTrace.operator_colors` returns it; None:
    each operator's own color.
    """
    if palette is None:
        return tuple(i % OPERATORS for i in operators)
    return tuple(int(palette[i]) for i in operators)


def slice_color(color: int, theme: Theme) -> QColor:
    """Return the fill color of a palette index."""
    return QColor.fromRgb(fills(theme.dark)[color])


def paint_swatch(
    painter: QPainter, x: float, y: float, colors: Sequence[int], theme: Theme
) -> None:
    """Paint the swatch of one or several operators with its upper left corner at (x, y).

    colors: the palette index of each. At most four are painted.
    """
    side = theme.px(SWATCH)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(_pen(theme))
    if len(colors) == 1:
        painter.setBrush(slice_color(colors[0], theme))
        painter.drawRoundedRect(_inside(QRectF(x, y, side, side), theme), _RADIUS, _RADIUS)
    else:
        small = theme.px(_SMALL)
        # Two squares are centered side by side; four fill the swatch.
        y += (side - small) / 2 if len(colors) == 2 else 0
        for i, color in enumerate(colors[:4]):
            corner = QPointF(x + (i % 2) * (side - small), y + (i // 2) * (side - small))
            painter.setBrush(slice_color(color, theme))
            painter.drawRoundedRect(
                _inside(QRectF(corner.x(), corner.y(), small, small), theme), 1, 1
            )
    painter.restore()


class SwatchPixmaps:
    """Swatches as pixmaps for item views, cached by palette indices and by light or dark."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._made: dict[tuple[bool, tuple[int, ...]], QPixmap] = {}

    def clear(self) -> None:
        """Empty the cache, for example when other slices are shown."""
        self._made.clear()

    def of(self, colors: tuple[int, ...]) -> QPixmap | None:
        """Return the swatch for these palette indices, None if there are none."""
        if not colors:
            return None
        key = self._theme.dark, colors
        if key not in self._made:
            pixmap = self._transparent()
            painter = QPainter(pixmap)
            paint_swatch(painter, 0, 0, colors, self._theme)
            painter.end()
            self._made[key] = pixmap
        return self._made[key]

    def blank(self) -> QPixmap:
        """Return a transparent pixmap of a swatch's size, to align the texts of a column."""
        key = self._theme.dark, ()
        if key not in self._made:
            self._made[key] = self._transparent()
        return self._made[key]

    def _transparent(self) -> QPixmap:
        side = self._theme.px(SWATCH)
        pixmap = QPixmap(side * _SHARP, side * _SHARP)
        pixmap.setDevicePixelRatio(_SHARP)
        pixmap.fill(Qt.GlobalColor.transparent)
        return pixmap


def paint_bar(painter: QPainter, rect: QRectF, color: QColor, theme: Theme) -> None:
    """Paint a cost bar, at least 1.5 px wide."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(_pen(theme))
    painter.setBrush(color)
    rect = QRectF(rect.left(), rect.top(), max(rect.width(), 1.5), rect.height())
    painter.drawRoundedRect(_inside(rect, theme), _BAR_RADIUS, _BAR_RADIUS)
    painter.restore()


def share_color(color: QColor, theme: Theme) -> QColor:
    """Return the color of a bar behind a number: faint enough for the number to be read."""
    part = _SHARE_MIX[theme.dark]
    return QColor(mix(color.name(), theme.tokens.panel, part))


def paint_share(
    painter: QPainter, cell: QRect, share: float, color: QColor, theme: Theme, full: float = 1.0
) -> None:
    """Paint the bar behind the number of a cell.

    share: its length, 0 to 1 of the cell. full: the known part of the bar, 0 to 1; the rest is
    hatched. color: as it is painted; `share_color` makes that of an operator.
    """
    if share <= 0:
        return
    room = QRectF(cell).adjusted(_SHARE_INSET, _SHARE_INSET, -_SHARE_INSET, -_SHARE_INSET)
    width = max(room.width() * min(share, 1.0), 1.5)
    full_width = width * full
    painter.fillRect(QRectF(room.left(), room.top(), full_width, room.height()), color)
    if full_width < width:
        hatched = QRectF(room.left() + full_width, room.top(), width - full_width, room.height())
        paint_hatch(painter, hatched, color)


def paint_part(painter: QPainter, rect: QRectF, token: str, theme: Theme) -> None:
    """Fill with the color of a token, or with the hatch for unknown time if it is ""."""
    if token:
        painter.fillRect(rect, theme.color(token))
    else:
        paint_hatch(painter, rect, theme.color("text3"))


def paint_parts(
    painter: QPainter, rect: QRectF, parts: Sequence[tuple[str, float]], whole: float, theme: Theme
) -> None:
    """Paint a bar of parts side by side.

    parts: the color token of each ("": hatched) and its size. whole: that of all the bar.
    """
    x = rect.left()
    for token, size in parts:
        width = rect.width() * max(size, 0) / whole if whole else 0
        part_rect = QRectF(x, rect.top(), max(width - 1, 0), rect.height())
        paint_part(painter, part_rect, token, theme)
        x += width


def paint_hatch(painter: QPainter, rect: QRectF, color: QColor) -> None:
    """Paint 45° lines on a transparent background: the hatch for unknown time."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(rect)
    painter.setPen(QPen(color, 1.5))
    x = rect.left() - rect.height()
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += _HATCH_STEP
    painter.restore()


def _pen(theme: Theme) -> QPen:
    return QPen(Qt.PenStyle.NoPen) if theme.dark else QPen(_EDGE, 1)


def _inside(rect: QRectF, theme: Theme) -> QRectF:
    return rect if theme.dark else rect.adjusted(0.5, 0.5, -0.5, -0.5)


class Swatch(QWidget):
    """A widget with the swatch of some operators, or a plain square for none."""

    def __init__(self, colors: Sequence[int], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.colors = tuple(colors)
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(SWATCH)
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.colors:
            paint_swatch(painter, 0, 0, self.colors, self._theme)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(self._theme.color("slab")))
            painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)
