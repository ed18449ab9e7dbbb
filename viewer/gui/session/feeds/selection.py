"""The flows of the selected slice, and the statistics of all selected slices, each computed once.

Timeline, Details panel and keyboard commands follow the same flows. A step forward selects the
first consumer of the selected slice's result; a step back selects the last producer of its inputs.
If there are several, `sibling` selects another one. Statistics keep their subject when the user
then selects a slice in it; otherwise selecting a row would replace the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.statistics.selection import (
    KEYS,
    SelectedSlices,
    SelectionStatistics,
    selection_statistics,
)
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.program.dataflow import Neighbors, neighbors_of
from viewer.view.clock_groups import group_key
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.selection import chosen_in, span_ns
from viewer.view.state import Area, SliceRef, SliceSet

if TYPE_CHECKING:
    from viewer.analysis.flows.slice_flows import FlowIndex, SliceFlows


# Parsing a program text of this many lines takes less than 5 ms, as does indexing `AT_ONCE` slices.
LINES_AT_ONCE = 300
# The edges of a program with this many operators are found in less than 5 ms.
PROGRAM_AT_ONCE = 2000
# This many operators are searched in less than 5 ms.
OPERATORS_AT_ONCE = 60

FlowQuestion = tuple[OpenTrace, SliceRef | None, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class FlowAnswer:
    """The neighbors of the selected operators, and the flows of the selected slice.

    `open_trace` is the trace as it was when queried. If operators are selected without a slice,
    `ref` is None and `flows` is empty. `around` is None if the slice has no operators. index: of
    the trace.
    """

    open_trace: OpenTrace
    operators: tuple[int, ...]
    ref: SliceRef | None
    flows: SliceFlows
    around: Neighbors | None
    index: FlowIndex


class FlowFeed(Feed[FlowQuestion, FlowAnswer]):
    """The flows of the selection; also emits `changed` when arrows are turned on or off."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        # Indexes of open slice tables. They survive a new clock rate: the table stays the same.
        self._indexes: list[FlowIndex] = []
        self._visible = True
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self._reopen()

    @property
    def visible(self) -> bool:
        """Whether arrows are drawn on the timeline."""
        return self._visible

    def show(self, visible: bool) -> None:
        """Show or hide the arrows."""
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
            open_trace = self._session.traces[state.slice.trace]
            return open_trace, state.slice, open_trace.link(state.slice.index).operators
        if state.operators is not None:
            return self._session.traces[state.operators[0]], None, state.operators[1]
        return None

    def _ask(self, question: FlowQuestion) -> None:
        from viewer.analysis.flows.slice_flows import FlowIndex

        open_trace = question[0]
        index = next((i for i in self._indexes if i.table is open_trace.table), None)
        if index is None and _are_flows_quick(open_trace):
            index = self._keep(FlowIndex(open_trace.table))
        answer = None if index is None else _flow_answer(*question, index, OPERATORS_AT_ONCE)
        if answer is not None:
            self._latest.cancel()
            self._set(answer)
        else:
            # The arrows of the previous slice would be wrong.
            self._set(None)
            self._latest.submit(_work_out, *question, index)

    def _keep(self, index: FlowIndex) -> FlowIndex:
        if not any(flow_index.table is index.table for flow_index in self._indexes):
            self._indexes.append(index)
        return index

    @Slot(object)
    def _take(self, answers: tuple[FlowAnswer, FlowIndex]) -> None:
        answer, index = answers
        self._keep(index)
        self._set(answer)


def _are_flows_quick(open_trace: OpenTrace) -> bool:
    from viewer.analysis.flows.dataflow import is_dataflow_known

    program = open_trace.table.program
    if len(open_trace.trace.slices) > AT_ONCE or program is None:
        return len(open_trace.trace.slices) <= AT_ONCE
    is_parsed = is_dataflow_known(program)
    size = len(program.text_lines), len(program.operators)
    return is_parsed or (size[0] <= LINES_AT_ONCE and size[1] <= PROGRAM_AT_ONCE)


