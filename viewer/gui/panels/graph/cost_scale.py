"""Legend of the Graph panel: the colors of heat, and the fills that are not a cost."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.panels.graph.fill_colors import colors_of
from viewer.gui.panels.graph.fills import Fill, NoCostFill
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB, fills

_OTHERS: tuple[tuple[Fill, str], ...] = (
    (SLAB, "shared"), (NoCostFill.IDLE, "no time in this range"),
    (NoCostFill.UNLINKED, "not linked"),
)  # fmt: skip


class CostScale(QWidget):
    """The heat from 0 to the most expensive operator, and the other fills in the graph."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._most = ""
        self._others: list[tuple[Fill, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_scale(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend for these nodes; hide it if there is nothing to explain.

        most: the self time of the program's most expensive operator, "" if none has any.
        fills_used: the fills of the nodes; the others are not listed.
        """
        self._most = most
        self._others = [(fill, name) for fill, name in _OTHERS if fill in fills_used]
        texts = [f"Color by self time, 0 to {most}"] if most else []
        self.setAccessibleName(", ".join([*texts, *(name for _, name in self._others)]))
        self.setVisible(bool(most or self._others))
        self.updateGeometry()
        self.update()

    def _wide(self, text: str) -> int:
        return QFontMetrics(self._theme.font("caption")).horizontalAdvance(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        width = sum(px(18) + self._wide(name) + px(12) for _, name in self._others)
        if self._most:
            width += self._wide("0") + self._wide(self._most) + HEAT_STEPS * px(14) + px(24)
        return QSize(width, px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        x, height, side = 0.0, float(self.height()), float(theme.px(12))
        top = (height - side) / 2
        if self._most:
            x = self._text(painter, x, "0") + theme.px(6)
            for step in range(HEAT_STEPS):
                box = QRectF(x, top, theme.px(14), side)
                painter.fillRect(box, QColor.fromRgb(fills(theme.dark)[HEAT + step]))
                x = box.right()
            x = self._text(painter, x + theme.px(6), self._most) + theme.px(12)
        for fill, name in self._others:
            box = QRectF(x + 0.5, top + 0.5, side - 1, side - 1)
            colors = colors_of(fill, theme)
            if isinstance(fill, NoCostFill):
                pen = QPen(colors.outline, 1)
                if colors.is_dashed:
                    pen.setStyle(Qt.PenStyle.DashLine)
                painter.setPen(pen)
                painter.setBrush(colors.fill)
                painter.drawRect(box)
            else:
                painter.fillRect(box, colors.fill)
            x = self._text(painter, x + theme.px(18), name) + theme.px(12)
        painter.end()

    def _text(self, painter: QPainter, x: float, text: str) -> float:
        """Draw a text at x and return its right end."""
        painter.setPen(self._theme.color("text2"))
        width = self._wide(text)
        painter.drawText(
            QRectF(x, 0, width + 1, self.height()), int(Qt.AlignmentFlag.AlignVCenter), text
        )
        return x + width
