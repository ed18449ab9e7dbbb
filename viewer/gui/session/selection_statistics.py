"""Statistics of what is selected, computed once for the panel and the status bar.

The feed is about the selected slices, or the area. It stays about them while one slice of them is
selected, or those that its own table has picked out: else a look at a row would take the table
away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.selection import (
    KEYS,
    SelectedSlices,
    SelectionStatistics,
    selection_statistics,
)
from viewer.arrays import Ints
from viewer.gui.session.feed import Feed
from viewer.gui.session.session import Session
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.selected_slices import chosen_in, span_ns
from viewer.view.state import Area, SliceRef, SliceSet


@dataclass(frozen=True, slots=True)
class TraceStatistics:
    """The statistics of the chosen slices of one trace; number: its position when asked."""

    number: int
    shown: OpenTrace
    found: SelectionStatistics


@dataclass(frozen=True, slots=True)
class SelectionAnswer:
    """Statistics of an area, or of slices, trace by trace; tracks: how many it is on.

    span: the area's, or from the first start to the last end, in ns.
    """

    subject: Area | SliceSet
    key: str
    parts: tuple[TraceStatistics, ...]
    span: tuple[int, int]
    tracks: int

    @property
    def slices(self) -> int:
        """How many slices were chosen."""
        return sum(part.found.slices for part in self.parts)

    @property
    def total_ns(self) -> int:
        """The chosen slices added up; one inside another is a part of it."""
        return sum(
            int(part.found.whole.statistics.total[0] * part.shown.axis.ns_per_tick)
            for part in self.parts
        )

    def holds(self, ref: SliceRef) -> bool:
        """Whether a slice is among those that count."""
        return any(
            part.number == ref.trace and _has(part.found.index, ref.index) for part in self.parts
        )


def _has(index: Ints, number: int) -> bool:
    at = int(np.searchsorted(index, number))
    return at < len(index) and int(index[at]) == number


# What is selected, the open traces, and the key by which slices are grouped.
SelectionQuestion = tuple[Area | SliceSet, tuple[OpenTrace, ...], str]


class SelectionFeed(Feed[SelectionQuestion, SelectionAnswer]):
    """Emits `changed` also when nothing is selected again: why may be another reason."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.key = KEYS[0]
        self._picked: SliceSet | None = None  # by the table
        self._picked_ns = 0
        self._groupings: dict[int, tuple[OpenTrace, Grouping]] = {}
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._reopen)
        self._follow()

    def group_by(self, key: str) -> None:
        """Cut the same slices in another way."""
        if key != self.key:
            self.key = key
            self._follow()

    def pick_out(self, selected: SliceSet, first: SliceRef, total_ns: int) -> None:
        """Select some of the slices that the answer is about, and keep it; how long they take."""
        self._picked, self._picked_ns = selected, total_ns
        self._session.select_slices(selected, first, keep_area=True)

    def total_ns(self, slices: SliceSet) -> int | None:
        """What some selected slices take, added up; None while it is not known."""
        if self.answer is not None and self.answer.subject == slices:
            return self.answer.total_ns
        return self._picked_ns if slices == self._picked else None

    def missing(self, key: str) -> str:
        """Why no open trace can be cut so, as a sentence; "" if one can."""
        if key not in ("operator", "module"):
            return ""
        reasons = [self._grouping(n).missing(key) for n in range(len(self._session.traces))]
        return reasons[0] if reasons and all(reasons) else ""

    def _grouping(self, number: int) -> Grouping:
        shown = self._session.traces[number]
        kept = self._groupings.get(number)
        if kept is None or kept[0].table is not shown.table:
            kept = self._groupings[number] = shown, Grouping(shown.table)
        return kept[1]

    @Slot()
    def _reopen(self) -> None:
        tables = {id(shown.table) for shown in self._session.traces}
        kept = self._groupings.items()
        self._groupings = {n: one for n, one in kept if id(one[0].table) in tables}
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
        if self.answer is not None and self._asked is not None:
            about = self._asked[0]
            within = len(selected) == 1 and self.answer.holds(state.slice)
            if self.answer.subject is about and (within or selected == self._picked):
                return about
        return selected

    def _ask(self, question: SelectionQuestion) -> None:
        subject, traces, _ = question
        groupings = {number: self._grouping(number) for number in range(len(traces))}
        # An area is counted first: that is work on its slices already.
        small = len(subject) <= AT_ONCE if isinstance(subject, SliceSet) else _is_small(traces)
        self._latest.ask(small, _answer, *question, groupings)

    def _set(self, answer: SelectionAnswer | None) -> None:
        self.answer = answer
        self.changed.emit()


def _is_small(traces: Sequence[OpenTrace]) -> bool:
    return sum(len(shown.trace.slices) for shown in traces) <= AT_ONCE


def _answer(
    subject: Area | SliceSet,
    traces: Sequence[OpenTrace],
    key: str,
    groupings: Mapping[int, Grouping],
) -> SelectionAnswer:
    if isinstance(subject, Area):
        selected = chosen_in(subject, traces)
        span = subject.t0, subject.t1
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
        span = span_ns(traces, subject) or (0, 0)
        tracks = sum(_tracks(one) for one in selected.values())
    parts = tuple(
        TraceStatistics(number, traces[number], selection_statistics(one, key, groupings[number]))
        for number, one in selected.items()
    )
    return SelectionAnswer(subject, key, parts, span, tracks)


def _tracks(selected: SelectedSlices) -> int:
    slices = selected.table.trace.slices
    held = np.diff(np.searchsorted(selected.index, slices.row_ptr)) > 0
    return len(np.unique(slices.row_track[held]))
