"""Table model and painting of operators and other groups, with their costs.

Without a profile the table lists a program's operators instead. The model sorts and filters by the
rows' own keys, without a proxy: 5,000 rows stay instant. The delegate paints swatches and bars, so
that no cell needs a widget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.analysis.cost.lines import lines_text, source_place
from viewer.analysis.links.labels import set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.workload.operator_tensors import outputs_of
from viewer.gui.panels.base.slice_facts import MISSING, plain_number, tensor_text
from viewer.gui.panels.base.swatches import (
    SWATCH,
    colors_of,
    paint_bar,
    paint_hatch,
    paint_swatch,
    slice_color,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index, TitledModel
from viewer.gui.session.costs import CostAnswer
from viewer.model.times import format_in, group_digits, tick_to_ns, unit_for
from viewer.program.program import Operator, Program
from viewer.render.palette import Palette

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3
_INDENT = 16  # px per level


class ColumnKind(Enum):
    """How a column is painted."""

    NAME = "name"
    BAR = "bar"
    NUMBER = "number"
    TEXT = "text"
    CODE = "code"


LINE = "Line"  # the title of the column of source lines
_SHARE_OF = "Of the whole that stands at the right end of the line below the table"


@dataclass(frozen=True, slots=True)
class Heading:
    """A column: its title, how it is painted, and its width in px (0: the remaining width)."""

    title: str
    kind: ColumnKind
    width: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the operators it covers, and the text and sort key of each column.

    share: length of the bar, 0 to 1 of the most expensive row. tone: color token of a row without
    operators. indent: nesting level of the name. group: index of the row's group in the table, -1
    if rows are not groups. mark: position of a line across the bar, 0 to 1 on the bar's scale, -1
    for none. full: the known part of the bar, 0 to 1; the rest is hatched. detail: a sentence for
    the tooltip.
    """

    operators: tuple[int, ...]
    module: str
    op: str
    hint: str
    texts: tuple[str, ...]
    keys: tuple[float | str, ...]
    share: float = 0.0
    tone: str = "slab"
    indent: int = 0
    group: int = -1
    mark: float = -1.0
    full: float = 1.0
    detail: str = ""

    @property
    def name(self) -> str:
        """Module, operator and hint, as text to copy and to search."""
        text = f"{self.module} · {self.op}" if self.module else self.op
        return f"{text} ({self.hint})" if self.hint else text


@dataclass(frozen=True, slots=True)
class OperatorContents:
    """The contents of a table. `place` returns the recorded path and line of an operator."""

    headings: tuple[Heading, ...] = ()
    rows: tuple[TableRow, ...] = ()
    place: Callable[[int], tuple[str, int] | None] = field(default=lambda i: None)


@dataclass(frozen=True, slots=True)
class SetFacts:
    """The cells of a set of operators that do not depend on its cost.

    keys: the sort keys of its name and its source line.
    """

    module: str
    op: str
    hint: str
    line: str
    keys: tuple[str, int]


def set_facts(table: LinkTable) -> dict[tuple[int, ...], SetFacts]:
    """Return the facts of every operator set of a linked trace.

    This takes 50 ms for 5,000 sets, so callers cache it.
    """
    facts = {}
    operators = () if table.program is None else table.program.operators
    for operator_set in table.sets:
        members = [operators[i] for i in operator_set]
        module, op = name_parts(set_label(table, operator_set))
        hint = f"shared by {len(operator_set)}" if len(operator_set) > 1 else ""
        keys = f"{module} {op}", _first_line(members)
        facts[operator_set] = SetFacts(module, op, hint, _line_of(members), keys)
    return facts


