"""Converts the arguments of trace events, whose names each event chooses, to columns.

Events with the same argument names are processed together, so that an argument of a thousand events
is parsed at once. Values stay as in the file: numbers as numbers, strings as texts, arrays and
objects as their JSON text. A column with values of several kinds becomes text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes
from viewer.formats.chrome.layouts import EventsAlike
from viewer.formats.text_rows import DistinctTexts
from viewer.model.trace import Column

Arguments = Mapping[str, msgspec.Raw]

MAX_COLUMNS = 256
_INTS = msgspec.json.Decoder(list[int])
_FLOATS = msgspec.json.Decoder(list[float])
_TEXTS = msgspec.json.Decoder(list[str])
_NULL = b"null"
NOT_UTF8 = "text that is not UTF-8: invalid bytes are replaced"
_LEFT_OUT = "argument left out: there are already 256 others"
_TOO_MANY = "argument of few events left out to limit memory"


@dataclass(slots=True)
class _Part:
    """Values of one argument in one block: event rows, and numbers or text codes."""

    rows: Codes
    values: NDArray[Any]
    is_text: bool


@dataclass(slots=True)
class _Argument:
    parts: list[_Part] = field(default_factory=list)
    texts: DistinctTexts = field(default_factory=DistinctTexts)
    count: int = 0

    def add_texts(self, rows: Codes, texts: Sequence[str]) -> None:
        self.parts.append(_Part(rows, self.texts.codes(texts), True))
        self.count += len(rows)

    def add_codes(self, rows: Codes, texts: Sequence[str], codes: Codes) -> None:
        """Add texts given as codes into a list of distinct texts."""
        self.parts.append(_Part(rows, self.texts.codes(texts)[codes], True))
        self.count += len(rows)

    def add_raw(self, rows: Codes, values: Sequence[bytes]) -> int:
        """Add values as their text in the file; returns how many are not UTF-8."""
        distinct: dict[bytes, int] = {}
        codes = [distinct.setdefault(value, len(distinct)) for value in values]
        known = self.texts.codes([text_of(value) for value in distinct])
        self.parts.append(_Part(rows, known[codes], True))
        self.count += len(rows)
        not_utf8 = {code for value, code in distinct.items() if not _is_utf8(value)}
        return sum(code in not_utf8 for code in codes) if not_utf8 else 0

    def add_numbers(self, rows: Codes, values: NDArray[Any]) -> None:
        self.parts.append(_Part(rows, values, False))
        self.count += len(rows)


class _Kinds(dict[tuple[str, ...], int]):
    """Numbers the distinct tuples of argument names in a block."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        number = self[names] = len(self)
        return number


class ArgumentColumns:
    """The arguments of all events read so far, by row of the event in the file."""

    def __init__(self) -> None:
        self._arguments: dict[str, _Argument] = {}
        self.problems: dict[str, int] = {}

    @property
    def distinct_texts(self) -> int:
        """The number of distinct texts of all arguments."""
        return sum(len(argument.texts) for argument in self._arguments.values())

    def add(self, rows: Codes, arguments: Sequence[Arguments]) -> None:
        """Add the arguments of some events."""
        kinds = _Kinds()
        kind = np.fromiter(map(kinds.__getitem__, map(tuple, arguments)), np.uint32, len(rows))
        for names, number in kinds.items():
            numbers, given = rows, arguments
            if len(kinds) > 1:
                members = np.flatnonzero(kind == number)
                numbers, given = rows[members], [arguments[i] for i in members.tolist()]
            for name in names:
                known = self._of(name, len(given))
                if known is None:
                    continue
                not_utf8 = _take(known, numbers, [values[name] for values in given])
                if not_utf8:
                    self._problem(NOT_UTF8, not_utf8)

    def add_alike(self, rows: Codes, events: EventsAlike) -> None:
        """Add the arguments of events with one layout; `rows` are their rows in the file."""
        for name, values in events.numbers.items():
            if (known := self._of(name, len(rows))) is not None:
                known.add_numbers(rows, values)
        for name, (texts, codes) in events.words.items():
            if (known := self._of(name, len(rows))) is not None:
                known.add_codes(rows, texts, codes)
        for name, (raw, codes) in events.raw.items():
            if (known := self._of(name, len(rows))) is None:
                continue
            if all(value[:1] in (b"[", b"{", b"t", b"f") for value in raw):
                known.add_codes(rows, [text_of(value) for value in raw], codes)
            else:
                _take(known, rows, [msgspec.Raw(raw[code]) for code in codes.tolist()])

    def _of(self, name: str, count: int) -> _Argument | None:
        """The argument with a name; None if there are too many to add it."""
        known = self._arguments.get(name)
        if known is None:
            if len(self._arguments) >= MAX_COLUMNS:
                self._problem(_LEFT_OUT, count)
                return None
            known = self._arguments[name] = _Argument()
        return known

    def _problem(self, kind: str, count: int) -> None:
        self.problems[kind] = self.problems.get(kind, 0) + count

    def columns(self, slice_of: NDArray[np.int32], count: int, budget: int) -> dict[str, Column]:
        """One column per argument; releases the arguments.

        slice_of: the slice of each row, -1 if none. count: number of slices. budget: maximum size
        of the columns in bytes; beyond it, the rarest arguments are left out and counted.
        """
        included, spent = set(), 0
        for name in sorted(self._arguments, key=lambda n: -self._arguments[n].count):
            spent += 9 * count
            if spent <= budget:
                included.add(name)
            else:
                self._problem(_TOO_MANY, self._arguments[name].count)
        columns = {}
        for name in list(self._arguments):
            found = self._arguments.pop(name)
            if name in included:
                column = _column(found, slice_of, count)
                if column is not None:
                    columns[name] = column
        return columns