def _flow_answer(
    open_trace: OpenTrace,
    ref: SliceRef | None,
    operators: tuple[int, ...],
    index: FlowIndex,
    most: int | None,
) -> FlowAnswer | None:
    """The flows, or None if finding them means searching more than `most` operators."""
    from viewer.analysis.flows.dataflow import dataflow_of
    from viewer.analysis.flows.slice_flows import SliceFlows

    program = open_trace.table.program
    around = neighbors_of(dataflow_of(program), operators) if program and operators else None
    flows = SliceFlows() if ref is None else index.flows(ref.index, most)
    return None if flows is None else FlowAnswer(open_trace, operators, ref, flows, around, index)


def _work_out(
    open_trace: OpenTrace, ref: SliceRef | None, operators: tuple[int, ...], index: FlowIndex | None
) -> tuple[FlowAnswer, FlowIndex]:
    from viewer.analysis.flows.slice_flows import FlowIndex

    index = index or FlowIndex(open_trace.table)
    answer = _flow_answer(open_trace, ref, operators, index, None)
    assert answer is not None  # without a limit, there always is an answer
    return answer, index


@dataclass(frozen=True, slots=True)
class _Step:
    """The branches available at the last step, and the index of the one taken."""

    ends: tuple[SliceRef, ...]
    index: int


class FlowSteps(QObject):
    """Follows the flows of one session from slice to slice. `stopped(why)`: there was no flow."""

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
        return last is not None and len(last.ends) > 1 and last.ends[last.index] == ref

    def step(self, *, forward: bool) -> None:
        """Select the first consumer (forward) or last producer of the selected slice."""
        ref, answer = self._session.state.slice, self._feed.answer
        if ref is None:
            return
        if self._feed.pending or answer is None or answer.ref != ref:
            self._pending_step = (ref, forward)
            return
        self._pending_step = None
        if ends := answer.flows.ends(forward=forward):
            self._go(_Step(tuple(SliceRef(ref.trace, end.slice) for end in ends), 0))
            return
        why = f"No flow {'from' if forward else 'to'} this slice"
        if answer.index.has_flow_inside(ref.index, forward=forward):
            why += f" · one {'starts' if forward else 'ends'} at a slice inside it"
        self.stopped.emit(why)

    def sibling(self, by: int) -> None:
        """Select another branch of the last step, `by` positions further, wrapping around."""
        if self._last is not None and self.has_siblings:
            index = (self._last.index + by) % len(self._last.ends)
            self._go(_Step(self._last.ends, index))

    def _go(self, step: _Step) -> None:
        self._last = step
        self._session.select_slice(step.ends[step.index], reveal=True)

    @Slot()
    def _fulfill(self) -> None:
        if self._pending_step is not None and self._feed.answer is not None:
            (ref, forward), self._pending_step = self._pending_step, None
            if ref == self._session.state.slice:
                self.step(forward=forward)


@dataclass(frozen=True, slots=True)
class TraceStatistics:
    """Statistics of the selected slices of one trace, at index `number` in the session.

    span: the area's time range, or the first start and last end of the selected slices on the clock
    of the trace, in ns of its axis.
    """

    number: int
    open_trace: OpenTrace
    statistics: SelectionStatistics
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SelectionAnswer:
    """Statistics of an area or of slices, one part per trace.

    `tracks` is the number of tracks with selected slices; for an area, all its tracks.
    """

    subject: Area | SliceSet
    key: str
    parts: tuple[TraceStatistics, ...]
    tracks: int

    @property
    def slices(self) -> int:
        """The number of slices covered."""
        return sum(part.statistics.slices for part in self.parts)

    @property
    def total_ns(self) -> int:
        """Total time of the covered slices; the time of nested slices is not counted twice."""
        return sum(
            int(part.statistics.whole.statistics.total[0] * part.open_trace.axis.ns_per_tick)
            for part in self.parts
        )

    def holds(self, ref: SliceRef) -> bool:
        """Whether the statistics cover this slice."""
        return any(
            part.number == ref.trace and _has(part.statistics.index, ref.index)
            for part in self.parts
        )


def _has(index: Ints, number: int) -> bool:
    position = int(np.searchsorted(index, number))
    return position < len(index) and int(index[position]) == number


# The subject, the open traces, and the key by which slices are grouped.
SelectionQuestion = tuple[Area | SliceSet, tuple[OpenTrace, ...], str]


