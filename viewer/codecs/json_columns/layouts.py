"""Reads JSON objects of equal layout, such as those from one line of a program, as columns.

Between their values such objects have the same text, byte for byte. One object is parsed in Python.
Comparing words then finds all others with the same layout, and their quotes give the positions of
their values. Only values are examined after that, each kind at once. Nothing is assumed: objects
whose text differs, and values that are not JSON, are left to a parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.json_columns.objects import MASKS, PADDING, Bytes, Objects, Words, words_at

FEWEST = 128  # objects of one layout that are worth the cost of the calls
_MOST_LAYOUTS = 12  # per number of quotes
_LOOKED_AT = 32  # objects of a layout that are sampled for constant values
_LONGEST = PADDING - 8
_MOST_DIGITS = 18
_QUOTE, _ZERO, _POINT, _MINUS = b'"0.-'
_ESCAPE = b"\\"
_LARGEST = (1 << 62) - 1
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])
_TEXTS = msgspec.json.Decoder(list[str])

_ZEROS = np.uint64(0x3030303030303030)
_TO_HIGH = np.uint64(0x4646464646464646)  # sets the high bit of bytes above "9"
_HIGH = np.uint64(0x8080808080808080)
_JOINS = tuple(
    (by, np.uint64(mask))
    for by, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF))
)


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a layout: its keys, whether it is a string, where it is, and a sample."""

    path: tuple[str, ...]
    is_text: bool
    first: tuple[int, int]  # start: number of a quote and distance from it
    last: tuple[int, int]  # end: the same; quote -1 is the object's end
    sample: bytes


@dataclass(frozen=True, slots=True, eq=False)
class JsonLayout:
    """What is the same in all objects of one layout.

    every: all values, including constant ones. between: the text before each value and after the
    last. values, fixed: the same without the constant values, whose text is part of `fixed`.
    constants: the constant values, and their positions in `example`, the object that was parsed.
    """

    every: tuple[Value, ...]
    between: tuple[bytes, ...]
    example: Objects
    is_constant: tuple[bool, ...] = ()
    values: tuple[Value, ...] = ()
    fixed: tuple[bytes, ...] = ()
    constants: tuple[tuple[Value, tuple[Ints, Ints]], ...] = ()

    @staticmethod
    def of(raw: bytes, nested: str) -> JsonLayout | None:
        """The layout of one object, no values constant; None if it is not JSON or repeats a key.

        The member `nested` is replaced by its own members.
        """
        text = raw.decode("latin-1")
        try:
            found = list(_members(text, nested))
        except (ValueError, IndexError, RecursionError):
            return None
        paths = [path for path, _, _ in found]
        if not found or len(set(paths)) < len(paths) or b"\\" in raw:
            return None
        quotes = [at for at, byte in enumerate(raw) if byte == _QUOTE]
        values, between, before = [], [], 0
        for path, begin, end in found:
            is_text = raw[begin] == _QUOTE
            first, last = begin + is_text, end - is_text
            opened = sum(at < first for at in quotes)
            closed = sum(at < last for at in quotes)
            after = quotes[closed] if closed < len(quotes) else len(raw)
            values.append(
                Value(
                    path,
                    is_text,
                    (opened - 1, first - quotes[opened - 1]),
                    (closed if closed < len(quotes) else -1, after - last),
                    raw[first:last],
                )
            )
            between.append(raw[before:first])
            before = last
        between.append(raw[before:])
        layout = JsonLayout(tuple(values), tuple(between), Objects(raw))
        return layout.with_constants([False] * len(values))

    def with_constants(self, which: Sequence[bool]) -> JsonLayout | None:
        """A copy with some values as constants; None if the fixed text becomes too long."""
        values, constants, fixed = [], [], [self.between[0]]
        at = len(self.between[0])
        for value, is_constant, after in zip(self.every, which, self.between[1:], strict=True):
            end = at + len(value.sample)
            if is_constant:
                constants.append((value, (np.array([at]), np.array([end]))))
                fixed[-1] += value.sample + after
            else:
                values.append(value)
                fixed.append(after)
            at = end + len(after)
        if max(map(len, fixed)) > _LONGEST:
            return None
        layout = replace(self, is_constant=tuple(which), values=tuple(values))
        return replace(layout, fixed=tuple(fixed), constants=tuple(constants))

    def is_like(self, other: JsonLayout) -> bool:
        """Whether only values differ."""
        return self.between == other.between and all(
            (a.path, a.is_text, a.first, a.last) == (b.path, b.is_text, b.first, b.last)
            for a, b in zip(self.every, other.every, strict=True)
        )

    def in_common(self, other: JsonLayout) -> JsonLayout:
        """A copy with only the constants that `other` shares; both must be alike."""
        both = zip(self.is_constant, self.every, other.is_constant, other.every, strict=True)
        same = [one and other_one and a.sample == b.sample for one, a, other_one, b in both]
        return self.with_constants(same) or self


