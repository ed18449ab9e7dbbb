"""The widget of all tables of panels: columns by width, copying, and its menu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from viewer.gui.panels.base.tables.columns import CopyScope
from viewer.gui.panels.base.tables.model import ArrangedModel, TableModel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import measurable
from viewer.gui.qt.widgets.table_model import Index
from viewer.gui.qt.widgets.tables import (
    RowTable,
    add_copying,
    copy_rows,
    copy_tsv,
    fit_columns,
    let_copy,
    marked_rows,
    offer_rows,
    paint_faint,
    pop_up,
)
from viewer.gui.qt.widgets.time_cells import paint_time


class ArrangedView(RowTable):
    """A table that sorts by clicks on its titles and is painted fainter while it is stale."""

    def __init__(self, model: ArrangedModel[Any], name: str, theme: Theme, least: int) -> None:
        """least: the least width in px of the column that takes the remaining space."""
        super().__init__(model, name, theme)
        self.arranged = model
        self.opacity = 1.0
        self._least = least
        self._sized: list[int] = []
        self._sections = 0  # of the header, when their widths were set
        self._size_columns()
        model.modelReset.connect(self.fit_columns)
        model.headerDataChanged.connect(self.fit_columns)

    def take_header(self, header: QHeaderView) -> None:
        """Replace the header, which must know the columns before they get their widths."""
        model = self.arranged
        self.setHorizontalHeader(header)
        model.modelReset.disconnect(self.fit_columns)
        model.modelReset.connect(self.fit_columns)

    def let_sort(self) -> None:
        """Let clicks on titles sort; a third click restores the own order of the rows."""
        header = self.horizontalHeader()
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self.setSortingEnabled(True)

    def leaving(self) -> list[int]:
        """Return the columns that are hidden for want of space, in this order."""
        raise NotImplementedError

    def least_width(self) -> int:
        """Return the least width of the column that takes the remaining space, in px at 100 %."""
        return self._least

    def _size_columns(self) -> None:
        """Set the widths of the columns, if the contents changed them."""
        model, header = self.arranged, self.horizontalHeader()
        widths = [column.room(model.contents) for column in model.columns]
        if (widths, header.count()) != (self._sized, self._sections):
            # The header can follow its model later; what it adds has the width of any section.
            self._sized, self._sections = widths, header.count()
            for i, width in enumerate(widths):
                if width:
                    header.resizeSection(i, self._theme.px(width))

    @Slot()
    def fit_columns(self) -> None:
        """Show the columns that have something to show and fit into the width."""
        columns, unused = self.arranged.columns, self.arranged.unused
        self._size_columns()
        wide = next(
            (i for i, c in enumerate(columns) if not c.width and i not in unused),
            next((i for i, c in enumerate(columns) if c.fills), 0),
        )
        widths = {i: width or self.least_width() for i, width in enumerate(self._sized)}
        fit_columns(self, self._theme, widths, unused, self.leaving(), wide)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all rows if none is selected."""
        self._put(marked_rows(self) or range(self.arranged.rowCount()), form)

    def copy_all(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the whole table, in the order shown."""
        self._put(range(self.arranged.rowCount()), form)

    def _put(self, rows: Sequence[int], form: CopyFormat) -> None:
        copy_tsv(self, self.arranged.tsv(rows), form)

    def offer_copies(self) -> None:
        """Let a menu copy the selected rows or the whole table."""
        add_copying(self, self.copy, self._menu)

    @Slot(QPoint)
    def _menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        offer_rows(menu, len(marked_rows(self)), self.copy, "Copy table as TSV", self.copy_all)
        pop_up(menu, self, point)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)


class CellDelegate(QStyledItemDelegate):
    """Paints times with `paint_time`, other cells as usual."""

    def __init__(self, model: ArrangedModel[Any], theme: Theme) -> None:
        super().__init__(model)
        self._model = model
        self._theme = theme

    @guard
    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = measurable(option.text)
        if self._model.columns[index.column()].elides_middle:
            option.textElideMode = Qt.TextElideMode.ElideMiddle

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not self._model.columns[index.column()].is_time:
            super().paint(painter, option, index)
            return
        self.initStyleOption(option, index)
        text, widget = option.text, option.widget
        style = widget.style() if widget is not None else QApplication.style()
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, widget)
        margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, widget) + 1
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        painter.save()
        painter.setFont(option.font)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        ink = option.palette.color(QPalette.ColorRole.Text)
        painter.setPen(self._theme.color("text1") if selected else ink)
        fractions = self._model.has_fractions(index.column())
        paint_time(painter, room.adjusted(margin, 0, -margin, 0), text, fractions=fractions)
        painter.restore()


class TableView(ArrangedView):
    """The widget of a `PanelTable`."""

    def __init__(self, model: TableModel[Any], theme: Theme) -> None:
        table = model.table
        super().__init__(model, table.name, theme, table.least)
        self._table_model = model
        self.setItemDelegate(CellDelegate(model, theme))
        if table.sortable:
            self.let_sort()
        if table.copies is CopyScope.TABLE:
            self.offer_copies()
        else:
            let_copy(self, self.copy)

    def leaving(self) -> list[int]:
        columns = self.arranged.columns
        return [i for _, i in sorted((c.leaves, i) for i, c in enumerate(columns) if c.leaves)]

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or the first of very many and a note about the rest."""
        table, model = self._table_model.table, self._table_model
        if table.copies is CopyScope.SELECTED:
            copy_rows(self, model.tsv, table.most_copied or model.rowCount(), table.rest, form)
        else:
            super().copy(form)
