"""Queries that a view keeps: their rows are tracks beside the open traces, or a chart. No Qt.

Tracks are traces of their own, which no workspace has: no total, statistic or search counts them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.model.building.builder import TraceBuilder
from viewer.model.text import one_line
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.model.trace_attributes import stated_counter

STARTS, LENGTHS, VALUE, PIVOT = ("start_ns", "ts"), ("dur_ns", "dur"), "value", "pivot"
NAMES = ("name", "label", "operator")
# Letters of a query, tracks of a result, and queries of a session.
LONGEST_QUERY, MOST_TRACKS, MOST_QUERIES = 100_000, 100, 50
NEEDED = (
    "A track needs the columns start_ns and dur_ns (or ts and dur) for slices, or start_ns and"
    " value for a counter"
)
_FARTHEST = 1 << 62  # ns


@dataclass(frozen=True, slots=True)
class DerivedTrack:
    """A query whose rows are drawn. clock: the key of the clock group whose times they are."""

    name: str
    sql: str
    clock: str = ""

    @property
    def process(self) -> str:
        """The title of its tracks."""
        return f"Derived by query {self.name}"


class ChartKind(Enum):
    """How the rows of a result are drawn."""

    TABLE = "Table"
    BARS = "Bars"
    LINE = "Line"
    POINTS = "Points"


@dataclass(frozen=True, slots=True)
class QueryChart:
    """A query whose rows are drawn as a chart."""

    name: str
    sql: str
    kind: ChartKind


def why_no_track(columns: Sequence[str]) -> str:
    """Return why a result with these columns cannot be a track, or ""."""
    has_start = _first(columns, STARTS) is not None
    has_length = _first(columns, LENGTHS) is not None or VALUE in columns
    return "" if has_start and has_length else NEEDED


def derived_trace(
    derived: DerivedTrack,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    zero_ns: int = 0,
) -> Trace:
    """Return the rows of a query as a trace: slices if they have a duration, else counters.

    Its times are ns of the axis of its clock group. zero_ns: at which ns of the clock that axis
    starts; `start_ns` counts them, and `ts` from there. The source row of a slice is its row.
    Raises ValueError without the columns, or for more than `MOST_TRACKS` tracks.
    """
    if why := why_no_track(columns):
        raise ValueError(why)
    start_at, length_at = _first(columns, STARTS), _first(columns, LENGTHS)
    assert start_at is not None
    builder = TraceBuilder("", "Derived", "", Clock())
    start, drawn = _whole([row[start_at] for row in rows])
    if columns[start_at] == STARTS[0]:
        start -= zero_ns
    tracks, track = _tracks(builder, derived, columns, rows)
    if length_at is not None:
        length, has_length = _whole([row[length_at] for row in rows])
        drawn &= has_length & (length >= 0)
        _add_slices(builder, columns, rows, start, length, track, np.flatnonzero(drawn))
    else:
        values = [row[columns.index(VALUE)] for row in rows]
        number = np.array([v if _is_number(v) else math.nan for v in values], np.float64)
        drawn &= np.isfinite(number)
        for title, index in tracks.items():
            members = drawn & (track == index)
            counter = stated_counter(derived.process, title, start[members], number[members])
            if len(counter.tick):
                builder.counter(counter)
    builder.problem("row without times: left out", len(rows) - int(drawn.sum()))
    return builder.build()


def _tracks(
    builder: TraceBuilder,
    derived: DerivedTrack,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
) -> tuple[dict[str, int], Ints]:
    """Return the tracks by title, and that of each row."""
    if PIVOT not in columns:
        number = builder.track(derived.process, derived.name)
        return {derived.name: number}, np.full(len(rows), number, np.int64)
    pivot_at = columns.index(PIVOT)
    tracks: dict[str, int] = {}
    titles = [one_line(str(row[pivot_at])) for row in rows]
    for title in dict.fromkeys(titles):
        if len(tracks) == MOST_TRACKS:
            raise ValueError(f"The column pivot has more than {MOST_TRACKS} values")
        tracks[title] = builder.track(derived.process, title)
    return tracks, np.array([tracks[title] for title in titles], np.int64)


def _add_slices(
    builder: TraceBuilder,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    start: Ints,
    length: Ints,
    track: Ints,
    drawn: Ints,
) -> None:
    name_at = _first(columns, NAMES)
    texts = ["slice"] if name_at is None else [one_line(str(rows[i][name_at])) for i in drawn]
    names = builder.intern_all(texts) if name_at is not None else builder.intern(texts[0])
    builder.add(
        track=track[drawn].astype(np.uint32),
        start=start[drawn],
        end=start[drawn] + length[drawn],
        name=names,
        key=builder.key(KeyKind.PLAIN, ""),
        source_row=drawn.astype(np.uint32),
        derived=np.ones(len(drawn), np.bool_),
    )


def _first(columns: Sequence[str], names: Sequence[str]) -> int | None:
    return next((columns.index(name) for name in names if name in columns), None)


def _is_number(value: object) -> bool:
    return not isinstance(value, str) and hasattr(value, "__float__")


def _whole(values: Sequence[Any]) -> tuple[Ints, Bools]:
    """Return values as whole numbers, and which of them are numbers in reach."""
    numbers = [v if type(v) is int else _rounded_down(v) for v in values]
    drawn = np.array([-_FARTHEST < v < _FARTHEST for v in numbers], np.bool_)
    return np.array([v if -_FARTHEST < v < _FARTHEST else 0 for v in numbers], np.int64), drawn


def _rounded_down(value: Any) -> int:
    """Return a number as a whole one, out of reach if it is none."""
    if not _is_number(value) or not math.isfinite(value):
        return _FARTHEST
    whole: int = math.floor(value)
    return whole
