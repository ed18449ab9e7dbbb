"""Legend of the Graph panel during a comparison: the colors and marks of changes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.fill_colors import colors_of, paint_hatch
from viewer.gui.panels.graph.fills import CHANGE_STEPS, ChangeFill, Fill, NoCostFill
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.times import MINUS
from viewer.reports.compare_text import WORDS

_STEP, _BOX, _GAP = 14, 12, 12  # px
_STEPS = tuple(range(CHANGE_STEPS, 0, -1))
_SCALE: tuple[Fill, ...] = (
    *(ChangeFill(Verdict.FASTER, step) for step in _STEPS),
    ChangeFill(Verdict.NO_CHANGE),
    *(ChangeFill(Verdict.SLOWER, step) for step in reversed(_STEPS)),
)


class ChangeScale(QWidget):
    """The scale from faster through gray to slower, and the other fills in the graph."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._most = ""
        self._others: list[tuple[Fill, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_scale(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend for these nodes.

        most: the largest proven change without its sign, "" if none is proven. fills_used: the
        fills of the nodes; the others are not listed.
        """
        self._most = most
        changes = {fill for fill in fills_used if isinstance(fill, ChangeFill)}
        self._others = [
            (ChangeFill(verdict), WORDS[verdict])
            for verdict in (Verdict.NO_CHANGE, Verdict.CANNOT_TELL)
            if any(fill.verdict is verdict and not fill.only_in for fill in changes)
        ]
        self._others += [
            (ChangeFill(Verdict.CANNOT_TELL, only_in=arm), f"only in {arm}")
            for arm in "AB"
            if any(fill.only_in == arm for fill in changes)
        ]
        if NoCostFill.UNLINKED in fills_used:
            self._others.append((NoCostFill.UNLINKED, "no slice"))
        scale = [f"Color by change per inference: faster, {MINUS}{most}, to slower, +{most}"]
        names = [name for _, name in self._others]
        self.setAccessibleName(", ".join([*(scale if most else []), *names]))
        self.setVisible(bool(most or self._others))
        self.updateGeometry()
        self.update()

    def _wide(self, text: str) -> int:
        return QFontMetrics(self._theme.font("caption")).horizontalAdvance(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        width = sum(px(_BOX + 6 + _GAP) + self._wide(name) for _, name in self._others)
        if self._most:
            width += self._wide(f"{MINUS}{self._most}+{self._most}") + len(_SCALE) * px(_STEP)
            width += 2 * px(SIDE + 6) + px(6 + 6 + _GAP)
        return QSize(width, px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, px = self._theme, self._theme.px
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        x, middle, side = 0.0, self.height() / 2, float(px(_BOX))
        if self._most:
            paint_mark(painter, QPointF(x + px(SIDE) / 2, middle), Verdict.FASTER.value, theme)
            x = self._text(painter, x + px(SIDE + 6), f"{MINUS}{self._most}") + px(6)
            for fill in _SCALE:
                box = QRectF(x, middle - side / 2, px(_STEP), side)
                painter.fillRect(box, colors_of(fill, theme).fill)
                x = box.right()
            x = self._text(painter, x + px(6), f"+{self._most}") + px(6)
            paint_mark(painter, QPointF(x + px(SIDE) / 2, middle), Verdict.SLOWER.value, theme)
            x += px(SIDE + _GAP)
        for fill, name in self._others:
            self._box(painter, QRectF(x, middle - side / 2, side, side), fill)
            x = self._text(painter, x + side + px(6), name) + px(_GAP)
        painter.end()

    def _box(self, painter: QPainter, box: QRectF, fill: Fill) -> None:
        theme, colors = self._theme, colors_of(fill, self._theme)
        if isinstance(fill, ChangeFill) and not fill.only_in:
            paint_mark(painter, box.center(), fill.verdict.value, theme)
            return
        inside = box.adjusted(0.5, 0.5, -0.5, -0.5)
        pen = QPen(colors.outline, 1)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(colors.fill)
        painter.drawRect(inside)
        if isinstance(fill, ChangeFill):
            paint_hatch(painter, inside, theme)

    def _text(self, painter: QPainter, x: float, text: str) -> float:
        """Draw a text at x and return its right end."""
        painter.setPen(self._theme.color("text2"))
        width = self._wide(text)
        at = QRectF(x, 0, width + 1, self.height())
        painter.drawText(at, int(Qt.AlignmentFlag.AlignVCenter), text)
        return x + width
