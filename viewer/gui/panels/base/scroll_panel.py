"""A scrolled panel whose one tall widget is replaced when what it shows changes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session


class ScrollPanel(QScrollArea):
    """The frame; name: what a screen reader calls it."""

    def __init__(
        self, session: Session, theme: Theme, name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)

    @property
    def session(self) -> Session:
        """The session that the panel is about."""
        return self._session

    def replace_widget(self, widget: QWidget) -> None:
        """Show another widget."""
        old = self.takeWidget()
        if old is not None:
            old.deleteLater()  # it may be the sender of the click that led here
        self.setWidget(widget)
