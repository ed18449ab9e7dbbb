"""The frame of the window: menus, pages, message bar, status bar, and its signals.

It exists from the first paint on, so nothing imported here may need numpy. Services take the shell
to show things in it; what it shows about a session is up to them.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QMainWindow,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.focus_frame import FocusFrame, Framed
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import PageStack
from viewer.gui.window.frame.message_bar import MessageBar
from viewer.gui.window.frame.status_bar import ReadingPage, StatusBar
from viewer.gui.window.start_page.page import StartPage
from viewer.gui.window.toolbar.first_toolbar import FirstToolbar

MENU_TITLES = ("&File", "&Edit", "&View", "&Go", "&Tracks", "&Selection", "&Help")
USUAL_SIZE = QSize(1600, 900)
TOOLBAR_HEIGHT = 44  # px


class Shell(Framed, QMainWindow):
    """The frame of one window.

    Signals: `resized` on a new size. `closing` when the window closes for good, so that everything
    in it must stop, and `closed` after that. `stayed` if it was to be closed and stays open.
    """

    resized = Signal()
    closing = Signal()
    stayed = Signal()
    closed = Signal(object)  # the window
    new_window_requested = Signal()
    quit_requested = Signal()
    picture_offered = Signal(object)  # what `save_picture` takes

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self.scale = theme.scale  # of the fonts that its parts were made for
        theme.apply_to(self)
        self.setWindowTitle("Opscope")
        self.resize(USUAL_SIZE.boundedTo(self.screen().availableGeometry().size()))
        bar = self.menuBar()
        self.menus = {title.replace("&", ""): bar.addMenu(title) for title in MENU_TITLES}
        self.toolbar: QToolBar = FirstToolbar(theme)  # until the real one exists
        self.toolbar.setFixedHeight(theme.px(TOOLBAR_HEIGHT))
        self.addToolBar(self.toolbar)
        self.status = StatusBar(theme, self)
        self.setStatusBar(self.status)
        self.message = MessageBar(theme)
        self.start_page = StartPage(theme, settings)
        self.reading = ReadingPage(theme)
        self.reading.cancelled.connect(self.status.cancelled)
        self.pages = PageStack()
        for page in (self.start_page, self.reading):
            self.pages.addWidget(page)
        self.center = center = QWidget()
        self._column = column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.message)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(center)
        self._focus_frame = FocusFrame(theme, self)

    def add_bar(self) -> MessageBar:
        """Add a message bar for one message, which no other message or reading replaces."""
        bar = MessageBar(self.theme)
        self._column.insertWidget(0, bar)
        return bar

    def show_text(self, text: str) -> None:
        """Show a message in the status bar, for a part of the window."""
        self.status.show_text(text)

    def save_picture(self, bytes_of: Callable[[str], bytes]) -> None:
        """Ask for a file, and write a picture, for a part of the window."""
        self.picture_offered.emit(bytes_of)

    def lay_out(self) -> None:
        """Apply the layout of message bar and pages now."""
        self._column.activate()

    def take_toolbar(self, toolbar: QToolBar) -> None:
        """Replace the placeholder with the real toolbar."""
        self.removeToolBar(self.toolbar)
        self.toolbar.deleteLater()
        self.toolbar = toolbar
        self.addToolBar(toolbar)

    # -- Qt overrides ------------------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Emit `resized`."""
        super().resizeEvent(event)
        self.resized.emit()

    @guard
    def createPopupMenu(self) -> None:
        """Disable Qt's menu, which could hide the toolbar; panels are in the View menu."""
        return None
