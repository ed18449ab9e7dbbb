"""The line above the timeline that says what went wrong or must be known, until it is put away."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from viewer.theme import Theme

_MOST_LINES = 4


class MessageBar(QWidget):
    """One line above the timeline for an error or a warning, with a button to put it away."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._dot = QLabel("●")
        self.action = QPushButton()
        self.action.clicked.connect(self._act)
        self._answer: Callable[[], None] | None = None
        close = QPushButton("Dismiss")
        close.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._dot)
        row.addWidget(self._text, 1)
        row.addWidget(self.action)
        row.addWidget(close)
        self._messages: list[str] = []
        self.setAutoFillBackground(True)
        self.hide()

    def show_error(self, text: str) -> None:
        """Say what went wrong."""
        self._show(text, "error")

    def show_warning(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Say what must be known; `action` is the word on a button that does `answer`."""
        self._show(text, "warning", action, answer)

    def hide_if_told(self) -> None:
        """Forget older messages that have been seen."""
        if not self.isVisible():
            self._messages.clear()

    @property
    def text(self) -> str:
        """What is being said."""
        return self._text.text() if not self.isHidden() else ""

    def _act(self) -> None:
        answer = self._answer
        self.hide()
        if answer is not None:
            answer()

    def _show(
        self, text: str, token: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        self._answer = answer
        self.action.setText(action)
        self.action.setVisible(bool(action))
        if self.isHidden():
            self._messages.clear()
        if text not in self._messages:
            self._messages.append(text)
        more = len(self._messages) - _MOST_LINES
        shown = self._messages[-_MOST_LINES:]
        rest = [f"and {more} more, see Problems"] if more > 0 else []
        self._text.setText("\n".join([*shown, *rest]))
        self._dot.setStyleSheet(f"color: {self._theme.color(token).name()}")
        self.show()
