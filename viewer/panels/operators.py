"""The operators panel: what each operator cost in the picked run, and that all of it adds up.

Where a record is open alone, it lists what the record says about its operators instead.
"""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.crash_report import guard
from viewer.model.times import group_digits
from viewer.panels.cost_feed import Answer, CostFeed
from viewer.panels.cost_footer import CostFooter
from viewer.panels.operator_table import (
    Contents,
    Kind,
    OperatorDelegate,
    OperatorModel,
    costs_contents,
    record_contents,
)
from viewer.panels.slice_facts import operator_run_text
from viewer.panels.table_style import FilterLine, NoRows, RowTable, marked_rows
from viewer.panels.widgets import ElidedLabel, EmptyPlace
from viewer.session import Session, display_name
from viewer.theme import Theme


class OperatorsPanel(QWidget):
    """Operators by cost. A click selects; in a record alone it asks for the source line instead.

    `source_requested(path, line)`: a recorded place. `open_dialog_requested()`: open more files.
    `links_requested()`: choose what belongs together.
    """

    source_requested = Signal(str, int)
    open_dialog_requested = Signal()
    links_requested = Signal()

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self._costs = CostFeed.of(session)
        self.model = OperatorModel(self)
        self.table = OperatorView(self.model, theme)
        self.table.chosen.connect(self._choose)
        self.filter = FilterLine(
            "Filter by module, operator or line", "Filter operators", self.table, theme
        )
        self.filter.textChanged.connect(self._filter)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.footer = CostFooter(theme)
        self._note = ElidedLabel("", theme, "caption", "text2")
        self._note.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(8))
        self._empty: EmptyPlace | None = None
        self._stack = QStackedWidget()
        self._stack.addWidget(self._page())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)
        session.opened.connect(self.refresh)
        session.selected.connect(self._select)
        self._costs.changed.connect(self.refresh)
        self._costs.late.connect(self._grey)
        theme.changed.connect(self.refresh)
        self.refresh()

    def _page(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.setSpacing(theme.px(12))
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 1)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(NoRows(self.table, self.filter, theme).over_table(), 1)
        column.addWidget(self.footer)
        column.addWidget(self._note)
        return page

    @Slot()
    def refresh(self) -> None:
        """Show the present costs, or the record, or what to do."""
        answer = self._costs.answer
        program = None
        if answer is not None:
            program = answer.shown.table.program
        elif not self._session.traces and self._session.workspace.programs:
            program = self._session.workspace.programs[0]
        if program is None or (answer is not None and not answer.table.rows):
            self._show_empty(answer)
            return
        self._stack.setCurrentIndex(0)
        self._set_opacity(1.0)
        if answer is None:
            programs = self._session.workspace.programs
            self._show(record_contents(program))
            self.footer.clear()
            self.subtitle.setText(display_name(program.path))
            more = f" {len(programs) - 1} more records are open." if len(programs) > 1 else ""
            self._note.setText(
                f"{group_digits(len(program.operators))} operators. A record holds the model, not "
                f"a run: open a profile to see what they cost.{more}"
            )
            return
        self._show(costs_contents(answer))
        self.footer.show_answer(answer)
        name = display_name(answer.shown.trace.path)
        self.subtitle.setText(f"{operator_run_text(answer.shown, answer.run)} · {name}")
        seen = {i for row in answer.table.rows for i in row.operators}
        idle = len(program.operators) - len(seen)
        self._note.setText(
            f"{group_digits(idle)} operator{'' if idle == 1 else 's'} cost nothing here"
            if idle
            else ""
        )
        self._note.setVisible(bool(idle))
        self._select()

    def _show(self, contents: Contents) -> None:
        with_costs = any(h.kind is Kind.BAR for h in contents.headings)
        self.table.show_contents(contents, sorted_by=1 if with_costs else -1)
        self._note.setVisible(True)

    def _show_empty(self, answer: Answer | None) -> None:
        sentence, button = "Open a profile and the record of its model to see its operators.", ""
        asked = self.open_dialog_requested
        if answer is not None:
            sentence, button = self._why_nothing(answer), "Open files…"
            if self._session.workspace.candidates(answer.shown.file):
                button, asked = "Choose what it is linked to…", self.links_requested
        if self._empty is not None:
            self._stack.removeWidget(self._empty)
            self._empty.deleteLater()
        self._empty = EmptyPlace(sentence, self._theme, button)
        self._empty.pressed.connect(asked)
        self._stack.addWidget(self._empty)
        self._stack.setCurrentWidget(self._empty)

    def _why_nothing(self, answer: Answer) -> str:
        """Why no operator cost anything."""
        shown = answer.shown
        warnings = self._session.workspace.warnings(shown.file)
        if warnings:
            return warnings[0]
        if shown.table.program is None:
            return (
                f"No record or source is open that belongs to {display_name(shown.trace.path)}. "
                "Open it to see what each operator cost."
            )
        run = operator_run_text(shown, answer.run)
        return f"Nothing in {run} is linked to an operator. Links tells why."

    @Slot()
    def _grey(self) -> None:
        self._set_opacity(0.6)

    def _set_opacity(self, opacity: float) -> None:
        self.table.opacity = opacity
        self.footer.opacity = opacity
        self.table.viewport().update()
        self.footer.update()

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)
        self._select()

    @Slot()
    def _select(self) -> None:
        """Let the table follow what is selected."""
        answer, chosen = self._costs.answer, self._session.state.operators
        if answer is None:
            return
        here = chosen is not None and self._session.traces[chosen[0]] is answer.shown
        operators = chosen[1] if chosen is not None and here else ()
        self.model.set_selected(operators)
        self.table.mark(self.model.row_of(operators) if operators else -1)

    @Slot(int)
    def _choose(self, row: int) -> None:
        operators = self.model.rows[row].operators
        answer = self._costs.answer
        if answer is not None:
            number = self._session.number_of(answer.shown)
            if number is not None:
                self._session.select_operators(number, operators)
            return
        place = self.model.contents.place(operators[0])
        if place is not None:
            self.source_requested.emit(*place)


