"""Where the keys are, after Tab has brought them there: a frame around what shows it not by itself.

Buttons and fields have a border of their own for it (`viewer.gui.qt.theme.style_sheet`). A table, a
card or the timeline has none, and would change its size with one, so the frame lies above it. It
goes as soon as the keys go elsewhere, and never comes by a click.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QDialog, QTabBar, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

_WIDTH = 2  # px


class FocusFrame(QWidget):
    """The frame of one window, inside of what has the keys."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme  # not the window: nothing would free one that is dropped
        self._around: QWidget | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_around(self, widget: QWidget | None) -> None:
        """Frame a widget as long as it has the keys, if it shows that by nothing else."""
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
        """Show no frame."""
        if self._around is not None:
            self._around.removeEventFilter(self)
            self._around = None
            self.setParent(self.window())  # what was framed may go
        self.hide()

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go with what is framed."""
        if event.type() == QEvent.Type.Resize and self._around is not None:
            self.setGeometry(self._around.rect())
        elif event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide):
            self.leave()
        return False

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color, whole = self._theme.color("accent"), self.rect()
        inner = whole.adjusted(_WIDTH, _WIDTH, -_WIDTH, -_WIDTH)
        for side in (
            QRect(0, 0, whole.width(), _WIDTH),
            QRect(0, inner.bottom() + 1, whole.width(), _WIDTH),
            QRect(0, 0, _WIDTH, whole.height()),
            QRect(inner.right() + 1, 0, _WIDTH, whole.height()),
        ):
            painter.fillRect(side, color)
        painter.end()


class FramedDialog(QDialog):
    """A dialog in which a frame shows where Tab has brought the keys."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._focus_frame = FocusFrame(theme, self)

    @guard(False)
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go to the next control, and frame it where it does not show by itself that it is it."""
        moved = bool(super().focusNextPrevChild(forward))
        if moved:
            self._focus_frame.show_around(self.focusWidget())
        return moved
