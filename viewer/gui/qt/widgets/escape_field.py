"""A field in which Escape is for the field itself, before the window clears its selection by it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QToolButton

from viewer.gui.qt.crash_report import guard


class EscapeField(QLineEdit):
    """What Escape does in it is for `keyPressEvent` to say."""

    @property
    def takes_escape(self) -> bool:
        """Whether Escape is for the field now."""
        return True

    def show_clear_button(self) -> None:
        """Have a button in the field that empties it, with a name for a screen reader."""
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName("Clear")

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Keep Escape from being a command."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.takes_escape
        ):
            event.accept()
            return True
        return bool(super().event(event))
