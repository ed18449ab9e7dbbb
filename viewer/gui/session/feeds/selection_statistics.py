"""Computes statistics of the selection once for the statistics panel and the status bar.

The feed covers the selected slices or area. It keeps its subject when the user then selects a
single slice in it, or slices picked in the panel's own table; otherwise selecting a row would
replace the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.statistics.selection import (
    KEYS,
    SelectedSlices,
    SelectionStatistics,
    selection_statistics,
)
from viewer.arrays import Ints
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.view.clock_groups import group_key
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.selected_slices import chosen_in, span_ns
from viewer.view.state import Area, SliceRef, SliceSet


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
    """Statistics of the selection; emits `changed` even if the answer stays None.

    The reason for having no statistics may have changed.
    """

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
        small = len(subject) <= AT_ONCE if isinstance(subject, SliceSet) else _is_small(traces)
        self._latest.ask(small, _answer, *question)

    def _set(self, answer: SelectionAnswer | None) -> None:
        self.answer = answer
        self.changed.emit()


def _is_small(traces: Sequence[OpenTrace]) -> bool:
    return sum(len(open_trace.trace.slices) for open_trace in traces) <= AT_ONCE


def _answer(
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
