"""The main window: appears immediately with the start page, and accepts files right away.

Its functions are in its controller (`viewer.gui.window.controller`). Importing and creating that
takes three times as long as the window alone, 0.75 s compared to 0.25 s. So it is imported in a
thread after the first paint, or immediately if it is needed earlier. Nothing imported here may need
numpy.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QCoreApplication, Qt, QThread, QTimer, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.panel_spec import PanelTable
from viewer.gui.qt.background import Latest, WhenVisible
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.settings import WINDOW_GEOMETRY, Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.window.frame.panel_table import TABLE
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.help.pages import RECORDING

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController
    from viewer.gui.window.dialogs.preferences import PreferencesDialog
    from viewer.gui.window.frame.panel_registry import PanelRegistry
    from viewer.view.sessions.session_file import SavedSession
    from viewer.workspace.link_choices import Choices


class MainWindow(Shell):
    """A window and its controller, which is created as soon as possible. table: its panels."""

    def __init__(self, theme: Theme, settings: Settings, table: PanelTable = TABLE) -> None:
        super().__init__(theme, settings)
        self._table = table
        self._controller: WindowController | None = None
        self._builds: WindowController | None = None  # not complete yet
        self._agreed = False  # the user agreed to close
        self._asked: list[tuple[Sequence[str], Choices | None]] = []
        self.setAcceptDrops(True)
        self.start_page.open_requested.connect(self.open)
        self.start_page.recent_requested.connect(self._open_recent)
        self.start_page.open_dialog_requested.connect(self._open_dialog)
        self.toolbar.open_requested.connect(self._open_dialog)  # type: ignore[attr-defined]
        self.start_page.record_requested.connect(self._record)
        self.start_page.tour_requested.connect(self._take_tour)
        self.start_page.last_session_requested.connect(self._open_last_session)
        self.start_page.help_requested.connect(self._help_on_recording)
        self._importer = Latest(self)
        self._panels: PanelRegistry | None = None
        self._next_panel = QTimer(self, singleShot=True)
        self._next_panel.timeout.connect(self._prepare)
        for signal in (self._importer.answered, self._importer.failed):
            signal.connect(self._prepare)
        self._painted = WhenVisible(self.center)
        self._painted.due.connect(self._import)
        geometry = settings.get(WINDOW_GEOMETRY)
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)
        self._painted.defer()

    # -- the controller ----------------------------------------------------------------------

    @property
    def controller(self) -> WindowController:
        """The controller, created now if needed."""
        self._furnish()
        assert self._controller is not None
        return self._controller

    def background_tasks(self) -> list[Latest]:
        """All that computes in the background, for panels that have not been shown too."""
        roots: list[QWidget] = [self]
        if self._controller is not None:
            roots.append(self._controller.docks.unshown)
        return [latest for root in roots for latest in root.findChildren(Latest)]

    @property
    def panels(self) -> PanelRegistry:
        """The window's panel registry, whose session belongs to this window only."""
        from viewer.gui.session.session import Session
        from viewer.gui.timeline.scene.trace_rasters import prepare
        from viewer.gui.window.controller import WindowHost
        from viewer.gui.window.frame.panel_registry import PanelRegistry

        if self._panels is None:
            session = Session(self, [prepare])
            host_of = partial(WindowHost, session, self.theme, lambda: self._controller)
            self._panels = PanelRegistry(session, self.theme, host_of, self._table)
        return self._panels

    @Slot()
    def _import(self) -> None:
        if self._controller is None:
            self._importer.submit(_import_controller)

    @Slot()
    def _prepare(self) -> None:
        """Create the timeline or another part, and return to the event loop before the next one."""
        if self._controller is not None:
            return
        if self.panels.prepare() or self._build().prepare():
            self._next_panel.start(0)
        else:
            self._furnish()

    def _build(self) -> WindowController:
        from viewer.gui.window.controller import WindowController

        if self._builds is None:
            self._builds = WindowController(self, self.panels)
        return self._builds

    def _furnish(self) -> None:
        """Create the controller if needed, and open the files requested in the meantime."""
        if self._controller is not None:
            return
        controller = self._build()
        while controller.prepare():
            pass
        self._controller, self._builds = controller, None
        self._controller.close_guard.stayed.connect(self.stayed)
        requests, self._asked = self._asked, []
        for paths, choices in requests:
            self._controller.opener.open(paths, choices)
        self.start_page.want_pictures()

    # -- opening -----------------------------------------------------------------------------

    @Slot(list)
    def open(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Read files and add them to those open, as soon as the controller exists."""
        if self._controller is not None:
            self._controller.opener.open(paths, choices)
        elif paths:
            self._asked.append((paths, choices))
            self.reading.begin(paths)
            self.pages.setCurrentWidget(self.reading)

    def open_one(self, path: str) -> None:
        """Open one file, as requested by a file manager."""
        self.open([path])

    @Slot(list)
    def _open_recent(self, paths: list[str]) -> None:
        self.controller.comparing.reopen(paths)

    @Slot()
    def _open_dialog(self) -> None:
        self.controller.opener.open_dialog()

    @Slot()
    def _record(self) -> None:
        self.controller.commands.run("file.record")

    @Slot()
    def _open_last_session(self) -> None:
        self.controller.commands.run("file.last_session")

    # -- tour and help -----------------------------------------------------------------------

    @Slot()
    def _take_tour(self) -> None:
        self.controller.help.start_tour()

    @Slot()
    def _help_on_recording(self) -> None:
        self.controller.help.show_help(RECORDING)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open or about to be opened."""
        return not self._asked and (self._controller is None or self._controller.opener.is_empty)

    @property
    def has_changes(self) -> bool:
        """Whether there are changes that its session file does not have."""
        return self._controller is not None and self._controller.session_files.has_changes

    @property
    def open_files(self) -> list[tuple[str, str]]:
        """The (path, format) pairs of all open files."""
        if self._controller is None:
            return []
        space = self._controller.session.workspace
        files = [(trace.path, trace.format) for trace in space.traces]
        files += [(program.path, program.format) for program in space.programs]
        return files + [(executable.path, executable.format) for executable in space.executables]

    def keep_session(self) -> None:
        """Make what is open a recent session, since the program may be ended at any moment."""
        if self._controller is not None:
            self._controller.autosave.keep()
            self._controller.close_guard.expect_end()

    def autosave_now(self) -> None:
        """Save what is open, to be restored at the next start."""
        if self._controller is not None:
            self._controller.autosave.save_now()

    def close_unasked(self) -> None:
        """Close after `keep_session`, without a question."""
        if self._controller is not None:
            self._controller.autosave.leave()
        self._close_now()

    def restore(self, saved: SavedSession) -> None:
        """Open a session that a crash left."""
        self.controller.session_files.open_left(saved)

    @property
    def is_working(self) -> bool:
        """Whether it reads, writes or records something now."""
        controller = self._controller
        return controller is not None and (
            controller.work.is_busy or controller.recordings.is_running
        )

    def succeed(self, before: MainWindow) -> None:
        """Show what another window shows, in its place, without reading its files again."""
        if before.isMaximized() or before.isFullScreen():
            self.restoreGeometry(before.saveGeometry())
        else:  # restoring makes it fit on the screen, frame and all
            self.resize(before.size())
            self.move(before.pos())
        for paths, choices in before._asked:
            self.open(paths, choices)
        old = before._controller
        if old is None or not old.session.workspace.paths:
            return
        opening = old.session_files.current_opening()
        self.controller.opener.take_over(old.session.workspace.files.values())
        self.controller.session_files.restore(opening)

    @property
    def shows_preferences(self) -> bool:
        """Whether the dialog of preferences is open."""
        return bool(self._preferences)

    def show_preferences(self, name: str) -> None:
        """Open the dialog of preferences at one of them."""
        self.controller.commands.run("edit.preferences")
        for dialog in self._preferences:
            dialog.controls[name].setFocus()

    @property
    def _preferences(self) -> list[PreferencesDialog]:
        from viewer.gui.window.dialogs.preferences import PreferencesDialog

        return [dialog for dialog in self.findChildren(PreferencesDialog) if dialog.isVisible()]

    def come_to_front(self) -> None:
        """Bring the window in front of other programs, as far as the desktop permits."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    def put_away(self) -> None:
        """Free what a closed window holds, while the program continues with other windows."""
        if self._controller is not None:
            self._controller.session.close_all()
        self.deleteLater()

    # -- Qt overrides ------------------------------------------------------------------------

    @guard
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept drops anywhere on the window; `dropEvent` rejects what is not a file."""
        event.acceptProposedAction()
        self.controller.drops.enter(event.mimeData().urls())

    @guard
    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()
        self.controller.drops.move(event.position().toPoint())

    @guard
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.controller.drops.leave()

    @guard
    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.controller.drops.drop(event.mimeData().urls())

    @guard
    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask first if work would be lost; then stop background work and store the layout."""
        if (controller := self._controller) is not None:
            if not self._agreed and controller.close_guard.needs_confirmation(self._close_now):
                event.ignore()
                return
            self.closing.emit()
            controller.shut_down()
        self._next_panel.stop()
        for latest in self.background_tasks():
            latest.shutdown()
        self.settings.set(WINDOW_GEOMETRY, self.saveGeometry())
        event.accept()
        self.closed.emit(self)

    def _close_now(self) -> None:
        self._agreed = True
        self.close()

    # -- screenshots -------------------------------------------------------------------------

    def settle(self, seconds: float = 10.0) -> None:
        """Process events until layouts and background work have finished, or `seconds` pass."""
        timeline = self.controller.timeline
        deadline = time.monotonic() + seconds
        quiet = 0
        while quiet < 10 and time.monotonic() < deadline:
            QCoreApplication.processEvents()
            waiting = timeline.is_moving or any(x.pending for x in self.background_tasks())
            quiet = 0 if waiting else quiet + 1
            if waiting:
                QThread.msleep(2)  # let worker threads run

    def picture_png(self) -> bytes:
        """A PNG image of the window as it currently looks."""
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        self.grab().save(buffer, "PNG")
        return bytes(buffer.data().data())


def _import_controller() -> None:
    """Import what the controller needs, in a thread."""
    import viewer.gui.window.controller  # noqa: F401
