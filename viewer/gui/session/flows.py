"""The flows of the selected slice: what it takes and from where, what takes its results.

Timeline, Details and keys use the same feed, so what is drawn, listed and stepped along is the
same. It takes longer than a moment for the first question to a large trace, and for an operator
with thousands of consumers.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Slot

from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.slice_flows import FlowIndex, SliceFlows
from viewer.gui.session.feed import Feed
from viewer.gui.session.session import Session
from viewer.program.dataflow import Neighbors, neighbors_of
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef

# A text of so many lines takes less than 5 ms, as an index of so many slices as go at once does.
LINES_AT_ONCE = 300
# The edges of a program of so many operators are there in less than 5 ms.
PROGRAM_AT_ONCE = 2000
# So many operators are looked at in less than 5 ms.
OPERATORS_AT_ONCE = 60

FlowQuestion = tuple[OpenTrace, SliceRef | None, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """The operators around those that are selected, and the flows of the selected slice.

    shown: the trace as it was shown then. ref, flows: None and empty if operators are selected
    without a slice. around: None where the slice is of no operator.
    """

    shown: OpenTrace
    operators: tuple[int, ...]
    ref: SliceRef | None
    flows: SliceFlows
    around: Neighbors | None


class FlowFeed(Feed[FlowQuestion, FlowAnswer]):
    """`changed` also when arrows are switched on or off."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        # Of the tables that are open: another clock rate is another trace, of the same table.
        self._indexes: list[FlowIndex] = []
        self._visible = True
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self._reopen()

    @property
    def visible(self) -> bool:
        """Whether arrows are drawn."""
        return self._visible

    def show(self, visible: bool) -> None:
        """Draw arrows, or none."""
        if visible != self._visible:
            self._visible = visible
            self.changed.emit()

    @Slot()
    def _reopen(self) -> None:
        open_now = self._session.traces
        self._indexes = [
            index for index in self._indexes if any(index.table is t.table for t in open_now)
        ]
        self._follow()

    def _question(self) -> FlowQuestion | None:
        state = self._session.state
        if state.slice is not None:
            shown = self._session.traces[state.slice.trace]
            return shown, state.slice, shown.link(state.slice.index).operators
        if state.operators is not None:
            return self._session.traces[state.operators[0]], None, state.operators[1]
        return None

    def _ask(self, question: FlowQuestion) -> None:
        shown = question[0]
        index = self._index(shown)
        if index is None and _is_small(shown):
            index = self._keep(FlowIndex(shown.table))
        answer = None if index is None else _answer(*question, index, OPERATORS_AT_ONCE)
        if answer is not None:
            self._latest.cancel()
            self._set(answer)
        else:
            # Arrows of another slice would be wrong ones.
            self._set(None)
            self._latest.submit(_work_out, *question, index)

    def _index(self, shown: OpenTrace) -> FlowIndex | None:
        return next((index for index in self._indexes if index.table is shown.table), None)

    def _keep(self, index: FlowIndex) -> FlowIndex:
        if not any(known.table is index.table for known in self._indexes):
            self._indexes.append(index)
        return index

    @Slot(object)
    def _take(self, found: tuple[FlowAnswer, FlowIndex]) -> None:
        answer, index = found
        self._keep(index)
        self._set(answer)


def _is_small(shown: OpenTrace) -> bool:
    program = shown.table.program
    if len(shown.trace.slices) > AT_ONCE or program is None:
        return len(shown.trace.slices) <= AT_ONCE
    known = is_dataflow_known(program)
    size = len(program.text_lines), len(program.operators)
    return known or (size[0] <= LINES_AT_ONCE and size[1] <= PROGRAM_AT_ONCE)


def _answer(
    shown: OpenTrace,
    ref: SliceRef | None,
    operators: tuple[int, ...],
    index: FlowIndex,
    most: int | None,
) -> FlowAnswer | None:
    """The answer, None if more than `most` operators have to be looked at for it."""
    program = shown.table.program
    around = neighbors_of(dataflow_of(program), operators) if program and operators else None
    flows = SliceFlows() if ref is None else index.flows(ref.index, most)
    return None if flows is None else FlowAnswer(shown, operators, ref, flows, around)


def _work_out(
    shown: OpenTrace, ref: SliceRef | None, operators: tuple[int, ...], index: FlowIndex | None
) -> tuple[FlowAnswer, FlowIndex]:
    index = index or FlowIndex(shown.table)
    answer = _answer(shown, ref, operators, index, None)
    assert answer is not None  # without a bound there always is one
    return answer, index