def _take(argument: _Argument, rows: Codes, values: list[msgspec.Raw]) -> int:
    """Add JSON values of one argument; returns how many are not UTF-8."""
    joined = b"[" + b",".join(values) + b"]"
    first = joined[1:2]
    try:
        if first == b'"':
            argument.add_texts(rows, _TEXTS.decode(joined))
            return 0
        if first in b"-0123456789":
            for some, numbers in _numbers(joined, values):
                argument.add_numbers(rows[some], numbers)
            return 0
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError):
        pass
    plain = [bytes(value) for value in values]
    is_present = [value != _NULL for value in plain]
    if all(is_present):
        return argument.add_raw(rows, plain)
    if not any(is_present):
        return 0
    has = np.array(is_present, np.bool_)
    return _take(
        argument, rows[has], [v for v, is_there in zip(values, is_present, strict=True) if is_there]
    )


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _numbers(
    joined: bytes, values: Sequence[msgspec.Raw]
) -> list[tuple[slice | NDArray[np.bool_], NDArray[Any]]]:
    """Split numbers into integers (int64) and fractions (float64): (rows, values) of each.

    Both stay as written if the column becomes text. Raises OverflowError if an integer does not
    fit, and the errors of the decoders if a value is not a number.
    """
    try:
        return [(slice(None), np.array(_INTS.decode(joined), np.int64))]
    except msgspec.ValidationError:
        found = np.array(_FLOATS.decode(joined), np.float64)
    is_whole = found == np.trunc(found)
    plain = {i: bytes(values[i]) for i in np.flatnonzero(is_whole).tolist()}
    for i, value in plain.items():
        is_whole[i] = value.lstrip(b"-").isdigit()
    if not is_whole.any():
        return [(slice(None), found)]
    whole = [int(plain[i]) for i in np.flatnonzero(is_whole).tolist()]
    return [(is_whole, np.array(whole, np.int64)), (~is_whole, found[~is_whole])]


def text_of(value: bytes) -> str:
    """Decode a JSON string; other JSON stays as written. Invalid characters are replaced."""
    plain = value.decode("utf-8", "replace")
    if value[:1] == b'"':
        try:
            plain = str(json.loads(plain, strict=False))
        except ValueError:
            return plain
        # Half of a surrogate pair can be neither shown nor written.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return plain


def _column(argument: _Argument, slice_of: NDArray[np.int32], count: int) -> Column | None:
    numbers = [part.values for part in argument.parts if not part.is_text]
    is_float = any(part.dtype == np.float64 for part in numbers)
    is_text = len(numbers) < len(argument.parts) or (
        # Next to fractions, an integer beyond 2**53 would lose precision.
        is_float and any(part.dtype == np.int64 and _beyond(part) for part in numbers)
    )
    dtype = np.uint32 if is_text else np.float64 if is_float else np.int64
    values = np.zeros(count, dtype)
    valid: Bools = np.zeros(count, np.bool_)
    for part in argument.parts:
        at = slice_of[part.rows]
        has = at >= 0
        found = part.values
        if is_text and not part.is_text:
            found = argument.texts.codes([f"{value}" for value in found.tolist()])
        if not has.all():
            at, found = at[has], found[has]
        values[at] = found
        valid[at] = True
    if not valid.any():
        return None
    return Column(
        values, None if valid.all() else valid, tuple(argument.texts) if is_text else None
    )


def _beyond(values: NDArray[Any]) -> bool:
    return bool(values.max(initial=0) > 1 << 53 or values.min(initial=0) < -(1 << 53))
