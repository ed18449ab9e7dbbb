"""Reads trace events of equal layout as columns, in a block of a Chrome trace.

If all events of a file have the same few layouts, this takes less time than to cut them in pieces
(`pieces`), and it does not need their texts to repeat. `viewer.codecs.json_columns.layouts` finds
such events, and this module converts their values to times, codes and arguments without an object
per event. It reads only slices (X, B, E), and only values that the parser in `block_events` would
read identically; that parser reads everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.json_columns.layouts import (
    JsonLayout,
    ObjectGroup,
    QuotedObjects,
    Value,
    are_values,
    decimals,
    distinct,
    texts_of,
    whole_numbers,
)
from viewer.codecs.json_columns.objects import Objects
from viewer.formats.chrome.event_structs import STACKS
from viewer.formats.chrome.ids import Name
from viewer.formats.chrome.read_events import ReadEvents
from viewer.formats.text_rows import DistinctTexts

ARGUMENTS, BIND_ID = "args", "bind_id"
FLOW_IN, FLOW_OUT = "flow_in", "flow_out"
_TEXTS, _IDS, _TIMES = ("ph", "name", "cat"), ("pid", "tid"), ("ts", "dur", "tts", "tdur")
_OF_OTHERS = frozenset(("id", "id2", "scope", "s", "bp"))

_Type = TypeVar("_Type", bound=np.generic)
Ids = tuple[int | str | None, int | str | None]


@dataclass(slots=True)
class EventsAlike:
    """Events of one layout: their rows in the block, and their values.

    texts: ph, name and cat, as distinct texts and codes. threads: distinct pairs of pid and tid,
    and codes. times: ts, dur, tts and tdur in ns and thousandths, if present. has_stack: whether
    they have stack frames, which are not read. bind_ids: distinct ids and codes, if present. flags:
    flow_in and flow_out, if present. numbers, words, raw: arguments
    that are integers, strings or other JSON.
    """

    rows: Ints
    texts: dict[str, tuple[list[str], Codes]] = field(default_factory=dict)
    threads: tuple[list[Ids], Codes] = field(default_factory=lambda: ([], np.empty(0, np.uint32)))
    times: dict[str, tuple[Ints, NDArray[np.int16]]] = field(default_factory=dict)
    numbers: dict[str, Ints] = field(default_factory=dict)
    words: dict[str, tuple[list[str], Codes]] = field(default_factory=dict)
    raw: dict[str, tuple[list[bytes], Codes]] = field(default_factory=dict)
    has_stack: bool = False
    bind_ids: tuple[list[int] | list[str], Codes] | None = None
    flags: dict[str, Bools] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


class EventLayouts:
    """The layouts of a file's events, kept from block to block."""

    def __init__(
        self,
        texts: Mapping[str, DistinctTexts],
        threads: dict[tuple[Name, Name], int],
        is_read: Callable[[str], bool],
    ) -> None:
        """texts: the tables for the values of ph, name and cat. threads: numbers each new pair.

        is_read: whether events of a phase can be read as columns.
        """
        self._texts, self._threads = texts, threads
        self._known: dict[int, list[JsonLayout]] = {}
        self._is_read = is_read
        self._said: dict[JsonLayout, _Said | None] = {}  # the constant values of each layout

    def read(self, objects: Objects) -> tuple[list[ReadEvents], Ints] | None:
        """The events of a block by layout, and the remaining objects; None if too few are read."""
        quoted = QuotedObjects(objects)
        if not quoted.is_plain:
            return None
        found, left = [], []
        alike, others = quoted.group_by_layout(self._known, ARGUMENTS)
        for one in alike:
            events, rest = self._events(objects, one)
            left.append(rest)
            if events is not None:
                found.append(self._as_read(events))
        rest = np.sort(np.concatenate([others, *left]))
        return None if 2 * len(rest) >= len(objects) else (found, rest)

    def _as_read(self, events: EventsAlike) -> ReadEvents:
        every, count = np.arange(len(events)), len(events)
        phase, name, cat = (
            self._texts[key].codes(texts)[codes]
            for key in _TEXTS
            for texts, codes in [events.texts.get(key, ([""], np.zeros(count, np.uint32)))]
        )
        pairs, codes = events.threads
        thread = np.array([self._threads[pair] for pair in pairs], np.uint32)[codes]
        read = ReadEvents(events.rows, phase, name, cat, thread)
        read.times = {key: (every, *times) for key, times in events.times.items()}
        read.numbers = [(key, every, values) for key, values in events.numbers.items()]
        read.words = [(key, every, *words) for key, words in events.words.items()]
        read.raw = [(key, every, *raw) for key, raw in events.raw.items()]
        if events.has_stack:
            read.stacks = every
        if events.bind_ids is not None:
            none = np.zeros(count, np.bool_)
            gives, takes = (events.flags.get(key, none) for key in (FLOW_OUT, FLOW_IN))
            read.bound = (every, *events.bind_ids, gives, takes)
        return read

    def _events(self, objects: Objects, alike: ObjectGroup) -> tuple[EventsAlike | None, Ints]:
        """The events of one layout, None if not readable as columns, and the remaining rows."""
        layout, rows = alike.layout, alike.rows
        shared = self._of_all(layout)
        if shared is None:
            return None, rows
        values = _Said(EventsAlike(rows))
        for value, span in zip(layout.values, alike.spans, strict=True):
            if not values.take(objects, value, span):
                return None, rows
        good, events = values.good, values.events
        if "ph" in events.texts:
            phases, codes = events.texts["ph"]
            good &= np.array([self._is_read(phase) for phase in phases])[codes]
        if not good.all():
            if not good.any():
                return None, rows
            spans = tuple((start[good], end[good]) for start, end in alike.spans)
            found, rest = self._events(objects, ObjectGroup(layout, rows[good], spans))
            return found, np.concatenate([rows[~good], rest])
        values.add(shared)
        events.threads = _pairs(values.ids, len(rows))
        events.has_stack = any(value.path[0] in STACKS for value in layout.every)
        return events, rows[:0]

    def _of_all(self, layout: JsonLayout) -> _Said | None:
        """The constant values of a layout; None if its events cannot be read as columns."""
        if layout not in self._said:
            shared = _Said(EventsAlike(np.zeros(1, np.int64)))
            is_read = self._are_read(layout) and all(
                shared.take(layout.example, value, span) for value, span in layout.constants
            )
            phases, _ = shared.events.texts.get("ph", ([], None))
            is_read &= bool(shared.good.all()) and all(map(self._is_read, phases))
            self._said[layout] = shared if is_read else None
        return self._said[layout]

    def _are_read(self, layout: JsonLayout) -> bool:
        paths = {value.path for value in layout.every}
        return {("ph",), ("ts",)} <= paths and not any(
            path == (ARGUMENTS,) or path[0] in _OF_OTHERS for path in paths
        )


