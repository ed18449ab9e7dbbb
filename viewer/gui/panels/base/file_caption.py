"""The caption of a panel: what its figures are of, with menus of other files and inferences.

The picker of the toolbar and the Summary panel show the same list of inferences as the menu. Rows
are painted from a model, so thousands of inferences need no widget each.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from PySide6.QtCore import (
    QAbstractListModel,
    QElapsedTimer,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QAccessible,
    QActionGroup,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.codecs.json_values import whole_number
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import paint_bar, paint_hatch
from viewer.gui.panels.base.panel import PanelHost
from viewer.gui.qt.accessibility import claims_key, has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, elided_text, literal, tip
from viewer.gui.qt.widgets.tables import Index
from viewer.gui.session.navigation import pick_run, show_file
from viewer.model.text import display_name, distinct_names, visible_controls
from viewer.model.times import counted, format_time, tick_to_ns
from viewer.model.trace import RunKind, Trace
from viewer.model.trace_attributes import INFERENCE, WorkUnit

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
    """Return the inferences of a trace as it was read, in its order. rate: ns per tick."""
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


ALL_INFERENCES = "All inferences"
OTHERS = "Other profiles"
MOST_INFERENCES = 20
_CHEVRON, _CHEVRON_GAP = 12, 4
_OPENS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down)


@has_role(QAccessible.Role.ButtonMenu)
class FileCaption(ElidedLabel):
    """The text at the right of the line above a page; with something to choose, also a button.

    names_file: its text is the name of the current file, if several are open.
    """

    def __init__(self, host: PanelHost, *, names_file: bool = False) -> None:
        super().__init__("", host.theme, "caption", "text2")
        self._host, self._session = host, host.session
        self._theme, self._names_file = host.theme, names_file
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._session.workspace_changed.connect(self._offer)
        self._session.run_picked.connect(self._offer)
        self._offer()

    @property
    def has_choice(self) -> bool:
        """Whether there are several files, or several inferences of the current one."""
        number = self._session.current_trace
        if number is None:
            return False
        runs = self._session.traces[number].file.inferences()
        return len(self._session.traces) > 1 or sum(1 for _ in runs) > 1

    @Slot()
    def _offer(self) -> None:
        """Be a button while there is something to choose."""
        has_choice = self.has_choice
        traces, number = self._session.traces, self._session.current_trace
        if self._names_file:
            is_named = len(traces) > 1 and number is not None
            self.setText(display_name(traces[number or 0].file.path) if is_named else "")
            self.setVisible(is_named)
        room = self._theme.px(_CHEVRON + _CHEVRON_GAP) if has_choice else 0
        self.setContentsMargins(0, 0, room, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_choice else Qt.FocusPolicy.NoFocus)
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if has_choice else Qt.CursorShape.ArrowCursor
        )
        self.update()

    @property
    def texts(self) -> tuple[str, ...]:
        """Of several files, the name of the current one matters most where there is no room."""
        number, traces = self._session.current_trace, self._session.traces
        is_of_both = self._session.state.compared is not None  # the arms of a comparison
        if not self.text() or number is None or len(traces) < 2 or is_of_both:
            return super().texts
        return *super().texts, display_name(traces[number].file.path)

    def accessible_value(self) -> str:
        """What the figures are of."""
        return self.text()

    def menu(self) -> QMenu:
        """Return a menu of the open files, and of the inferences of the current one."""
        menu, session = QMenu(self), self._session
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        number = session.current_trace
        if number is None:
            return menu
        self._list_files(menu, number)
        self._list_inferences(menu, number)
        return menu

    def _list_files(self, menu: QMenu, number: int) -> None:
        from viewer.workspace.session_sets import session_sets, set_with

        traces = self._session.traces
        if len(traces) < 2:
            return
        group = QActionGroup(menu)
        names = distinct_names([open_trace.file.path for open_trace in traces])
        compared = self._session.state.compared
        arms = () if compared is None else (compared.a.paths, compared.b.paths)
        sets = session_sets(self._session.workspace, arms)
        rows = [(set_with(sets, open_trace.file), i) for i, open_trace in enumerate(traces)]
        # Sessions of one program stay together, below what they are.
        for sessions in dict.fromkeys(of_program for of_program, _ in rows):
            if sets:
                title = literal(OTHERS if sessions is None else sessions.text)
                menu.addAction(title).setEnabled(False)
            for place in (place for of_program, place in rows if of_program is sessions):
                action = menu.addAction(literal(names[place]))
                action.setCheckable(True)
                action.setChecked(place == number)
                action.setToolTip(tip(traces[place].file.path))
                action.triggered.connect(partial(self._show_file, place))
                group.addAction(action)
        menu.addSeparator()

    def _list_inferences(self, menu: QMenu, number: int) -> None:
        session = self._session
        open_trace = session.traces[number]
        table = session.workspace.links(open_trace.file)
        rows = inference_rows(open_trace.file, table, open_trace.axis.ns_per_tick)
        if len(rows) < 2:
            return
        picked = session.state.run
        run = picked[1] if picked is not None and picked[0] == number else -1
        group = QActionGroup(menu)
        for place, text in ((-1, ALL_INFERENCES), *((row.run, row.text) for row in rows)):
            if len(group.actions()) > MOST_INFERENCES:
                text = f"{counted(len(rows) - MOST_INFERENCES, 'more inference')}…"
                menu.addAction(text).triggered.connect(self._host.show_inferences)
                return
            action = menu.addAction(literal(text))
            action.setCheckable(True)
            action.setChecked(place == run)
            action.triggered.connect(partial(self._pick, (number, place)))
            group.addAction(action)

    def _show_file(self, number: int, checked: bool = False) -> None:
        show_file(self._session, number)

    def _pick(self, run: tuple[int, int], checked: bool = False) -> None:
        pick_run(self._session, None if run[1] < 0 else run)

    def open_menu(self) -> None:
        """Open the menu below the text."""
        menu = self.menu()
        if menu.isEmpty():
            menu.deleteLater()
            return
        corner = self.mapToGlobal(QPoint(self.width(), self.height()))
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))

    @guard(False)
    def event(self, event: QEvent) -> bool:
        return claims_key(event, self._opens) or bool(super().event(event))

    def _opens(self, event: QKeyEvent) -> bool:
        return self.has_choice and event.key() in _OPENS

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.has_choice and event.button() is Qt.MouseButton.LeftButton:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.open_menu()
        else:
            super().mousePressEvent(event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._opens(event):
            self.open_menu()
        else:
            super().keyPressEvent(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.contentsMargins().right():
            return
        painter, side = QPainter(self), self._theme.px(_CHEVRON)
        place = QRect(self.width() - side, (self.height() - side) // 2, side, side)
        self._theme.icon("chevron-down").paint(painter, place)
        if self.hasFocus():
            painter.setPen(self._theme.color("accent"))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
