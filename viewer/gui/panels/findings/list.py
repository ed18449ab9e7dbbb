"""List widget of the findings: its rows, how they are painted, its mouse and its keys.

Findings come by rank, then the other checks, collapsed to two lines. A row is as tall as its
wrapped texts; its info mark has its rule. The bar of the gain is as wide as the row. The severity
is a shape: a filled triangle, a filled diamond or an empty circle.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from viewer.analysis.findings.finding import (
    Finding,
    PanelRef,
    Severity,
    checks_text,
    share_text,
)
from viewer.analysis.findings.findings import Findings
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import paint_bar
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.tables import Index
from viewer.model.text import visible_controls
from viewer.model.times import counted

NONE_FOUND = "No findings: every check passed or does not apply."


class RowKind(Enum):
    """The kind of a row."""

    FINDING = "a finding"
    NOTE = "a remark"
    GROUP = "the number of checks that passed, or that do not apply"
    CHECK = "one of these checks"


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One row.

    title, detail: its texts. number: the rank of a finding, from 1; 0 for other rows. rule: what
    its info mark shows, "" without a mark. is_passed, is_open: of a group.
    """

    kind: RowKind
    title: str
    detail: str = ""
    number: int = 0
    rule: str = ""
    finding: Finding | None = None
    is_passed: bool = False
    is_open: bool = False

    @property
    def plain(self) -> str:
        """The row as text without its rule, for copies and screen readers."""
        finding = self.finding
        if finding is None:
            return self.title
        severity = f"{finding.severity.title} severity"
        return f"{self.number}. {severity}: {finding.title}. {_detail(finding)}"

    @property
    def accessible(self) -> str:
        """The text for screen readers: `plain`, and whether a group is open."""
        if self.kind is RowKind.GROUP:
            return f"{self.title}, {'expanded' if self.is_open else 'collapsed'}"
        return self.plain

    @property
    def figure(self) -> str:
        """The gain of a finding as a figure: "up to 19.232 µs"; "" if there is none."""
        time = "" if self.finding is None else self.finding.gain.time
        return f"up to {time}" if time else ""

    @property
    def base(self) -> str:
        """What that is a share of: "29.6 % of 64.973 µs per inference"; "" if there is no gain."""
        gain = None if self.finding is None else self.finding.gain
        if gain is None or not gain.whole:
            return ""
        base = f"of {gain.base} {gain.of}" if gain.is_per_inference else gain.of
        return f"{share_text(gain.ticks, gain.whole)} {base}"


def _detail(finding: Finding) -> str:
    return f"{finding.detail} {finding.advice}".rstrip()


def rows_of(findings: Findings, opened: Collection[bool] = ()) -> tuple[FindingRow, ...]:
    """Return the rows: findings by rank, then the checks without one.

    opened: which groups of checks are expanded: True for those that passed, False for those that do
    not apply.
    """
    rows = [
        FindingRow(RowKind.FINDING, finding.action, _detail(finding), number, finding.rule, finding)
        for number, finding in enumerate(findings.found, 1)
    ]
    if not rows:
        rows.append(FindingRow(RowKind.NOTE, NONE_FOUND))
    if findings.left_out:
        more = f"{counted(findings.left_out, 'more finding')} with a smaller gain"
        rows.append(FindingRow(RowKind.NOTE, more))
    for is_passed in (True, False):
        if checks := checks_of(findings, is_passed):
            is_open = is_passed in opened
            title = checks_text(len(checks), is_passed)
            rows.append(FindingRow(RowKind.GROUP, title, is_passed=is_passed, is_open=is_open))
            rows += checks if is_open else ()
    return tuple(rows)


def checks_of(findings: Findings, is_passed: bool) -> tuple[FindingRow, ...]:
    """Return the rows of the checks that passed, or of those that do not apply."""
    return tuple(
        FindingRow(RowKind.CHECK, f"{check.title}: {check.why}", rule=check.rule)
        for check in findings.not_reported
        if check.applicable is is_passed
    )


