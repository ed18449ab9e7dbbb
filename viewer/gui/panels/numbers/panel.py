"""The Numbers panel: the values that a profile logged, and their gap to a reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.operator_model import OperatorContents, OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.panel import PagePanel, PanelHost, head_row, page_splitter, plain_column
from viewer.gui.panels.numbers.charts import ErrorChart
from viewer.gui.panels.numbers.contents import (
    TIPS,
    Measure,
    bars_of,
    conclusion_text,
    contents_of,
    row_colors,
    subtitle_text,
)
from viewer.gui.panels.numbers.detail import DetailView
from viewer.gui.qt.background import BEING_COUNTED, Latest, WhenVisible
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, SegmentBar, laid_out, tool_button
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows
from viewer.gui.session.choices import operator_palette
from viewer.gui.session.feeds.logged_numbers import LoggedNumbers, MeasuredNumbers, NumbersRow
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.feeds.references import Automatic, Reference
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.text import one_line
from viewer.render.palette import Palette
from viewer.view.state import SliceRef

NOTHING = (
    "No open profile has logged values. To log them, load the program with enable_etdump=True and "
    "debug_buffer_size=…, write the ETDump with its debug buffer, and open the ETDump."
)
CHOOSE_BUFFER = "Choose debug buffer…"
_FIELD_WIDTH = 150  # px
_CHART_PART, _LEFT_PART = 38, 60  # percent
_LEAST_NAME = 140  # px, so that the gap, mean and max fit next to the picture of a tensor
_ROWS_AT_ONCE = 400  # 20 ms

_MOST = 2000  # operators that are looked up

OPEN_REFERENCE = "Open reference…"
NO_REFERENCE = "None"
_WIDEST_REFERENCE = 220  # px


class ReferenceChoice(QWidget):
    """The list of references. `open_requested()`: choose a file."""

    open_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._choices: list[Reference | Automatic] = []
        self._feed: NumbersFeed | None = None
        self.name = label("Reference", theme, tone="text2")
        self.box = ComboBox(theme)
        self.box.setAccessibleName("Reference")
        self.box.setToolTip("What the values are compared with")
        self.box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToContents)
        self.box.setMaximumWidth(theme.px(_WIDEST_REFERENCE))
        self.button = tool_button(
            OPEN_REFERENCE,
            "Compare with another ETDump, arrays (.npz), or the expected outputs of a bundled "
            "program (.bpte)",
        )
        laid_out(
            QHBoxLayout(self),
            self.name,
            self.box,
            self.button,
            gap=theme.px(6),
            margins=(0, 0, 0, 0),
        )
        self.box.activated.connect(self._choose)
        self.button.clicked.connect(self.open_requested)

    def show_choices(self, feed: NumbersFeed) -> None:
        """List what can be the reference now."""
        self._feed = feed
        listed: list[tuple[str, Reference | Automatic]] = []
        automatic = feed.automatic
        if automatic is not None:
            listed.append((f"B: {automatic.name}", Automatic.COMPARED))
        listed.append((NO_REFERENCE, Automatic.NOTHING))
        references = feed.offered
        chosen = feed.chosen
        answer = feed.answer
        if isinstance(chosen, Reference):
            references += [chosen] if chosen not in references else []
            cases = () if answer is None else answer.cases
            references += [Reference(chosen.path, case) for case in cases if case != chosen.case]
        listed += [
            (reference.name, reference)
            for reference in references
            if automatic is None or reference.path != automatic.path
        ]
        self._choices = [choice for _, choice in listed]
        now = chosen
        if chosen is Automatic.COMPARED and automatic is None:
            now = Automatic.NOTHING
        index = self._choices.index(now) if now in self._choices else 0
        self.box.offer((name for name, _ in listed), index)
        for widget in (self.name, self.box):
            widget.setVisible(len(listed) > 1)

    @Slot(int)
    def _choose(self, index: int) -> None:
        if self._feed is not None and 0 <= index < len(self._choices):
            self._feed.choose(self._choices[index])


def select_row(session: Session, numbers: LoggedNumbers, row: NumbersRow) -> None:
    """Select the operators of a row, or else the slice that logged it."""
    number = _number_of(session, numbers)
    if number is None:
        return
    if row.operators:
        session.select_operators(number, row.operators)
        return
    call = row.call
    index = -1 if call is None else int(numbers.question.table.trace.untimed.call[call.events[-1]])
    if index >= 0:
        session.show_inferences(Inferences.AS_RUN)
        if session.state.inferences is Inferences.AS_RUN:
            session.select_slice(SliceRef(number, index), reveal=True)


def selected_rows(session: Session, numbers: LoggedNumbers) -> tuple[int, ...]:
    """Return the rows of the selected operators, else of the selected slices; () without any."""
    state = session.state
    if state.operators is not None:
        trace, operators = state.operators
        if session.traces[trace].table.program is numbers.program:
            rows = {
                i for operator in operators[:_MOST] for i in numbers.of_operator.get(operator, ())
            }
            exact = [i for i in rows if set(numbers.rows[i].operators) == set(operators)]
            return tuple(sorted(exact or rows))
    number = _number_of(session, numbers)
    slices = None if number is None else state.slices.of.get(number)
    if number is None or slices is None or not len(slices):
        return ()
    key = session.traces[number].trace.slices.key
    own_keys = np.unique(key[slices[:_MOST]]).tolist()
    of_key = numbers.of_key
    return tuple(sorted({i for own_key in own_keys for i in of_key.get(own_key, ())}))


def first_of(numbers: LoggedNumbers, rows: Sequence[int]) -> int:
    """Return the row to show of some: the last that is compared, else the last result."""
    listed = set(numbers.compared)
    compared = [i for i in rows if i in listed]
    results = [i for i in rows if numbers.rows[i].is_result]
    return next((last[-1] for last in (compared, results, rows) if last), -1)


def _number_of(session: Session, numbers: LoggedNumbers) -> int | None:
    path = numbers.question.table.trace.path
    return next((i for i, t in enumerate(session.traces) if t.file.path == path), None)


class NumbersPanel(PagePanel):
    """The values of one inference."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.measure = Measure.SNR
        self._feed: NumbersFeed | None = None
        self._rows: tuple[int, ...] = ()  # the selected ones
        self.model = OperatorModel()
        self.table = OperatorView(
            self.model, theme, "Logged values", _LEAST_NAME, names_first=False
        )
        self.chart = ErrorChart(theme)
        self.detail = DetailView(theme)
        self._making = Latest(self, self._show_contents)
        self.set_page(self._make_page(), fading=(self.table, self.chart))
        self.model.setParent(self)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self._refresh)
        self.inferences.activated.connect(self._choose_inference)
        self.measures.picked.connect(self._pick_measure)
        self.references.open_requested.connect(self.host.choose_reference)
        self.filter.textChanged.connect(self._filter)
        self.table.chosen.connect(self._choose_row)
        self.chart.chosen.connect(self._choose_bar)
        self.refresh_on(session.workspace_changed)
        session.selection_changed.connect(self._mark)
        session.coloring_changed.connect(self._color)
        theme.changed.connect(self._retheme)
        self.refresh()

    def _make_page(self) -> QWidget:
        theme = self._theme
        self.inferences = ComboBox(theme)
        self.inferences.setAccessibleName("Inference")
        self.inferences.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToContents)
        self.inferences.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.references = ReferenceChoice(theme)
        self.measures = SegmentBar("Measure", TIPS)
        self.measures.press(self.measure)
        self.filter = FilterLine("Filter", "Filter logged values", self.table, theme)
        self.filter.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.subtitle = FileCaption(self.host)
        head = head_row(theme, 8, self.inferences, self.references, (self.subtitle, 1))
        self.problem = ElidedLabel("", theme, "body", "warning")
        self.problem.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(4))
        chart = QWidget()
        above = plain_column(chart)
        above.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(4))
        self.axis_title = ElidedLabel("", theme, "caption", "text2")
        title = QHBoxLayout()
        title.setContentsMargins(0, 0, 0, theme.px(4))
        title.setSpacing(theme.px(8))
        title.addWidget(self.measures)
        title.addWidget(self.axis_title, 1)
        above.addLayout(title)
        above.addWidget(self.chart, 1)
        rows = QWidget()
        below = plain_column(rows)
        line = head_row(theme, 8)
        line.addWidget(self.filter)
        self.conclusion = ElidedLabel("", theme, "caption", "text1")
        line.addWidget(self.conclusion, 1)
        below.addLayout(line)
        below.addLayout(NoRows(self.table, self.filter, theme).over_table(), 1)
        left = page_splitter(Qt.Orientation.Vertical, chart, rows, _CHART_PART)
        self.splitter = page_splitter(Qt.Orientation.Horizontal, left, self.detail, _LEFT_PART)
        page = QWidget()
        plain_column(page, head, self.problem, (self.splitter, 1))
        return page

    # -- contents --------------------------------------------------------------------------------

    @property
    def numbers(self) -> LoggedNumbers | None:
        """What is shown, None for nothing."""
        return None if self._feed is None else self._feed.answer

    @property
    def figures(self) -> MeasuredNumbers | None:
        return None if self._feed is None else self._feed.figures

    @property
    def is_pending(self) -> bool:
        """Whether figures or a table are still computed."""
        feed = self._feed
        is_measuring = feed is None or feed.is_measuring
        return is_measuring or self._making.pending or self.detail.is_pending

    @Slot()
    def refresh(self) -> None:
        """Show the values of the current profile as soon as the panel is visible."""
        if self._feed is None:
            if self._seen.defer():
                self.show_sentence(BEING_COUNTED)
                return
            self._feed = NumbersFeed.of(self._session)
            self._feed.changed.connect(self._show_answer)
            self._feed.measured.connect(self._show_figures)
        self._show_answer()

    @Slot()
    def _show_answer(self) -> None:
        feed, numbers = self._feed, self.numbers
        if feed is None:
            return
        if numbers is None:
            if feed.pending:
                self.show_sentence(BEING_COUNTED)
            else:
                self.show_sentence(NOTHING, "Open files…", self.host.open_files)
            return
        if numbers.problem:
            button = CHOOSE_BUFFER if numbers.wants_buffer else ""
            self.show_sentence(one_line(numbers.problem), button, self.host.choose_buffer)
            return
        self.show_page()
        self._offer(numbers)
        self.references.show_choices(feed)
        self.problem.setText(one_line(numbers.reference_problem))
        self.problem.setToolTip(one_line(numbers.reference_problem))
        self.problem.setVisible(bool(numbers.reference_problem))
        self.measures.setVisible(bool(numbers.reference))
        self._rows = ()
        self.detail.clear()
        self._show_figures()
        self._mark()

    def _offer(self, numbers: LoggedNumbers) -> None:
        """List the inferences with values, if there are several."""
        profile, logged_inference = numbers.profile, numbers.inference
        every = () if profile is None else profile.inferences
        index = -1 if logged_inference is None else every.index(logged_inference)
        self.inferences.offer(
            (one_line(logged_inference.label) for logged_inference in every), index
        )
        self.inferences.setVisible(len(every) > 1)

    @Slot()
    def _show_figures(self) -> None:
        measured_numbers = self.figures
        if measured_numbers is None or self.is_empty:
            return
        self.subtitle.setText(subtitle_text(measured_numbers))
        unused = measured_numbers.numbers.unused
        self.subtitle.setToolTip(
            one_line(f"Arrays without a logged value: {', '.join(unused[:8])}") if unused else ""
        )
        conclusion = one_line(conclusion_text(measured_numbers))
        self.conclusion.setText(conclusion)
        self.conclusion.setToolTip(conclusion)
        self._show_chart()
        at_once = len(measured_numbers.numbers.rows) <= _ROWS_AT_ONCE
        self._making.ask(at_once, _contents, measured_numbers, self.measure)
        self._show_detail(measured_numbers)

    def _show_detail(self, measured_numbers: MeasuredNumbers) -> None:
        """Show the selected row; without one, that at which the error grows most."""
        row = self._rows[0] if self._rows else -1
        if row < 0 and measured_numbers.is_complete:
            row = max(measured_numbers.most, 0)
        if 0 <= row < len(measured_numbers.numbers.rows):
            self.detail.show_row(measured_numbers, row)
        else:
            self.detail.clear()

    def _show_chart(self) -> None:
        measured_numbers = self.figures
        if measured_numbers is None:
            return
        bars = bars_of(measured_numbers, self.measure)
        self.axis_title.setText(f"{bars.title} · in order of execution")
        colors = self._colors_of(measured_numbers.numbers)
        self.chart.show_bars(measured_numbers, bars, colors[bars.rows])
        self.chart.mark(self._rows)

    @Slot(object)
    def _show_contents(self, measured: tuple[MeasuredNumbers, OperatorContents]) -> None:
        measured_numbers, contents = measured
        if measured_numbers is not self.figures:
            return
        scrolled = self.table.verticalScrollBar().value()
        self.table.show_contents(contents, sorted_by=-1)
        self._color_rows()
        self._mark_rows(scroll=False)
        self.table.verticalScrollBar().setValue(scrolled)

    @Slot()
    def _color(self) -> None:
        if not self.is_empty:
            self._show_chart()
            self._color_rows()

    def _color_rows(self) -> None:
        if (numbers := self.numbers) is not None:
            self.table.color_operators(self._colors_of(numbers))

    def _colors_of(self, numbers: LoggedNumbers) -> Palette:
        return row_colors(numbers, operator_palette(self._session, numbers.program))

    @Slot()
    def _retheme(self) -> None:
        self.table.viewport().update()

    def clear_page(self) -> None:
        self._making.cancel()
        self._rows = ()
        self.model.clear()
        self.chart.show_bars(None, None, np.empty(0, np.uint8))
        self.detail.clear()

    # -- choices ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose_inference(self, index: int) -> None:
        numbers = self.numbers
        if self._feed is not None and numbers is not None and numbers.profile is not None:
            self._feed.choose_inference(numbers.profile.inferences[index].block)

    @Slot(object)
    def _pick_measure(self, measure: Measure) -> None:
        self.measure = measure
        self._show_figures()

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._mark_rows(scroll=True)

    # -- selection -------------------------------------------------------------------------------

    @Slot(int)
    def _choose_row(self, row: int) -> None:
        if 0 <= row < len(self.model.rows):
            self._choose(self.model.rows[row].operators[0])

    @Slot(int)
    def _choose_bar(self, bar: int) -> None:
        self._choose(self.chart.row_of(bar))

    def _choose(self, row: int) -> None:
        """Show a row, and select its operators or its slice."""
        numbers = self.numbers
        if numbers is None:
            return
        with self.choosing():
            select_row(self._session, numbers, numbers.rows[row])
        if self.numbers is numbers:
            self._show_rows((row,), row)

    @Slot()
    def _mark(self) -> None:
        """Mark the rows of what is selected elsewhere."""
        numbers = self.numbers
        if numbers is None or self._choosing or self.is_empty:
            return
        rows = selected_rows(self._session, numbers)
        self._show_rows(rows, first_of(numbers, rows))

    def _show_rows(self, rows: tuple[int, ...], first: int) -> None:
        """Mark rows, the first of which is shown in the detail; -1: none is."""
        self._rows = () if first < 0 else (first, *(i for i in rows if i != first))
        self.chart.mark(self._rows)
        self._mark_rows(scroll=True)
        if self.figures is not None:
            self._show_detail(self.figures)

    def _mark_rows(self, *, scroll: bool) -> None:
        self.table.mark_numbers(set(self._rows), scroll=scroll)


def _contents(
    measured_numbers: MeasuredNumbers, measure: Measure
) -> tuple[MeasuredNumbers, OperatorContents]:
    return measured_numbers, contents_of(measured_numbers, measure)
