"""The fields of Chrome trace events as columns: identities, thread times and arguments.

Async events, counters and flows are matched by identities. Thread times are `tts`, and `tdur` of
complete events, in µs: they become the columns `thread_ts` and `thread_dur`, in ns. A slice of two
events took the difference of their times. Arguments that repeat as a text are parsed once, others
together for all events with the same argument names. Values stay as in the file; arrays and objects
are their JSON text. A column with values of several kinds becomes text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.decimal_times import times_of
from viewer.codecs.json_repairs import INFINITE, NAN, NOT_FINITE
from viewer.dataclasses import dataclass, field
from viewer.formats.text_rows import DistinctTexts, GrowingColumn
from viewer.model.trace import Column

Name = int | str | float | None

_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")


class Identified(Protocol):
    """The fields of an event that identify it."""

    cat: str
    scope: str
    pid: Name
    id: Name
    id2: dict[str, Name] | None


def own_id(event: Identified) -> tuple[str, Name] | None:
    """The kind and the value of an id: `id`, else the global, else the local one; None if none."""
    if event.id is not None:
        return "id", event.id
    for kind in ("global", "local"):
        value = (event.id2 or {}).get(kind)
        if value is not None:
            return kind, value
    return None


def id_of(event: Identified) -> tuple[str, str, str, str]:
    """The key that async events with the same id share: category, scope, owner and id."""
    kind, value = own_id(event) or ("", "")
    # A local id is valid only in its process.
    owner = str(event.pid) if kind == "local" else ""
    return event.cat, event.scope, owner, str(value)


def flow_number(value: Name) -> str:
    """The id of a flow, which is a number or its hexadecimal text: 10 is "a" and "0xA"."""
    if isinstance(value, str) and _HEX.fullmatch(value):
        return str(int(value, 16))
    # Other texts stay apart from numbers.
    return repr(value) if isinstance(value, str) else str(value)


START, LENGTH = "tts", "tdur"
THREAD_START, THREAD_LENGTH = "thread_ts", "thread_dur"


class ThreadTimes:
    """The thread times of all events that have some."""

    def __init__(self) -> None:
        self._rows = {name: GrowingColumn(np.uint32) for name in (START, LENGTH)}
        self._ns = {name: GrowingColumn(np.int64) for name in (START, LENGTH)}
        self._count = {START: 0, LENGTH: 0}

    def add(self, name: str, rows: Codes, ns: Ints, ps: NDArray[np.int16]) -> None:
        """Add the times of some rows of the file, rounded to ns."""
        self._rows[name].add(rows, 0)
        self._ns[name].add(ns + (ps >= 500), 0)
        self._count[name] += len(rows)

    def add_raw(self, name: str, rows: Codes, texts: Sequence[bytes | memoryview]) -> Ints:
        """Add times as JSON; returns the rows whose time is not usable."""
        times = times_of(texts)
        self.add(name, rows[times.usable], times.ns[times.usable], times.ps[times.usable])
        return rows[~times.usable].astype(np.int64)

    def columns(self, events: int, begin: Ints, end: Ints) -> dict[str, Column]:
        """The columns of slices, released here.

        events: how many the file has. begin, end: the events of each slice, both the same for one
        that states its duration.
        """
        if not any(self._count.values()):
            return {}
        (start, has_start), (length, has_length) = map(self._all, (START, LENGTH), (events, events))
        is_pair = end != begin
        took = np.where(is_pair, start[end] - start[begin], length[begin])
        has_times = np.where(is_pair, has_start[begin] & has_start[end], has_length[begin])
        columns = {}
        for name, values, valid in (
            (THREAD_START, start[begin], has_start[begin]), (THREAD_LENGTH, took, has_times)
        ):  # fmt: skip
            if valid.any():
                values = np.where(valid, values, 0)
                columns[name] = Column(values, None if valid.all() else valid, unit="ns")
        return columns

    def _all(self, name: str, events: int) -> tuple[Ints, Bools]:
        ns, has = np.zeros(events, np.int64), np.zeros(events, np.bool_)
        rows = self._rows.pop(name).values
        ns[rows], has[rows] = self._ns.pop(name).values, True
        return ns, has


Arguments = Mapping[str, msgspec.Raw]

MAX_COLUMNS = 256
MAX_KINDS = 1 << 16  # so that two bytes hold the number of one
_INTS = msgspec.json.Decoder(list[int])
_FLOATS = msgspec.json.Decoder(list[float])
_TEXTS = msgspec.json.Decoder(list[str])
_TEXT = msgspec.json.Decoder(str)
_LENIENT = json.JSONDecoder(strict=False)
_NULL = b"null"
_NOT_FINITE = frozenset(text.encode() for pair in NOT_FINITE.items() for text in pair)
_NO_NUMBER = "argument that is not a finite number among numbers: left out"
_TOO_MANY = "argument of few events left out to limit memory"


@dataclass(slots=True)
class _Part:
    """Values of one argument in one block: event rows, and numbers or text codes."""

    rows: Codes
    values: NDArray[Any]
    is_text: bool
    is_finite: bool = True  # False of NaN and Infinity, as texts


class _NotFinite(str):
    """A number that is not finite, as a text."""

    __slots__ = ()


_NOTHING, _INT, _FLOAT, _IS_TEXT, _IS_NOT_FINITE = range(5)
_DTYPES = {_INT: np.int64, _FLOAT: np.float64, _IS_TEXT: np.uint32, _IS_NOT_FINITE: np.uint32}


class _Kind:
    """Distinct groups of arguments with the same names; a group is a row."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._values: dict[str, list[int | float | str | None]] = {name: [] for name in names}
        self._types: dict[str, NDArray[np.uint8]] = {}  # made once all groups are there
        self.count = 0

    def add(self, group: Mapping[str, int | float | str | None]) -> None:
        for name, values in self._values.items():
            values.append(group[name])
        self.count += 1

    def parts(self, name: str, rows: Codes, index: Codes, texts: DistinctTexts) -> list[_Part]:
        """The values of one argument for event rows, given their rows here."""
        values = self._values[name]
        used = flags_at(self.count, index)
        if name not in self._types:
            self._types[name] = np.fromiter(map(_type_of, values), np.uint8, self.count)
        types = self._types[name]
        parts = []
        for kind, dtype in _DTYPES.items():
            used_index = np.flatnonzero(used & (types == kind))
            if not len(used_index):
                continue
            used_values: list[Any] = [values[i] for i in used_index.tolist()]
            column = np.zeros(self.count, dtype)
            column[used_index] = texts.codes(used_values) if dtype is np.uint32 else used_values
            kind_rows, which = rows, index
            if len(used_index) < np.count_nonzero(used):
                has = types[index] == kind
                kind_rows, which = rows[has], index[has]
            is_finite = kind != _IS_NOT_FINITE
            parts.append(_Part(kind_rows, column[which], dtype is np.uint32, is_finite))
        return parts


