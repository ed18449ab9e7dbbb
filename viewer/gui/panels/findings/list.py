"""List widget of the findings: its model, its mouse and its keys.

A click or Enter on a finding chooses it; on a group of checks, it expands or collapses the group. A
click on a row's info mark, or Space, shows the row's rule; so does the mouse over the mark.
"""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QToolTip

from viewer.analysis.findings.finding import PanelRef
from viewer.analysis.findings.findings import Findings
from viewer.gui.panels.findings.painting import FindingDelegate, Places
from viewer.gui.panels.findings.rows import FindingRow, RowKind, checks_of, rows_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.text import visible_controls

_SHOWN_MS = 60_000  # a rule that was requested stays until the next key, click or move


class FindingsModel(QAbstractListModel):
    """The rows of the list, and which groups of checks are expanded."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[FindingRow, ...] = ()
        self._findings: Findings | None = None
        self._opened: set[bool] = set()

    def show(self, findings: Findings | None) -> None:
        """Replace all rows; groups that were expanded stay so. None: no rows."""
        self.beginResetModel()
        self._findings = findings
        self.rows = () if findings is None else rows_of(findings, self._opened)
        self.endResetModel()

    def toggle(self, row: int) -> None:
        """Expand or collapse the group of checks in a row."""
        group = self.rows[row]
        if self._findings is None or group.kind is not RowKind.GROUP:
            return
        last = row + len(checks_of(self._findings, group.is_passed))
        if group.is_open:
            self.beginRemoveRows(QModelIndex(), row + 1, last)
            self._opened.discard(group.is_passed)
        else:
            self.beginInsertRows(QModelIndex(), row + 1, last)
            self._opened.add(group.is_passed)
        self.rows = rows_of(self._findings, self._opened)
        if group.is_open:
            self.endRemoveRows()
        else:
            self.endInsertRows()
        self.dataChanged.emit(self.index(row), self.index(row))

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        is_note = index.isValid() and self.rows[index.row()].kind is RowKind.NOTE
        enabled = Qt.ItemFlag.ItemIsEnabled
        return enabled if is_note else enabled | Qt.ItemFlag.ItemIsSelectable

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible_controls(row.plain)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return row.accessible
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return row.rule or None
        return row if role == Qt.ItemDataRole.UserRole else None


class FindingsList(QListView):
    """The list widget.

    `chosen(row)`: a click or Enter on a finding. `menu_offered(QMenu)`: the context menu is about
    to open, as in tables. The context menu of a finding that another panel details does not open
    that panel.
    """

    chosen = Signal(int)
    menu_offered = Signal(QMenu)

    def __init__(self, model: FindingsModel, theme: Theme) -> None:
        super().__init__()
        self._model = model
        self._painted = FindingDelegate(self, theme)
        self._is_on_mark = False  # since the mouse was pressed
        self.setModel(model)
        self.setAccessibleName("Findings")
        self.setItemDelegate(self._painted)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._click)

    @property
    def opacity(self) -> float:
        """The opacity of the rows: below 1 while newer findings are computed."""
        return self._painted.opacity

    @opacity.setter
    def opacity(self, value: float) -> None:
        self._painted.opacity = value

    def places(self, row: int) -> Places:
        """Return where the parts of a row are in the viewport."""
        return self._painted.places(self._model.rows[row], self.visualRect(self._model.index(row)))

    def tip_at(self, point: QPoint) -> str:
        """Return the tooltip at a point of the viewport: a rule, or what a severity means."""
        index = self.indexAt(point)
        if not index.isValid():
            return ""
        row, places = self._model.rows[index.row()], self.places(index.row())
        if _near(places.mark).contains(point):
            return row.rule
        if row.finding is not None and _near(places.icon).contains(point):
            severity = row.finding.severity
            return f"{severity.title} severity: {severity.rule}"
        return ""

    def show_rule(self, row: int) -> None:
        """Show the rule of a row at its info mark, if it has one."""
        text, mark = self._model.rows[row].rule, self.places(row).mark
        if text:
            point = self.viewport().mapToGlobal(mark.bottomLeft())
            QToolTip.showText(point, tip(text), self.viewport(), _near(mark), _SHOWN_MS)

    def _click(self, index: QModelIndex) -> None:
        row = self._model.rows[index.row()]
        if len(self.selectedIndexes()) > 1:
            return
        if row.kind is RowKind.GROUP:
            self._model.toggle(index.row())
        elif row.finding is not None:
            self.chosen.emit(index.row())

    def choose(self, index: QModelIndex) -> None:
        """Choose a finding for its context menu, unless its place is another panel."""
        finding = self._model.rows[index.row()].finding
        if finding is not None and not isinstance(finding.place, PanelRef):
            self._click(index)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Show the rule if the mark is pressed; else select, as any list."""
        point = event.position().toPoint()
        index = self.indexAt(point)
        self._is_on_mark = index.isValid() and _near(self.places(index.row()).mark).contains(point)
        if not self._is_on_mark or event.button() is not Qt.MouseButton.LeftButton:
            self._is_on_mark = False
            super().mousePressEvent(event)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._is_on_mark:
            super().mouseReleaseEvent(event)
            return
        self._is_on_mark = False
        index = self.indexAt(event.position().toPoint())
        if index.isValid():
            self.show_rule(index.row())

    @guard(False)
    def viewportEvent(self, event: QEvent) -> bool:
        """Show tooltips on the marks only."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.tip_at(event.pos())), self.viewport())
            return True
        return bool(super().viewportEvent(event))

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out again: row heights depend on the width, which a scroll bar reduces."""
        super().resizeEvent(event)
        self.scheduleDelayedItemsLayout()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        row = self._model.rows[index.row()] if index.isValid() else None
        if row is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._click(index)
        elif row is not None and event.key() == Qt.Key.Key_Space:
            self.show_rule(index.row())
        elif row is not None and event.key() == _arrow_of(row):
            self._model.toggle(index.row())
        elif event.text().strip() and event.text().strip().isprintable():
            event.ignore()  # letters are shortcuts of the window
        else:
            super().keyPressEvent(event)


def _arrow_of(row: FindingRow) -> Qt.Key | None:
    """Return the key that expands or collapses a group of checks, as in a tree."""
    if row.kind is not RowKind.GROUP:
        return None
    return Qt.Key.Key_Left if row.is_open else Qt.Key.Key_Right


def _near(place: QRect) -> QRect:
    """Enlarge a place a little, because marks are small; an empty one stays empty."""
    return place if place.isEmpty() else place.adjusted(-5, -5, 5, 5)
