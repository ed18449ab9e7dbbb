"""Searches all open traces for the query, and steps through the hits.

The previous hits remain until new ones are ready, unless the traces change: hits are slice numbers,
which would then be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Slot

from viewer.analysis.search.query import Query, parse
from viewer.analysis.search.search import SearchedTrace, refusal
from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass, replace
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.session import Session
from viewer.model.times import ticks_to_ns
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef, ViewState
from viewer.view.visible_ranges import with_margin

# Edits of the query closer together than this, in seconds, are one undo step.
TYPING_BURST = 1.5

# A step zooms in if the view is more than _TOO_NARROW times the hit: to _ZOOMED times the hit.
_TOO_NARROW, _ZOOMED = 200, 20


@dataclass(frozen=True, eq=False)
class Hits:
    """The slices that match a query.

    `slices` holds their sorted indices per trace, `on_track` the hits per track for each trace.
    `trace`, `slice` and `start` list all hits ordered by clock group, start time, trace and slice
    index; `start` is in ns of the axis of its group. `bounds` has the first position of each group,
    and `group_of` the number of the group of each trace.
    """

    slices: tuple[Ints, ...]
    on_track: tuple[Ints, ...]
    trace: Codes
    slice: Codes
    start: Ints
    bounds: tuple[int, ...] = (0, 0)
    group_of: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.slice)

    def ref(self, position: int) -> SliceRef:
        """The hit at a position in this order."""
        return SliceRef(int(self.trace[position]), int(self.slice[position]))

    def place(self, ref: SliceRef, start: int) -> int:
        """The first position at or after a slice that starts at `start` ns."""
        begin, end = self._of_group(self.group_of[ref.trace])
        own_starts = self.start[begin:end]
        first, last = (
            begin + int(np.searchsorted(own_starts, start, side)) for side in ("left", "right")
        )
        for numbers, number in ((self.trace, ref.trace), (self.slice, ref.index)):
            matching = numbers[first:last]
            first, last = (
                first + int(np.searchsorted(matching, np.uint32(number), side))
                for side in ("left", "right")
            )
        return first

    def _of_group(self, group: int) -> tuple[int, int]:
        return self.bounds[group], self.bounds[group + 1]

    def starts_in(self, traces: Sequence[int]) -> Ints:
        """The ascending starts of all hits in a clock group, which consists of these traces."""
        if not traces or traces[0] >= len(self.group_of):
            return self.start[:0]
        begin, end = self._of_group(self.group_of[traces[0]])
        return self.start[begin:end]

    def following(self, trace: int, ns: int) -> int:
        """The position of the first hit of a trace's clock group at or after a time."""
        begin, end = self._of_group(self.group_of[trace])
        return begin + int(np.searchsorted(self.start[begin:end], ns))

    def holds(self, ref: SliceRef) -> bool:
        """Whether a slice is a hit."""
        if ref.trace >= len(self.slices):
            return False
        indices = self.slices[ref.trace]
        position = int(np.searchsorted(indices, ref.index))
        return position < len(indices) and int(indices[position]) == ref.index


_NONE = np.empty(0, np.uint32)
NOTHING = Hits((), (), _NONE, _NONE, np.empty(0, np.int64))


def find(
    query: Query, traces: Sequence[SearchedTrace], group_of: Sequence[int] | None = None
) -> Hits:
    """Search all traces; a pure function that may run in a thread.

    group_of: the number of the clock group of each trace; by default they are all in one.
    """
    slices, on_track, trace, start = [], [], [], []
    for number, searched in enumerate(traces):
        hits = np.flatnonzero(searched.matches(query))
        slices_of_trace = searched.table.trace.slices
        starts_ns = (
            ticks_to_ns(slices_of_trace.start[hits], searched.ns_per_tick) + searched.offset_ns
        )
        per_row = np.diff(np.searchsorted(hits, slices_of_trace.row_ptr))
        tracks = np.zeros(len(searched.table.trace.tracks), np.int64)
        np.add.at(tracks, slices_of_trace.row_track, per_row)
        slices.append(hits)
        on_track.append(tracks)
        trace.append(np.full(len(hits), number, np.uint32))
        start.append(starts_ns)
    if not slices:
        return NOTHING
    owners = tuple(group_of or [0] * len(traces))
    starts, owner = np.concatenate(start), np.concatenate(trace)
    # Within a row, slices are already in order of time, which a stable sort exploits.
    order = np.argsort(starts, kind="stable")
    bounds = np.zeros(max(owners) + 2, np.int64)
    np.add.at(bounds, np.array(owners) + 1, [len(indices) for indices in slices])
    if len(bounds) > 2:
        order = order[np.argsort(np.array(owners)[owner[order]], kind="stable")]
    return Hits(
        tuple(slices),
        tuple(on_track),
        owner[order],
        np.concatenate(slices)[order].astype(np.uint32),
        starts[order],
        tuple(np.cumsum(bounds).tolist()),
        owners,
    )


# The text of the query, and the traces to search.
SearchQuestion = tuple[str, tuple[OpenTrace, ...]]


