"""Converts a view to and from its form in a session file, with inputs, rows and names. No Qt.

A `ViewState` identifies traces, slices and tracks by their current numbers. A session file uses
stable names: inputs by their number in the file, slices by their row in their input, tracks by
process and thread, times in ns from the start of the first profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeVar

import numpy as np

from viewer.model.inference_views import Inferences
from viewer.render.color_schemes import BY_ID
from viewer.render.layout import HeaderPart
from viewer.view.open_trace import OpenTrace
from viewer.view.session_file import (
    RowHeight,
    SavedArea,
    SavedBookmark,
    SavedMove,
    SavedOperators,
    SavedPlace,
    SavedRows,
    SavedRun,
    SavedTracks,
    SavedView,
)
from viewer.view.state import (
    Area,
    Bookmark,
    RulerUnit,
    SliceRef,
    SliceSet,
    TrackOrder,
    TrackView,
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


class _Keeper:
    """Converts current numbers to stable names."""

    def __init__(self, traces: Sequence[OpenTrace], inputs: Sequence[str]) -> None:
        self._traces = traces
        number = {path: i for i, path in enumerate(inputs)}
        self._inputs = [number[t.file.path] for t in traces]
        self._zero = _begin(traces)

    def view(self, state: ViewState) -> SavedView:
        """Return the saved form of a view."""
        area, others = state.area, SliceSet.of_refs(state.others)
        as_run = state.inferences is Inferences.AS_RUN
        return SavedView(
            start_ns=self._time(state.t0),
            end_ns=self._time(state.t1),
            # Slices and tracks of aligned or averaged inferences exist only in that display mode.
            slice=self._slice(state.slice) if as_run and state.slice else None,
            others=self._slices(others) if as_run and len(others) <= MOST_SLICES else (),
            operators=state.operators
            and SavedOperators(self._inputs[state.operators[0]], state.operators[1]),
            area=None
            if area is None or not as_run
            else SavedArea(
                self._time(area.t0),
                self._time(area.t1),
                tuple(self._place(track) for track in sorted(area.tracks)),
            ),
            tracks=self._tracks(state.tracks if as_run else state.tracks.of_processes()),
            color_by=state.scheme,
            lit=state.lit,
            run=SavedRun(self._inputs[state.run[0]], state.run[1])
            if as_run and state.run
            else None,
            warm_up=state.warm_up,
            inferences="" if as_run else state.inferences.value,
            measured=state.measured
            and (self._time(state.measured[0]), self._time(state.measured[1])),
            marks=tuple(
                SavedBookmark(self._time(m.t0), self._time(m.t1), m.name, m.note)
                for m in state.marks
            ),
            mark=state.mark,
            search=state.query,
            only_hits=state.only_hits,
            ruler=state.ruler.value,
        )

    def _time(self, ns: int) -> int:
        return ns - self._zero

    def _slice(self, ref: SliceRef) -> SavedRows | None:
        rows = self._slices(SliceSet.of_refs((ref,)))
        return rows[0] if rows else None

    def _slices(self, slices: SliceSet) -> tuple[SavedRows, ...]:
        saved = []
        for number, own in slices.of.items():
            columns = self._traces[number].file.slices
            # A derived slice has no row in its file.
            if columns.derived is not None:
                own = own[~columns.derived[own]]
            if len(own):
                saved.append(
                    SavedRows(self._inputs[number], tuple(columns.source_row[own].tolist()))
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
        self._zero = _begin(traces)
        self._gone: dict[str, int] = {}
        self._parts: dict[tuple[int, str, str | None], HeaderPart] = {}
        for number, shown in enumerate(traces):
            for i, track in enumerate(shown.file.tracks):
                self._parts.setdefault((number, track.process, track.thread), (number, i))
                self._parts.setdefault((number, track.process, None), (number, track.process))

    def view(self, saved: SavedView, start: ViewState) -> tuple[ViewState, list[str]]:
        """Return the view, and a sentence on each missing part."""
        span = self._time(saved.start_ns), self._time(saved.end_ns)
        if not self._traces or saved.end_ns <= saved.start_ns:
            span = start.t0, start.t1
        first = self._slices([saved.slice] if saved.slice else [])
        others = self._slices(saved.others)
        marks = tuple(
            Bookmark(self._time(m.start_ns), self._time(m.end_ns), m.name, m.note)
            for m in saved.marks
            if m.start_ns <= m.end_ns
        )
        state = replace(
            start,
            t0=span[0],
            t1=span[1],
            slice=first[0] if len(first) else None,
            others=others.without(first[0]) if len(first) and len(others) else (),
            operators=self._operators(saved.operators),
            area=self._area(saved.area),
            tracks=self._tracks(saved.tracks),
            scheme=saved.color_by if saved.color_by in BY_ID else start.scheme,
            lit=saved.lit,
            run=self._run(saved.run),
            warm_up=saved.warm_up,
            measured=saved.measured
            and (self._time(saved.measured[0]), self._time(saved.measured[1])),
            marks=marks,
            mark=saved.mark if saved.mark is not None and 0 <= saved.mark < len(marks) else None,
            query=saved.search,
            only_hits=saved.only_hits,
            ruler=_member(RulerUnit, saved.ruler, start.ruler),
        )
        messages = [f"{_counted(n, what)} not in these files" for what, n in self._gone.items()]
        return state, messages

    def _time(self, ns: int) -> int:
        return ns + self._zero

    def _lose(self, what: str, count: int = 1) -> None:
        if count:
            self._gone[what] = self._gone.get(what, 0) + count

    def _slices(self, kept: Sequence[SavedRows]) -> SliceSet:
        of: dict[int, list[int]] = {}
        for one in kept:
            number = self._numbers.get(one.input)
            if number is None:
                self._lose("selected slice", len(one.rows))
                continue
            columns = self._traces[number].file.slices
            at = np.flatnonzero(np.isin(columns.source_row, np.array(one.rows, np.int64)))
            if columns.derived is not None:
                at = at[~columns.derived[at]]
            self._lose("selected slice", len(set(one.rows)) - len(at))
            of.setdefault(number, []).extend(at.tolist())
        return SliceSet({n: np.array(sorted(set(own)), np.int64) for n, own in of.items()})

    def _operators(self, kept: SavedOperators | None) -> tuple[int, tuple[int, ...]] | None:
        number = None if kept is None else self._numbers.get(kept.input)
        if kept is None or number is None:
            return None
        program = self._traces[number].table.program
        count = len(program.operators) if program is not None else 0
        known = tuple(i for i in kept.operators if 0 <= i < count)
        self._lose("highlighted operator", len(kept.operators) - len(known))
        return (number, known) if known else None

    def _run(self, kept: SavedRun | None) -> tuple[int, int] | None:
        number = None if kept is None else self._numbers.get(kept.input)
        if kept is None or number is None:
            return None
        if not 0 <= kept.run < len(self._traces[number].file.runs):
            self._lose("inference")
            return None
        return number, kept.run

    def _area(self, kept: SavedArea | None) -> Area | None:
        if kept is None:
            return None
        tracks = [part for part in self._places(kept.tracks) if not isinstance(part[1], str)]
        if not tracks or kept.end_ns < kept.start_ns:
            return None
        numbers = frozenset((number, int(track)) for number, track in tracks)
        return Area(self._time(kept.start_ns), self._time(kept.end_ns), numbers)

    def _place(self, place: SavedPlace) -> HeaderPart | None:
        number = self._numbers.get(place.input)
        if number is not None:
            found = self._parts.get((number, place.process, place.thread))
            if found is not None:
                return found
        self._lose("track")
        return None

    def _places(self, places: Sequence[SavedPlace]) -> list[HeaderPart]:
        return [part for place in places if (part := self._place(place)) is not None]

    def _tracks(self, kept: SavedTracks) -> TrackView:
        moved: list[tuple[HeaderPart, HeaderPart | None]] = []
        for move in kept.moved:
            part = self._place(move.what)
            before = self._place(move.before) if move.before else None
            if part is not None and (before is not None or move.before is None):
                moved.append((part, before))
        tracks = TrackView(
            collapsed=frozenset(self._places(kept.folded)),
            pinned=tuple(
                (number, int(track))
                for number, track in self._places(kept.pinned)
                if not isinstance(track, str)
            ),
            hidden=frozenset(self._places(kept.hidden)),
            moved=tuple(moved),
            filter=kept.filter,
            order=_member(TrackOrder, kept.order, TrackOrder.FILE),
        )
        for height in kept.heights:
            part = self._place(height.what)
            if part is not None:
                tracks = tracks.with_row_height(part, height.px)
        return tracks


def _begin(traces: Sequence[OpenTrace]) -> int:
    """Return the start of the first profile in ns of the axis: the origin of saved times."""
    first = next(iter(traces), None)
    return 0 if first is None else first.axis.to_ns(first.file.start)


def _counted(count: int, what: str) -> str:
    return f"1 {what} of the session is" if count == 1 else f"{count} {what}s of the session are"


def _member(kind: type[_E], value: str, default: _E) -> _E:
    """Return the member of an enumeration with a value, else the default."""
    found: Mapping[str, _E] = {member.value: member for member in kind}
    return found.get(value, default)
