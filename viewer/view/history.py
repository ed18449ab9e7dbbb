"""How one gets back: every change of the view can be undone, and places can be walked through.

Two lists, as in an editor. Undo takes back any change: a color, a folded track, a mark. Back goes
to the place that was seen before, range and selection, and leaves all else as it is now.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from viewer.view.state import ViewState

LONGEST = 500  # states are small and share what they have in common
_States = deque[ViewState]


class History:
    """The states that a view had, and the places that it showed."""

    def __init__(self) -> None:
        self._undo: _States = deque(maxlen=LONGEST)
        self._redo: _States = deque(maxlen=LONGEST)
        self._back: _States = deque(maxlen=LONGEST)
        self._forward: _States = deque(maxlen=LONGEST)

    def clear(self) -> None:
        """Forget all."""
        for states in (self._undo, self._redo, self._back, self._forward):
            states.clear()

    def without_operators(self) -> None:
        """Highlight no operator in any of them: what traces are linked to has others now."""
        for states in (self._undo, self._redo, self._back, self._forward):
            known = [replace(state, operators=None) for state in states]
            states.clear()
            states.extend(known)

    def record(self, now: ViewState, to: ViewState) -> None:
        """The view changes from one state to another because the user did something."""
        self._undo.append(now)
        self._redo.clear()
        if not now.is_at(to):
            self._back.append(now)
            self._forward.clear()

    def forget(self, now: ViewState) -> None:
        """A change is taken back while it is still being made: no step of undo leads to `now`."""
        if self._undo and self._undo[-1] == now:
            self._undo.pop()

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo)

    def can_go_back(self, now: ViewState) -> bool:
        """Whether another place was seen before; undo may have led to where the last one is."""
        return any(not place.is_at(now) for place in reversed(self._back))

    def can_go_forward(self, now: ViewState) -> bool:
        """Whether `back` has left another place."""
        return any(not place.is_at(now) for place in reversed(self._forward))

    def undo(self, now: ViewState) -> ViewState:
        """The state before the last change; as it is now if there was none."""
        return _step(self._undo, self._redo, now)

    def redo(self, now: ViewState) -> ViewState:
        """The state after the change that was undone last."""
        return _step(self._redo, self._undo, now)

    def back(self, now: ViewState) -> ViewState:
        """The state of now at the place that was seen before; going there can be undone."""
        return self._walk(self._back, self._forward, now)

    def forward(self, now: ViewState) -> ViewState:
        """The state of now at the place that `back` has left."""
        return self._walk(self._forward, self._back, now)

    def _walk(
        self, source: deque[ViewState], target: deque[ViewState], now: ViewState
    ) -> ViewState:
        while source:
            there = now.at(_step(source, target, now))
            if there != now:
                self._undo.append(now)
                self._redo.clear()
                return there
            target.pop()
        return now


def _step(source: _States, target: _States, now: ViewState) -> ViewState:
    if not source:
        return now
    target.append(now)
    return source.pop()
