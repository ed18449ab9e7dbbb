"""Paints the cells of operator tables: swatches, names, numbers and bars.

No cell needs a widget.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.operator_tables.contents import TableRow
from viewer.gui.panels.base.operator_tables.model import (
    RELATED_ROLE,
    ROW_ROLE,
    OperatorModel,
)
from viewer.gui.panels.base.slice_facts import MISSING
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
from viewer.gui.panels.base.tables.columns import ColumnKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_change_bar, paint_dots
from viewer.gui.qt.widgets.elided_text import elided_text, measurable
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.gui.qt.widgets.verdict_marks import FASTER, SLOWER, change_color, paint_mark
from viewer.model.text import name_text
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
