"""Rows of a profile as Arrow tables with the columns of a schema. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from viewer.export.tables.columns import cells
from viewer.export.tables.parquet import arrow_text_column, storable
from viewer.fleet.rows import Rows, row_counts
from viewer.fleet.schemas import KEYS, LakeTable
from viewer.model.trace import Column

_FARTHEST = (1 << 63) - 1


def arrow_table(table: LakeTable, keys: Mapping[str, str | None], rows: Rows) -> pa.Table:
    """Return rows with the key columns in front; columns that they lack are null.

    keys: the values of `KEYS`. Integers beyond int64 are clamped.
    """
    schema = table.arrow()
    count = row_counts(rows)
    of_keys = {column.name for column in KEYS}
    arrays = [
        _constant(keys.get(field.name), count)
        if field.name in of_keys
        else _array(rows.get(field.name), count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _constant(text: str | None, count: int) -> pa.Array:
    codes = np.zeros(count, np.int32)
    mask = np.ones(count, np.bool_) if text is None else None
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=mask), pa.array([] if text is None else [storable(text)], pa.string())
    )


def _array(values: Any, count: int, kind: pa.DataType) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    is_text = pa.types.is_dictionary(kind)
    if isinstance(values, Column):
        if is_text and values.strings is not None:
            return arrow_text_column(values)
        if not is_text and values.strings is None:
            mask = None if values.valid is None else ~values.valid
            return pa.array(values.values, mask=mask).cast(kind)
        values = [None if cell == "" else cell for cell in cells(values, slice(None))]
    if is_text:
        return _texts(values)
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is None else _clamped(v) for v in values], kind)


def _texts(values: Sequence[Any]) -> pa.Array:
    try:
        found = pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError):
        found = pa.array([v if v is None else storable(str(v)) for v in values], pa.string())
    return found.dictionary_encode()


def _clamped(value: Any) -> Any:
    return max(-_FARTHEST, min(int(value), _FARTHEST))