_LEAST_NAME = 230  # px of the column of names


class OperatorView(RowTable):
    """The table, painted fainter while its numbers are out of date. Ctrl+C copies marked rows."""

    def __init__(self, model: OperatorModel, theme: Theme, name: str = "Operators") -> None:
        super().__init__(model, name, theme)
        self._model = model
        self.opacity = 1.0
        self.setHorizontalHeader(_Header(model, theme))
        self.setItemDelegate(OperatorDelegate(model, theme, self))
        self.setMouseTracking(True)
        self.setSortingEnabled(True)
        self.horizontalHeader().setSectionsClickable(True)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.horizontalHeader().setSortIndicatorClearable(True)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)

    def show_contents(self, contents: Contents, sorted_by: int) -> None:
        """Show other rows; with other columns, sort by one of them (-1: as they come)."""
        titles = [h.kind for h in self._model.contents.headings]
        self._model.show(contents)
        if titles != [h.kind for h in contents.headings]:
            self._size_columns()
            order = Qt.SortOrder.DescendingOrder
            self.horizontalHeader().setSortIndicator(sorted_by, order)

    def _size_columns(self) -> None:
        header = self.horizontalHeader()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(self._theme.px(40))
        for i, heading in enumerate(self._model.contents.headings):
            if heading.kind is Kind.NAME:
                header.setSectionResizeMode(i, QHeaderView.ResizeMode.Stretch)
            else:
                header.setSectionResizeMode(i, QHeaderView.ResizeMode.Interactive)
                header.resizeSection(i, self._theme.px(heading.width))
        self.fit_columns()

    def fit_columns(self) -> None:
        """Keep the names legible: of a narrow table's other columns only the first are shown."""
        room = self.viewport().width() - self._theme.px(_LEAST_NAME)
        for i, heading in enumerate(self._model.contents.headings):
            if heading.kind is not Kind.NAME:
                room -= self._theme.px(heading.width)
                # The first two, time and share, are what the table is for.
                self.setColumnHidden(i, room < 0 and i > 2)

    def mark(self, row: int) -> None:
        """Mark one row and bring it into view; -1 marks none."""
        selection = self.selectionModel()
        if row < 0:
            selection.clear()
            return
        index = self._model.index(row, 0)
        flags = QItemSelectionModel.SelectionFlag
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.scrollTo(index)

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard, or all if none is marked."""
        self._put(marked_rows(self) or range(len(self._model.rows)))

    @Slot()
    def copy_all(self) -> None:
        """Put the whole table on the clipboard, in the order shown."""
        self._put(range(len(self._model.rows)))

    def _put(self, rows: list[int] | range) -> None:
        QGuiApplication.clipboard().setText(self._model.tsv(rows))

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        count = len(marked_rows(self))
        rows = menu.addAction("Copy row" if count == 1 else f"Copy {count} rows", self.copy)
        rows.setEnabled(count > 0)
        menu.addAction("Copy table as TSV", self.copy_all)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.viewport().mapToGlobal(at))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.opacity < 1:
            painter = QPainter(self.viewport())
            painter.setOpacity(1 - self.opacity)
            painter.fillRect(event.rect(), self._theme.color("panel"))
            painter.end()


class _Header(QHeaderView):
    """A header whose first title stands over the names, not over their swatches."""

    def __init__(self, model: OperatorModel, theme: Theme) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._model = model
        self._theme = theme

    @guard
    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        swatches = any(row.operators for row in self._model.contents.rows[:1])
        left = OperatorDelegate.NAME_LEFT if swatches else OperatorDelegate.BARE_NAME_LEFT
        indent = self._theme.px(left - 6) if section == 0 else 0
        super().paintSection(painter, rect.adjusted(indent, 0, 0, 0), section)
        if indent:
            line = QRect(rect.left(), rect.bottom(), indent, 1)
            painter.fillRect(line, self._theme.color("hairline"))
