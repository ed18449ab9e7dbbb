"""Arguments of events, stored sparsely by name and kind until they become columns.

Values of one name may have several types. Integers become int64 if all fit, integers and fractions
together become float64, and if one value is text, all become text. The arguments of an event that
ends a slice replace those of the event that starts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs import large_arrays
from viewer.dataclasses import dataclass
from viewer.formats.event_pairs import Places
from viewer.formats.perfetto.sequences import Problem, TextTable
from viewer.model.trace import Column

BOOL, UINT, INT, DOUBLE, TEXT = range(5)
DTYPES: dict[int, Any] = {
    BOOL: np.bool_, UINT: np.uint64, INT: np.int64, DOUBLE: np.float64, TEXT: np.uint32
}  # fmt: skip
MOST_COLUMNS = 4096
_AT_ONCE = 1 << 15  # slices per step, so that their texts stay in the processor's cache
_LEAST = -(2**31)


@dataclass(frozen=True, slots=True)
class Part:
    """Values of one kind of an argument, and their events; is_late: these end slices."""

    event: Codes
    values: NDArray[Any]
    is_late: bool = False


class ArgumentColumns:
    """The arguments of events; events are identified by number."""

    def __init__(self, texts: TextTable, problem: Problem) -> None:
        self._texts = texts
        self._problem = problem
        self._parts: dict[tuple[str, int], list[Part]] = {}

    def keep(self, name: str, kind: int, event: Ints, values: NDArray[Any]) -> None:
        """Store values of one argument and kind, up to `MOST_COLUMNS` distinct ones."""
        self.keep_part(name, kind, Part(event.astype(np.uint32), values))

    def keep_part(self, name: str, kind: int, part: Part) -> None:
        """Store a part of one argument and kind, unless there are `MOST_COLUMNS` others."""
        key, values = (name, kind), part.values
        if key not in self._parts and len(self._parts) >= MOST_COLUMNS:
            self._problem(
                f"arguments beyond {MOST_COLUMNS} distinct names: left out", len(values), ""
            )
            return
        dtype: Any = DTYPES[kind]
        if kind == INT and len(values) and values.min() > _LEAST and values.max() < -_LEAST:
            dtype = np.int32  # half the memory, same values
        part = Part(part.event, values.astype(dtype), part.is_late)
        self._parts.setdefault(key, []).append(part)

    def take(
        self, name: str, kind: int, slice_of: Places, count: int
    ) -> tuple[NDArray[Any], Bools] | None:
        """Remove and return the values of one kind of an argument, and which slices have it.

        None if no slice has it, or if an event with it is not a slice. slice_of: the slice of every
        event.
        """
        parts = self._parts.get((name, kind), [])
        if not parts or not count:
            return None
        values: NDArray[Any] = np.zeros(count, DTYPES[kind])
        has_value = np.zeros(count, np.bool_)
        for part in _in_order(parts):
            rows = slice_of[part.event]
            values[rows] = part.values
            has_value[rows] = True
            if int(rows.min()) < 0:
                return None
        del self._parts[name, kind]
        return values, has_value

    def mixed(self, name: str, slice_of: Places, count: int) -> tuple[list[Any], Ints]:
        """Remove an argument of both numbers and texts, without converting the numbers to text.

        Returns the distinct values, and the index of each slice's value, -1 if none.
        """
        values: list[Any] = []
        which: Ints = large_arrays.empty(count, np.int64)
        which[:] = -1
        texts = self._texts.all()
        for kind in (INT, UINT, TEXT):
            for part in _in_order(self._parts.pop((name, kind), [])):
                distinct, place = np.unique(part.values, return_inverse=True)
                rows = slice_of[part.event]
                has_row = rows >= 0
                which[rows[has_row]] = len(values) + place.reshape(-1)[has_row]
                values += (texts[i] if kind == TEXT else i for i in distinct.tolist())
        return values, which

    def at(self, name: str, events: Ints) -> list[Any]:
        """The values of an argument at some events, None where it has none."""
        value_of: dict[int, Any] = {}
        texts = self._texts.all()
        for kind in DTYPES:
            for part in self._parts.get((name, kind), []):
                rows = np.flatnonzero(np.isin(part.event, events))
                values = part.values[rows].tolist()
                if kind == TEXT:
                    values = [texts[i] for i in values]
                value_of.update(zip(part.event[rows].tolist(), values, strict=True))
        return [value_of.get(event) for event in events.tolist()]

    def flags(self, name: str, slice_of: Places, count: int) -> Bools | None:
        """Remove a boolean argument: True for some slices, False for all others; None if unused."""
        parts = self._parts.pop((name, BOOL), None)
        if parts is None:
            return None
        flags = np.zeros(count, np.bool_)
        for part in _in_order(parts):
            rows = slice_of[part.event]
            flags[rows[rows >= 0]] = part.values[rows >= 0]
        return flags

    def columns(self, slice_of: Places, count: int) -> dict[str, Column]:
        """All arguments as columns of `count` slices; releases the parts one by one."""
        texts = self._texts.all()
        names = self._most_used(count)
        columns = {}
        for name in names:
            kinds = {k: self._parts.pop((name, k)) for k in DTYPES if (name, k) in self._parts}
            column = _column(kinds, slice_of, count, texts)
            if column is not None:
                columns[name or "(unnamed)"] = column
        return columns

    def _most_used(self, count: int) -> list[str]:
        """The argument names that become columns, in order of appearance.

        These are the 32 most frequent ones, and more if the whole table does not become nearly
        empty.
        """
        uses: dict[str, int] = {}
        for (name, _), parts in self._parts.items():
            uses[name] = uses.get(name, 0) + sum(len(part.event) for part in parts)
        room = 32 + 8 * sum(uses.values()) // max(count, 1)
        if len(uses) <= room:
            return list(uses)
        included = set(sorted(uses, key=lambda name: -uses[name])[:room])
        rare = {name: n for name, n in uses.items() if name not in included}
        self._problem(
            "values of rare arguments: left out",
            sum(rare.values()),
            next(iter(rare)),
        )
        for key in [key for key in self._parts if key[0] in rare]:
            del self._parts[key]
        return [name for name in uses if name in included]


def _in_order(parts: Iterable[Part]) -> list[Part]:
    """Those of events that end slices last: they replace what others say of these."""
    return sorted(parts, key=attrgetter("is_late"))


def _by_slice(
    kinds: dict[int, list[Part]], slice_of: Places
) -> Iterator[tuple[int, Ints, NDArray[Any]]]:
    """Yield kind, slices and values of all parts of an argument, those that replace others last."""
    each = [(kind, part) for kind, parts in kinds.items() for part in parts]
    for kind, part in sorted(each, key=lambda pair: pair[1].is_late):
        rows, values = slice_of[part.event], part.values
        if len(rows) and int(rows.min()) < 0:
            rows, values = rows[rows >= 0], values[rows >= 0]
        yield kind, rows, values


def _column(
    kinds: dict[int, list[Part]],
    slice_of: Places,
    count: int,
    texts: list[str],
) -> Column | None:
    valid = np.zeros(count, np.bool_)
    if set(kinds) <= {TEXT} or (len(kinds) > 1 and not set(kinds) <= {UINT, INT, DOUBLE}):
        codes = np.zeros(count, np.uint32)
        code_of = {text: code for code, text in enumerate(texts)} if len(kinds) > 1 else {}
        more = list(texts)
        for kind, rows, values in _by_slice(kinds, slice_of):
            if kind != TEXT:
                values = np.array(
                    [_code(json_text(v), code_of, more) for v in values.tolist()], np.int64
                )
            codes[rows] = values
            valid[rows] = True
        if not valid.any():
            return None
        used = np.zeros(len(more), np.bool_)
        everywhere = bool(valid.all())
        near = [slice(a, a + _AT_ONCE) for a in range(0, count, _AT_ONCE)]
        for here in near:
            used[codes[here] if everywhere else codes[here][valid[here]]] = True
        table = np.where(used, np.cumsum(used) - 1, 0).astype(np.uint32)
        for here in near:
            codes[here] = table[codes[here]]
        if not everywhere:
            codes[~valid] = 0
        strings = [more[i] for i in np.flatnonzero(used).tolist()]
        return Column.of_codes(codes, strings, None if everywhere else valid)
    dtype: Any = DTYPES[next(iter(kinds))]
    if len(kinds) > 1:
        dtype = np.float64
        if DOUBLE not in kinds and all(
            not len(part.values) or int(part.values.max()) < 2**63 for part in kinds[UINT]
        ):
            dtype = np.int64
    numbers: NDArray[Any] = np.zeros(count, dtype)
    for _, rows, values in _by_slice(kinds, slice_of):
        numbers[rows] = values
        valid[rows] = True
    if not valid.any():
        return None
    return Column(numbers, None if valid.all() else valid)


def _code(text: str, code_of: dict[str, int], more: list[str]) -> int:
    code = code_of.setdefault(text, len(code_of))
    if code == len(more):
        more.append(text)
    return code


def json_text(value: Any) -> str:
    """Return a value as text: text itself, and all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
