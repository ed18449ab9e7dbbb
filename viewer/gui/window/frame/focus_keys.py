"""Which keys a widget keeps for itself: arrows and their like in tables, fields and long texts.

Every other key is a command wherever the keyboard is. Letters need no rule: a field that is typed
in claims them from Qt by itself.
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
_ELSEWHERE = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
_KEEP_ALL = (
    QAbstractItemView, QAbstractSpinBox, QAbstractSlider, QComboBox, QLineEdit, QMenuBar,
    QRadioButton, QTabBar,
)  # fmt: skip


def keeps(widget: QWidget | None, key: Qt.Key, held: Qt.KeyboardModifier) -> bool:
    """Whether a key is for the widget with the keyboard, not for a command."""
    if key not in NAVIGATION or held & _ELSEWHERE or widget is None:
        return False
    if isinstance(widget, _KEEP_ALL):
        return True
    if isinstance(widget, QTextEdit | QPlainTextEdit) and not widget.isReadOnly():
        return True
    if isinstance(widget, QAbstractScrollArea) and not isinstance(widget, TimelineView):
        # What can be read only by scrolling.
        sideways = key in _SIDEWAYS
        bar = widget.horizontalScrollBar() if sideways else widget.verticalScrollBar()
        return bar.maximum() > bar.minimum()
    return False


class FocusKeys(QObject):
    """Watches a window and its docks, where Qt asks last whether a key is a command."""

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep a key from being a command; it goes to the widget then."""
        asked = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if not asked:
            return False
        pressed = cast(QKeyEvent, event)
        kept = keeps(QApplication.focusWidget(), Qt.Key(pressed.key()), pressed.modifiers())
        if kept:
            event.accept()
        return kept
