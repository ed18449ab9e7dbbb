"""The line above the timeline that says what went wrong or must be known, until it is put away."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from viewer.gui.qt.theme.theme import Theme

_MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    is_error: bool
    action: str = ""
    answer: Callable[[], None] | None = None


class MessageBar(QWidget):
    """One line above the timeline for an error or a warning, with a button to put it away.

    `changed`: it takes more or less room than before.
    """

    changed = Signal()

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
        self.action.hide()  # until there is something to do
        close = QPushButton("Dismiss")
        close.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self._dot)
        row.addWidget(self._text, 1)
        row.addWidget(self.action)
        row.addWidget(close)
        self._messages: list[_Message] = []
        self.setAutoFillBackground(True)
        theme.changed.connect(self._show)
        self.hide()

    def show_error(self, text: str) -> None:
        """Say what went wrong."""
        self._add(_Message(text, True))

    def show_warning(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Say what must be known; `action` is the word on a button that does `answer`."""
        self._add(_Message(text, False, action, answer))

    def dismiss(self) -> None:
        """Put all of it away."""
        self._messages.clear()
        self._show()

    def keep_warnings(self, texts: Collection[str]) -> None:
        """Take back the warnings that do not hold any more; errors stay until they are put away."""
        kept = [m for m in self._messages if m.is_error or m.text in texts]
        if kept != self._messages:
            self._messages = kept
            self._show()

    @property
    def text(self) -> str:
        """What is being said."""
        return self._text.text() if not self.isHidden() else ""

    def _add(self, message: _Message) -> None:
        self._messages = [m for m in self._messages if m.text != message.text]
        self._messages.append(message)
        self._show()

    def _act(self) -> None:
        answer = self._answer()
        self.dismiss()
        if answer is not None and answer.answer is not None:
            answer.answer()

    def _answer(self) -> _Message | None:
        """The latest message that something can be done about."""
        return next((m for m in reversed(self._messages) if m.action), None)

    def _show(self) -> None:
        more = len(self._messages) - _MOST_LINES
        lines = [m.text for m in self._messages[-_MOST_LINES:]]
        rest = [f"and {more} more, see Problems"] if more > 0 else []
        self._text.setText("\n".join([*lines, *rest]))
        answer = self._answer()
        self.action.setText(answer.action if answer is not None else "")
        self.action.setVisible(answer is not None)
        token = "error" if any(m.is_error for m in self._messages) else "warning"
        self._dot.setStyleSheet(f"color: {self._theme.color(token).name()}")
        self.setVisible(bool(self._messages))
        self.changed.emit()
