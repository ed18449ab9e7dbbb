"""The Estimates panel: estimates of the Torq compiler next to measurements, with their ratio.

It compares all open files, by action (an NSS job counts as one) or by operator. Debug info and
compile profiles contain estimates; host, annotated and job profiles contain measurements. The bar
shows the measured time, the line across it the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from viewer.analysis.torq.estimates import ActionRow, ComparedAction, Estimates, OperatorRow
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.operator_model import (
    Cell,
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
    term_heading,
)
from viewer.gui.panels.base.panel import PanelHost, Question
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.gui.panels.base.trace_panel import GroupedPanel
from viewer.gui.qt.widgets.labels import label
from viewer.model import figures
from viewer.model.figures import FigureTerm
from viewer.model.recorded_names import job_name
from viewer.model.text import display_name
from viewer.model.times import counted, format_ratio, format_time, group_digits
from viewer.view.open_trace import AT_ONCE
from viewer.workspace.snapshot import shared_estimates
from viewer.workspace.workspace import Workspace

NOTHING = (
    "Open a Torq runtime profile together with its compile profile or its debug info to compare "
    "estimates with measurements."
)
BY_ACTION, BY_OPERATOR = "Action", "Operator"
_EXCESS = 2  # the column that sorts: after the name and the measured time


class EstimatesPanel(GroupedPanel["EstimatesAnswer"]):
    """Estimates next to measurements of all open files."""

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        self.note = label("", theme, "caption", "text2", wrap=True)
        below = QWidget()
        foot = QVBoxLayout(below)
        foot.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        foot.addWidget(self.note)
        hint = "Filter by operator or action"
        super().__init__(host, "Estimates", hint, below)
        self.by.addItems([BY_ACTION, BY_OPERATOR])
        self.by.activated.connect(self._show)
        self.table.chosen.connect(self._choose)
        session.coloring_changed.connect(self._color)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    def question(self) -> Question | None:
        space = copy(self._session.workspace)
        return Question(_answer, (space,), sum(len(trace.slices) for trace in space.traces))

    def show_answer(self, answer: EstimatesAnswer) -> None:
        self._show()

    @Slot()
    def _show(self) -> None:
        answer = self.answer
        if answer is None or not answer.tables:
            self.show_sentence(NOTHING)
            return
        contents, counts = answer.tables[self.by.currentText()]
        self._color()
        self.table.show_contents(contents, sorted_by=_EXCESS)
        self.subtitle.setText(counts)
        self.note.setText(_sources(answer.made))
        self.show_page()

    @Slot()
    def _color(self) -> None:
        """Color operators like the slices of the first open trace of their program."""
        table = self.answer.made.table if self.answer is not None else None
        program = None if table is None else table.program
        traces = [
            open_trace for open_trace in self._session.traces if open_trace.table.program is program
        ]
        scheme = self._session.state.scheme
        has_trace = program is not None and bool(traces)
        self.table.color_operators(traces[0].operator_colors(scheme) if has_trace else None)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select the operators of a row, in a profile with measurements if one is open."""
        operators = self.model.rows[row].operators
        estimates = None if self.answer is None else self.answer.made
        if not operators or estimates is None or estimates.table is None:
            return
        program = estimates.table.program
        measured = {path for path, gives in estimates.sources if gives == "measurement"}
        linked = [
            number
            for number, open_trace in enumerate(self._session.traces)
            if open_trace.table.program is program
        ]
        linked.sort(key=lambda number: self._session.traces[number].file.path not in measured)
        if linked:
            self._session.select_operators(linked[0], operators)


@dataclass(frozen=True, slots=True)
class EstimatesAnswer:
    """The comparison, and by key its rows and a summary line; no tables if there are no rows."""

    made: Estimates
    tables: Mapping[str, tuple[OperatorContents, str]]


def _answer(space: Workspace) -> EstimatesAnswer:
    """Compare all open files. Half a million rows take seconds."""
    estimates = shared_estimates(space)
    if not estimates.actions and not estimates.operators:
        return EstimatesAnswer(estimates, {})
    several = len({row.dispatch for row in estimates.actions}) > 1
    parts: tuple[tuple[str, Sequence[ComparedAction]], ...] = (
        (BY_ACTION, estimates.actions),
        (BY_OPERATOR, estimates.operators),
    )
    tables = {title: (_contents(rows, title, several), _counts(rows)) for title, rows in parts}
    return EstimatesAnswer(estimates, tables)


