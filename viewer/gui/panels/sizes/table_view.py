"""The widget of the table of parts: columns by width, bars of shares and changes, and copying."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QRect, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QStyle, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import paint_share, share_color, slice_color
from viewer.gui.panels.sizes.table import COLUMNS, PartColumn, PartsModel
from viewer.gui.panels.sizes.texts import verdict_of
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.column_table import ColumnTable
from viewer.gui.qt.widgets.table_model import RIGHT, Index
from viewer.gui.qt.widgets.tables import (
    add_copying,
    copy_tsv,
    marked_rows,
    offer_markdown,
    paint_faint,
    pop_up,
)
from viewer.gui.qt.widgets.time_cells import TimeDelegate
from viewer.render.palette import PLAIN, SLAB

_LEAST_NAME = 220  # px
_INSET = 6  # px
_DISPENSABLE = (
    PartColumn.MODULE, PartColumn.DTYPE, PartColumn.SHAPE, PartColumn.SHARE, PartColumn.OPERATOR,
    PartColumn.RATIO, PartColumn.KIND, PartColumn.COPIES, PartColumn.B,
)  # fmt: skip
_PAINTED = (PartColumn.BYTES, PartColumn.CHANGE, PartColumn.RATIO)


class PartsView(ColumnTable[PartColumn]):
    """The table. It is painted fainter while its figures are stale. Ctrl+C copies rows."""

    def __init__(self, model: PartsModel, theme: Theme) -> None:
        super().__init__(
            model, "Parts of the program", theme, COLUMNS, _LEAST_NAME, _DISPENSABLE, sortable=True
        )
        self._parts = model
        self.opacity = 1.0
        self.setItemDelegate(_Delegate(model, theme))
        self.setMouseTracking(True)
        add_copying(self, self.copy, self._menu)

    def hidden(self) -> Collection[PartColumn]:
        return self._parts.hidden()

    def mark(self, rows: Sequence[int]) -> None:
        """Select some rows, given by their places, and scroll to the first."""
        flags, model = QItemSelectionModel.SelectionFlag, self.model()
        picked, chosen = self.selectionModel(), QItemSelection()
        start = previous = -2
        for row in [*rows, -2]:  # runs of rows: a selection of thousands of ranges is slow
            if row != previous + 1:
                if start >= 0:
                    chosen.select(model.index(start, 0), model.index(previous, 0))
                start = row
            previous = row
        picked.select(chosen, flags.ClearAndSelect | flags.Rows)
        if len(rows) and self.currentIndex().row() not in rows:
            first = model.index(rows[0], 0)
            picked.setCurrentIndex(first, flags.NoUpdate)
            self.scrollTo(first)

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all rows if none is selected."""
        self._put(marked_rows(self) or range(self._parts.shown_rows()), form)

    def copy_all(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the whole table, in the order shown."""
        self._put(range(self._parts.shown_rows()), form)

    def _put(self, rows: Sequence[int], form: CopyFormat) -> None:
        copy_tsv(self, self._parts.tsv(rows), form)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        count = len(marked_rows(self))
        rows = menu.addAction(
            "Copy row" if count < 2 else f"Copy {count} rows", lambda: self.copy()
        )
        rows.setEnabled(count > 0)
        menu.addAction("Copy table as TSV", lambda: self.copy_all())
        offer_markdown(menu, "Copy table as TSV", self.copy_all)
        pop_up(menu, self, at)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)


class _Delegate(TimeDelegate):
    """Paints bytes in front of their share, and changes with a bar or a mark."""

    def __init__(self, model: PartsModel, theme: Theme) -> None:
        super().__init__(model, theme)
        self._parts = model

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        column, answer = COLUMNS[index.column()], self._parts.answer
        if column not in _PAINTED or answer is None:
            super().paint(painter, option, index)
            return
        theme, rect = self._theme, option.rect
        item, text = self._parts.item(index.row()), str(index.data())
        a, b = int(answer.bytes_a[item]), int(answer.bytes_b[item])
        painter.save()
        painter.setClipRect(rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("selection"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("hover"))
        if column is PartColumn.BYTES:
            self._bytes(painter, rect, item, text)
        elif column is PartColumn.CHANGE:
            share = (b - a) / answer.most_change if a != b else None
            paint_difference(painter, rect, text, share, verdict_of(b - a), theme)
        else:
            paint_ratio(painter, rect, text, verdict_of(b - a), theme)
        painter.restore()

    def _bytes(self, painter: QPainter, rect: QRect, item: int, text: str) -> None:
        theme, answer = self._theme, self._parts.answer
        assert answer is not None
        color = self._parts.palette_index(item)
        fill = theme.color("slab")
        if color not in (SLAB, PLAIN):
            fill = share_color(slice_color(color, theme), theme)
        paint_share(painter, rect, int(answer.bytes_a[item]) / answer.most_bytes, fill, theme)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2" if text == MISSING else "text1"))
        inset = theme.px(_INSET)
        painter.drawText(rect.adjusted(inset, 0, -inset, 0), int(RIGHT), text)
