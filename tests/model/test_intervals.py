"""Sets of time against sets of single ticks."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model import intervals

pairs = st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8)), max_size=8)


def arrays(items):
    table = np.array(items, np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def ticks(starts, ends):
    return {t for s, e in zip(starts, ends, strict=True) for t in range(s, e)}


def is_minimal(starts, ends):
    """Sorted, none empty, and none touching the next."""
    return (ends > starts).all() and (starts[1:] > ends[:-1]).all()


@pytest.mark.slow
@given(pairs)
def test_a_union_covers_the_same_ticks_in_the_fewest_pieces(items):
    start, end = arrays(items)
    result = intervals.union(start, end)
    assert ticks(*result) == ticks(start, end)
    assert is_minimal(*result)
    assert intervals.length(start, end) == len(ticks(start, end))


@pytest.mark.slow
@given(pairs, st.integers(-9, 9), st.integers(-9, 9))
def test_clipping_keeps_what_lies_inside(items, first, last):
    start, end = arrays(items)
    result = intervals.clip(start, end, first, last)
    assert ticks(*result) == ticks(start, end) & set(range(first, last))
    assert (result[1] > result[0]).all()


@pytest.mark.slow
@given(pairs, st.lists(st.integers(-9, 9)))
def test_what_is_covered_until_a_time_is_what_lies_before_it(items, times):
    united = intervals.union(*arrays(items))
    found = intervals.covered_until(united, np.array(times, np.int64))
    assert found.tolist() == [sum(t < time for t in ticks(*united)) for time in times]


@pytest.mark.slow
@given(pairs, pairs)
def test_a_difference_is_what_lies_outside(a, b):
    a, b = arrays(a), arrays(b)
    only = intervals.subtract(a, b)
    assert ticks(*only) == ticks(*a) - ticks(*b)
    assert is_minimal(*only)


@pytest.mark.slow
@given(pairs, pairs)
def test_an_intersection_is_what_lies_in_both(a, b):
    a, b = arrays(a), arrays(b)
    both = intervals.intersect(a, b)
    assert ticks(*both) == ticks(*a) & ticks(*b)
    assert is_minimal(*both)
    # What is in both and what is in one alone are the one.
    alone = intervals.subtract(a, b)
    assert intervals.length(*both) + intervals.length(*alone) == intervals.length(*a)


@pytest.mark.slow
@given(pairs, pairs)
def test_two_sets_divide_their_time_into_three(a, b):
    a, b = arrays(a), arrays(b)
    only_a, only_b, both = intervals.divided(a, b)
    assert ticks(*only_a) == ticks(*a) - ticks(*b)
    assert ticks(*only_b) == ticks(*b) - ticks(*a)
    assert ticks(*both) == ticks(*a) & ticks(*b)
    assert all(is_minimal(*one) for one in (only_a, only_b, both))


def test_nothing_lies_in_two_sets_that_only_touch():
    both = intervals.intersect(arrays([(0, 5), (7, 9)]), arrays([(5, 7)]))
    assert both[0].tolist() == both[1].tolist() == []


def test_ticks_beyond_float_precision_stay_exact():
    far = 2**62
    start, end = arrays([(far, far + 1), (far + 2, far + 3)])
    assert intervals.length(start, end) == 2
    assert intervals.covered_until((start, end), end).tolist() == [1, 2]
    assert intervals.durations(np.array([-(2**63)]), np.array([2**63 - 1])).tolist() == [2**64 - 1]
    cut = intervals.subtract(arrays([(far, far + 3)]), (start, end))
    assert (cut[0].tolist(), cut[1].tolist()) == ([far + 1], [far + 2])
    both = intervals.intersect(arrays([(far, far + 3)]), (start, end))
    assert (both[0].tolist(), both[1].tolist()) == ([far, far + 2], [far + 1, far + 3])


def test_a_single_duration_may_begin_before_zero():
    with warnings.catch_warnings(action="error"):
        assert int(intervals.durations(np.int64(-7), np.int64(5))) == 12


@pytest.mark.slow
@given(st.lists(st.tuples(pairs, pairs), max_size=6))
def test_differences_of_many_pairs_are_as_of_each_alone(sets):
    a, b = (arrays([item for pair in sets for item in pair[side]]) for side in (0, 1))
    a_ptr, b_ptr = (np.cumsum([0, *(len(pair[side]) for pair in sets)]) for side in (0, 1))
    found = intervals.subtract_each(a, a_ptr, b, b_ptr)
    alone = [intervals.subtract(arrays(one), arrays(other)) for one, other in sets]
    assert [tuple(map(np.ndarray.tolist, each)) for each in found] == [
        tuple(map(np.ndarray.tolist, each)) for each in alone
    ]


def test_a_total_beyond_int64_is_exact():
    start = np.full(5, -(2**62))
    assert intervals.total(start, -start) == 5 * 2**63
