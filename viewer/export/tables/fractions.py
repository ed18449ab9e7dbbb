"""The parts of times below 1 ns, for files with ticks that are no whole ns.

`start_ns` and `dur_ns` are whole: 1 cycle at 800 MHz is 1.25 ns, and ticks of a Chrome trace can be
1 ps. The columns `start_ns_fraction` and `dur_ns_fraction` have what is missing, as exact texts:
"0.25", or "1/12" if it is no finite decimal. A duration's fraction can be negative, since
`dur_ns` is the difference of two rounded times.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.trace import Column

START_FRACTION, DUR_FRACTION = "start_ns_fraction", "dur_ns_fraction"
# Products of two remainders fit int64.
_MOST = 1 << 31


def has_fractions(ns_per_tick: Fraction) -> bool:
    """Whether times in ns can have a fraction that this module can state."""
    return 1 < ns_per_tick.denominator < _MOST


def start_fractions(start: Ints, ns_per_tick: Fraction, valid: Bools | None) -> Column:
    """What each start has beyond its `start_ns`: from 0 to less than 1 ns."""
    return _texts(_rest(start, ns_per_tick), ns_per_tick.denominator, valid)


def dur_fractions(start: Ints, end: Ints, ns_per_tick: Fraction, valid: Bools | None) -> Column:
    """What each duration differs from its `dur_ns`: more than -1 and less than 1 ns."""
    rest = _rest(end, ns_per_tick) - _rest(start, ns_per_tick)
    return _texts(rest, ns_per_tick.denominator, valid)


def _rest(ticks: Ints, ns_per_tick: Fraction) -> Ints:
    """The remainder of ticks in ns, in units of 1 / denominator."""
    n, d = ns_per_tick.numerator, ns_per_tick.denominator
    found: Ints = (ticks % d) * (n % d) % d
    return found


def _texts(rest: Ints, denominator: int, valid: Bools | None) -> Column:
    distinct, codes = np.unique(rest, return_inverse=True)
    strings = tuple(fraction_text(Fraction(value, denominator)) for value in distinct.tolist())
    return Column(codes.astype(np.uint32), valid, strings)


def fraction_text(value: Fraction) -> str:
    """An exact text: "0", "0.25", "-0.001", or "1/12" if no decimal is exact."""
    digits, power = 0, value.denominator
    while power % 10 == 0:
        digits, power = digits + 1, power // 10
    for prime in (2, 5):
        while power % prime == 0:
            digits, power = digits + 1, power // prime
    if power != 1:
        return str(value)
    text = f"{abs(value.numerator) * 10**digits // value.denominator:0{digits + 1}d}"
    whole, part = (text[:-digits], text[-digits:]) if digits else (text, "")
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{part.rstrip('0')}" if part.strip("0") else f"{sign}{whole}"
