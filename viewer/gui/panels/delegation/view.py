"""The table widget of the delegation report, with sections and reasons across all columns."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.gui.panels.base.operator_tables.contents import TableRow
from viewer.gui.panels.base.operator_tables.delegate import OperatorDelegate
from viewer.gui.panels.base.operator_tables.model import ROW_ROLE
from viewer.gui.panels.base.operator_tables.view import OperatorView
from viewer.gui.panels.delegation.page import DelegationLine
from viewer.gui.panels.delegation.table import DelegationModel
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.model.text import visible_controls

_TEXT_LEFT = 30  # px; left margin of the lines below a reason
_DOT = 8
_LEFT, _GAP, _BELOW = 12, 8, 4  # px left of a section, above it, and below it
# Rows with a cell in each column.
_CELLS = (DelegationLine.INSTANCE, DelegationLine.NOT_DELEGATED, DelegationLine.CHANGE)
_TOP, _BOTTOM = 4, 8  # px above and below the lines of a reason


class DelegationView(OperatorView):
    """The table widget. Sections and reasons span all columns."""

    def __init__(self, model: DelegationModel, theme: Theme) -> None:
        super().__init__(model, theme, "Delegation")
        self._page_model = model
        self._painter = _Painter(model, theme, self)
        self._painter.swatch_room = True
        self._delegate = self._painter
        self.setItemDelegate(self._painter)
        model.modelReset.connect(self._lay_out)
        model.layoutChanged.connect(self._lay_out)

    @Slot()
    def _lay_out(self) -> None:
        """Span sections and reasons across all columns, as tall as their texts."""
        model, columns = self._page_model, self._page_model.columnCount()
        self.clearSpans()
        header = self.verticalHeader()
        for row in range(len(model.rows)):
            spans = model.entry(row).line not in _CELLS
            if spans and columns > 1:
                self.setSpan(row, 0, 1, columns)
            height = self._painter.height_of(row, self.viewport().width())
            if header.sectionSize(row) != height:
                header.resizeSection(row, height)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._lay_out()


class _Painter(OperatorDelegate):
    """Paints sections, reasons and "Show more" rows; other rows like its base class."""

    def __init__(self, model: DelegationModel, theme: Theme, view: DelegationView) -> None:
        super().__init__(model, theme, view)
        self._page_model = model

    def height_of(self, row: int, width: int) -> int:
        """Return the height of a row at a table width, in px."""
        theme, line = self._theme, self._page_model.entry(row).line
        if line not in (DelegationLine.SECTION, DelegationLine.REASON):
            return theme.px(ROW_HEIGHT)
        detail = self._page_model.rows[row].detail
        left = _TEXT_LEFT if line is DelegationLine.REASON else _LEFT
        text = self._wrapped(detail, width - theme.px(left + _LEFT))
        if line is DelegationLine.SECTION:
            return theme.px(ROW_HEIGHT + (_GAP if row else 0) + _BELOW) + (text if detail else 0)
        return theme.px(_TOP + 18 + _BOTTOM) + text

    def _wrapped(self, text: str, room: int) -> int:
        metrics = QFontMetrics(self._theme.font("cell"))
        return metrics.boundingRect(
            QRect(0, 0, max(room, 1), 0), int(Qt.TextFlag.TextWordWrap), text
        ).height()

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        item = self._page_model.entry(index.row())
        row: TableRow = index.data(ROW_ROLE)
        if item.line in _CELLS:
            super().paint(painter, option, index)
            return
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
        elif (
            option.state & QStyle.StateFlag.State_MouseOver
            and item.line is not DelegationLine.SECTION
        ):
            painter.fillRect(rect, self._theme.color("hover"))
        if item.line is DelegationLine.SECTION:
            self._section(painter, rect, row, index.row() == 0)
        elif item.line is DelegationLine.REASON:
            self._reason(painter, rect, row)
        else:
            painter.setFont(self._theme.font("cell"))
            painter.setPen(self._theme.color("accent"))
            left = self._theme.px(self.BARE_NAME_LEFT)
            painter.drawText(rect.adjusted(left, 0, 0, 0), int(LEFT), visible_controls(row.op))

    def _section(self, painter: QPainter, rect: QRect, row: TableRow, first: bool) -> None:
        theme = self._theme
        if not first:
            line = QRect(rect.left(), rect.top() + theme.px(3), rect.width(), 1)
            painter.fillRect(line, theme.color("hairline"))
        inset, top = theme.px(_LEFT), rect.top() + theme.px(0 if first else _GAP)
        inside = QRect(rect.left() + inset, top, rect.width() - 2 * inset, theme.px(ROW_HEIGHT))
        below = QRect(inside.left(), inside.bottom() + 1, inside.width(), rect.height())
        painter.setFont(theme.font("operator"))
        painter.setPen(theme.color("text1"))
        painter.drawText(inside, int(LEFT), visible_controls(row.op))
        inside.setLeft(
            inside.left() + painter.fontMetrics().horizontalAdvance(row.op) + theme.px(12)
        )
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        elided = elided_text(
            painter.fontMetrics(), row.hint, Qt.TextElideMode.ElideRight, inside.width()
        )
        painter.drawText(inside, int(LEFT), elided)
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), visible_controls(row.detail))

    def _reason(self, painter: QPainter, rect: QRect, row: TableRow) -> None:
        theme = self._theme
        line = QRect(rect.left(), rect.top() + theme.px(_TOP), rect.width(), theme.px(18))
        dot, left = theme.px(_DOT), rect.left() + theme.px(_TEXT_LEFT)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(row.tone))
        dot_rect = QRectF(rect.left() + theme.px(12), line.center().y() - dot / 2 + 1, dot, dot)
        painter.drawEllipse(dot_rect)
        painter.restore()
        painter.setFont(theme.font("cell"))
        metrics = painter.fontMetrics()
        painter.setPen(theme.color("text2"))
        amount = line.adjusted(0, 0, -theme.px(12), 0)
        painter.drawText(amount, int(RIGHT), row.texts[1])
        room = amount.right() - metrics.horizontalAdvance(row.texts[1]) - theme.px(12) - left
        title = elided_text(metrics, row.name, Qt.TextElideMode.ElideRight, room)
        painter.setPen(theme.color("text1"))
        painter.drawText(QRect(left, line.top(), room, line.height()), int(LEFT), title)
        below = QRect(left, line.bottom() + 1, rect.right() - left - theme.px(12), rect.height())
        painter.setPen(theme.color("text2"))
        painter.drawText(below, int(Qt.TextFlag.TextWordWrap), visible_controls(row.detail))
