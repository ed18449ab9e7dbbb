"""History of the view: every change can be undone, and visited places can be revisited.

Two lists, as in an editor. Undo reverts any change: a color, a folded track, a bookmark. Back
returns to the previous place (range and selection), and leaves everything else as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from viewer.view.state import ViewState

LONGEST = 500  # states are small and share common parts
_States = deque[ViewState]


class History:
    """The previous states of a view, and the places that it showed."""

    def __init__(self) -> None:
        self._undo: _States = deque(maxlen=LONGEST)
        self._redo: _States = deque(maxlen=LONGEST)
        self._back: _States = deque(maxlen=LONGEST)
        self._forward: _States = deque(maxlen=LONGEST)

    def clear(self) -> None:
        """Drop all states."""
        for states in (self._undo, self._redo, self._back, self._forward):
            states.clear()

    def without_operators(self) -> None:
        """Clear the operator highlight in all states, after the links of traces have changed."""
        self.adapt(lambda state: replace(state, operators=None))

    def adapt(self, adapted: Callable[[ViewState], ViewState]) -> None:
        """Replace each state, after files were opened that it does not know."""
        for states in (self._undo, self._redo, self._back, self._forward):
            known = [adapted(state) for state in states]
            states.clear()
            states.extend(known)

    def record(self, now: ViewState, to: ViewState) -> None:
        """Record that the user changed the view from one state to another."""
        self._undo.append(now)
        self._redo.clear()
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
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone change to redo."""
        return bool(self._redo)

    def can_go_back(self, now: ViewState) -> bool:
        """Return whether there is an earlier place that differs from the current one.

        It may be equal after an undo.
        """
        return any(not place.is_at(now) for place in reversed(self._back))

    def can_go_forward(self, now: ViewState) -> bool:
        """Return whether `back` has left another place."""
        return any(not place.is_at(now) for place in reversed(self._forward))

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
                self._redo.clear()
                return moved
            target.pop()
        return now


def _step(source: _States, target: _States, now: ViewState) -> ViewState:
    if not source:
        return now
    target.append(now)
    return source.pop()
