"""The chart of the bytes in use over instructions or time, below the picture of the arena."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF

from viewer.gui.panels.base.chart import Chart
from viewer.gui.panels.base.range_view import NONE
from viewer.gui.panels.memory.answer import ArenaAxis, MemoryAnswer
from viewer.gui.panels.memory.contents import instruction_text
from viewer.gui.qt.theme.theme import Theme
from viewer.model.text import bytes_text
from viewer.model.times import group_digits
from viewer.render.axis.xmap import XMap

_LEAST_HEIGHT, _MOST_HEIGHT = 62, 120  # px


class LiveChart(Chart):
    """The bytes in use; its boxes are instructions."""

    LEAST_SPAN = 3  # instructions or ticks

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Live memory")
        self._answer: MemoryAnswer | None = None
        self._axis: ArenaAxis | None = None
        self.setMinimumHeight(theme.px(_LEAST_HEIGHT))
        self.setMaximumHeight(theme.px(_MOST_HEIGHT))
        self.left.text_of = lambda size: bytes_text(round(size))
        self.bottom.text_of = lambda instruction: group_digits(round(instruction))

    def show_answer(self, answer: MemoryAnswer | None, axis: ArenaAxis | None) -> None:
        """Show a plan on one of its axes. The range stays if it is the same axis."""
        stays = axis is not None and axis is self._axis
        self._answer, self._axis = answer, axis
        trace = None if answer is None else answer.question.shown
        is_time = axis is not None and axis.times is not None and trace is not None
        self.bottom.is_time, self.bottom.least_step = is_time, 1.0
        self.bottom.setScale(float(trace.axis.ns_per_tick) if trace and is_time else 1.0)
        self.name_bottom("Time" if is_time else "Instruction")
        self._show_anew(stays=stays)

    # -- what a box is ---------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return self._axis.length if self._axis is not None else 1

    @property
    def _is_filled(self) -> bool:
        return self._answer is not None

    def box_at(self, point: QPointF) -> int:
        t = self.t_of(point.x())
        return NONE if t is None or self._axis is None else self._axis.instruction_at(int(t))

    def room(self, box: int) -> QRectF | None:
        if self._axis is None or box < 0:
            return None
        start, end = self._axis.span_of(box)
        (left, right), plot = self._sides, self.plot_rect()
        x0, x1 = max(self.x_of(start), left), min(self.x_of(end), right)
        return QRectF(x0, plot.top(), x1 - x0, plot.height()) if x0 <= x1 else None

    def lines(self, box: int) -> Sequence[str]:
        answer = self._answer
        if answer is None or not 0 <= box < len(answer.plan.live):
            return ()
        text, size = instruction_text(answer, box), int(answer.plan.live[box])
        return f"{text[:1].upper()}{text[1:]}", f"{bytes_text(size)} of planned memory in use"

    def zoom_to(self, box: int) -> None:
        """Show an instruction with some time around it."""
        assert self._axis is not None
        start, end = self._axis.span_of(box)
        self._show_from(2 * start - end, 3 * max(end - start, 1))

    @property
    def _count(self) -> int:
        return 0 if self._answer is None else len(self._answer.plan.live)

    # -- items -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Per pixel, the mean as an area, and above it the largest value as a paler one."""
        assert self._axis is not None
        axis, theme, plot = self._axis, self._theme, self.plot_rect()
        self.set_axes(0.0, max(axis.live.top, 1.0))
        columns = max(round(plot.width() * self.devicePixelRatioF()), 1)
        edges = np.linspace(*self._range, columns + 1)
        most, mean = axis.live.columns(XMap(*self._range, columns))
        parts = ((most, "", "counter_peak"), (mean, "", "counter_area"), (most, "counter_line", ""))
        for values, line, area in parts:
            pen = pg.mkPen(theme.color(line) if line else None)
            curve = pg.PlotCurveItem(edges, values, stepMode="center", pen=pen)
            if area:
                curve.setFillLevel(0.0)
                curve.setBrush(theme.color(area))
            self.add(curve)
        if self._range[0] <= axis.peak < self._range[1]:
            self.add_rule(axis.peak, "warning")
