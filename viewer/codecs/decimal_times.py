"""Parses decimal times into whole ns and ps exactly, without rounding through float.

A float64 has 53 bits. For microseconds since 1970 its resolution is 0.25 µs, but files store three
decimals. This module parses the digits of many texts at a time instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, numbers_at
from viewer.dataclasses import dataclass

# Beyond this limit, the sum of two times could overflow int64 ns.
TIME_LIMIT = (1 << 62) - 1
# Whole microseconds since 1970 have 16 digits. With as many digits as this for whole ns, any value
# that overflows int64 is beyond the limit.
_DIGITS, _DIGITS_OF_NS = 18, 19
# Powers of ten of a unit in ns: from ps to s.
PICOSECONDS, MICROSECONDS, SECONDS = -3, 3, 9
_POWERS = np.array([10**i for i in range(19)], np.int64)
_ZERO, _NINE, _POINT, _MINUS, _COMMA = b"09.-,"
_LARGEST_EXPONENT = 40


@dataclass(frozen=True, slots=True)
class Times:
    """Times as ns + ps / 1000, with ps from 0 to 999. `usable` is False for invalid times."""

    ns: Ints
    ps: NDArray[np.int16]
    usable: Bools


def times_of(texts: Sequence[bytes | memoryview], exponent: int = MICROSECONDS) -> Times:
    """Parse JSON numbers of a unit of 10**exponent ns, or JSON strings of such numbers.

    The exponent is from `PICOSECONDS` to `SECONDS`. Decimals finer than ps are rounded to ps. An
    empty text, a text that is not a number, and a number beyond `TIME_LIMIT` ns are not usable.
    """
    count = len(texts)
    joined = b",".join(texts) + b","
    letters = np.frombuffer(joined, np.uint8)
    ends = np.flatnonzero(letters == _COMMA)
    if len(ends) != count:  # a comma inside a text: not a number
        return _one_by_one([bytes(text) for text in texts], exponent)
    starts = np.append(0, ends[:-1] + 1)
    points = np.flatnonzero(letters == _POINT)
    of_point = np.searchsorted(ends, points)
    decimals = numbers_at(count, of_point, ends[of_point] - points - 1)
    minus = letters[starts] == _MINUS
    digits = ends - starts - minus
    digits[of_point] -= 1
    # A plain number has only digits, except for a leading minus sign and one decimal point.
    non_digits = np.add.reduceat((letters < _ZERO) | (letters > _NINE), starts)
    has_point = flags_at(count, of_point)
    most = np.where(decimals <= exponent, _DIGITS_OF_NS, _DIGITS)
    plain = (non_digits == 1 + minus + has_point) & (digits > 0) & (digits <= most)
    plain &= digits - decimals <= _DIGITS_OF_NS - max(exponent, 0)
    if not plain.all():
        split = joined.split(b",")[:count]
        plain_digits = b",".join(
            [cell if ok else b"0" for cell, ok in zip(split, plain, strict=True)]
        )
        minus, decimals = minus & plain, decimals * plain
        irregular = np.flatnonzero(~plain)
        rest = _one_by_one([split[i] for i in irregular.tolist()], exponent)
    else:
        plain_digits, irregular, rest = joined[:-1], None, None
    value = np.abs(np.fromstring(plain_digits.translate(None, b"."), np.int64, sep=","))
    if count and len(value) != count:
        return _one_by_one([bytes(text) for text in texts], exponent)
    whole, part = np.divmod(value, _POWERS[decimals])
    ps_decimals = exponent - PICOSECONDS  # decimals down to 1 ps
    step = _POWERS[np.maximum(decimals - ps_decimals, 0)]
    part = (part + step // 2) // step * _POWERS[np.maximum(ps_decimals - decimals, 0)]
    # Magnitude in ns and ps. Negative values are floored, so that ps are never negative.
    if exponent >= 0:
        ns, ps = whole * 10**exponent + part // 1000, part % 1000
    else:
        ns, ps = np.divmod(whole * 10**ps_decimals + part, 1000)
    ns = np.where(minus, -ns - (ps > 0), ns)
    ps = np.where(minus, -ps % 1000, ps).astype(np.int16)
    plain &= np.abs(ns) <= TIME_LIMIT
    if rest is not None:
        ns[irregular], ps[irregular], plain[irregular] = rest.ns, rest.ps, rest.usable
    return Times(ns, ps, plain)


def _one_by_one(cells: Sequence[bytes], unit: int) -> Times:
    pairs = [_one(cell, unit) for cell in cells]
    return Times(
        np.array([0 if pair is None else pair[0] for pair in pairs], np.int64),
        np.array([0 if pair is None else pair[1] for pair in pairs], np.int16),
        np.array([pair is not None for pair in pairs], np.bool_),
    )


def _one(cell: bytes, unit: int) -> tuple[int, int] | None:
    """Parse one text as (ns, ps): exponents, many digits or a quoted string. None if unusable."""
    if not cell:
        return None
    try:
        value = Decimal(cell.strip(b'" \t').decode("ascii"))
    except (InvalidOperation, ValueError):
        return None
    if not value.is_finite() or (value and abs(value.adjusted()) > _LARGEST_EXPONENT):
        return None
    scaled = value.as_tuple()
    number = int("".join(map(str, scaled.digits)))
    exponent = int(scaled.exponent) + unit - PICOSECONDS
    if exponent >= 0:
        ps = number * 10**exponent
    else:
        step = 10 ** min(-exponent, 10_000)
        ps = (number + step // 2) // step
    pair = divmod(-ps if scaled.sign else ps, 1000)
    return pair if abs(pair[0]) <= TIME_LIMIT else None
