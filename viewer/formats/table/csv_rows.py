"""The rows of a CSV as columns of codes and numbers, and the numbers of cells as texts.

Columns are numbered as in the header; one extra column takes the cells beyond the header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at
from viewer.formats.text_rows import DistinctTexts, TextColumn

# A slice from -2**62 to 2**62 lasts longer than a time may be.
NUMBER_LIMIT = 2**63 - 2
_TIME = re.compile(r"\s*([+-]?[0-9]{1,19})(?:\.0*)?\s*")

# Faults of a row: a quote is not closed, or the number of rows that its line has, up to MOST_ROWS.
UNCLOSED, MOST_ROWS = -1, 127

# Values, and which of them are usable (others are 0).
Numbers = tuple[Ints, Bools]
# The first row without a usable number, and its text.
FirstOdd = tuple[int, str] | None


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns read from each row: integers and texts. `width`: columns in the header."""

    separator: str
    width: int
    numbers: tuple[int, ...]
    texts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CsvBlock:
    """Some rows as columns.

    numbers: values, and which of them are usable (others are 0). faults: UNCLOSED for a row with a
    quote that is not closed; for one with more cells than the header, how many rows its line has;
    else 0. replaced, nuls: number of invalid UTF-8 bytes and NUL bytes, in a block of `size` bytes.
    odd: for a column of numbers, the first row without a usable one, and its text.
    """

    rows: int
    numbers: dict[int, Numbers]
    texts: dict[int, TextColumn]
    faults: NDArray[np.int8]
    replaced: int = 0
    nuls: int = 0
    size: int = 0
    odd: dict[int, tuple[int, str]] = field(default_factory=dict)


def whole_numbers(cells: Sequence[str]) -> tuple[Numbers, FirstOdd]:
    """Parse integers."""
    joined = "".join(cells)
    try:
        # int() would also accept "1_000" and digits of other scripts.
        if not joined.isascii() or "_" in joined:
            raise ValueError
        values = np.fromiter(map(int, cells), np.int64, len(cells))
    except (ValueError, OverflowError):
        matches = map(_TIME.fullmatch, cells)
        numbers = (int(m[1]) if m else NUMBER_LIMIT + 1 for m in matches)
        bounded = (n if abs(n) <= NUMBER_LIMIT else NUMBER_LIMIT + 1 for n in numbers)
        values = np.fromiter(bounded, np.int64, len(cells))
    usable, first = usable_numbers(values)
    return usable, None if first < 0 else (first, cells[first])


def usable_numbers(values: Ints) -> tuple[Numbers, int]:
    """Which numbers are within the limit, and the first one that is not, else -1."""
    if values.min(initial=0) >= -NUMBER_LIMIT and values.max(initial=0) <= NUMBER_LIMIT:
        return (values, np.ones(len(values), np.bool_)), -1
    ok = (values <= NUMBER_LIMIT) & (values >= -NUMBER_LIMIT)
    return (np.where(ok, values, 0), ok), int(np.argmin(ok))


def with_rows(block: CsvBlock, more: CsvBlock, more_rows: Ints) -> CsvBlock:
    """A block with the rows of another one, in the places `more_rows` of the result (ascending)."""
    rows = block.rows + more.rows
    is_more = flags_at(rows, more_rows)
    own_at = np.flatnonzero(~is_more)

    def joined(values: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        merged = np.empty(rows, values.dtype)
        merged[own_at], merged[more_rows] = values, others
        return merged

    texts: dict[int, TextColumn] = {}
    for column, text_column in block.texts.items():
        distinct_texts = DistinctTexts()
        codes = joined(
            distinct_texts.codes_of(text_column), distinct_texts.codes_of(more.texts[column])
        )
        texts[column] = TextColumn(codes, list(distinct_texts))
    numbers: dict[int, Numbers] = {}
    odd: dict[int, tuple[int, str]] = {}
    for column, (values, ok) in block.numbers.items():
        other_values, other_ok = more.numbers[column]
        numbers[column] = joined(values, other_values), joined(ok, other_ok)
        places = ((own_at, block.odd.get(column)), (more_rows, more.odd.get(column)))
        first = [(int(place[odd[0]]), odd[1]) for place, odd in places if odd]
        if first:
            odd[column] = min(first)
    faults = joined(block.faults, more.faults)
    return replace(block, rows=rows, numbers=numbers, texts=texts, faults=faults, odd=odd)
