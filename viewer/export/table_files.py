r"""Writes tables to files: as CSV and TSV for spreadsheets, and as Parquet for queries.

RFC 4180, in UTF-8: lines end in "\r\n", nulls are empty fields. By default, texts that a
spreadsheet would take for formulas are changed as in `viewer.codecs.spreadsheet_cells`. A table
with such a text has its first column name in quotes, which CSV readers do not see: so Opscope knows
which of its own tables have texts to change back.

Parquet is typed and compressed, so that a folder is queryable as one table. A `Column` has one
type, nullable, whatever its values, so the tables of slices fit together. Texts are written from
their codes, each text once per row group. The metadata of the file are `opscope`, the version, and
`schema`, that of the columns (`viewer.SCHEMA`). A row group is made from its values while the one
before is written. Arrays are made of buffers: `pyarrow.array` imports pandas.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viewer import SCHEMA, __version__
from viewer.arrays import Bools, flags_at
from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.codecs.spreadsheet_cells import harmless
from viewer.model.trace import Column
from viewer.tables.columns import RowPlaces, SharedColumn, row_count, text_array
from viewer.tables.operators import HANDLE_MAP, OPERATORS
from viewer.tables.slices import UNTIMED
from viewer.tables.statistics import STATISTICS

if TYPE_CHECKING:
    import pyarrow as pa


ROWS_PER_GROUP = 500_000  # per row group
# The writer looks up each value of a column in a table of those before; texts come with theirs.
_LOOKED_AT, _FEW = 1 << 16, 1 << 13
# The types of columns that may be empty, or happen to contain only integers.
_TABLES = (OPERATORS, STATISTICS, UNTIMED, HANDLE_MAP)
_DTYPES = {column.name: column.dtype for table in _TABLES for column in table.columns}


def write_parquet(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Sequence[Any],
    *,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write columns of equal length under a header; returns the number of rows.

    A column is a `Column`, a `SharedColumn`, a list or a numpy array; None and "" are nulls. The
    file is written completely or not at all. Raises ValueError for columns of different lengths,
    OSError, WriteCancelled.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if len(header) != len(columns) or len({row_count(c) for c in columns}) > 1:
        raise ValueError("columns of different lengths, or not as many as names")
    rows = row_count(columns[0]) if columns else 0
    types = [_type(pa, name, column) for name, column in zip(header, columns, strict=True)]
    schema = pa.schema(list(zip(header, types, strict=True)))

    def group(first: int) -> pa.Table:
        part = slice(first, first + ROWS_PER_GROUP)
        arrays = [_array(pa, c, part, kind) for c, kind in zip(columns, types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    # The first group is written even if it is empty, for the schema.
    firsts = range(0, max(rows, 1), ROWS_PER_GROUP)
    with (
        replacing(path) as out,
        parquet.ParquetWriter(
            out,
            schema,
            compression="zstd",
            use_dictionary=[n for n, c in zip(header, columns, strict=True) if not _is_varied(c)],
            # Without the stored schema of Arrow, readers see strings, not dictionaries of them.
            store_schema=False,
            write_batch_size=_LOOKED_AT,
        ) as writer,
    ):
        writer.add_key_value_metadata({"opscope": __version__, "schema": str(SCHEMA)})
        for first, table in zip(firsts, _ahead(group, firsts), strict=False):
            if cancelled():
                raise WriteCancelled
            writer.write_table(table)
            progress(min(first + ROWS_PER_GROUP, rows), rows)
    return rows


def _ahead(group: Callable[[int], pa.Table], firsts: Sequence[int]) -> Iterator[pa.Table]:
    """Return the row groups; each is made on a thread while the one before is used."""
    if len(firsts) == 1:
        yield group(firsts[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "row groups") as pool:
        waiting = pool.submit(group, firsts[0])
        for first in firsts[1:]:
            table, waiting = waiting.result(), pool.submit(group, first)
            yield table
        yield waiting.result()


def _is_varied(column: Any) -> bool:
    """Whether a column has many different numbers: a table of these would be larger than them."""
    if isinstance(column, SharedColumn):
        column = column.values
    values = column.values if isinstance(column, Column) else column
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        return False
    is_text = isinstance(column, Column) and column.strings is not None
    return not is_text and len(np.unique(values[:_LOOKED_AT])) > _FEW


def _type(pa: Any, name: str, column: Any) -> pa.DataType:
    """Return int64, double or bool if all values have that type; else a dictionary of strings."""
    if isinstance(column, SharedColumn):
        column = column.values
    if isinstance(column, Column):
        number = {"i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}
        return _texts(pa) if column.strings is not None else number[column.values.dtype.kind]
    if _DTYPES.get(name) == "float64":
        return pa.float64()
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind in "iu":
            return pa.int64() if column.dtype != np.uint64 else pa.uint64()
        return {"f": pa.float64(), "b": pa.bool_()}.get(column.dtype.kind, _texts(pa))
    kinds = {type(value) for value in column if value is not None and value != ""}
    if not kinds and _DTYPES.get(name) in ("int64", "Int64"):
        return pa.int64()
    if kinds == {bool}:
        return pa.bool_()
    if kinds and all(issubclass(kind, int | np.integer) for kind in kinds - {bool}):
        fits = all(-(1 << 63) <= v < 1 << 63 for v in column if v is not None and v != "")
        return pa.int64() if fits and bool not in kinds else _texts(pa)
    if kinds and all(issubclass(kind, int | float | np.number) for kind in kinds):
        return pa.float64()
    return _texts(pa)


def _texts(pa: Any) -> pa.DataType:
    return pa.dictionary(pa.int32(), pa.string())


def _array(pa: Any, column: Any, rows: slice, kind: pa.DataType) -> pa.Array:
    if isinstance(column, Column | SharedColumn):
        return arrow_column(column, rows)
    part = column[rows]
    if isinstance(part, np.ndarray) and part.dtype.kind in "iufb":
        return _numbers(pa, part.astype(kind.to_pandas_dtype()), None)
    null = np.fromiter((value is None or value == "" for value in part), np.bool_, len(part))
    if pa.types.is_dictionary(kind):
        texts = ["" if no else str(value) for value, no in zip(part, null, strict=True)]
        return arrow_column(Column.of_texts(texts))
    present = [0 if no else value for value, no in zip(part, null, strict=True)]
    return _numbers(pa, np.array(present, kind.to_pandas_dtype()), null)


def arrow_column(column: Column | SharedColumn, rows: slice = slice(None)) -> pa.Array:
    """Return rows of a column for Arrow, texts as a dictionary; "" is a null. Needs pyarrow."""
    import pyarrow as pa

    if isinstance(column, SharedColumn):
        if not column.is_shared:
            return _of_column(pa, column.taken(rows))
        # What is made of a value is made once.
        used, number = column.places.used(rows, len(column.values.values))
        few = _of_column(pa, column.values.taken(used))
        is_null = few.null_count == len(few)
        return pa.nulls(len(number), few.type) if is_null else few.take(_numbers(pa, number, None))
    return _of_column(pa, column.taken(rows))


def _of_column(pa: Any, column: Column) -> pa.Array:
    values, strings = column.values, column.strings
    null = None if column.valid is None else ~column.valid
    if strings is None:
        return _numbers(pa, values, null)
    used = flags_at(len(strings) + 1, values if null is None else values[~null])
    chosen = np.flatnonzero(used).tolist()
    texts: dict[str, int] = {}
    number = np.zeros(len(used), np.int32)
    # Distinct texts may be equal once they are storable, and "" is a null.
    number[chosen] = [texts.setdefault(storable(strings[i]), len(texts)) for i in chosen]
    codes = number[np.minimum(values, len(strings))]
    if "" in texts:
        is_empty = codes == texts[""]
        null = is_empty if null is None else null | is_empty
    data = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))]
    distinct = pa.Array.from_buffers(pa.string(), len(data), buffers)
    return pa.DictionaryArray.from_arrays(_numbers(pa, codes, null), distinct)


def _numbers(pa: Any, values: NDArray[Any], null: Bools | None) -> pa.Array:
    """Return numbers or bools in the memory that they have, but for bools."""
    is_valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    is_flag = values.dtype.kind == "b"
    data = np.packbits(values, bitorder="little") if is_flag else np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [is_valid, pa.py_buffer(data)])


def storable(text: str) -> str:
    """Replace lone surrogates, which names from files that are not UTF-8 contain."""
    return text.encode("utf-8", "replace").decode()


ROWS_AT_ONCE = 200_000
_FLAGS = ("false", "true")
_Quoted = Callable[[str], str]


def write_table(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Sequence[Any],
    *,
    raw: bool = False,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write columns of equal length under a header; returns the number of rows.

    A column is a `Column`, a `SharedColumn`, a list, a numpy array or a pandas Series; None, NaN
    and pd.NA become empty fields, and integers next to a null stay integers. The suffix selects
    the format: ".parquet" as in `write_parquet`, ".tsv" (and ".tab") by tab, anything else by
    comma. raw: write texts as they are, as Parquet always has them. Raises ValueError for columns
    of different lengths, OSError, WriteCancelled.
    """
    if os.fspath(path).lower().endswith(".parquet"):
        return write_parquet(path, header, columns, progress=progress, cancelled=cancelled)
    if len(header) != len(columns):
        raise ValueError(f"{len(header)} names for {len(columns)} columns")
    lengths = {row_count(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    rows = lengths.pop() if lengths else 0
    delimiter = "\t" if os.fspath(path).lower().endswith((".tsv", ".tab")) else ","
    quoted = _quoting(delimiter, alone=len(columns) == 1)
    is_changed = not raw and _any_harmful(header, columns)
    spelled: _Quoted = (lambda text: quoted(harmless(text))) if is_changed else quoted
    names = list(map(spelled, header))
    if is_changed and not names[0].startswith('"'):
        names[0] = f'"{names[0]}"'
    texts = list(_pieces(columns, delimiter, quoted, spelled))
    with replacing(path) as out:
        # The first part is written even if it is empty, for the header.
        for first in range(0, max(rows, 1), ROWS_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            part = slice(first, first + ROWS_AT_ONCE)
            lines = list(map(delimiter.join, zip(*(text(part) for text in texts), strict=True)))
            if first == 0:
                lines.insert(0, delimiter.join(names))
            lines.append("")
            # Names from files that are not UTF-8 contain lone surrogates; they must not stop the
            # export.
            out.write("\n".join(lines).encode("utf-8", "replace"))
            progress(min(first + ROWS_AT_ONCE, rows), rows)
    return rows


def _quoting(delimiter: str, *, alone: bool) -> _Quoted:
    """Return the function that quotes a cell if needed; alone: the table has one column."""
    special = re.compile(f'[{delimiter}"\n\r]').search

    def quoted(text: str) -> str:
        # A row of one empty cell would be an empty line, which readers skip.
        if special(text) or (alone and not text):
            return '"' + text.replace('"', '""') + '"'
        return text

    return quoted


def _any_harmful(header: Sequence[str], columns: Sequence[Any]) -> bool:
    """Whether any text of a table would be changed for spreadsheets."""
    tables = (header, *map(_distinct_texts, columns))
    return any(harmless(text) != text for texts in tables for text in texts)


def _distinct_texts(column: Any) -> Iterable[str]:
    if isinstance(column, SharedColumn):
        column = column.values
    if isinstance(column, Column):
        return column.strings or ()
    texts = set[str]()
    for first in range(0, row_count(column), ROWS_AT_ONCE):
        values = _values(column, slice(first, first + ROWS_AT_ONCE))
        texts.update(value for value in values if isinstance(value, str))
    return texts


def _values(column: Any, part: slice) -> list[Any]:
    selected = column[part]
    values: list[Any] = selected.tolist() if hasattr(selected, "tolist") else selected
    return values


def _pieces(
    columns: Sequence[Any], delimiter: str, quoted: _Quoted, spelled: _Quoted
) -> Iterator[Callable[[slice], list[str]]]:
    """Return the functions that give the parts of some lines.

    Columns next to each other that share their values are one part, joined once for each value.
    """
    for places, group in groupby(columns, lambda c: c.places if _is_shared(c) else None):
        if places is None:
            yield from (_cell_texts(column, quoted, spelled) for column in group)
            continue
        each = [_cell_texts(column.values, quoted, spelled)(slice(None)) for column in group]
        yield _spread(text_array(map(delimiter.join, zip(*each, strict=True))), places)


def _spread(texts: NDArray[np.object_], places: RowPlaces) -> Callable[[slice], list[str]]:
    return lambda part: texts[places.block(part)].tolist()


def _is_shared(column: Any) -> bool:
    return isinstance(column, SharedColumn) and column.is_shared


def _cell_texts(column: Any, quoted: _Quoted, spelled: _Quoted) -> Callable[[slice], list[str]]:
    """Return the function that gives the cells of some rows; distinct texts are converted once.

    quoted: for numbers and nulls. spelled: for texts, which may have to be changed too.
    """
    if isinstance(column, Column | SharedColumn):
        strings = (column if isinstance(column, Column) else column.values).strings
        table = None if strings is None else text_array([*map(spelled, strings), quoted("")])

        def typed(part: slice) -> list[str]:
            rows = column.taken(part)
            if table is not None:  # a null's code may be past the texts
                codes = rows.values
                every = codes if rows.valid is None else np.where(rows.valid, codes, len(table) - 1)
                texts: list[str] = table[every].tolist()
                return texts
            spell = _FLAGS.__getitem__ if rows.values.dtype.kind == "b" else str
            texts = list(map(spell, rows.values.tolist()))
            if rows.valid is not None:
                for i in np.flatnonzero(~rows.valid).tolist():
                    texts[i] = quoted("")
            return texts

        return typed

    once = cache(spelled)

    def each(part: slice) -> list[str]:
        return [
            once(value) if isinstance(value, str) else quoted("" if _is_null(value) else str(value))
            for value in _values(column, part)
        ]

    return each


def _is_null(value: object) -> bool:
    """Whether a value is None, NaN or pd.NA, whose comparison is not a bool."""
    if value is None:
        return True
    differs = value != value
    return not isinstance(differs, bool | np.bool_) or bool(differs)
