"""Reads the slices of a report that `opscope report` wrote: one HTML file with its data as JSON.

A report has the longest slices exactly, and groups of the others, which are left out and counted.
Labels, operators, modules and source lines are texts: nothing links a slice to an ETRecord. If a
report has profiles of several clocks, each starts at its own zero, and a problem says so. The file
is untrusted: only the text of one element is read, as JSON. `viewer.html_report.timelines` writes
the data and describes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.json_values import (
    InvalidJson,
    Parsed,
    mapping,
    memory_needed,
    sequence,
    text,
    whole_number,
)
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.dataclasses import dataclass
from viewer.model.building.builder import TraceBuilder
from viewer.model.text import capped
from viewer.model.times import ticks_to_ns
from viewer.model.timing import TIMING_TEXTS, Timing, Timings
from viewer.model.trace import Clock, Column, KeyKind, Trace

MOST_BYTES = 16 << 20  # a report has at most 5 MB
VERSION = 1
_HEAD = re.compile(
    rb"\s*<!DOCTYPE html>[^\0]{0,400}?"
    rb"<meta name=\"generator\" content=\"Opscope [^\"]{1,40}, report ",
    re.IGNORECASE,
)
_OPEN, _CLOSE = b'id="opscope-timeline">', b"</script>"
_NAME = "Opscope report"
_TICK = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_RATE = re.compile(r"[0-9]{1,19}", re.ASCII)
_FARTHEST = 1 << 62
_MOST_PROFILES = 64
_SLICE_MEMORY = 200  # bytes of a slice at the peak, beside the JSON
_REMEDY = "Write the report again"
_UNITS = ("ns", "us", "cycle")


def sniff(head: bytes) -> bool:
    """Whether it is a page that Opscope wrote as a report."""
    return _HEAD.match(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The exact slices of a report. Raises UnreadableFile and ReadCancelled."""
    with open(path, "rb") as file:
        page = file.read(MOST_BYTES + 1)
    if len(page) > MOST_BYTES:
        raise UnreadableFile(path, "it is larger than any report", remedy=_REMEDY)
    data = mapping(_data(path, page))
    if whole_number(data.get("version")) != VERSION:
        raise UnreadableFile(
            path, "another version of Opscope wrote this report", remedy="Open it with that version"
        )
    stop_if(cancelled)
    profiles = [
        profile
        for axis in sequence(data.get("axes"))
        for stored in sequence(mapping(axis).get("profiles"))
        if (profile := _Profile.of(mapping(stored))) is not None
    ][:_MOST_PROFILES]
    if not profiles:
        raise UnreadableFile(path, "this report has no timeline", remedy="Open the profile itself")
    clocks = list(dict.fromkeys(profile.clock for profile in profiles))
    builder = TraceBuilder(path, _NAME, "", clocks[0] if len(clocks) == 1 else Clock())
    places = _Places(data)
    for number, profile in enumerate(profiles):
        stop_if(cancelled)
        profile.add_to(builder, places, in_ns=len(clocks) > 1, is_one=len(profiles) == 1)
        progress(number + 1, len(profiles))
    missing = sum(profile.slices - profile.exact for profile in profiles)
    if missing > 0:
        exact, slices = (sum(getattr(p, name) for p in profiles) for name in ("exact", "slices"))
        builder.problem(f"The report has {exact:,} of {slices:,} slices: others left out", missing)
    if len(clocks) > 1:
        what = "The report has several clocks: each starts at 0, so they cannot be compared"
        builder.problem(what, len(clocks))
    other_clock = sum(int(profile.is_native.sum()) for profile in profiles)
    builder.problem("slice that a separate clock timed: left out", other_clock)
    damaged = sum(profile.damaged for profile in profiles)
    builder.problem("row of the report with unusable numbers: left out", damaged)
    return builder.build()


