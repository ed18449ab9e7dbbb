"""The call path of an operator, outermost call first; each call links to its source line.

Frames of installed libraries are folded into a count, "⋯ 3", which a click unfolds.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel, QSizePolicy

from viewer.gui.panels.base.slice_facts import place_texts
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import anchor, span
from viewer.program.frames import Frame
from viewer.program.program import Operator

_UNFOLD = "unfold"
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class CallStep:
    """One call of the path.

    frame: None for folded frames. library: the number of library frames, 0 for the user's code.
    """

    frame: Frame | None
    text: str
    library: int = 0


def steps_of(operator: Operator, unfolded: bool = False) -> list[CallStep]:
    """Return the call path of an operator, outermost call first.

    unfolded: list library frames one by one. If all frames are library frames, none is folded.
    """
    texts = {id(frame): text for frame, text in place_texts(operator)}
    only_library = all(frame.is_library for frame in operator.frames)
    steps: list[CallStep] = []
    for frame in operator.frames:
        if not frame.is_library or only_library:
            steps.append(CallStep(frame, texts.get(id(frame), frame.function)))
        elif unfolded:
            steps.append(CallStep(frame, frame.function, 1))
        elif steps and steps[-1].frame is None:
            steps[-1] = CallStep(None, f"⋯ {steps[-1].library + 1}", steps[-1].library + 1)
        else:
            steps.append(CallStep(None, "⋯ 1", 1))
    return steps


class CallPath(QLabel):
    """The call path as a label. `chosen(path, line)`: a call was clicked or opened by keyboard."""

    chosen = Signal(str, int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._operator: Operator | None = None
        self._place: tuple[str, int] | None = None
        self._name = ""
        self._unfolded = False
        self.steps: list[CallStep] = []
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setFont(theme.font("header"))
        self.setAccessibleName("Calls")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.linkActivated.connect(self._follow)

    def show_path(self, operator: Operator | None, place: tuple[str, int], name: str) -> None:
        """Show the calls of an operator, with the one at `place` as the current one.

        name: the file name, shown if there are no calls.
        """
        if operator is not self._operator:
            self._unfolded = False
        self._operator, self._place, self._name = operator, place, name
        self._render()

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        """Allow a long path to be cut off instead of widening the panel."""
        return QSize(0, super().minimumSizeHint().height())

    def restyle(self) -> None:
        """Apply the theme's colors again."""
        self._render()

    def _render(self) -> None:
        theme, tokens = self._theme, self._theme.tokens
        operator = self._operator
        self.steps = [] if operator is None else steps_of(operator, self._unfolded)
        parts = []
        for i, step in enumerate(self.steps):
            if step.frame is None:
                parts.append(anchor(_UNFOLD, step.text, theme))
            elif (step.frame.path, step.frame.line) == self._place:
                parts.append(span(step.text, tokens.text1, bold=True))
            else:
                parts.append(anchor(str(i), step.text, theme))
        parts = parts or [span(self._name, tokens.text1, bold=True)]
        self.setText(span(_SEPARATOR, tokens.text3).join(parts))
        self.setFocusPolicy(
            Qt.FocusPolicy.StrongFocus if "<a " in self.text() else Qt.FocusPolicy.NoFocus
        )

    @Slot(str)
    def _follow(self, link: str) -> None:
        if link == _UNFOLD:
            self._unfolded = True
            self._render()
            return
        frame = self.steps[int(link)].frame
        if frame is not None:
            self.chosen.emit(frame.path, frame.line)