_EDGE, _ICON, _GAP, _MARK = 12, 10, 8, 14  # px at a scale of 1
_SIDE = 150  # the column of gains; at most this part of the row:
_SIDE_PART = 0.34
_AIR, _LINE, _BAR = 8, 2, 3
_LEAST = 80
_WRAP = int(Qt.TextFlag.TextWordWrap)
_RIGHT = _WRAP | int(Qt.AlignmentFlag.AlignRight)
_COLORS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "text3"}
# Names from profiles have no spaces. If one is too wide, its lines break after these characters.
_BREAKS = re.compile(r"(?<=[_:./])(?=\w)")
_HERE = "\u200b"  # a line may break here


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a row are, in the coordinates of the viewport.

    bar: only of a finding; icon: only of a finding or a group; mark: only of a row with a rule;
    empty otherwise.
    """

    icon: QRect
    title: QRect
    detail: QRect
    figure: QRect
    base: QRect
    bar: QRect
    mark: QRect
    height: int


class FindingDelegate(QStyledItemDelegate):
    """Paints the rows; `opacity` of the view fades them."""

    def __init__(self, view: QAbstractItemView, theme: Theme) -> None:
        super().__init__(view)
        self._view, self._theme = view, theme
        self.opacity = 1.0

    def places(self, row: FindingRow, rect: QRect) -> Places:
        """Return where the parts of a row are; only the width and the top left of `rect` count."""
        px = self._theme.px
        nothing = QRect()
        air = px(_AIR) if row.kind is RowKind.FINDING else px(_AIR) // 2
        top, left, right = rect.top() + air, rect.left() + px(_EDGE), rect.right() - px(_EDGE)
        line = QFontMetrics(self._theme.font("cell")).height()
        mark = icon = figure = base = bar = nothing
        if row.rule:
            mark = QRect(right - px(_MARK), top + (line - px(_MARK)) // 2, px(_MARK), px(_MARK))
            right = mark.left() - px(_GAP)
        if row.kind in (RowKind.FINDING, RowKind.GROUP):
            icon = QRect(left, top + (line - px(_ICON)) // 2, px(_ICON), px(_ICON))
        left += px(_ICON + _GAP)
        bottom = top
        end = right
        if row.figure:
            side = min(px(_SIDE), round(rect.width() * _SIDE_PART))
            end = right - side - px(_GAP)
            figure = self._text(row.figure, "cell", right - side, top, side)
            base = self._text(row.base, "caption", right - side, figure.bottom() + px(_LINE), side)
            bottom = base.bottom()
        width = max(end - left, px(_LEAST))
        title = self._text(row.title, self._role(row), left, top, width)
        detail = nothing
        bottom = max(bottom, title.bottom())
        if row.detail:
            detail = self._text(row.detail, "caption", left, title.bottom() + px(_LINE), width)
            bottom = max(bottom, detail.bottom())
        if row.finding is not None and row.finding.share is not None:
            bar = QRect(left, bottom + px(_LINE) * 2, right - left, px(_BAR))
            bottom = bar.bottom()
        return Places(icon, title, detail, figure, base, bar, mark, bottom + air - rect.top())

    def _role(self, row: FindingRow) -> str:
        return "cell" if row.kind is not RowKind.CHECK else "caption"

    def _text(self, text: str, role: str, left: int, top: int, width: int) -> QRect:
        """Return the place of a wrapped text, `width` wide and as tall as it needs."""
        metrics = QFontMetrics(self._font(role))
        wrapped = breakable(text, metrics, width)
        height = metrics.boundingRect(QRect(0, 0, width, 0), _WRAP, wrapped).height()
        return QRect(left, top, width, height)

    def _font(self, role: str) -> QFont:
        return self._theme.font(role)  # type: ignore[arg-type]

    @guard(QSize())
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        row: FindingRow = index.data(Qt.ItemDataRole.UserRole)
        width = self._view.viewport().width()
        return QSize(self._theme.px(200), self.places(row, QRect(0, 0, width, 0)).height)

    @guard
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row: FindingRow = index.data(Qt.ItemDataRole.UserRole)
        theme, rect, state = self._theme, option.rect, option.state
        painter.save()
        painter.setOpacity(self.opacity)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("selection"))
        elif state & QStyle.StateFlag.State_MouseOver and row.kind is not RowKind.NOTE:
            painter.fillRect(rect, theme.color("hover"))
        places = self.places(row, rect)
        first = "text1" if row.kind is RowKind.FINDING else "text2"
        self._write(painter, places.title, row.title, self._role(row), first)
        self._write(painter, places.detail, row.detail, "caption", "text2")
        self._write(painter, places.figure, row.figure, "cell", "text1", _RIGHT)
        self._write(painter, places.base, row.base, "caption", "text2", _RIGHT)
        self._paint_icon(painter, QRectF(places.icon), row)
        if not places.mark.isEmpty():
            self._icon(painter, places.mark, "info", "text2")
        if row.finding is not None:
            if row.finding.share is not None:
                self._paint_share(painter, QRectF(places.bar), row.finding.share)
            line = QRectF(rect.left(), rect.bottom(), rect.width(), 1)
            painter.fillRect(line, theme.color("hairline"))
        if state & QStyle.StateFlag.State_HasFocus and self._view.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))
        painter.restore()

    def _write(
        self, painter: QPainter, place: QRect, text: str, role: str, tone: str, flags: int = _WRAP
    ) -> None:
        if text:
            font = self._font(role)
            painter.setFont(font)
            painter.setPen(self._theme.color(tone))
            painter.drawText(place, flags, breakable(text, QFontMetrics(font), place.width()))

    def _icon(self, painter: QPainter, place: QRect, name: str, tone: str) -> None:
        ratio = self._view.devicePixelRatioF()
        painter.drawPixmap(place, self._theme.pixmap(name, tone, place.width(), ratio))

    def _paint_icon(self, painter: QPainter, place: QRectF, row: FindingRow) -> None:
        """Paint the severity of a finding, or the arrow of a group."""
        if row.kind is RowKind.GROUP:
            name = "chevron-down" if row.is_open else "chevron-right"
            grown = place.toRect().adjusted(-2, -2, 2, 2)
            self._icon(painter, grown, name, "text2")
        elif row.finding is not None:
            paint_severity(painter, place, row.finding.severity, self._theme)

    def _paint_share(self, painter: QPainter, place: QRectF, share: float) -> None:
        theme = self._theme
        painter.fillRect(place, theme.color("hairline"))
        bar = QRectF(place.left(), place.top(), place.width() * share, place.height())
        paint_bar(painter, bar, theme.color("accent"), theme)


def paint_severity(painter: QPainter, place: QRectF, severity: Severity, theme: Theme) -> None:
    """Paint the shape of a severity: filled triangle, filled diamond, empty circle."""
    color = theme.color(_COLORS[severity])
    middle = place.center()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 1.5))
    if severity is Severity.LOW:
        painter.drawEllipse(place.adjusted(1.5, 1.5, -1.5, -1.5))
    else:
        top, bottom = QPointF(middle.x(), place.top()), QPointF(middle.x(), place.bottom())
        corners = [top, place.bottomRight(), place.bottomLeft()]
        if severity is Severity.MEDIUM:
            left, right = QPointF(place.left(), middle.y()), QPointF(place.right(), middle.y())
            corners = [top, right, bottom, left]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(QPolygonF(corners))
    painter.restore()


def breakable(text: str, metrics: QFontMetrics, width: int) -> str:
    """Return a text with places to break the words that are wider than a column of `width` px.

    A part of such a word that is too wide as well may break anywhere.
    """

    def fitting(part: str) -> str:
        return part if metrics.horizontalAdvance(part) <= width else _HERE.join(part)

    return " ".join(
        word
        if metrics.horizontalAdvance(word) <= width
        else _HERE.join(fitting(part) for part in _BREAKS.split(word))
        for word in visible_controls(text).split(" ")
    )


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
