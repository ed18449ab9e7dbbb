"""The colors of operators outside the timeline: swatches, cost bars, the hatch of what is unknown.

One operator is a square in its color; several are two by two small ones. A color is a palette
index, as slices have it: of the operator itself, or of its type, module or backend where slices are
colored by that. All is painted by hand, so that a table of thousands of rows needs no widget per
cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.render.palette import OPERATORS, Palette, fills

SWATCH = 12
_SHARP = 2  # pictures are painted for screens of two pixels a point
_RADIUS = 2.5
_SMALL = 5
_BAR_RADIUS = 1.5
# Fills are light in both themes; on white they need a line around them to be seen at all.
_EDGE = QColor(0, 0, 0, 41)
_HATCH_STEP = 5.0


def colors_of(operators: Sequence[int], palette: Palette | None) -> tuple[int, ...]:
    """The palette index of each of some operators, given by their positions in their program.

    palette: that of every operator, as `OpenTrace.operator_colors`; None: each has its own.
    """
    if palette is None:
        return tuple(i % OPERATORS for i in operators)
    return tuple(int(palette[i]) for i in operators)


def slice_color(color: int, theme: Theme) -> QColor:
    """The fill of slices of a palette index."""
    return QColor.fromRgb(fills(theme.dark)[color])


def paint_swatch(
    painter: QPainter, x: float, y: float, colors: Sequence[int], theme: Theme
) -> None:
    """Paint the swatch of one operator, or of several, with its left upper corner at (x, y).

    colors: the palette index of each.
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
        # Two are side by side in the middle, four fill the square.
        y += (side - small) / 2 if len(colors) == 2 else 0
        for i, color in enumerate(colors[:4]):
            corner = QPointF(x + (i % 2) * (side - small), y + (i // 2) * (side - small))
            painter.setBrush(slice_color(color, theme))
            painter.drawRoundedRect(
                _inside(QRectF(corner.x(), corner.y(), small, small), theme), 1, 1
            )
    painter.restore()


class SwatchPixmaps:
    """Swatches as pictures for item views, made once per set of colors and theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._made: dict[tuple[int, ...], QPixmap] = {}

    def clear(self) -> None:
        """Forget all, as after a change of theme."""
        self._made.clear()

    def of(self, colors: tuple[int, ...]) -> QPixmap | None:
        """The swatch of some operators by their palette indices, None for none."""
        if not colors:
            return None
        if colors not in self._made:
            made = self._transparent()
            painter = QPainter(made)
            paint_swatch(painter, 0, 0, colors, self._theme)
            painter.end()
            self._made[colors] = made
        return self._made[colors]

    def blank(self) -> QPixmap:
        """Nothing, as wide as a swatch: keeps the texts of a column in one line."""
        if () not in self._made:
            self._made[()] = self._transparent()
        return self._made[()]

    def _transparent(self) -> QPixmap:
        side = self._theme.px(SWATCH)
        made = QPixmap(side * _SHARP, side * _SHARP)
        made.setDevicePixelRatio(_SHARP)
        made.fill(Qt.GlobalColor.transparent)
        return made


def paint_bar(painter: QPainter, rect: QRectF, color: QColor, theme: Theme) -> None:
    """Paint a cost bar, at least a pixel wide."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(_pen(theme))
    painter.setBrush(color)
    rect = QRectF(rect.left(), rect.top(), max(rect.width(), 1.5), rect.height())
    painter.drawRoundedRect(_inside(rect, theme), _BAR_RADIUS, _BAR_RADIUS)
    painter.restore()


def paint_hatch(painter: QPainter, rect: QRectF, color: QColor) -> None:
    """Paint lines at 45 degrees and nothing between them: what is not known."""
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
    """The swatch of some operators, or a plain square where there is none."""

    def __init__(self, colors: Sequence[int], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colors = tuple(colors)
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(SWATCH)
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._colors:
            paint_swatch(painter, 0, 0, self._colors, self._theme)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(self._theme.color("slab")))
            painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)
