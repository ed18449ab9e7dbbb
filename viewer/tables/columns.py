"""What a table and its columns are, as specifications and as typed columns of values.

A `ColumnSpec` defines a column once: commands, their JSON, CSV, Parquet, DataFrames, reports, lakes
and the help use it. A `Column` of the model has one type whatever its values: text, int64, float64
or bool, each with nulls. So a column has the same type in every file, also if it is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.dataclasses import dataclass, replace
from viewer.model.times import tick_to_ns
from viewer.model.trace import Column

if TYPE_CHECKING:
    from viewer.model.figures import FigureTerm


Columns = dict[str, Column]
Rows = dict[str, NDArray[Any]]
_MOST = (1 << 63) - 1


class RowPlaces:
    """Where rows find their values: of a block at a time, for all columns with the same places."""

    def __init__(self, rows: int, of_rows: Callable[[slice], NDArray[np.integer[Any]]]) -> None:
        self.rows = rows
        self._of_rows = of_rows
        self._block: tuple[int, int] | None = None
        self._places: NDArray[np.integer[Any]] = np.empty(0, np.int64)
        self._used: tuple[Ints, Codes] | None = None

    def block(self, rows: slice) -> NDArray[np.integer[Any]]:
        """Return the places of a block of rows; the last block is remembered."""
        first, end, _ = rows.indices(self.rows)
        if self._block != (first, end):
            self._places, self._used = self._of_rows(slice(first, end)), None
            self._block = first, end
        return self._places

    def used(self, rows: slice, count: int) -> tuple[Ints, Codes]:
        """Return the places of a block, ascending, and for each row the number of its place there.

        count: of the values of a column.
        """
        places = self.block(rows)
        if self._used is None:
            is_used = flags_at(count, places)
            self._used = np.flatnonzero(is_used), (np.cumsum(is_used, dtype=np.uint32) - 1)[places]
        return self._used


@dataclass(frozen=True, slots=True)
class SharedColumn:
    """A column with each value once, and the places of the values of rows."""

    values: Column
    places: RowPlaces

    @property
    def is_shared(self) -> bool:
        """Whether there are fewer values than rows."""
        return len(self.values.values) < self.places.rows

    def taken(self, rows: slice = slice(None)) -> Column:
        """Return a block of its rows as a plain column."""
        return self.values.taken(self.places.block(rows))


def texts_of(texts: Sequence[str], code: NDArray[np.integer[Any]]) -> Column:
    """A column with the text `texts[code]` per row; equal texts are stored once, "" is a null."""
    table: dict[str, int] = {}
    number = np.fromiter((table.setdefault(t, len(table)) for t in texts), np.uint32, len(texts))
    codes: Codes = number[code]
    empty = table.get("")
    return Column(codes, None if empty is None else codes != empty, tuple(table))


def numbers_of(values: NDArray[Any], valid: Bools | None = None) -> Column:
    """A column of int64, null where `valid` is False."""
    return Column(values.astype(np.int64, copy=False), valid)


def nulls(like: Column, rows: int) -> Column:
    """A column without values, of the type of another one."""
    strings = None if like.strings is None else ()
    return Column(np.zeros(rows, like.values.dtype), np.zeros(rows, np.bool_), strings)


def as_stored(column: Column) -> Column:
    """A column of a file, with unsigned and short numbers as int64 and float64.

    Numbers beyond int64 become text.
    """
    values, valid, kind = column.values, column.valid, column.values.dtype.kind
    if column.strings is not None or kind == "b":
        return column
    if kind == "f":
        return Column(values.astype(np.float64, copy=False), valid)
    if kind == "u" and len(values) and int(values.max()) > _MOST:
        return as_text(column)
    return numbers_of(values, valid)


def as_text(column: Column) -> Column:
    """The same column with its values as text."""
    if column.strings is not None:
        return column
    distinct, code = np.unique(column.values, return_inverse=True)
    return Column(code.astype(np.uint32), column.valid, tuple(map(_text, distinct.tolist())))


def either(first: Column, second: Column, where: Bools | None = None) -> Column:
    """The values of `first` where it has one and `where` is True, else those of `second`.

    Both are texts, or both are numbers.
    """
    rows = len(first.values)
    taken = np.ones(rows, np.bool_) if where is None else where
    if first.valid is not None:
        taken = taken & first.valid
    both = _joined([(first, rows), (second, rows)])
    index = np.where(taken, 0, rows) + np.arange(rows)
    return both.taken(index)


def joined_shared(tables: Sequence[Mapping[str, SharedColumn]]) -> dict[str, SharedColumn]:
    """Join tables, each with a column: null where a table lacks one.

    If two tables have a column with different types, integers become fractions, and others text.
    """
    if len(tables) == 1:
        return dict(tables[0])
    lacking = [_at_first(next(iter(table.values())).places.rows) for table in tables]
    of_parts: dict[tuple[tuple[RowPlaces, int], ...], RowPlaces] = {}
    joined: dict[str, SharedColumn] = {}
    for name in dict.fromkeys(name for table in tables for name in table):
        columns = [table.get(name) for table in tables]
        parts = [(c, 1) if c is None else (c.values, len(c.values.values)) for c in columns]
        places = tuple(
            (other if column is None else column.places, count)
            for column, other, (_, count) in zip(columns, lacking, parts, strict=True)
        )
        if places not in of_parts:
            of_parts[places] = _one_after_another(places)
        joined[name] = SharedColumn(_joined(parts), of_parts[places])
    return joined


def _at_first(rows: int) -> RowPlaces:
    """The places of rows that all have the first value."""
    return RowPlaces(rows, lambda block: np.zeros(block.stop - block.start, np.int64))


def _one_after_another(parts: Sequence[tuple[RowPlaces, int]]) -> RowPlaces:
    """The places of the rows of several tables, each with the number of its values."""
    ends = list(accumulate(places.rows for places, _ in parts))
    before = accumulate((count for _, count in parts), initial=0)
    tables = [(of, end, shift) for (of, _), end, shift in zip(parts, ends, before, strict=False)]

    def of_rows(rows: slice) -> Ints:
        blocks = [np.empty(0, np.int64)]
        for places, end, shift in tables:
            first = end - places.rows
            block = slice(max(rows.start - first, 0), min(rows.stop, end) - first)
            if block.start < block.stop:
                blocks.append(places.block(block).astype(np.int64) + shift)
        return np.concatenate(blocks)

    return RowPlaces(ends[-1], of_rows)


def _joined(parts: Sequence[tuple[Column | None, int]]) -> Column:
    present = [column for column, _ in parts if column is not None]
    kinds = {"t" if c.strings is not None else c.values.dtype.kind for c in present}
    if len(kinds) > 1 and kinds != {"i", "f"}:
        parts = [(column and as_text(column), rows) for column, rows in parts]
        present = [as_text(column) for column in present]
    filled = [nulls(present[0], rows) if column is None else column for column, rows in parts]
    values, strings = [column.values for column in filled], None
    if present[0].strings is not None:
        table: dict[str, int] = {}
        values = [_renumbered(column, table) for column in filled]
        strings = tuple(table)
    valid = [
        np.ones(rows, np.bool_) if column.valid is None else column.valid
        for column, (_, rows) in zip(filled, parts, strict=True)
    ]
    is_full = all(column.valid is None for column in filled)
    return Column(np.concatenate(values), None if is_full else np.concatenate(valid), strings)


def _renumbered(column: Column, table: dict[str, int]) -> NDArray[Any]:
    """Codes of a text column into a table that several columns share; a null gets any code."""
    strings = column.strings or ()
    number = [table.setdefault(text, len(table)) for text in strings]
    limited: Ints = np.minimum(column.values, len(strings))
    return np.array([*number, 0], np.uint32)[limited]


def row_count(column: Any) -> int:
    """The number of rows of a column, list, array or Series."""
    if isinstance(column, SharedColumn):
        return column.places.rows
    return len(column.values) if isinstance(column, Column) else len(column)


def cells(column: Column, index: NDArray[np.int64] | slice) -> NDArray[Any]:
    """Return the values of some rows of a column, with empty strings for nulls."""
    values = column.values[index]
    out: NDArray[Any]
    if column.strings is not None:
        out = text_array((*column.strings, ""))[values]  # a null's code may be past the texts
    elif values.dtype.kind == "b":
        out = np.where(values, "true", "false").astype(object)
    else:
        out = values.astype(object)
    if column.valid is not None:
        out[~column.valid[index]] = ""
    return out


def text_array(texts: Iterable[object]) -> NDArray[np.object_]:
    """Return texts, or values of several types, as an object array that can be indexed."""
    every = list(texts)
    array = np.empty(len(every), object)
    array[:] = every
    return array


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Dtypes have the names of pandas. int64 and bool are never missing.
Dtype = Literal["category", "string", "object", "int64", "Int64", "float64", "bool"]
Unit = Literal["ns", "ticks", "bytes", "unit", "native_unit", ""]
Value = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column.

    value: of a row of the table, or an attribute of the row, as "run.number"; None if it is not
    known. The function that makes the rows fills columns without it. unit: "" for a text, or a
    number without one. title: in texts, reports and panels, "" for a column that they do not show;
    that of the `term`, if the column is a figure with a definition. lake: the number of the schema
    of a lake that added it, of columns that came after the first. former: the column of older files
    of a lake that it replaces.
    """

    name: str
    dtype: Dtype
    meaning: str
    value: Any = None
    unit: Unit = ""
    title: str = ""
    lake: int = 0
    former: str = ""
    term: FigureTerm | None = None

    def __post_init__(self) -> None:
        if self.term is not None:
            object.__setattr__(self, "title", self.term.title)
        if isinstance(self.value, str):
            object.__setattr__(self, "value", attrgetter(self.value))

    def filled(self, value: Any) -> ColumnSpec:
        """Return the same column with a value."""
        return replace(self, value=value)

    def of(self, row: Any) -> Any:
        """Return the value of a row; an empty text of a category is missing."""
        value = self.value(row)
        return None if self.dtype == "category" and isinstance(value, str) and not value else value

    @property
    def is_text(self) -> bool:
        """Whether its values are texts, or lists that become one: they are aligned left."""
        return self.dtype in ("category", "string", "object")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table: its name, and its columns in order."""

    name: str
    columns: tuple[ColumnSpec, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> ColumnSpec:
        """Return the column of a name."""
        return next(column for column in self.columns if column.name == name)

    def row(self, item: Any) -> dict[str, Any]:
        """Return the values of a row; columns without a value are left out."""
        return {column.name: column.of(item) for column in self.columns if column.value}

    def arrays(self, items: Sequence[Any]) -> Rows:
        """Return the values of rows: column name -> object array."""
        return {c.name: text_array(map(c.of, items)) for c in self.columns if c.value}


def ticks_and_ns(
    name: str, meaning: str, ticks: Any = None, dtype: Dtype = "int64", **more: Any
) -> tuple[ColumnSpec, ColumnSpec]:
    """Return the columns of a time: in ticks of the profile's clock, and in ns, rounded down.

    ticks: the value; a row has the ns of a tick as `rate`. more: of the column in ns.
    """
    column_spec = ColumnSpec(f"{name}_ticks", dtype, meaning, ticks, "ticks")

    def ns(row: Any) -> int | None:
        return None if (ticks := column_spec.value(row)) is None else tick_to_ns(ticks, row.rate)

    value = None if ticks is None else ns
    return column_spec, ColumnSpec(
        f"{name}_ns", dtype, f"{meaning}, rounded down", value, "ns", **more
    )


def former(name: str, columns: Iterable[ColumnSpec]) -> tuple[ColumnSpec, ...]:
    """Return the columns of a time under their former name, which stays for one version."""
    return tuple(
        replace(c, name=f"{name}_{c.unit}", meaning=f"Former name of {c.name}", lake=0, former="")
        for c in columns
    )


# Columns that several tables have.
FILE = ColumnSpec("file", "category", "Path of the profile", "file")
# In tables of rows that do not know their file, which is added to them.
OF_FILE = FILE.filled(None)
RECORD = ColumnSpec("record", "category", "Path of the ETRecord or source", "record")
METHOD = ColumnSpec("method", "category", "Method of the model", "method")
DERIVED = ColumnSpec(
    "derived", "bool", "Whether Opscope computed it and the file does not state it"
)
CALLED_FROM = ColumnSpec(
    "called_from",
    "category",
    '"file:line" of your own files, if the source is in an installed package',
)
OPERATOR_NAMES = ColumnSpec("operators", "category", "Edge dialect operators, as a JSON list")
DEBUG_HANDLES = ColumnSpec("debug_handles", "category", "Debug handles, as a JSON list")
