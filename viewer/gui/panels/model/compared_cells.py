"""Paints the change of a row of the module tree: a bar, the difference, and the verdict mark."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QPainter

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.model.columns import ModelColumn
from viewer.gui.panels.model.compared_rows import ComparedRows
from viewer.gui.panels.model.row import ModelRow
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_change_bar
from viewer.gui.qt.widgets.table_model import RIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, change_color, paint_mark

_NUMBER, _MARK = 84, 22  # px


def paint_change_cell(
    painter: QPainter,
    rect: QRect,
    rows: ComparedRows,
    row: ModelRow,
    cell: ModelColumn,
    theme: Theme,
) -> None:
    """Paint the cell of a row in the column `CHANGE` or `RATIO`."""
    one, text, gap = rows.change(row), rows.text(row, cell), theme.px(6)
    verdict = "" if one is None else one.verdict.value
    is_proven = verdict in (SLOWER, FASTER)
    painter.setFont(theme.font("cell"))
    painter.setPen(change_color(verdict, theme) if is_proven else theme.color("text2"))
    if cell is ModelColumn.RATIO:
        mark = theme.px(_MARK)
        painter.drawText(rect.adjusted(gap, 0, -mark - gap, 0), int(RIGHT), text)
        if one is not None:
            center = QPointF(rect.right() - gap - mark / 2, rect.center().y() + 1)
            paint_mark(painter, center, verdict, theme)
        return
    width = theme.px(_NUMBER)
    number = QRect(rect.right() - width, rect.top(), width - gap, rect.height())
    paint_time(painter, number, text)
    if text != MISSING:
        room = QRectF(rect).adjusted(2, 0, -width - 2, 0)
        paint_change_bar(painter, room, rows.bar(row), verdict, theme)