class _Said:
    """Collects values of events.

    good: which events were read completely. ids: pid and tid, as distinct values and codes.
    """

    def __init__(self, events: EventsAlike) -> None:
        self.events = events
        self.good: Bools = np.ones(len(events), np.bool_)
        self.ids: dict[str, tuple[list[int] | list[str], Codes]] = {}

    def take(self, objects: Objects, value: Value, span: tuple[Ints, Ints]) -> bool:
        """Add one value of all events; False if it cannot be read as a column."""
        name, is_text, events = value.path[-1], value.is_text, self.events
        fits: Bools | None
        if len(value.path) > 1:
            fits = _argument(events, objects, name, value.sample, is_text, span)
        elif name in _TEXTS:
            fits = _put_text(events.texts, objects, name, span) if is_text else None
        elif name in _IDS:
            fits = _id(self.ids, objects, name, is_text, span)
        elif name == BIND_ID:
            known: dict[str, tuple[list[int] | list[str], Codes]] = {}
            fits = _id(known, objects, name, is_text, span)
            events.bind_ids = known.get(name)
        elif name in (FLOW_IN, FLOW_OUT) and not is_text:
            raw, codes = distinct(objects, *span)
            events.flags[name] = np.array([one == b"true" for one in raw])[codes]
            fits = self.good if are_values(raw) else None
        elif name in _TIMES:
            fits = None if is_text else _time(events, objects, name, value.sample, span)
        else:
            raw, _ = distinct(objects, span[0] - is_text, span[1] + is_text)
            fits = self.good if are_values(raw) else None
        if fits is None:
            return False
        self.good &= fits
        return True

    def add(self, said: _Said) -> None:
        """Add the values that are constant in all events."""
        own, more, count = self.events, said.events, len(self.events)

        def wide(values: NDArray[_Type]) -> NDArray[_Type]:
            return np.broadcast_to(values, (count,))

        self.ids |= {name: (values, wide(codes)) for name, (values, codes) in said.ids.items()}
        own.texts |= {name: (texts, wide(codes)) for name, (texts, codes) in more.texts.items()}
        own.times |= {name: (wide(ns), wide(ps)) for name, (ns, ps) in more.times.items()}
        own.numbers |= {name: wide(values) for name, values in more.numbers.items()}
        own.words |= {name: (texts, wide(codes)) for name, (texts, codes) in more.words.items()}
        if more.bind_ids is not None:
            own.bind_ids = more.bind_ids[0], wide(more.bind_ids[1])
        own.flags |= {name: wide(values) for name, values in more.flags.items()}
        own.raw |= {name: (values, wide(codes)) for name, (values, codes) in more.raw.items()}


