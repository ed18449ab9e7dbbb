"""The charts of the Compare panel: dots for sessions, and the steps from A to B."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.comparison.steps import Step
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, change_color
from viewer.model.quantiles import median
from viewer.model.times import format_time
from viewer.reports.compare_text import difference_text

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_DOT_ROW, _SCALE = 16, 16  # px
_ROW, _LABEL, _NUMBER, _BAR = 22, 116, 84, 13  # px
_MOST_LABEL = 0.4  # of the width, for labels
_RADIUS = 3.0


class SessionDots(QWidget):
    """The sessions of both arms on one scale of time, with their medians as lines."""

    def __init__(self, a: Sequence[float], b: Sequence[float], verdict: str, theme: Theme) -> None:
        """a, b: the time of an inference in every session, in ns."""
        super().__init__()
        self._arms, self._verdict, self._theme = (tuple(a), tuple(b)), verdict, theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        told = (
            f"{name}: {', '.join(format_time(round(ns)) for ns in own)}"
            for name, own in zip("AB", self._arms, strict=True)
        )
        self.setAccessibleName("Inference by session")
        self.setAccessibleDescription(". ".join(told))
        self.setToolTip("\n".join(("Median inference of every session", *self._texts())))

    def _texts(self) -> list[str]:
        return [
            f"{name}: {', '.join(format_time(round(ns)) for ns in sorted(own))}"
            for name, own in zip("AB", self._arms, strict=True)
        ]

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(2 * _DOT_ROW + _SCALE + 4))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        every = [ns for own in self._arms for ns in own]
        low, high = min(every, default=0.0), max(every, default=1.0)
        spread = (high - low) or max(high, 1.0) * 0.1
        low, high = low - 0.05 * spread, low + 1.05 * spread
        edge, row = theme.px(20), theme.px(_DOT_ROW)
        room = self.width() - edge - theme.px(8)

        def x_of(ns: float) -> float:
            return edge + (ns - low) / (high - low) * room

        painter.setFont(theme.font("caption"))
        for i, own in enumerate(self._arms):
            y = row * (i + 0.5)
            painter.setPen(theme.color("text2"))
            painter.drawText(QRectF(0, y - row / 2, edge, row), _LEFT, "AB"[i])
            painter.setPen(QPen(theme.color("hairline"), 1))
            painter.drawLine(QPointF(edge, y), QPointF(edge + room, y))
            color = theme.color("text2") if i == 0 else change_color(self._verdict, theme)
            painter.setPen(QPen(color, 1.2))
            painter.setBrush(color if i else Qt.BrushStyle.NoBrush)
            for ns in own:
                painter.drawEllipse(QPointF(x_of(ns), y), _RADIUS, _RADIUS)
            if own:
                middle = x_of(median(own))
                painter.setPen(QPen(theme.color("text1"), 2))
                painter.drawLine(QPointF(middle, y - row * 0.4), QPointF(middle, y + row * 0.4))
        painter.setPen(theme.color("text2"))
        under = QRectF(edge, 2 * row + 2, room, theme.px(_SCALE))
        if every:
            painter.drawText(under, _LEFT, format_time(round(min(every))))
            painter.drawText(under, _RIGHT, format_time(round(max(every))))
        painter.end()


class StepChart(QWidget):
    """The steps from A to B as bars that begin where the previous one ends.

    The totals are cut at the left, so that small steps are visible. `picked(row)`: a click on the
    step of a row.
    """

    picked = Signal(int)

    def __init__(self, a_ns: float, steps: Sequence[Step], b_ns: float, theme: Theme) -> None:
        super().__init__()
        self._a, self._b, self._steps, self._theme = a_ns, b_ns, tuple(steps), theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("From A to B")
        parts = [f"A {format_time(round(a_ns))}"]
        parts += [f"{step.label} {difference_text(round(step.ns))}" for step in self._steps]
        self.setAccessibleDescription(", ".join([*parts, f"B {format_time(round(b_ns))}"]))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(_ROW) * (len(self._steps) + 2))

    def row_at(self, y: float) -> int:
        """Return the number of the row whose step is at a height in px, -1 for none."""
        i = int(y // self._theme.px(_ROW)) - 1
        return self._steps[i].row if 0 <= i < len(self._steps) else -1

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position().y())
        if row >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.picked.emit(row)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        low, high = self._range()
        left, right = self.label_width, self.width() - theme.px(_NUMBER)
        scale = max(right - left, 1) / ((high - low) or 1)
        at = self._a
        self._total(painter, 0, "A", self._a, left, left + (self._a - low) * scale)
        for i, step in enumerate(self._steps, 1):
            verdict = "" if step.verdict is None else step.verdict.value
            start, end = sorted((left + (at - low) * scale, left + (at + step.ns - low) * scale))
            color = change_color(verdict, theme)
            is_proven = verdict in (SLOWER, FASTER)
            tone = theme.color("text1" if is_proven else "text2")
            self._row(painter, i, step.label, difference_text(round(step.ns)), tone)
            bar = QRectF(start, self._top(i), max(end - start, 1.5), theme.px(_BAR))
            if not is_proven:
                color = theme.color("slab")
            painter.fillRect(bar, color)
            at += step.ns
        last = len(self._steps) + 1
        self._total(painter, last, "B", self._b, left, left + (self._b - low) * scale)
        painter.end()

    @property
    def label_width(self) -> int:
        """The px from the left edge to the bars: all of the labels, if the chart is wide enough."""
        metrics = QFontMetricsF(self._theme.font("cell"))
        wanted = max((metrics.horizontalAdvance(step.label) for step in self._steps), default=0.0)
        most = max(round(_MOST_LABEL * self.width()), self._theme.px(_LABEL))
        return min(max(round(wanted) + self._theme.px(12), self._theme.px(_LABEL)), most)

    def _range(self) -> tuple[float, float]:
        """The times at the left and right ends: all steps, and a part of the totals."""
        at, seen = self._a, [self._a, self._b]
        for step in self._steps:
            at += step.ns
            seen.append(at)
        low, high = min(seen), max(seen)
        spread = (high - low) or max(high, 1.0)
        low = max(low - 0.35 * spread, 0.0)
        return (0.0 if low < 0.15 * high else low), high

    def _top(self, i: int) -> float:
        row = self._theme.px(_ROW)
        return i * row + (row - self._theme.px(_BAR)) / 2

    def _total(
        self, painter: QPainter, i: int, name: str, ns: float, left: float, end: float
    ) -> None:
        theme = self._theme
        self._row(painter, i, name, format_time(round(ns)), theme.color("text1"))
        bar = QRectF(left, self._top(i), max(end - left, 1.5), theme.px(_BAR))
        painter.fillRect(bar, theme.color("text3"))
        if self._range()[0] <= 0:
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("panel"), 2))
        for x in (left + theme.px(6), left + theme.px(10)):  # the axis does not begin at 0
            painter.drawLine(QPointF(x - 2, bar.bottom() + 1), QPointF(x + 2, bar.top() - 1))
        painter.restore()

    def _row(self, painter: QPainter, i: int, name: str, number: str, tone: object) -> None:
        theme = self._theme
        row = theme.px(_ROW)
        painter.setPen(tone)
        painter.setFont(theme.font("cell"))
        room = QRectF(0, i * row, self.label_width - theme.px(8), row)
        shown = elided_text(
            painter.fontMetrics(), name, Qt.TextElideMode.ElideMiddle, int(room.width())
        )
        painter.drawText(room, _LEFT, shown)
        painter.drawText(QRectF(0, i * row, self.width(), row), _RIGHT, number)
