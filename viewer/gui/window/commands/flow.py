"""Steps along flows: the keys `]` and `[`, and Ctrl with them from one branch to the next.

`]` goes to the first slice that takes the result of the selected one, `[` to the slice that handed
over last. Where there are several, Ctrl+] and Ctrl+[ then go to the next and the previous of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.qt.settings import FLOWS
from viewer.gui.session.flows import FlowFeed
from viewer.gui.session.preconditions import selected_slice
from viewer.gui.session.session import Session
from viewer.view.state import SliceRef

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


@dataclass(frozen=True, slots=True)
class _Step:
    """The branches there were at the last step, and which of them was taken."""

    ends: tuple[SliceRef, ...]
    at: int


class FlowSteps(QObject):
    """Walks from slice to slice along the flows of one session."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._feed = FlowFeed.of(session)
        self._last: _Step | None = None
        self._wish: tuple[SliceRef, bool] | None = None  # a step whose flows are worked out yet
        self._feed.changed.connect(self._fulfill)

    @property
    def has_siblings(self) -> bool:
        """Whether the last step had several branches, and its end is still selected."""
        last, ref = self._last, self._session.state.slice
        return last is not None and len(last.ends) > 1 and last.ends[last.at] == ref

    def step(self, *, forward: bool) -> None:
        """Go to the first slice after the selected one, or to the last before it."""
        ref, answer = self._session.state.slice, self._feed.answer
        if ref is None:
            return
        if self._feed.pending or answer is None or answer.ref != ref:
            self._wish = (ref, forward)
            return
        self._wish = None
        ends = answer.flows.ends(forward=forward)
        if ends:
            self._go(_Step(tuple(SliceRef(ref.trace, end.slice) for end in ends), 0))

    def sibling(self, by: int) -> None:
        """Go to another branch of the last step."""
        if self._last is not None and self.has_siblings:
            at = (self._last.at + by) % len(self._last.ends)
            self._go(_Step(self._last.ends, at))

    def _go(self, step: _Step) -> None:
        self._last = step
        self._session.select_slice(step.ends[step.at], reveal=True)

    @Slot()
    def _fulfill(self) -> None:
        if self._wish is not None and self._feed.answer is not None:
            (ref, forward), self._wish = self._wish, None
            if ref == self._session.state.slice:
                self.step(forward=forward)


def flow_commands(desk: WindowController) -> list[Command]:
    """The commands of flows; whether arrows are drawn is remembered."""
    session, settings = desk.session, desk.settings
    feed, steps = FlowFeed.of(session), FlowSteps(session)
    feed.show(settings.get(FLOWS))
    has_slice = selected_slice(session)
    has_siblings = Precondition("a step along a flow that branched", lambda: steps.has_siblings)

    def toggle() -> None:
        feed.show(not feed.visible)
        settings.set(FLOWS, feed.visible)
        desk.commands.refresh()

    return [
        Command(
            "view.flows", "Flows of the selected slice", "View", toggle,
            checked=lambda: feed.visible,
        ),
        Command(
            "go.next_flow", "Along the flow: what takes its result", "Go",
            lambda: steps.step(forward=True), ("]",), has_slice,
        ),
        Command(
            "go.previous_flow", "Along the flow: what it takes", "Go",
            lambda: steps.step(forward=False), ("[",), has_slice,
        ),
        Command(
            "go.next_branch", "Next branch of the flow", "Go",
            lambda: steps.sibling(1), ("Ctrl+]",), has_siblings,
        ),
        Command(
            "go.previous_branch", "Previous branch of the flow", "Go",
            lambda: steps.sibling(-1), ("Ctrl+[",), has_siblings,
        ),
    ]  # fmt: skip
