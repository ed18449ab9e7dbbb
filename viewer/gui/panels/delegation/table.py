"""The delegation report as one table: delegates, what stayed outside, and links by their reasons.

Its sections stand below one another under common columns; sorting and filter work inside each of
them. A reason is one row over all columns: how many slices it has, and below that what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from PySide6.QtCore import QObject, QRect, QRectF, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.analysis.cost.lines import source_place
from viewer.analysis.delegates.delegation import DelegationReport, Instance, NotDelegated, Unlinked
from viewer.analysis.links.link_table import LinkState
from viewer.gui.panels.base.cost_footer import whole_text
from viewer.gui.panels.base.operator_table import (
    ROW_ROLE,
    ColumnKind,
    Heading,
    OperatorContents,
    OperatorDelegate,
    OperatorModel,
    TableRow,
    name_parts,
)
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.model.times import (
    counted,
    format_in,
    format_share,
    format_time,
    group_digits,
    tick_to_ns,
    unit_for,
)
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace

DELEGATES, OUTSIDE, LINKS = "Delegates", "Stayed outside", "Links"
MOST_OUTSIDE = 5000  # operators; of more the table would keep the window waiting for 100 ms
AT_FIRST = 8  # rows of a section; a click on the row below them shows all
UPPER_BOUND = "Delegating them would save at most that: an upper bound, as delegates take time too."
NO_CALLS = (
    "The profile has no delegate calls, and no operators of a runtime that could have made them."
)
NONE_CALLED = "No delegate was called: every operator ran by itself."
NOTHING_OUTSIDE = "No operator ran outside the delegates."
NONE_RECORDED = "The record has no delegates: nothing was lowered, or it does not say what was."
_MEANINGS = {
    "Time": "Of the calls, or of what ran outside; the bar is hatched as far as no event of the "
    "delegate accounts for it",
    "Share": "Of Method::execute, where the file has it, else of the busy time",
    "Unattributed": "The part of the calls that no event inside accounts for. What lies neither in "
    "a call nor in an operator is in none of these times: Neither, in the line below the table",
    "Operators": "How many operators of the model the call swallowed",
    "Slices": "Calls of the delegate, or of the operator",
}
_OTHERS = "others that took less"
_TEXT_LEFT = 30  # px, of the lines below a reason
_DOT = 8
_LEFT, _GAP, _BELOW = 12, 8, 4  # px beside a section, above it and below it
_TOP, _BOTTOM = 4, 8  # px above and below the lines of a reason


class DelegationLine(Enum):
    """What a row is."""

    SECTION = "section"
    INSTANCE = "instance"
    OUTSIDE = "outside"
    REASON = "reason"
    MORE = "more"


@dataclass(frozen=True, slots=True)
class DelegationItem:
    """What a row stands for; `section` is the title of the section that it is in."""

    line: DelegationLine
    section: str
    of: Instance | NotDelegated | Unlinked | None = None


@dataclass(frozen=True, slots=True)
class DelegationPage:
    """What the table shows: rows whose `group` is their item, in the order of the report.

    parts: name, color and ns of what adds up to `whole` ns, for the line below the table; empty
    where nothing ran.
    """

    contents: OperatorContents
    items: tuple[DelegationItem, ...]
    parts: tuple[tuple[str, str, int], ...] = ()
    whole: int = 0


def page_of(shown: OpenTrace, report: DelegationReport) -> DelegationPage:
    """The report of a trace, all times in one unit."""
    rate = shown.axis.ns_per_tick
    program = shown.table.program
    what = whole_text(shown.trace, "the busy time")
    costs = [row.ticks for row in report.instances] + [row.ticks for row in report.outside]
    most = tick_to_ns(max(costs, default=0), rate)
    unit, factor = unit_for(most)
    whole = tick_to_ns(report.whole, rate)
    delegated, stayed = tick_to_ns(report.delegated, rate), tick_to_ns(report.stayed, rate)
    rows = _Rows(max(costs, default=0))

    def cells(ticks: int, rest: str, operators: str, slices: int) -> tuple[str, ...]:
        ns = tick_to_ns(ticks, rate)
        share = f"{100 * ns / whole:.1f}" if whole else MISSING
        return "", format_in(ns, factor), share, rest, operators, group_digits(slices)

    several = len({row.method for row in report.instances}) > 1
    _section(rows, DELEGATES, *_delegates_text(report, delegated, whole, what))
    for row in report.instances:
        rest = row.unattributed
        left = MISSING if rest is None else format_in(tick_to_ns(rest, rate), factor)
        count = MISSING if row.why else group_digits(len(row.operators))
        texts = cells(row.ticks, left, count, row.calls or row.events)
        keys = (
            row.label, row.ticks, row.ticks, -1 if rest is None else rest, len(row.operators),
            row.calls or row.events,
        )  # fmt: skip
        _instance(rows, row, several, texts, keys)
    if report.has_calls:
        if report.outside:
            text = f"{format_time(stayed)} · {_share(stayed, whole)} of {what}"
            _section(rows, OUTSIDE, text, UPPER_BOUND)
        else:
            _section(rows, OUTSIDE, "", NOTHING_OUTSIDE)
        for out in _most(report.outside):
            texts = cells(out.ticks, "", str(len(out.operators) or MISSING), out.slices)
            _outside(rows, out, texts, (out.label, out.ticks, out.ticks, -1, 1, out.slices))
    _section(rows, LINKS, *_links_text(report))
    for reason in report.unlinked:
        amount = f"{counted(reason.slices, 'slice')}"
        if reason.ticks:
            amount += f" · {format_time(tick_to_ns(reason.ticks, rate))}"
        _reason(rows, reason, amount)
    parts: tuple[tuple[str, str, int], ...] = ()
    if report.has_calls:
        parts = (
            ("Delegates", "accent", delegated), ("Outside", "slab", stayed),
            ("Neither", "", whole - delegated - stayed),
        )  # fmt: skip
    headings = (
        Heading("Delegate or operator", ColumnKind.NAME, 0),
        Heading(f"Time, {unit}", ColumnKind.BAR, 124),
        Heading("Share, %", ColumnKind.NUMBER, 64),
        Heading(f"Unattributed, {unit}", ColumnKind.NUMBER, 112),
        Heading("Operators", ColumnKind.NUMBER, 76),
        Heading("Slices", ColumnKind.NUMBER, 60),
    )
    return _page(headings, rows, program, parts, whole)


def _most(outside: Sequence[NotDelegated]) -> Sequence[NotDelegated]:
    """What stayed outside; of very many rows the dearest, and the others as one row."""
    rest = outside[MOST_OUTSIDE:]
    if not rest:
        return outside
    keys = tuple(key for row in rest for key in row.keys)
    ticks, slices = sum(row.ticks for row in rest), sum(row.slices for row in rest)
    label = f"{group_digits(len(rest))} {_OTHERS}"
    return (*outside[:MOST_OUTSIDE], NotDelegated(label, (), ticks, slices, keys))


def record_page(program: Program, report: DelegationReport) -> DelegationPage:
    """What a record alone says; nothing ran, so nothing took time."""
    several = len(program.methods) > 1
    calls = counted(len(report.instances), "delegate call") if report.instances else ""
    swallowed = {i for row in report.instances for i in row.operators}
    told = f"{calls} · {counted(len(swallowed), 'operator')} in them"
    rows = _Rows()
    _section(rows, DELEGATES, *((told,) if calls else ("", NONE_RECORDED)))
    for row in report.instances:
        count = MISSING if row.why else group_digits(len(row.operators))
        _instance(rows, row, several, ("", count), (row.label, len(row.operators)))
    outside = counted(len(report.outside), "instruction")
    _section(rows, OUTSIDE, f"{outside} with operators of their own")
    for out in report.outside:
        texts = "", group_digits(len(out.operators))
        _outside(rows, out, texts, (out.label, len(out.operators)))
    headings = (
        Heading("Delegate or operator", ColumnKind.NAME, 0),
        Heading("Operators", ColumnKind.NUMBER, 90),
    )
    return _page(headings, rows, program)


class _Rows:
    """Rows being made, each numbered as its item is; bars are shares of `most` ticks."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self.items: list[DelegationItem] = []
        self.rows: list[TableRow] = []

    def add(
        self, item: DelegationItem, operators: tuple[int, ...], name: tuple[str, str], hint: str,
        texts: tuple[str, ...], keys: tuple[float | str, ...], *,
        ticks: int = 0, tone: str = "slab", full: float = 1.0, detail: str = "",
    ) -> None:  # fmt: skip
        """name: module, "" for none, and what stands behind it; the rest as `TableRow` has it."""
        share = ticks / self._most if self._most else 0.0
        self.rows.append(
            TableRow(
                operators, *name, hint, texts, keys, share, tone, group=len(self.items),
                full=full, detail=detail,
            )
        )  # fmt: skip
        self.items.append(item)


