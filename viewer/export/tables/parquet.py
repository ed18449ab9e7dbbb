"""Writes tables as Parquet, typed and compressed, so that a folder is queryable as one table.

Every column is nullable and has a plain type: int64, double, boolean or string. A `Column` has one
type whatever its values, so the tables of slices fit together; empty cells are null. Texts are
written from their codes, each text once per row group. The metadata of the file are `opscope`, the
version, and `schema`, that of the columns (`viewer.SCHEMA`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer import SCHEMA, __version__
from viewer.arrays import flags_at
from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.model.trace import Column
from viewer.tables.columns import row_count
from viewer.tables.handle_maps import HANDLE_MAP
from viewer.tables.operators import OPERATORS
from viewer.tables.statistics import STATISTICS
from viewer.tables.untimed import UNTIMED

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1_000_000  # per row group
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

    A column is a `Column`, a list or a numpy array; None and "" are nulls. The file is written
    completely or not at all. Raises ValueError for columns of different lengths, OSError,
    WriteCancelled.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if len(header) != len(columns) or len({row_count(c) for c in columns}) > 1:
        raise ValueError("columns of different lengths, or not as many as names")
    rows = row_count(columns[0]) if columns else 0
    types = [_type(pa, name, column) for name, column in zip(header, columns, strict=True)]
    schema = pa.schema(list(zip(header, types, strict=True)))
    with (
        replacing(path) as out,
        # Without the stored schema of Arrow, readers see strings, not dictionaries of them.
        parquet.ParquetWriter(out, schema, compression="zstd", store_schema=False) as writer,
    ):
        writer.add_key_value_metadata({"opscope": __version__, "schema": str(SCHEMA)})
        # The first group is written even if it is empty, for the schema.
        for first in range(0, max(rows, 1), ROWS_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            part = [
                _array(pa, column, slice(first, first + ROWS_AT_ONCE), kind)
                for column, kind in zip(columns, types, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(part, schema=schema))
            progress(min(first + ROWS_AT_ONCE, rows), rows)
    return rows


def _type(pa: Any, name: str, column: Any) -> pa.DataType:
    """Return int64, double or bool if all values have that type; else a dictionary of strings."""
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
    if isinstance(column, Column):
        return _of_column(pa, column, rows)
    part = column[rows]
    if isinstance(part, np.ndarray) and part.dtype != object:
        return pa.array(part, kind)
    values = [None if value is None or value == "" else value for value in part]
    if pa.types.is_dictionary(kind):
        texts = [v if v is None else storable(str(v)) for v in values]
        return pa.array(texts, pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_floating(kind):
        return pa.array([v if v is None else float(v) for v in values], kind)
    return pa.array(values, kind)


def _of_column(pa: Any, column: Column, rows: slice) -> pa.Array:
    values = column.values[rows]
    null = None if column.valid is None else ~column.valid[rows]
    if column.strings is None:
        return pa.array(values, mask=null)
    used = flags_at(len(column.strings) + 1, values if null is None else values[~null])
    chosen = np.flatnonzero(used).tolist()
    texts: dict[str, int] = {}
    number = np.zeros(len(used), np.int32)
    # Distinct texts may be equal once they are storable, and "" is a null.
    number[chosen] = [texts.setdefault(storable(column.strings[i]), len(texts)) for i in chosen]
    codes = number[np.minimum(values, len(column.strings))]
    if "" in texts:
        is_empty = codes == texts[""]
        null = is_empty if null is None else null | is_empty
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, pa.int32(), mask=null), pa.array(list(texts), pa.string())
    )


def arrow_text_column(column: Column) -> pa.Array:
    """Return a column of texts as a dictionary array; "" is a null. Needs pyarrow."""
    import pyarrow as pa

    return _of_column(pa, column, slice(None))


def storable(text: str) -> str:
    """Replace lone surrogates, which names from files that are not UTF-8 contain."""
    return text.encode("utf-8", "replace").decode()