class SelectionFeed(Feed[SelectionQuestion, SelectionAnswer]):
    """Statistics of the selection; `changed` also if only the reason for having none did."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.key = KEYS[0]
        self._picked: SliceSet | None = None  # slices picked in the statistics table
        self._picked_ns = 0
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._reopen)
        self._follow()

    def group_by(self, key: str) -> None:
        """Group the same slices by another key."""
        if key != self.key:
            self.key = key
            self._follow()

    def pick_out(self, selected: SliceSet, first: SliceRef, total_ns: int) -> None:
        """Select some of the covered slices, which take `total_ns`, and keep the current answer."""
        self._picked, self._picked_ns = selected, total_ns
        self._session.select_slices(selected, first, keep_area=True)

    def total_ns(self, slices: SliceSet) -> int | None:
        """Total time of some selected slices in ns; None if it is not known (yet)."""
        if self.answer is not None and self.answer.subject == slices:
            return self.answer.total_ns
        return self._picked_ns if slices == self._picked else None

    def missing(self, key: str) -> str:
        """Why no open trace can be grouped by `key`, as a sentence; "" if one can."""
        if key not in ("operator", "module"):
            return ""
        reasons = [open_trace.grouping.missing(key) for open_trace in self._session.traces]
        return reasons[0] if reasons and all(reasons) else ""

    @Slot()
    def _reopen(self) -> None:
        self._picked = None
        self._follow()

    def _question(self) -> SelectionQuestion | None:
        subject = self._subject()
        return None if subject is None else (subject, tuple(self._session.traces), self.key)

    def _subject(self) -> Area | SliceSet | None:
        state = self._session.state
        if state.slice is None:
            return state.area
        selected = state.slices
        if self.answer is not None and self._current_question is not None:
            current = self._current_question[0]
            within = len(selected) == 1 and self.answer.holds(state.slice)
            if self.answer.subject is current and (within or selected == self._picked):
                return current
        return selected

    def _ask(self, question: SelectionQuestion) -> None:
        subject, traces, _ = question
        # Finding the slices of an area already takes time, so the size of the traces decides.
        small = (
            len(subject) <= AT_ONCE if isinstance(subject, SliceSet) else _are_few_slices(traces)
        )
        self._latest.ask(small, _statistics, *question)

    def _set(self, answer: SelectionAnswer | None) -> None:
        self.answer = answer
        self.changed.emit()


def _are_few_slices(traces: Sequence[OpenTrace]) -> bool:
    return sum(len(open_trace.trace.slices) for open_trace in traces) <= AT_ONCE


def _statistics(
    subject: Area | SliceSet,
    traces: Sequence[OpenTrace],
    key: str,
) -> SelectionAnswer:
    if isinstance(subject, Area):
        selected = chosen_in(subject, traces)
        spans = dict.fromkeys(selected, (subject.t0, subject.t1))
        tracks = len(subject.tracks)
    else:
        selected = {
            number: SelectedSlices(
                traces[number].table,
                traces[number].labels,
                traces[number].label_strings,
                numbers.astype(np.int64),
            )
            for number, numbers in subject.of.items()
        }
        spans = _spans(traces, subject)
        tracks = sum(_tracks(selected_slices) for selected_slices in selected.values())
    parts = tuple(
        TraceStatistics(
            number,
            open_trace,
            selection_statistics(selected_slices, key, open_trace.grouping),
            spans[number],
        )
        for number, selected_slices in selected.items()
        for open_trace in (traces[number],)
    )
    return SelectionAnswer(subject, key, parts, tracks)


def _spans(traces: Sequence[OpenTrace], selected: SliceSet) -> dict[int, tuple[int, int]]:
    """The first start and last end of the selected slices on the clock of each of their traces."""
    spans: dict[int, tuple[int, int]] = {}
    for trace in selected.of:
        clock = group_key(traces[trace])
        slice_set = selected.among([n for n in selected.of if group_key(traces[n]) == clock])
        spans[trace] = span_ns(traces, slice_set) or (0, 0)
    return spans


def _tracks(selected: SelectedSlices) -> int:
    slices = selected.table.trace.slices
    has_slices = np.diff(np.searchsorted(selected.index, slices.row_ptr)) > 0
    return len(np.unique(slices.row_track[has_slices]))
