"""Decimal texts as times: equal to exact fractions, rounded to ps."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs.decimal_times import TIME_LIMIT, times_of

PLAIN = st.from_regex(r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,9})?", fullmatch=True)
ODD = st.sampled_from(
    ["", "null", "NaN", "1e3", "-2.5E-2", '"12.5"', "1.2.3", "--1", "1-2", "-", ".", "1,2", "x",
     "9" * 40, "1e999999999", "-1e-999999999", "0.0000005", "4611686018427387.9", "[1]"]
)  # fmt: skip


def exact(text: str) -> Fraction | None:
    """µs of a text, None where it is no number of a usable size."""
    text = text.strip('"')
    if "e999" in text:
        return None
    if "e-999" in text:
        return None
    try:
        return Fraction(text) if text[-1:] != "." else None
    except ValueError:
        return None


@pytest.mark.slow
@given(st.lists(PLAIN | ODD, max_size=12))
def test_times_are_exact_to_half_a_picosecond(texts):
    times = times_of([text.encode() for text in texts])
    for i, text in enumerate(texts):
        us = exact(text)
        assert times.usable[i] == (us is not None and abs(us * 1000) <= TIME_LIMIT), text
        if times.usable[i]:
            ps = int(times.ns[i]) * 1000 + int(times.ps[i])
            assert abs(ps - us * 10**6) <= Fraction(1, 2)
            assert 0 <= times.ps[i] < 1000
