"""The Compare panel: whether B is faster than A, what explains it, and how sure that is.

Its charts have dots for sessions, and the steps from A to B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.comparison.arms import Arm, is_one_file
from viewer.analysis.comparison.comparison import Doubt, Step, Verdict, steps_of
from viewer.analysis.comparison.levels import LEVELS_OF_CALLS
from viewer.analysis.comparison.session_test import LEAST_SESSIONS, THRESHOLD
from viewer.analysis.comparison.sessions import celsius_text, clock_text
from viewer.gui.panels.base.chart import BESIDE, Axis, Chart
from viewer.gui.panels.base.panel import PagePanel, PanelHost
from viewer.gui.panels.base.range_view import NO_BOX as NONE
from viewer.gui.qt.clipboard import copy_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import FASTER, SLOWER, VerdictMark, change_color
from viewer.gui.qt.widgets.labels import ElidedLabel, Hairline, elided_text, label
from viewer.gui.session.comparison import ComparisonFeed, compare, select_row, swap_arms
from viewer.model.quantiles import median
from viewer.model.times import counted, format_time
from viewer.model.trace_attributes import WorkUnit
from viewer.reports.compare_text import (
    RELATIVE,
    compare_markdown,
    difference_text,
    explanation,
    headline,
    is_of_files,
    whole_and_rows,
    whole_inference,
    whole_name,
)
from viewer.view.open_comparison import OpenComparison

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
    """The sessions of A, then of B, in order of time on one scale, with their medians as lines."""

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


_INSET, _GAP, _SECTION = 16, 8, 12
ONE_FILE = "parts of one file"
# What `run.json` states of every session.
_CONDITIONS = (
    ("Temperature", "temperature_c", celsius_text),
    ("Clock", "frequency_khz", clock_text),
)
_MILLI = 1000  # the axis of a chart has whole numbers
COPY, SWAP, END = "Copy as Markdown", "Swap A and B", "End comparison"


class CompareCard(QWidget):
    """The sections, from top to bottom.

    `row_picked(number)`: a step of the chart was clicked. `pressed(text)`: one of the buttons.
    """

    row_picked = Signal(int)
    pressed = Signal(str)

    def __init__(self, open_comparison: OpenComparison, theme: Theme) -> None:
        super().__init__()
        self._theme, self._found, self._comparison = theme, open_comparison, open_comparison.calls
        self._steps_found = steps_of(self._comparison)
        self._column = QVBoxLayout(self)
        inset = theme.px(_INSET)
        self._column.setContentsMargins(inset, inset, inset, inset)
        self._column.setSpacing(theme.px(_GAP))
        self._answer()
        self._inference()
        self._steps()
        self._proof()
        self._buttons()
        self._column.addStretch(1)

    def _answer(self) -> None:
        comparison, theme = self._comparison, self._theme
        self._column.addWidget(label(headline(comparison), theme, "operator", wrap=True))
        if comparison.is_relative:
            self._column.addWidget(label(RELATIVE, theme, "cell", "text2", wrap=True))
        if more := explanation(comparison):
            self._column.addWidget(label(more, theme, "cell", "text2", wrap=True))

    def _inference(self) -> None:
        compared, theme = self._comparison.inference, self._theme
        verdict, figures = whole_inference(compared, self._comparison.known_drifts[-1])
        frame = QFrame()
        frame.setProperty("card", True)
        row = QHBoxLayout(frame)
        pad = theme.px(10)
        row.setContentsMargins(pad, pad, pad, pad)
        row.setSpacing(theme.px(10))
        row.addWidget(VerdictMark(compared.verdict.value, theme), 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(theme.px(2))
        texts.addWidget(label(f"Whole {whole_name(self._comparison)}: {verdict}", theme, "section"))
        texts.addWidget(label(figures, theme, "cell", "text2", wrap=True))
        steps = self._steps_found
        if why := whole_and_rows(self._comparison, steps.rows_a, steps.rows_b):
            texts.addWidget(label(why, theme, "caption", "text2", wrap=True))
        row.addLayout(texts, 1)
        self._column.addWidget(frame)
        if text := timeline_text(self._found):
            self._column.addWidget(label(text, theme, "caption", "text2", wrap=True))
        if compared.sessions_a or compared.sessions_b:
            dots = SessionDots(
                compared.sessions_a, compared.sessions_b, compared.verdict.value, theme
            )
            self._column.addWidget(dots)

        for title, field, text_of in _CONDITIONS:
            stated = [[getattr(session.conditions, field) for session in arm.sessions]
                      for arm in self._found.arms]  # fmt: skip
            a, b = ([value for value in arm if value is not None] for arm in stated)
            if a and b:
                self._column.addWidget(label(f"{title} by session", theme, "caption", "text2"))
                dots = SessionDots(
                    [_MILLI * value for value in a],
                    [_MILLI * value for value in b],
                    Verdict.CANNOT_TELL.value,
                    theme,
                    what=title,
                    text_of=partial(_of_thousandths, text_of),
                )
                self._column.addWidget(dots)

    def _steps(self) -> None:
        steps = self._steps_found
        if not steps.steps:
            return
        has_runs = any(len(s.runs) > 1 for arm in self._found.arms for s in arm.sessions)
        medians = ", medians" if has_runs else ""
        self._section("From A to B", f"per {whole_name(self._comparison)}{medians}")
        chart = StepChart(steps.a_ns, steps.steps, steps.b_ns, self._theme)
        chart.picked.connect(self.row_picked)
        self._column.addWidget(chart)

    def _proof(self) -> None:
        comparison = self._comparison
        self._section("Smallest provable change")
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(self._theme.px(4))
        typical, whole = comparison.detectable, comparison.inference.detectable
        a, b = (len(arm.sessions) for arm in self._found.arms)
        enough = min(a, b) >= LEAST_SESSIONS
        is_estimate = comparison.inference.doubt is Doubt.NOT_MEASURED
        need = "none of estimates" if is_estimate else "needs 3 + 3 sessions"
        name = whole_name(comparison)
        whole_text = WorkUnit(name).with_article
        row = "Of an operator" if comparison.a.level in LEVELS_OF_CALLS else "Of a row"
        facts = [
            (row, _percent(typical) if enough else "unknown"),
            (f"Of {whole_text}", _percent(whole) if enough else "unknown"),
            ("Sessions", ONE_FILE if is_one_file(*self._found.arms) else f"{a} + {b}"),
            ("Threshold", f"{100 * THRESHOLD:g} %"),
            ("Test", "t test, 5 % FDR" if enough and not is_estimate else need),
        ]
        for i, (name, value) in enumerate(facts):
            grid.addWidget(label(name, self._theme, "cell", "text2"), i, 0)
            grid.addWidget(label(value, self._theme), i, 1, Qt.AlignmentFlag.AlignRight)
        self._column.addLayout(grid)
        for note in comparison.notes:
            self._column.addWidget(label(note, self._theme, "caption", "text2", wrap=True))
        for name, arm in zip("AB", self._found.arms, strict=True):
            text = f"{name}: {arm_text(arm)}"
            self._column.addWidget(ElidedLabel(text, self._theme, "caption", "text2"))

    def _buttons(self) -> None:
        for texts in ((COPY,), (SWAP, END)):
            row = QHBoxLayout()
            for text in texts:
                button = QPushButton(text)
                button.clicked.connect(partial(self.pressed.emit, text))
                row.addWidget(button)
            row.addStretch(1)
            self._column.addLayout(row)

    def _section(self, title: str, caption: str = "") -> None:
        theme = self._theme
        self._column.addSpacing(theme.px(_SECTION - _GAP))
        self._column.addWidget(Hairline(theme))
        row = QHBoxLayout()
        row.addWidget(label(title, theme, "section", "text2"))
        caption_label = ElidedLabel(caption, theme, "caption", "text2")
        caption_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(caption_label, 1)
        self._column.addLayout(row)


def timeline_text(compared: OpenComparison) -> str:
    """Return which inferences the timeline shows, and what they take; "" without any."""
    parts = []
    for side, name in enumerate("AB"):
        typical = compared.typical(side)
        if typical is None:
            return ""
        path, run = typical
        session = next(s for s in compared.arms[side].sessions if s.table.trace.path == path)
        took = format_time(round((run.end - run.start) * session.ns_per_tick))
        parts.append(f"{run.unit.noun} {run.number} of {name}, {took}")
    return f"On the timeline, the most usual: {'; '.join(parts)}"


def arm_text(arm: Arm) -> str:
    """Return the sessions of an arm: "7 sessions, 325 inferences, portable.0.etdp and 6 more".

    Of a part of one file, what it is: "inference 3 of portable.0.etdp".
    """
    names = list(dict.fromkeys(session.name for session in arm.sessions))
    runs = sum(len(session.runs) for session in arm.sessions)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    if arm.choice and len(arm.sessions) == 1:
        return f"{arm.choice} of {names[0]}"
    head = counted(len(arm.sessions), "session")
    if not is_of_files(arm):
        head += f", {arm.unit.counted(runs)}"
    head = f"{arm.choice}, {head}" if arm.choice else head
    return f"{head}, {names[0]}{more}" if names else head


def _of_thousandths(text_of: Callable[[float | None], str], value: float) -> str:
    return text_of(value / _MILLI)


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


NOTHING = (
    "Compare the open profiles with others: is B faster, where, and is it sure? Each file is a "
    "session, that is, one process on the device. A verdict needs three sessions in each arm."
)
COMPUTING = "Comparing…"


class ComparePanel(PagePanel):
    """The answer of the comparison, or a button to begin one."""

    def __init__(self, host: PanelHost) -> None:
        session = host.session
        super().__init__(host)
        self._feed = ComparisonFeed.of(session)
        self.card: CompareCard | None = None
        self.page = QScrollArea()
        self.page.setWidgetResizable(True)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setAccessibleName("Compare")
        self.page.viewport().setAutoFillBackground(False)
        self.set_page(self.page)
        self.refresh_on(self._feed.changed, session.compared)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the comparison, why there is none, or a button to begin one."""
        open_comparison = self._feed.answer
        if open_comparison is not None and not open_comparison.problem:
            self.card = CompareCard(open_comparison, self._theme)
            self.card.row_picked.connect(self._pick)
            self.card.pressed.connect(self._press)
            self.page.setWidget(self.card)
            self.show_page()
        elif open_comparison is not None:
            self.show_sentence(f"Arm {open_comparison.problem}.", END, self._end)
        elif self._feed.pending:
            self.show_sentence(COMPUTING)
        else:
            self.show_sentence(NOTHING, "Compare with…", self.host.choose_comparison)

    def clear_page(self) -> None:
        self.card = None
        if (old := self.page.takeWidget()) is not None:
            old.deleteLater()

    @Slot(int)
    def _pick(self, row: int) -> None:
        if (open_comparison := self._feed.answer) is not None:
            select_row(self._session, open_comparison, row)

    @Slot(str)
    def _press(self, text: str) -> None:
        open_comparison = self._feed.answer
        if text == COPY and open_comparison is not None:
            copy_text(self, compare_markdown(open_comparison.calls), "the comparison")
        elif text == SWAP:
            swap_arms(self._session)
        elif text == END:
            self._end()

    @Slot()
    def _end(self) -> None:
        compare(self._session, None)