def _counts(rows: Sequence[ComparedAction]) -> str:
    """Count the rows with both sides, and show the ratio of their sums."""
    both = [row for row in rows if row.ratio is not None]
    counts = (
        f"{group_digits(len(both))} of {group_digits(len(rows))} have an estimate and a measurement"
    )
    if not both:
        return counts
    measured = sum(row.measured.mean for row in both if row.measured is not None)
    estimate = sum(row.estimate_ns or 0.0 for row in both)
    return f"{counts} · {format_ratio(measured / estimate)} of the estimate in total"


def _contents(rows: Sequence[ComparedAction], title: str, several: bool) -> OperatorContents:
    """several: whether the rows are from several dispatches."""
    longest = [
        max(row.estimate_ns or 0.0, row.measured.mean if row.measured else 0.0) for row in rows
    ]
    most = max(longest, default=0.0)

    def number(value: float | None, text: Callable[[Any], str], missing: float = -1.0) -> Cell:
        return (MISSING, missing) if value is None else (text(value), value)

    def of_runs(term: FigureTerm, name: str) -> tuple[Heading, Callable[[ComparedAction], Cell]]:
        heading = term_heading(term, ColumnKind.TIME, 92, "Of the measured inferences.")
        return heading, lambda row: number(getattr(row.measured, name, None), format_time)

    columns: RowColumns[ComparedAction] = (
        (Heading("Measured", ColumnKind.BAR, 208, "Mean of the measured inferences."),
            lambda row: number(getattr(row.measured, "mean", None), format_time)),
        (Heading("Excess", ColumnKind.TIME, 92, "The measured time less the estimate."),
            lambda row: number(row.excess_ns, _signed_time, missing=-math.inf)),
        (Heading("Estimate", ColumnKind.TIME, 96, "What the compiler expected."),
            lambda row: number(row.estimate_ns, format_time)),
        (Heading("Ratio", ColumnKind.NUMBER, 76, "The measured time divided by the estimate."),
            lambda row: number(row.ratio, format_ratio)),
        (Heading("Inferences", ColumnKind.NUMBER, 84, "How many inferences were measured."),
            lambda row: number(getattr(row.measured, "runs", None), group_digits)),
        of_runs(figures.MEDIAN, "p50"),
        of_runs(figures.MIN, "min"),
        of_runs(figures.MAX, "max"),
    )  # fmt: skip
    listed = []
    for row in rows:
        mean = row.measured.mean if row.measured else 0.0
        listed.append(
            TableRow(
                row.operators,
                "",
                row.label,
                _place(row, several),
                *cells_of(columns, row, row.label.lower()),
                mean / most if most else 0.0,
                tone="unit_compute" if row.on_npu else "unit_host",
                mark=row.estimate_ns / most if row.estimate_ns is not None and most else -1.0,
                detail=_detail(row),
            )
        )
    return OperatorContents(headings_of(title, columns), tuple(listed))


def _signed_time(ns: float) -> str:
    return format_time(ns) if ns <= 0 else f"+{format_time(ns)}"


def _place(row: ComparedAction, several: bool) -> str:
    """Return "job 0", "action 2", or the number of actions that an operator's row sums up."""
    if isinstance(row, OperatorRow):
        where = "NPU" if row.on_npu else "host"
        count = f" · {counted(row.actions, 'action')}" if row.actions else ""
        return f"{where}{count}"
    assert isinstance(row, ActionRow)
    parts = [row.dispatch] if several and row.dispatch else []
    if row.job is not None:
        name = job_name(row.job)
        parts += [name] if name != row.label else []
    elif row.action is not None:
        parts.append(f"action {row.action}")
    return " · ".join(parts)


def _detail(row: ComparedAction) -> str:
    """Return the tooltip's details: the dispatch's operation, its actions, and what is missing."""
    if not isinstance(row, ActionRow):
        return row.reason
    actions = [str(a) for a in (row.start_action, row.action) if a is not None]
    numbers = f"action{'s' if len(actions) > 1 else ''} {' and '.join(actions)}" if actions else ""
    operation = " · ".join(filter(None, (row.operation, numbers)))
    return "\n".join(filter(None, (operation, row.reason)))


def _sources(estimates: Estimates) -> str:
    """Name the files that provided each side, the clock rate, and what could not be used."""
    sides = []
    for gives, text in (("estimate", "estimated by"), ("measurement", "measured by")):
        names = [display_name(path) for path, side in estimates.sources if side == gives]
        if names:
            rate = f" at {estimates.cycles.text}" if gives == "estimate" else ""
            sides.append(f"{text} {', '.join(names)}{rate}")
    return " · ".join([*sides, *estimates.notes])
