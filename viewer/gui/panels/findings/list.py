"""List widget of the findings: number, bold title, figures, rule, and the rules without findings.

A row is as tall as its wrapped texts. On its right it shows its kind and, if the finding has a
share, that share as a bar. Rules without findings follow below a heading, each with its reason and
without a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from viewer.analysis.findings.finding import Finding, NotReported, PanelRef
from viewer.analysis.findings.findings import Findings
from viewer.gui.panels.base.swatches import paint_bar
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.table_model import Index
from viewer.model.times import counted, format_share

NONE_FOUND = "Nothing to tell: no rule below was met."
NOT_MET = "Rules that were looked at and not met"
NOT_APPLICABLE = "Rules that cannot be asked here"
_INSET, _NUMBER, _SIDE, _AIR, _LINE = 12, 26, 128, 8, 3  # px at a scale of 1
_BAR = 6
_WRAP = int(Qt.TextFlag.TextWordWrap)


class FindingLine(Enum):
    """The kind of a row."""

    FINDING = "a finding"
    HEADING = "a heading"
    QUIET = "a rule that told nothing"


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One row. texts: (text, font, color token) per paragraph. number: from 1, 0 for none."""

    line: FindingLine
    texts: tuple[tuple[str, FontRole, str], ...]
    number: int = 0
    kind: str = ""
    finding: Finding | None = None

    @property
    def plain(self) -> str:
        """The whole row as text, for copies and screen readers."""
        head = f"{self.number}. {self.kind}: " if self.number else ""
        return head + " ".join(text for text, _, _ in self.texts)


def rows_of(findings: Findings) -> tuple[FindingRow, ...]:
    """Return the rows: findings by rank, then rules without findings, checked ones first."""
    rows = [
        FindingRow(
            FindingLine.FINDING,
            (
                (finding.title, "section", "text1"),
                (finding.detail, "cell", "text1"),
                (finding.threshold, "caption", "text2"),
            ),
            number,
            finding.family.title,
            finding,
        )
        for number, finding in enumerate(findings.found, 1)
    ]
    if not rows:
        rows.append(FindingRow(FindingLine.HEADING, ((NONE_FOUND, "section", "text1"),)))
    if findings.left_out:
        more = f"And {counted(findings.left_out, 'more finding')} of less."
        rows.append(FindingRow(FindingLine.HEADING, ((more, "caption", "text2"),)))
    for heading, is_checked in ((NOT_MET, True), (NOT_APPLICABLE, False)):
        not_reported = [rule for rule in findings.not_reported if rule.applicable is is_checked]
        if not_reported:
            rows.append(FindingRow(FindingLine.HEADING, ((heading, "section", "text2"),)))
            rows += [_quiet(rule) for rule in not_reported]
    return tuple(rows)


def _quiet(one: NotReported) -> FindingRow:
    why = one.why[:1].upper() + one.why[1:]
    why = why if why.endswith(".") else f"{why}."
    return FindingRow(FindingLine.QUIET, ((f"{one.family.title}: {why}", "caption", "text2"),))


class FindingsModel(QAbstractListModel):
    """The rows of the list."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[FindingRow, ...] = ()

    def show(self, rows: tuple[FindingRow, ...]) -> None:
        """Replace all rows."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    @guard(0)
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.rows)

    @guard(Qt.ItemFlag.NoItemFlags)
    def flags(self, index: Index) -> Qt.ItemFlag:
        heading = index.isValid() and self.rows[index.row()].line is FindingLine.HEADING
        enabled = Qt.ItemFlag.ItemIsEnabled
        return enabled if heading else enabled | Qt.ItemFlag.ItemIsSelectable

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return self.rows[index.row()].plain
        return None


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
        self.opacity = 1.0  # below 1 while newer findings are computed
        self.setModel(model)
        self.setAccessibleName("Findings")
        self.setItemDelegate(_FindingDelegate(self, model, theme))
        self.setResizeMode(QListView.ResizeMode.Adjust)  # row heights depend on the width
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._click)

    def _click(self, index: QModelIndex) -> None:
        if len(self.selectedIndexes()) <= 1 and self._model.rows[index.row()].finding is not None:
            self.chosen.emit(index.row())

    def choose(self, index: QModelIndex) -> None:
        """Choose a finding for its context menu, unless its place is another panel."""
        found = self._model.rows[index.row()].finding
        if found is not None and not isinstance(found.place, PanelRef):
            self._click(index)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._click(self.currentIndex())
        elif event.text().strip() and event.text().strip().isprintable():
            event.ignore()  # letters are shortcuts of the window
        else:
            super().keyPressEvent(event)


