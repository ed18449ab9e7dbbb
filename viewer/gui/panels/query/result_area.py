"""What a query answers: a chart above its rows, or a sentence in their place."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import plain_column
from viewer.gui.panels.query.chart import ResultChart
from viewer.gui.panels.query.rows import RowsView
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import label
from viewer.query.engine import Result
from viewer.query.result_values import plotted
from viewer.view.derived_tracks import ChartKind

HINT = (
    "Run, or Ctrl+Enter, lists the rows of the query here. A double click on a table or column "
    "inserts its name. A row with an id selects its slice."
)


class ResultArea(QWidget):
    """The rows and the chart of a result; `chosen(row)`, `opened(index)`: a row was, in any way.

    note: why there is no chart, or a hint. caption: what a chart shows. message: why there are no
    rows.
    """

    chosen = Signal(int)
    opened = Signal(QModelIndex)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.rows: RowsView | None = None
        self.chart: ResultChart | None = None
        self.note = label(HINT, theme, "caption", "text2", wrap=True)
        self.caption = label("", theme, "caption", "text2")
        self.message = label("", theme, "code", "error", wrap=True)
        self._column = plain_column(self)
        for text in (self.note, self.message, self.caption):
            text.setContentsMargins(*(4 * [theme.px(8)]))
            self._column.addWidget(text)
        self.caption.hide()
        self.message.hide()
        self._column.addStretch()

    def show_message(self, text: str) -> None:
        """Say why there are no rows; "" for none."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def show_note(self, text: str) -> None:
        """Say something about the rows."""
        self.note.setText(text)
        self.note.show()

    def show_result(self, result: Result | None, kind: ChartKind) -> None:
        """List the rows of a result, or none, and draw them."""
        self._drop(self.rows)
        self.rows = None
        if result is not None:
            self.rows = RowsView(result, self._theme)
            self.rows.chosen.connect(self.chosen)
            self.rows.doubleClicked.connect(self.opened)
            self._column.insertWidget(3, self.rows, 1)
        self.show_kind(kind)

    def show_kind(self, kind: ChartKind) -> None:
        """Draw the rows above their table, or say why they cannot be drawn."""
        self._drop(self.chart)
        self.chart = None
        self.note.hide()
        self.caption.hide()
        if self.rows is None or kind is ChartKind.TABLE:
            self.note.setText(HINT)
            self.note.setVisible(self.rows is None and not self.message.text())
            return
        contents = plotted(self.rows.result)
        if isinstance(contents, str):
            self.show_note(contents)
            return
        self.chart = ResultChart(self.rows.result, contents, kind, self._theme)
        self.chart.chosen.connect(self._choose_box)
        columns = self.rows.result.columns
        self.caption.setText(f"{columns[contents.measure]} by {columns[contents.dimension]}")
        self.caption.show()
        self._column.insertWidget(3, self.chart, 1)

    def _drop(self, widget: QWidget | None) -> None:
        if widget is not None:
            self._column.removeWidget(widget)
            widget.hide()
            widget.deleteLater()

    @Slot(int)
    def _choose_box(self, box: int) -> None:
        """Select the row that a bar or a point stands for."""
        if self.rows is None or self.chart is None:
            return
        row = self.rows.row_of_item(self.chart.row_of(box))
        self.rows.selectRow(row)
        self.rows.scrollTo(self.rows.arranged.index(row, 0))
        self.chosen.emit(row)