def _type_of(value: int | float | str | None) -> int:
    if isinstance(value, str):
        return _IS_NOT_FINITE if isinstance(value, _NotFinite) else _IS_TEXT
    return _NOTHING if value is None else _INT if isinstance(value, int) else _FLOAT


@dataclass(slots=True)
class _Argument:
    parts: list[_Part | tuple[_Kind, Codes, Codes]] = field(default_factory=list)
    texts: DistinctTexts = field(default_factory=DistinctTexts)
    count: int = 0

    def add_texts(self, rows: Codes, texts: Sequence[str]) -> None:
        self.parts.append(_Part(rows, self.texts.codes(texts), True))
        self.count += len(rows)

    def add_kind(self, kind: _Kind, rows: Codes, index: Codes) -> None:
        """Add values that rows of a kind hold."""
        self.parts.append((kind, rows, index))
        self.count += len(rows)

    def add_raw(self, rows: Codes, values: Sequence[bytes], *, is_finite: bool = True) -> None:
        """Add values as their text in the file."""
        distinct: dict[bytes, int] = {}
        codes = [distinct.setdefault(value, len(distinct)) for value in values]
        text_codes = self.texts.codes([text_of(value) for value in distinct])
        self.parts.append(_Part(rows, text_codes[codes], True, is_finite))
        self.count += len(rows)

    def add_numbers(self, rows: Codes, values: NDArray[Any]) -> None:
        self.parts.append(_Part(rows, values, False))
        self.count += len(rows)


