"""Trace events of equal layout as columns, in a block of a Chrome trace.

Of the events that a profiler writes by the million, nearly all say the same things in the same
order; `json_layouts` finds them, and here their values become times, codes and arguments, without
an object an event. Only slices (X, B, E) are read so, and only what reads the same as by the parser
of `chrome_events`: all else is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.json_layouts import (
    AlikeObjects,
    JsonLayout,
    Objects,
    Value,
    are_values,
    decimals,
    distinct,
    texts_of,
    whole_numbers,
)

ARGUMENTS = "args"
_TEXTS, _IDS, _TIMES = ("ph", "name", "cat"), ("pid", "tid"), ("ts", "dur")
_OF_OTHERS = frozenset(("id", "id2", "scope", "s", "bp"))

_Type = TypeVar("_Type", bound=np.generic)
Ids = tuple[int | str | None, int | str | None]


@dataclass(slots=True)
class EventsAlike:
    """Events of one layout: their rows in the block, and what they say.

    texts: ph, name and cat, distinct ones and codes. threads: distinct pairs of pid and tid, and
    codes. times: ts and dur in ns and thousandths, where there are such. numbers, words and raw:
    arguments that are whole numbers, texts, or any other JSON.
    """

    rows: Ints
    texts: dict[str, tuple[list[str], Codes]] = field(default_factory=dict)
    threads: tuple[list[Ids], Codes] = field(default_factory=lambda: ([], np.empty(0, np.uint32)))
    times: dict[str, tuple[Ints, NDArray[np.int16]]] = field(default_factory=dict)
    numbers: dict[str, Ints] = field(default_factory=dict)
    words: dict[str, tuple[list[str], Codes]] = field(default_factory=dict)
    raw: dict[str, tuple[list[bytes], Codes]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


class EventLayouts:
    """The layouts of the events of a file, kept from block to block."""

    def __init__(self, is_read: Callable[[str], bool]) -> None:
        """is_read: whether events of a phase are read by columns."""
        self._known: dict[int, list[JsonLayout]] = {}
        self._is_read = is_read
        self._said: dict[JsonLayout, _Said | None] = {}  # of all events of a layout

    def read(self, objects: Objects) -> tuple[list[EventsAlike], Ints]:
        """The events of a block by layout, and which objects are left."""
        found, left = [], []
        alike, others = objects.alike(self._known, ARGUMENTS)
        for one in alike:
            events, rest = self._events(objects, one)
            left.append(rest)
            if events is not None:
                found.append(events)
        return found, np.sort(np.concatenate([others, *left]))

    def _events(self, objects: Objects, alike: AlikeObjects) -> tuple[EventsAlike | None, Ints]:
        """What the events of one layout say, None if they are none to be read so; and the rest."""
        layout, rows = alike.layout, alike.rows
        said = self._of_all(layout)
        if said is None:
            return None, rows
        made = _Said(EventsAlike(rows))
        for value, span in zip(layout.values, alike.spans, strict=True):
            if not made.take(objects, value, span):
                return None, rows
        good, events = made.good, made.events
        if "ph" in events.texts:
            phases, codes = events.texts["ph"]
            good &= np.array([self._is_read(phase) for phase in phases])[codes]
        if not good.all():
            if not good.any():
                return None, rows
            spans = tuple((start[good], end[good]) for start, end in alike.spans)
            found, rest = self._events(objects, AlikeObjects(layout, rows[good], spans))
            return found, np.concatenate([rows[~good], rest])
        made.add(said)
        events.threads = _pairs(made.ids, len(rows))
        return events, rows[:0]

    def _of_all(self, layout: JsonLayout) -> _Said | None:
        """What all events of a layout say; None if such events are not read by columns."""
        if layout not in self._said:
            said = _Said(EventsAlike(np.zeros(1, np.int64)))
            is_read = self._are_read(layout) and all(
                said.take(layout.example, value, span) for value, span in layout.constants
            )
            phases, _ = said.events.texts.get("ph", ([], None))
            is_read &= bool(said.good.all()) and all(map(self._is_read, phases))
            self._said[layout] = said if is_read else None
        return self._said[layout]

    def _are_read(self, layout: JsonLayout) -> bool:
        paths = {value.path for value in layout.every}
        return {("ph",), ("ts",)} <= paths and not any(
            path == (ARGUMENTS,) or path[0] in _OF_OTHERS for path in paths
        )


class _Said:
    """What some values of events say, as it is put together. good: of which events all could be
    read. ids: pid and tid, distinct ones and codes."""

    def __init__(self, events: EventsAlike) -> None:
        self.events = events
        self.good: Bools = np.ones(len(events), np.bool_)
        self.ids: dict[str, tuple[list[int] | list[str], Codes]] = {}

    def take(self, objects: Objects, value: Value, span: tuple[Ints, Ints]) -> bool:
        """Take in one value of all events; False if it is none to be read so."""
        name, is_text, made = value.path[-1], value.is_text, self.events
        fits: Bools | None
        if len(value.path) > 1:
            fits = _argument(made, objects, name, value.sample, is_text, span)
        elif name in _TEXTS:
            fits = _put_text(made.texts, objects, name, span) if is_text else None
        elif name in _IDS:
            fits = _id(self.ids, objects, name, is_text, span)
        elif name in _TIMES:
            fits = None if is_text else _time(made, objects, name, value.sample, span)
        else:
            raw, _ = distinct(objects, span[0] - is_text, span[1] + is_text)
            fits = self.good if are_values(raw) else None
        if fits is None:
            return False
        self.good &= fits
        return True

    def add(self, said: _Said) -> None:
        """Take in what all events say."""
        own, more, count = self.events, said.events, len(self.events)

        def wide(values: NDArray[_Type]) -> NDArray[_Type]:
            return np.broadcast_to(values, (count,))

        self.ids |= {name: (values, wide(codes)) for name, (values, codes) in said.ids.items()}
        own.texts |= {name: (texts, wide(codes)) for name, (texts, codes) in more.texts.items()}
        own.times |= {name: (wide(ns), wide(ps)) for name, (ns, ps) in more.times.items()}
        own.numbers |= {name: wide(values) for name, values in more.numbers.items()}
        own.words |= {name: (texts, wide(codes)) for name, (texts, codes) in more.words.items()}
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
    """The distinct pairs of pid and tid in the order in which they come, and codes."""
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
