"""The values of a result: as texts, and as a chart of one number over one dimension. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.model.text import one_line
from viewer.model.times import format_time, group_digits
from viewer.query.engine import Result

MISSING = "–"
# Columns whose values are the `id` of a slice.
SLICE_IDS = ("id", "slice_id", "slice", "arg_set_id", "parent", "parent_id", "producer", "consumer")
_STARTS = ("start_ns", "ts")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
          "UINTEGER", "UBIGINT", "UHUGEINT")  # fmt: skip
_NUMBERS = (*_WHOLE, "DOUBLE", "FLOAT", "DECIMAL")


def is_number(type_name: str) -> bool:
    """Return whether a type of DuckDB is one of numbers."""
    return type_name.partition("(")[0] in _NUMBERS


def is_time(name: str, type_name: str) -> bool:
    """Return whether a column has times in ns."""
    return type_name in _WHOLE and (name.endswith("_ns") or name in ("dur", "ts"))


def value_text(name: str, type_name: str, value: Any) -> str:
    """Return the text of a value in a column."""
    if value is None:
        return MISSING
    if is_time(name, type_name):
        return format_time(value)
    if is_number(type_name) and name not in SLICE_IDS:
        return group_digits(value) if isinstance(value, int) else f"{value:.6g}"
    return one_line(str(value))


def cell_text(result: Result, row: int, column: int) -> str:
    """Return the text of a cell."""
    return value_text(result.columns[column], result.types[column], result.rows[row][column])


@dataclass(frozen=True, slots=True, eq=False)
class Plotted:
    """Rows of a result that have a number.

    rows: their numbers. values: finite. places: of a dimension of numbers, None for texts.
    dimension, measure: the columns.
    """

    rows: Ints
    values: Floats
    places: Floats | None
    dimension: int
    measure: int


def plotted(result: Result) -> Plotted | str:
    """Return what a chart of a result shows, or why there is none.

    The dimension is the first text that differs in all rows, else the first text, or else the
    first column; the measure the next number, one that is no `id` and no start if there is another.
    """
    has_numbers = [is_number(type_name) for type_name in result.types]
    texts = [i for i, each in enumerate(has_numbers) if not each]
    apart = (i for i in texts if len({str(row[i]) for row in result.rows}) == len(result.rows))
    dimension = next(apart, texts[0] if texts else 0)
    numbers = [i for i, each in enumerate(has_numbers) if each and i != dimension]
    if not numbers:
        return "A chart needs a column to compare by and a column of numbers"
    amounts = [i for i in numbers if result.columns[i] not in (*SLICE_IDS, *_STARTS)] or numbers
    measure = next((i for i in amounts if i > dimension), amounts[0])
    values = _floats(result, measure)
    drawn = np.isfinite(values)
    places = _floats(result, dimension) if has_numbers[dimension] else None
    if places is not None:
        drawn &= np.isfinite(places)
    rows = np.flatnonzero(drawn)
    if not len(rows):
        return f"No row has a number in {result.columns[measure]}"
    return Plotted(rows, values[rows], None if places is None else places[rows], dimension, measure)


def _floats(result: Result, column: int) -> Floats:
    values = (row[column] for row in result.rows)
    return np.array([np.nan if v is None else float(v) for v in values], np.float64)