def _data(path: str, page: bytes) -> Any:
    """Return the JSON value in the page."""
    begin = page.find(_OPEN)
    end = page.find(_CLOSE, begin)
    if begin < 0 or end < 0:
        raise UnreadableFile(path, "the data of this report is missing or cut", remedy=_REMEDY)
    raw = page[begin + len(_OPEN) : end]
    allowance().take(memory_needed(raw) + _SLICE_MEMORY * raw.count(b",") // 4)
    try:
        return Parsed(raw).value
    except InvalidJson as error:
        raise UnreadableFile(
            path, f"the data of this report is damaged ({error})", remedy=_REMEDY
        ) from error


class _Places:
    """The texts of the sets of source lines in a report: "models.py:49, 52"."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._files = [capped(text(name)) for name in sequence(data.get("files"))]
        self._sets = sequence(data.get("places"))
        self._known: dict[int, str] = {}

    def text(self, number: int) -> str:
        """Return the lines of a set, "" for none."""
        if not 0 <= number < len(self._sets):
            return ""
        if number not in self._known:
            lines: dict[str, list[str]] = {}
            for pair in sequence(self._sets[number])[:1000]:
                file, line = (whole_number(part) for part in (*sequence(pair), None, None)[:2])
                if file is not None and line is not None and file < len(self._files):
                    lines.setdefault(self._files[file], []).append(str(line))
            parts = (f"{name}:{', '.join(line_numbers)}" for name, line_numbers in lines.items())
            self._known[number] = "; ".join(parts)
        return self._known[number]


@dataclass(frozen=True)
class _Profile:
    """One profile of a report: its boxes as columns, and the tables that they refer to.

    row: the number of each box's row; process, thread: of each row. start, end: ticks. is_group:
    which boxes are several slices; is_native: those that a clock of their own timed, whose extent
    is only for drawing. timing: a `Timing` of each box. slices, exact: how many there are, and how
    many have a box of their own. damaged: how many rows could not be read.
    """

    title: str
    clock: Clock
    start_ns: int
    first: int
    process: tuple[str, ...]
    thread: tuple[str, ...]
    row: Ints
    start: Ints
    end: Ints
    is_group: Bools
    is_native: Bools
    timing: Timings
    text: Ints
    key: Ints
    texts: Sequence[Any]
    keys: Sequence[Any]
    groups: Sequence[Any]
    slices: int
    damaged: int

    @property
    def exact(self) -> int:
        """The number of slices that can be read."""
        return int((~self.is_group).sum())

    @staticmethod
    def of(stored: dict[str, Any]) -> _Profile | None:
        """Return a profile, None if its columns do not belong together."""
        gap, dur, steps, texts, keys = (
            _numbers(stored.get(name)) for name in ("gap", "dur", "group", "text", "key")
        )
        first, clock = _integer(stored.get("start")), _clock(mapping(stored.get("clock")))
        if gap is None or dur is None or steps is None or texts is None or keys is None:
            return None
        if first is None or clock is None or len(gap) != len(dur):
            return None
        is_group = np.zeros(len(gap), np.bool_)
        of_groups = np.cumsum(np.clip(steps, 0, len(gap)))
        if (of_groups >= len(gap)).any():
            return None
        is_group[of_groups] = True
        if not len(texts) == len(keys) == int((~is_group).sum()):
            return None
        rows = _Rows(gap, dur, first)
        for row in sequence(stored.get("rows")):
            rows.add(sequence(row))
        boxes = np.flatnonzero(rows.row >= 0)
        of_box = np.maximum(np.cumsum(~is_group) - 1, 0)
        none = np.zeros(len(gap), np.int64)
        return _Profile(
            capped(text(stored.get("title"))),
            clock,
            _integer(stored.get("start_ns")) or 0,
            first,
            tuple(rows.process),
            tuple(rows.thread),
            rows.row[boxes],
            rows.start[boxes],
            rows.end[boxes],
            is_group[boxes],
            (_are_native(stored, len(texts))[of_box] & ~is_group)[boxes],
            _timing(stored, len(texts))[of_box][boxes],
            (texts[of_box] if len(texts) else none)[boxes],
            (keys[of_box] if len(keys) else none)[boxes],
            sequence(stored.get("texts")),
            sequence(stored.get("keys")),
            sequence(stored.get("groups")),
            max(whole_number(stored.get("slices")) or 0, int((~is_group).sum())),
            rows.damaged,
        )

    def add_to(self, builder: TraceBuilder, places: _Places, *, in_ns: bool, is_one: bool) -> None:
        """Add the exact slices. in_ns: as ns of their axis; is_one: whether it is the only one."""
        index = np.flatnonzero(~self.is_group & ~self.is_native)
        start, end = self.start[index], self.end[index]
        if in_ns:
            rate = self.clock.ns_per_tick
            start, end = (ticks_to_ns(x - self.first, rate) + self.start_ns for x in (start, end))
        labels, names = _texts(self.texts)
        tracks = np.array(
            [
                builder.track(process if is_one else f"{self.title}: {process}", thread)
                for process, thread in zip(self.process, self.thread, strict=True)
            ],
            np.int64,
        )
        which = _clipped(self.text[index], len(labels))
        numbers = builder.intern_all(labels).astype(np.int64)
        key = np.array([builder.key(KeyKind.PLAIN, label) for label in labels], np.int64)
        columns = self._columns(index, which, names, places)
        builder.add(
            track=tracks[self.row[index]].astype(np.uint32),
            start=start,
            end=end,
            name=numbers[which].astype(np.uint32),
            key=key[which].astype(np.uint32),
            columns=columns,
            derived=self.timing[index] == Timing.DERIVED,
            timing=np.where(self.timing[index] == Timing.DERIVED, 0, self.timing[index]).astype(
                np.uint8
            ),
        )

    def _columns(
        self, index: Ints, which: Ints, names: Sequence[str], places: _Places
    ) -> dict[str, Column]:
        """Return the name in the file, operator, module and source lines of the slices, if any."""
        columns = {"name_in_file": _column(which, names)}
        rows = [sequence(row) for row in self.keys] or [[]]
        of_key = _clipped(self.key[index], len(rows))
        for number, name in enumerate(("operator", "module")):
            labels = mapping(self.groups[number]) if number < len(self.groups) else {}
            texts = [capped(text(labels.get(str(_at(row, number))))) for row in rows]
            columns[name] = _column(of_key, texts)
        columns["source"] = _column(of_key, [places.text(_at(row, 2)) for row in rows])
        return {name: column for name, column in columns.items() if column is not None}


class _Rows:
    """Adds the rows of a profile up: gaps and durations to starts and ends."""

    def __init__(self, gap: Ints, dur: Ints, first: int) -> None:
        self._gap, self._dur, self._first = gap, dur, first
        self._at = 0
        self.row = np.full(len(gap), -1, np.int64)
        self.start, self.end = np.zeros(len(gap), np.int64), np.zeros(len(gap), np.int64)
        self.process: list[str] = []
        self.thread: list[str] = []
        self.damaged = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add [band, number of boxes, process, thread, depth]."""
        size = whole_number(row[1]) if len(row) > 3 else None
        if size is None or self._at + size > len(self._gap):
            self.damaged += 1
            return
        part = slice(self._at, self._at + size)
        self._at += size
        gap, dur = self._gap[part], self._dur[part]
        far = abs(self._first) + gap.sum(dtype=np.float64) + dur.sum(dtype=np.float64)
        if far >= _FARTHEST:
            self.damaged += 1
            return
        both = np.cumsum(gap + dur)
        self.end[part] = self._first + both
        self.start[part] = self.end[part] - dur
        self.row[part] = len(self.process)
        self.process.append(capped(text(row[2])))
        self.thread.append(capped(text(row[3])))


def _texts(stored: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Return the label of each text, and its name in the file if that is another one."""
    pairs = [sequence(pair) for pair in stored] or [[]]
    labels = [capped(text(pair[0])) if pair else "" for pair in pairs]
    return labels, [capped(text(pair[1])) if len(pair) > 1 else "" for pair in pairs]


def _column(which: Ints, texts: Sequence[str]) -> Column | None:
    """Return a column of some texts, None if all are empty."""
    if not any(texts):
        return None
    has = np.array([bool(cell) for cell in texts])[which]
    return Column.of_codes(which.astype(np.uint32), texts, None if has.all() else has)


def _are_native(stored: dict[str, Any], count: int) -> Bools:
    """Return which exact slices have a duration of a clock of their own; one value at least."""
    mask = np.zeros(max(count, 1), np.bool_)
    numbers = (whole_number(name) for name in mapping(stored.get("native")))
    mask[[number for number in numbers if number is not None and number < count]] = True
    return mask


def _timing(stored: dict[str, Any], count: int) -> Timings:
    """Return the timing of every exact slice; one value at least."""
    timings = _numbers(stored.get("timing"))
    if timings is None or len(timings) != count or (timings >= len(TIMING_TEXTS)).any():
        return np.zeros(max(count, 1), np.uint8)
    return np.append(timings, 0)[: max(count, 1)].astype(np.uint8)


def _at(row: Sequence[Any], position: int) -> int:
    """Return a number in a list, -1 if there is none."""
    number = whole_number(row[position]) if position < len(row) else None
    return -1 if number is None else number


def _clipped(numbers: Ints, count: int) -> Ints:
    """Return numbers that are valid indexes into `count` values, at least one."""
    return np.clip(numbers, 0, max(count - 1, 0))


def _numbers(stored: Any) -> Ints | None:
    """Return a list of integers from 0 on as an array, None if it is none."""
    try:
        numbers = np.fromiter(sequence(stored), np.int64, len(sequence(stored)))
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if isinstance(stored, list) and not (numbers < 0).any() else None


def _integer(stored: Any) -> int | None:
    """Return an integer given as a number or as text, None if it is too far from 0."""
    number = None
    if isinstance(stored, str) and _TICK.fullmatch(stored):
        number = int(stored)
    elif isinstance(stored, int) and not isinstance(stored, bool):
        number = stored
    return number if number is not None and abs(number) < _FARTHEST else None


def _clock(stored: dict[str, Any]) -> Clock | None:
    parts = text(stored.get("numerator")), text(stored.get("denominator"))
    if not all(map(_RATE.fullmatch, parts)):
        return None
    numerator, denominator = map(int, parts)
    unit = text(stored.get("unit"))
    if not 0 < numerator < _FARTHEST or not 0 < denominator < _FARTHEST or unit not in _UNITS:
        return None
    rate = Fraction(numerator, denominator)
    return Clock(unit, rate, stored.get("origin") == "assumed", capped(text(stored.get("domain"))))
