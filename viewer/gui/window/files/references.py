"""Opens what logged values are compared with, and the debug buffers that have them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from viewer.codecs.reading import UnreadableFile
from viewer.gui.qt.settings import LAST_FOLDER, Settings
from viewer.gui.session.session import Session
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell

if TYPE_CHECKING:
    from viewer.gui.session.numbers.references import Reference


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
        from viewer.gui.session.numbers.references import FileKind, Reference, kind_of_file

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