class _Names(dict[tuple[str, ...], int]):
    """Numbers the distinct tuples of argument names in a block."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        number = self[names] = len(self)
        return number


class ArgumentColumns:
    """The arguments of all events read so far, by row of the event in the file."""

    def __init__(self) -> None:
        self._arguments: dict[str, _Argument] = {}
        self._kinds: dict[tuple[str, ...], int] = {}
        self._groups: list[_Kind] = []
        self.problems: dict[str, int] = {}

    @property
    def distinct_texts(self) -> int:
        """The number of distinct texts of all arguments."""
        texts = sum(len(argument.texts) for argument in self._arguments.values())
        return texts + sum(kind.count for kind in self._groups)

    def add(self, rows: Codes, arguments: Sequence[Arguments]) -> None:
        """Add the arguments of some events."""
        kinds = _Names()
        kind = np.fromiter(map(kinds.__getitem__, map(tuple, arguments)), np.uint32, len(rows))
        for names, number in kinds.items():
            numbers, with_numbers = rows, arguments
            if len(kinds) > 1:
                members = np.flatnonzero(kind == number)
                numbers, with_numbers = rows[members], [arguments[i] for i in members.tolist()]
            for name in names:
                if (argument := self._of(name, len(with_numbers))) is not None:
                    _take(argument, numbers, [values[name] for values in with_numbers])

    def kind_of(self, arguments: Mapping[str, bytes]) -> tuple[int, int]:
        """The number of a kind, and the row in it that holds these arguments (JSON values).

        Raises ValueError and the errors of msgspec if a value must be read with others, and
        ValueError if there are `MAX_KINDS` others.
        """
        values = {name: _value(raw) for name, raw in arguments.items()}
        names = tuple(arguments)
        number = self._kinds.get(names, len(self._groups))
        if number == MAX_KINDS:
            raise ValueError(names)
        if number == len(self._groups):
            self._kinds[names] = number
            self._groups.append(_Kind(names))
        kind = self._groups[number]
        kind.add(values)
        return number, kind.count - 1

    def add_kind(self, number: int, rows: Codes, index: Codes) -> None:
        """Add arguments of some events that rows of a kind hold."""
        kind = self._groups[number]
        for name in kind.names:
            if (argument := self._of(name, len(rows))) is not None:
                argument.add_kind(kind, rows, index)

    def add_numbers(self, name: str, rows: Codes, values: NDArray[Any]) -> None:
        """Add one argument of some events: integers (int64) or fractions (float64)."""
        if (argument := self._of(name, len(rows))) is not None:
            argument.add_numbers(rows, values)

    def _of(self, name: str, count: int) -> _Argument | None:
        """The argument with a name; None if there are too many to add it."""
        argument = self._arguments.get(name)
        if argument is None:
            if len(self._arguments) >= MAX_COLUMNS:
                self._problem("argument left out: there are already 256 others", count)
                return None
            argument = self._arguments[name] = _Argument()
        return argument

    def _problem(self, kind: str, count: int) -> None:
        self.problems[kind] = self.problems.get(kind, 0) + count

    def columns(
        self, slice_of: NDArray[np.int32], ends: Bools | None, count: int, budget: int
    ) -> dict[str, Column]:
        """One column per argument; releases the arguments.

        slice_of: the slice of each row, -1 if none. ends: the rows that end a slice of an earlier
        row, whose values they replace; None if there are none. count: number of slices. budget:
        maximum size of the columns in bytes; beyond it, the rarest arguments are left out and
        counted.
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
            argument = self._arguments.pop(name)
            if name in included:
                column, left_out = _column(name, argument, slice_of, ends, count)
                if left_out:
                    self._problem(_NO_NUMBER, left_out)
                if column is not None:
                    columns[name] = column
        return columns


def _take(argument: _Argument, rows: Codes, values: list[msgspec.Raw]) -> None:
    """Add JSON values of one argument."""
    joined = b"[" + b",".join(values) + b"]"
    first = joined[1:2]
    try:
        if first == b'"':
            argument.add_texts(rows, _TEXTS.decode(joined))
            return
        if first in b"-0123456789":
            for selection, numbers in _numbers(joined, values):
                argument.add_numbers(rows[selection], numbers)
            return
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError):
        pass
    plain = [bytes(value) for value in values]
    is_infinite = [value in _NOT_FINITE for value in plain]
    if all(is_infinite):
        argument.add_raw(rows, plain, is_finite=False)
        return
    if any(is_infinite):
        mask = np.array(is_infinite, np.bool_)
        for which in (True, False):
            _take(
                argument,
                rows[mask == which],
                [v for v, is_it in zip(values, is_infinite, strict=True) if is_it is which],
            )
        return
    is_present = [value != _NULL for value in plain]
    if all(is_present):
        argument.add_raw(rows, plain)
    elif any(is_present):
        has = np.array(is_present, np.bool_)
        present_values = [v for v, is_there in zip(values, is_present, strict=True) if is_there]
        _take(argument, rows[has], present_values)