def _members(text: str, nested: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Keys, start and end of each value of an object. Raises ValueError if it is not one."""
    stack: list[str] = []

    def skip(at: int, mark: str = "") -> int:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it always matches
        if mark and text[at] != mark:
            raise ValueError(mark)
        return at

    at = skip(skip(0, "{") + 1)
    while True:
        if text[at] != '"':
            raise ValueError
        key, at = _DECODER.raw_decode(text, at)
        key = key.encode("latin-1").decode()
        at = skip(skip(at, ":") + 1)
        if not stack and key == nested and text[at] == "{":
            stack.append(key)
            at = skip(at + 1)
            continue
        _, end = _DECODER.raw_decode(text, at)
        yield (*stack, key), at, end
        at = skip(end)
        while text[at] == "}":
            if not stack:
                if at + 1 != len(text):
                    raise ValueError
                return
            stack.pop()
            at = skip(at + 1)
        if text[at] != ",":
            raise ValueError
        at = skip(at + 1)


@dataclass(frozen=True, slots=True)
class ObjectGroup:
    """Objects of one layout in a block: their rows in the block, and the spans of their values."""

    layout: JsonLayout
    rows: Ints
    spans: tuple[tuple[Ints, Ints], ...]


class QuotedObjects(Objects):
    """Objects with the positions of their quotes.

    `is_plain` is also False if the quotes are too hard to find.
    """

    def __init__(self, objects: Objects) -> None:
        """Find the quotes of some objects."""
        self.text, self.data, self.size = objects.text, objects.data, objects.size
        self.begin, self.end = objects.begin, objects.end
        self._quotes: Ints = np.empty(0, np.int64)
        self.is_plain = objects.is_plain and self._find_quotes()
        self._first = np.searchsorted(self._quotes, self.begin)  # each object's first quote

    def _find_quotes(self) -> bool:
        text, size = self.text, self.size
        data = self.data[:size]
        quotes = np.flatnonzero(data == _QUOTE)
        if text.find(_ESCAPE, 0, size) >= 0:
            if text.find(2 * _ESCAPE, 0, size) >= 0:
                return False
            quotes = quotes[data[quotes - 1] != _ESCAPE[0]]
        self._quotes = quotes
        return True

    def group_by_layout(
        self, known: dict[int, list[JsonLayout]], nested: str
    ) -> tuple[list[ObjectGroup], Ints]:
        """Group objects by layout and return the rest. known: layouts by number of quotes."""
        first = self._first
        count = np.diff(first, append=len(self._quotes))
        found: list[ObjectGroup] = []
        left: list[Ints] = []
        for quotes in np.flatnonzero(np.bincount(count)).tolist():
            rows = np.flatnonzero(count == quotes)
            layouts = known.setdefault(quotes, [])
            for layout in layouts:
                if len(rows) >= FEWEST:
                    rows = self._take(layout, rows, found)
            for _ in range(_MOST_LAYOUTS):
                if len(rows) < FEWEST:
                    break
                at = int(rows[0])
                candidate = JsonLayout.of(self.text[self.begin[at] : self.end[at]], nested)
                rest = rows if candidate is None else self._take(candidate, rows, found)
                if candidate is None or len(rest) == len(rows):
                    break
                rows = rest
                _keep(layouts, self._with_constants(found[-1]))
            left.append(rows)
        return found, np.sort(np.concatenate(left))

    def _take(self, layout: JsonLayout, rows: Ints, found: list[ObjectGroup]) -> Ints:
        """Move rows with `layout` to `found` and return the others (all, if too few match)."""
        same, spans = self._matched(layout, rows, self._first[rows])
        matches = int(np.count_nonzero(same))
        if matches < FEWEST:
            return rows
        if matches == len(rows):
            found.append(ObjectGroup(layout, rows, tuple(spans)))
        else:
            spans = [(start[same], end[same]) for start, end in spans]
            found.append(ObjectGroup(layout, rows[same], tuple(spans)))
        return rows[~same]

    def _with_constants(self, found: ObjectGroup) -> JsonLayout:
        """A copy of the layout with values that are equal in a sample of objects as constants."""
        layout, text = found.layout, self.text
        some = np.linspace(0, len(found.rows) - 1, _LOOKED_AT).astype(np.int64)
        same = [
            all(
                text[a:b] == value.sample
                for a, b in zip(start[some].tolist(), end[some].tolist(), strict=True)
            )
            for value, (start, end) in zip(layout.values, found.spans, strict=True)
        ]
        return layout.with_constants(same) or layout

    def _matched(
        self, layout: JsonLayout, rows: Ints, quote: Ints
    ) -> tuple[Bools, list[tuple[Ints, Ints]]]:
        """Which rows have a layout, and the spans of the values of all rows."""
        same = np.ones(len(rows), np.bool_)
        before, whole_end = self.begin[rows], self.end[rows]
        spans = []
        for value, fixed in zip(layout.values, layout.fixed, strict=False):
            start = self._quotes[quote + value.first[0]] + value.first[1]
            number, back = value.last
            end = (whole_end if number < 0 else self._quotes[quote + number]) - back
            same &= (start - before == len(fixed)) & (end >= start)
            same &= self.is_there(before, fixed)
            if not same.any():
                return same, []
            spans.append((start, end))
            before = np.maximum(end, 0)
        same &= whole_end - before == len(layout.fixed[-1])
        same &= self.is_there(before, layout.fixed[-1])
        return same, spans


def _keep(layouts: list[JsonLayout], made: JsonLayout) -> None:
    """Store a layout for the next block, keeping the common constants if only values differ."""
    for i, layout in enumerate(layouts):
        if layout.is_like(made):
            layouts[i] = layout.in_common(made)
            return
    if len(layouts) < _MOST_LAYOUTS:
        layouts.append(made)


def distinct(objects: Objects, start: Ints, end: Ints) -> tuple[list[bytes], Codes]:
    """The distinct texts in some spans, and the index of each span's text."""
    size = end - start
    longest = int(size.max(initial=0))
    text = objects.text
    if longest > _LONGEST or not len(start):
        known: dict[bytes, int] = {}
        spans = zip(start.tolist(), end.tolist(), strict=True)
        codes = [known.setdefault(text[a:b], len(known)) for a, b in spans]
        return list(known), np.array(codes, np.uint32)
    words = words_at(objects.data, start, longest)
    # Ignore bytes after the end.
    words = [
        word & MASKS[np.minimum(np.maximum(size - 8 * k, 0), 8)] for k, word in enumerate(words)
    ]
    if (size == size[0]).all() and all((word == word[0]).all() for word in words):
        return [text[start[0] : end[0]]], np.zeros(len(start), np.uint32)
    of = _first_equal([size.view(np.uint64), *words])
    is_first = of == np.arange(len(of))
    first = np.flatnonzero(is_first)
    numbers = (np.cumsum(is_first) - 1).astype(np.uint32)
    spans = zip(start[first].tolist(), end[first].tolist(), strict=True)
    return [text[a:b] for a, b in spans], numbers[of]


def _first_equal(words: Sequence[Words]) -> Ints:
    """For each row, the first row with the same words.

    Rows are hashed into a table and compared with the first row there. Rows that differ retry with
    other bits of the hash. The rest is sorted.
    """
    mixed = words[0] * np.uint64(0x9E3779B97F4A7C15)
    for word in words[1:]:
        mixed = (mixed ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    rest, left = np.arange(len(mixed)), words
    found = rest.copy()
    table = np.empty(1 << 16, np.int64)
    for by in (48, 16, 0):
        place = (mixed >> np.uint64(by)).astype(np.uint16)
        # Among equal rows, the last one written stays: the first row.
        table[place[::-1]] = rest[::-1]
        first = table[place]
        same = np.ones(len(rest), np.bool_)
        for word, own in zip(words, left, strict=True):
            same &= own == word[first]
        if same.all():
            found[rest] = first
            return found
        found[rest[same]] = first[same]
        rest, mixed = rest[~same], mixed[~same]
        left = [word[rest] for word in words]
    rows = np.stack(left, axis=1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    found[rest] = rest[first[inverse.reshape(-1)]]
    return found


def whole_numbers(data: Bytes, start: Ints, end: Ints) -> tuple[Ints, Bools]:
    """Parse JSON integers of at most 18 digits in some spans; also returns which are valid."""
    minus = data[start] == _MINUS
    has_minus = bool(minus.any())
    if has_minus:
        start = start + minus
    digits = end - start
    good = (digits > 0) & (digits <= _MOST_DIGITS)
    good &= (data[start] != _ZERO) | (digits == 1)
    values = np.zeros(len(start), np.int64)
    for k in range(0, min(int(digits.max(initial=0)), _MOST_DIGITS), 8):
        eight, are_digits = _eight_digits(data, end - k, digits - k)
        good &= are_digits
        values += eight * np.int64(10**k)
    return np.where(minus, -values, values) if has_minus else values, good


def _eight_digits(data: Bytes, end: Ints, digits: Ints) -> tuple[Ints, Bools]:
    """Parse up to eight digits before each position; also returns where they are all digits."""
    at = end - 8
    values, good = _number(words_at(data, np.maximum(at, 0), 8)[0], digits)
    return values, good & ((at >= 0) | (digits <= 0))


def _number(word: Words, digits: Ints) -> tuple[Ints, Bools]:
    """Parse the last digits (up to eight) of each word; also returns where they are all digits.

    Neighboring digits are merged into numbers below 100, those into numbers below 10^4, and so on.
    """
    before = MASKS[8 - np.minimum(np.maximum(digits, 0), 8)]
    word = (word & ~before) | (_ZEROS & before)
    rest = word - _ZEROS
    good = (((word + _TO_HIGH) | rest) & _HIGH) == 0
    for by, mask in _JOINS:
        rest = (rest * np.uint64(10 ** (by // 8)) + (rest >> np.uint64(by))) & mask
    return rest.view(np.int64), good


def decimals(
    data: Bytes, start: Ints, end: Ints, sample: bytes
) -> tuple[Ints, NDArray[np.int16], Bools]:
    """Parse numbers with as many decimals as `sample` (at most six), from 0 to 2^62 thousandths.

    Returns whole thousandths, the remainder in thousandths of those, and which numbers are valid.
    """
    places = len(sample) - 1 - sample.find(b".") if b"." in sample else 0
    none = np.zeros(len(start), np.int16)
    if not places:
        value, good = whole_numbers(data, start, end)
        return value * 1000, none, good & (value >= 0) & (value <= _LARGEST // 1000)
    point = end - 1 - places
    digits = end - start - 1
    most = _MOST_DIGITS + (places <= 3)  # 2^62 has 19 digits; larger values fail the checks below
    good = (point > start) & (data[np.maximum(point, 0)] == _POINT) & (digits <= most)
    good &= (data[start] != _ZERO) | (point == start + 1)
    if places > 6:
        return np.zeros(len(start), np.int64), none, np.zeros(len(start), np.bool_)
    # The last word without its point: the bytes before the point move up by one.
    word = words_at(data, np.maximum(end - 8, 0), 8)[0]
    whole = np.uint64((1 << 8 * (8 - places)) - 1)
    value, are_digits = _number(
        (word & ~whole) | ((word << np.uint64(8)) & whole), np.minimum(digits, 7)
    )
    good &= are_digits & (end >= 8)
    for k in range(7, min(int(digits.max(initial=0)), most), 8):
        eight, are_digits = _eight_digits(data, end - k - 1, digits - k)
        good &= are_digits
        value += eight * np.int64(10**k)
    good &= value >= 0
    if places <= 3:
        step = 10 ** (3 - places)
        return value * step, none, good & (value <= _LARGEST // step)
    value, rest = np.divmod(value, 10 ** (places - 3))
    return value, (rest * 10 ** (6 - places)).astype(np.int16), good


def texts_of(raw: Sequence[bytes]) -> list[str] | None:
    """Decode the contents of JSON strings (without quotes); None if one of them is invalid."""
    try:
        return _TEXTS.decode(b'["' + b'","'.join(raw) + b'"]')
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def are_values(raw: Sequence[bytes]) -> bool:
    """Whether each is one JSON value, without surrounding spaces."""
    try:
        found = _RAWS.decode(b"[" + b",".join(raw) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return len(found) == len(raw) and all(
        bytes(one) == other for one, other in zip(found, raw, strict=True)
    )
