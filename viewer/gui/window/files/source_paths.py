"""Where a model's sources are on this machine: asks the user once, and remembers it."""

from __future__ import annotations

import contextlib
import os

from PySide6.QtCore import QObject

from viewer.gui.qt.settings import LAST_FOLDER
from viewer.gui.session.session import Session
from viewer.gui.session.source_paths import add_substitution, remove_substitution
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell
from viewer.program.sources.files import (
    MAX_SOURCE,
    Substitution,
    file_name,
    is_plain_file,
    substitution_between,
)


class SourcePaths(QObject):
    """The source path substitutions of one window, stored in the settings for all windows."""

    def __init__(self, session: Session, opener: FileOpener, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._opener, self._shell = session, opener, shell
        self._settings = shell.settings
        for recorded_path, local in self._settings.source_paths():
            with contextlib.suppress(ValueError):  # stored on another system
                is_file = os.path.isfile(local)  # one that the user located, of any kind
                add_substitution(
                    self._session, Substitution(recorded_path, local, any_kind=is_file)
                )

    def locate(self, recorded_path: str) -> None:
        """Ask for the local copy of a recorded source; others are then found the same way."""
        from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind
        from viewer.program.sources.named_files import is_source_name

        name = file_name(recorded_path)
        question = FileQuestion(
            PathKind.OPEN_FILE,
            f"Where is {name}?",
            f"The profile names {recorded_path}. Choose that file on this computer: others from "
            "the same folder are then found, too.",
            self._settings.get(LAST_FOLDER),
        )
        path = question.ask(self._shell, self._shell.theme).path
        if not path:
            return
        if not is_plain_file(path, MAX_SOURCE):
            self._shell.message.show_error(
                f"{path} is not a text file of at most {MAX_SOURCE >> 20} MB"
            )
            return
        try:
            # Other kinds of files are shown one by one, as they may be private.
            is_source = is_source_name(path)
            substitution = (
                substitution_between(recorded_path, path)
                if is_source
                else Substitution(recorded_path, os.path.abspath(path), any_kind=True)
            )
        except ValueError as error:
            self._shell.message.show_error(str(error))
            return
        others = [
            pair for pair in self._settings.source_paths() if pair[0] != substitution.recorded_path
        ]
        self._settings.set_source_paths([*others, (substitution.recorded_path, substitution.local)])
        add_substitution(self._session, substitution)
        for trace in self._session.workspace.traces:
            self._opener.look_for_companions(trace)

    def forget(self, gone: Substitution) -> None:
        """Forget a substitution, here and in the settings."""
        pair = (gone.recorded_path, gone.local)
        self._settings.set_source_paths([p for p in self._settings.source_paths() if p != pair])
        remove_substitution(self._session, gone)