def costs_contents(answer: CostAnswer, facts: dict[tuple[int, ...], SetFacts]) -> OperatorContents:
    """List the operator sets that have a cost, most expensive first, with one unit for all times.

    facts: `set_facts` of the answer's trace.
    """
    shown, table = answer.shown, answer.table
    program = shown.table.program
    if program is None:
        return OperatorContents()
    rate = shown.axis.ns_per_tick
    most = tick_to_ns(max((r.ticks for r in table.rows), default=0), rate)
    unit, factor = unit_for(most)
    kernels = any(cost.kernel for cost in table.rows)
    headings = (
        Heading("Operator", ColumnKind.NAME, 0),
        Heading(f"Time, {unit}", ColumnKind.BAR, 136),
        Heading("Share, %", ColumnKind.NUMBER, 68),
        *((Heading(f"Kernel, {unit}", ColumnKind.NUMBER, 80),) if kernels else ()),
        Heading("Slices", ColumnKind.NUMBER, 58),
        Heading(LINE, ColumnKind.NUMBER, 76),
    )
    rows = []
    whole = table.whole  # a property that sums all rows: read it once
    for cost in table.rows:
        fact = facts[cost.operators]
        ns, kernel = tick_to_ns(cost.ticks, rate), tick_to_ns(cost.kernel, rate)
        share = cost.ticks / whole if whole else 0.0
        texts: list[str] = ["", format_in(ns, factor), f"{100 * share:.1f}"]
        keys: list[float | str] = [fact.keys[0], ns, share]
        if kernels:
            texts.append(format_in(kernel, factor) if kernel else MISSING)
            keys.append(kernel)
        texts += [group_digits(cost.slices), fact.line]
        keys += [cost.slices, fact.keys[1]]
        rows.append(
            TableRow(
                cost.operators,
                fact.module,
                fact.op,
                fact.hint,
                tuple(texts),
                tuple(keys),
                ns / most if most else 0.0,
            )
        )
    return OperatorContents(headings, tuple(rows), lambda i: source_place(program, i))


def record_contents(program: Program) -> OperatorContents:
    """List all operators of a program that has no linked trace, without costs."""
    is_text = bool(program.text_lines)
    headings = (
        Heading("Operator", ColumnKind.NAME, 0),
        *(() if len(program.methods) < 2 else (Heading("Method", ColumnKind.TEXT, 110),)),
        *(() if is_text else (Heading("Handle", ColumnKind.NUMBER, 64),)),
        Heading("Nodes", ColumnKind.NUMBER, 58),
        Heading(LINE, ColumnKind.NUMBER, 60),
        Heading("Output", ColumnKind.CODE, 190),
    )
    rows = []
    for operator in program.operators:
        outputs = outputs_of(operator)
        output = tensor_text(outputs[0]) if outputs else MISSING
        method: tuple[str, ...] = () if len(program.methods) < 2 else (operator.method,)
        handle = () if is_text else (operator.debug_handle,)
        line = operator.source.line if operator.source else 0
        nodes = len(operator.nodes) if operator.ops else 0  # unknown for a bare handle
        texts = (
            "",
            *method,
            *map(str, handle),
            str(nodes or MISSING),
            str(line or MISSING),
            output,
        )
        keys = (operator.label, *method, *handle, nodes, line, output)
        module, op = name_parts(operator.label)
        rows.append(TableRow((operator.index,), module, op, "", texts, keys))
    return OperatorContents(headings, tuple(rows), lambda i: source_place(program, i))


