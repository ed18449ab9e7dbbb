"""Begins comparisons: with other files, with references of logged values, or with recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from viewer.codecs.reading import UnreadableFile
from viewer.formats import formats
from viewer.gui.qt.background import Latest
from viewer.gui.qt.settings import LAST_FOLDER, Settings
from viewer.gui.session.choices import pair_files
from viewer.gui.session.comparison import compare, compare_files
from viewer.gui.session.session import Session
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.unsaved_work import CloseGuard
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.view.state import ChosenArm, ComparedArms
from viewer.workspace.link_choices import Choices

if TYPE_CHECKING:
    from viewer.gui.session.feeds.references import Reference
    from viewer.gui.session.recording import Recording
    from viewer.gui.window.dialogs.compare import CompareDialog
    from viewer.gui.window.dialogs.record import RecordDialog
    from viewer.recording.recorder import Outcome


class Comparing(QObject):
    """Opens files for comparison with the open profiles of one window."""

    def __init__(self, session: Session, opener: FileOpener, docks: Docks, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._opener, self._shell = session, opener, shell
        self._docks = docks
        self._settings: Settings = shell.settings
        self._wanted: tuple[str, ...] = ()
        self._added_to_arm: tuple[str, ...] = ()
        self._reopened: ComparedArms | None = None  # arms of recent files that are being read
        self.dialog: CompareDialog | None = None
        self._looking = Latest(self, self._take_paths)
        self._looking.failed.connect(shell.message.show_error)
        session.files_added.connect(self._added)
        session.compared.connect(self._remember)
        opener.nothing_opened.connect(self._give_up)

    @property
    def is_possible(self) -> bool:
        """Whether there is a profile to compare others with."""
        return bool(self._session.traces)

    def choose(self) -> None:
        """Ask for both arms, and compare them."""
        from viewer.gui.window.dialogs.compare import CompareDialog

        dialog = self.dialog = CompareDialog(self._session, self._shell.theme, self._shell)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.files_wanted.connect(self._ask)
        dialog.dropped.connect(self._add)
        dialog.compared.connect(self._compare)
        dialog.finished.connect(self._close)
        dialog.open()

    @Slot()
    def _close(self) -> None:
        self.dialog = None

    @Slot(int)
    def _ask(self, arm: int) -> None:
        """Ask for files to add to an arm."""
        from viewer.analysis.comparison.session_test import LEAST_SESSIONS
        from viewer.gui.window.dialogs.compare import ARMS
        from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind

        suffixes = [suffix for form in formats() for suffix in form.suffixes]
        patterns = " ".join(dict.fromkeys(f"*{suffix}" for suffix in suffixes))
        question = FileQuestion(
            PathKind.OPEN_FILES,
            f"Add files to {ARMS[arm]}",
            f"Choose the profiles of {ARMS[arm]}: {LEAST_SESSIONS} or more recordings of one "
            "program for a verdict, and its ETRecord if it has one.",
            self._settings.get(LAST_FOLDER),
            f"Profiles, ETRecords ({patterns});;All files (*)",
        )
        answer = question.ask(self.dialog, self._shell.theme)
        if answer.paths:
            self._settings.set(LAST_FOLDER, os.path.dirname(answer.path))
            self._add(arm, answer.paths)

    @Slot(int, object)
    def _add(self, arm: int, paths: Sequence[str]) -> None:
        """Open files for an arm of the dialog."""
        wanted = [os.path.abspath(path) for path in paths]
        if self.dialog is None:
            return
        self.dialog.expect(arm, wanted)
        self._added_to_arm = tuple(wanted)
        self._read(wanted)

    @Slot(object)
    def _compare(self, arms: ComparedArms) -> None:
        compare(self._session, arms)
        self._docks.show_panel("compare")

    def reopen(self, paths: Sequence[str]) -> None:
        """Open recent files; compare them again if they were, and nothing else is open."""
        rows = (row for row in self._settings.recent_files() if row.b and {*paths} <= {*row.paths})
        arms = (ComparedArms(ChosenArm(row.a), ChosenArm(row.b)) for row in rows)
        self._reopened = next(arms, None) if self._session.is_empty else None
        self._opener.open(paths)

    @Slot()
    def _remember(self) -> None:
        """Remember the arms, so that *Recent* names them."""
        arms = self._session.state.compared
        if arms is not None and not (arms.a.numbers or arms.b.numbers):
            self._settings.add_recent_arms(arms.a.paths, arms.b.paths)
            self._shell.start_page.refresh_recent()

    def start(self, paths: Sequence[str]) -> None:
        """Open files and folders as arm B; what is open now is arm A."""
        folders = [path for path in paths if os.path.isdir(path)]
        self._wanted = tuple(os.path.abspath(path) for path in paths if path not in folders)
        if folders:
            self._looking.submit(_profiles_in, tuple(folders))
        else:
            self._open()

    @Slot(object)
    def _take_paths(self, paths: tuple[str, ...]) -> None:
        self._wanted += paths
        if self._wanted:
            self._open()
        else:
            self._shell.message.show_error("There is no profile in this folder to compare with")

    def _open(self) -> None:
        if not self._read(self._wanted):
            self._finish()

    def _read(self, paths: Sequence[str]) -> bool:
        """Read the files that are not open; returns whether there are any."""
        space = self._session.workspace
        new = [path for path in paths if path not in space.paths]
        if not new:
            return False
        # A second ETRecord must not take the profiles of A from the first.
        links = ((trace.path, space.links(trace).program_path) for trace in space.traces)
        pairs = tuple((path, record) for path, record in links if record is not None)
        self._opener.read(new, Choices(pairs=pairs))
        return True

    @Slot(object)
    def _added(self, complaints: list[str]) -> None:
        if self._opener.is_busy:
            return
        if self._added_to_arm:
            self._link(self._added_to_arm)
            self._added_to_arm = ()
        if self._wanted:
            self._finish()
        if self._reopened is not None:
            arms, self._reopened = self._reopened.among(self._session.workspace.paths), None
            if arms is not None:
                self._compare(arms)

    @Slot()
    def _give_up(self) -> None:
        self._wanted = self._added_to_arm = ()
        self._reopened = None

    def _finish(self) -> None:
        wanted, self._wanted = self._wanted, ()
        self._link(wanted)
        problem = compare_files(self._session, wanted)
        if problem:
            self._shell.message.show_error(problem)
        else:
            self._docks.show_panel("compare")

    def _link(self, wanted: Sequence[str]) -> None:
        """Link profiles to the ETRecord that was chosen with them, if it matches."""
        space = self._session.workspace
        programs = [p.path for p in space.programs if p.path in wanted and p.methods]
        if len(programs) == 1:
            for trace in space.traces:
                linked = space.links(trace).program_path
                matching = [c for c in space.candidates(trace) if c.trace_match.match.belongs]
                matches = programs[0] in {candidate.program.path for candidate in matching}
                if trace.path in wanted and linked is None and matches:
                    pair_files(self._session, trace.path, programs[0])


def _profiles_in(folders: tuple[str, ...]) -> tuple[str, ...]:
    from viewer.formats.folders import look_through

    return tuple(
        os.path.abspath(file.path)
        for folder in folders
        for file in look_through(folder).files
        if file.is_meant
    )


_REFERENCES = "ETDumps, arrays, bundled programs (*.etdp *.etdump *.npz *.bpte *.bin)"
_BUFFERS = "Debug buffers (*.bin)"
_ALL = ";;All files (*)"


class References(QObject):
    """Chooses references for one window; what cannot be used is said with the reason."""

    def __init__(self, session: Session, opener: FileOpener, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._opener, self._shell = session, opener, shell
        self._settings: Settings = shell.settings

    @Slot()
    def choose(self) -> None:
        """Ask for a reference, and for what belongs to it, and compare with it."""
        paths = self._ask(
            "Compare values with",
            "Choose what the logged values are compared with: an ETDump of another run, arrays of "
            "NumPy or a bundled program; with the debug buffer if it has one.",
            f"{_REFERENCES}{_ALL}",
        )
        if paths:
            self.take(paths)

    @Slot()
    def choose_buffer(self) -> None:
        """Ask for the debug buffer of a profile."""
        paths = self._ask(
            "Choose a debug buffer",
            "Choose the debug buffer that was written with the ETDump. It has the logged values.",
            _BUFFERS,
        )
        if paths:
            self.take(paths)

    @Slot(object)
    def take(self, paths: Sequence[str]) -> None:
        """Use files: debug buffers, and one reference. A profile is opened, too."""
        from viewer.gui.session.feeds.numbers import NumbersFeed
        from viewer.gui.session.feeds.references import FileKind, Reference, kind_of_file

        feed = NumbersFeed.of(self._session)
        references: list[Reference] = []
        for path in map(os.path.abspath, paths):
            try:
                kind = kind_of_file(path)
            except UnreadableFile as error:
                self._shell.message.show_error(str(error))
                continue
            if kind is FileKind.BUFFER:
                feed.add_buffer(path)
                continue
            if kind is FileKind.PROFILE and path not in self._session.workspace.paths:
                self._opener.read([path])
            references.append(Reference(path))
        if references:
            feed.choose(references[0])

    def _ask(self, title: str, instruction: str, patterns: str) -> Sequence[str]:
        from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind

        start = self._settings.get(LAST_FOLDER)
        question = FileQuestion(PathKind.OPEN_FILES, title, instruction, start, patterns)
        return question.ask(self._shell, self._shell.theme).paths


class Recordings(QObject):
    """The recordings of one window."""

    def __init__(
        self,
        session: Session,
        opener: FileOpener,
        comparing: Comparing,
        guard: CloseGuard,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._opener, self._comparing = session, opener, comparing
        self._guard, self._shell = guard, shell
        self.dialog: RecordDialog | None = None
        self._b: list[str] = []  # the files of B, while those of A are read
        session.files_added.connect(self._added)
        opener.nothing_opened.connect(self._give_up)

    @cached_property
    def recording(self) -> Recording:
        """What records; made when the dialog is first shown."""
        from viewer.gui.session.recording import Recording

        recording = Recording(self)
        self._shell.closing.connect(recording.shut_down)
        return recording

    @property
    def is_running(self) -> bool:
        """Whether something is being recorded or checked."""
        return self.dialog is not None and self.recording.is_running

    def show(self) -> None:
        """Show the dialog, as it was left."""
        if self.dialog is None:
            from viewer.gui.window.dialogs.record import RecordDialog

            shell = self._shell
            self.dialog = RecordDialog(self.recording, shell.settings, shell.theme, shell)
            self.dialog.recorded.connect(self._open)
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    @Slot(object)
    def _open(self, outcome: Outcome) -> None:
        """Open what was recorded in place of what is open, once no work would be lost."""
        self._guard.confirm_then(partial(self._replace, outcome))

    def _replace(self, outcome: Outcome) -> None:
        a, *b = outcome.files.values()
        if not self._session.is_empty:
            self._session.close_all()
        self._b = b[0] if b else []
        self._opener.open(a)

    @Slot(object)
    def _added(self, complaints: list[str]) -> None:
        if self._b and not self._opener.is_busy:
            b, self._b = self._b, []
            self._comparing.start(b)

    @Slot()
    def _give_up(self) -> None:
        self._b = []
