"""The window itself: it stands at once with the start page, and takes files before it can read any.

What works in it is its desk (`viewer.gui.window.controller`). To import and to make that takes
three times as long as the window alone, 0.75 s to 0.25 s, so it is imported on another thread once
the window has been painted, or at once where somebody asks for it. Nothing that is imported here
may need numpy.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QCoreApplication, QSize, Qt, QThread, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
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

from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.focus_frame import FocusFrame
from viewer.gui.qt.settings import WINDOW_GEOMETRY, WINDOW_STATE_VERSION, Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import WhenVisible
from viewer.gui.window.frame.message_bar import MessageBar
from viewer.gui.window.frame.status_bar import StatusBar
from viewer.gui.window.help.pages import RECORDING
from viewer.gui.window.start_page.page import StartPage

if TYPE_CHECKING:
    from viewer.gui.window.controller import PanelRegistry, WindowController
    from viewer.workspace.link_choices import Choices

MENU_TITLES = ("&File", "&View", "&Go", "&Tracks", "&Selection", "&Help")
USUAL_SIZE = QSize(1600, 900)
TOOLBAR_HEIGHT = 44  # px


class MainWindow(QMainWindow):
    """One window over one desk. `resized`: it has another size. `closed`: it is closed for good.
    `stayed`: it was to be closed, and is not."""

    resized = Signal()
    stayed = Signal()
    closed = Signal(object)  # the window
    new_window_requested = Signal()
    quit_requested = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self._desk: WindowController | None = None
        self._agreed = False  # that it is closed
        self._asked: list[tuple[Sequence[str], Choices | None]] = []
        self.setWindowTitle("Opscope")
        self.setAcceptDrops(True)
        self.resize(USUAL_SIZE.boundedTo(self.screen().availableGeometry().size()))
        bar = self.menuBar()
        self.menus = {title.replace("&", ""): bar.addMenu(title) for title in MENU_TITLES}
        self._no_tools = QToolBar()  # keeps the place of the toolbar, or the page would jump
        self._no_tools.setMovable(False)
        self._no_tools.setFixedHeight(theme.px(TOOLBAR_HEIGHT))
        self.addToolBar(self._no_tools)
        self.status = StatusBar()
        self.setStatusBar(self.status)
        self.message = MessageBar(theme)
        self.start_page = StartPage(theme, settings)
        self.start_page.open_requested.connect(self.open)
        self.start_page.open_dialog_requested.connect(self._open_dialog)
        self.start_page.tour_requested.connect(self._take_tour)
        self.start_page.last_session_requested.connect(self._open_last_session)
        self.start_page.help_requested.connect(self._help_on_recording)
        self.reading = QLabel("Reading…")
        self.reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pages = QStackedWidget()
        for page in (self.start_page, self.reading):
            self.pages.addWidget(page)
        center = QWidget()
        self._column = column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.message)
        column.addWidget(self.pages, 1)
        self.setCentralWidget(center)
        self._focus_frame = FocusFrame(theme, self)
        self._importer = Latest(self)
        self._parts: PanelRegistry | None = None
        self._next_part = QTimer(self)
        self._next_part.setSingleShot(True)
        self._next_part.timeout.connect(self._prepare)
        for signal in (self._importer.answered, self._importer.failed):
            signal.connect(self._prepare)
        self._painted = WhenVisible(center)
        self._painted.due.connect(self._import_desk)
        geometry, _ = settings.window()
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)
        self._painted.put_off()

    # -- the desk ----------------------------------------------------------------------------

    @property
    def desk(self) -> WindowController:
        """What works in the window, made now if it is not there yet."""
        self._furnish()
        assert self._desk is not None
        return self._desk

    @Slot()
    def _import_desk(self) -> None:
        if self._desk is None:
            self._importer.submit(_import_desk)

    @Slot()
    def _prepare(self) -> None:
        """Make one part of the desk, and then let the window answer before the next."""
        if self._desk is not None:
            return
        if self._parts_of_desk().prepare():
            self._next_part.start(0)
        else:
            self._furnish()

    def _parts_of_desk(self) -> PanelRegistry:
        from viewer.gui.window.controller import PanelRegistry

        if self._parts is None:
            self._parts = PanelRegistry(self)
        return self._parts

    def _furnish(self) -> None:
        """Make the desk, once, and give it the files that were asked for meanwhile."""
        if self._desk is not None:
            return
        from viewer.gui.window.controller import WindowController

        self._desk = WindowController(self, self._parts_of_desk())
        self._desk.leaving.stayed.connect(self.stayed)
        asked, self._asked = self._asked, []
        for paths, choices in asked:
            self._desk.open(paths, choices)
        self.start_page.want_pictures()

    def lay_out(self) -> None:
        """Give message and pages their places now."""
        self._column.activate()

    def take_toolbar(self, toolbar: QToolBar) -> None:
        """Show the toolbar of the desk where its place was kept."""
        self.removeToolBar(self._no_tools)
        self._no_tools.deleteLater()
        self.addToolBar(toolbar)

    # -- opening -----------------------------------------------------------------------------

    @Slot(list)
    def open(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Read files and add them to what is open, as soon as there is a desk."""
        if self._desk is not None:
            self._desk.open(paths, choices)
        elif paths:
            self._asked.append((paths, choices))
            self.pages.setCurrentWidget(self.reading)

    def open_one(self, path: str) -> None:
        """Open one file, as a file manager asks for it."""
        self.open([path])

    @Slot()
    def _open_dialog(self) -> None:
        self.desk.open_dialog()

    @Slot()
    def _open_last_session(self) -> None:
        self.desk.commands.run("file.last_session")

    # -- first steps -------------------------------------------------------------------------

    @Slot()
    def _take_tour(self) -> None:
        self.desk.guide.start_tour()

    @Slot(str)
    def _help_on_recording(self, heading: str) -> None:
        self.desk.guide.show_help(RECORDING, heading)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open, nor will be soon."""
        return not self._asked and (self._desk is None or self._desk.is_empty)

    @property
    def has_changes(self) -> bool:
        """Whether its session file lacks what was done since."""
        return self._desk is not None and self._desk.session_files.has_changes

    @property
    def open_files(self) -> list[tuple[str, str]]:
        """(path, format) of everything that is open."""
        if self._desk is None:
            return []
        space = self._desk.session.workspace
        traces = [(trace.path, trace.format) for trace in space.traces]
        return [*traces, *((program.path, program.format) for program in space.programs)]

    def come_to_front(self) -> None:
        """Show the window before those of other programs, as far as the desktop lets it."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def put_away(self) -> None:
        """Free what a closed window holds, while the program goes on with others."""
        if self._desk is not None:
            self._desk.session.close_all()
        self.deleteLater()

    # -- what Qt tells a window --------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell of another size."""
        super().resizeEvent(event)
        self.resized.emit()

    @guard
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files can be dropped anywhere on the window; what is none is told so then."""
        event.acceptProposedAction()

    @guard
    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped."""
        event.acceptProposedAction()
        self.desk.drop(event.mimeData().urls())

    @guard(False)
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab passes over panels that stand behind others: Qt only moves those out of sight."""
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

    @guard
    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what runs and remember how the window lay, once no work is lost by it."""
        if self._desk is not None:
            if not self._agreed and self._desk.leaving.needs_confirmation(self._close_now):
                event.ignore()
                return
            self._desk.shut_down()
        self._next_part.stop()
        for latest in self.findChildren(Latest):
            latest.shutdown()
        if self._desk is None:
            self.settings.set(WINDOW_GEOMETRY, self.saveGeometry())
        else:
            self.settings.set_window(self.saveGeometry(), self.saveState(WINDOW_STATE_VERSION))
        event.accept()
        self.closed.emit(self)

    def _close_now(self) -> None:
        self._agreed = True
        self.close()

    # -- pictures ----------------------------------------------------------------------------

    def settle(self, seconds: float = 10.0) -> None:
        """Let layouts and background answers come to rest, as before a picture is taken."""
        moves = self.desk.timeline.scene.animation
        until = time.monotonic() + seconds
        quiet = 0
        while quiet < 10 and time.monotonic() < until:
            QCoreApplication.processEvents()
            waiting = moves.is_moving or any(x.pending for x in self.findChildren(Latest))
            quiet = 0 if waiting else quiet + 1
            if waiting:
                QThread.msleep(2)  # the workers need the interpreter

    def picture_png(self) -> bytes:
        """The window as it looks now, as PNG."""
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        self.grab().save(buffer, "PNG")
        return bytes(buffer.data().data())


def _is_in_sight(widget: QWidget | None) -> bool:
    """Whether a widget is in no dock, or in one that is not behind another. Qt keeps tab bars that
    docks no longer need beyond the edge of the window, without a tab."""
    if isinstance(widget, QTabBar) and not widget.count():
        return False
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget is None or not widget.visibleRegion().isEmpty()


def _import_desk() -> None:
    import viewer.gui.window.controller  # noqa: F401