class _FindingDelegate(QStyledItemDelegate):
    def __init__(self, view: FindingsList, model: FindingsModel, theme: Theme) -> None:
        super().__init__(view)
        self._view, self._model, self._theme = view, model, theme

    def _room(self, row: FindingRow, width: int) -> tuple[int, int]:
        """Return the left edge and the width of the paragraphs, in px."""
        px = self._theme.px
        left = px(_INSET) + (px(_NUMBER) if row.line is FindingLine.FINDING else 0)
        side = px(_SIDE) + px(_INSET) if row.line is FindingLine.FINDING else 0
        return left, max(width - left - side - px(_INSET), px(80))

    def _heights(self, row: FindingRow, width: int) -> list[int]:
        heights = []
        for text, role, _ in row.texts:
            metrics = QFontMetrics(self._theme.font(role))
            heights.append(metrics.boundingRect(QRect(0, 0, width, 0), _WRAP, text).height())
        return heights

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row, theme = self._model.rows[index.row()], self._theme
        width = self._view.viewport().width()
        heights = self._heights(row, self._room(row, width)[1])
        padding = theme.px(_AIR) * 2 if row.line is FindingLine.FINDING else theme.px(_AIR)
        return QSize(theme.px(200), sum(heights) + (len(heights) - 1) * theme.px(_LINE) + padding)

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, theme = self._model.rows[index.row()], self._theme
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        selected = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setOpacity(self._view.opacity)
        if selected:
            painter.fillRect(rect, theme.color("selection"))
        elif state & QStyle.StateFlag.State_MouseOver and row.finding is not None:
            painter.fillRect(rect, theme.color("hover"))
        left, width = self._room(row, rect.width())
        padding = theme.px(_AIR) if row.line is FindingLine.FINDING else theme.px(_AIR) // 2
        y = rect.top() + padding
        for (text, role, tone), height in zip(row.texts, self._heights(row, width), strict=True):
            painter.setFont(theme.font(role))
            painter.setPen(theme.color(tone))
            painter.drawText(QRect(rect.left() + left, y, width, height), _WRAP, text)
            y += height + theme.px(_LINE)
        if row.finding is not None:
            self._paint_number(painter, rect, row)
            self._paint_side(painter, rect, row, row.finding.share)
            line = QRectF(rect.left(), rect.bottom(), rect.width(), 1)
            painter.fillRect(line, theme.color("hairline"))
        if state & QStyle.StateFlag.State_HasFocus and self._view.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -1))
        painter.restore()

    def _paint_number(self, painter: QPainter, rect: QRect, row: FindingRow) -> None:
        theme = self._theme
        painter.setFont(theme.font("section"))
        painter.setPen(theme.color("text2"))
        place = QRect(
            rect.left() + theme.px(_INSET),
            rect.top() + theme.px(_AIR),
            theme.px(_NUMBER),
            theme.px(18),
        )
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft), str(row.number))

    def _paint_side(
        self, painter: QPainter, rect: QRect, row: FindingRow, share: float | None
    ) -> None:
        """Paint the kind, and below it the share as a bar and as a number."""
        theme = self._theme
        side = QRect(
            rect.right() - theme.px(_SIDE + _INSET),
            rect.top() + theme.px(_AIR),
            theme.px(_SIDE),
            theme.px(18),
        )
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        painter.drawText(side, int(Qt.AlignmentFlag.AlignRight), row.kind)
        if share is None:
            return
        below = side.translated(0, side.height() + theme.px(_LINE))
        text = format_share(share, 1)
        figure = painter.fontMetrics().horizontalAdvance("100.0 %") + theme.px(6)
        painter.drawText(below, int(Qt.AlignmentFlag.AlignRight), text)
        room = side.width() - figure
        middle = below.top() + (painter.fontMetrics().height() - theme.px(_BAR)) / 2
        track = QRectF(side.left(), middle, room, theme.px(_BAR))
        painter.fillRect(track, theme.color("grid"))
        bar = QRectF(track.left(), track.top(), room * share, track.height())
        paint_bar(painter, bar, theme.color("accent"), theme)
