"""The line above the timeline that says what went wrong or must be known, until it is put away."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from viewer.theme import Theme


class MessageBar(QWidget):
    """One line above the timeline for an error or a warning, with a button to put it away."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._dot = QLabel("●")
        close = QPushButton("Dismiss")
        close.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._dot)
        row.addWidget(self._text, 1)
        row.addWidget(close)
        self._messages: list[str] = []
        self.setAutoFillBackground(True)
        self.hide()

    def show_error(self, text: str) -> None:
        """Say what went wrong."""
        self._show(text, "error")

    def show_warning(self, text: str) -> None:
        """Say what must be known."""
        self._show(text, "warning")

    def hide_if_told(self) -> None:
        """Forget older messages that have been seen."""
        if not self.isVisible():
            self._messages.clear()

    @property
    def text(self) -> str:
        """What is being said."""
        return self._text.text() if not self.isHidden() else ""

    def _show(self, text: str, token: str) -> None:
        if self.isHidden():
            self._messages.clear()
        if text not in self._messages:
            self._messages.append(text)
        self._text.setText("\n".join(self._messages[-4:]))
        self._dot.setStyleSheet(f"color: {self._theme.color(token).name()}")
        self.show()
