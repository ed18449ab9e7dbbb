"""The test over sessions: recorded ones without any change, and the same with one put in."""

import csv
import random
from dataclasses import fields, replace
from functools import cache
from math import lgamma, log
from statistics import NormalDist

import numpy as np
import pytest

from tests.paths import DATA
from viewer.analysis.comparison.session_test import (
    THRESHOLD,
    _corrected,
    _digamma,
    _inverse_trigamma,
    _trigamma,
    as_one_family,
    compared,
    two_sided,
    two_sided_quantile,
)

# An alarm in so many of 40 comparisons is what a true share of 5 % shows in 95 % of cases.
MOST_OF_40 = 4
SESSIONS = 14


@cache
def recorded(model):
    """The session medians of a model, and which rows are above the clock in all sessions."""
    with open(DATA / "compare/sessions.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == model]
    times = np.array([[float(row[f"s{i + 1}_ns"]) for row in rows] for i in range(SESSIONS)])
    return times, times.min(axis=0) > 2_000


def splits(count, sessions):
    for seed in range(count):
        picked = random.Random(seed).sample(range(SESSIONS), 2 * sessions)
        yield seed, picked[:sessions], picked[sessions:]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["portable", "xnn"])
@pytest.mark.parametrize("sessions", [3, 7])
def test_unchanged_programs_raise_an_alarm_in_at_most_4_of_40_comparisons(model, sessions):
    times, above = recorded(model)
    alarms = sum(
        bool(compared(times[a], times[b], above).is_changed.any())
        for _, a, b in splits(40, sessions)
    )
    assert alarms <= MOST_OF_40


@pytest.mark.slow
@pytest.mark.parametrize(("model", "share"), [("portable", 0.9), ("xnn", 0.8)])
def test_one_operator_at_30_percent_more_is_found_by_7_and_7_sessions(model, share):
    times, above = recorded(model)
    found = []
    for seed, a, b in splits(60, 7):
        row = random.Random(seed).choice(np.flatnonzero(above).tolist())
        slower = times[b].copy()
        slower[:, row] *= 1.3
        changes = compared(times[a], slower, above)
        found.append(changes.is_changed[row] and changes.log_ratio[row] > 0)
    assert np.mean(found) >= share


@pytest.mark.slow
@pytest.mark.parametrize("model", ["portable", "xnn"])
def test_a_change_of_the_detectable_size_is_found_in_80_percent_and_its_interval_is_true(model):
    times, above = recorded(model)
    found, covered = [], []
    for seed, a, b in splits(60, 7):
        row = random.Random(seed).choice(np.flatnonzero(above).tolist())
        size = compared(times[a], times[b], above).detectable[row]
        slower = times[b].copy()
        slower[:, row] *= 1 + size
        changes = compared(times[a], slower, above)
        found.append(changes.is_changed[row])
        covered.append(changes.low[row] <= log(1 + size) <= changes.high[row])
    assert np.mean(found) >= 0.8
    assert np.mean(covered) >= 0.87


def test_swapped_arms_only_change_the_sign():
    times, above = recorded("xnn")
    there, back = compared(times[:7], times[7:], above), compared(times[7:], times[:7], above)
    np.testing.assert_allclose(there.log_ratio, -back.log_ratio)
    np.testing.assert_allclose(there.low, -back.high)
    np.testing.assert_allclose(there.q, back.q)


def test_an_arm_with_itself_has_not_changed():
    times, above = recorded("portable")
    changes = compared(times[:7], times[:7], above)
    assert not changes.is_changed.any()
    assert (changes.p[above] == 1).all()


def test_a_drift_of_5_percent_is_no_change_of_one_row():
    """All rows together: what is below the threshold is never reported."""
    times, above = recorded("portable")
    assert not compared(times[:7], times[:7] * 1.049, above).is_changed.any()


@pytest.mark.parametrize("sessions", [1, 2])
def test_fewer_than_3_sessions_test_nothing(sessions):
    times, above = recorded("portable")
    changes = compared(times[:sessions], 3 * times[7 : 7 + sessions], above)
    assert not changes.is_tested.any()
    assert np.isfinite(changes.log_ratio).all()
    assert np.isfinite(changes.low).all() == (sessions == 2)


def test_missing_and_zero_medians_are_no_times():
    a = np.array([[10.0, 0, np.nan], [11.0, 0, np.nan], [12.0, 0, np.nan]])
    changes = compared(a, a + 1, np.ones(3, np.bool_))
    assert np.isfinite(changes.log_ratio).tolist() == [True, False, False]
    assert changes.is_tested.tolist() == [True, False, False]


@pytest.mark.slow
def test_one_thousand_unchanged_rows_raise_few_alarms():
    alarms = 0
    for seed in range(40):
        random_numbers = np.random.default_rng(seed)
        times = 1e6 * np.exp(0.05 * random_numbers.standard_normal((8, 1000)))
        alarms += bool(compared(times[:4], times[4:], np.ones(1000, np.bool_)).is_changed.any())
    assert alarms <= MOST_OF_40