class Search(Feed[SearchQuestion, Hits]):
    """The hits of a session's query; also emits `changed` when a search starts."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._typed: tuple[ViewState, float] | None = None  # state after typing, and when
        self._searched: dict[OpenTrace, SearchedTrace] = {}
        self._step = 0  # step requested while the search was still running
        self.query = Query()
        self.complaint = ""
        session.workspace_changed.connect(self._follow)
        session.query_changed.connect(self._follow)
        self._follow()

    @property
    def hits(self) -> Hits:
        """The current hits; empty before the first result and without a query."""
        return NOTHING if self.answer is None else self.answer

    def set_query(self, query: str, *, now: float | None = None) -> None:
        """Set the query; "" clears it. With `now` (s), a burst of typing becomes one undo step."""
        session, typed = self._session, self._typed
        if query == session.state.query:
            return
        joins = (
            typed is not None
            and now is not None
            and typed[0] is session.state
            and now - typed[1] < TYPING_BURST
        )
        session.change(replace(session.state, query=query), remember=not joins)
        self._typed = None if now is None else (session.state, now)

    def show_only_hits(self, only: bool) -> None:
        """Draw all slices that do not match as one gray without labels, or only dimmed."""
        self._session.change(replace(self._session.state, only_hits=only))

    def is_of(self, traces: Sequence[OpenTrace]) -> bool:
        """Whether the hits refer to exactly these traces in their current state."""
        return list(traces) == list(self._searched)

    @property
    def advice(self) -> str:
        """What is wrong with a query without hits; "" if nothing is."""
        return "" if not self.is_on or self.pending or len(self.hits) else self.query.advice

    @property
    def is_on(self) -> bool:
        """Whether a valid query is set."""
        return self.query.node is not None and not self.complaint

    @property
    def dims(self) -> bool:
        """Whether slices that are not hits are dimmed: once the hits of a query are known."""
        return self.is_on and self.answer is not None

    def are_hits(self, trace: int, which: Ints) -> Bools:
        """Whether each of the given slices of a trace is a hit."""
        hits = self.hits.slices[trace] if trace < len(self.hits.slices) else which[:0]
        if not len(hits):
            return np.zeros(len(which), np.bool_)
        position = np.minimum(np.searchsorted(hits, which), len(hits) - 1)
        are_hits: Bools = hits[position] == which
        return are_hits

    @property
    def shows_only_hits(self) -> bool:
        """Whether slices that are not hits have neither color nor label."""
        return self.is_on and self._session.state.only_hits

    @property
    def position(self) -> int | None:
        """The position of the selected slice among the hits, None if it is not a hit."""
        selected = self._session.state.slice
        if selected is None or not self.hits.holds(selected):
            return None
        return self.hits.place(
            selected, self._session.traces[selected.trace].span_ns(selected.index)[0]
        )

    def hits_on(self, trace: int, track: int) -> int:
        """The number of hits on a track."""
        counts = self.hits.on_track
        return int(counts[trace][track]) if trace < len(counts) else 0

    def step(self, by: int) -> None:
        """Select the next (`by` 1) or previous (-1) hit, and wrap around at the end.

        Starts from the selected slice, else from the left edge of the view. Shows all of the hit:
        zooms in if it would be too narrow to see, out if it is longer than the view. If the search
        is still running, the step is taken when it is done.
        """
        if self.pending:
            self._step = by
            return
        count = len(self.hits)
        if not count:
            return
        session, selected, position = self._session, self._session.state.slice, self.position
        if position is not None:
            target = position + by
        else:
            if selected is not None:
                start = session.traces[selected.trace].span_ns(selected.index)[0]
                following = self.hits.place(selected, start)
            else:
                following = self.hits.following(session.group.traces[0], session.state.times[0])
            target = following if by > 0 else following - 1
        ref = self.hits.ref(target % count)
        with session.one_step():
            session.select_slice(ref, reveal=True)
            span = session.traces[ref.trace].span_ns(ref.index)
            start, end = session.state.on_screen(*span)
            length = end - start
            t0, t1 = session.state.t0, session.state.t1
            if 0 < length * _TOO_NARROW < t1 - t0:
                before = (start + end - length * _ZOOMED) // 2
                session.set_range(before, before + length * _ZOOMED)
            elif length > t1 - t0:
                session.set_range(*with_margin(start, end))
            elif start < t0 or end > t1:
                before = (start + end - (t1 - t0)) // 2
                session.set_range(before, before + t1 - t0)

    def select(self, position: int) -> None:
        """Select the hit at a position in their order, and scroll to it, expanding its track."""
        self._session.select_slice(self.hits.ref(position), reveal=True)

    def _question(self) -> SearchQuestion:
        return self._session.state.query, tuple(self._session.traces)

    def _ask(self, question: SearchQuestion) -> None:
        text, traces = question
        if not self.is_of(traces):
            # Unchanged traces keep their case-folded texts.
            self._searched = {
                open_trace: self._searched.get(open_trace) or searched_trace(open_trace)
                for open_trace in traces
            }
            self.answer = None
        searched = tuple(self._searched.values())
        self.query = parse(text)
        self.complaint = self.query.complaint
        self._step = 0
        if searched and (why := refusal(self.query, searched)):
            self.complaint = why[:1].upper() + why[1:]
        if not self.is_on:
            self._latest.cancel()
            self._set(None)
            return
        small = sum(len(trace.table.trace.slices) for trace in searched) <= AT_ONCE
        owners = {
            trace: n for n, group in enumerate(self._session.groups) for trace in group.traces
        }
        group_of = tuple(owners[trace] for trace in range(len(searched)))
        self._latest.ask(small, find, self.query, searched, group_of)
        if not small:
            self.changed.emit()

    def _set(self, answer: Hits | None) -> None:
        self.answer = answer
        by, self._step = self._step, 0
        self.changed.emit()
        if by:
            self.step(by)

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        self.complaint = sentence
        super()._fail(sentence)


def searched_trace(open_trace: OpenTrace) -> SearchedTrace:
    """Return a trace for the search."""
    axis = open_trace.axis
    return SearchedTrace(
        open_trace.table,
        open_trace.labels,
        open_trace.label_strings,
        axis.ns_per_tick,
        axis.offset_ns,
    )
