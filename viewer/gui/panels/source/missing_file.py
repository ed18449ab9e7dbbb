"""What the Source panel says about a file that was not found, and the button to locate it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, explain
from viewer.model.text import one_line
from viewer.model.times import counted
from viewer.program.sources.files import PARENTS, Substitution, file_name, local_paths

LOCATE = "Locate the file…"
_MOST_FOLDERS = 5  # in the tooltip


def not_found_text(path: str) -> str:
    """The page for a file of which nothing can be shown."""
    return (
        f"{file_name(path)} was not found at its recorded path, {path}, or in or near the folders "
        "of the open files. Locate it once; Opscope then finds all sources in the same folder."
    )


def quoted_text(path: str, lines: int) -> str:
    """The notice above the recorded lines of a file."""
    these = f"these are the {lines} lines" if lines > 1 else "this is the line"
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