def _put_text(
    into: dict[str, tuple[list[str], Codes]], objects: Objects, name: str, span: tuple[Ints, Ints]
) -> Bools | None:
    raw, codes = distinct(objects, *span)
    texts = texts_of(raw)
    if texts is None:
        return None
    into[name] = texts, codes
    return np.ones(len(codes), np.bool_)


def _id(
    into: dict[str, tuple[list[int] | list[str], Codes]],
    objects: Objects,
    name: str,
    is_text: bool,
    span: tuple[Ints, Ints],
) -> Bools | None:
    raw, codes = distinct(objects, *span)
    if is_text:
        texts = texts_of(raw)
        if texts is None:
            return None
        into[name] = texts, codes
        return np.ones(len(codes), np.bool_)
    plain = np.array([_is_whole(one) for one in raw])
    into[name] = [int(one) if ok else 0 for one, ok in zip(raw, plain.tolist(), strict=True)], codes
    fits: Bools = plain[codes]
    return fits


def _is_whole(raw: bytes) -> bool:
    digits = raw.removeprefix(b"-")
    return digits.isdigit() and len(digits) <= 18 and (digits[:1] != b"0" or raw == b"0")


def _pairs(
    ids: dict[str, tuple[list[int] | list[str], Codes]], count: int
) -> tuple[list[Ids], Codes]:
    """The distinct pairs of pid and tid in order of appearance, and codes."""
    none: tuple[list[None], Codes] = [None], np.zeros(count, np.uint32)
    (pids, pid), (tids, tid) = (ids.get(name, none) for name in _IDS)
    pair = pid.astype(np.int64) * len(tids) + tid
    numbers, first, codes = np.unique(pair, return_index=True, return_inverse=True)
    in_order = np.argsort(first)
    rank = np.empty(len(numbers), np.uint32)
    rank[in_order] = np.arange(len(numbers), dtype=np.uint32)
    found = [divmod(number, len(tids)) for number in numbers[in_order].tolist()]
    return [(pids[p], tids[t]) for p, t in found], rank[codes.reshape(-1)]


def _time(
    made: EventsAlike, objects: Objects, name: str, sample: bytes, span: tuple[Ints, Ints]
) -> Bools:
    ns, ps, good = decimals(objects.data, *span, sample)
    made.times[name] = ns, ps
    return good


def _argument(
    made: EventsAlike,
    objects: Objects,
    name: str,
    sample: bytes,
    is_text: bool,
    span: tuple[Ints, Ints],
) -> Bools | None:
    if is_text:
        return _put_text(made.words, objects, name, span)
    if _is_whole(sample):
        made.numbers[name], good = whole_numbers(objects.data, *span)
        return good
    raw, codes = distinct(objects, *span)
    if not are_values(raw):
        return None
    made.raw[name] = raw, codes
    return np.ones(len(codes), np.bool_)
