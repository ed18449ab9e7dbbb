"""Selects the slices of a node of the Calls panel, and finds the node of the selected slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.gui.panels.base.slice_facts import longest_slice
from viewer.gui.panels.calls.answer import CallsAnswer
from viewer.gui.panels.calls.changes import ChangesAnswer
from viewer.gui.panels.calls.shown_calls import ShownCalls
from viewer.gui.session.comparison import path_of_selection, select_path
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.view.state import SliceRef, SliceSet


@dataclass(frozen=True, slots=True)
class Picked:
    """The slices that were selected here, and their node: its number, or -1, and its names."""

    slices: SliceSet
    number: int
    path: Sequence[str]

    def node_in(self, answer: ShownCalls) -> int:
        """Return the node in an answer, which may be another one for the same tree; -1 for none."""
        if self.number >= 0:
            return answer.node_numbered(self.number)
        found = answer.table.find(self.path)
        return -1 if found is None else found


def select_calls(session: Session, answer: CallsAnswer, node: int) -> Picked | None:
    """Select the slices of a node in the scope, or those that reach into it.

    Returns what was selected; None for a node without slices, such as a thread.
    """
    shown = answer.shown
    session.show_inferences(Inferences.AS_RUN)
    number = session.number_of(shown)
    if number is None:
        return None
    numbers, scope = answer.numbers(node), answer.question.scope
    indices = answer.tree.slices_of(numbers, scope)
    if not len(indices):
        indices = answer.tree.slices_of(numbers)
        first, last, _ = scope.span
        if first is not None and last is not None:
            slices = shown.trace.slices
            reaches = (slices.end[indices] >= first) & (slices.start[indices] <= last)
            indices = indices[reaches]
    if not len(indices):
        return None
    chosen = SliceSet({number: indices})
    longest = SliceRef(number, longest_slice(shown, indices))
    session.select_slices(chosen, longest, reveal=True, keep_area=True)
    return Picked(chosen, int(answer.table.number[node]), answer.table.path(node))


def select_changes(session: Session, answer: ChangesAnswer, node: int) -> Picked | None:
    """Select the slices of a call path in both arms; returns what was selected, if anything."""
    path = int(answer.table.number[node])
    if path < 0:
        return None
    question = answer.question
    if not select_path(session, question.found, path, question.by):
        return None
    return Picked(session.state.slices, path, answer.table.path(node))


def node_of_selection(session: Session, answer: ShownCalls, picked: Picked | None) -> int:
    """Return the node of the selected slice, or the one that was chosen here; -1 for none."""
    state = session.state
    ref = state.slice
    if ref is None or state.inferences is not Inferences.AS_RUN:
        return -1
    if isinstance(answer, CallsAnswer) and session.as_run(ref.trace) is not answer.shown:
        return -1
    if picked is not None and picked.slices == state.slices:
        return picked.node_in(answer)
    if len(state.others):
        return -1
    if isinstance(answer, ChangesAnswer):
        found = answer.question.found
        return answer.node_numbered(path_of_selection(session, found, answer.question.by))
    return answer.node_of(ref.index) if isinstance(answer, CallsAnswer) else -1
