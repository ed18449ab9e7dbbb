"""Medians and percentiles against those of the standard library, exactly."""

import statistics
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.quantiles import (
    exact_median,
    grouped,
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


WHOLE = st.integers(0, 1 << 53)
MILLISECONDS = st.floats(0, 1e9, allow_nan=False)


def test_ten_runs_of_one_event_and_one_of_another():
    values = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90, 7, 100], np.int64)
    found = grouped(values, np.array([1] * 9 + [0, 1]), 3)
    assert found.count.tolist() == [1, 10, 0]
    assert found.p10.tolist() == [7, 19, 0]
    assert found.p50.tolist() == [7, 55, 0]
    assert found.p90.tolist() == [7, 91, 0]
    assert found.avg.tolist() == [7, 55, 0]
    assert found.min.tolist() == [7, 10, 0]
    assert found.max.tolist() == [7, 100, 0]
    assert found.total.tolist() == [7, 550, 0]
    assert found.total.dtype == np.int64


@pytest.mark.slow
@pytest.mark.parametrize("kind", [WHOLE, MILLISECONDS])
@given(data=st.data())
def test_every_number_is_numpys_of_the_group_alone(data, kind):
    """To the last bit, since the official Inspector writes all rows."""
    groups = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=60))
    values = data.draw(st.lists(kind, min_size=len(groups), max_size=len(groups)))
    found = grouped(np.array(values), np.array(groups), 4)
    for group in range(4):
        own = [v for v, g in zip(values, groups, strict=True) if g == group]
        if not own:
            assert found.count[group] == 0
            continue
        expected = [np.percentile(own, q) for q in (10, 50, 90)]
        assert [found.p10[group], found.p50[group], found.p90[group]] == expected
        assert found.avg[group] == np.mean(own)
        assert (found.min[group], found.max[group]) == (min(own), max(own))
        assert found.count[group] == len(own)


@pytest.mark.parametrize("length", [7, 8, 9, 127, 128, 129, 1000, 5000])
def test_averages_of_long_groups_are_numpys_too(length):
    """Summed pairwise in blocks of 128; any other order would differ in the last digits."""
    values = np.random.default_rng(1).random((6, length))
    found = grouped(values.T.ravel(), np.tile(np.arange(6), length), 6)
    assert found.avg.tolist() == [np.mean(list(row)) for row in values]
    assert found.p90.tolist() == [np.percentile(list(row), 90) for row in values]


def test_sums_beyond_int64_do_not_wrap():
    found = grouped(np.full(4, (1 << 62) - 1), np.zeros(4, np.int64), 1)
    assert found.total[0] == pytest.approx(2.0**64)
    assert found.avg[0] == pytest.approx(2.0**62)


def test_nothing_at_all():
    found = grouped(np.empty(0, np.int64), np.empty(0, np.int64), 0)
    assert len(found.count) == len(found.p10) == len(found.total) == 0


@pytest.mark.parametrize(("groups", "each"), [(200_000, 1), (480, 450), (1, 200_000)])
def test_many_groups_and_long_groups_take_no_time_of_note(groups, each):
    values = np.arange(groups * each)
    begin = time.process_time()
    grouped(values, np.repeat(np.arange(groups), each), groups)
    assert time.process_time() - begin < 2  # 10 to 20 ms; one call of numpy per group takes 20 s
