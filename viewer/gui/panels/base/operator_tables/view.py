"""The table widget for operators and other groups: column layout, highlighted rows and copying."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QRect, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QMenu

from viewer.gui.panels.base.operator_tables.contents import LINE, OperatorContents
from viewer.gui.panels.base.operator_tables.delegate import OperatorDelegate
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.tables.columns import ColumnKind
from viewer.gui.panels.base.tables.view import ArrangedView
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import (
    SortHeader,
    select_row,
)
from viewer.gui.session.table_choices import TableChoices
from viewer.render.palette import Palette

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
        """Let a menu of the titles choose the columns; some are hidden at first.

        choices: of the session, which keep them under the name of the table.
        """
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
        """Replace the contents; if the columns change, sort by `sorted_by` (-1: unsorted).

        Columns after the one that sorts may come and go.
        """
        kinds = [h.kind for h in self._model.contents.headings]
        now, by = (
            [h.kind for h in contents.headings],
            self.horizontalHeader().sortIndicatorSection(),
        )
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
        """Select the rows whose `operators` is one of some numbers, and scroll to the first.

        This is for rows that are no operators, whose only entry there is the number of the row.
        """
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
