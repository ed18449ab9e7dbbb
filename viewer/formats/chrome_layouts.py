"""Trace events of equal layout as columns, in a block of a Chrome trace.

Of the events that a profiler writes by the million, nearly all say the same things in the same
order; `json_layouts` finds them, and here their values become times, codes and arguments, without
an object an event. Only slices (X, B, E) are read so, and only what reads the same as by the parser
of `chrome_events`: all else is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from viewer.formats.json_layouts import (
    Alike,
    Layout,
    Objects,
    are_values,
    decimals,
    distinct,
    texts_of,
    whole_numbers,
)
from viewer.model.trace import Bools, Codes, Ints

ARGUMENTS = "args"
_TEXTS, _IDS, _TIMES = ("ph", "name", "cat"), ("pid", "tid"), ("ts", "dur")
_OF_OTHERS = frozenset(("id", "id2", "scope", "s", "bp"))

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
        self._known: dict[int, list[Layout]] = {}
        self._is_read = is_read

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

    def _events(self, objects: Objects, alike: Alike) -> tuple[EventsAlike | None, Ints]:
        """What the events of one layout say, None if they are none to be read so; and the rest."""
        paths = [value.path for value in alike.layout.values]
        nothing = None, alike.rows
        if (ARGUMENTS,) in paths or ("ph",) not in paths or ("ts",) not in paths:
            return nothing
        if any(path[0] in _OF_OTHERS for path in paths):
            return nothing
        made = EventsAlike(alike.rows)
        good = np.ones(len(alike.rows), np.bool_)
        ids: dict[str, tuple[list[int] | list[str], Codes]] = {}
        for value, (start, end) in zip(alike.layout.values, alike.spans, strict=True):
            name, is_text = value.path[-1], value.is_text
            if len(value.path) > 1:
                fits: Bools | None = _argument(made, objects, name, value.sample, is_text,
                                               (start, end))  # fmt: skip
            elif name in _TEXTS:
                fits = _put_text(made.texts, objects, name, (start, end)) if is_text else None
            elif name in _IDS:
                fits = _id(ids, objects, name, is_text, (start, end))
            elif name in _TIMES:
                fits = None if is_text else _time(made, objects, value.path[0], value.sample,
                                                  (start, end))  # fmt: skip
            else:
                raw, _ = distinct(objects, start - is_text, end + is_text)
                fits = good if are_values(raw) else None
            if fits is None:
                return nothing
            good &= fits
        phases, codes = made.texts["ph"]
        good &= np.array([self._is_read(phase) for phase in phases])[codes]
        if not good.all():
            if int(np.count_nonzero(good)) == 0:
                return nothing
            spans = tuple((start[good], end[good]) for start, end in alike.spans)
            events, rest = self._events(objects, Alike(alike.layout, alike.rows[good], spans))
            return events, np.concatenate([alike.rows[~good], rest])
        made.threads = _pairs(ids, len(alike.rows))
        return made, alike.rows[:0]


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
    into: dict[str, tuple[list[int] | list[str], Codes]], objects: Objects, name: str,
    is_text: bool, span: tuple[Ints, Ints],
) -> Bools | None:  # fmt: skip
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
    made: EventsAlike, objects: Objects, name: str, sample: bytes, is_text: bool,
    span: tuple[Ints, Ints],
) -> Bools | None:  # fmt: skip
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
