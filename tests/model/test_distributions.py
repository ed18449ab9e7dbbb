"""Statistics per group: the same numbers that numpy gives for each group alone."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.distributions import grouped

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