def _value(raw: bytes) -> int | float | str | None:
    """A JSON value as a column holds it: texts, and arrays and objects as they are written."""
    if raw[:1] == b'"':
        return _TEXT.decode(raw)
    if raw == _NULL:
        return None
    text = raw.decode()
    if raw in _NOT_FINITE:
        return _NotFinite(_spelled(text))
    if raw[:1] not in b"-0123456789":
        return _spelled(text)
    if not raw.removeprefix(b"-").isdigit():
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(text)
        return value
    whole = int(text)
    return whole if -(1 << 63) <= whole < 1 << 63 else text


def _numbers(
    joined: bytes, values: Sequence[msgspec.Raw]
) -> list[tuple[slice | NDArray[np.bool_], NDArray[Any]]]:
    """Split numbers into integers (int64) and fractions (float64): (rows, values) of each.

    A column that becomes text has them in their shortest form. Raises OverflowError if an integer
    does not fit, and the errors of the decoders if a value is not a number.
    """
    try:
        return [(slice(None), np.array(_INTS.decode(joined), np.int64))]
    except msgspec.ValidationError:
        fractions = np.array(_FLOATS.decode(joined), np.float64)
    is_whole = fractions == np.trunc(fractions)
    plain = {i: bytes(values[i]) for i in np.flatnonzero(is_whole).tolist()}
    for i, value in plain.items():
        is_whole[i] = value.lstrip(b"-").isdigit()
    if not is_whole.any():
        return [(slice(None), fractions)]
    whole = [int(plain[i]) for i in np.flatnonzero(is_whole).tolist()]
    return [(is_whole, np.array(whole, np.int64)), (~is_whole, fractions[~is_whole])]


def text_of(value: bytes) -> str:
    """Decode a JSON string; other JSON stays as written. Invalid characters are replaced."""
    plain = value.decode("utf-8", "replace")
    if value[:1] == b'"':
        try:
            plain = str(_LENIENT.decode(plain))
        except ValueError:
            return plain
        # Half of a surrogate pair can be neither shown nor written.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _spelled(plain)


def _spelled(text: str) -> str:
    """JSON with the names of numbers that are not finite, for those that stand for them."""
    return text.replace(NAN, NOT_FINITE[NAN]).replace(INFINITE, NOT_FINITE[INFINITE])


def _column(
    name: str, argument: _Argument, slice_of: NDArray[np.int32], ends: Bools | None, count: int
) -> tuple[Column | None, int]:
    """The column, and how many values are left out because they are no finite numbers."""
    parts: list[_Part] = []
    for part in argument.parts:
        if isinstance(part, _Part):
            parts.append(part)
        else:
            kind, rows, index = part
            parts += kind.parts(name, rows, index, argument.texts)
    argument.parts.clear()
    left_out = 0
    if not all(part.is_text for part in parts):
        left_out = sum(len(part.rows) for part in parts if not part.is_finite)
        parts = [part for part in parts if part.is_finite]
    numbers = [part.values for part in parts if not part.is_text]
    is_float = any(part.dtype == np.float64 for part in numbers)
    is_text = len(numbers) < len(parts) or (
        # Next to fractions, an integer beyond 2**53 would lose precision.
        is_float and any(part.dtype == np.int64 and _beyond(part) for part in numbers)
    )
    dtype = np.uint32 if is_text else np.float64 if is_float else np.int64
    values = np.zeros(count, dtype)
    valid: Bools = np.zeros(count, np.bool_)
    late: list[tuple[NDArray[np.int32], NDArray[Any]]] = []
    for part in parts:
        slice_index = slice_of[part.rows]
        has = slice_index >= 0
        part_values = part.values
        if is_text and not part.is_text:
            part_values = argument.texts.codes([f"{value}" for value in part_values.tolist()])
        if ends is not None and (is_end := ends[part.rows]).any():
            late.append((slice_index[has & is_end], part_values[has & is_end]))
            has &= ~is_end
        if not has.all():
            slice_index, part_values = slice_index[has], part_values[has]
        values[slice_index] = part_values
        valid[slice_index] = True
    for slice_index, part_values in late:
        values[slice_index] = part_values
        valid[slice_index] = True
    if not valid.any():
        return None, left_out
    texts = tuple(argument.texts) if is_text else None
    return Column(values, None if valid.all() else valid, texts), left_out


def _beyond(values: NDArray[Any]) -> bool:
    return bool(values.max(initial=0) > 1 << 53 or values.min(initial=0) < -(1 << 53))
