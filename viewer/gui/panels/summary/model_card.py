"""The summary of models that are open without a profile: what they hold, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from viewer.analysis.summary.contents import HeldCount, executable_contents, program_contents
from viewer.gui.panels.summary.sections import SectionColumn
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import group_digits

OPEN_PROFILE = "Open a profile…"
NEXT_STEP = "A profile of this model shows how long each operator takes."


class ModelCard(SectionColumn):
    """One section per ETRecord, source or program file, and a button that opens a profile."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(theme)
        space = session.workspace
        for program in space.programs:
            self._file(program.path, program.format, program_contents(program))
        for executable in space.executables:
            self._file(executable.path, executable.format, executable_contents(executable))
        self.begin("")
        self.column.addWidget(label(NEXT_STEP, theme, "cell", "text2", wrap=True))
        row = QHBoxLayout()
        self.button = QPushButton(OPEN_PROFILE)
        self.button.clicked.connect(self.open_requested)
        row.addWidget(self.button)
        row.addStretch(1)
        self.column.addSpacing(theme.px(4))
        self.column.addLayout(row)
        self.end()

    def _file(self, path: str, kind: str, held: Sequence[HeldCount]) -> None:
        """One file: its name and what it holds; a file that holds nothing to list is left out."""
        if not held:
            return
        theme = self._theme
        if self.column.count():
            self.begin("")
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(label(display_name(path), theme, "operator"))
        row.addWidget(ElidedLabel(kind, theme, "caption", "text2"), 1)
        self.column.addLayout(row)
        rows: list[Sequence[QWidget]] = []
        for one in held:
            show = partial(self.panel_requested.emit, one.panel)
            noun = one.noun if one.count == 1 else _plural(one.noun)
            rows.append(
                (self.text(group_digits(one.count), show), self.text(noun, show, elided=True))
            )
        self.grid(rows, 1)


def _plural(noun: str) -> str:
    first, space, rest = noun.partition(" ")
    return f"{first}s{space}{rest}" if first == "operator" else f"{noun}s"
