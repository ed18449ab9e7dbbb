"""Texts of the values of a counter."""

from fractions import Fraction

import numpy as np

from viewer.model.counter import stated_counter


def test_a_count_of_parts_keeps_its_decimals():
    counter = stated_counter("p", "load", np.array([0]), np.array([0.25]))
    assert [counter.text(v, Fraction(1)) for v in (0.25, 2.0, 12_345)] == [
        "0.25", "2", "12\u2009345"
    ]  # fmt: skip
