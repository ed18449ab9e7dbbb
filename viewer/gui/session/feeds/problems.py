"""All problems of the open files, and of the files that could not be opened."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Self

from PySide6.QtCore import QObject, Qt, Signal, Slot

from viewer.gui.session.session import Session
from viewer.model.trace import Problem
from viewer.workspace.workspace import Workspace


class Severity(Enum):
    """The severity of a problem: its word, icon and color token."""

    ERROR = ("Error", "warning", "error")
    WARNING = ("Warning", "warning", "warning")
    NOTE = ("Note", "info", "text2")

    def __init__(self, word: str, icon: str, token: str) -> None:
        self.word = word
        self.icon = icon
        self.token = token


@dataclass(frozen=True, slots=True)
class ProblemEntry:
    """One row: what is unexpected, how often (0: not counted), where first, in which file."""

    severity: Severity
    what: str
    count: int
    first: str
    path: str


class ProblemsFeed(QObject):
    """The problems of a session; `changed` is emitted whenever they were collected again."""

    changed = Signal()

    @classmethod
    def of(cls, session: Session) -> Self:
        """The session's feed, created on first use."""
        feed = session.findChild(cls, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return feed if isinstance(feed, cls) else cls(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.failures: dict[str, str] = {}  # path -> why it could not be opened
        self.entries: list[ProblemEntry] = []
        session.workspace_changed.connect(self.refresh)
        self.refresh()

    def forget_failures(self, paths: Collection[str]) -> None:
        """Remove what could not be opened before something else was."""
        if self.failures.keys() & set(paths):
            self.failures = {p: m for p, m in self.failures.items() if p not in paths}
            self.refresh()

    def add_failure(self, path: str, message: str) -> None:
        """Add a file that could not be opened, or replace the message of this path."""
        self.failures[path] = message
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Collect all problems again."""
        space = self._session.workspace
        self.failures = {p: m for p, m in self.failures.items() if p not in space.paths}
        self.entries = _entries(space, self.failures)
        self.changed.emit()


def _entries(space: Workspace, failures: dict[str, str]) -> list[ProblemEntry]:
    """Return all problems: failed files, then doubtful matches, then unexpected data per file."""
    problem_entries = [_failure(path, message) for path, message in failures.items()]
    for trace in space.traces:
        problem_entries += [
            ProblemEntry(Severity.WARNING, w, 0, "", trace.path) for w in space.warnings(trace)
        ]
    reported: list[tuple[str, tuple[Problem, ...]]] = [(t.path, t.problems) for t in space.traces]
    reported += [(p.path, p.problems) for p in space.programs]
    reported += [(e.path, e.problems) for e in space.executables]
    for path, problems in reported:
        problem_entries += [
            ProblemEntry(Severity.NOTE, p.kind, p.count, p.first, path) for p in problems
        ]
    return problem_entries


def _failure(path: str, message: str) -> ProblemEntry:
    """Return the entry of a file that could not be opened, with path and place split off."""
    place, colon, what = message.removeprefix(path).partition(": ")
    if not message.startswith(path) or not colon:
        return ProblemEntry(Severity.ERROR, message, 0, "", path)
    return ProblemEntry(Severity.ERROR, what, 0, place.strip(" ()"), path)
