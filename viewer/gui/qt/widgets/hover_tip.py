"""The hover tip: a box that follows the mouse without delay and describes what is under it.

It is a child of the window instead of the canvas, which often has few rows, and it is transparent
to the mouse. Qt's own tooltip has a delay, is a separate window, and interprets names as markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.elided_text import elided_text

_OFFSET = QPoint(14, 18)  # px, from the mouse to the box
_ABOVE = 8
_INSET = 8
_WIDEST = 520
_LONGEST = 300  # characters; more would not fit, and names come from files


class HoverTip(QWidget):
    """Shows lines of text at the mouse, the first one as a title; hidden without lines."""

    def __init__(self, owner: QWidget, theme: Theme) -> None:
        super().__init__(owner)
        self._owner, self._theme = owner, theme
        self.lines: tuple[str, ...] = ()
        self._texts: list[str] = []
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        theme.changed.connect(self.update)
        owner.destroyed.connect(self.deleteLater)  # `show_lines` makes it a child of the window

    def show_lines(self, lines: Sequence[str], mouse: QPoint) -> None:
        """Show these lines at a point of the owner; hide the tip if there are none."""
        if not lines:
            self.lines = ()
            self.hide()
            return
        window = self._owner.window()
        if self.parentWidget() is not window:
            self.setParent(window)
        if tuple(lines) != self.lines:
            self.lines = tuple(lines)
            self._fit(min(_WIDEST, window.width() - 2 * _INSET - 4))
            self.update()
        point = self._owner.mapTo(window, mouse)
        self.setGeometry(_box_at(point, self.size(), window.rect()))
        if self.isHidden():
            self.raise_()
            self.show()

    def _fit(self, widest: int) -> None:
        """Elide the lines to the widest allowed width, and resize to fit them."""
        self._texts, needed = [], 0
        for role, text in zip(self._roles, self.lines, strict=True):
            metrics = QFontMetrics(self._theme.font(role))
            one_line = " ".join(text[:_LONGEST].split())
            self._texts.append(elided_text(metrics, one_line, Qt.TextElideMode.ElideMiddle, widest))
            needed = max(needed, metrics.horizontalAdvance(self._texts[-1]))
        self.resize(needed + 2 * _INSET + 1, sum(self._heights) + 2 * _INSET - 2)

    @property
    def _roles(self) -> list[FontRole]:
        return ["process" if line == 0 else "cell" for line in range(len(self.lines))]

    @property
    def _heights(self) -> list[int]:
        return [QFontMetrics(self._theme.font(role)).height() + 1 for role in self._roles]

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box and its lines."""
        painter, theme = QPainter(self), self._theme
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
        y = _INSET - 1
        for text, role, height in zip(self._texts, self._roles, self._heights, strict=True):
            painter.setFont(theme.font(role))
            painter.setPen(theme.color("text1" if role == "process" else "text2"))
            room = QRect(_INSET, y, self.width() - 2 * _INSET, height)
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
            y += height
        painter.end()


def _box_at(mouse: QPoint, size: QSize, room: QRect) -> QRect:
    """The box below and to the right of the mouse, or on its other side if space is missing."""
    left, top = mouse.x() + _OFFSET.x(), mouse.y() + _OFFSET.y()
    if left + size.width() > room.width():
        left = max(mouse.x() - _OFFSET.x() - size.width(), 0)
    if top + size.height() > room.height():
        top = max(mouse.y() - _ABOVE - size.height(), 0)
    return QRect(QPoint(left, top), size)
