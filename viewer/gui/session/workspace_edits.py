"""Changes of the workspace one after another, off the GUI thread where much has to be linked anew.

Every change is made in a copy that nobody else has, together with the links, labels and views that
follow from it; the copy takes the place of the workspace only when all of it is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.model.inference_views import Inferences
from viewer.view.open_trace import AT_ONCE, Views, Work, views_of
from viewer.workspace.workspace import Workspace

Change = Callable[[Workspace], object]
# The workspace, the views of its inferences that are wanted, and those that are known.
ShownWorkspace = tuple[Workspace, set[Inferences], Views]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of the workspace, how many slices come with it, and what to do with its result."""

    change: Change
    then: Callable[[object], object] = lambda result: None
    slices: int = 0
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Edited:
    """A workspace with a change made, and all that is shown of it."""

    edit: Edit
    space: Workspace
    views: Views
    result: object = None
    complaint: str = ""


class WorkspaceEdits(QObject):
    """A queue of changes. `done` hands over an `Edited`; the next begins after it was shown.

    Before what was computed in a thread `about_to_change` comes, one turn of the event loop ahead.
    """

    about_to_change = Signal()
    done = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        shown: Callable[[], ShownWorkspace],
        also: Sequence[Work],
        parent: QObject | None = None,
    ) -> None:
        """shown: asks for what is shown now. also: what else is worked out of each trace."""
        super().__init__(parent)
        self._shown, self._also = shown, also
        self._edits: deque[Edit] = deque()
        # Changes made while an edit was worked out on a copy of the workspace that lacks them.
        self._meanwhile: list[Change] = []
        self._latest = Latest(self, apart=True)
        self._latest.about_to_answer.connect(self.about_to_change)
        self._latest.answered.connect(self._made)
        self._latest.failed.connect(self._not_made)

    def submit(self, edit: Edit) -> None:
        """Change the workspace, after the changes that are still worked on."""
        self._edits.append(edit)
        if not self._latest.pending:
            self._next()

    def catch_up(self, change: Change) -> None:
        """Make a change, which the workspace has had already, in what is being worked on too."""
        if self._latest.pending:
            self._meanwhile.append(change)

    def clear(self) -> None:
        """Drop what is not done."""
        self._edits.clear()
        self._meanwhile.clear()
        self._latest.cancel()

    def _next(self) -> None:
        if not self._edits:
            return
        edit, (space, wanted, known) = self._edits[0], self._shown()
        asked = edit, copy(space), wanted, known, tuple(self._also)
        if edit.slices + slices_of_all(space) <= AT_ONCE:
            self._hand_over(_work_out(*asked))
        else:
            self._latest.submit(_work_out, *asked)

    @Slot(object)
    def _made(self, made: Edited) -> None:
        self._hand_over(made)

    def _hand_over(self, made: Edited) -> None:
        self._edits.popleft()
        for change in self._meanwhile:
            change(made.space)
        self._meanwhile.clear()
        self.done.emit(made)
        self._next()

    @Slot(str)
    def _not_made(self, sentence: str) -> None:
        """The fault is reported already; what was open stays open."""
        self._edits.popleft()
        self.failed.emit(sentence)
        self._next()


def slices_of_all(space: Workspace) -> int:
    """How many slices the files of a workspace have."""
    return sum(len(trace.slices) for trace in space.traces)


def _work_out(
    edit: Edit, space: Workspace, wanted: set[Inferences], known: Views, also: Sequence[Work]
) -> Edited:
    """Make a change in a workspace that nobody else has, and links, labels and views for it."""
    result, complaint = None, ""
    try:
        result = edit.change(space)
    except ValueError as error:
        # An earlier change has taken away what this one is about, before that could be seen.
        complaint = str(error)
    return Edited(edit, space, views_of(space, wanted, known, also), result, complaint)
