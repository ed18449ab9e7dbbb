"""Columns of codes: put together part by part, and numbered by their combinations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats import text_rows
from viewer.formats.text_rows import (
    DistinctTexts,
    GrowingColumn,
    TextColumn,
    combined_codes,
    numbers_of,
)

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=60)


def columns(pairs):
    return [np.array(column, np.uint32) for column in zip(*pairs, strict=True)]


@pytest.mark.parametrize("dense", [0, 1 << 16])
@given(pairs=PAIRS)
def test_combinations_are_numbered_in_their_order_with_the_first_row_of_each(dense, pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "DENSE", dense)
        patch.setattr(text_rows, "ROWS_AT_ONCE", 7)
        numbers, first = combined_codes(columns(pairs))
    distinct = sorted(set(pairs))
    assert numbers.tolist() == [distinct.index(pair) for pair in pairs]
    assert first.tolist() == [pairs.index(pair) for pair in distinct]


@pytest.mark.slow
@pytest.mark.parametrize("dense", [0, 1 << 16])
@given(pairs=PAIRS)
def test_each_combination_is_asked_about_once_in_the_order_of_the_rows(dense, pairs):
    asked = []

    def number(row: int) -> int:
        asked.append(row)
        return 100 + len(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "DENSE", dense)
        patch.setattr(text_rows, "ROWS_AT_ONCE", 7)
        found = numbers_of(columns(pairs), number)
    seen = list(dict.fromkeys(pairs))
    assert asked == [pairs.index(pair) for pair in seen]
    assert found.tolist() == [101 + seen.index(pair) for pair in pairs]


@pytest.mark.parametrize("expected", [0, 5, 12, 1000])
def test_a_column_grows_whatever_was_expected(expected):
    column = GrowingColumn(np.int64)
    for begin in range(0, 12, 3):
        column.add(np.arange(begin, begin + 3), expected)
    assert column.values.tolist() == list(range(12))


def test_a_text_that_is_twice_in_a_column_has_one_code():
    known = DistinctTexts()
    column = TextColumn(np.array([0, 1, 2], np.uint32), ["", "a", ""])
    assert known.codes_of(column).tolist() == [0, 1, 0]
    assert list(known) == ["", "a"]
