"""Shows the keyboard focus after Tab, as a frame around widgets that do not show it themselves.

Buttons and fields have their own focus border (`viewer.gui.qt.theme.style_sheet`). A table, a card
or the timeline has none, and a border would change its size, so the frame is drawn on top. The
frame disappears as soon as the focus moves, and never appears after a click.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QDialog, QTabBar, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

# PySide has no class with several bases of Qt, so what windows share has none.
if TYPE_CHECKING:
    _Window = QWidget
else:
    _Window = object
_WIDTH = 2  # px


class FocusFrame(QWidget):
    """The focus frame of one window, drawn inside the focused widget."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme  # no reference to the window, which would keep a dropped window alive
        self._around: QWidget | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_around(self, widget: QWidget | None) -> None:
        """Frame a widget until it loses the focus, unless it shows the focus itself."""
        self.leave()
        if not isinstance(widget, QAbstractScrollArea | QTabBar):
            return
        self._around = widget
        widget.installEventFilter(self)
        self.setParent(widget)
        self.setGeometry(widget.rect())
        self.show()
        self.raise_()

    def leave(self) -> None:
        """Hide the frame."""
        if self._around is not None:
            self._around.removeEventFilter(self)
            self._around = None
            self.setParent(self.window())  # the framed widget may be deleted
        self.hide()

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the framed widget's size, and leave when it loses the focus."""
        if event.type() == QEvent.Type.Resize and self._around is not None:
            self.setGeometry(self._around.rect())
        elif event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide):
            self.leave()
        return False

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color, frame = self._theme.color("accent"), self.rect()
        inner = frame.adjusted(_WIDTH, _WIDTH, -_WIDTH, -_WIDTH)
        for side in (
            QRect(0, 0, frame.width(), _WIDTH),
            QRect(0, inner.bottom() + 1, frame.width(), _WIDTH),
            QRect(0, 0, _WIDTH, frame.height()),
            QRect(inner.right() + 1, 0, _WIDTH, frame.height()),
        ):
            painter.fillRect(side, color)
        painter.end()


class Framed(_Window):
    """A window that frames the focused control after Tab; before the class of Qt's window."""

    _focus_frame: FocusFrame

    @guard(False)
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus to the next control, and frame it if it does not show the focus itself."""
        moved = bool(super().focusNextPrevChild(forward))
        if moved:
            self._focus_frame.show_around(self.focusWidget())
        return moved


class FramedDialog(Framed, QDialog):
    """A dialog that frames the focused control after Tab."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._focus_frame = FocusFrame(theme, self)
