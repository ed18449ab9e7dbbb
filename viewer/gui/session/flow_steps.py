"""Steps along flows: from slice to slice, and between branches.

A step forward selects the first consumer of the selected slice's result; a step back selects the
last producer of its inputs. If there are several, `sibling` selects another one.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.gui.session.flows import FlowFeed
from viewer.gui.session.session import Session
from viewer.view.state import SliceRef


@dataclass(frozen=True, slots=True)
class _Step:
    """The branches available at the last step, and the index of the one taken."""

    ends: tuple[SliceRef, ...]
    at: int


class FlowSteps(QObject):
    """Follows the flows of one session from slice to slice.

    `stopped(why)`: a step found no flow.
    """

    stopped = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._feed = FlowFeed.of(session)
        self._last: _Step | None = None
        self._pending_step: tuple[SliceRef, bool] | None = None  # a step that waits for its flows
        self._feed.changed.connect(self._fulfill)

    @property
    def has_siblings(self) -> bool:
        """Whether the last step had several branches, and its target is still selected."""
        last, ref = self._last, self._session.state.slice
        return last is not None and len(last.ends) > 1 and last.ends[last.at] == ref

    def step(self, *, forward: bool) -> None:
        """Select the first consumer (forward) or last producer of the selected slice."""
        ref, answer = self._session.state.slice, self._feed.answer
        if ref is None:
            return
        if self._feed.pending or answer is None or answer.ref != ref:
            self._pending_step = (ref, forward)
            return
        self._pending_step = None
        ends = answer.flows.ends(forward=forward)
        if ends:
            self._go(_Step(tuple(SliceRef(ref.trace, end.slice) for end in ends), 0))
            return
        why = f"No flow {'from' if forward else 'to'} this slice"
        if answer.index.has_flow_inside(ref.index, forward=forward):
            why += f" · one {'starts' if forward else 'ends'} at a slice inside it"
        self.stopped.emit(why)

    def sibling(self, by: int) -> None:
        """Select another branch of the last step, `by` positions further, wrapping around."""
        if self._last is not None and self.has_siblings:
            index = (self._last.at + by) % len(self._last.ends)
            self._go(_Step(self._last.ends, index))

    def _go(self, step: _Step) -> None:
        self._last = step
        self._session.select_slice(step.ends[step.at], reveal=True)

    @Slot()
    def _fulfill(self) -> None:
        if self._pending_step is not None and self._feed.answer is not None:
            (ref, forward), self._pending_step = self._pending_step, None
            if ref == self._session.state.slice:
                self.step(forward=forward)