def _page(
    headings: tuple[Heading, ...], rows: _Rows, program: Program | None,
    parts: tuple[tuple[str, str, int], ...] = (), whole: int = 0,
) -> DelegationPage:  # fmt: skip
    contents = OperatorContents(headings, tuple(rows.rows))
    if program is not None:
        contents = replace(contents, place=lambda i: source_place(program, i))
    return DelegationPage(contents, tuple(rows.items), parts, whole)


def _section(rows: _Rows, title: str, beside: str, below: str = "") -> None:
    """The row above a section: what is said beside its title, and in lines below that."""
    rows.add(
        DelegationItem(DelegationLine.SECTION, title),
        (),
        ("", title),
        beside,
        ("",),
        (title,),
        detail=below,
    )


def _instance(
    rows: _Rows, row: Instance, several: bool, texts: tuple[str, ...],
    keys: tuple[float | str, ...],
) -> None:  # fmt: skip
    where = f"instr. {row.instruction}" if row.instruction >= 0 else "call not named"
    hint = f"{row.method} · {where}" if several else where
    odd = row.why_not_attributed
    detail = "\n".join(
        part
        for part in (
            row.why and f"Operators not known: {row.why}",
            odd and f"Unattributed time not known: {odd}",
        )
        if part
    )
    covered = row.covered / row.ticks if row.ticks and not odd else 1.0
    rows.add(
        DelegationItem(DelegationLine.INSTANCE, DELEGATES, row),
        row.operators,
        name_parts(row.label),
        hint,
        texts,
        keys,
        ticks=row.ticks,
        full=covered,
        detail=detail,
    )


