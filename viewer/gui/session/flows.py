"""The flows of the selected slice: what it takes and from where, what takes its results.

There is one feed per session. Timeline, details card and keys ask it, so what is drawn, listed and
stepped along is the same. What takes longer than a moment, as the first question to a large trace
or an operator with thousands of consumers, is worked out off the GUI thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.flows.dataflow import dataflow_of, is_dataflow_known
from viewer.analysis.flows.slice_flows import FlowIndex, SliceFlows
from viewer.gui.qt.background import Latest
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


class FlowFeed(QObject):
    """`changed`: `answer` is another one, or arrows are switched on or off."""

    changed = Signal()

    @staticmethod
    def of(session: Session) -> FlowFeed:
        """The feed of a session, made when it is first asked for."""
        return session.findChild(FlowFeed) or FlowFeed(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        # Of the tables that are open: another clock rate is another trace, of the same table.
        self._indexes: list[FlowIndex] = []
        self._asked: tuple[OpenTrace, SliceRef | None, tuple[int, ...]] | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.failed.connect(self._give_up)
        self._visible = True
        self.answer: FlowAnswer | None = None
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self._reopen()

    @property
    def visible(self) -> bool:
        """Whether arrows are drawn."""
        return self._visible

    @property
    def pending(self) -> bool:
        """Whether the flows of the selected slice are still worked out."""
        return self._latest.pending

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

    @Slot()
    def _follow(self) -> None:
        state = self._session.state
        if state.slice is None and state.operators is None:
            self._asked = None
            self._latest.cancel()
            self._set(None)
            return
        if state.slice is not None:
            shown = self._session.traces[state.slice.trace]
            operators = shown.link(state.slice.index).operators
        else:
            assert state.operators is not None
            shown, operators = self._session.traces[state.operators[0]], state.operators[1]
        asked = shown, state.slice, operators
        if self._asked is not None and self._asked[0] is shown and self._asked[1:] == asked[1:]:
            return
        self._asked = asked
        index = self._index(shown)
        if index is None and _is_small(shown):
            index = self._keep(FlowIndex(shown.table))
        answer = None if index is None else _answer(*asked, index, OPERATORS_AT_ONCE)
        if answer is not None:
            self._latest.cancel()
            self._set(answer)
        else:
            # Arrows of another slice would be wrong ones.
            self._set(None)
            self._latest.submit(_work_out, *asked, index)

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

    @Slot(str)
    def _give_up(self, sentence: str) -> None:
        """The fault is reported already."""
        self._asked = None
        self._set(None)

    def _set(self, answer: FlowAnswer | None) -> None:
        if answer is not self.answer:
            self.answer = answer
            self.changed.emit()


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
