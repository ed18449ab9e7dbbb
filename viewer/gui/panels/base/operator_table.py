"""Table model and painting of operators and other groups, with their costs.

The model sorts and filters by the rows' own keys, without a proxy: 5,000 rows stay instant. The
delegate paints swatches and bars, so that no cell needs a widget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.operator_contents import (
    LINE,
    ColumnKind,
    Heading,
    OperatorContents,
    TableRow,
)
from viewer.gui.panels.base.slice_facts import MISSING, plain_ns, plain_number
from viewer.gui.panels.base.swatches import (
    SWATCH,
    colors_of,
    paint_bar,
    paint_hatch,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text, measurable
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index, TitledModel
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.model.text import visible_controls
from viewer.model.times import is_fraction_of_ns
from viewer.render.palette import Palette

ROW_ROLE = Qt.ItemDataRole.UserRole + 1
RELATED_ROLE = Qt.ItemDataRole.UserRole + 3
_INDENT = 16  # px per level
_RIGHT = (ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SHARE)
_NUMBERS = (*_RIGHT, ColumnKind.BAR)


class OperatorModel(TitledModel):
    """The rows of `OperatorContents`, sorted and filtered."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.contents = OperatorContents()
        self._titles: tuple[str, ...] = ()
        self._fractions: frozenset[int] = frozenset()
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
        self._fractions = frozenset(
            column
            for column, heading in enumerate(contents.headings)
            if heading.is_time and any(map(is_fraction_of_ns, contents.texts(column)))
        )
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
        """Return rows and headings as tab-separated text: times in ns, no digit grouping."""
        headings = self.contents.headings
        titles = (f"{h.title}, ns" if h.is_time else h.title for h in headings)
        lines = ["\t".join(titles)]
        for i in rows:
            row = self.rows[i]
            cells = [
                _plain(heading, text, key)
                for heading, text, key in zip(headings, row.texts, row.keys, strict=False)
            ]
            lines.append("\t".join((row.name, *cells[1:])))
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
        return self.contents.headings[column].tip

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return self.contents.headings[column].kind in _RIGHT

    def is_number(self, column: int) -> bool:
        return self.contents.headings[column].kind in _NUMBERS

    def is_time(self, column: int) -> bool:
        return self.contents.headings[column].is_time

    def has_fractions(self, column: int) -> bool:
        return column in self._fractions

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(row.texts[column] if column else row.name)
        if role == ROW_ROLE:
            return row
        if role == RELATED_ROLE:
            return not self._wanted.isdisjoint(row.operators)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if self.contents.headings[column].kind in _NUMBERS else LEFT
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return tip("\n".join(filter(None, (row.name, row.detail))))
        return None


def _plain(heading: Heading, text: str, key: float | str) -> str:
    """Return a cell for a copy: times in ns, and small shares with their first digits."""
    if heading.is_time and text[:1].isdecimal():
        return plain_ns(key)
    if heading.kind is ColumnKind.SHARE and text.startswith("<"):
        return f"{100 * float(key):.1g}"
    return plain_number(text)


class OperatorDelegate(QStyledItemDelegate):
    """Paints a cell (swatch and name, number and bar, or text) on its row's background."""

    NUMBER_WIDTH = 84
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
            number = QRect(rect.left(), rect.top(), width, rect.height())
            paint_time(painter, number, text, fractions=self._model.has_fractions(index.column()))
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
        if kind is ColumnKind.SHARE:
            paint_share(painter, rect, row.share, self._share_color(row), theme, row.full)
        faint = index.column() == len(self._model.contents.headings) - 1 or text == MISSING
        painter.setPen(theme.color("text2" if faint else "text1"))
        inside = rect.adjusted(inset, 0, -inset, 0)
        if kind is ColumnKind.TIME:
            paint_time(painter, inside, text, fractions=self._model.has_fractions(index.column()))
            return
        shown = elided_text(
            painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, inside.width()
        )
        right = kind in _RIGHT
        painter.drawText(inside, int(RIGHT if right else LEFT), shown)

    def _share_color(self, row: TableRow) -> QColor:
        theme = self._theme
        if len(row.operators) == 1:
            own = slice_color(colors_of(row.operators, self.colors)[0], theme)
            return share_color(own, theme)
        token = theme.color(row.tone)
        return token if row.tone == "slab" else share_color(token, theme)

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
        module = f"{measurable(row.module)} · " if row.module else ""
        name = measurable(row.op)
        shown_module = elided_text(metrics, module, Qt.TextElideMode.ElideLeft, room // 2)
        module_width = metrics.horizontalAdvance(module)
        if module_width + metrics.horizontalAdvance(name) <= room:
            shown_module = module
        painter.setPen(theme.color("text2"))
        at = QRect(left, rect.top(), max(room, 0), rect.height())
        painter.drawText(at, int(LEFT), shown_module)
        at.setLeft(left + metrics.horizontalAdvance(shown_module))
        # Names in the middle: aten::…_for_cpu and aten::…_for_cpu_backward differ at their ends.
        where = Qt.TextElideMode.ElideRight if row.operators else Qt.TextElideMode.ElideMiddle
        op = elided_text(metrics, name, where, at.width())
        painter.setPen(theme.color("text1"))
        painter.drawText(at, int(LEFT), op)
        if row.hint:
            painter.setFont(hint_font)
            painter.setPen(theme.color("text2"))
            at.setLeft(at.left() + metrics.horizontalAdvance(op) + theme.px(10))
            at.setRight(right)
            painter.drawText(at, int(LEFT), row.hint)
