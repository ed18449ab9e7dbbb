"""Rows of profiles as Arrow tables with the columns of a schema. Needs pyarrow.

Rows of many profiles become one table at once: an array per column, and not per column and profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from viewer.export.tables.parquet import storable
from viewer.fleet.rows import Rows, row_counts
from viewer.fleet.schemas import KEYS, LakeTable

_FARTHEST = (1 << 63) - 1
_KEYS = frozenset(column.name for column in KEYS)
# The values of the key columns of a profile, with its rows of one table.
KeyedRows = tuple[Mapping[str, str | None], Rows]


def arrow_table(table: LakeTable, parts: Sequence[KeyedRows]) -> pa.Table:
    """Return the rows of profiles with the key columns in front; what they lack is null.

    Integers beyond int64 are clamped.
    """
    schema, types = _schema(table)
    counts = [row_counts(rows) for _, rows in parts]
    columns = [
        _repeated([keys.get(name) for keys, _ in parts], counts)
        if name in _KEYS
        else _joined([rows.get(name) for _, rows in parts], counts, kind)
        for name, kind in types
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@lru_cache
def _schema(table: LakeTable) -> tuple[pa.Schema, tuple[tuple[str, pa.DataType], ...]]:
    schema = table.arrow()
    return schema, tuple((field.name, field.type) for field in schema)


def _repeated(texts: Sequence[str | None], counts: Sequence[int]) -> pa.Array:
    """A text per profile, for each of its rows."""
    distinct: dict[str, int] = {}
    of_profiles = [
        -1 if text is None else distinct.setdefault(storable(text), len(distinct)) for text in texts
    ]
    codes = np.repeat(np.array(of_profiles, np.int32), counts)
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array(list(distinct), pa.string())
    )


def _joined(parts: Sequence[Any], counts: Sequence[int], kind: pa.DataType) -> Any:
    """The values of a column of all profiles: one array, or one per profile for those of slices."""
    if not any(isinstance(part, pa.Array) for part in parts):
        every = [
            [None] * count if part is None else part
            for part, count in zip(parts, counts, strict=True)
        ]
        return _array(list(chain.from_iterable(every)), sum(counts), kind)
    arrays = [_array(part, count, kind) for part, count in zip(parts, counts, strict=True)]
    return pa.chunked_array(arrays, kind)


def _array(values: Any, count: int, kind: pa.DataType) -> pa.Array:
    if values is None:
        return pa.nulls(count, kind)
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if pa.types.is_dictionary(kind):
        return _texts(values)
    try:
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is None else _clamped(v) for v in values], kind)


def _texts(values: Sequence[Any]) -> pa.Array:
    try:
        array = pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowInvalid, pa.ArrowTypeError):
        array = pa.array([v if v is None else storable(str(v)) for v in values], pa.string())
    return array.dictionary_encode()


def _clamped(value: Any) -> Any:
    return max(-_FARTHEST, min(int(value), _FARTHEST))
