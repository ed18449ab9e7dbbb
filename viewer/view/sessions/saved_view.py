"""Converts a view to and from its form in a session file, with inputs, rows and names. No Qt.

A `ViewState` identifies traces, slices and tracks by their current numbers. A session file uses
stable names: inputs by their number in the file, slices by their row, tracks by process and thread,
clock groups by the input of their first profile, and times in ns from the start of that profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeVar

import numpy as np

from viewer.analysis.comparison.hand_pairs import HandPairs
from viewer.dataclasses import replace
from viewer.model.inference_views import Inferences
from viewer.model.text import one_line
from viewer.render.arrangement import TrackOrder, TrackView
from viewer.render.color_schemes import scheme_of
from viewer.render.layout import HeaderPart
from viewer.view.clock_groups import (
    ClockGroup,
    Range,
    Tie,
    Ties,
    are_in_reach,
    axis_spans,
    clock_groups,
    group_key,
)
from viewer.view.derived_tracks import (
    LONGEST_QUERY,
    MOST_QUERIES,
    ChartKind,
    DerivedTrack,
    QueryChart,
)
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.session_file import (
    RowHeight,
    SavedArea,
    SavedArm,
    SavedBookmark,
    SavedChart,
    SavedClock,
    SavedComparison,
    SavedDerived,
    SavedMove,
    SavedOperators,
    SavedPlace,
    SavedRows,
    SavedRun,
    SavedTie,
    SavedTracks,
    SavedView,
    stated_ratio,
)
from viewer.view.state import (
    LONGEST_NAME,
    Area,
    Bookmark,
    ChosenArm,
    ComparedArms,
    RulerUnit,
    SliceRef,
    SliceSet,
    StripView,
    ViewState,
)

# Beyond this many selected slices only the first is saved: they come from a search or an area.
MOST_SLICES = 100_000
_E = TypeVar("_E", bound=Enum)


def kept_view(state: ViewState, traces: Sequence[OpenTrace], inputs: Sequence[str]) -> SavedView:
    """Convert a view of open traces, whose files are among some inputs, to its saved form."""
    return _Keeper(traces, inputs).view(state)


def shown_view(
    saved: SavedView, start: ViewState, traces: Sequence[OpenTrace], inputs: Sequence[str | None]
) -> tuple[ViewState, list[str]]:
    """Return the saved view for what is open now, and a sentence for each missing thing.

    start: the defaults for what was not saved. inputs: the current path of each, None if missing.
    Inferences are shown as they ran; `Session.show_inferences` restores their display mode.
    """
    return _Shower(traces, inputs).view(saved, start)


def charts_of(saved: SavedView) -> tuple[QueryChart, ...]:
    """Return the charts of a session; one of a kind that is not known is none."""
    kinds = {kind.name.lower(): kind for kind in ChartKind if kind is not ChartKind.TABLE}
    return tuple(
        QueryChart(one_line(chart.name), chart.sql, kinds[chart.kind])
        for chart in saved.charts[:MOST_QUERIES]
        if chart.kind in kinds
    )


class _Keeper:
    """Converts current numbers to stable names."""

    def __init__(self, traces: Sequence[OpenTrace], inputs: Sequence[str]) -> None:
        self._traces = traces
        number = {path: i for i, path in enumerate(inputs)}
        self._inputs = [number[t.file.path] for t in traces]
        groups = [group for group in clock_groups(traces) if group.traces]
        self._firsts = {group.key: group.traces[0] for group in groups}
        self._zeros = {key: _begin(traces[first]) for key, first in self._firsts.items()}
        # The first group is also that of a bookmark without one.
        self._zeros.setdefault("", next(iter(self._zeros.values()), 0))

    def view(self, state: ViewState) -> SavedView:
        """Return the saved form of a view."""
        area, others = state.area, SliceSet.of_refs(state.others)
        as_run = state.inferences is Inferences.AS_RUN
        # Bookmarks of files that were closed cannot be saved without them.
        numbers = [n for n, mark in enumerate(state.bookmarks) if mark.clock in self._zeros]
        measured = state.measured if state.measured_on in self._zeros else None
        start, end = self._span(next(iter(self._firsts), ""), state)
        return SavedView(
            start_ns=start,
            end_ns=end,
            clocks=tuple(self._clock(key, state, ties=as_run) for key in self._firsts),
            clock=self._input(state.clock),
            strips=tuple(
                self._inputs[self._firsts[key]] for key in state.strips.order if key in self._firsts
            ),
            # Slices and tracks of aligned or averaged inferences exist only in that display mode.
            slice=self._slice(state.slice) if as_run and state.slice else None,
            others=self._slices(others) if as_run and len(others) <= MOST_SLICES else (),
            operators=state.operators
            and SavedOperators(self._inputs[state.operators[0]], state.operators[1]),
            area=None if area is None or not as_run else self._area(area),
            tracks=self._tracks(state.tracks if as_run else state.tracks.of_processes()),
            color_by=state.scheme,
            lit=state.lit,
            run=SavedRun(self._inputs[state.run[0]], state.run[1])
            if as_run and state.run
            else None,
            file=None if state.file is None else self._inputs[state.file],
            warm_up=state.warm_up,
            phase=state.phase,
            inferences="" if as_run else state.inferences.value,
            measured=measured and self._times(state.measured_on, *measured),
            measured_on=self._input(state.measured_on) if measured else None,
            bookmarks=tuple(self._mark(state.bookmarks[n]) for n in numbers),
            mark=numbers.index(state.mark) if state.mark in numbers else None,
            search=state.query,
            only_hits=state.only_hits,
            ruler=state.ruler.value,
            compared=None if state.compared is None else self._compared(state.compared),
            derived=tuple(
                SavedDerived(track.name, track.sql, self._input(track.clock))
                for track in state.derived[:MOST_QUERIES]
                if track.clock in self._firsts and len(track.sql) <= LONGEST_QUERY
            ),
            charts=tuple(
                SavedChart(chart.name, chart.sql, chart.kind.name.lower())
                for chart in state.charts[:MOST_QUERIES]
                if len(chart.sql) <= LONGEST_QUERY
            ),
        )

    def _compared(self, arms: ComparedArms) -> SavedComparison | None:
        """Return the arms by input, None if an arm has none."""
        a, b = (
            SavedArm(
                tuple(
                    number
                    for number, open_trace in zip(self._inputs, self._traces, strict=True)
                    if open_trace.file.path in arm.paths
                ),
                arm.numbers,
                arm.scope,
            )
            for arm in (arms.a, arms.b)
        )
        by_hand, cut = arms.by_hand.made, arms.by_hand.cut
        saved = SavedComparison(a, b, by_hand, cut, arms.relative, arms.stretched)
        return saved if a.inputs and b.inputs else None

    def _input(self, clock: str) -> int | None:
        """Return the input that names a clock group, None if it is not open."""
        return self._inputs[self._firsts[clock]] if clock in self._firsts else None

    def _times(self, clock: str, t0: int, t1: int) -> tuple[int, int]:
        zero = self._zeros[clock]
        return t0 - zero, t1 - zero

    def _span(self, clock: str, state: ViewState) -> tuple[int, int]:
        return self._times(clock, *state.times_of(clock))

    def _clock(self, clock: str, state: ViewState, *, ties: bool) -> SavedClock:
        tie = state.ties.get(clock) if ties else None
        return SavedClock(
            self._inputs[self._firsts[clock]],
            *self._span(clock, state),
            tie=None if tie is None else self._tie(tie, self._zeros[clock]),
            collapsed=clock in state.strips.collapsed,
            height=state.strips.heights.get(clock),
        )

    def _tie(self, tie: Tie, zero: int) -> SavedTie | None:
        scale = str(tie.scale)
        if stated_ratio(scale) is None:  # too long to be read again
            return None
        anchor = None if tie.anchor is None else tie.anchor - zero
        return SavedTie(scale, anchor, tie.reason[:LONGEST_NAME])

    def _mark(self, mark: Bookmark) -> SavedBookmark:
        times = self._times(mark.clock, mark.t0, mark.t1)
        return SavedBookmark(*times, mark.name, mark.note, self._input(mark.clock))

    def _area(self, area: Area) -> SavedArea:
        first = min(area.tracks, default=(0, 0))[0]
        clock = group_key(self._traces[first])
        return SavedArea(
            *self._times(clock, area.t0, area.t1),
            tuple(self._place(track) for track in sorted(area.tracks)),
            self._input(clock),
        )

    def _slice(self, ref: SliceRef) -> SavedRows | None:
        rows = self._slices(SliceSet.of_refs((ref,)))
        return rows[0] if rows else None

    def _slices(self, slices: SliceSet) -> tuple[SavedRows, ...]:
        saved = []
        for number, rows in slices.of.items():
            columns = self._traces[number].file.slices
            # A derived slice has no row in its file.
            if columns.derived is not None:
                rows = rows[~columns.derived[rows]]
            if len(rows):
                saved.append(
                    SavedRows(self._inputs[number], tuple(columns.source_row[rows].tolist()))
                )
        return tuple(saved)

    def _place(self, part: HeaderPart) -> SavedPlace:
        number, what = part
        if isinstance(what, str):
            return SavedPlace(self._inputs[number], what)
        track = self._traces[number].file.tracks[what]
        return SavedPlace(self._inputs[number], track.process, track.thread)

    def _places(self, parts: Sequence[HeaderPart]) -> tuple[SavedPlace, ...]:
        return tuple(self._place(part) for part in parts)

    def _tracks(self, tracks: TrackView) -> SavedTracks:
        return SavedTracks(
            folded=self._places(sorted(tracks.collapsed, key=str)),
            pinned=self._places(tracks.pinned),
            hidden=self._places(sorted(tracks.hidden, key=str)),
            moved=tuple(
                SavedMove(self._place(part), before and self._place(before))
                for part, before in tracks.moved
            ),
            heights=tuple(RowHeight(self._place(part), px) for part, px in tracks.heights),
            filter=tracks.filter,
            order=tracks.order.value,
        )


class _Shower:
    """Resolves stable names to current numbers."""

    def __init__(self, traces: Sequence[OpenTrace], inputs: Sequence[str | None]) -> None:
        self._traces = traces
        by_path = {t.file.path: i for i, t in enumerate(traces)}
        self._numbers = {
            i: by_path[path]
            for i, path in enumerate(inputs)
            if path is not None and path in by_path
        }
        self._groups = [group for group in clock_groups(traces) if group.traces]
        self._owners = {number: group for group in self._groups for number in group.traces}
        self._gone: dict[str, int] = {}
        self._parts: dict[tuple[int, str, str | None], HeaderPart] = {}
        for number, open_trace in enumerate(traces):
            for i, track in enumerate(open_trace.file.tracks):
                self._parts.setdefault((number, track.process, track.thread), (number, i))
                self._parts.setdefault((number, track.process, None), (number, track.process))

    def view(self, saved: SavedView, start: ViewState) -> tuple[ViewState, list[str]]:
        """Return the view, and a sentence on each missing part."""
        first = self._slices([saved.slice] if saved.slice else [])
        others = self._slices(saved.others)
        ranges = self._ranges(saved, start)
        active = self._place_of(saved.clock)
        clock = start.clock if active is None else active[0].key
        t0, t1 = ranges.pop(clock, (start.t0, start.t1))
        saved_bookmarks = [
            (n, mark)
            for n, saved_bookmark in enumerate(saved.bookmarks)
            if (mark := self._mark(saved_bookmark))
        ]
        numbers = [n for n, _ in saved_bookmarks]
        measured_on = self._place_of(saved.measured_on)
        state = replace(
            start,
            t0=t0,
            t1=t1,
            clock=clock,
            ranges=ranges,
            ties=self._ties(saved.clocks),
            strips=self._strips(saved),
            slice=first[0] if len(first) else None,
            others=others.without(first[0]) if len(first) and len(others) else (),
            operators=self._operators(saved.operators),
            area=self._area(saved.area),
            tracks=self._tracks(saved.tracks),
            scheme=saved.color_by if scheme_of(saved.color_by) else start.scheme,
            lit=saved.lit,
            run=self._run(saved.run),
            file=None if saved.file is None else self._numbers.get(saved.file),
            warm_up=saved.warm_up,
            phase=saved.phase,
            measured=measured_on and saved.measured and _moved(saved.measured, measured_on[1]),
            measured_on=measured_on[0].key if measured_on and saved.measured else "",
            bookmarks=tuple(mark for _, mark in saved_bookmarks),
            mark=numbers.index(saved.mark) if saved.mark in numbers else None,
            query=saved.search,
            only_hits=saved.only_hits,
            ruler=_member(RulerUnit, saved.ruler, start.ruler),
            compared=None if saved.compared is None else self._compared(saved.compared),
            derived=tuple(
                DerivedTrack(one_line(track.name), track.sql, place[0].key)
                for track in saved.derived[:MOST_QUERIES]
                if (place := self._place_of(track.clock))
            ),
            charts=charts_of(saved),
        )
        messages = [f"{_counted(n, what)} not in these files" for what, n in self._gone.items()]
        return state, messages

    def _compared(self, saved: SavedComparison) -> ComparedArms | None:
        """Return the arms; None if all profiles of one are gone."""
        chosen_arms = []
        for arm in (saved.a, saved.b):
            numbers = [self._numbers[number] for number in arm.inputs if number in self._numbers]
            self._lose("compared profile", len(set(arm.inputs)) - len(set(numbers)))
            paths = tuple(self._traces[number].file.path for number in sorted(set(numbers)))
            chosen_arms.append(ChosenArm(paths, arm.numbers, arm.scope))
        a, b = chosen_arms
        by_hand = HandPairs(saved.made, saved.cut)
        arms = ComparedArms(
            a, b, by_hand=by_hand, relative=saved.relative, stretched=saved.stretched
        )
        return arms if a.paths and b.paths else None

    def _place_of(self, clock: int | None) -> tuple[ClockGroup, int] | None:
        """Return the clock group of an input, and the ns of its axis at the start of that input.

        None if it is not open. None as the input is the first group.
        """
        number = self._numbers.get(clock) if clock is not None else 0 if self._traces else None
        if number is None:
            return None
        return self._owners[number], _begin(self._traces[number])

    def _ranges(self, saved: SavedView, start: ViewState) -> dict[str, Range]:
        """Return the visible range of every clock group; that of `start` if none was saved."""
        ranges: dict[str, Range] = {}
        if not saved.clocks:
            first = self._place_of(None)
            if first is not None and saved.start_ns < saved.end_ns:
                ranges[first[0].key] = _moved((saved.start_ns, saved.end_ns), first[1])
        for saved_clock in saved.clocks:
            place = self._place_of(saved_clock.input)
            if place is not None and saved_clock.start_ns < saved_clock.end_ns:
                ranges.setdefault(
                    place[0].key, _moved((saved_clock.start_ns, saved_clock.end_ns), place[1])
                )
        keys = {group.key for group in self._groups}
        return {key: span for key, span in start.all_ranges.items() if key in keys} | ranges

    def _ties(self, clocks: Sequence[SavedClock]) -> Ties:
        """Return the ties of two or more clock groups, none if they make no sense."""
        ties: dict[str, Tie] = {}
        for saved_clock in clocks:
            place, scale = (
                self._place_of(saved_clock.input),
                saved_clock.tie and stated_ratio(saved_clock.tie.scale),
            )
            if saved_clock.tie is None or place is None or not scale:
                continue
            anchor = (
                None if saved_clock.tie.anchor_ns is None else saved_clock.tie.anchor_ns + place[1]
            )
            reason = "" if anchor is None else saved_clock.tie.reason
            ties.setdefault(place[0].key, Tie(scale, anchor, reason))
        if len(ties) < 2:
            return {}
        return ties if are_in_reach(ties, axis_spans(self._groups)) else {}

    def _strips(self, saved: SavedView) -> StripView:
        order = [place[0].key for strip in saved.strips if (place := self._place_of(strip))]
        strips = StripView(order=tuple(dict.fromkeys(order)))
        seen: set[str] = set()
        for saved_clock in saved.clocks:
            place = self._place_of(saved_clock.input)
            if place is None or place[0].key in seen:
                continue
            key = place[0].key
            seen.add(key)
            strips = strips.with_height(key, saved_clock.height)
            if saved_clock.collapsed:
                strips = strips.toggled(key)
        return strips

    def _mark(self, saved_bookmark: SavedBookmark) -> Bookmark | None:
        place = self._place_of(saved_bookmark.clock)
        if place is None:
            self._lose("bookmark")
        if place is None or saved_bookmark.start_ns > saved_bookmark.end_ns:
            return None
        t0, t1 = _moved((saved_bookmark.start_ns, saved_bookmark.end_ns), place[1])
        return Bookmark(t0, t1, saved_bookmark.name, saved_bookmark.note, place[0].key)

    def _lose(self, what: str, count: int = 1) -> None:
        if count:
            self._gone[what] = self._gone.get(what, 0) + count

    def _slices(self, rows_of_inputs: Sequence[SavedRows]) -> SliceSet:
        of: dict[int, list[int]] = {}
        for saved_rows in rows_of_inputs:
            number = self._numbers.get(saved_rows.input)
            if number is None:
                self._lose("selected slice", len(saved_rows.rows))
                continue
            columns = self._traces[number].file.slices
            rows = np.flatnonzero(np.isin(columns.source_row, np.array(saved_rows.rows, np.int64)))
            if columns.derived is not None:
                rows = rows[~columns.derived[rows]]
            self._lose("selected slice", len(set(saved_rows.rows)) - len(rows))
            of.setdefault(number, []).extend(rows.tolist())
        return SliceSet(
            {n: np.array(sorted(set(row_numbers)), np.int64) for n, row_numbers in of.items()}
        )

    def _operators(
        self, saved_operators: SavedOperators | None
    ) -> tuple[int, tuple[int, ...]] | None:
        number = None if saved_operators is None else self._numbers.get(saved_operators.input)
        if saved_operators is None or number is None:
            return None
        program = self._traces[number].table.program
        count = len(program.operators) if program is not None else 0
        operators = tuple(i for i in saved_operators.operators if 0 <= i < count)
        self._lose("highlighted operator", len(saved_operators.operators) - len(operators))
        return (number, operators) if operators else None

    def _run(self, saved_run: SavedRun | None) -> tuple[int, int] | None:
        number = None if saved_run is None else self._numbers.get(saved_run.input)
        if saved_run is None or number is None:
            return None
        if not 0 <= saved_run.run < len(self._traces[number].file.runs):
            self._lose("inference")
            return None
        return number, saved_run.run

    def _area(self, saved_area: SavedArea | None) -> Area | None:
        if saved_area is None:
            return None
        tracks = [
            (number, int(track))
            for number, track in self._places(saved_area.tracks)
            if not isinstance(track, str)
        ]
        place = self._place_of(saved_area.clock)
        if not tracks or place is None or saved_area.end_ns < saved_area.start_ns:
            return None
        # Earlier versions had one axis: an area on tracks of several clocks keeps those of one.
        members = (self._owners[tracks[0][0]] if saved_area.clock is None else place[0]).traces
        numbers = frozenset(track for track in tracks if track[0] in members)
        times = _moved((saved_area.start_ns, saved_area.end_ns), place[1])
        return Area(*times, numbers) if numbers else None

    def _place(self, place: SavedPlace) -> HeaderPart | None:
        number = self._numbers.get(place.input)
        if number is not None:
            part = self._parts.get((number, place.process, place.thread))
            if part is not None:
                return part
        self._lose("track")
        return None

    def _places(self, places: Sequence[SavedPlace]) -> list[HeaderPart]:
        return [part for place in places if (part := self._place(place)) is not None]

    def _tracks(self, saved_tracks: SavedTracks) -> TrackView:
        moved: list[tuple[HeaderPart, HeaderPart | None]] = []
        for move in saved_tracks.moved:
            part = self._place(move.what)
            before = self._place(move.before) if move.before else None
            if part is not None and (before is not None or move.before is None):
                moved.append((part, before))
        tracks = TrackView(
            collapsed=frozenset(self._places(saved_tracks.folded)),
            pinned=tuple(
                (number, int(track))
                for number, track in self._places(saved_tracks.pinned)
                if not isinstance(track, str)
            ),
            hidden=frozenset(self._places(saved_tracks.hidden)),
            moved=tuple(moved),
            filter=saved_tracks.filter,
            order=_member(TrackOrder, saved_tracks.order, TrackOrder.FILE),
        )
        for height in saved_tracks.heights:
            part = self._place(height.what)
            if part is not None:
                tracks = tracks.with_row_height(part, height.px)
        return tracks


def _begin(open_trace: OpenTrace) -> int:
    """Return the start of a profile in ns of its axis."""
    return open_trace.axis.to_ns(open_trace.file.start)


def _moved(span: Range, by: int) -> Range:
    return span[0] + by, span[1] + by


def _counted(count: int, what: str) -> str:
    return f"1 {what} of the session is" if count == 1 else f"{count} {what}s of the session are"


def _member(kind: type[_E], value: str, default: _E) -> _E:
    """Return the member of an enumeration with a value, else the default."""
    members: Mapping[str, _E] = {member.value: member for member in kind}
    return members.get(value, default)
