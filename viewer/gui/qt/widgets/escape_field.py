"""A text field that handles Escape itself, before the window's clear command gets it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QToolButton

from viewer.gui.qt.crash_report import guard


class EscapeField(QLineEdit):
    """A text field that gets Escape in its `keyPressEvent`."""

    @property
    def takes_escape(self) -> bool:
        """Whether the field handles Escape now; otherwise it is a command of the window."""
        return True

    def show_clear_button(self) -> None:
        """Add a button that clears the field, named for screen readers."""
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName("Clear")

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Keep Escape from triggering a command if the field takes it."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.takes_escape
        ):
            event.accept()
            return True
        return bool(super().event(event))
