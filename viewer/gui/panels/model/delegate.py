"""Cell painting of the module tree."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import (
    SWATCH,
    colors_of,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.panels.model.columns import ModelColumn
from viewer.gui.panels.model.compared_rows import ComparedRows
from viewer.gui.panels.model.row import ModelRow, RowKind
from viewer.gui.panels.model.tree_model import ROW_ROLE, ModuleModel
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.render.palette import Palette


class ModuleDelegate(QStyledItemDelegate):
    """Paints a cell on its row's background: swatch, name and hint, share with its bar, or text."""

    def __init__(self, model: ModuleModel, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.colors: Palette | None = None  # palette index per operator; None: its own

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(ROW_HEIGHT))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect = self._theme, option.rect
        row: ModelRow = index.data(ROW_ROLE)
        cell = self._model.cell(index.column())
        painter.save()
        painter.setClipRect(rect)
        selected = option.state & QStyle.StateFlag.State_Selected
        if option.state & QStyle.StateFlag.State_MouseOver and not selected:
            painter.fillRect(rect, theme.color("hover"))
        rows = self._model.rows
        if cell is ModelColumn.NAME:
            self._name(painter, rect, row)
        elif isinstance(rows, ComparedRows) and cell in (ModelColumn.CHANGE, ModelColumn.RATIO):
            self._change(painter, rect, rows, row, cell)
        else:
            text = str(index.data())
            if cell is ModelColumn.SHARE:
                self._bar(painter, rect, row)
            faint = text == MISSING or cell is ModelColumn.LINE
            painter.setFont(theme.font("code" if cell is ModelColumn.OUTPUT else "cell"))
            painter.setPen(theme.color("text2" if faint else "text1"))
            inside = rect.adjusted(theme.px(6), 0, -theme.px(6), 0)
            if cell.is_time:
                costed = self._model.rows.costed if self._model.rows is not None else None
                fractions = costed is not None and cell in costed.fractions
                paint_time(painter, inside, text, fractions=fractions)
                painter.restore()
                return
            shown = elided_text(
                painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, inside.width()
            )
            painter.drawText(inside, int(LEFT if cell is ModelColumn.OUTPUT else RIGHT), shown)
        painter.restore()

    def _change(
        self, painter: QPainter, rect: QRect, rows: ComparedRows, row: ModelRow, cell: ModelColumn
    ) -> None:
        one, text = rows.change(row), rows.text(row, cell)
        verdict = "" if one is None else one.verdict.value
        if cell is ModelColumn.RATIO:
            paint_ratio(painter, rect, text, verdict, self._theme)
            return
        share = None if text == MISSING else rows.bar(row)
        paint_difference(painter, rect, text, share, verdict, self._theme)

    def _bar(self, painter: QPainter, rect: QRect, row: ModelRow) -> None:
        theme, rows = self._theme, self._model.rows
        assert rows is not None
        color = theme.color("slab")
        if row.kind is RowKind.OPERATOR:
            own = slice_color(colors_of((row.number,), self.colors)[0], theme)
            color = share_color(own, theme)
        paint_share(painter, rect, rows.share(row) or 0.0, color, theme)

    def _name(self, painter: QPainter, rect: QRect, row: ModelRow) -> None:
        theme, rows = self._theme, self._model.rows
        assert rows is not None
        left, right = rect.left() + theme.px(2), rect.right() - theme.px(8)
        if row.kind in (RowKind.OPERATOR, RowKind.SET):
            side = theme.px(SWATCH)
            top = rect.center().y() - side / 2 + 1
            palette_indices = colors_of(rows.operators(row), self.colors)
            paint_swatch(painter, left, top, palette_indices, theme)
            left += side + theme.px(8)
        font = theme.font("cell")
        name, hint = rows.name(row), rows.hint(row)
        hint_font = theme.font("caption")
        hint_width = QFontMetrics(hint_font).horizontalAdvance(hint) if hint else 0
        room = max(right - left, 0)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        full = metrics.horizontalAdvance(name)
        # The name has priority; the hint gets the remaining width.
        shown = elided_text(metrics, name, Qt.TextElideMode.ElideRight, room)
        quiet = row.kind in (RowKind.SLICE, RowKind.REST)
        painter.setPen(theme.color("text2" if quiet else "text1"))
        at = QRect(left, rect.top(), room, rect.height())
        painter.drawText(at, int(LEFT), shown)
        at.setLeft(left + min(full, room) + theme.px(10))
        if hint and at.width() > min(hint_width, theme.px(30)):
            painter.setFont(hint_font)
            painter.setPen(theme.color("text2"))
            text = elided_text(painter.fontMetrics(), hint, Qt.TextElideMode.ElideRight, at.width())
            painter.drawText(at, int(LEFT), text)
