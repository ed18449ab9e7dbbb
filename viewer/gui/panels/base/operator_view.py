"""The widget of tables of operators and other groups: painted cells, columns, and totals below.

No cell needs a widget. A `TotalsRow` states what the listed rows are in all, aligned with the
columns of its table.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Slot,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QMenu,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from viewer.gui.panels.base.cost_painting import (
    SWATCH,
    colors_of,
    paint_bar,
    paint_hatch,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.panels.base.operator_model import (
    LINE,
    RELATED_ROLE,
    ROW_ROLE,
    OperatorContents,
    OperatorModel,
    TableRow,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ArrangedView, ColumnKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import (
    FASTER,
    SLOWER,
    change_color,
    paint_change_bar,
    paint_dots,
    paint_mark,
    paint_time,
)
from viewer.gui.qt.widgets.labels import elided_text, explain, measurable
from viewer.gui.qt.widgets.tables import LEFT, RIGHT, ROW_HEIGHT, Index, SortHeader, select_row
from viewer.gui.session.choices import TableChoices
from viewer.model.text import name_text
from viewer.model.times import counted
from viewer.render.palette import Palette

_INDENT = 16  # px per level


class OperatorDelegate(QStyledItemDelegate):
    """Paints a cell (swatch and name, number and bar, or text) on its row's background."""

    NUMBER_WIDTH = 84
    NAME_LEFT = 40
    BARE_NAME_LEFT = 12  # for names without a swatch
    MARK_WIDTH = 22  # the verdict before the swatch

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
        if kind is ColumnKind.DOTS:
            self._dots(painter, rect, row)
            return
        if kind is ColumnKind.CHANGE:
            self._change(painter, rect, row, text, index.column())
            return
        if kind is ColumnKind.SHARE:
            paint_share(painter, rect, row.share, self._share_color(row), row.full)
        faint = index.column() == len(self._model.contents.headings) - 1 or text == MISSING
        painter.setPen(theme.color("text2" if faint else "text1"))
        inside = rect.adjusted(inset, 0, -inset, 0)
        if kind is ColumnKind.TIME:
            paint_time(painter, inside, text, fractions=self._model.has_fractions(index.column()))
            return
        shown = elided_text(
            painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, inside.width()
        )
        painter.drawText(inside, int(RIGHT if kind.is_right else LEFT), shown)

    def _dots(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        cell = row.compared
        if cell is not None and cell.verdict:
            paint_dots(
                painter,
                QRectF(rect),
                cell.dots,
                cell.verdict,
                self._theme,
                reach=cell.reach,
                band=cell.band,
            )

    def _change(
        self, painter: QPainter, rect: QRect, row: TableRow, text: str, column: int
    ) -> None:
        theme, width = self._theme, self._theme.px(self.NUMBER_WIDTH)
        number = QRect(rect.right() - width, rect.top(), width - theme.px(6), rect.height())
        verdict = "" if row.compared is None else row.compared.verdict
        painter.setPen(
            change_color(verdict, theme) if verdict in (SLOWER, FASTER) else theme.color("text2")
        )
        paint_time(painter, number, text, fractions=self._model.has_fractions(column))
        if row.compared is not None and row.compared.verdict:
            inset = theme.px(2)
            room = QRectF(rect).adjusted(inset, 0, -width - inset, 0)
            paint_change_bar(painter, room, row.compared.share, verdict, theme)

    def _share_color(self, row: TableRow) -> QColor:
        theme = self._theme
        if len(row.operators) == 1:
            color = slice_color(colors_of(row.operators, self.colors)[0], theme)
            return share_color(color, theme)
        token = theme.color(row.tone)
        return token if row.tone == "slab" else share_color(token, theme)

    def _name(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        theme = self._theme
        side = theme.px(SWATCH)
        top = rect.center().y() - side / 2 + 1
        left, right = rect.left() + theme.px(self.NAME_LEFT), rect.right() - theme.px(8)
        mark = 0
        if row.compared is not None:
            mark = theme.px(self.MARK_WIDTH)
            center = QPointF(rect.left() + theme.px(16), rect.center().y() + 1)
            if row.compared.verdict:
                paint_mark(painter, center, row.compared.verdict, theme)
            left += mark
        if row.operators:
            palette_indices = colors_of(row.operators, self.colors)
            paint_swatch(painter, rect.left() + mark + theme.px(12), top, palette_indices, theme)
        elif not (self.swatch_room and self._model.has_swatches):
            left = rect.left() + mark + theme.px(self.BARE_NAME_LEFT + _INDENT * row.indent)
        metrics = QFontMetrics(theme.font("cell"))
        hint_font = theme.font("caption")
        hint = QFontMetrics(hint_font).horizontalAdvance(row.hint) if row.hint else 0
        hint = min(hint, (right - left) // 2)  # a long one leaves room for the name
        room = right - left - (hint + theme.px(10) if hint else 0)
        module = f"{measurable(row.module)} · " if row.module else ""
        name = name_text(row.op)
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
            end = Qt.TextElideMode.ElideRight
            hint_text = elided_text(QFontMetrics(hint_font), row.hint, end, at.width() + 1)
            painter.drawText(at, int(LEFT), hint_text)


LEAST_NAME = 230  # px; the minimum width of the name column
_MOST_NAMES = 0.5  # of the width of the table, for longer names
_AROUND_NAME = 40  # px of swatch and margins
_MEASURED, _LONGEST = 30, 120  # rows and characters that are measured


class OperatorView(ArrangedView):
    """The widget of tables of operators. Ctrl+C copies rows."""

    def __init__(
        self,
        model: OperatorModel,
        theme: Theme,
        name: str = "Operators",
        least_name: int = LEAST_NAME,
        *,
        names_first: bool = True,
    ) -> None:
        """least_name: the least width in px of the column of names, before others leave.

        names_first: whether figures leave for long names too.
        """
        super().__init__(model, name, theme, least_name)
        self._names_first = names_first
        self._model = model
        self._picked: list[str] = []  # columns that the user chose, the last one last
        header = _Header(model, theme)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(theme.px(40))
        self.take_header(header)
        self._delegate = OperatorDelegate(model, theme, self)
        self.setItemDelegate(self._delegate)
        self.setMouseTracking(True)
        self.let_sort()
        self.offer_copies()

    def let_choose(self, hidden: Collection[str], choices: TableChoices, table: str) -> None:
        """Let a menu of the titles choose the columns, which the session keeps for this table."""
        self._standard, self._choices, self._kept_as = hidden, choices, table
        choices.restored.connect(self._take_columns)
        self._take_columns()
        header = self.horizontalHeader()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._offer_columns)

    @Slot()
    def _take_columns(self) -> None:
        choice = self._choices.choice_of(self._kept_as)
        self._picked = list(choice.picked)
        self._model.choose_columns(self._standard if choice.hidden is None else choice.hidden)

    @Slot(QPoint)
    def _offer_columns(self, point: QPoint) -> None:
        self.menu_of_columns().popup(self.horizontalHeader().mapToGlobal(point))

    def menu_of_columns(self) -> QMenu:
        """Return a menu with a check mark for each chosen column; the names always stay."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for heading in self._model.columns[1:]:
            name = self._model.name_of(heading)
            entry = menu.addAction(heading.title.replace("&", "&&"))
            entry.setCheckable(True)
            entry.setChecked(name not in self._model.hidden)
            entry.toggled.connect(partial(self._choose_column, name))
        return menu

    def _choose_column(self, name: str, chosen: bool) -> None:
        """Show a column or hide it. One that the user chose is the last to leave."""
        self._picked = [other for other in self._picked if other != name]
        self._picked += [name] if chosen else []
        self._model.choose_columns(self._model.hidden ^ {name})
        hidden, picked = tuple(sorted(self._model.hidden)), tuple(self._picked)
        self._choices.choose(self._kept_as, hidden=hidden, picked=picked)

    def show_contents(self, contents: OperatorContents, sorted_by: int) -> None:
        """Replace the contents; if columns up to the one that sorts change, sort by `sorted_by`."""
        kinds = [h.kind for h in self._model.contents.headings]
        now = [h.kind for h in contents.headings]
        by = self.horizontalHeader().sortIndicatorSection()
        self._model.show(contents)
        if kinds != now and not (0 <= by < len(now) and kinds[: by + 1] == now[: by + 1]):
            order = Qt.SortOrder.DescendingOrder
            self.horizontalHeader().setSortIndicator(sorted_by, order)

    def color_operators(self, colors: Palette | None) -> None:
        """Set the palette index of every operator's swatch and bar; None: each its own color."""
        self._delegate.colors = colors
        self.viewport().update()

    def keep_swatch_room(self) -> None:
        """Align names without a swatch with those that have one."""
        self._delegate.swatch_room = True

    def leaving(self) -> list[int]:
        """Keep names legible: return the columns to hide if the table is too narrow.

        The name, time and share stay, and the changes if arms are compared. The source lines are
        hidden last, because they are links.
        """
        columns = self.arranged.columns
        leaving = [i for i, c in enumerate(columns) if i > 2 and c.kind is not ColumnKind.CHANGE]
        place = {name: i for i, name in enumerate(self._picked)}
        names = list(map(self._model.name_of, columns))
        return sorted(
            leaving, key=lambda i: (place.get(names[i], -1), columns[i].title == LINE, -i)
        )

    def least_width(self) -> int:
        """Give the first names their room, up to a part of the width: figures leave before."""
        least, theme, rows = super().least_width(), self._theme, self._model.rows[:_MEASURED]
        if not self._names_first:
            return least
        metrics = QFontMetrics(theme.font("cell"))
        names = (f"{row.module}{row.op}"[:_LONGEST] for row in rows)
        longest = max(map(metrics.horizontalAdvance, names), default=0)
        scale = theme.px(100) / 100
        most = int(_MOST_NAMES * self.viewport().width() / scale)
        return max(least, min(int(longest / scale) + _AROUND_NAME, most))

    def mark(self, row: int) -> None:
        """Highlight one row and scroll it into view; -1 clears the highlight."""
        if row < 0:
            self.selectionModel().clear()
            return
        index = self._model.index(row, 0)
        select_row(self, index)
        self.scrollTo(index)

    def mark_numbers(self, wanted: Collection[int], *, scroll: bool = True) -> None:
        """Select the rows with some numbers in place of operators, and scroll to the first."""
        chosen, first = QItemSelection(), -1
        for number, row in enumerate(self._model.rows) if wanted else ():
            if row.operators[0] in wanted:
                first = number if first < 0 else first
                index = self._model.index(number, 0)
                chosen.select(index, index)
        flags = QItemSelectionModel.SelectionFlag
        picked = self.selectionModel()
        picked.select(chosen, flags.ClearAndSelect | flags.Rows)
        if first >= 0 and self.currentIndex().row() != first:
            picked.setCurrentIndex(self._model.index(first, 0), flags.NoUpdate)
            if scroll:
                self.scrollTo(self._model.index(first, 0))


class _Header(SortHeader):
    """A header that aligns the first title with the names, not with their swatches."""

    def __init__(self, model: OperatorModel, theme: Theme) -> None:
        super().__init__()
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


class TotalsRow(QWidget):
    """The totals of the rows that are listed, so of those that match a filter.

    texts: of the columns, "" where rows do not add up.
    """

    def __init__(self, table: QTableView, model: OperatorModel, theme: Theme) -> None:
        super().__init__()
        self._table, self._model, self._theme = table, model, theme
        self.texts: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        for signal in (model.modelReset, model.headerDataChanged):
            signal.connect(self._follow)
        for moved in (table.horizontalHeader().sectionResized, model.layoutChanged):
            moved.connect(self.update)
        self.hide()

    @Slot()
    def _follow(self) -> None:
        contents, rows = self._model.contents, self._model.rows
        count = sum(not row.indent for row in rows)
        self.setVisible(contents.total is not None and count > 0)
        if contents.total is None or not count:
            self.texts = ()
            return
        self.texts = (f"Total of {counted(count, 'row')}", *contents.total(rows)[1:])
        pairs = zip(contents.headings, self.texts, strict=True)
        lines = [f"{h.title}: {text}" for h, text in list(pairs)[1:] if text]
        text = "\n".join([self.texts[0], *lines])
        self.setAccessibleName(text.replace("\n", ", "))
        explain(self, text)
        self.update()

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(300), self._theme.px(ROW_HEIGHT))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, header = self._theme, self._table.horizontalHeader()
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, theme.color("hairline"))
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        for i, text in enumerate(self.texts):
            if i >= header.count() or header.isSectionHidden(i):
                continue
            room = QRect(header.sectionViewportPosition(i), 0, header.sectionSize(i), self.height())
            kind = self._model.columns[i].kind
            if i == 0:
                inside = room.adjusted(theme.px(OperatorDelegate.BARE_NAME_LEFT), 0, 0, 0)
                painter.drawText(inside, int(LEFT), text)
                painter.setPen(theme.color("text1"))
                continue
            if kind is ColumnKind.BAR:
                room.setWidth(theme.px(OperatorDelegate.NUMBER_WIDTH))
            else:
                room.adjust(theme.px(6), 0, -theme.px(6), 0)
            if kind.is_time:
                paint_time(painter, room, text, fractions=self._model.has_fractions(i))
            else:
                painter.drawText(room, int(RIGHT if kind.is_right else LEFT), text)
        painter.end()
