"""The Memory panel: the memory plan of a program file, as a picture above a chart and a table.

It shows one method of one open program file, with the operators of its ETRecord, and the times of
an inference of a profile that ran it. The chart has the bytes in use over instructions or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from enum import Enum
from functools import partial

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from viewer.analysis.memory.plan import slices_of_instruction, used_by, written_by
from viewer.arrays import Ints
from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.chart import BESIDE, Chart
from viewer.gui.panels.base.operator_model import OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.panel import (
    AnswerPanel,
    PanelHost,
    Question,
    Sentence,
    head_row,
    page_splitter,
    plain_column,
    subtitle_label,
)
from viewer.gui.panels.base.range_view import NO_BOX as NONE
from viewer.gui.panels.memory.answer import (
    ArenaAxis,
    MemoryAnswer,
    MemoryMode,
    MemoryQuestion,
    MemoryRows,
    beside_text,
    figures,
    holders_text,
    instruction_text,
    rows_of,
    work_out,
)
from viewer.gui.panels.memory.arena_view import ArenaView
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, SegmentBar, laid_out, tool_button
from viewer.gui.qt.widgets.labels import ElidedLabel, figures_html, label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows
from viewer.gui.session.choices import operator_palette
from viewer.gui.session.selection import longest_slice
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.text import bytes_text, display_name, one_line
from viewer.model.times import counted, group_digits
from viewer.model.trace import Run
from viewer.program.executables import Executable, ExecutableMethod
from viewer.render.palette import Palette
from viewer.render.time_axis import XMap
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, SliceSet

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


NOTHING = "Open the program file (.pte) to see which tensors its memory is planned for, and when."
_FIELD_WIDTH = 170  # px
_PICTURE_PART = 50  # percent of the height


_About = tuple[Executable, ExecutableMethod, OpenTrace | None, Run | None, bool]

_MOST = 2000  # storages or operators that are looked up
NO_INSTRUCTION = -1


def select_writers(session: Session, answer: MemoryAnswer, storages: Ints) -> None:
    """Select the operators that write some storages first, or else the slices of these."""
    open_trace = answer.question.shown
    writers = [answer.writers[i] for i in storages[:_MOST].tolist()]
    operators = tuple(sorted({i for writer in writers for i in writer.operators}))
    program = answer.program
    linked = [i for i, s in enumerate(session.traces) if s.table.program is program]
    trace_numbers = [i for i in linked if session.as_run(i) is open_trace]
    if operators and program is not None and linked:
        session.select_operators((trace_numbers or linked)[0], operators)
        return
    if open_trace is None:
        return
    method = answer.plan.method
    scopes = [i for i, ran in enumerate(open_trace.table.ran) if ran is method]
    numbers = sorted({writer.instruction for writer in writers if writer.instruction >= 0})
    slice_parts = [slices_of_instruction(open_trace.trace, scopes, number) for number in numbers]
    slices = np.unique(np.concatenate(slice_parts)) if slice_parts else np.empty(0, np.int64)
    if len(slices):
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(open_trace)
        if number is not None:
            longest = SliceRef(number, longest_slice(open_trace, slices))
            session.select_slices(SliceSet({number: slices}), longest, reveal=True)


def selected_instructions(session: Session, answer: MemoryAnswer) -> set[int]:
    """Return the instructions of the selected slices, else of the selected operators."""
    state, method = session.state, answer.plan.method
    instructions: set[int] = set()
    for trace, numbers in state.slices.of.items():
        table = session.traces[trace].table
        scopes = [i for i, ran in enumerate(table.ran) if ran is method]
        keys = np.unique(table.trace.slices.key[numbers])
        own_keys = keys[np.isin(table.trace.keys.scope[keys], scopes)]
        instructions.update(table.trace.keys.instruction[own_keys].tolist())
    instructions.discard(NO_INSTRUCTION)
    if not instructions and state.operators is not None:
        trace, operators = state.operators
        if session.traces[trace].table.program is answer.program:
            for operator in operators[:_MOST]:
                instructions.update(answer.instructions_of.get(operator, ()))
    return instructions


class ArenaAxisKind(Enum):
    """What is across the picture; its value is the title of its button."""

    INSTRUCTIONS = "Over instructions"
    TIME = "Over time"


_AXIS_TIPS = {
    ArenaAxisKind.INSTRUCTIONS: "Every instruction is equally wide",
    ArenaAxisKind.TIME: "As the inference below the table ran",
}
_MODE_TIPS = {
    MemoryMode.TENSORS: "Planned tensors, each with its views",
    MemoryMode.OPERATOR: "What the tensors that an operator writes hold",
    MemoryMode.MODULE: "What the tensors that the operators of a module write hold",
}


@dataclass(eq=False)
class _Page:
    """An answer, and the rows of the modes that were shown."""

    answer: MemoryAnswer
    rows: dict[MemoryMode, MemoryRows] = field(default_factory=dict)

    def rows_in(self, mode: MemoryMode) -> MemoryRows:
        if mode not in self.rows:
            self.rows[mode] = rows_of(self.answer, mode)
        return self.rows[mode]


def _answer(question: MemoryQuestion, mode: MemoryMode) -> _Page:
    page = _Page(work_out(question))
    page.rows_in(mode)
    return page


class MemoryPanel(AnswerPanel[_Page]):
    SYNC_LIMIT = 500  # instructions: 20 ms

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.mode = MemoryMode.TENSORS
        self.axis_kind = ArenaAxisKind.INSTRUCTIONS
        self._is_axis_chosen = False  # whether the user chose it
        self._chosen: tuple[str, str] | None = None  # path and method
        self._asked: _About | None = None
        self.model = OperatorModel()
        self.table = OperatorView(self.model, theme, "Planned memory")
        self.arena, self.live = ArenaView(theme), LiveChart(theme)
        self.set_page(self._make_page(), fading=(self.table, self.arena, self.live))
        self.model.setParent(self)
        self.chooser.activated.connect(self._choose_method)
        self.axes.picked.connect(self._pick_axis)
        self.modes.picked.connect(self._pick_mode)
        self.filter.textChanged.connect(self._filter)
        self.table.chosen.connect(self._choose_row)
        self.arena.chosen.connect(self._choose_storage)
        self.arena.range_changed.connect(self._show_way_back)
        self.arena.range_changed.connect(partial(self.live.take_range, self.arena))
        self.live.range_changed.connect(partial(self.arena.take_range, self.live))
        self.refresh_on(session.workspace_changed)
        session.selection_changed.connect(self._follow)
        session.run_picked.connect(self._follow)
        session.coloring_changed.connect(self._color)
        theme.changed.connect(self._retheme)
        self.refresh()

    def _make_page(self) -> QWidget:
        theme = self._theme
        self.chooser = ComboBox(theme)
        self.chooser.setAccessibleName("Method")
        self.figures = label("", theme, html=True)
        self.figures.setMinimumWidth(0)
        self.zoom_button = tool_button("Fit", "Show the whole picture (Escape)", "Reset zoom")
        self.zoom_button.clicked.connect(self.arena.show_all)
        self.axes = SegmentBar("Across the picture", _AXIS_TIPS)
        above = head_row(theme, 12, self.chooser, (self.figures, 1), self.zoom_button, self.axes)
        self.modes = SegmentBar("Rows", _MODE_TIPS)
        self.filter = FilterLine("Filter", "Filter planned memory", self.table, theme)
        self.filter.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.subtitle = subtitle_label(theme)
        head = head_row(theme, 8, self.modes, self.filter, (self.subtitle, 1))
        picture = QWidget()
        around = plain_column(picture)
        around.setContentsMargins(theme.px(12), 0, theme.px(12), 0)
        above_plot = laid_out(
            QHBoxLayout(), self.arena, margins=(self.live.left_width, 0, BESIDE, 0)
        )
        around.addLayout(above_plot, 3)
        around.addWidget(self.live, 2)
        rows = QWidget()
        plain_column(rows, head, (NoRows(self.table, self.filter, theme).over_table(), 1))
        self.splitter = page_splitter(Qt.Orientation.Vertical, picture, rows, _PICTURE_PART)
        self.holders = ElidedLabel("", theme, "caption", "text1")
        self.footer = ElidedLabel("", theme, "caption", "text2")
        self.holders.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), 0)
        self.footer.setContentsMargins(theme.px(12), theme.px(2), theme.px(12), theme.px(6))
        page = QWidget()
        plain_column(page, above, (self.splitter, 1), self.holders, self.footer)
        return page

    # -- question --------------------------------------------------------------------------------

    def _methods(self) -> list[tuple[Executable, ExecutableMethod]]:
        files = self._session.workspace.executables
        return [(file, method) for file in files for method in file.methods]

    def _current(self) -> tuple[Executable, ExecutableMethod] | None:
        """Return the method to show: the chosen one, else the largest that a profile ran."""
        methods = self._methods()
        for file, method in methods:
            if (file.path, method.name) == self._chosen:
                return file, method
        ran = {id(method) for open_trace in self._session.traces for method in open_trace.table.ran}
        by_rank = sorted(methods, key=lambda pair: (id(pair[1]) not in ran, -pair[1].planned_bytes))
        return by_rank[0] if by_rank else None

    def _profile_of(self, method: ExecutableMethod) -> tuple[OpenTrace | None, Run | None]:
        """Return the profile that ran a method, the current one if it did, and its chosen run."""
        session = self._session
        numbers = [i for i, t in enumerate(session.traces) if method in t.table.ran]
        if not numbers:
            return None, None
        number = session.current_trace
        number = number if number in numbers and number is not None else numbers[0]
        open_trace, picked = session.as_run(number), session.state.run
        is_as_run = session.state.inferences is Inferences.AS_RUN
        if picked is None or picked[0] != number or not is_as_run:
            return open_trace, None
        run = open_trace.trace.runs[picked[1]]
        return open_trace, run if open_trace.table.ran[run.scope] is method else None

    def _about(self, file: Executable, method: ExecutableMethod) -> _About:
        """Return what the question about a method depends on."""
        return file, method, *self._profile_of(method), self._session.state.warm_up

    @Slot()
    def refresh(self) -> None:
        self._asked = None
        super().refresh()

    def question(self) -> Question | None:
        self._offer()
        current = self._current()
        if current is None:
            return None
        self._asked = about = self._about(*current)
        question = MemoryQuestion(copy(self._session.workspace), *about)
        stays = self.answer is not None and self.answer.answer.question.method is current[1]
        size = len(current[1].instructions)
        return Question(_answer, (question, self.mode), size, stays=stays)

    @Slot()
    def _follow(self) -> None:
        """Compute again for another inference or method; else only mark what is selected."""
        self._follow_method()
        current = self._current()
        if current is not None and self._asked and self._asked != self._about(*current):
            self.refresh()
            return
        self._mark()

    def _follow_method(self) -> None:
        """Show the method that the selected slice ran in."""
        ref = self._session.state.slice
        if ref is None or self._choosing:
            return
        table = self._session.traces[ref.trace].table
        scope = int(table.trace.keys.scope[table.trace.slices.key[ref.index]])
        method = table.ran[scope] if scope < len(table.ran) else None
        for file, executable_method in self._methods():
            if executable_method is method:
                self._chosen = file.path, executable_method.name

    def _offer(self) -> None:
        """List the methods of all program files, if there are several."""
        methods = self._methods()
        several = len({file.path for file, _ in methods}) > 1
        names = [
            f"{display_name(file.path)} · " * several + one_line(method.name)
            for file, method in methods
        ]
        current = self._current()
        self.chooser.offer(names, -1 if current is None else methods.index(current))
        self.chooser.setVisible(len(methods) > 1)

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING, "Open files…", self.host.open_files)

    def clear_page(self) -> None:
        self.model.clear()
        self.arena.show_answer(None, None, np.empty(0, np.uint8))
        self.live.show_answer(None, None)

    # -- contents --------------------------------------------------------------------------------

    @property
    def shown_answer(self) -> MemoryAnswer | None:
        """The plan that is shown, None without one."""
        return None if self.answer is None or self.is_empty else self.answer.answer

    @property
    def rows(self) -> MemoryRows | None:
        """The rows of the current mode, None without a plan."""
        return None if self.answer is None else self.answer.rows_in(self.mode)

    def show_answer(self, page: _Page) -> None:
        answer = page.answer
        has_modules = any(writer.module for writer in answer.writers)
        if self.mode is MemoryMode.MODULE and not has_modules:
            self.mode = MemoryMode.TENSORS
        self.modes.press(self.mode)
        self.modes.buttons[MemoryMode.MODULE].setVisible(has_modules)
        if answer.time is None or not self._is_axis_chosen:
            has_time = answer.time is not None
            self.axis_kind = ArenaAxisKind.TIME if has_time else ArenaAxisKind.INSTRUCTIONS
        self.axes.setVisible(answer.time is not None)
        self.axes.press(self.axis_kind)
        self.show_page()
        self._show_figures()
        self.holders.setText(holders_text(answer))
        self.footer.setText(beside_text(answer))
        self._show_rows()
        self._show_picture()
        self._show_way_back()
        self._mark()

    def _show_figures(self) -> None:
        if (answer := self.shown_answer) is not None:
            self.figures.setText(figures_html(figures(answer), self._theme))

    def _show_rows(self) -> None:
        answer, rows = self.shown_answer, self.rows
        if answer is None or rows is None:
            return
        self.table.show_contents(rows.contents, sorted_by=-1)
        has_peak = self.mode is MemoryMode.TENSORS
        at_peak = np.unique(rows.group[answer.plan.at_peak]).tolist() if has_peak else []
        self.model.set_selected(at_peak)
        self._color_rows()
        whole = counted(len(answer.plan.storages), "planned tensor")
        instructions = counted(len(answer.plan.method.instructions), "instruction")
        self.subtitle.setText(f"{whole} · {instructions}")

    def _show_picture(self) -> None:
        if (answer := self.shown_answer) is not None:
            is_time = self.axis_kind is ArenaAxisKind.TIME and answer.time is not None
            axis = answer.time if is_time else answer.instructions
            self.live.show_answer(answer, axis)
            self.arena.show_answer(answer, axis, self._colors_of(answer))

    def _colors_of(self, answer: MemoryAnswer) -> Palette:
        return answer.colors(operator_palette(self._session, answer.program))

    @Slot()
    def _color(self) -> None:
        self._repaint_picture()
        self._color_rows()

    def _repaint_picture(self) -> None:
        """Show the plan in other colors or on another axis; what is marked stays."""
        marked, related = self.arena.marked, self.arena.related
        self._show_picture()
        self.arena.mark(marked, related)

    def _color_rows(self) -> None:
        answer, rows = self.shown_answer, self.rows
        if answer is not None and rows is not None:
            self.table.color_operators(rows.colors(self._colors_of(answer)))

    @Slot()
    def _retheme(self) -> None:
        self.arena.retheme()
        self._show_figures()
        self.table.viewport().update()

    @Slot()
    def _show_way_back(self) -> None:
        self.zoom_button.setVisible(not self.arena.shows_all)

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._mark_rows(self.arena.marked)

    # -- choices ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose_method(self, index: int) -> None:
        methods = self._methods()
        if 0 <= index < len(methods):
            file, method = methods[index]
            self._chosen = file.path, method.name
            self.refresh()

    @Slot(object)
    def _pick_axis(self, kind: ArenaAxisKind) -> None:
        self.axis_kind, self._is_axis_chosen = kind, True
        self._repaint_picture()
        self._show_way_back()

    @Slot(object)
    def _pick_mode(self, mode: MemoryMode) -> None:
        self.mode = mode
        self._show_rows()
        self._mark_rows(self.arena.marked)

    # -- selection -------------------------------------------------------------------------------

    @Slot(int)
    def _choose_row(self, row: int) -> None:
        rows = self.rows
        if rows is not None and 0 <= row < len(self.model.rows):
            self._choose(rows.storages(self.model.rows[row].operators[0]))

    @Slot(int)
    def _choose_storage(self, storage: int) -> None:
        self._choose(np.array([storage], np.int64))

    def _choose(self, storages: Ints) -> None:
        """Mark some storages, and select the operators that write them with their slices."""
        answer = self.shown_answer
        if answer is None:
            return
        with self.choosing():
            select_writers(self._session, answer, storages)
        if self.shown_answer is answer:
            self.arena.mark(storages)
            self._mark_rows(storages)
        else:
            self._mark()  # the selection is in another profile

    @Slot()
    def _mark(self) -> None:
        """Mark what the selected operators and slices write and read."""
        answer = self.shown_answer
        if answer is None or self._choosing:
            return
        instructions = selected_instructions(self._session, answer)
        written = written_by(answer.plan, instructions)
        read = np.setdiff1d(used_by(answer.plan, instructions), written)
        self.arena.mark(written if len(written) else read, read if len(written) else written)
        self._mark_rows(written if len(written) else read)

    def _mark_rows(self, storages: Ints) -> None:
        """Select the rows of storages in the table, and scroll to the first."""
        if self.rows is not None:
            self.table.mark_numbers(set(self.rows.group[storages].tolist()))
