"""History of the view: every change can be undone, and visited places can be revisited.

Undo reverts any change: a color, a folded track, a bookmark. Back returns to the previous place
(range and selection), and leaves everything else as it is. States refer to the open files by
position, so a reload starts a new history. The old contents of the reloaded files and their history
are one `Version`. Only the last reload can be undone: the versions of earlier ones are freed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from viewer.arrays import Ints
from viewer.dataclasses import dataclass, replace
from viewer.program.program import Program
from viewer.view.state import ViewState
from viewer.workspace.open_paths import OpenFile

LONGEST = 500  # states are small and share common parts
_States = deque[ViewState]


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """Contents of files that a reload replaced, with the view and the history of that time.

    starts, programs: of each trace that was open then, the array of its starts and the program that
    it was linked to. `state` and `history` only apply to the same arrays.
    """

    files: tuple[OpenFile, ...]
    state: ViewState
    history: History
    starts: tuple[Ints, ...]
    programs: tuple[Program | None, ...]


class History:
    """The previous states of a view, and the places that it showed.

    earlier, later: the files before and after the reload that comes next to the undo steps, None
    without one.
    """

    def __init__(self) -> None:
        self.earlier: Version | None = None
        self.later: Version | None = None
        self._undo: _States = deque(maxlen=LONGEST)
        self._redo: _States = deque(maxlen=LONGEST)
        self._back: _States = deque(maxlen=LONGEST)
        self._forward: _States = deque(maxlen=LONGEST)

    def clear(self) -> None:
        """Drop all states and versions."""
        self.earlier = self.later = None
        for states in (self._undo, self._redo, self._back, self._forward):
            states.clear()

    def without_operators(self) -> None:
        """Clear the operator highlight in all states, after the links of traces have changed."""
        self.adapt(lambda state: replace(state, operators=None))

    def without_gaps(self) -> None:
        """Remove the gaps in axes from all states: they were between slices of replaced files."""
        self.adapt(lambda state: state.with_gaps({}))

    def adapt(self, adapted: Callable[[ViewState], ViewState]) -> None:
        """Replace each state, after files were opened that it does not know."""
        for states in (self._undo, self._redo, self._back, self._forward):
            view_states = [adapted(state) for state in states]
            states.clear()
            states.extend(view_states)

    def record(self, now: ViewState, to: ViewState) -> None:
        """Record that the user changed the view from one state to another."""
        self._undo.append(now)
        self._drop_redo()
        if not now.is_at(to):
            self._back.append(now)
            self._forward.clear()

    def forget(self, now: ViewState) -> None:
        """Drop the undo step to `now`, because a change in progress is reverted."""
        if self._undo and self._undo[-1] == now:
            self._undo.pop()

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._undo) or self.earlier is not None

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone change to redo."""
        return bool(self._redo) or self.later is not None

    def take_earlier(self) -> Version | None:
        """Return the version that the next undo brings back; None if it undoes a view change."""
        if self._undo:
            return None
        taken, self.earlier = self.earlier, None
        return taken

    def take_later(self) -> Version | None:
        """Return the version that the next redo brings back; None if it redoes a view change."""
        if self._redo:
            return None
        taken, self.later = self.later, None
        return taken

    def _drop_redo(self) -> None:
        self._redo.clear()
        self.later = None

    def can_go_back(self, now: ViewState) -> bool:
        """Return whether there is an earlier place that differs from the current one.

        It may be equal after an undo.
        """
        return any(not place.is_at(now) for place in reversed(self._back))

    def can_go_forward(self, now: ViewState) -> bool:
        """Return whether `back` has left another place."""
        return any(not place.is_at(now) for place in reversed(self._forward))

    def ways(self, now: ViewState) -> tuple[bool, bool]:
        """Return whether there is a way back from a state, and one forward."""
        return self.can_go_back(now), self.can_go_forward(now)

    def undo(self, now: ViewState) -> ViewState:
        """Return the state before the last change, or `now` if there is none."""
        return _step(self._undo, self._redo, now)

    def redo(self, now: ViewState) -> ViewState:
        """Return the state after the last undone change, or `now` if there is none."""
        return _step(self._redo, self._undo, now)

    def back(self, now: ViewState) -> ViewState:
        """Return the current state at the previous place; this step can be undone."""
        return self._walk(self._back, self._forward, now)

    def forward(self, now: ViewState) -> ViewState:
        """Return the current state at the place that `back` has left."""
        return self._walk(self._forward, self._back, now)

    def _walk(
        self, source: deque[ViewState], target: deque[ViewState], now: ViewState
    ) -> ViewState:
        while source:
            moved = now.at(_step(source, target, now))
            if moved != now:
                self._undo.append(now)
                self._drop_redo()
                return moved
            target.pop()
        return now


def _step(source: _States, target: _States, now: ViewState) -> ViewState:
    if not source:
        return now
    target.append(now)
    return source.pop()
