"""The message bar above the timeline, which shows errors and warnings until dismissed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.model.text import visible_controls

_MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    is_error: bool
    action: str = ""
    answer: Callable[[], None] | None = None


class MessageBar(QWidget):
    """Shows errors and warnings in a line above the timeline, with a button to dismiss them.

    Emits `changed` when its height may have changed.
    """

    changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = QLabel()
        self._text.setWordWrap(True)
        # A long path cannot be wrapped, and must not make the window wider.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self._text.setSizePolicy(policy)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._dot = QLabel("●")
        self.action = QPushButton()
        self.action.clicked.connect(self._act)
        self.action.hide()  # until a message has an action
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

    def show_error(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Show an error, optionally with a button as in `show_warning`."""
        self._add(_Message(text, True, action, answer))

    def show_warning(
        self, text: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Show a warning, optionally with a button titled `action` that calls `answer`."""
        self._add(_Message(text, False, action, answer))

    def dismiss(self) -> None:
        """Remove all messages."""
        self._messages.clear()
        self._show()

    def keep_warnings(self, texts: Collection[str]) -> None:
        """Remove warnings that are not in `texts`; errors stay until they are dismissed."""
        remaining = [m for m in self._messages if m.is_error or m.text in texts]
        if remaining != self._messages:
            self._messages = remaining
            self._show()

    def remove(self, text: str) -> None:
        """Remove a message that no longer holds; does nothing if it is not shown."""
        remaining = [m for m in self._messages if m.text != text]
        if remaining != self._messages:
            self._messages = remaining
            self._show()

    @property
    def text(self) -> str:
        """The text shown, "" while the bar is hidden."""
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
        """The latest message that has an action."""
        return next((m for m in reversed(self._messages) if m.action), None)

    def _show(self) -> None:
        more = len(self._messages) - _MOST_LINES
        lines = [m.text for m in self._messages[-_MOST_LINES:]]
        rest = [f"and {more} more, see Problems"] if more > 0 else []
        self._text.setText(visible_controls("\n".join([*lines, *rest])))
        answer = self._answer()
        self.action.setText(answer.action if answer is not None else "")
        self.action.setVisible(answer is not None)
        token = "error" if any(m.is_error for m in self._messages) else "warning"
        self._dot.setStyleSheet(f"color: {self._theme.color(token).name()}")
        self.setVisible(bool(self._messages))
        self.changed.emit()
