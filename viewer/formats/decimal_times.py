"""Decimal texts of µs as whole ns and ps, exactly: no rounding through float.

A float64 has 53 bits: of µs since 1970 it cannot tell 0.25 µs apart, and files hold those with
three decimals. So the digits are read as they stand, many texts at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from viewer.model.trace import Bools, Ints

# Beyond it a sum of two times would leave int64 ns.
TIME_LIMIT = (1 << 62) - 1
_WIDEST = 24
_DIGITS = 18
_WHOLE_DIGITS = 15
_POWERS = np.array([10**i for i in range(19)], np.int64)
_ZERO, _NINE, _POINT, _MINUS = b"09.-"
_LARGEST_EXPONENT = 40


@dataclass(frozen=True, slots=True)
class Times:
    """Times as ns + ps / 1000, with ps from 0 to 999; `usable` is False where there is none."""

    ns: Ints
    ps: NDArray[np.int16]
    usable: Bools


def times_of(texts: Sequence[bytes | memoryview]) -> Times:
    """JSON numbers of µs, or JSON strings of such. Finer decimals than ps are rounded to ps.

    An empty text, one that is no number, and one beyond `TIME_LIMIT` ns is not usable.
    """
    count = len(texts)
    joined = b"\n".join(texts)
    cells = joined.split(b"\n")
    if len(cells) != count:  # a line break inside a text: it is no number
        cells = [bytes(text).replace(b"\n", b"?") for text in texts]
    ns, ps = np.zeros(count, np.int64), np.zeros(count, np.int16)
    usable = np.zeros(count, np.bool_)
    if not count:
        return Times(ns, ps, usable)
    table = np.array(cells, f"S{_WIDEST}")
    width = max(1, min(_WIDEST, max(map(len, cells))))
    letters = table.view(np.uint8).reshape(count, _WIDEST)[:, :width].T.copy()
    value, digits, decimals = (np.zeros(count, np.int64) for _ in range(3))
    plain = letters[-1] == 0 if width == _WIDEST else np.ones(count, np.bool_)
    negative = letters[0] == _MINUS
    point = np.zeros(count, np.bool_)
    for place, letter in enumerate(letters):
        digit = (letter >= _ZERO) & (letter <= _NINE) & (digits < _DIGITS)
        is_point = (letter == _POINT) & ~point
        known = digit | is_point | (letter == 0)
        plain &= known | negative if place == 0 else known
        np.multiply(value, 10, out=value, where=digit)
        np.add(value, letter - np.uint8(_ZERO), out=value, where=digit)
        digits += digit
        decimals += digit & point
        point |= is_point
    plain &= (digits > 0) & (digits - decimals <= _WHOLE_DIGITS)
    scale = _POWERS[decimals]
    whole, rest = np.divmod(value, scale)
    coarser = np.maximum(decimals - 6, 0)
    step = _POWERS[coarser]
    fraction = (rest + step // 2) // step * _POWERS[np.maximum(6 - decimals, 0)]
    # Magnitude in ns and ps; below zero the floor, so that ps are never negative.
    size, sub = whole * 1000 + fraction // 1000, fraction % 1000
    ns[:] = np.where(negative, -size - (sub > 0), size)
    ps[:] = np.where(negative, -sub % 1000, sub)
    usable[:] = plain
    ns[~plain], ps[~plain] = 0, 0
    for i in np.flatnonzero(~plain).tolist():
        found = _one(cells[i])
        if found is not None:
            ns[i], ps[i] = found
            usable[i] = True
    return Times(ns, ps, usable)


def _one(cell: bytes) -> tuple[int, int] | None:
    """ns and ps of one text in another spelling: an exponent, many digits, or inside a string."""
    try:
        value = Decimal(cell.strip(b'" \t').decode("ascii"))
    except (InvalidOperation, ValueError):
        return None
    if not value.is_finite() or (value and abs(value.adjusted()) > _LARGEST_EXPONENT):
        return None
    scaled = value.as_tuple()
    number = int("".join(map(str, scaled.digits)))
    exponent = int(scaled.exponent) + 6
    if exponent >= 0:
        ps = number * 10**exponent
    else:
        step = 10 ** min(-exponent, 10_000)
        ps = (number + step // 2) // step
    found = divmod(-ps if scaled.sign else ps, 1000)
    return found if abs(found[0]) <= TIME_LIMIT else None
