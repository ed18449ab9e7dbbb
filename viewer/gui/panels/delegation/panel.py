"""The Delegation panel: what delegates ran, what was not delegated, and slices without a link.

A click selects the calls of a delegate, the slices of an operator, or those without a link for one
reason; a double click zooms to them. Without a profile the panel shows how an ETRecord was lowered.
Its sections are stacked under shared columns; sorting and filtering work within each section.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QRect, QRectF, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.delegates.delegation import (
    DelegationReport,
    Instance,
    NotDelegated,
    Unlinked,
    recorded,
)
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import CostFooter, whole_title
from viewer.gui.panels.base.operator_model import (
    ROW_ROLE,
    OperatorContents,
    OperatorModel,
    TableRow,
)
from viewer.gui.panels.base.operator_view import OperatorDelegate, OperatorView
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.table import Copied
from viewer.gui.panels.base.trace_panel import OperatorTracePanel
from viewer.gui.panels.delegation.page import (
    LINKS,
    ComparedDelegation,
    ComparedRow,
    DelegationItem,
    DelegationLine,
    DelegationPage,
    compare_delegation,
    page_of,
    record_page,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text, tip
from viewer.gui.qt.widgets.tables import LEFT, RIGHT, ROW_HEIGHT, Index
from viewer.gui.session.comparison import ComparisonFeed, row_of_selection, select_row
from viewer.model.figures import TimeScope
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name, visible_controls, visible_line
from viewer.model.times import group_digits
from viewer.view.open_trace import OpenTrace

AT_FIRST = 8  # rows of a section; a click on the row below them shows the rest


class DelegationModel(OperatorModel):
    """The rows of a report, section by section."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.page = DelegationPage(OperatorContents(), ())  # of the contents that are shown next
        self._open: set[str] = set()  # titles of sections whose rows are all shown

    def expand(self, section: str) -> None:
        self.beginResetModel()
        self._open.add(section)
        self._arrange()
        self.endResetModel()

    def entry(self, row: int) -> DelegationItem:
        return self._entry_of(self.rows[row])

    def _entry_of(self, row: TableRow) -> DelegationItem:
        if row.group < 0:
            return DelegationItem(DelegationLine.MORE, row.module)
        return self.page.items[row.group]

    def _arrange(self) -> None:
        every = self.contents.rows
        words = self._filter.lower().split()
        lines: list[tuple[int, TableRow]] = []
        for place, head in enumerate(every):
            if self._entry_of(head).line is not DelegationLine.SECTION:
                continue
            section = self._entry_of(head).section
            inside = [
                i
                for i, row in enumerate(every)
                if row is not head
                and self._entry_of(row).section == section
                and all(word in f"{row.name} {row.detail}".lower() for word in words)
            ]
            if words and not inside:
                continue
            if self._sort is not None:
                column, order = self._sort
                descending = order == Qt.SortOrder.DescendingOrder
                inside.sort(key=lambda i: every[i].keys[column], reverse=descending)
            lines.append((place, head))
            most = len(inside) if words or section in self._open or section == LINKS else AT_FIRST
            if len(inside) == most + 1:
                most += 1
            lines += [(i, every[i]) for i in inside[:most]]
            if inside[most:]:
                text = f"Show {group_digits(len(inside) - most)} more"
                empty = ("",) * len(self.contents.headings)
                # Of a section there is one such row: its place is after all others.
                lines.append((len(every) + place, TableRow((), section, text, "", empty, (text,))))
        self.items = np.array([place for place, _ in lines], np.int64)
        self.rows = [row for _, row in lines]

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text, without those that span all columns."""
        spans = DelegationLine.SECTION, DelegationLine.MORE
        return super().tsv(row for row in rows if self.entry(row).line not in spans)

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return rows as in other tables, with their section and the remedy of each reason."""
        titles, lines = super().copied(contents, items)
        has_links = any(entry.line is DelegationLine.REASON for entry in self.page.items)
        rows = [contents.rows[i] for i in items.tolist()]
        cells = (self._with_remedy(row, line) for row, line in zip(rows, lines, strict=True))
        return ["Section", *titles, *(["What to do"] if has_links else [])], cells

    def _with_remedy(self, row: TableRow, line: Iterable[str]) -> list[str]:
        entry = self._entry_of(row)
        if not isinstance(entry.of, Unlinked):
            return [entry.section, *line]
        # The number of slices is in the column before the last one, of source lines.
        empty = [""] * (len(self.contents.headings) - 3)
        return [entry.section, row.name, *empty, str(entry.of.slices), "", entry.of.remedy]

    @guard
    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and self.entry(index.row()).line is DelegationLine.SECTION:
            return Qt.ItemFlag.NoItemFlags  # arrow keys skip it
        return super().flags(index)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, item = self.rows[index.row()], self.entry(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            if item.line is DelegationLine.SECTION:
                return f"{row.op}: {row.hint}. {row.detail}"
            if item.line is DelegationLine.REASON:
                return f"{row.name}: {row.texts[1]}. {row.detail}"
            if item.line is DelegationLine.MORE:
                return row.op
            return visible_line(row.texts[index.column()] if index.column() else row.name)
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(item.of, Unlinked):
            more = item.of.details - 1
            note = f"\nand {group_digits(more)} more like it" if more else ""
            return tip(f"{item.of.detail}{note}")
        if role == Qt.ItemDataRole.ToolTipRole and item.line is DelegationLine.SECTION:
            return tip(f"{row.op}: {row.hint}\n{row.detail}".strip())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() and row.detail:
            return tip(row.detail)
        return super().data(index, role)


_TEXT_LEFT = 30  # px; left margin of the lines below a reason
_DOT = 8
_LEFT, _GAP, _BELOW = 12, 8, 4  # px left of a section, above it, and below it
# Rows with a cell in each column.
_CELLS = (DelegationLine.INSTANCE, DelegationLine.NOT_DELEGATED, DelegationLine.CHANGE)
_TOP, _BOTTOM = 4, 8  # px above and below the lines of a reason


class DelegationView(OperatorView):
    """The table widget. Sections and reasons span all columns."""

    def __init__(self, model: DelegationModel, theme: Theme) -> None:
        super().__init__(model, theme, "Delegation")
        self._page_model = model
        self._painter = _Painter(model, theme, self)
        self._painter.swatch_room = True
        self._delegate = self._painter
        self.setItemDelegate(self._painter)
        model.modelReset.connect(self._lay_out)
        model.layoutChanged.connect(self._lay_out)

    @Slot()
    def _lay_out(self) -> None:
        """Span sections and reasons across all columns, as tall as their texts."""
        model, columns = self._page_model, self._page_model.columnCount()
        self.clearSpans()
        header = self.verticalHeader()
        for row in range(len(model.rows)):
            spans = model.entry(row).line not in _CELLS
            if spans and columns > 1:
                self.setSpan(row, 0, 1, columns)
            height = self._painter.height_of(row, self.viewport().width())
            if header.sectionSize(row) != height:
                header.resizeSection(row, height)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._lay_out()


class _Painter(OperatorDelegate):
    """Paints sections, reasons and "Show more" rows; other rows like its base class."""

    def __init__(self, model: DelegationModel, theme: Theme, view: DelegationView) -> None:
        super().__init__(model, theme, view)
        self._page_model = model

    def height_of(self, row: int, width: int) -> int:
        theme, line = self._theme, self._page_model.entry(row).line
        if line not in (DelegationLine.SECTION, DelegationLine.REASON):
            return theme.px(ROW_HEIGHT)
        detail = self._page_model.rows[row].detail
        left = _TEXT_LEFT if line is DelegationLine.REASON else _LEFT
        text = self._wrapped(detail, width - theme.px(left + _LEFT))
        if line is DelegationLine.SECTION:
            return theme.px(ROW_HEIGHT + (_GAP if row else 0) + _BELOW) + (text if detail else 0)
        return theme.px(_TOP + 18 + _BOTTOM) + text

    def _wrapped(self, text: str, room: int) -> int:
        metrics = QFontMetrics(self._theme.font("cell"))
        return metrics.boundingRect(
            QRect(0, 0, max(room, 1), 0), int(Qt.TextFlag.TextWordWrap), text
        ).height()

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item = self._page_model.entry(index.row())
        row: TableRow = index.data(ROW_ROLE)
        if item.line in _CELLS:
            super().paint(painter, option, index)
            return
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
        elif (
            option.state & QStyle.StateFlag.State_MouseOver
            and item.line is not DelegationLine.SECTION
        ):
            painter.fillRect(rect, self._theme.color("hover"))
        if item.line is DelegationLine.SECTION:
            self._section(painter, rect, row, index.row() == 0)
        elif item.line is DelegationLine.REASON:
            self._reason(painter, rect, row)
        else:
            painter.setFont(self._theme.font("cell"))
            painter.setPen(self._theme.color("accent"))
            left = self._theme.px(self.BARE_NAME_LEFT)
            painter.drawText(rect.adjusted(left, 0, 0, 0), int(LEFT), visible_controls(row.op))

    def _section(self, painter: QPainter, rect: QRect, row: TableRow, first: bool) -> None:
        theme = self._theme
        if not first:
            line = QRect(rect.left(), rect.top() + theme.px(3), rect.width(), 1)
            painter.fillRect(line, theme.color("hairline"))
        inset, top = theme.px(_LEFT), rect.top() + theme.px(0 if first else _GAP)
        inside = QRect(rect.left() + inset, top, rect.width() - 2 * inset, theme.px(ROW_HEIGHT))
        below = QRect(inside.left(), inside.bottom() + 1, inside.width(), rect.height())
        painter.setFont(theme.font("operator"))
        painter.setPen(theme.color("text1"))
        painter.drawText(inside, int(LEFT), visible_controls(row.op))
        inside.setLeft(
            inside.left() + painter.fontMetrics().horizontalAdvance(row.op) + theme.px(12)
        )
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        elided = elided_text(
            painter.fontMetrics(), row.hint, Qt.TextElideMode.ElideRight, inside.width()
        )
        painter.drawText(inside, int(LEFT), elided)
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), visible_controls(row.detail))

    def _reason(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        theme = self._theme
        line = QRect(rect.left(), rect.top() + theme.px(_TOP), rect.width(), theme.px(18))
        dot, left = theme.px(_DOT), rect.left() + theme.px(_TEXT_LEFT)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(row.tone))
        dot_rect = QRectF(rect.left() + theme.px(12), line.center().y() - dot / 2 + 1, dot, dot)
        painter.drawEllipse(dot_rect)
        painter.restore()
        painter.setFont(theme.font("cell"))
        metrics = painter.fontMetrics()
        painter.setPen(theme.color("text2"))
        amount = line.adjusted(0, 0, -theme.px(12), 0)
        painter.drawText(amount, int(RIGHT), row.texts[1])
        room = amount.right() - metrics.horizontalAdvance(row.texts[1]) - theme.px(12) - left
        title = elided_text(metrics, row.name, Qt.TextElideMode.ElideRight, room)
        painter.setPen(theme.color("text1"))
        painter.drawText(QRect(left, line.top(), room, line.height()), int(LEFT), title)
        below = QRect(left, line.bottom() + 1, rect.right() - left - theme.px(12), rect.height())
        painter.setPen(theme.color("text2"))
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), visible_controls(row.detail))


