"""The arms of a comparison in the toolbar: what they are, and how to change them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.labels import explain
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import counted

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Arm

_SIDE = 16  # px of the letter's frame
_MOST_TEXT = 200  # px of what an arm is


class ArmsBar(QWidget):
    """Shows both arms, and buttons to swap them, to show changes or costs, and to end."""

    def __init__(self, session: Session, commands: CommandTable, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._feed = ComparisonFeed.of(session)
        self._arms = (QLabel(), QLabel())
        self._swap, self._changes, self._end = (_button() for _ in range(3))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(8))
        a, b = self._arms
        letters = ArmLetter("A", theme), ArmLetter("B", theme)
        for part in (letters[0], a, self._swap, letters[1], b, self._changes, self._end):
            row.addWidget(part)
        for button, id, text in (
            (self._swap, "compare.swap", "⇄"),
            (self._changes, "compare.in_tables", "Changes"),
            (self._end, "compare.end", "End comparison"),
        ):
            # Not its default action, whose title would replace the text whenever it changes.
            button.clicked.connect(partial(commands.run, id))
            button.setText(text)
            button.setToolTip(commands.commands[id].plain_title)
            button.setAccessibleName(commands.commands[id].plain_title)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._changes.setCheckable(True)
        self._is_brief = False
        self._feed.changed.connect(self.follow)
        self.follow()

    def be_brief(self, brief: bool) -> None:
        """Show only the numbers of sessions, for a narrow window."""
        if brief != self._is_brief:
            self._is_brief = brief
            self.follow()

    def follow(self) -> None:
        """Show the current arms."""
        open_comparison = self._feed.answer
        self._changes.setChecked(self._feed.in_tables is not None)
        if open_comparison is None:
            return
        is_relative = not open_comparison.problem and open_comparison.calls.is_relative
        self._changes.setText("Relative changes" if is_relative else "Changes")
        for label, arm in zip(self._arms, open_comparison.arms, strict=True):
            text, most = _text(arm, brief=self._is_brief), self._theme.px(_MOST_TEXT)
            metrics = QFontMetricsF(label.font())
            label.setText(elided_text(metrics, text, Qt.TextElideMode.ElideMiddle, most))
            label.setAccessibleName(text)
            files = (display_name(session.table.trace.path) for session in arm.sessions)
            explain(label, "\n".join(filter(None, (arm.choice, *files))))
        self._end.setText("End" if self._is_brief else "End comparison")


class ArmLetter(QWidget):
    """The letter of an arm in a frame."""

    def __init__(self, letter: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.letter, self._theme = letter, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"Arm {letter}")

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(_SIDE) + 2
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("text2"), 1))
        painter.setBrush(theme.color("text2") if self.letter == "B" else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 2, 2)
        painter.setPen(theme.color("chrome" if self.letter == "B" else "text1"))
        painter.setFont(theme.font("section"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self.letter)
        painter.end()


def _button() -> QToolButton:
    button = QToolButton()
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
    button.setProperty("framed", True)
    return button


def _text(arm: Arm, *, brief: bool) -> str:
    from viewer.reports.compare_text import is_of_files

    if arm.choice:
        return arm.choice
    sessions = counted(len(arm.sessions), "session")
    if brief or is_of_files(arm):
        return sessions
    return f"{sessions} · {counted(sum(len(s.runs) for s in arm.sessions), 'inference')}"
