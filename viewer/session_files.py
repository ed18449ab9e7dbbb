"""Keeps what is open and seen in a session file, takes it up again, and watches the files.

* *Save session* writes the inputs, choices and view of the moment (`viewer.session_file`).
* A session file that is opened takes the place of what is open. Inputs that are not where they were
  are looked for beside it and by their hash, and then asked for; what cannot be had is said.
* An input that changes on disk is offered to be read again, with the view kept.
* What was open when the window closed can be taken up again, if nobody saved it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from viewer.background import Latest
from viewer.commands import Command, Need
from viewer.export.atomic import Cancelled, Progress, never_cancelled, write_whole
from viewer.export.input_files import Stamp, stamp_of
from viewer.formats import UnreadableFile
from viewer.opening import Inferences, OpenTrace, display_name
from viewer.resources import resource
from viewer.session_file import (
    SUFFIX,
    VERSION,
    FoundInput,
    SavedSession,
    changed_inputs,
    choices_of,
    encoded,
    find_inputs,
    input_of,
    kept_choices,
    read,
    write,
)
from viewer.session_view import kept_view, shown_view

if TYPE_CHECKING:
    from viewer.desk import Desk
    from viewer.session import Session

FILTER = f"Opscope sessions (*{SUFFIX})"
LAST = "last" + SUFFIX
# A program that writes a file does so in several steps: it is looked at after so much quiet.
SETTLES_MS = 400
# A system has few watches; of more open files the first ones are watched.
_MOST_WATCHED = 200


@dataclass(frozen=True, slots=True)
class _Opening:
    """A session whose inputs are being read: where each of them is, None for none."""

    name: str
    saved: SavedSession
    found: tuple[FoundInput, ...]

    @property
    def paths(self) -> list[str | None]:
        return [one.path for one in self.found]


class SessionFiles(QObject):
    """The session files of one desk. `path`: the one that was opened or saved last, "" for none.
    `last_path`: where what was open last is kept."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._desk = desk
        self._session: Session = desk.session
        self.path = ""
        self.last_path = os.path.join(desk.settings.folder, LAST)
        self._writes = ""  # the session file that is being written
        desk.closing.connect(self.keep_last)
        desk.saver.saved.connect(self._saved)
        self._opening: _Opening | None = None
        self._finding, self._checking = Latest(self), Latest(self)
        self._finding.answered.connect(self._found)
        self._checking.answered.connect(self._checked)
        self._session.added.connect(self._restore)
        self._session.opened.connect(self._watch)
        self._watcher = QFileSystemWatcher(self)
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(SETTLES_MS)
        self._settled.timeout.connect(self.look)
        self._watcher.fileChanged.connect(self._changed)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._activated)
        # Changes on disk that were told, by path: nobody is told the same twice.
        self._told: dict[str, Stamp | None] = {}
        self.warning = ""

    # -- saving ------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the session file again, or ask for one where there is none yet."""
        if self.path:
            self._write(self.path)
        else:
            self.save_as()

    def save_as(self) -> None:
        """Ask for a session file and write it."""
        first = os.path.splitext(self.path or self._session.workspace.paths[0])[0]
        if resource().is_dir() and Path(first).is_relative_to(resource()):  # a bundled sample
            first = str(Path.home() / Path(first).name)
        path, _ = QFileDialog.getSaveFileName(
            self._desk.window, "Save session", first + SUFFIX, FILTER
        )
        if path:
            self._write(path if os.path.splitext(path)[1] else path + SUFFIX)

    def _write(self, path: str) -> None:
        saved, stamps = self.snapshot(os.path.dirname(os.path.abspath(path)))

        def job(progress: Progress, cancelled: Cancelled) -> int:
            return write(path, saved, stamps, progress, cancelled)

        self._writes = path
        self._desk.save_as(path, lambda _: job, "files")

    @Slot(str, int)
    def _saved(self, path: str, count: int) -> None:
        if path == self._writes:
            self.path, self._writes = path, ""
            self._desk.settings.add_recent_file(path)
            self._desk.name_window()

    def snapshot(self, folder: str) -> tuple[SavedSession, list[Stamp | None]]:
        """The session of this moment as a file in a folder has it, and the stamps of its inputs."""
        session, space = self._session, self._session.workspace
        inputs = space.paths
        stamps = [space.stamp(path) for path in inputs]
        return SavedSession(
            VERSION,
            tuple(input_of(p, s, folder) for p, s in zip(inputs, stamps, strict=True)),
            kept_choices(space, inputs),
            kept_view(session.state, self._traces(), inputs),
        ), stamps

    def _traces(self) -> list[OpenTrace]:
        """What is open, inferences as they ran."""
        return [self._session.as_run(i) for i in range(len(self._session.traces))]

    @Slot()
    def keep_last(self) -> None:
        """Write what is open to `last_path`, unhashed; nothing where nothing is open. For the end
        of the program: raises nothing."""
        if not self._session.workspace.paths:
            return
        saved, _ = self.snapshot(os.path.dirname(self.last_path))
        with contextlib.suppress(OSError):  # it is a convenience, and the window is closing
            os.makedirs(os.path.dirname(self.last_path), exist_ok=True)
            write_whole(self.last_path, encoded(saved))

    # -- opening -----------------------------------------------------------------------------

    def open(self, path: str, also: Sequence[str] = ()) -> None:
        """Take up a session file in place of what is open; also: what else is opened with it."""
        path = os.path.abspath(path)
        try:
            saved = read(path)
        except UnreadableFile as error:
            self._desk.show_error(str(error))
            return
        self._finding.submit(_find, path, saved, tuple(also))

    @Slot(object)
    def _found(self, answer: tuple[str, SavedSession, tuple[str, ...], list[FoundInput]]) -> None:
        path, saved, also, found = answer
        self._begin(
            _Opening(display_name(path), saved, tuple(self._asked_for(f, path) for f in found)),
            also,
        )
        if path != self.last_path:
            self.path = path
            self._desk.settings.add_recent_file(path)

    def _asked_for(self, one: FoundInput, beside: str) -> FoundInput:
        """An input, asked for if it was not found."""
        if one.path is not None:
            return one
        name = one.input.path.rpartition("/")[2]
        path, _ = QFileDialog.getOpenFileName(
            self._desk.window, f"Where is {name}?", os.path.dirname(beside)
        )
        return FoundInput(one.input, path or None)

    def _begin(self, opening: _Opening, also: Sequence[str] = ()) -> None:
        """Close what is open and read the inputs."""
        paths = [path for path in opening.paths if path is not None]
        for one in opening.found:
            if one.path is None:
                self._desk.show_error(f"{opening.name}: {one.input.path} was not found")
        if not paths:
            return
        self._opening, self.warning = opening, ""
        if self._session.workspace.paths:
            self._session.close_all()
        self._desk.intake.read([*paths, *also], choices_of(opening.saved.choices, opening.paths))

    @Slot(object)
    def _restore(self, complaints: object) -> None:
        """Show what was seen, once the inputs are there."""
        opening, session = self._opening, self._session
        if opening is None or not set(opening.paths) & set(session.workspace.paths):
            return
        self._opening = None
        saved = opening.saved.view
        if saved is not None:
            state, said = shown_view(saved, session.state, self._traces(), opening.paths)
            session.take_up(state)
            wanted = [way for way in Inferences if way.value == saved.inferences]
            if wanted:
                session.show_inferences(wanted[0])
            for sentence in said:
                self._desk.show_error(f"{opening.name}: {sentence}" if opening.name else sentence)
        self._checking.submit(changed_inputs, opening.found, never_cancelled)

    @Slot(object)
    def _checked(self, changed: list[str]) -> None:
        """Say which inputs are not what they were when the session was saved."""
        for path in changed:
            self._desk.show_error(
                f"{display_name(path)} has changed since the session was saved: selection and "
                "choices are of the slices at the same places"
            )

    # -- changes on disk -----------------------------------------------------------------------

    @Slot()
    def _watch(self) -> None:
        if not self._session.workspace.paths and self._opening is None:
            self.path = ""
        wanted = {p for p in self._session.workspace.paths[:_MOST_WATCHED] if stamp_of(p)}
        now = set(self._watcher.files())
        if now - wanted:
            self._watcher.removePaths(sorted(now - wanted))
        if wanted - now:
            self._watcher.addPaths(sorted(wanted - now))

    @Slot(str)
    def _changed(self, path: str) -> None:
        self._settled.start()

    @Slot(Qt.ApplicationState)
    def _activated(self, state: Qt.ApplicationState) -> None:
        """Files on another machine change without a word: they are looked at on coming back."""
        if state is Qt.ApplicationState.ApplicationActive and self._session.workspace.paths:
            self._settled.start()

    @Slot()
    def look(self) -> None:
        """Offer to read again what is another file now. One that is gone stays as it is open."""
        space = self._session.workspace
        now = {path: stamp_of(path) for path in space.paths}
        changed = [p for p, stamp in now.items() if stamp and stamp != space.stamp(p)]
        self._watch()  # a file that was replaced is not watched any more
        if not changed or all(self._told.get(path) == now[path] for path in changed):
            return
        self._told = {path: now[path] for path in changed}
        names = ", ".join(map(display_name, changed[:3]))
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        self.warning = f"{names}{more} changed on disk"
        self._desk.show_warning(self.warning, "Reload", self.reload)

    def reload(self) -> None:
        """Read everything again that is open, and show what is seen now; nothing where a file is
        gone, which would be lost."""
        gone = [path for path in self._session.workspace.paths if stamp_of(path) is None]
        if gone:
            names = ", ".join(map(display_name, gone))
            self._desk.show_error(f"Nothing was read again: {names} is not there any more")
            return
        saved, _ = self.snapshot(os.sep)
        # Hashes are of what is not there any more.
        found = tuple(FoundInput(one, one.absolute) for one in saved.inputs)
        self._begin(_Opening("", saved, found))


def _find(
    path: str, saved: SavedSession, also: tuple[str, ...]
) -> tuple[str, SavedSession, tuple[str, ...], list[FoundInput]]:
    return path, saved, also, find_inputs(saved, os.path.dirname(path), never_cancelled)


def session_commands(desk: Desk) -> list[Command]:
    """The commands of session files."""
    files = desk.session_files
    something = Need("an open file", lambda: not desk.session.is_empty)
    return [
        Command(
            "file.save_session", "&Save session", "File", files.save, ("Ctrl+S",), something
        ),
        Command(
            "file.save_session_as", "Save session &as…", "File", files.save_as,
            ("Ctrl+Shift+S",), something,
        ),
        Command("file.reload", "Re&load files", "File", files.reload, ("F5",), something),
        Command(
            "file.last_session", "Open the last session a&gain", "File",
            lambda: files.open(files.last_path), (),
            Need("a session that was open before", lambda: os.path.exists(files.last_path)),
        ),
    ]  # fmt: skip
