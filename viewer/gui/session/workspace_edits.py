"""Applies changes to the workspace in sequence, off the GUI thread if many slices must be linked.

Each change is made on a private copy of the workspace, together with the links, labels and views
that depend on it. The copy replaces the workspace only when all of that is ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy

from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.links.coverage import coverage_of
from viewer.dataclasses import dataclass
from viewer.gui.qt.background import Latest
from viewer.model.inference_views import Inferences
from viewer.model.trace import Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.view.history import Version
from viewer.view.open_trace import AT_ONCE, OpenTrace, Views, Work, views_of
from viewer.workspace.link_choices import Choices, apply
from viewer.workspace.workspace import Workspace

Change = Callable[[Workspace], object]
# The workspace, the inference views to make, and the views made so far.
ShownWorkspace = tuple[Workspace, set[Inferences], Views]


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the workspace.

    `then` is called with the change's result. `slices` is the number of slices it adds, and `adds`
    is True if it opens files. `returns_to` is the version of files that it brings back, and
    `is_undo` whether by undo instead of redo.
    """

    change: Change
    then: Callable[[object], object] = lambda result: None
    slices: int = 0
    adds: bool = False
    returns_to: Version | None = None
    is_undo: bool = False

    @property
    def step(self) -> str:
        """What it is to files that it replaces: "reload", "undo" or "redo"."""
        return "undo" if self.is_undo else "redo" if self.returns_to else "reload"


@dataclass(frozen=True, slots=True)
class Edited:
    """A workspace after an edit, with its views; `complaint` is set if the change was rejected."""

    edit: Edit
    space: Workspace
    views: Views
    result: object = None
    complaint: str = ""


class WorkspaceEdits(QObject):
    """A queue of edits; `done` emits an `Edited`, and the next edit starts after it is shown.

    For an edit computed in a thread, `about_to_change` is emitted one event loop turn before
    `done`.
    """

    about_to_change = Signal()
    done = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        workspace: Callable[[], ShownWorkspace],
        prepare: Sequence[Work],
        parent: QObject | None = None,
    ) -> None:
        """workspace: returns the current one and its views. prepare: work to do for each trace."""
        super().__init__(parent)
        self._workspace, self._prepare = workspace, tuple(prepare)
        self._edits: deque[Edit] = deque()
        # Changes made after the running edit copied the workspace; its copy lacks them.
        self._meanwhile: list[Change] = []
        self._latest = Latest(self, self._take, apart=True)
        self._latest.about_to_answer.connect(self.about_to_change)
        self._latest.failed.connect(self._not_made)

    def submit(self, edit: Edit) -> None:
        """Queue an edit; it runs after those submitted before it."""
        self._edits.append(edit)
        if not self._latest.pending:
            self._next()

    def catch_up(self, change: Change) -> None:
        """Apply a change, which the workspace already has, to the copy of the running edit too."""
        if self._latest.pending:
            self._meanwhile.append(change)

    def clear(self) -> None:
        """Drop all unfinished edits."""
        self._edits.clear()
        self._meanwhile.clear()
        self._latest.cancel()

    def _next(self) -> None:
        if not self._edits:
            return
        edit, (space, inferences, traces) = self._edits[0], self._workspace()
        arguments = edit, copy(space), inferences, traces, self._prepare
        if edit.slices + slices_of_all(space) <= AT_ONCE:
            self._hand_over(_work_out(*arguments))
        else:
            self._latest.submit(_work_out, *arguments)

    @Slot(object)
    def _take(self, edited: Edited) -> None:
        self._hand_over(edited)

    def _hand_over(self, edited: Edited) -> None:
        self._edits.popleft()
        for change in self._meanwhile:
            change(edited.space)
        self._meanwhile.clear()
        self.done.emit(edited)
        self._next()

    @Slot(str)
    def _not_made(self, sentence: str) -> None:
        """Drop the failed edit, whose error was already reported; the workspace stays unchanged."""
        self._edits.popleft()
        self.failed.emit(sentence)
        self._next()


def opening(
    items: Sequence[Trace | Program | Executable],
    choices: Choices,
    found_for: Mapping[str, str],
    then: Callable[[object], object],
) -> Edit:
    """The edit that adds items that were read; see `Session.add`."""

    def change(space: Workspace) -> object:
        for item in items:
            space.add(item, found_for=found_for.get(item.path))
        return apply(choices, space)

    return Edit(change, then, _slices_of(items), adds=True)


def returning(version: Version, then: Callable[[object], object], *, is_undo: bool) -> Edit:
    """The edit that brings back contents of files, which a reload or its undo replaced."""

    def change(space: Workspace) -> object:
        for file in version.files:
            space.add(file.item, found_for=file.found_for, stamp=file.stamp)
        return []

    slices = _slices_of([file.item for file in version.files])
    return Edit(change, then, slices, adds=True, returns_to=version, is_undo=is_undo)


def _slices_of(items: Sequence[Trace | Program | Executable]) -> int:
    return sum(len(item.slices) for item in items if isinstance(item, Trace))


def work_out_view(
    space: Workspace, inferences: Inferences, views: Views, prepare: Sequence[Work]
) -> tuple[Inferences, Views]:
    """Another display of inferences, and all views with it."""
    return inferences, views_of(space, {inferences}, views, prepare)


def count_linked(open_trace: OpenTrace) -> None:
    """Compute the coverage of a trace, which several panels show; it is that of the file."""
    if open_trace.trace is open_trace.file:
        coverage_of(open_trace.table)


def find_outliers(open_trace: OpenTrace) -> None:
    """Compute the inferences that are slow, which the first view shows."""
    _ = open_trace.findings.outliers


def slices_of_all(space: Workspace) -> int:
    """The number of slices in all files of a workspace."""
    return sum(len(trace.slices) for trace in space.traces)


def _work_out(
    edit: Edit, space: Workspace, wanted: set[Inferences], views: Views, prepare: Sequence[Work]
) -> Edited:
    """Apply an edit to a private copy of the workspace and build its links, labels and views."""
    result, complaint = None, ""
    try:
        result = edit.change(space)
    except ValueError as error:
        # An earlier edit removed what this one refers to.
        complaint = str(error)
    return Edited(edit, space, views_of(space, wanted, views, prepare), result, complaint)
