"""Files on their way in: read in the background with the texts that they name, then shown together.

Several may be read at once. They go to the session in the order in which they were asked for, when
the last of them is there, so that a record and its profile are linked in one step.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog

from viewer.formats import formats
from viewer.gui.panels.problems.panel import ProblemsPanel
from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.settings import LAST_FOLDER, Settings
from viewer.gui.session.files.loader import Loader
from viewer.gui.session.files.reading_progress import ReadingProgress
from viewer.gui.session.session import Session
from viewer.gui.session.source_paths import add_substitution
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.status_text import added_text
from viewer.model.text import display_name
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.view.session_file import SUFFIX, is_session
from viewer.workspace.companions import companion_complaint, is_text, read_companion
from viewer.workspace.link_choices import NO_CHOICES, Choices


class FileOpener(QObject):
    """What is being read for one window. `session_requested(path, others)`: a session file is to
    take the place of what is open, with other files. `nothing_came`: all that was read is gone."""

    # Python objects: a QString loses what is not Unicode in a file name.
    session_requested = Signal(object, object)
    nothing_came = Signal()

    def __init__(
        self,
        session: Session,
        loader: Loader,
        table: CommandTable,
        problems: ProblemsPanel,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self.loader, self._table = session, loader, table
        self._problems, self._shell, self._status = problems, shell, shell.status
        self._settings: Settings = shell.settings
        self._asked: list[str] = []
        self._loaded: dict[str, Trace | Program] = {}
        self._progress = ReadingProgress()
        self._given_up: list[str] = []
        self._found: dict[str, str] = {}  # companions that are read -> the traces that name them
        self._told_found = ""
        self._told_added: list[str] = []  # paths of what is added to what is open
        self._choices = NO_CHOICES
        self.loader.progressed.connect(self._loading)
        self.loader.loaded.connect(self._took)
        self.loader.failed.connect(self._load_failed)
        self.loader.cancelled.connect(self._load_cancelled)
        self.loader.all_done.connect(self._loads_done)

    @property
    def is_busy(self) -> bool:
        """Whether files are being read."""
        return bool(self.loader.paths)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open, nor being read."""
        return self._session.is_empty and not self.is_busy

    def open(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Add files to what is open, in the background; a session file takes its place."""
        kept = [path for path in paths if is_session(path)]
        if kept:
            self.session_requested.emit(kept[0], [path for path in paths if path not in kept])
        else:
            self.read(paths, choices)

    def open_dialog(self) -> None:
        """Ask for files."""
        suffixes = [suffix for known in formats() for suffix in known.suffixes]
        patterns = " ".join(dict.fromkeys(f"*{suffix}" for suffix in (*suffixes, SUFFIX)))
        paths, _ = QFileDialog.getOpenFileNames(
            self._shell,
            "Open profiles, records and sources",
            self._settings.get(LAST_FOLDER),
            f"Profiles, records, sources, sessions ({patterns});;All files (*)",
        )
        if paths:
            self.open(paths)

    def read(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Add files, none of them as a session: one that names itself would never end."""
        if choices is not None:
            self._choices = choices
            for substitution in choices.source_paths:
                add_substitution(self._session, substitution)
        for path in dict.fromkeys(os.path.abspath(p) for p in paths):
            self._asked.append(path)
            self._found.pop(path, None)
            self.loader.load(path)
        if paths:
            self._status.begin()
            if self._session.is_empty:
                self._shell.pages.setCurrentWidget(self._shell.reading)

    def give_up(self) -> None:
        """Open nothing of what is being read."""
        self._asked, self._loaded, self._found = [], {}, {}
        self._choices = NO_CHOICES
        self.loader.cancel()

    def look_for_companions(self, item: Trace | Program) -> None:
        """Read the texts too that a file names and that lie on this machine."""
        for path in self._session.workspace.companions_of(item, (*self._asked, *self._found)):
            self._found[path] = item.path
            self.loader.load(path, read_companion)

    def report_added(self) -> None:
        """Say once what was added to what was open, where the view stays as it is, and which files
        were opened because others name them."""
        paths, self._told_added = self._told_added, []
        said = added_text(self._session, paths, self._table.way_to("view.fit_file"))
        said = " · ".join(filter(None, (said, self._told_found)))
        if said:
            self._status.show_text(said)
            self._told_found = ""

    @Slot(object, object, object)
    def _loading(self, path: str, done: int, total: int) -> None:
        self._progress.reported(path, done, total)
        self._status.set_status(self._progress.text(self.loader.paths), self._progress.share)

    @Slot(object, object)
    def _took(self, path: str, item: Trace | Program) -> None:
        self._loaded[path] = item
        if isinstance(item, Trace) or item.dispatches:
            self.look_for_companions(item)
        if path not in self._found:
            self._settings.add_recent_file(path)
            self._shell.start_page.refresh_recent()

    @Slot(object, str)
    def _load_failed(self, path: str, message: str) -> None:
        if path in self._found:
            message = companion_complaint(self._found[path], message)
        self._problems.add_failure(path, message)
        # Its name alone: the Problems panel has the path, and a line of paths is read by nobody.
        self._shell.message.show_error(message.replace(path, display_name(path), 1))

    @Slot(object)
    def _load_cancelled(self, path: str) -> None:
        self._given_up.append(display_name(path))

    @Slot()
    def _loads_done(self) -> None:
        # In the order in which they were asked for, however long each of them took.
        items = [self._loaded[path] for path in self._asked if path in self._loaded]
        found = {path: trace for path, trace in self._found.items() if path in self._loaded}
        # A text that was asked for is the one that is meant.
        if any(is_text(item) for item in items):
            found = {}
        items += [self._loaded[path] for path in found]
        self._asked, self._loaded, self._found = [], {}, {}
        self._progress.clear()
        choices, self._choices = self._choices, NO_CHOICES
        if items:
            self._status.set_status("Linking")
            self._told_found = ", ".join(
                f"{display_name(path)} was opened with {display_name(trace)}, which names it"
                for path, trace in found.items()
            )
            if not self._session.is_empty:
                before = self._session.workspace.paths
                new = [item.path for item in items if item.path not in (*before, *found)]
                self._told_added = new
            self._session.add(items, choices, found)
        else:
            self.nothing_came.emit()
        if self._given_up:
            self._status.show_text(f"{', '.join(self._given_up)} was not opened")
            self._given_up = []