NOTHING = (
    "Open a profile to see the time in delegates, or an ETRecord to see which operators are "
    "delegated."
)
NO_METHODS = (
    "The open files have no slices and no operators that could be delegated. Open a profile or an "
    "ETRecord."
)


@dataclass(frozen=True, slots=True)
class DelegationAnswer:
    """The delegation report of a profile in a scope."""

    shown: OpenTrace
    scope: TimeScope
    report: DelegationReport
    page: DelegationPage


Shown = DelegationAnswer | ComparedDelegation


class DelegationPanel(OperatorTracePanel[Shown]):
    """The report, with a footer that shows how its times add up."""

    # With up to this many slices, each with its own identifier, the answer takes less than 40 ms:
    # no thread.
    SYNC_LIMIT = 5000
    BY_INFERENCE = True
    model: DelegationModel

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        model = DelegationModel()
        self.footer = CostFooter(theme)
        super().__init__(
            host,
            DelegationView(model, theme),
            model,
            "Filter by delegate, operator or link reason",
            "Filter delegation",
            fading=(self.footer,),
        )
        self.column.addWidget(self.footer)
        self.refresh_on(self._comparison.changed)
        self._comparison.late.connect(self.show_stale)
        self.refresh()

    @property
    def shown_trace(self) -> OpenTrace | None:
        return self.answer.shown if isinstance(self.answer, DelegationAnswer) else None

    def question(self) -> Question | None:
        self._of = shown, scope = self.current_scope()
        if (found := self._comparison.in_tables) is not None:
            return Question(compare_delegation, (found,), found.size, about=found, stays=True)
        if shown is None:
            return None
        stays = self.shown_trace is shown
        return Question(_answer, (shown, scope), len(shown.trace.slices), stays=stays)

    @Slot()
    def _follow(self) -> None:
        if isinstance(self.answer, ComparedDelegation) and self._comparison.in_tables is not None:
            self._mark(self.answer)
            return
        super()._follow()

    def show_answer(self, answer: Shown) -> None:
        if isinstance(answer, ComparedDelegation):
            self._color()
            self._fill(answer.page)
            self.footer.clear()
            self._show_table(answer.subtitle)
            self._mark(answer)
            return
        if not len(answer.shown.trace.slices):
            self.show_sentence(NO_METHODS)
            return
        self._color()
        self._fill(answer.page)
        if answer.page.parts:
            base = answer.shown.base_of(answer.scope)
            what = whole_title(answer.shown.trace, answer.scope)
            uncounted = answer.shown.left_out_of(answer.scope)
            self.footer.show_parts(answer.page.parts, answer.page.whole, what, uncounted, base)
        else:
            self.footer.clear()
        where = scope_text(answer.shown, answer.scope, per_inference=True)
        self._show_table(f"{where} · {display_name(answer.shown.trace.path)}")
        self._tint()

    def show_empty_state(self) -> None:
        """Show how the first ETRecord was lowered, if no profile is open."""
        record = self.first_record
        if record is None:
            super().show_empty_state()
            return
        self.set_stale(False)
        self.view.color_operators(None)
        rejected = self._session.workspace.rejected(record)
        self._fill(record_page(record, recorded(record, rejected)))
        self.footer.clear()
        what = f"{display_name(record.path)} · {record.title} without a profile"
        self._show_table(f"{what}: open a profile to see times")

    def empty_state(self) -> Sentence:
        return Sentence(NO_METHODS if self._session.workspace.paths else NOTHING)

    def clear_page(self) -> None:
        self.model.page = DelegationPage(OperatorContents(), ())
        self.model.clear()

    def _fill(self, page: DelegationPage) -> None:
        self.model.page = page
        self.view.show_contents(page.contents, sorted_by=-1)

    @Slot()
    def _color(self) -> None:
        if not isinstance(self.answer, ComparedDelegation):
            super()._color()
            return
        paths = self.answer.found.chosen.a.paths
        shown = next((t for t in self._session.traces if t.file.path in paths), None)
        scheme = self._session.state.scheme
        self.view.color_operators(None if shown is None else shown.operator_colors(scheme))

    def _mark(self, answer: ComparedDelegation) -> None:
        """Highlight the row by call of the selected slice, and tint those with its operators."""
        number = row_of_selection(self._session, answer.found)
        operators = answer.found.operators.operators[number] if number >= 0 else ()
        self.model.set_selected(operators)
        if self._choosing:
            return
        wanted = ComparedRow(CALLS, number)
        rows = (i for i in range(len(self.model.rows)) if self.model.entry(i).of == wanted)
        self.view.mark(next(rows, -1))

    @Slot()
    def _tint(self) -> None:
        if not isinstance(self.answer, ComparedDelegation):
            super()._tint()

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row shows, or show the rest of its section."""
        item = self.model.entry(row)
        if item.line is DelegationLine.MORE:
            self.model.expand(item.section)
        elif isinstance(item.of, ComparedRow):
            if isinstance(self.answer, ComparedDelegation):
                with self.choosing():  # the row stays marked, which may share its slices
                    select_row(self._session, self.answer.found, item.of.number, item.of.level)
        elif isinstance(self.answer, DelegationAnswer):
            self._select_of(self.answer, item.of)
        elif isinstance(item.of, Instance | NotDelegated):
            self._ask_for_source(item.of.operators)

    def _select_of(
        self, answer: DelegationAnswer, of: Instance | NotDelegated | Unlinked | None
    ) -> None:
        session = self._session
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(answer.shown)
        if number is None or of is None:
            return
        if isinstance(of, NotDelegated) and of.operators:
            session.select_operators(number, of.operators)
            return
        keys = answer.shown.delegation.call_keys(of) if isinstance(of, Instance) else list(of.keys)
        found = answer.shown.figures_for(answer.scope).delegation.slices_of(keys, answer.scope)
        if len(found):
            self._select_slices(answer.shown, number, found)
        elif isinstance(of, Instance) and of.operators:
            session.select_operators(number, of.operators)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.model.entry(index.row()).of is not None:
            super()._fit(index)


def _answer(shown: OpenTrace, scope: TimeScope) -> DelegationAnswer:
    report = shown.figures_for(scope).delegation.report(scope)
    return DelegationAnswer(shown, scope, report, page_of(shown, report, shown.base_of(scope)))