class OperatorModel(TitledModel):
    """The rows of `OperatorContents`, sorted and filtered."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.contents = OperatorContents()
        self._titles: tuple[str, ...] = ()
        self._has_swatches = False
        self.rows: list[TableRow] = []
        self._filter = ""
        self._sort: tuple[int, Qt.SortOrder] = (-1, Qt.SortOrder.DescendingOrder)
        self._wanted: frozenset[int] = frozenset()

    def show(self, contents: OperatorContents) -> None:
        """Replace all rows; keep the filter, and the order if the number of columns is equal."""
        self.beginResetModel()
        if len(contents.headings) != len(self.contents.headings):
            self._sort = (-1, Qt.SortOrder.DescendingOrder)
        self.contents = contents
        self._titles = tuple(heading.title for heading in contents.headings)
        self._has_swatches = any(row.operators for row in contents.rows)
        self._arrange()
        self.endResetModel()

    def clear(self) -> None:
        """Remove all rows and keep the columns."""
        self.show(OperatorContents(self.contents.headings))

    @property
    def has_swatches(self) -> bool:
        """Whether any row has operators."""
        return self._has_swatches

    def set_filter(self, text: str) -> None:
        """Show only the rows whose name or line contains every word of a text."""
        self.beginResetModel()
        self._filter = text
        self._arrange()
        self.endResetModel()

    def set_selected(self, operators: Iterable[int]) -> None:
        """Tint the rows that share one of these operators."""
        selected = frozenset(operators)
        if selected != self._wanted:
            self._wanted = selected
            if self.rows:
                last = self.index(len(self.rows) - 1, self.columnCount() - 1)
                self.dataChanged.emit(self.index(0, 0), last, [RELATED_ROLE])

    def row_of(self, operators: tuple[int, ...]) -> int:
        """Return the row that covers exactly these operators, -1 if it is not shown."""
        members = set(operators)
        return next((i for i, r in enumerate(self.rows) if set(r.operators) == members), -1)

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text, numbers without digit grouping."""
        lines = ["\t".join(self._titles)]
        for i in rows:
            row = self.rows[i]
            lines.append("\t".join((row.name, *(plain_number(t) for t in row.texts[1:]))))
        return "\n".join(lines) + "\n"

    def _arrange(self) -> None:
        words = self._filter.lower().split()
        titles = [heading.title for heading in self.contents.headings]
        line = titles.index(LINE) if LINE in titles else 0  # the text of the name column is empty
        self.rows = [
            row
            for row in self.contents.rows
            if all(w in row.name.lower() or w in row.texts[line] for w in words)
        ]
        self._sort_rows()

    def _sort_rows(self) -> None:
        column, order = self._sort
        if 0 <= column < len(self.contents.headings):
            reverse = order == Qt.SortOrder.DescendingOrder
            self.rows.sort(key=lambda row: row.keys[column], reverse=reverse)
            # A missing number is neither the smallest nor the greatest: it comes last in both
            # orders.
            self.rows.sort(key=lambda row: row.texts[column] == MISSING)

    @guard
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.layoutAboutToBeChanged.emit()
        before, indexes = self.rows, self.persistentIndexList()
        self._sort = (column, order)
        self._arrange()
        place = {id(row): number for number, row in enumerate(self.rows)}
        now = [self.index(place[id(before[i.row()])], i.column()) for i in indexes]
        self.changePersistentIndexList(indexes, now)
        self.layoutChanged.emit()

    def shown_rows(self) -> int:
        return len(self.rows)

    def title_tip(self, column: int) -> str:
        """Explain what a share is relative to."""
        return _SHARE_OF if self.titles()[column].startswith("Share") else ""

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return self.contents.headings[column].kind is ColumnKind.NUMBER

    def is_number(self, column: int) -> bool:
        return self.contents.headings[column].kind in (ColumnKind.NUMBER, ColumnKind.BAR)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return row.texts[column] if column else row.name
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            return not self._wanted.isdisjoint(row.operators)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            kind = self.contents.headings[column].kind
            return RIGHT if kind in (ColumnKind.NUMBER, ColumnKind.BAR) else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return tip("\n".join(filter(None, (row.name, row.detail))))
        return None


