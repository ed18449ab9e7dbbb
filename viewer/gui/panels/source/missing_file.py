"""What the Source panel shows about where a file is, and the button to locate a missing one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, explain
from viewer.model.text import one_line
from viewer.model.times import counted
from viewer.program.sources.files import PARENTS, SourceFile, Substitution, file_name, local_paths
from viewer.program.sources.named_files import refusal
from viewer.program.sources.versions import VersionFit

LOCATE = "Locate the file…"
_MOST_FOLDERS = 5  # in the tooltip


def not_found_text(path: str, refused: str = "") -> str:
    """The page for a file of which nothing can be shown; refused: why it is not read."""
    return refused or (
        f"{file_name(path)} was not found at its recorded path, {path}, or in or near the folders "
        "of the open files. Locate it once; Opscope then finds all sources in the same folder."
    )


def refused_text(path: str, opened: Sequence[str], substitutions: Sequence[Substitution]) -> str:
    """Why the file of a recorded path is not read; "" if there is none. opened: as below."""
    return refusal(path, [os.path.dirname(os.path.abspath(file)) for file in opened], substitutions)


def quoted_text(path: str, lines: int, refused: str = "") -> str:
    """The notice above the recorded lines of a file; refused: why the file is not read."""
    these = f"these are the {lines} lines" if lines > 1 else "this is the line"
    if refused:
        return f"{these[0].upper()}{these[1:]} that the ETRecord quotes. {refused}"
    return f"{one_line(file_name(path))} was not found; {these} that the ETRecord quotes."


def searched_text(
    path: str, opened: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> str:
    """Where a file was looked for, one place per line. opened: the paths of the open files."""
    folders = dict.fromkeys(os.path.dirname(os.path.abspath(file)) for file in opened)
    places = [one_line(place) for place in (path, *local_paths(path, substitutions))]
    above = f"and {PARENTS} levels above"
    places += [f"{one_line(folder)}, {above}" for folder in list(folders)[:_MOST_FOLDERS]]
    if len(folders) > _MOST_FOLDERS:
        places.append(f"{counted(len(folders) - _MOST_FOLDERS, 'other folder')} of open files")
    return "\n".join(("Searched:", *places))


def version_text(fit: VersionFit) -> str:
    """Return the note for a file that differs from the recorded version."""
    line, quoted = fit.unlike[0]
    others = len(fit.unlike) - 1
    more = f", and {counted(others, 'other line')} of {fit.compared} differ" if others else ""
    return f"Different version of the file: line {line} was recorded as “{quoted}”{more}"


def shown_hint(file: SourceFile) -> str:
    """Where a shown file was read, behind symbolic links, and where it was recorded."""
    real = os.path.realpath(file.shown)
    link = "" if real == file.shown else f", a link to {one_line(real)}"
    return f"Shown from {one_line(file.shown)}{link}\nRecorded as {one_line(file.recorded)}"


class MissingFile(QWidget):
    """The notice above recorded lines. `locate_requested`: let the user find the file."""

    locate_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.text = ElidedLabel("", theme, "caption", "text2")
        self.button = QToolButton()
        self.button.setText(LOCATE)
        self.button.setProperty("framed", True)
        self.button.clicked.connect(self.locate_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(12), theme.px(3), theme.px(12), theme.px(3))
        row.setSpacing(theme.px(8))
        row.addWidget(self.text, 1)
        row.addWidget(self.button)

    def show_notice(self, notice: str, searched: str) -> None:
        """Show which lines there are, and in the tooltips where the file was looked for."""
        self.text.setText(notice)
        self.text.hint = f"{notice}\n{searched}"
        explain(self.button, searched)
