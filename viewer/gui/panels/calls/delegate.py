"""Cell painting of the Calls table: swatch and name, times in front of their shares, counts."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import (
    SWATCH,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.panels.calls.change_texts import ChangeTexts
from viewer.gui.panels.calls.columns import CallColumn
from viewer.gui.panels.calls.texts import CallTexts
from viewer.gui.panels.calls.tree_model import CallModel
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.gui.qt.widgets.time_cells import paint_time

_OF_CHANGES = (CallColumn.CHANGE, CallColumn.RATIO)


class CallDelegate(QStyledItemDelegate):
    """Paints the cells; `fractions` has the columns with fractions of a ns."""

    def __init__(self, model: CallModel, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.fractions: frozenset[CallColumn] = frozenset()

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(ROW_HEIGHT))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect = self._theme, option.rect
        texts, node = self._model.texts, self._model.node(index)
        if texts is None:
            return
        column, text = self._model.columns[index.column()], str(index.data())
        painter.save()
        painter.setClipRect(rect)
        selected = option.state & QStyle.StateFlag.State_Selected
        if option.state & QStyle.StateFlag.State_MouseOver and not selected:
            painter.fillRect(rect, theme.color("hover"))
        painter.setFont(theme.font("cell"))
        if node >= 0 and column in (CallColumn.TOTAL, CallColumn.SELF):
            self._share(painter, rect, node, column)
        quiet = node < 0 or text == MISSING or self._model.is_around(node)
        painter.setPen(theme.color("text2" if quiet else "text1"))
        if column is CallColumn.CALL:
            self._name(painter, rect, node, text)
        elif node >= 0 and isinstance(texts, ChangeTexts) and column in _OF_CHANGES:
            self._change(painter, rect, texts, node, column)
        else:
            inside = rect.adjusted(theme.px(6), 0, -theme.px(6), 0)
            if column.is_time:
                paint_time(painter, inside, text, fractions=column in self.fractions)
            else:
                painter.drawText(inside, int(RIGHT), text)
        painter.restore()

    def _change(
        self, painter: QPainter, rect: QRect, texts: ChangeTexts, node: int, column: CallColumn
    ) -> None:
        text, verdict = texts.cell(node, column), texts.verdict(node)
        if column is CallColumn.RATIO:
            paint_ratio(painter, rect, text, verdict, self._theme)
            return
        share = None if text == MISSING else texts.bar(node)
        paint_difference(painter, rect, text, share, verdict, self._theme)

    def _share(self, painter: QPainter, rect: QRect, node: int, column: CallColumn) -> None:
        """Paint a share as a bar: of the total in gray, of self time in the color of the node."""
        theme, texts = self._theme, self._model.texts
        assert isinstance(texts, CallTexts)
        answer = texts.answer
        if column is CallColumn.TOTAL:
            share = texts.share(int(answer.table.total[node]))
            paint_share(painter, rect, share, theme.color("slab"), theme)
            return
        own = share_color(slice_color(int(answer.color[node]), theme), theme)
        paint_share(painter, rect, texts.share(int(answer.table.self_ticks[node])), own, theme)

    def _name(self, painter: QPainter, rect: QRect, node: int, text: str) -> None:
        theme, texts = self._theme, self._model.texts
        assert texts is not None
        left, side = rect.left() + theme.px(2), theme.px(SWATCH)
        if node >= 0:
            top = rect.center().y() - side / 2 + 1
            paint_swatch(painter, left, top, (int(texts.answer.color[node]),), theme)
        left += side + theme.px(8)
        room = QRect(left, rect.top(), max(rect.right() - theme.px(8) - left, 0), rect.height())
        shown = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, int(LEFT), shown)
