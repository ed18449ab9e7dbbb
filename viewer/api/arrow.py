"""Tables of a profile for Arrow: shared memory, for polars and DuckDB."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viewer import SCHEMA, __version__
from viewer.codecs.atomic_file import replacing
from viewer.export.tables.parquet import storable

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """Return a table with the columns of a DataFrame.

    Numbers without nulls and categories share their memory with the frame, also the codes that
    several columns have; lists and dicts become JSON.
    """
    import pyarrow

    arrays: dict[tuple[int, int], Any] = {}
    columns = [_array(pyarrow, frame[name], arrays) for name in frame.columns]
    metadata = {"opscope": __version__, "schema": str(SCHEMA)}
    return pyarrow.Table.from_arrays(columns, names=list(frame.columns), metadata=metadata)


def write_parquet(table: pa.Table, path: str) -> None:
    """Write a table as a Parquet file, completely or not at all."""
    from pyarrow import parquet

    with replacing(path) as out:
        parquet.write_table(table, out, compression="zstd")


def _array(pa: Any, column: pd.Series[Any], arrays: dict[tuple[int, int], Any]) -> Any:
    """Return a column; made: constant codes and values by their size, which columns share."""
    values = column.array
    if isinstance(values, pd.Categorical):
        codes = values.codes
        null = codes < 0
        mask = null if null.any() else None
        texts = pa.array([storable(str(text)) for text in values.categories], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(_stored(codes), mask=mask), texts)
    if isinstance(values, pd.arrays.IntegerArray):
        mask, numbers = column.isna().to_numpy(), values.to_numpy(np.int64, na_value=0)
        return pa.array(_stored(numbers), mask=mask if mask.any() else None)
    if column.dtype == object:
        texts = [None if value is None else json.dumps(value) for value in column]
        return pa.array(texts, pa.string())
    if isinstance(column.dtype, np.dtype):
        stored_values = _stored(column.to_numpy())
        mask = np.isnan(stored_values) if stored_values.dtype.kind == "f" else None
        return pa.array(stored_values, mask=mask if mask is not None and mask.any() else None)
    return pa.array(column, from_pandas=True)


def _stored(values: NDArray[Any]) -> NDArray[Any]:
    """Return values that Arrow can use as they are: one after another in memory."""
    return np.ascontiguousarray(values)
