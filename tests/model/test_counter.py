"""Values of counters: their texts, and which samples stay."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.trace_attributes import changes, stated_changes, stated_counter

_SAMPLES = st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 2)), max_size=8)


def test_a_count_of_parts_keeps_its_decimals():
    counter = stated_counter("p", "load", np.array([0]), np.array([0.25]))
    assert [counter.text(v, Fraction(1)) for v in (0.25, 2.0, 12_345)] == [
        "0.25", "2", "12\u2009345"
    ]  # fmt: skip


@given(_SAMPLES)
def test_the_first_sample_stays_and_later_ones_where_the_value_changes(samples):
    samples = sorted(samples, key=lambda sample: sample[0])
    times, values = (np.array([s[i] for s in samples], np.int64) for i in (0, 1))
    last = dict(samples)  # the last value of each time
    expected = []
    for time, value in last.items():
        if not expected or expected[-1][1] != value:
            expected.append((time, value))
    stated = list(zip(*(part.tolist() for part in stated_changes(times, values)), strict=True))
    assert stated == expected
    computed = list(zip(*(part.tolist() for part in changes(times, values)), strict=True))
    assert computed == (expected[1:] if expected and expected[0][1] == 0 else expected)
