"""Exact numbers and arguments in the rows of runtimes' tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.formats.text_rows import DistinctTexts, argument_column
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Column

NO_TIME = "row without a usable time: left out"
SURPLUS = "row with more cells than the header: the further cells are left out"
# Commas separate thousands only. A decimal comma is no time: 1,5 must not become 15.
_NUMBER = re.compile(
    r"(?:[0-9]{1,18}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5})(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?"
)
_MOST_NS = 1 << 61


def amount(text: str) -> Fraction | None:
    """A number of at least 0, exactly as written; None if it is none, or too large for a time."""
    if not _NUMBER.fullmatch(text):
        return None
    value = Fraction(text.replace(",", ""))
    return value if value < _MOST_NS else None


def ticks_of(text: str, per_unit: int) -> int | None:
    """A time in whole ticks, rounded; None if it is no time. per_unit: ticks of its unit."""
    value = amount(text)
    if value is None or value * per_unit >= _MOST_NS:
        return None
    return round(value * per_unit)


def add_rows(
    builder: TraceBuilder,
    rows: Sequence[Sequence[int]] | Ints,
    columns: Mapping[str, Column],
    timing: NDArray[np.uint8] | None = None,
) -> None:
    """Add slices, a row each: track, start, end, name, key, and the place in the file."""
    _, start, end, _, _, _ = table = np.asarray(rows, np.int64).T
    track, name, key, source_row = table[[0, 3, 4, 5]].astype(np.uint32)
    builder.add(
        track=track, start=start, end=end, name=name, key=key, source_row=source_row,
        columns=columns, timing=timing,
    )  # fmt: skip


def has_two_rows(row: Sequence[str], width: int, time: int, unit: int) -> bool:
    """Whether another row follows in a line, as its line end is lost.

    A name may contain the separator, but no time with its unit. width: of the header; time, unit:
    their columns.
    """
    if len(row) <= width:
        return False
    beyond = row[width:]
    apart = unit - time
    pairs = zip(beyond[max(-apart, 0) :], beyond[max(apart, 0) :], strict=False)
    return any(
        amount(number.strip()) is not None and text.strip().isalpha() for number, text in pairs
    )


def columns_of(arguments: Mapping[str, Mapping[int, str]], count: int) -> dict[str, Column]:
    """Columns of `count` slices from the texts that some have: of numbers, if all are numbers."""
    return {name: _column(cells, count) for name, cells in arguments.items()}


def _column(cells: Mapping[int, str], count: int) -> Column:
    distinct_texts = DistinctTexts({"": 0})
    codes = np.zeros(count, np.uint32)
    codes[np.fromiter(cells, np.int64, len(cells))] = distinct_texts.codes(list(cells.values()))
    return argument_column(codes, tuple(distinct_texts))
