"""The costs of operators per inference, and a source code snippet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.cost.costs import CostTable
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.labels import explain
from viewer.model.quantiles import percentiles
from viewer.model.times import format_time
from viewer.model.trace import Run
from viewer.model.warm_up import included_text
from viewer.view.open_trace import OpenTrace


def costs_of_runs(
    open_trace: OpenTrace, tables: Sequence[CostTable], wanted: tuple[int, ...]
) -> tuple[list[Run], list[int]]:
    """Return the inferences that executed the method of some operators, and their ticks in each.

    tables: the costs of all inferences that finished.
    """
    program = open_trace.table.program
    methods = {program.operators[i].method for i in wanted} if program is not None else set()
    runs, costs = [], []
    for run, table in zip(open_trace.trace.finished_inferences(), tables, strict=True):
        if open_trace.table.method_of_scope(run.scope) in (None, *methods):
            runs.append(run)
            costs.append(next((row.ticks for row in table.rows if row.operators == wanted), 0))
    return runs, costs


def spread_text(runs: Sequence[Run], costs: Sequence[int], *, warm_up: bool = False) -> str:
    """Return the percentiles of costs, and which inferences they cover.

    costs: ns for each of the runs, which executed the method. warm_up: whether those that warm up
    count.
    """
    included = [cost for run, cost in zip(runs, costs, strict=True) if warm_up or not run.warms_up]
    p10, p50, p90 = map(format_time, percentiles(np.array(included), (10, 50, 90)))
    of = included_text(len(included), len(runs) - len(included), runs[0].unit)
    return f"p10 {p10} · p50 {p50} · p90 {p90} of {of}"


class CodeSnippet(QWidget):
    """A few lines of code with one line highlighted; lines that are too long end in "…"."""

    _LINE = 19
    _INSET = 4

    def __init__(self, lines: Sequence[tuple[int, str]], marked: int, theme: Theme) -> None:
        super().__init__()
        indent = min((len(t) - len(t.lstrip()) for _, t in lines if t.strip()), default=0)
        self._lines = [(number, text[indent:].expandtabs(4)) for number, text in lines]
        self._marked = marked
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("\n".join(f"{n} {t}" for n, t in self._lines))
        explain(self, next((t for n, t in self._lines if n == marked), ""))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        line = self._theme.px(self._LINE)
        return QSize(self._theme.px(200), line * len(self._lines) + 2 * self._INSET + 2)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, line = self._theme, self._theme.px(self._LINE)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.color("line"))
        painter.setBrush(theme.color("canvas"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        font = theme.font("code")
        painter.setFont(font)
        metrics = QFontMetrics(font)
        digits = metrics.horizontalAdvance(str(self._lines[-1][0])) + theme.px(12)
        for i, (number, text) in enumerate(self._lines):
            y = 1 + self._INSET + i * line
            if number == self._marked:
                painter.fillRect(QRectF(1, y, self.width() - 2, line), theme.color("selection"))
            painter.setPen(theme.color("text2" if number == self._marked else "text3"))
            painter.drawText(
                QRectF(0, y, digits, line),
                int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter),
                str(number),
            )
            painter.setPen(theme.color("text1" if number == self._marked else "text2"))
            left = digits + theme.px(8)
            room = self.width() - left - theme.px(8)
            elided = elided_text(metrics, text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(
                QRectF(left, y, room, line), int(Qt.AlignmentFlag.AlignVCenter), elided
            )
        painter.end()
