"""Makes typed DataFrames of rows, of columns, and of the slices of traces.

The columns of slices are views: numbers are the arrays of the trace, texts are categories over the
codes that it has, and what is a property of an identity or a row takes memory only when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from viewer.api.spread_arrays import (
    CodeSpread,
    RowSpread,
    RunSpread,
    SliceSpread,
    Spread,
    SpreadCategorical,
    SpreadInts,
)
from viewer.arrays import Ints
from viewer.export.tables.columns import joined_tables
from viewer.export.tables.slices import Per, SliceTable
from viewer.model.trace import Column

_STRING = pd.StringDtype("python")


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
    nullable = [pd.NA if value is None else value for value in values]
    return pd.array(nullable, dtype="Int64" if dtype == NULLABLE_INT else "boolean")


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
    if not tables:
        dtypes = {spec.name: spec.dtype for spec in SLICES}
        chosen = tuple(dtypes) if names is None else names
        return frame_of_columns(dict.fromkeys(chosen, ()), dtypes)
    if len(tables) == 1:
        (table,) = tables
        slices = table.source.table.trace.slices
        spreads = {
            Per.KEY: CodeSpread(slices.key),
            Per.ROW: RowSpread(slices.row_ptr),
            Per.RUN: RunSpread(len(slices), lambda: table.runs),
            Per.SLICE: SliceSpread(len(slices)),
        }
        columns = {
            name: _view(name, *table.column(name), spreads)
            for name in (table.names if names is None else names)
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(slices)), copy=False)
    parts = [
        ({name: table.taken(name, np.arange(len(table))) for name in table.names}, len(table))
        for table in tables
    ]
    found = joined_tables(parts)
    chosen = tuple(found) if names is None else names
    return pd.DataFrame({name: _whole(name, found[name]) for name in chosen}, copy=False)


def _view(name: str, per: Per, column: Column, spreads: Mapping[Per, Spread]) -> Any:
    """Return a column of slices as an array of pandas that shares the memory of the trace."""
    spread, values = spreads[per], column.values
    if column.strings is not None:
        codes, texts = _distinct(column.strings)
        if per is not Per.SLICE:
            return SpreadCategorical.of(_small_codes(column, codes, len(texts)), spread, texts)
        return SpreadCategorical.of(
            _small(codes, len(texts)), CodeSpread(values, column.valid), texts
        )
    if values.dtype.kind == "b" and per is not Per.SLICE:
        is_one = len(values) > 0 and bool((values == values[0]).all())
        return _fixed(
            np.broadcast_to(values[0], spread.length) if is_one else spread.every(values, False)
        )
    if values.dtype.kind in "fb" or _is_plain(name, column):
        return _whole(name, column)
    return SpreadInts.of(values, column.valid, spread)


def _whole(name: str, column: Column) -> Any:
    """Return a column with a value per slice, of one trace or of several."""
    values = column.values
    if column.strings is not None:
        codes, texts = _distinct(column.strings)
        return pd.Categorical.from_codes(
            _small_codes(column, codes, len(texts)), dtype=pd.CategoricalDtype(texts)
        )
    null = None if column.valid is None else ~column.valid
    if values.dtype.kind == "f":
        return _fixed(values if null is None else np.where(null, np.nan, values))
    if values.dtype.kind == "b":
        return _fixed(values) if null is None else pd.arrays.BooleanArray(values, null)
    if _is_plain(name, column):
        return _fixed(values)
    none = np.broadcast_to(np.False_, values.shape) if null is None else null
    return pd.arrays.IntegerArray(_fixed(values), none)


def _is_plain(name: str, column: Column) -> bool:
    """Whether a column is int64 without nulls in every profile: by its contract, not its values."""
    return column.valid is None and name in _INTS


_INTS = {spec.name for spec in SLICES if spec.dtype == INT}


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written, so that no table changes a trace."""
    view = values.view()
    view.flags.writeable = False
    return view


def _distinct(strings: Sequence[str]) -> tuple[Ints, pd.Index[Any]]:
    """Return texts as categories, each once, and the category of each text."""
    number = {text: i for i, text in enumerate(dict.fromkeys(strings))}
    codes = np.array([number[text] for text in strings], np.int64)
    return codes, pd.Index(list(number), dtype=_TEXT)


def _small_codes(column: Column, codes: Ints, count: int) -> NDArray[Any]:
    """Return the category of each value of a text column, -1 for null. codes: of its texts."""
    found = np.full(len(column.values), -1, np.int64)
    has = slice(None) if column.valid is None else column.valid
    found[has] = codes[column.values[has]]
    return _small(found, count)


def _small(codes: Ints, count: int) -> NDArray[Any]:
    """Return codes of `count` categories in the type that pandas uses for so many."""
    small = next(t for t in (np.int8, np.int16, np.int32) if count < np.iinfo(t).max)
    return codes.astype(small)


# What pandas makes of texts by itself: `str` since version 3, which is not StringDtype("python").
_TEXT = pd.Index(["text"]).dtype
