"""The legend of the Graph panel: a scale of colors, and the other fills in the graph."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.panels.graph.colors.fill_colors import colors_of
from viewer.gui.panels.graph.colors.fills import Fill
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

STEP, _BOX, GAP = 14, 12, 12  # px


class FillScale(QWidget):
    """A scale up to the largest value, then the fills that are used, each with its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._most = ""
        self._others: Sequence[tuple[Fill, str]] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def _show(self, most: str, scale: str, others: Sequence[tuple[Fill, str]]) -> None:
        """Show the legend, or hide it if there is nothing to explain.

        most: the largest value, "" for no scale. scale: what the scale means. others: the fills
        that are listed with their names.
        """
        self._most, self._others = most, others
        names = [name for _, name in others]
        self.setAccessibleName(", ".join([*([scale] if most else []), *names]))
        self.setVisible(bool(most or others))
        self.updateGeometry()
        self.update()

    @property
    def _scale_width(self) -> int:
        """The width of the scale with its texts and the gap after it, in px."""
        raise NotImplementedError

    def _paint_scale(self, painter: QPainter, top: float, side: float) -> float:
        """Paint the scale as boxes at `top` that are `side` high; returns where it ends."""
        raise NotImplementedError

    def _paint_fill(self, painter: QPainter, box: QRectF, fill: Fill) -> None:
        """Paint the box of a fill: outlined if it has no color of its own."""
        colors = colors_of(fill, self._theme)
        pen = QPen(colors.outline, 1)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(colors.fill)
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))

    def _wide(self, text: str) -> int:
        return QFontMetrics(self._theme.font("caption")).horizontalAdvance(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        width = sum(px(_BOX + 6) + self._wide(name) + px(GAP) for _, name in self._others)
        return QSize(width + (self._scale_width if self._most else 0), px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        px = self._theme.px
        painter = QPainter(self)
        painter.setFont(self._theme.font("caption"))
        side = float(px(_BOX))
        top = (self.height() - side) / 2
        x = self._paint_scale(painter, top, side) if self._most else 0.0
        for fill, name in self._others:
            self._paint_fill(painter, QRectF(x, top, side, side), fill)
            x = self._text(painter, x + side + px(6), name) + px(GAP)
        painter.end()

    def _text(self, painter: QPainter, x: float, text: str) -> float:
        """Draw a text at x and return its right end."""
        painter.setPen(self._theme.color("text2"))
        width = self._wide(text)
        at = QRectF(x, 0, width + 1, self.height())
        painter.drawText(at, int(Qt.AlignmentFlag.AlignVCenter), text)
        return x + width
