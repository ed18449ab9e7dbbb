"""A row below a table of groups with what the listed rows are in all, aligned with its columns."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QTableView, QWidget

from viewer.gui.panels.base.operator_tables.delegate import OperatorDelegate
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.tables.columns import ColumnKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import explain
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.model.times import counted


class TotalsRow(QWidget):
    """The totals of the rows that are listed, so of those that match a filter.

    texts: of the columns, "" where rows do not add up.
    """

    def __init__(self, table: QTableView, model: OperatorModel, theme: Theme) -> None:
        super().__init__()
        self._table, self._model, self._theme = table, model, theme
        self.texts: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        for signal in (model.modelReset, model.headerDataChanged):
            signal.connect(self._follow)
        for moved in (table.horizontalHeader().sectionResized, model.layoutChanged):
            moved.connect(self.update)
        self.hide()

    @Slot()
    def _follow(self) -> None:
        contents, rows = self._model.contents, self._model.rows
        count = sum(not row.indent for row in rows)
        self.setVisible(contents.total is not None and count > 0)
        if contents.total is None or not count:
            self.texts = ()
            return
        self.texts = (f"Total of {counted(count, 'row')}", *contents.total(rows)[1:])
        pairs = zip(contents.headings, self.texts, strict=True)
        lines = [f"{h.title}: {text}" for h, text in list(pairs)[1:] if text]
        text = "\n".join([self.texts[0], *lines])
        self.setAccessibleName(text.replace("\n", ", "))
        explain(self, text)
        self.update()

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(300), self._theme.px(ROW_HEIGHT))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, header = self._theme, self._table.horizontalHeader()
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, theme.color("hairline"))
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2"))
        for i, text in enumerate(self.texts):
            if i >= header.count() or header.isSectionHidden(i):
                continue
            room = QRect(header.sectionViewportPosition(i), 0, header.sectionSize(i), self.height())
            kind = self._model.columns[i].kind
            if i == 0:
                inside = room.adjusted(theme.px(OperatorDelegate.BARE_NAME_LEFT), 0, 0, 0)
                painter.drawText(inside, int(LEFT), text)
                painter.setPen(theme.color("text1"))
                continue
            if kind is ColumnKind.BAR:
                room.setWidth(theme.px(OperatorDelegate.NUMBER_WIDTH))
            else:
                room.adjust(theme.px(6), 0, -theme.px(6), 0)
            if kind.is_time:
                paint_time(painter, room, text, fractions=self._model.has_fractions(i))
            else:
                painter.drawText(room, int(RIGHT if kind.is_right else LEFT), text)
        painter.end()
