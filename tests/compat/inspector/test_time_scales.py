"""Time scales as exact ratios."""

from fractions import Fraction

import pytest

from viewer.compat.inspector.answers import PER_SECOND, is_mixed, ratio


def test_ratios_are_exact():
    assert ratio("ns", "ms") == Fraction(1, 10**6)
    assert ratio("s", "us") == 10**6
    assert ratio("cycles", "cycles") == 1


@pytest.mark.parametrize("scale", [s for s in PER_SECOND if s != "cycles"])
def test_cycles_are_no_time(scale):
    assert is_mixed("cycles", scale)
    assert is_mixed(scale, "cycles")
    assert not is_mixed(scale, "ms")
