"""A table that a query reads: its columns are made when a query needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools
from viewer.tables.spec import ColumnSpec, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES = {"int64": "BIGINT", "Int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class BaseTable:
    """Columns by name with their types in DuckDB, and what makes some of them for Arrow.

    takes: about how many bytes these take while they are made; 0 if they are few.
    """

    name: str
    columns: Mapping[str, str]
    arrow: Callable[[Sequence[str]], pa.Table]
    takes: int = 0


def duckdb_type(column: ColumnSpec) -> str:
    """Return the type of a column in DuckDB."""
    return _TYPES.get(column.dtype, "VARCHAR")


def duckdb_types(spec: TableSpec) -> dict[str, str]:
    """Return the types of the columns of a table in DuckDB, by name."""
    return {column.name: duckdb_type(column) for column in spec.columns}


def coded_texts(
    codes: NDArray[np.integer[Any]], strings: Sequence[str], null: Bools | None = None
) -> Any:
    """Return texts by codes as a column for Arrow, which has the codes as they are."""
    import pyarrow

    from viewer.export.tables.parquet import storable

    texts = pyarrow.array([storable(text) for text in strings], pyarrow.string())
    every = pyarrow.array(np.ascontiguousarray(codes), mask=null)
    return pyarrow.DictionaryArray.from_arrays(every, texts)