def test_rows_without_any_spread_prove_nothing():
    a = np.full((3, 2), 1000.0)
    changes = compared(a, a * [1, 2], np.ones(2, np.bool_))
    assert not changes.is_changed.any()
    assert changes.is_unchanged.tolist() == [True, False]


def test_the_threshold_is_the_same_both_ways():
    noise = 1 + 1e-8 * np.arange(3)[:, None]
    a = np.full((3, 2), 1000.0) * noise
    beyond = 1 + THRESHOLD + 1e-6
    changes = compared(a, a * [beyond, 1 / beyond], np.ones(2, np.bool_))
    assert changes.is_changed.all()


def test_q_values_of_benjamini_and_hochberg():
    """Their own example (1995): 15 p-values, of which four are significant at 0.05."""
    p = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
                  0.4262, 0.5719, 0.6528, 0.7590, 1.0])  # fmt: skip
    assert (_corrected(p) < 0.05).sum() == 4
    with_gaps = _corrected(np.array([0.01, np.nan, 0.04]))
    np.testing.assert_allclose(with_gaps, [0.02, np.nan, 0.04])


def test_several_comparisons_are_corrected_as_one_family():
    random_numbers = np.random.default_rng(3)
    times = 1e6 * np.exp(0.05 * random_numbers.standard_normal((8, 40)))
    times[4:, 7] *= 1.5
    tested = np.ones(40, np.bool_)
    whole = compared(times[:4], times[4:], tested)
    names = [field.name for field in fields(whole)]
    parts = [
        replace(whole, **{name: getattr(whole, name)[own] for name in names})
        for own in (slice(0, 15), slice(15, 40))
    ]
    together = as_one_family(parts)
    for name in names:
        joined = np.concatenate([getattr(one, name) for one in together])
        np.testing.assert_allclose(joined, getattr(whole, name))
    assert as_one_family([]) == []


def test_more_tests_need_a_larger_change():
    times, above = recorded("portable")
    few = compared(times[:7], times[7:14], above)
    many, *_ = as_one_family([few] * 25)
    tested = few.is_tested
    assert (few.detectable[tested] <= many.detectable[tested]).all()
    # The others would have to exceed the threshold anyway.
    assert (few.detectable[tested] < many.detectable[tested]).mean() > 0.8
    np.testing.assert_array_equal(few.p, many.p)


@pytest.mark.parametrize("x", [0.5, 1.0, 2.5, 30.0])
def test_digamma_and_trigamma_are_derivatives_of_log_gamma(x):
    step = 1e-4
    slope = (lgamma(x + step) - lgamma(x - step)) / (2 * step)
    bend = (lgamma(x + step) - 2 * lgamma(x) + lgamma(x - step)) / step**2
    at = np.array([x])
    assert _digamma(at)[0] == pytest.approx(slope, rel=1e-6, abs=1e-7)
    assert _trigamma(at)[0] == pytest.approx(bend, rel=1e-4)
    assert _inverse_trigamma(float(_trigamma(at)[0])) == pytest.approx(x)


# Two-sided 5 % and 1 % points of any printed table (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
TABLE = [
    (1, 12.706, 63.657), (2, 4.303, 9.925), (4, 2.776, 4.604), (12, 2.179, 3.055),
    (30, 2.042, 2.750), (100, 1.984, 2.626),
]  # fmt: skip


@pytest.mark.parametrize(("degrees", "five", "one"), TABLE)
def test_quantiles_are_those_of_the_table(degrees, five, one):
    found = two_sided_quantile(np.array([0.05, 0.01]), np.full(2, float(degrees)))
    assert found == pytest.approx([five, one], abs=6e-4)


def test_one_degree_is_the_cauchy_distribution():
    t = np.array([0.0, 0.1, 1.0, 10.0, 1e4])
    assert two_sided(t, np.ones(5)) == pytest.approx(1 - 2 / np.pi * np.arctan(t), rel=1e-9)


@pytest.mark.parametrize("degrees", [1e6, np.inf])
def test_many_degrees_are_the_normal_distribution(degrees):
    t = np.array([0.0, 0.5, 1.96, 4.0])
    wanted = [2 - 2 * NormalDist().cdf(one) for one in t]
    assert two_sided(t, np.full(4, degrees)) == pytest.approx(wanted, rel=1e-2)


def test_a_quantile_has_its_probability_at_any_degrees():
    p = np.array([1e-6, 0.001, 0.2, 0.5, 0.99])
    for degrees in (1.5, 3.7, 25.0, 1e5):
        found = two_sided_quantile(p, np.full(5, degrees))
        assert two_sided(found, np.full(5, degrees)) == pytest.approx(p, rel=1e-5)


def test_a_value_beyond_all_measure_is_impossible_and_zero_is_certain():
    assert two_sided(np.array([0.0, 1e200]), np.array([4.0, 4.0])).tolist() == [1.0, 0.0]
