"""The charts of the Compare panel: dots for sessions, and the steps from A to B."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF

from viewer.analysis.comparison.steps import Step
from viewer.gui.panels.base.chart import BESIDE, Axis, Chart
from viewer.gui.panels.base.range_view import NONE
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, change_color
from viewer.model.quantiles import median
from viewer.model.times import format_time
from viewer.reports.compare_text import difference_text

_DOT_ROW, _DOT, _NEAR = 20, 7, 6  # px
_ROW, _LABEL, _NUMBER = 22, 116, 84  # px
_BAR = 0.6  # of a row
_MOST_LABEL = 0.4  # of the width, for labels


class _TimeChart(Chart):
    """A chart with times across, in ns from a time on."""

    def __init__(self, theme: Theme, name: str, low: float, high: float) -> None:
        super().__init__(theme, name)
        self.origin = math.floor(low)
        self._span = max(math.ceil(high) - math.floor(low), 1)
        self.bottom.is_time = True

    @property
    def _length(self) -> int:
        return self._span

    @property
    def _is_filled(self) -> bool:
        return True

    def _x(self, ns: float) -> float:
        return self.x_of(ns - self.origin)


class SessionDots(_TimeChart):
    """The sessions of both arms on one scale of time, with their medians as lines.

    Its boxes are the sessions of A and then of B, each in order of time.
    """

    LEFT = 20  # px

    def __init__(
        self,
        a: Sequence[float],
        b: Sequence[float],
        verdict: str,
        theme: Theme,
        *,
        what: str = "Median inference",
        text_of: Callable[[float], str] | None = None,
    ) -> None:
        """a, b: the time of an inference in every session, in ns; or `what` else, with its text."""
        self._what, self._text_of = what, text_of or _time_text
        self._arms, self._verdict = (sorted(a), sorted(b)), verdict
        self._dots = [(arm, ns) for arm, times in enumerate(self._arms) for ns in times]
        times = [ns for _, ns in self._dots] or [0.0, 1.0]
        low, high = min(times), max(times)
        spread = 0.05 * ((high - low) or max(high, 1.0) * 0.1)
        name = "Inference" if text_of is None else what
        super().__init__(theme, f"{name} by session", low - spread, high + spread)
        if text_of is not None:
            self.bottom.is_time, self.bottom.text_of = False, text_of
        self.setAccessibleDescription(". ".join(self._lines_beside(QPointF())[1:]))
        self._show_anew(stays=False)

    @property
    def fixed_height(self) -> int:
        return self._theme.px(2 * _DOT_ROW) + self.text_height + BESIDE

    def lines(self, box: int) -> Sequence[str]:
        arm, ns = self._dots[box]
        return f"A session of {'AB'[arm]}", f"{self._what} {self._text_of(ns)}"

    def _lines_beside(self, point: QPointF) -> Sequence[str]:
        rows = (
            f"{name}: {', '.join(map(self._text_of, times))}"
            for name, times in zip("AB", self._arms, strict=True)
        )
        return (f"{self._what} of every session", *rows)

    def room(self, box: int) -> QRectF | None:
        if box < 0:
            return None
        (arm, ns), plot, half = self._dots[box], self.plot_rect(), _DOT
        x, y = self._x(ns), plot.top() + plot.height() * (0.25 + 0.5 * arm)
        return QRectF(x - half, y - half, 2 * half, 2 * half) if plot.contains(x, y) else None

    def box_at(self, point: QPointF) -> int:
        rooms = [(box, self.room(box)) for box in range(len(self._dots))]
        near = [
            (abs(room.center().x() - point.x()), box)
            for box, room in rooms
            if room is not None
            and abs(room.center().y() - point.y()) <= self._theme.px(_DOT_ROW) / 2
        ]
        distance, box = min(near, default=(math.inf, NONE))
        return box if distance <= _NEAR else NONE

    def zoom_to(self, box: int) -> None:
        """Show a tenth of the times, around a session."""
        span = max(self._span // 10, 1)
        self._show_from(round(self._dots[box][1] - self.origin) - span // 2, span)

    @property
    def _count(self) -> int:
        return len(self._dots)

    def _fill(self) -> None:
        theme = self._theme
        self.set_axes(-0.5, 1.5, ((1.0, "A"), (0.0, "B")))
        for arm, times in enumerate(self._arms):
            color = theme.color("text2") if arm == 0 else change_color(self._verdict, theme)
            y = 1.0 - arm
            self.add(
                pg.ScatterPlotItem(
                    times, np.full(len(times), y), size=theme.px(_DOT), pen=pg.mkPen(color),
                    brush=pg.mkBrush(color if arm else None),
                )
            )  # fmt: skip
            if times:
                self.add_line([median(times)] * 2, [y - 0.4, y + 0.4], "text1", width=2)


def _time_text(ns: float) -> str:
    return format_time(round(ns))


class StepChart(_TimeChart):
    """The steps from A to B as bars that begin where the previous one ends.

    The totals are cut at the left, so that small steps are visible. Its boxes are the rows, from
    the total of A to that of B. `picked(row)`: a click on the step of a row, or a key.
    """

    picked = Signal(int)
    has_grid = False
    STEPS: ClassVar = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}

    def __init__(self, a_ns: float, steps: Sequence[Step], b_ns: float, theme: Theme) -> None:
        self._steps = tuple(steps)
        # Per row: where its bar starts and ends.
        upto = (a_ns + np.cumsum([0.0, *(step.ns for step in steps)])).tolist()
        low, high = min(*upto, b_ns), max(*upto, b_ns)
        low = max(low - 0.35 * ((high - low) or max(high, 1.0)), 0.0)
        low = 0.0 if low < 0.15 * high else low
        self._bars = [(low, a_ns), *pairwise(upto), (low, b_ns)]
        differences = [difference_text(round(step.ns)) for step in steps]
        self._numbers = [format_time(round(a_ns)), *differences, format_time(round(b_ns))]
        self._labels = ["A", *(step.label for step in steps), "B"]
        self.right = Axis("right")
        super().__init__(theme, "From A to B", low, high)
        self.plot.invertY(True)
        self.centralLayout.addItem(self.right, 0, 2)
        self.right.linkToView(self.plot)
        titles = (f"{label} {n}" for label, n in zip(self._labels, self._numbers, strict=True))
        self.setAccessibleDescription(", ".join(titles))
        self.chosen.connect(self._pick)
        self._show_anew(stays=False)

    @property
    def fixed_height(self) -> int:
        return self._theme.px(_ROW) * len(self._bars) + self.text_height + BESIDE

    def _pick(self, box: int) -> None:
        row = self._steps[box - 1].row if 0 < box <= len(self._steps) else NONE
        if row >= 0:
            self.picked.emit(row)

    @property
    def label_width(self) -> int:
        """The px from the left edge to the bars: all of the labels, if the chart is wide enough."""
        metrics = QFontMetricsF(self._theme.font("cell"))
        wanted = max(metrics.horizontalAdvance(label) for label in self._labels)
        most = max(round(_MOST_LABEL * self.width()), self._theme.px(_LABEL))
        return min(max(round(wanted) + self._theme.px(12), self._theme.px(_LABEL)), most)

    @property
    def left_width(self) -> int:
        return self.label_width

    def _fit_axes(self) -> None:
        super()._fit_axes()
        self.right.setWidth(self._theme.px(_NUMBER))

    # -- what a box is ---------------------------------------------------------------------------

    def lines(self, box: int) -> Sequence[str]:
        return self._labels[box], self._numbers[box]

    def box_at(self, point: QPointF) -> int:
        plot = self.plot_rect()
        row = math.floor((point.y() - plot.top()) / max(plot.height(), 1) * len(self._bars))
        return row if 0 <= row < len(self._bars) else NONE

    def room(self, box: int) -> QRectF | None:
        if box < 0:
            return None
        plot = self.plot_rect()
        high = plot.height() / len(self._bars)
        x0, x1 = (min(max(self._x(ns), plot.left()), plot.right()) for ns in self._bars[box])
        left, y = min(x0, x1), plot.top() + (box + (1 - _BAR) / 2) * high
        return QRectF(left, y, max(abs(x1 - x0), 3.0), _BAR * high)

    def zoom_to(self, box: int) -> None:
        """Show the times around a step."""
        low, high = sorted(round(ns - self.origin) for ns in self._bars[box])
        self._show_from(low - (high - low), 3 * max(high - low, 1))

    @property
    def _count(self) -> int:
        return len(self._bars)

    def _fill(self) -> None:
        theme, count = self._theme, len(self._bars)
        metrics = QFontMetricsF(theme.font("cell"))
        room, middle = self.label_width - theme.px(8), Qt.TextElideMode.ElideMiddle
        labels = (elided_text(metrics, label, middle, room) for label in self._labels)
        self.set_axes(0.0, count, [(row + 0.5, label) for row, label in enumerate(labels)])
        self.style_axis(self.right)
        for axis in (self.left, self.right):
            axis.setTickFont(theme.font("cell"))
            axis.setTextPen(theme.color("text1"))
            axis.setPen(None)
            axis.setTickPen(None)
        self.right.setTicks([[(row + 0.5, text) for row, text in enumerate(self._numbers)]])
        least = self._span / max(self.plot_rect().width(), 1)  # a pixel
        for row, (start, end) in enumerate(self._bars):
            step = self._steps[row - 1] if 0 < row < count - 1 else None
            verdict = "" if step is None or step.verdict is None else step.verdict.value
            color = theme.color("text3" if step is None else "slab")
            if verdict in (SLOWER, FASTER):
                color = change_color(verdict, theme)
            left, right = min(start, end), max(start, end)
            top = row + (1 - _BAR) / 2
            self.add_bars(left, max(right, left + least), top, top + _BAR, color)
            if step is None and start > 0:  # the axis does not begin at 0
                mark = pg.TextItem("//", theme.color("panel"), anchor=(0, 0.5))
                mark.setPos(start, row + 0.5)
                self.add(mark)
