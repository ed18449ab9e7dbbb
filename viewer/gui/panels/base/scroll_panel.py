"""A scrolling panel that holds one tall widget and replaces it when its contents change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session


class ScrollPanel(QScrollArea):
    """The frame. name: its accessible name."""

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
        """The session that the panel shows."""
        return self._session

    def replace_widget(self, widget: QWidget) -> None:
        """Replace the widget and delete the old one."""
        old = self.takeWidget()
        if old is not None:
            old.deleteLater()  # the old widget may be the sender of the click that led here
        self.setWidget(widget)
