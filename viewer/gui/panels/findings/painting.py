"""Painting of the findings list: severity, action and numbers, gain with its bar, info mark.

A row is as tall as its wrapped texts. The gain is on the right; its bar is below the texts, as wide
as the row. The severity is a shape: a filled triangle, a filled diamond or an empty circle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.analysis.findings.severity import Severity
from viewer.gui.panels.base.swatches import paint_bar
from viewer.gui.panels.findings.rows import FindingRow, RowKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.model.text import visible_controls

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