class OperatorDelegate(QStyledItemDelegate):
    """Paints a cell (swatch and name, number and bar, or text) on its row's background."""

    NUMBER_WIDTH = 66
    NAME_LEFT = 40
    BARE_NAME_LEFT = 12  # for names without a swatch

    def __init__(self, model: OperatorModel, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.colors: Palette | None = None  # palette index per operator; None: its own
        self.swatch_room = False  # whether to align names without a swatch with those that have one

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(25))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = self._theme
        row: TableRow = index.data(ROW_ROLE)
        rect: QRect = option.rect
        ground = ""
        if option.state & QStyle.StateFlag.State_Selected:
            ground = "selection"
        elif index.data(RELATED_ROLE):
            ground = "related"
        elif option.state & QStyle.StateFlag.State_MouseOver:
            ground = "hover"
        if ground:
            painter.fillRect(rect, theme.color(ground))
        kind = self._model.contents.headings[index.column()].kind
        painter.setFont(theme.font("code" if kind is ColumnKind.CODE else "cell"))
        if kind is ColumnKind.NAME:
            self._name(painter, rect, row)
            return
        inset = theme.px(6)
        text = str(index.data())
        if kind is ColumnKind.BAR:
            width = theme.px(self.NUMBER_WIDTH)
            painter.setPen(theme.color("text1"))
            number = QRectF(rect.left(), rect.top(), width, rect.height())
            painter.drawText(number, int(RIGHT), text)
            left, height = rect.left() + width + theme.px(12), theme.px(8)
            room = rect.right() - left - theme.px(12)
            one = len(row.operators) == 1
            palette_indices = colors_of(row.operators, self.colors)
            color = slice_color(palette_indices[0], theme) if one else theme.color(row.tone)
            top = rect.center().y() - height / 2 + 1
            if row.share > 0:
                bar_width = room * row.share
                known_width = bar_width * row.full
                if known_width >= 1 or row.full == 1:
                    paint_bar(painter, QRectF(left, top, known_width, height), color, theme)
                paint_hatch(
                    painter, QRectF(left + known_width, top, bar_width - known_width, height), color
                )
            if row.mark >= 0:
                at, over = left + room * min(row.mark, 1.0), theme.px(3)
                line = QRectF(at - 1, top - over, 2, height + 2 * over)
                painter.fillRect(line, theme.color("text1"))
            return
        faint = index.column() == len(self._model.contents.headings) - 1 or text == MISSING
        painter.setPen(theme.color("text2" if faint else "text1"))
        inside = rect.adjusted(inset, 0, -inset, 0)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, inside.width())
        right = kind is ColumnKind.NUMBER
        painter.drawText(inside, int(RIGHT if right else LEFT), shown)

    def _name(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        theme = self._theme
        side = theme.px(SWATCH)
        top = rect.center().y() - side / 2 + 1
        left, right = rect.left() + theme.px(self.NAME_LEFT), rect.right() - theme.px(8)
        if row.operators:
            palette_indices = colors_of(row.operators, self.colors)
            paint_swatch(painter, rect.left() + theme.px(12), top, palette_indices, theme)
        elif not (self.swatch_room and self._model.has_swatches):
            left = rect.left() + theme.px(self.BARE_NAME_LEFT + _INDENT * row.indent)
        metrics = QFontMetrics(theme.font("cell"))
        hint_font = theme.font("caption")
        hint = QFontMetrics(hint_font).horizontalAdvance(row.hint) if row.hint else 0
        room = right - left - (hint + theme.px(10) if hint else 0)
        module = f"{row.module} · " if row.module else ""
        shown_module = metrics.elidedText(module, Qt.TextElideMode.ElideLeft, room // 2)
        module_width = metrics.horizontalAdvance(module)
        if module_width + metrics.horizontalAdvance(row.op) <= room:
            shown_module = module
        painter.setPen(theme.color("text2"))
        at = QRect(left, rect.top(), max(room, 0), rect.height())
        painter.drawText(at, int(LEFT), shown_module)
        at.setLeft(left + metrics.horizontalAdvance(shown_module))
        op = metrics.elidedText(row.op, Qt.TextElideMode.ElideRight, at.width())
        painter.setPen(theme.color("text1"))
        painter.drawText(at, int(LEFT), op)
        if row.hint:
            painter.setFont(hint_font)
            painter.setPen(theme.color("text2"))
            at.setLeft(at.left() + metrics.horizontalAdvance(op) + theme.px(10))
            at.setRight(right)
            painter.drawText(at, int(LEFT), row.hint)


def name_parts(label: str) -> tuple[str, str]:
    """Split "features.4 · convolution" into module and operator; the module may be ""."""
    module, dot, op = label.partition(" · ")
    return (module, op) if dot else ("", module)


def _line_of(members: list[Operator]) -> str:
    sources = [m.source for m in members if m.source]
    return lines_text(s.line for s in sources) if sources else MISSING


def _first_line(members: list[Operator]) -> int:
    return min((m.source.line for m in members if m.source), default=0)
