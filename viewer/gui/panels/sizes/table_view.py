"""The widget of the table of parts, with bars of shares and changes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import paint_share, share_color, slice_color
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import CellDelegate, TableView
from viewer.gui.panels.sizes.answer import SizesAnswer
from viewer.gui.panels.sizes.table import PartRows
from viewer.gui.panels.sizes.texts import verdict_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.table_model import RIGHT, Index
from viewer.render.palette import PLAIN, SLAB

_INSET = 6  # px


class PartsView(TableView):
    """The table of parts."""

    def __init__(self, model: TableModel[PartRows], theme: Theme) -> None:
        super().__init__(model, theme)
        self.setItemDelegate(_Delegate(model, theme))
        self.setMouseTracking(True)

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


class _Delegate(CellDelegate):
    """Paints bytes in front of their share, and changes with a bar or a mark."""

    def __init__(self, model: TableModel[PartRows], theme: Theme) -> None:
        super().__init__(model, theme)
        self._parts = model

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        column, rows = self._parts.columns[index.column()].title, self._parts.contents
        if column not in ("Bytes", "Change", "Change, %") or rows is None:
            super().paint(painter, option, index)
            return
        theme, rect, answer = self._theme, option.rect, rows.answer
        item, text = self._parts.item_of(index.row()), str(index.data())
        a, b = rows.sides(item)
        painter.save()
        painter.setClipRect(rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("selection"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("hover"))
        if column == "Bytes":
            self._bytes(painter, rect, answer, item, text)
        elif column == "Change":
            share = (b - a) / answer.most_change if a != b else None
            paint_difference(painter, rect, text, share, verdict_of(b - a), theme)
        else:
            paint_ratio(painter, rect, text, verdict_of(b - a), theme)
        painter.restore()

    def _bytes(
        self, painter: QPainter, rect: QRect, answer: SizesAnswer, item: int, text: str
    ) -> None:
        theme, colors = self._theme, self._parts.colors
        color = SLAB if colors is None else int(colors[item])
        fill = theme.color("slab")
        if color not in (SLAB, PLAIN):
            fill = share_color(slice_color(color, theme), theme)
        paint_share(painter, rect, int(answer.bytes_a[item]) / answer.most_bytes, fill, theme)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2" if text == MISSING else "text1"))
        inset = theme.px(_INSET)
        painter.drawText(rect.adjusted(inset, 0, -inset, 0), int(RIGHT), text)
