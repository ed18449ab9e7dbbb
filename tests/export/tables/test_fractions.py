"""Parts of a ns: whole part and fraction together are the exact time."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.export.tables.fractions import (
    dur_fractions,
    fraction_text,
    has_fractions,
    start_fractions,
)
from viewer.model.times import ticks_to_ns

RATES = (Fraction(5, 4), Fraction(1, 1000), Fraction(625, 12), Fraction(1, 2**31 - 1))
TICKS = st.integers(-(2**61), 2**61)


@given(first=TICKS, second=TICKS, rate=st.sampled_from(RATES))
def test_both_parts_are_the_exact_time(first, second, rate):
    start, end = np.array([min(first, second)]), np.array([max(first, second)])
    ns = [int(ticks_to_ns(t, rate)[0]) for t in (start, end)]
    if abs(int(start[0]) * rate) > 2**61 or abs(int(end[0]) * rate) > 2**61:
        return
    of_start = Fraction(start_fractions(start, rate, None).value(0))
    of_dur = Fraction(dur_fractions(start, end, rate, None).value(0))
    assert ns[0] + of_start == int(start[0]) * rate
    assert ns[1] - ns[0] + of_dur == (int(end[0]) - int(start[0])) * rate
    assert 0 <= of_start < 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"), (Fraction(1, 4), "0.25"), (Fraction(-1, 1000), "-0.001"),
        (Fraction(1, 12), "1/12"), (Fraction(-3, 4), "-0.75"), (Fraction(7, 10), "0.7"),
        (Fraction(3, 2), "1.5"), (Fraction(1, 640), "0.0015625"),
    ],
)  # fmt: skip
def test_texts_are_exact(value, text):
    assert fraction_text(value) == text


def test_ticks_of_whole_ns_have_none():
    assert not has_fractions(Fraction(1000))
    assert has_fractions(Fraction(5, 4))
    assert not has_fractions(Fraction(1, 2**40))
