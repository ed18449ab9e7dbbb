"""Statistics of what is selected, worked out once for the panel and the status bar.

There is one feed per session. It is about the slices that are selected, or the area. It stays about
them while one slice of them is selected, or those that its own table has picked out: else a look at
a row would take the table away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.selection import (
    KEYS,
    SelectedSlices,
    SelectionStatistics,
    selection_statistics,
)
from viewer.arrays import Ints
from viewer.gui.qt.background import Latest
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


class SelectionFeed(QObject):
    """Emits `changed` whenever `answer` is another one, `late` when the next one takes its time."""

    changed = Signal()
    late = Signal()

    @staticmethod
    def of(session: Session) -> SelectionFeed:
        """The feed of a session, made when it is first asked for."""
        return session.findChild(SelectionFeed) or SelectionFeed(session)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self.key = KEYS[0]
        self.answer: SelectionAnswer | None = None
        self._subject: Area | SliceSet | None = None
        self._traces: Sequence[OpenTrace] = ()
        self._picked: SliceSet | None = None  # by the table
        self._picked_ns = 0
        self._groupings: dict[int, tuple[OpenTrace, Grouping]] = {}
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self.late)
        self._latest.failed.connect(self._give_up)
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._follow)
        self._follow()

    def group_by(self, key: str) -> None:
        """Cut the same slices in another way."""
        if key != self.key:
            self.key = key
            self._ask()

    def pick_out(self, chosen: SliceSet, first: SliceRef, total_ns: int) -> None:
        """Select some of the slices that the answer is about, and keep it; how long they take."""
        self._picked, self._picked_ns = chosen, total_ns
        self._session.select_slices(chosen, first, keep_area=True)

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
    def _follow(self) -> None:
        session = self._session
        same_traces = session.traces is self._traces
        self._traces = session.traces
        if not same_traces:
            tables = {id(shown.table) for shown in session.traces}
            kept = self._groupings.items()
            self._groupings = {n: one for n, one in kept if id(one[0].table) in tables}
            self._picked = None
        subject = self._wanted()
        if subject is not None and subject is self._subject and same_traces:
            return
        if same_traces and subject == self._subject and subject is not None:
            return
        self._subject = subject
        self._ask()

    def _wanted(self) -> Area | SliceSet | None:
        state, about = self._session.state, self._subject
        if state.slice is None:
            return state.area
        chosen = state.slices
        answer = self.answer if about is not None else None
        if answer is not None and answer.subject is about and about is not None:
            if len(chosen) == 1 and answer.holds(state.slice):
                return about
            if chosen == self._picked:
                return about
        return chosen

    def _ask(self) -> None:
        subject = self._subject
        if subject is None:
            self._latest.cancel()
            self._set(None)
            return
        traces = self._session.traces
        asked = (
            subject, tuple(traces), self.key,
            {number: self._grouping(number) for number in range(len(traces))},
        )  # fmt: skip
        # An area is counted first: that is work on its slices already.
        small = len(subject) <= AT_ONCE if isinstance(subject, SliceSet) else _is_small(traces)
        self._latest.ask(small, _answer, *asked)

    @Slot(object)
    def _take(self, answer: object) -> None:
        if isinstance(answer, SelectionAnswer):
            self._set(answer)

    @Slot(str)
    def _give_up(self, sentence: str) -> None:
        """The fault is reported already; old figures must not stand for new ones."""
        self._set(None)

    def _set(self, answer: SelectionAnswer | None) -> None:
        self.answer = answer
        self.changed.emit()


def _is_small(traces: Sequence[OpenTrace]) -> bool:
    return sum(len(shown.trace.slices) for shown in traces) <= AT_ONCE


def _answer(
    subject: Area | SliceSet, traces: Sequence[OpenTrace], key: str,
    groupings: Mapping[int, Grouping],
) -> SelectionAnswer:  # fmt: skip
    if isinstance(subject, Area):
        chosen = chosen_in(subject, traces)
        span = subject.t0, subject.t1
        tracks = len(subject.tracks)
    else:
        chosen = {
            number: SelectedSlices(
                traces[number].table, traces[number].labels, traces[number].label_strings,
                numbers.astype(np.int64),
            )
            for number, numbers in subject.of.items()
        }  # fmt: skip
        span = span_ns(traces, subject) or (0, 0)
        tracks = sum(_tracks(one) for one in chosen.values())
    parts = tuple(
        TraceStatistics(number, traces[number], selection_statistics(one, key, groupings[number]))
        for number, one in chosen.items()
    )
    return SelectionAnswer(subject, key, parts, span, tracks)


def _tracks(chosen: SelectedSlices) -> int:
    slices = chosen.table.trace.slices
    held = np.diff(np.searchsorted(chosen.index, slices.row_ptr)) > 0
    return len(np.unique(slices.row_track[held]))
