"""The t distribution, compared with tables of it and with the normal distribution."""

from statistics import NormalDist

import numpy as np
import pytest

from viewer.analysis.comparison.student_t import two_sided, two_sided_quantile

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
