"""The empty state of a view: a title, a sentence on what to do, and a button."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from viewer.gui.qt.theme.theme import Theme


class EmptyNote(QWidget):
    """An empty state with a button that opens a profile; emits `open_requested` on a click."""

    open_requested = Signal()

    def __init__(self, title: str, text: str, theme: Theme) -> None:
        super().__init__()
        heading, body = QLabel(title), QLabel(text)
        heading.setFont(theme.font("operator"))
        body.setWordWrap(True)
        body.setFixedWidth(560)
        body.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._button = QPushButton("Open a profile…")
        self._button.setProperty("primary", True)
        self._button.clicked.connect(self.open_requested)
        self.setFocusProxy(self._button)
        # In a centered layout, a wrapped label needs the height of its text at this width.
        body.setMinimumHeight(body.heightForWidth(body.width()))
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(1)
        for widget in (heading, body, self._button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
