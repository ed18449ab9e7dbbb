"""Decides which keys a widget handles itself, such as arrow keys in tables, fields and long texts.

Every other key is a command, wherever the focus is. Letters need no rule: text fields claim them
from Qt themselves.
"""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QRadioButton,
    QTabBar,
    QTextEdit,
    QWidget,
)

from viewer.gui.qt.accessibility import OF_WINDOW
from viewer.gui.qt.crash_report import guard
from viewer.gui.timeline.view import TimelineView

_SIDEWAYS = {Qt.Key.Key_Left, Qt.Key.Key_Right}
NAVIGATION = _SIDEWAYS | {
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Home,
    Qt.Key.Key_End,
    Qt.Key.Key_PageUp,
    Qt.Key.Key_PageDown,
}
_KEEP_ALL = (
    QAbstractItemView, QAbstractSpinBox, QAbstractSlider, QComboBox, QLineEdit, QMenuBar,
    QRadioButton, QTabBar,
)  # fmt: skip


def keeps(widget: QWidget | None, key: Qt.Key, held: Qt.KeyboardModifier) -> bool:
    """Whether the focused widget handles a key itself, instead of a command."""
    if key not in NAVIGATION or held & OF_WINDOW or widget is None:
        return False
    if isinstance(widget, _KEEP_ALL):
        return True
    if isinstance(widget, QTextEdit | QPlainTextEdit) and not widget.isReadOnly():
        return True
    if isinstance(widget, QAbstractScrollArea) and not isinstance(widget, TimelineView):
        # Read-only content that has to be scrolled.
        sideways = key in _SIDEWAYS
        bar = widget.horizontalScrollBar() if sideways else widget.verticalScrollBar()
        return bar.maximum() > bar.minimum()
    return False


class FocusKeys(QObject):
    """Event filter for the window and its docks, where Qt last checks if a key is a shortcut."""

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave a key to the focused widget, instead of using it as a shortcut."""
        is_override = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if not is_override:
            return False
        pressed = cast(QKeyEvent, event)
        is_kept = keeps(QApplication.focusWidget(), Qt.Key(pressed.key()), pressed.modifiers())
        if is_kept:
            event.accept()
        return is_kept
