"""The order of many numbers, and their columns."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from viewer import arrays as arrays_module
from viewer.arrays import (
    counts_of,
    flags_at,
    groups_of,
    joined,
    levels,
    narrow,
    narrowest,
    numbers_at,
    rows_of,
    stable_order,
)


@pytest.mark.slow
@given(
    arrays.arrays(np.int64, st.integers(0, 40), elements=st.sampled_from(
        [0, 1, 5, 65_535, 65_536, 131_072, 2**31, 2**32 - 1]
    ))
)  # fmt: skip
def test_it_is_that_of_a_stable_sort(numbers):
    assert stable_order(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


@pytest.mark.parametrize("numbers", [[3, -1, 2], [2**32, 1, 2**40], []])
def test_so_it_is_outside_of_32_bits(numbers):
    given_numbers = np.array(numbers, np.int64)
    expected = np.argsort(given_numbers, kind="stable").tolist()
    assert stable_order(given_numbers).tolist() == expected


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.int32])
def test_any_kind_of_integer_can_be_sorted(kind):
    numbers = np.array([100, 7, 7, 0, 100], kind)
    assert stable_order(numbers).tolist() == [3, 1, 2, 0, 4]


def test_levels_are_the_positions_of_each_depth():
    found = levels(np.array([0, 1, 2, 1, 0, 1]))
    assert [level.tolist() for level in found] == [[0, 4], [1, 3, 5], [2]]
    assert levels(np.empty(0, np.int64)) == []


def test_groups_are_the_numbers_that_occur_with_their_positions():
    groups = groups_of(np.array([7, -1, 7, 3]))
    positions = {number: rows.tolist() for number, rows in groups}
    assert list(positions.items()) == [(-1, [1]), (3, [3]), (7, [0, 2])]
    assert groups_of(np.empty(0, np.int64)) == []


@dataclass
class Places:
    track: np.ndarray


@dataclass
class Events:
    at: Places
    value: np.ndarray
    unit: str


def test_rows_of_columns_are_those_of_columns_in_them():
    events = Events(Places(np.array([1, 2, 3])), np.array([10, 20, 30]), "ns")
    some = rows_of(events, np.array([2, 0]))
    assert (some.at.track.tolist(), some.value.tolist(), some.unit) == ([3, 1], [30, 10], "ns")
    both = joined([events, some])
    assert (both.at.track.tolist(), both.value.tolist()) == ([1, 2, 3, 3, 1], [10, 20, 30, 30, 10])


def test_some_places_of_many_have_flags_and_numbers():
    assert flags_at(4, [2, 0]).tolist() == [True, False, True, False]
    assert numbers_at(4, np.array([2, 0]), [7, 8], -1).tolist() == [8, -1, 7, -1]
    assert numbers_at(2, np.array([False, True]), [5]).tolist() == [0, 5]


@pytest.mark.parametrize("part", [1, 3, 1 << 16])
def test_counts_are_those_of_bincount_whatever_the_parts(part, monkeypatch):
    monkeypatch.setattr(arrays_module, "_PART", part)
    numbers = np.array([3, 0, 3, 1, 3, 0, 5], np.uint32)
    assert counts_of(numbers, 7).tolist() == [2, 1, 0, 3, 0, 1, 0]
    mask = np.array([True, False, True, True, False, True, False])
    assert counts_of(numbers, 7, mask).tolist() == [1, 1, 0, 2, 0, 0, 0]
    assert counts_of(numbers[:0], 0).tolist() == []


@pytest.mark.parametrize("edge", [-(1 << 31), (1 << 31) - 1])
def test_numbers_are_narrow_where_all_fit(edge):
    outside = edge + (1 if edge > 0 else -1)
    for numbers, size in ([edge, 0], 4), ([outside, 0], 8), ([], 4):
        made = narrow(np.array(numbers, np.int64))
        assert (made.tolist(), made.itemsize) == (numbers, size)


def test_numbers_take_as_few_bytes_as_one_more_than_the_largest_needs():
    for numbers, size in (
        ([-128, 126], 1), ([127], 2), ([-129, 0], 2), ([1 << 15], 4), ([(1 << 15) - 2], 2),
        ([1 << 31], 8), ([], 4),
    ):  # fmt: skip
        made = narrowest(np.array(numbers, np.int64))
        assert (made.tolist(), made.itemsize) == (numbers, size)
        assert (made + 1).tolist() == [number + 1 for number in numbers]
