"""Saves and restores sessions, and watches open files for changes.

Opening a session file replaces what is open. Inputs that were moved are searched next to it and by
their hash; then the user is asked. When an input changes on disk, the user can reload it, and the
view stays. What is closed or replaced is kept and can be restored, even if it was not saved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from viewer.codecs.file_bytes import FileStamp, stamp_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled
from viewer.dataclasses import dataclass
from viewer.gui.qt.background import Latest
from viewer.gui.session.choices import TableChoices
from viewer.gui.session.file_jobs import Saver
from viewer.gui.session.session import Session
from viewer.gui.window.files.export_actions import ExportActions
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.resources import stem_beside
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.recent_sessions import RecentSessions, UnsavedWork, work_of
from viewer.view.sessions.saved_view import kept_view, shown_view
from viewer.view.sessions.session_file import (
    SUFFIX,
    VERSION,
    FoundInput,
    SavedSession,
    changed_inputs,
    choices_of,
    find_inputs,
    input_of,
    kept_choices,
    read,
    write,
)

if TYPE_CHECKING:
    from viewer.gui.window.dialogs.file_dialog import PathKind


FILTER = f"Opscope sessions (*{SUFFIX})"
# Programs write files in several steps, so wait for this long after the last change.
SETTLES_MS = 400
# The number of watches is limited by the system, so only the first open files are watched.
_MOST_WATCHED = 200


@dataclass(frozen=True, slots=True)
class Opening:
    """A session whose inputs are being read, with the path of each input (None if not found).

    `name` is used in messages on missing parts, "" for none. `path` is the user's session file, ""
    for none. `written` is the work stored in that file, None if it has everything.
    """

    name: str
    saved: SavedSession
    inputs: tuple[FoundInput, ...]
    path: str = ""
    written: UnsavedWork | None = None

    @property
    def paths(self) -> list[str | None]:
        return [found_input.path for found_input in self.inputs]


class SessionFiles(QObject):
    """The session files of one window.

    `path` is the file last opened or saved, "" for none. `recent` holds sessions kept without
    saving. `written` is emitted with whether a session file was saved. `confirm_close` runs a
    function that closes everything open, once no work would be lost.
    """

    written = Signal(bool)

    def __init__(
        self,
        session: Session,
        opener: FileOpener,
        saver: Saver,
        exports: ExportActions,
        docks: Docks,
        confirm_close: Callable[[Callable[[], None]], None],
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._opener, self._saver, self._exports = session, opener, saver, exports
        self._docks, self._confirm_close, self._shell = docks, confirm_close, shell
        self._settings, self._message = shell.settings, shell.message
        self.path = ""
        self.recent = RecentSessions(self._settings.folder)
        self._in_file: UnsavedWork | None = None  # the work stored in the file at `path`
        # The session file being written, and the work in it.
        self._writes: tuple[str, UnsavedWork] | None = None
        saver.saved.connect(self._saved)
        saver.failed.connect(self._not_saved)
        self._opening: Opening | None = None
        self._finding = Latest(self, self._take_session)
        self._checking = Latest(self, self._checked)
        self._session.files_added.connect(self._restore)
        opener.nothing_opened.connect(self._give_up)
        self._session.workspace_changed.connect(self._watch)
        self._watcher = QFileSystemWatcher(self)
        self._settled = QTimer(self, interval=SETTLES_MS, singleShot=True)
        self._settled.timeout.connect(self.look)
        self._watcher.fileChanged.connect(self._changed)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._activated)
        # Reported changes on disk by path, so that each is reported only once.
        self._reported: dict[str, FileStamp | None] = {}
        self.warning = ""

    # -- saving ------------------------------------------------------------------------------

    def save(self) -> None:
        """Save to the current session file, or ask for one if there is none."""
        if self.path:
            self._write(self.path)
        else:
            self.save_as()

    def save_as(self) -> None:
        """Ask for a session file, and save to it."""
        from viewer.gui.window.dialogs.file_dialog import PathKind

        if self._session.is_empty:  # closed while it was asked whether to save
            self.written.emit(False)
            return
        first = stem_beside(self.path or self._session.workspace.paths[0])
        path = self._ask(
            PathKind.SAVE_FILE,
            "Save session",
            "A session has the paths of the open files, and what you arranged, selected and "
            "bookmarked; not the files themselves.",
            first + SUFFIX,
            FILTER,
        )
        if path:
            self._write(path if os.path.splitext(path)[1] else path + SUFFIX)
        else:
            self.written.emit(False)

    def _write(self, path: str) -> None:
        if self._saver.is_busy:
            self._message.show_error(f"{path} was not written: another file is still being saved")
            self.written.emit(False)
            return
        saved, stamps = self.snapshot(os.path.dirname(os.path.abspath(path)))

        def job(progress: Progress, cancelled: Cancelled) -> int:
            return write(path, saved, stamps, progress, cancelled)

        self._writes = path, work_of(saved)
        self._exports.save_as(path, lambda _: job, "files")

    @Slot(str, int)
    def _saved(self, path: str, count: int) -> None:
        if self._writes is not None and path == self._writes[0]:
            (self.path, self._in_file), self._writes = self._writes, None
            self._settings.add_recent_set([path])
            self.update_title()
            self.written.emit(True)

    @Slot(str, str)
    def _not_saved(self, path: str, message: str) -> None:
        if self._writes is not None and path == self._writes[0]:
            self._writes = None
            self.written.emit(False)

    @property
    def is_writing(self) -> bool:
        """Whether a session file is being written."""
        return self._writes is not None

    @property
    def is_restoring(self) -> bool:
        """Whether the inputs of a session are being read, so that its view is not shown yet."""
        return self._opening is not None

    @property
    def has_last(self) -> bool:
        """Whether there is a previous session."""
        return os.path.exists(self.recent.newest)

    def open_last(self) -> None:
        """Restore the previous session."""
        self.open(self.recent.newest)

    @property
    def work(self) -> UnsavedWork:
        """The user's work on the open files, such as bookmarks and link choices."""
        return work_of(self.snapshot(self.recent.folder)[0])

    @property
    def has_changes(self) -> bool:
        """Whether there is work that the user's session file does not have."""
        return bool(self.path and self._session.workspace.paths) and self.work != self._in_file

    def snapshot(self, folder: str) -> tuple[SavedSession, list[FileStamp | None]]:
        """The current session as stored in a file in `folder`, and the stamps of its inputs."""
        from viewer.gui.session.feeds.numbers import NumbersFeed
        from viewer.gui.session.feeds.references import kept_choice

        session, space = self._session, self._session.workspace
        inputs = space.paths
        stamps = [space.stamp(path) for path in inputs]
        view = kept_view(session.state, self._traces(), inputs)
        return SavedSession(
            VERSION,
            tuple(input_of(p, s, folder) for p, s in zip(inputs, stamps, strict=True)),
            kept_choices(space, inputs),
            msgspec.structs.replace(
                view,
                front=self._docks.front_tabs,
                panels=self._docks.choices,
                numbers=kept_choice(NumbersFeed.of(session).choice, folder),
                tables=TableChoices.of(session).saved,
            ),
        ), stamps

    def _traces(self) -> list[OpenTrace]:
        """The open traces, with inferences as they ran."""
        return [self._session.as_run(i) for i in range(len(self._session.traces))]

    def keep(self) -> bool:
        """Store the current session, without hashes, as the last one; False if writing fails."""
        try:
            self.recent.keep(self.snapshot(self.recent.folder)[0])
        except OSError:
            return False
        return True

    def current_opening(self) -> Opening:
        """The current session, for restoring it from its files in place."""
        saved, _ = self.snapshot(os.sep)
        # Not hashed, because the files may have changed or be gone.
        found_inputs = tuple(
            FoundInput(saved_input, saved_input.absolute) for saved_input in saved.inputs
        )
        return Opening("", saved, found_inputs, self.path, self._in_file)

    def update_title(self) -> None:
        """Set the window's title to its session file, or to the open files."""
        names = [display_name(path) for path in self._session.workspace.paths]
        if self.path and names:
            names = [display_name(self.path)]
        # Qt replaces "[*]" in a title, and shows "[*]" for two of them.
        title = ", ".join(names[:3]).replace("[*]", "[*][*]")
        self._shell.setWindowTitle(f"{title} – Opscope" if names else "Opscope")

    # -- opening -----------------------------------------------------------------------------

    def open(self, path: str, others: Sequence[str] = ()) -> None:
        """Replace what is open with a session file; `others` are other files to open with it."""
        path = os.path.abspath(path)
        try:
            saved = read(path)
        except UnreadableFile as error:
            self._message.show_error(str(error))
            return
        self._finding.submit(_find, path, saved, tuple(others))

    def open_left(self, saved: SavedSession) -> None:
        """Replace what is open with a session that a crash left."""
        self._finding.submit(_find, self.recent.newest, saved, ())

    @Slot(object)
    def _take_session(
        self, answer: tuple[str, SavedSession, tuple[str, ...], list[FoundInput]]
    ) -> None:
        path, saved, others, found_inputs = answer
        located = tuple(self._asked_for(found_input, path) for found_input in found_inputs)
        mine = "" if self.recent.owns(path) else path
        self._begin(Opening(display_name(path), saved, located, mine), others)

    def _asked_for(self, found_input: FoundInput, session_path: str) -> FoundInput:
        """The input, after asking the user for it if it was not found."""
        from viewer.gui.window.dialogs.file_dialog import PathKind

        if found_input.path is not None:
            return found_input
        name = found_input.input.path.rpartition("/")[2]
        path = self._ask(
            PathKind.OPEN_FILE,
            f"Where is {name}?",
            f"The session has {name} open, which is not where it was. Choose the file, or cancel "
            "to open the rest.",
            os.path.dirname(session_path),
        )
        return FoundInput(found_input.input, path or None)

    def _ask(
        self, kind: PathKind, title: str, instruction: str, start: str, filters: str = ""
    ) -> str:
        from viewer.gui.window.dialogs.file_dialog import FileQuestion

        question = FileQuestion(kind, title, instruction, start, filters)
        return question.ask(self._shell, self._shell.theme).path

    def _begin(self, opening: Opening, others: Sequence[str] = ()) -> None:
        """Report missing inputs, and replace what is open once no work would be lost."""
        paths = [path for path in opening.paths if path is not None]
        for found_input in opening.inputs:
            if found_input.path is None:
                self._message.show_error(f"{opening.name}: {found_input.input.path} was not found")
        if paths:
            self._confirm_close(partial(self._replace, opening, others))

    def _replace(self, opening: Opening, others: Sequence[str]) -> None:
        """Replace what is open, and what is being read, with a session."""
        self._opener.cancel()
        self._session.close_all()
        self.restore(opening, others)

    def restore(self, opening: Opening, others: Sequence[str] = ()) -> None:
        """Close everything without asking, and read the inputs of a session."""
        self._opening, self.warning = opening, ""
        if self._session.workspace.paths:
            self._session.close_all()
        self.path, self._in_file = opening.path, opening.written
        if self.path:
            self._settings.add_recent_set([self.path])
        paths = [path for path in opening.paths if path is not None]
        self._opener.read([*paths, *others], choices_of(opening.saved.choices, opening.paths))

    @Slot(object)
    def _restore(self, complaints: object) -> None:
        """Restore the session's view, once its inputs are read."""
        opening, session = self._opening, self._session
        if opening is None:
            return
        from viewer.gui.session.feeds.numbers import NumbersFeed
        from viewer.gui.session.feeds.references import found_choice

        self._opening = None
        if not set(opening.paths) & set(session.workspace.paths):
            # None of its files could be read, and others are open, which must not be saved to it.
            self.path = ""
            self.update_title()
            return
        if (saved := opening.saved.view) is not None:
            session.show_inferences(Inferences.AS_RUN)  # what the saved view refers to
            state, messages = shown_view(saved, session.state, self._traces(), opening.paths)
            session.restore_view(state)
            if views := [way for way in Inferences if way.value == saved.inferences]:
                session.show_inferences(views[0])
            inputs = [(found_input.input, found_input.path) for found_input in opening.inputs]
            folder = os.path.dirname(opening.path) or self.recent.folder
            choice, missing = found_choice(saved.numbers, folder, inputs)
            NumbersFeed.of(session).restore(choice)
            messages += (f"{path} was not found" for path in missing)
            TableChoices.of(session).restore(saved.tables)
            if saved.panels is not None:
                self._docks.restore(saved.panels)
            self._docks.bring_to_front(saved.front)
            for sentence in messages:
                self._message.show_error(
                    f"{opening.name}: {sentence}" if opening.name else sentence
                )
        if opening.written is None:
            self._in_file = self.work
        self._checking.submit(changed_inputs, opening.inputs, never_cancelled)

    @Slot()
    def _give_up(self) -> None:
        """Forget the session that was to be restored: none of its inputs could be read."""
        if self._opening is not None:
            self._opening, self.path = None, ""
            self.update_title()

    @Slot(object)
    def _checked(self, changed: list[str]) -> None:
        """Report the inputs that have changed since the session was saved."""
        for path in changed:
            self._message.show_error(
                f"{display_name(path)} has changed since the session was saved: the selection and "
                f"choices may refer to other slices"
            )

    # -- changes on disk -----------------------------------------------------------------------

    @Slot()
    def _watch(self) -> None:
        if not self._session.workspace.paths and self._opening is None:
            self.path = ""
        to_watch = {p for p in self._session.workspace.paths[:_MOST_WATCHED] if stamp_of(p)}
        watched = set(self._watcher.files())
        if watched - to_watch:
            self._watcher.removePaths(sorted(watched - to_watch))
        if to_watch - watched:
            self._watcher.addPaths(sorted(to_watch - watched))

    @Slot(str)
    def _changed(self, path: str) -> None:
        self._settled.start()

    @Slot(Qt.ApplicationState)
    def _activated(self, state: Qt.ApplicationState) -> None:
        """Check the files, because changes on network drives may not be reported."""
        if state is Qt.ApplicationState.ApplicationActive and self._session.workspace.paths:
            self._settled.start()

    @Slot()
    def look(self) -> None:
        """Offer to reload files that changed on disk; deleted ones stay open as they are."""
        space = self._session.workspace
        now = {path: stamp_of(path) for path in space.paths}
        changed = [p for p, stamp in now.items() if stamp and stamp != space.stamp(p)]
        self._watch()  # a replaced file is no longer watched
        if not changed or all(self._reported.get(path) == now[path] for path in changed):
            return
        self._reported = {path: now[path] for path in changed}
        names = ", ".join(map(display_name, changed[:3]))
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        self.warning = f"{names}{more} changed on disk"
        self._message.show_warning(self.warning, "Reload", self.reload)

    def reload(self) -> None:
        """Read all open files again; each stays open as it is until its new contents are read."""
        # A file that cannot be read now is offered again once it has changed again.
        self._reported = {path: stamp_of(path) for path in self._session.workspace.paths}
        self.warning = ""
        self._opener.reload()


def _find(
    path: str, saved: SavedSession, others: tuple[str, ...]
) -> tuple[str, SavedSession, tuple[str, ...], list[FoundInput]]:
    return path, saved, others, find_inputs(saved, os.path.dirname(path), never_cancelled)
