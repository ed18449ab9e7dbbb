"""A place that has nothing to show: one sentence why, and the one button that helps."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from viewer.gui.qt.theme.theme import Theme


class EmptyNote(QWidget):
    """A place without content: one sentence what to do, and the button that does it."""

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
        # A wrapped label in a centered place is as tall as its text is at this width.
        body.setMinimumHeight(body.heightForWidth(body.width()))
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(1)
        for widget in (heading, body, self._button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
