"""Paints the change of a call path: a bar, the difference, and the verdict mark."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QPainter

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.calls.change_texts import ChangeTexts
from viewer.gui.panels.calls.columns import CallColumn
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_change_bar
from viewer.gui.qt.widgets.table_model import RIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.gui.qt.widgets.verdict_marks import change_color, paint_mark

_NUMBER, _MARK = 84, 22  # px


def paint_change_cell(
    painter: QPainter,
    rect: QRect,
    texts: ChangeTexts,
    node: int,
    column: CallColumn,
    theme: Theme,
) -> None:
    """Paint the cell of a node in the column `CHANGE` or `RATIO`."""
    text, verdict, gap = texts.cell(node, column), texts.verdict(node), theme.px(6)
    is_strong = texts.is_strong(node)
    painter.setPen(change_color(verdict, theme) if is_strong else theme.color("text2"))
    if column is CallColumn.RATIO:
        mark = theme.px(_MARK)
        painter.drawText(rect.adjusted(gap, 0, -mark - gap, 0), int(RIGHT), text)
        if verdict:
            center = QPointF(rect.right() - gap - mark / 2, rect.center().y() + 1)
            paint_mark(painter, center, verdict, theme)
        return
    width = theme.px(_NUMBER)
    number = QRect(rect.right() - width, rect.top(), width - gap, rect.height())
    paint_time(painter, number, text)
    if text != MISSING:
        room = QRectF(rect).adjusted(2, 0, -width - 2, 0)
        paint_change_bar(painter, room, texts.bar(node), verdict, theme)
