"""Medians and percentiles against those of the standard library, exactly."""

import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.quantiles import (
    exact_median,
    median,
    medians,
    medians_of_groups,
    percentiles,
    typical,
)

TICKS = st.integers(0, (1 << 62) - 1)
COUNTS = st.sampled_from((1, 2, 3, 4, 25))
LISTS = COUNTS.flatmap(lambda count: st.lists(TICKS, min_size=count, max_size=count))


@given(LISTS)
def test_medians_are_those_of_the_standard_library(values):
    assert exact_median(values) == statistics.median(map(Fraction, values))
    assert median(values) == float(statistics.median(values))
    assert medians(np.array([values, values])).tolist() == [median(values)] * 2


@given(LISTS)
def test_the_typical_value_is_the_nearest_to_the_median(values):
    middle, chosen = exact_median(values), values[typical(values)]
    assert abs(chosen - middle) == min(abs(value - middle) for value in values)
    assert chosen <= middle


def test_equal_values_keep_their_order():
    assert (typical([5, 5, 5]), typical([5, 5]), typical([9, 1]), typical([3])) == (1, 0, 1, 0)


@given(LISTS, st.sampled_from((10, 50, 90)))
def test_percentiles_are_interpolated(values, wanted):
    ordered = sorted(values)
    place = Fraction(wanted * (len(values) - 1), 100)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    exact = ordered[low] + (place - low) * (ordered[high] - ordered[low])
    assert percentiles(np.array(values), (wanted,))[0] == pytest.approx(
        float(exact), rel=1e-13, abs=1e-9
    )


def test_floats_without_a_value_do_not_count():
    times = np.array([[1.0, np.nan, np.nan], [4.0, 3.0, np.nan]])
    assert medians(times, axis=0)[:2].tolist() == [2.5, 3.0]
    assert np.isnan(medians(times, axis=0)[2])
    assert np.isnan(medians(np.zeros((2, 0)))).tolist() == [True, True]
    assert np.isnan(median([]))
    of_groups = medians_of_groups(np.array([0, 2, 0]), np.array([1.0, 7.0, 2.0]), 3)
    assert of_groups[[0, 2]].tolist() == [1.5, 7.0]
    assert np.isnan(of_groups[1])


def test_nothing_has_no_exact_median():
    with pytest.raises(ValueError, match="no median"):
        exact_median([])
    with pytest.raises(IndexError):
        typical([])
