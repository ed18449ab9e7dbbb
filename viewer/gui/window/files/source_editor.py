"""Opens a line of a source file in the user's editor.

The path comes from a trace, which is not trusted. Only the file that a panel shows is opened, by
its absolute path, and only a program of the user's choice is started: directly, without a shell.
"""

from __future__ import annotations

import os
import re
import sys

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices

from viewer.gui.qt.settings import EDITOR
from viewer.gui.window.frame.shell import Shell
from viewer.program.sources.files import MAX_SOURCE, file_name, is_plain_file

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
    """The environment of the user."""
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
