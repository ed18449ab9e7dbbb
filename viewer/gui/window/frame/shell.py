"""The window without what works in it: menus, pages, message bar, status bar, and its signals.

It is there with the first picture, so nothing that is imported here may need numpy. Services take
the shell for what they show; what it shows of a session is theirs.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QLabel,
    QMainWindow,
    QStackedWidget,
    QTabBar,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.focus_frame import FocusFrame
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.window.frame.message_bar import MessageBar
from viewer.gui.window.frame.status_bar import StatusBar
from viewer.gui.window.start_page.page import StartPage

MENU_TITLES = ("&File", "&View", "&Go", "&Tracks", "&Selection", "&Help")
USUAL_SIZE = QSize(1600, 900)
TOOLBAR_HEIGHT = 44  # px


class Shell(QMainWindow):
    """The frame of one window.

    `resized`: it has another size. `closing`: it closes for good, and what runs in it must end.
    `closed`: it is closed for good. `stayed`: it was to be closed, and is not.
    """

    resized = Signal()
    closing = Signal()
    stayed = Signal()
    closed = Signal(object)  # the window
    new_window_requested = Signal()
    quit_requested = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self.setWindowTitle("Opscope")
        self.resize(USUAL_SIZE.boundedTo(self.screen().availableGeometry().size()))
        bar = self.menuBar()
        self.menus = {title.replace("&", ""): bar.addMenu(title) for title in MENU_TITLES}
        self.toolbar = QToolBar()  # keeps the place of the real one, or the page would jump
        self.toolbar.setMovable(False)
        self.toolbar.setFixedHeight(theme.px(TOOLBAR_HEIGHT))
        self.addToolBar(self.toolbar)
        self.status = StatusBar()
        self.setStatusBar(self.status)
        self.message = MessageBar(theme)
        self.start_page = StartPage(theme, settings)
        self.reading = QLabel("Reading…")
        self.reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pages = QStackedWidget()
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

    def lay_out(self) -> None:
        """Give message and pages their places now."""
        self._column.activate()

    def take_toolbar(self, toolbar: QToolBar) -> None:
        """Show a toolbar where its place was kept."""
        self.removeToolBar(self.toolbar)
        self.toolbar.deleteLater()
        self.toolbar = toolbar
        self.addToolBar(toolbar)

    # -- what Qt asks of a window ------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell of another size."""
        super().resizeEvent(event)
        self.resized.emit()

    @guard(False)
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab passes over panels behind others: Qt only passes over those out of sight."""
        passed = {self.focusWidget()}
        while super().focusNextPrevChild(forward):
            focused = self.focusWidget()
            if focused in passed or _is_in_sight(focused):
                self._focus_frame.show_around(focused)
                return True
            passed.add(focused)
        return False

    @guard
    def createPopupMenu(self) -> None:
        """No menu that could hide the toolbar: panels are in the View menu."""
        return None


def _is_in_sight(widget: QWidget | None) -> bool:
    """Whether a widget is in no dock, or in one that is not behind another. Qt keeps tab bars that
    docks no longer need beyond the edge of the window, without a tab."""
    if isinstance(widget, QTabBar) and not widget.count():
        return False
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget is None or not widget.visibleRegion().isEmpty()
