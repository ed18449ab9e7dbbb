"""Writes tables as Parquet, typed and compressed, so that a folder is queryable as one table.

Uses pyarrow, which is an extra of the package (`pip install "opscope[parquet]"`), because nothing
else needs its 50 MB. A column of integers with missing values is int64 with nulls; texts are
dictionary-encoded, since names repeat; empty CSV cells are null here. The columns of our own tables
have the same type in every file, even if one is empty, so that the files of a folder match.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1_000_000  # per row group
_TIMES = ("total", "self", "mean", "min", "max", "p50", "p90", "own", "shared", "kernel")
# The types of columns that may be empty, or happen to contain only integers.
_INTEGERS = {
    "instruction_id",
    "debug_handle",
    "count",
    "slices",
    "dur_ticks",
    "dur_ns",
    "on_own_clock",
    "nodes",
    "bytes",
    "run",
    *(f"{name}_ns" for name in _TIMES),
    "total_ticks",
    "self_ticks",
    "own_ticks",
    "shared_ticks",
    "kernel_ticks",
}
_NUMBERS = {"share", *(f"{name}_ticks" for name in ("mean", "min", "max", "p50", "p90"))}
HOW_TO_INSTALL = 'Parquet needs pyarrow: pip install "opscope[parquet]"'


class NoParquet(Exception):
    """pyarrow is not installed; the message says how to install it."""


def write_parquet(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Sequence[Any],
    *,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write columns of equal length under a header; returns the number of rows.

    A column is a list or a numpy array; None and "" are nulls. The file is written completely or
    not at all. Raises NoParquet, ValueError for columns of different lengths, OSError,
    WriteCancelled.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise NoParquet(HOW_TO_INSTALL) from error
    if len(header) != len(columns) or len({len(column) for column in columns}) > 1:
        raise ValueError("columns of different lengths, or not as many as names")
    rows = len(columns[0]) if columns else 0
    types = [_type(pa, name, column) for name, column in zip(header, columns, strict=True)]
    schema = pa.schema(list(zip(header, types, strict=True)))
    with (
        replacing(path) as out,
        parquet.ParquetWriter(out, schema, compression="zstd") as writer,
    ):
        # The first group is written even if it is empty, for the schema.
        for first in range(0, max(rows, 1), ROWS_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            part = [
                _array(pa, column[first : first + ROWS_AT_ONCE], kind)
                for column, kind in zip(columns, types, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(part, schema=schema))
            progress(min(first + ROWS_AT_ONCE, rows), rows)
    return rows


def require() -> None:
    """Raise NoParquet if pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise NoParquet(HOW_TO_INSTALL)


def _type(pa: Any, name: str, column: Any) -> pa.DataType:
    """Return int64, double or bool if all values have that type; else a dictionary of strings."""
    if name in _NUMBERS:
        return pa.float64()
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind in "iu":
            return pa.int64() if column.dtype != np.uint64 else pa.uint64()
        return {"f": pa.float64(), "b": pa.bool_()}.get(column.dtype.kind, _texts(pa))
    kinds = {type(value) for value in column if value is not None and value != ""}
    if not kinds and name in _INTEGERS:
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


def _array(pa: Any, part: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(part, np.ndarray) and part.dtype != object:
        return pa.array(part, kind)
    values = [None if value is None or value == "" else value for value in part]
    if pa.types.is_dictionary(kind):
        # Names from files that are not UTF-8 contain lone surrogates; they must not stop the
        # export.
        texts = [v if v is None else str(v).encode("utf-8", "replace").decode() for v in values]
        return pa.array(texts, pa.string()).dictionary_encode().cast(kind)
    if pa.types.is_floating(kind):
        return pa.array([v if v is None else float(v) for v in values], kind)
    return pa.array(values, kind)