def _outside(
    rows: _Rows, row: NotDelegated, texts: tuple[str, ...], keys: tuple[float | str, ...]
) -> None:
    hint = "" if row.operators or row.label.endswith(_OTHERS) else "no link"
    if len(row.operators) > 1:
        hint = f"shared by {len(row.operators)}"
    item = DelegationItem(DelegationLine.OUTSIDE, OUTSIDE, row)
    rows.add(item, row.operators, name_parts(row.label), hint, texts, keys, ticks=row.ticks)


def _reason(rows: _Rows, row: Unlinked, amount: str) -> None:
    title = row.reason.text[:1].upper() + row.reason.text[1:]
    tone = "warning" if row.reason.state is LinkState.UNLINKED else "text3"
    keys = (title, row.ticks, row.ticks, -1, -1, row.slices)
    rows.add(
        DelegationItem(DelegationLine.REASON, LINKS, row),
        (),
        ("", title),
        row.backend,
        (row.remedy, amount),
        keys,
        tone=tone,
        detail=row.remedy,
    )


def _delegates_text(
    report: DelegationReport, delegated: int, whole: int, what: str
) -> tuple[str, str]:
    """What is said beside the title of the delegates, and below it."""
    if not report.has_calls:
        return "", NO_CALLS
    ran = [row for row in report.instances if row.keys]
    if not ran:
        return "", NONE_CALLED
    beside = f"{format_time(delegated)} · {_share(delegated, whole)} of {what}"
    operators = {i for row in ran for i in row.operators}
    told = [f"{counted(len(operators), 'operator')} in {_calls_text(ran)}"] if operators else []
    known = [row for row in ran if row.unattributed is not None]
    asked = sum(row.ticks for row in known)
    if asked:
        rest = sum(row.unattributed or 0 for row in known)
        told.append(
            f"their events account for {format_share(asked - rest, asked)} of that time; the rest, "
            "hatched, is unattributed"
        )
    text = "; ".join(told)
    return beside, f"{text[:1].upper()}{text[1:]}." if text else ""


