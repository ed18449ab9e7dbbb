"""The list of a trace's inferences: number, bar, time, and whether it warms up.

The picker of the toolbar and the Summary panel show the same list. Rows are painted from a model,
so thousands of inferences need no widget each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from PySide6.QtCore import (
    QAbstractListModel,
    QElapsedTimer,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.codecs.json_values import whole_number
from viewer.gui.panels.base.swatches import paint_bar, paint_hatch
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.text import visible_controls
from viewer.model.times import format_time, tick_to_ns
from viewer.model.trace import RunKind, Trace
from viewer.model.work_unit import INFERENCE, WorkUnit

WARM_UP = "warm-up"
NUMBERING = (
    "Inferences are counted from 1; the Inspector counts event_blocks and their raw values from 0."
)
ROW_HEIGHT = 22
_EDGE, _GAP, _BAR = 8, 8, 8
_LEAST_BAR, _MOST_NAME = 40, 120
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True, slots=True)
class InferenceRow:
    """One inference.

    run: its position in `Trace.runs`. method: "" if all inferences of the trace run one method.
    count: how many inferences it is the mean of.
    """

    run: int
    number: int
    total: int
    method: str
    ns: int
    warms_up: bool
    finished: bool
    count: int = 1
    unit: WorkUnit = INFERENCE

    @property
    def name(self) -> str:
        """Its number, after the method if there are several: "2", "forward 2"."""
        return f"{self.method} {self.number}".strip()

    @property
    def remark(self) -> str:
        """What is special about it: "warm-up", "did not finish", "mean of 10"; or ""."""
        if not self.finished:
            return "did not finish"
        if self.count > 1:
            return f"mean of {self.count}"
        return WARM_UP if self.warms_up else ""

    @property
    def text(self) -> str:
        """The row as text: "1 of 5 · 115.072 µs · warm-up"."""
        place = f"{self.name} of {self.total}" if self.total > 1 else self.name
        return " · ".join(filter(None, (place, format_time(self.ns), self.remark)))


def inference_rows(file: Trace, table: LinkTable, rate: Fraction) -> tuple[InferenceRow, ...]:
    """Return the inferences of a trace in the order of the file.

    file, table: the trace as it was read, and its links. rate: ns per tick.
    """
    runs = [(i, run) for i, run in enumerate(file.runs) if run.kind is RunKind.INFERENCE]
    tracks = {run.track for _, run in runs}
    names = {track: track_name(table, track) for track in tracks if len(tracks) > 1}
    return tuple(
        InferenceRow(
            i,
            run.number,
            run.total,
            names.get(run.track, ""),
            tick_to_ns(run.end - run.start, rate),
            run.warms_up,
            run.finished,
            run.count,
            run.unit,
        )
        for i, run in runs
    )


class InferenceModel(QAbstractListModel):
    """The inferences as rows; `current` is the `run` of the one that is picked, -1 for none."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[InferenceRow, ...] = ()
        self.longest = 0
        self.current = -1

    def show(self, rows: Sequence[InferenceRow]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.rows = tuple(rows)
        self.longest = max((row.ns for row in rows), default=0)
        self.endResetModel()

    def make_current(self, run: int) -> None:
        """Mark the inference at a position in `Trace.runs`; -1 for none."""
        if run == self.current:
            return
        changed, self.current = {self.current, run}, run
        for index, row in enumerate(self.rows):
            if row.run in changed:
                self.dataChanged.emit(self.index(index), self.index(index))

    def row_of(self, run: int) -> int:
        """Return the row of an inference, -1 if it is not listed."""
        return next((index for index, row in enumerate(self.rows) if row.run == run), -1)

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(row.text)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            current = ", current" if row.run == self.current else ""
            return f"{row.unit.title} {row.text.replace(' · ', ', ')}{current}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return NUMBERING if row.unit == INFERENCE else None
        return row if role == Qt.ItemDataRole.UserRole else None


class InferenceList(QListView):
    """The list widget. `picked(run)`: a click or Enter on an inference, by its position in `runs`.

    `compare_requested(run)`: a click with Ctrl. Digits jump to the inference with that number.
    """

    picked = Signal(int)
    compare_requested = Signal(int)

    def __init__(self, model: InferenceModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model, self._theme = model, theme
        self._typed, self._since = "", QElapsedTimer()
        self.setModel(model)
        self.setAccessibleName("Inferences")
        self.setItemDelegate(_InferenceDelegate(self, model, theme))
        self.setUniformItemSizes(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._click)

    def _click(self, index: QModelIndex) -> None:
        run = self._model.rows[index.row()].run
        with_ctrl = QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier
        (self.compare_requested if with_ctrl else self.picked).emit(run)

    def height_of(self, rows: int) -> int:
        """Return the height in px that shows some rows without a scroll bar."""
        return rows * self._theme.px(ROW_HEIGHT) + 2 * self.frameWidth()

    def go_to(self, run: int) -> None:
        """Make the row of an inference current and scroll to it."""
        row = max(self._model.row_of(run), 0)
        self.setCurrentIndex(self._model.index(row))
        self.scrollTo(self._model.index(row), QAbstractItemView.ScrollHint.PositionAtCenter)

    def jump(self, digits: str) -> None:
        """Go to the inference whose number was typed, digit by digit."""
        late = self._since.isValid() and self._since.hasExpired(
            QGuiApplication.styleHints().keyboardInputInterval() * 2
        )
        self._typed = digits if late else self._typed + digits
        self._since.start()
        wanted = whole_number(self._typed)
        inference_row = next((row for row in self._model.rows if row.number == wanted), None)
        if inference_row is not None:
            self.go_to(inference_row.run)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        text, index = event.text(), self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if index.isValid():
                self.picked.emit(self._model.rows[index.row()].run)
        elif text.isascii() and text.isdigit():
            self.jump(text)
        elif text.strip() and text.strip().isprintable():
            event.ignore()  # letters are shortcuts of the window
        else:
            super().keyPressEvent(event)


class _InferenceDelegate(QStyledItemDelegate):
    """Paints number, bar, time and remark; a bar of an inference that warms up is striped."""

    def __init__(self, view: QListView, model: InferenceModel, theme: Theme) -> None:
        super().__init__(view)
        self._view, self._model, self._theme = view, model, theme
        self._widths = (0.0, 0.0, 0.0)
        model.modelReset.connect(self._measure)

    def _measure(self) -> None:
        """Measure the columns: names and remarks differ little, so the longest text decides."""
        metrics = QFontMetricsF(self._theme.font("cell"))
        rows = self._model.rows
        texts = (
            max((row.name for row in rows), key=len, default=""),
            max((format_time(row.ns) for row in rows), key=len, default=""),
        )
        name, time = (metrics.horizontalAdvance(text) for text in texts)
        caption = QFontMetricsF(self._theme.font("caption"))
        remark = max((caption.horizontalAdvance(x) for x in {r.remark for r in rows}), default=0)
        self._widths = min(name, self._theme.px(_MOST_NAME)), time + 2, remark

    @guard(QSize())
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        name, time, remark = self._widths
        px = self._theme.px
        width = name + time + remark + px(2 * _EDGE + 3 * _GAP + _LEAST_BAR)
        return QSize(int(width), px(ROW_HEIGHT))

    @guard
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row: InferenceRow = index.data(Qt.ItemDataRole.UserRole)
        theme, rect, state = self._theme, QRectF(option.rect), option.state
        is_current = row.run == self._model.current
        painter.save()
        if is_current:
            painter.fillRect(rect, theme.color("selection"))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("hover"))
        edge, gap = theme.px(_EDGE), theme.px(_GAP)
        name, time, remark = self._widths
        rect.adjust(edge, 0, -edge, 0)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text1"))
        metrics = QFontMetricsF(painter.font())
        elided = elided_text(metrics, row.name, Qt.TextElideMode.ElideMiddle, name + 1)
        painter.drawText(QRectF(rect.left(), rect.top(), name + 1, rect.height()), _LEFT, elided)
        end = rect.right() - (remark + gap if remark else 0)
        place = QRectF(end - time, rect.top(), time, rect.height())
        painter.drawText(place, _RIGHT, format_time(row.ns))
        if row.remark:
            painter.setFont(theme.font("caption"))
            painter.setPen(theme.color("warning" if not row.finished else "text2"))
            remark_rect = QRectF(end + gap, rect.top(), remark, rect.height())
            painter.drawText(remark_rect, _RIGHT, row.remark)
        self._bar(painter, rect.left() + name + gap, end - time - gap, rect, row, is_current)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(theme.color("accent"))
            painter.drawRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.restore()

    def _bar(
        self,
        painter: QPainter,
        left: float,
        right: float,
        rect: QRectF,
        row: InferenceRow,
        is_current: bool,
    ) -> None:
        if right <= left or not self._model.longest:
            return
        theme, height = self._theme, self._theme.px(_BAR)
        width = (right - left) * row.ns / self._model.longest
        bar = QRectF(left, rect.center().y() - height / 2, width, height)
        if row.warms_up:
            paint_hatch(painter, bar, theme.color("accent" if is_current else "text3"))
        else:
            paint_bar(painter, bar, theme.color("accent" if is_current else "slab"), theme)
