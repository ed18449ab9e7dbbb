"""Locates source files that were moved, and opens source lines in the user's editor."""

from __future__ import annotations

import contextlib
import os
import re
import sys

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices

from viewer.gui.qt.settings import EDITOR, LAST_FOLDER
from viewer.gui.session.choices import add_substitution, remove_substitution
from viewer.gui.session.session import Session
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.frame.shell import Shell
from viewer.program.source_files import (
    MAX_SOURCE,
    Substitution,
    file_name,
    is_plain_file,
    is_source_name,
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


EDITORS = (
    "code -g {file}:{line}",
    "subl {file}:{line}",
    "pycharm --line {line} {file}",
    "idea --line {line} {file}",
    "emacsclient -n +{line} {file}",
    "kate -l {line} {file}",
)
# What a bundle of PyInstaller sets for itself, and other programs must not inherit.
_OF_BUNDLE = ("LD_LIBRARY_PATH", "QT_PLUGIN_PATH", "QML2_IMPORT_PATH")
# Windows starts batch files through its shell, which gives these signs in a path a meaning.
_BATCH_FILES = (".bat", ".cmd")
_SHELL_SIGNS = frozenset('&|<>^%!"')
_PLACEHOLDER = re.compile(r"\{(file|line)\}")


def editor_arguments(command: str, path: str, line: int) -> list[str]:
    """The program and arguments of an editor command, for a line of a file.

    The command is split as a POSIX shell would, but nothing in it is run or expanded. Only then
    are {file} and {line} replaced, so the path stays in one argument whatever is in it. Without
    {file}, the path is the last argument. Raises ValueError if the command is not valid.
    """
    import shlex

    try:
        parts = shlex.split(command, posix=os.name != "nt")
    except ValueError:
        raise ValueError("it has an unclosed quote or ends with a backslash") from None
    if os.name == "nt":  # where backslashes are separators; only quotes around a part are removed
        parts = [part.strip('"') for part in parts]
    if not parts or not parts[0] or _PLACEHOLDER.search(parts[0]):
        raise ValueError("it does not start with a program")
    values = {"file": os.path.abspath(path), "line": str(line)}
    arguments = [_PLACEHOLDER.sub(lambda match: values[match[1]], part) for part in parts[1:]]
    if not any("{file}" in part for part in parts):
        arguments.append(values["file"])
    return [os.path.expanduser(parts[0]), *arguments]


def is_shown_by_system(path: str) -> bool:
    """Whether the system's program for a file shows it, instead of running it."""
    if sys.platform != "linux":  # where the program for .py files may be Python itself
        return path.lower().endswith((".mlir", ".txt"))
    is_text = path.lower().endswith((".py", ".pyi", ".mlir", ".txt"))
    return is_text and not os.access(path, os.X_OK)


class SourceEditor(QObject):
    """Opens source files; errors are shown in the message bar."""

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._shell = shell

    def open(self, path: str, line: int) -> None:
        """Open a line in the editor of the settings, or in the system's program."""
        path = os.path.abspath(path)
        try:
            if not is_plain_file(path, MAX_SOURCE):
                raise ValueError(f"{path} no longer exists or is not a text file")
            command = self._shell.settings.get(EDITOR)
            if command.strip():
                self._start(command, path, line)
                opened = f"line {line} of {file_name(path)}"
            else:
                _open_in_system(path)
                opened = file_name(path)
        except ValueError as error:
            self._shell.message.show_error(str(error))
        else:
            self._shell.status.show_text(f"Opened {opened}")

    def _start(self, command: str, path: str, line: int) -> None:
        """Start the editor, without waiting for it; raises ValueError if it cannot be started."""
        try:
            name, *arguments = editor_arguments(command, path, line)
        except ValueError as error:
            raise ValueError(f"The editor command “{command}” is not valid: {error}") from None
        # Never a program of the current folder, which may be that of the trace.
        program = QStandardPaths.findExecutable(name)
        if not program:
            raise ValueError(f"The editor “{name}” was not found. Choose another in Preferences.")
        if program.lower().endswith(_BATCH_FILES) and _SHELL_SIGNS & set(path):
            raise ValueError(f"Opscope cannot safely pass {path} to the batch file {name}.")
        process = QProcess()
        process.setProgram(program)
        process.setArguments(arguments)
        process.setProcessEnvironment(_environment())
        process.setStandardInputFile(QProcess.nullDevice())
        process.setStandardOutputFile(QProcess.nullDevice())
        process.setStandardErrorFile(QProcess.nullDevice())
        if not process.startDetached():
            raise ValueError(f"{program} could not be started. Choose another in Preferences.")


def _environment() -> QProcessEnvironment:
    environment = QProcessEnvironment.systemEnvironment()
    if getattr(sys, "frozen", False):
        original = environment.value("LD_LIBRARY_PATH_ORIG")
        for name in _OF_BUNDLE:
            environment.remove(name)
        if original:
            environment.insert("LD_LIBRARY_PATH", original)
    return environment


def _open_in_system(path: str) -> None:
    """Open a file in the system's program for it; raises ValueError if that is not possible."""
    name = file_name(path)
    if not is_shown_by_system(path):
        raise ValueError(f"The system might run {name}. Choose an editor for it in Preferences.")
    if not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
        raise ValueError(f"The system has no program for {name}. Choose an editor in Preferences.")