def _calls_text(ran: list[Instance]) -> str:
    """ "10 delegate calls", "1 delegate call"."""
    return counted(len(ran), "delegate call")


def _links_text(report: DelegationReport) -> tuple[str, str]:
    """What is said beside the title of the links, and below it."""
    found = report.coverage
    if not found.linkable:
        return "", "No slice here has an identity that a record or a source could know."
    text = (
        f"{group_digits(found.linked)} of {group_digits(found.linkable)} linkable slices are linked"
        f" ({format_share(found.linked, found.linkable)})"
    )
    if found.linkable_ticks:
        share = format_share(found.linked_ticks, found.linkable_ticks)
        return text, f"They cover {share} of the time in which any linkable slice runs."
    return text, ""


def _share(part: float, whole: float) -> str:
    return format_share(part, whole) if whole else MISSING


class DelegationModel(OperatorModel):
    """The rows of a page, section by section."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.page = DelegationPage(OperatorContents(), ())  # of the contents that are shown next
        self._open: set[str] = set()  # sections of which all rows are shown

    def expand(self, section: str) -> None:
        """Show all rows of a section."""
        self.beginResetModel()
        self._open.add(section)
        self._arrange()
        self.endResetModel()

    def item(self, row: int) -> DelegationItem:
        """What a row stands for."""
        return self._item_of(self.rows[row])

    def _item_of(self, row: TableRow) -> DelegationItem:
        if row.group < 0:
            return DelegationItem(DelegationLine.MORE, row.module)
        return self.page.items[row.group]

    def _arrange(self) -> None:
        words = self._filter.lower().split()
        column, order = self._sort
        self.rows = []
        for head in (
            r for r in self.contents.rows if self._item_of(r).line is DelegationLine.SECTION
        ):
            section = self._item_of(head).section
            own = [
                row for row in self.contents.rows
                if row is not head and self._item_of(row).section == section
                and all(word in f"{row.name} {row.detail}".lower() for word in words)
            ]  # fmt: skip
            if words and not own:
                continue
            if 0 <= column < len(self.contents.headings):
                descending = order == Qt.SortOrder.DescendingOrder
                own.sort(key=lambda row: row.keys[column], reverse=descending)
            self.rows.append(head)
            most = len(own) if words or section in self._open or section == LINKS else AT_FIRST
            if len(own) == most + 1:
                most += 1
            self.rows += own[:most]
            if own[most:]:
                text = f"Show {group_digits(len(own) - most)} more"
                empty = ("",) * len(self.contents.headings)
                self.rows.append(TableRow((), section, text, "", empty, (text,)))

    def tsv(self, rows: Iterable[int]) -> str:
        """Some rows with the headings, as tab separated text; of reasons also what to do."""
        asked = [
            row
            for row in rows
            if self.item(row).line not in (DelegationLine.SECTION, DelegationLine.MORE)
        ]
        lines = super().tsv(asked).splitlines()
        reasons = len(self.contents.headings)
        told = [f"Section\t{lines[0]}\tWhat to do"]
        for row, line in zip(asked, lines[1:], strict=True):
            item = self.item(row)
            if isinstance(item.of, Unlinked):
                cells = [self.rows[row].name, *[""] * (reasons - 2), str(item.of.slices)]
                line = "\t".join([*cells, item.of.remedy])
            told.append(f"{item.section}\t{line}")
        return "\n".join(told) + "\n"

    def title_tip(self, column: int) -> str:
        return _MEANINGS.get(self.titles()[column].partition(",")[0], "")

    @guard
    def flags(self, index: Index) -> Qt.ItemFlag:
        if index.isValid() and self.item(index.row()).line is DelegationLine.SECTION:
            return Qt.ItemFlag.NoItemFlags  # arrow keys pass it by
        return super().flags(index)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, item = self.rows[index.row()], self.item(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            if item.line is DelegationLine.SECTION:
                return f"{row.op}: {row.hint}. {row.detail}"
            if item.line is DelegationLine.REASON:
                return f"{row.name}: {row.texts[1]}. {row.detail}"
            if item.line is DelegationLine.MORE:
                return row.op
            return row.texts[index.column()] if index.column() else row.name
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(item.of, Unlinked):
            more = item.of.details - 1
            note = f"\nand {group_digits(more)} more like it" if more else ""
            return tip(f"{item.of.detail}{note}")
        if role == Qt.ItemDataRole.ToolTipRole and item.line is DelegationLine.SECTION:
            return tip(f"{row.op}: {row.hint}\n{row.detail}".strip())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() and row.detail:
            return tip(row.detail)
        return super().data(index, role)


class DelegationView(OperatorView):
    """The table, with sections and reasons over its whole width."""

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
        """Let sections and reasons reach over all columns, and be as tall as their text."""
        model, columns = self._page_model, self._page_model.columnCount()
        self.clearSpans()
        header = self.verticalHeader()
        for row in range(len(model.rows)):
            wide = model.item(row).line not in (DelegationLine.INSTANCE, DelegationLine.OUTSIDE)
            if wide and columns > 1:
                self.setSpan(row, 0, 1, columns)
            tall = self._painter.height_of(row, self.viewport().width())
            if header.sectionSize(row) != tall:
                header.resizeSection(row, tall)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._lay_out()


class _Painter(OperatorDelegate):
    """Paints sections, reasons and what shows more rows; the others as its base does."""

    def __init__(self, model: DelegationModel, theme: Theme, view: DelegationView) -> None:
        super().__init__(model, theme, view)
        self._page_model = model

    def height_of(self, row: int, width: int) -> int:
        """How tall a row is in a table of some width, in px."""
        theme, line = self._theme, self._page_model.item(row).line
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
        item = self._page_model.item(index.row())
        row: TableRow = index.data(ROW_ROLE)
        if item.line in (DelegationLine.INSTANCE, DelegationLine.OUTSIDE):
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
            painter.drawText(rect.adjusted(left, 0, 0, 0), int(LEFT), row.op)

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
        painter.drawText(inside, int(LEFT), row.op)
        inside.setLeft(
            inside.left() + painter.fontMetrics().horizontalAdvance(row.op) + theme.px(12)
        )
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        elided = painter.fontMetrics().elidedText(
            row.hint, Qt.TextElideMode.ElideRight, inside.width()
        )
        painter.drawText(inside, int(LEFT), elided)
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), row.detail)

    def _reason(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        theme = self._theme
        line = QRect(rect.left(), rect.top() + theme.px(_TOP), rect.width(), theme.px(18))
        dot, left = theme.px(_DOT), rect.left() + theme.px(_TEXT_LEFT)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(row.tone))
        at = QRectF(rect.left() + theme.px(12), line.center().y() - dot / 2 + 1, dot, dot)
        painter.drawEllipse(at)
        painter.restore()
        painter.setFont(theme.font("cell"))
        metrics = painter.fontMetrics()
        painter.setPen(theme.color("text2"))
        amount = line.adjusted(0, 0, -theme.px(12), 0)
        painter.drawText(amount, int(RIGHT), row.texts[1])
        room = amount.right() - metrics.horizontalAdvance(row.texts[1]) - theme.px(12) - left
        title = metrics.elidedText(row.name, Qt.TextElideMode.ElideRight, room)
        painter.setPen(theme.color("text1"))
        painter.drawText(QRect(left, line.top(), room, line.height()), int(LEFT), title)
        below = QRect(left, line.bottom() + 1, rect.right() - left - theme.px(12), rect.height())
        painter.setPen(theme.color("text2"))
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), row.detail)
