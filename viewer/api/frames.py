"""Makes typed DataFrames of rows, of columns, and of the slices of traces.

The columns of slices are views: numbers are the arrays of the trace, texts are categories over the
codes that it has, and what is a property of an identity or a row takes memory only when it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viewer.api.schema import (
    BOOL,
    CATEGORY,
    FLOAT,
    INT,
    NULLABLE_INT,
    OBJECT,
    SLICES,
    STRING,
    ColumnSpec,
)
from viewer.api.spread_arrays import KeySpread, RowSpread, Spread, SpreadCategorical, SpreadInts
from viewer.export.tables.columns import joined_tables
from viewer.export.tables.slices import Per, SliceTable
from viewer.model.trace import Column

_STRING = pd.StringDtype("python")
_NULLABLE = {spec.name for spec in SLICES if spec.dtype == NULLABLE_INT}


def frame_of_rows(
    rows: Sequence[Mapping[str, Any]], specs: Sequence[ColumnSpec] = ()
) -> pd.DataFrame:
    """Return rows of plain values as a table; None, and what a row lacks, is missing.

    specs: the columns that come first, with their dtypes; the types of others follow from values.
    """
    dtypes = {spec.name: spec.dtype for spec in specs}
    names = [*dtypes, *dict.fromkeys(name for row in rows for name in row if name not in dtypes)]
    columns = {name: [row.get(name) for row in rows] for name in names}
    return frame_of_columns(columns, dtypes)


def frame_of_columns(
    columns: Mapping[str, Sequence[Any]], dtypes: Mapping[str, str]
) -> pd.DataFrame:
    """Return columns of plain values as a table. dtypes: of some; those of others follow."""
    return pd.DataFrame(
        {name: _typed(values, dtypes.get(name)) for name, values in columns.items()}
    )


def _typed(values: Sequence[Any], dtype: str | None) -> Any:
    """Return values as an array of a dtype, by default of that of the values."""
    if dtype is None:
        dtype = _dtype_of(values)
    if dtype == CATEGORY:
        return pd.Categorical(pd.array(values, dtype=object))
    if dtype == STRING:
        return pd.array(values, dtype=_STRING)
    if dtype == FLOAT:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if dtype == OBJECT:
        found = np.empty(len(values), object)
        found[:] = list(values)
        return found
    if dtype in (INT, BOOL):
        return np.array(values, dtype)
    return pd.array([pd.NA if value is None else value for value in values], dtype=dtype)


def _dtype_of(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {str}:
        return STRING
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return NULLABLE_INT
    return FLOAT if kinds and kinds <= {int, float} else OBJECT


# -- slices ----------------------------------------------------------------------------------------


def frame_of_slices(
    tables: Sequence[SliceTable], names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the slices of traces, one after another, in the order in which these have them.

    names: the columns; all of the contract and of the files by default. One trace is not copied.
    """
    if len(tables) == 1:
        (table,) = tables
        slices = table.source.table.trace.slices
        spreads = {Per.KEY: KeySpread(slices.key), Per.ROW: RowSpread(slices.row_ptr)}
        chosen = table.names if names is None else names
        made: dict[int, Any] = {}
        columns: Mapping[str, Any] = {
            name: _view(name, *table.column(name), spreads, made) for name in chosen
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(slices)), copy=False)
    parts = [
        ({name: table.taken(name, np.arange(len(table))) for name in table.names}, len(table))
        for table in tables
    ]
    found = joined_tables(parts)
    chosen = tuple(found) if names is None else names
    return pd.DataFrame({name: _whole(name, found[name]) for name in chosen}, copy=False)


def _view(
    name: str, per: Per, column: Column, spreads: Mapping[Per, Spread], made: dict[int, Any]
) -> Any:
    """Return a column of slices as an array of pandas that shares the memory of the trace."""
    if per is Per.SLICE:
        return _whole(name, column)
    spread = spreads[per]
    if column.strings is not None:
        codes, categories = _codes(column, compact=True)
        return SpreadCategorical.of(codes, spread, categories)
    if column.values.dtype.kind == "b":
        every = column.values[:1] if len(set(column.values.tolist())) == 1 else None
        if every is not None:
            return _fixed(np.broadcast_to(every[0], spread.length))
        return _fixed(spread.every(column.values))
    null = None if column.valid is None else ~column.valid
    return SpreadInts.of(column.values, null, spread)


def _whole(name: str, column: Column) -> Any:
    """Return a column with a value per slice."""
    values = column.values
    if column.strings is not None:
        codes, categories = _codes(column)
        return pd.Categorical.from_codes(
            codes, dtype=pd.CategoricalDtype(categories), validate=False
        )
    null = None if column.valid is None else ~column.valid
    if values.dtype.kind == "f":
        return _fixed(values if null is None else np.where(null, np.nan, values))
    if values.dtype.kind == "b":
        if null is None:
            return _fixed(values)
        return pd.arrays.BooleanArray(values, null)
    if null is None and name not in _NULLABLE and name in _OF_CONTRACT:
        return _fixed(values)
    none = np.broadcast_to(np.False_, values.shape) if null is None else null
    return pd.arrays.IntegerArray(_fixed(values), none)


_OF_CONTRACT = {spec.name for spec in SLICES}


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written, so that no table changes a trace."""
    view = values.view()
    view.flags.writeable = False
    return view


def _codes(column: Column, *, compact: bool = False) -> tuple[NDArray[Any], pd.Index[Any]]:
    """Return the codes of a text column, -1 for null, and its texts as categories.

    Without nulls and repeated texts, these are the codes of the trace, unless they should be
    compact.
    """
    strings = column.strings or ()
    texts = dict.fromkeys(strings)
    codes = column.values
    if len(texts) < len(strings):
        number = {text: i for i, text in enumerate(texts)}
        codes = np.array([number[text] for text in strings], np.uint32)[codes]
    if column.valid is None and codes.dtype == np.uint32 and not compact:
        return _fixed(codes.view(np.int32)), _index(texts)
    small = next(t for t in (np.int8, np.int16, np.int32) if len(texts) <= np.iinfo(t).max)
    found = codes.astype(small)
    if column.valid is not None:
        found[~column.valid] = -1
    return found, _index(texts)


def _index(texts: Iterable[str]) -> pd.Index[Any]:
    return pd.Index(list(texts), dtype=_TEXT)


# What pandas makes of texts by itself: `str` since version 3, which is not StringDtype("python").
_TEXT = pd.Index(["text"]).dtype
