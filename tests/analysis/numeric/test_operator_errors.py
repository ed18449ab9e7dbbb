"""Errors of operators on a scale of powers of ten."""

import math

import pytest

from viewer.analysis.numeric.operator_errors import (
    EDGES,
    NOT_COMPARED,
    STEP_TITLES,
    OperatorErrors,
)


@pytest.mark.parametrize(
    ("error", "step"),
    [(0.0, 0), (9e-7, 0), (1e-6, 1), (5e-4, 3), (0.02, 5), (0.1, 6), (40.0, 6), (math.inf, 6)],
)
def test_a_step_is_a_power_of_ten(error, step):
    assert OperatorErrors({3: error}).step((3,)) == step


def test_of_several_operators_the_largest_counts():
    errors = OperatorErrors({0: 1e-8, 2: 1e-3})
    assert errors.largest((0, 1, 2)) == 1e-3
    assert errors.largest((1,)) is None
    assert errors.step((1,)) == NOT_COMPARED
    assert errors.steps(4).tolist() == [0, NOT_COMPARED, 4, NOT_COMPARED]


def test_every_step_has_a_title_and_every_set_a_version():
    assert len(STEP_TITLES) == len(EDGES) + 1
    assert OperatorErrors({}).version != OperatorErrors({}).version
