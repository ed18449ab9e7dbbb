"""Typed columns: joined over files, and as cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.trace import Column
from viewer.tables.columns import (
    RowPlaces,
    SharedColumn,
    as_stored,
    cells,
    either,
    joined_shared,
    numbers_of,
    texts_of,
)

ALL = slice(None)


def joined(*tables: dict[str, Column]) -> dict[str, Column]:
    """The columns of tables, one after another."""
    parts = []
    for table in tables:
        rows = len(next(iter(table.values())).values)
        places = RowPlaces(rows, np.arange(rows).__getitem__)
        parts.append({name: SharedColumn(column, places) for name, column in table.items()})
    return {name: column.taken() for name, column in joined_shared(parts).items()}


def test_equal_texts_are_stored_once_and_empty_ones_are_nulls():
    column = texts_of(["a", "", "b", "a"], np.array([3, 2, 1, 0]))
    assert column.strings == ("a", "", "b")
    assert cells(column, ALL).tolist() == ["a", "b", "", "a"]
    assert column.valid is not None
    assert column.valid.tolist() == [True, True, False, True]


def test_a_column_that_one_file_lacks_is_null_there():
    one = {"n": numbers_of(np.array([1, 2])), "t": texts_of(["x", "y"], np.array([0, 1]))}
    other = {"t": texts_of(["y", "z"], np.array([1, 0, 1]))}
    found = joined(one, other)
    assert cells(found["n"], ALL).tolist() == [1, 2, "", "", ""]
    assert found["n"].values.dtype == np.int64
    assert cells(found["t"], ALL).tolist() == ["x", "y", "z", "y", "z"]


def test_columns_of_different_types_become_fractions_or_text():
    def both(one: Column, other: Column) -> list[object]:
        values: list[object] = cells(joined({"c": one}, {"c": other})["c"], ALL).tolist()
        return values

    whole, half = Column(np.array([3])), Column(np.array([0.5]))
    flag, text = Column(np.array([True])), texts_of(["x"], np.array([0]))
    assert both(whole, half) == [3.0, 0.5]
    assert both(whole, flag) == ["3", "true"]
    assert both(text, whole) == ["x", "3"]


def test_unsigned_numbers_are_signed_unless_they_do_not_fit():
    small, large = (Column(np.array([n], np.uint64)) for n in (7, 2**63))
    assert as_stored(small).values.dtype == np.int64
    assert cells(as_stored(large), ALL).tolist() == [str(2**63)]


def test_a_second_column_fills_what_the_first_does_not_tell():
    first = Column(np.array([1, 2, 3]), np.array([True, False, True]))
    second = numbers_of(np.array([7, 8, 9]))
    assert either(first, second).values.tolist() == [1, 8, 3]
    assert either(first, second, np.array([True, True, False])).values.tolist() == [1, 8, 9]


@st.composite
def shared_tables(draw):
    """Tables of up to four columns, of which some share their places, and some lack a table."""
    rows = draw(st.integers(0, 9))
    table, places = {}, {}
    for name in draw(st.lists(st.sampled_from("abcd"), min_size=1, unique=True)):
        count = draw(st.integers(1, 4))
        if count not in places:
            of_rows = np.array(draw(st.lists(st.integers(0, count - 1), min_size=rows,
                                             max_size=rows)), np.int64)  # fmt: skip
            places[count] = RowPlaces(rows, of_rows.__getitem__)
        valid = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
        texts = texts_of(draw(st.lists(st.sampled_from(["", "x", "y"]), min_size=count,
                                       max_size=count)), np.arange(count))  # fmt: skip
        plain = {"a": texts, "b": numbers_of(np.arange(count), valid), "c": Column(valid),
                 "d": Column(np.arange(count) / 4, valid)}  # fmt: skip
        table[name] = SharedColumn(plain[name], places[count])
    return table, rows


@pytest.mark.slow
@given(st.lists(shared_tables(), min_size=1, max_size=4), st.integers(0, 30), st.integers(0, 9))
def test_shared_columns_are_joined_as_their_rows_are(tables, first, more):
    part = slice(first, first + more)
    shared = joined_shared([table for table, _ in tables])
    assert set(shared) == {name for table, _ in tables for name in table}
    for name, column in shared.items():
        expected: list[object] = []
        for table, rows in tables:
            expected += cells(table[name].taken(), ALL).tolist() if name in table else [""] * rows
        assert cells(column.taken(), ALL).tolist() == expected
        assert cells(column.taken(part), ALL).tolist() == expected[part]


def test_the_places_of_a_block_are_found_once_for_all_columns():
    asked = []

    def of_rows(rows):
        asked.append(rows)
        return np.array([3, 1, 3, 0])[rows]

    places = RowPlaces(4, of_rows)
    for block in (slice(0, 3), slice(0, 3), slice(3, 9)):
        assert places.block(block).tolist() == [[3, 1, 3], [0]][block.start > 0]
        used, number = places.used(block, 4)
        assert used[number].tolist() == places.block(block).tolist()
    assert asked == [slice(0, 3), slice(3, 4)]
