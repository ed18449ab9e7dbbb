"""What the Compare panel shows: the answer, the whole inference, the steps, and the proof."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from viewer.analysis.comparison.arms import Arm, is_one_file
from viewer.analysis.comparison.comparison import Doubt, Verdict
from viewer.analysis.comparison.conditions import celsius_text, clock_text
from viewer.analysis.comparison.levels import LEVELS_OF_CALLS
from viewer.analysis.comparison.session_test import LEAST_SESSIONS, THRESHOLD
from viewer.analysis.comparison.steps import steps_of
from viewer.gui.panels.compare.charts import SessionDots, StepChart
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, Hairline, label
from viewer.gui.qt.widgets.verdict_marks import VerdictMark
from viewer.model.times import counted, format_time
from viewer.model.work_unit import WorkUnit
from viewer.reports.compare_sentences import (
    explanation,
    headline,
    whole_and_rows,
    whole_inference,
    whole_name,
)
from viewer.reports.compare_text import RELATIVE, is_of_files
from viewer.view.compared.open_comparison import OpenComparison

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
        more = explanation(comparison)
        if more:
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
        why = whole_and_rows(self._comparison, steps.rows_a, steps.rows_b)
        if why:
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
