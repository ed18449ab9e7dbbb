"""Typed columns: joined over files, and as cells."""

import numpy as np

from viewer.model.trace import Column
from viewer.tables.columns import (
    as_stored,
    cells,
    either,
    joined_tables,
    numbers_of,
    texts_of,
)

ALL = slice(None)


def test_equal_texts_are_stored_once_and_empty_ones_are_nulls():
    column = texts_of(["a", "", "b", "a"], np.array([3, 2, 1, 0]))
    assert column.strings == ("a", "", "b")
    assert cells(column, ALL).tolist() == ["a", "b", "", "a"]
    assert column.valid is not None
    assert column.valid.tolist() == [True, True, False, True]


def test_a_column_that_one_file_lacks_is_null_there():
    one = {"n": numbers_of(np.array([1, 2])), "t": texts_of(["x", "y"], np.array([0, 1]))}
    other = {"t": texts_of(["y", "z"], np.array([1, 0, 1]))}
    found = joined_tables([(one, 2), (other, 3)])
    assert cells(found["n"], ALL).tolist() == [1, 2, "", "", ""]
    assert found["n"].values.dtype == np.int64
    assert cells(found["t"], ALL).tolist() == ["x", "y", "z", "y", "z"]


def test_columns_of_different_types_become_fractions_or_text():
    def joined(one: Column, other: Column) -> list[object]:
        found = joined_tables([({"c": one}, 1), ({"c": other}, 1)])["c"]
        values: list[object] = cells(found, ALL).tolist()
        return values

    whole, half = Column(np.array([3])), Column(np.array([0.5]))
    flag, text = Column(np.array([True])), texts_of(["x"], np.array([0]))
    assert joined(whole, half) == [3.0, 0.5]
    assert joined(whole, flag) == ["3", "true"]
    assert joined(text, whole) == ["x", "3"]


def test_unsigned_numbers_are_signed_unless_they_do_not_fit():
    small, large = (Column(np.array([n], np.uint64)) for n in (7, 2**63))
    assert as_stored(small).values.dtype == np.int64
    assert cells(as_stored(large), ALL).tolist() == [str(2**63)]


def test_a_second_column_fills_what_the_first_does_not_tell():
    first = Column(np.array([1, 2, 3]), np.array([True, False, True]))
    second = numbers_of(np.array([7, 8, 9]))
    assert either(first, second).values.tolist() == [1, 8, 3]
    assert either(first, second, np.array([True, True, False])).values.tolist() == [1, 8, 9]
