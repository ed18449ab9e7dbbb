"""Where the ruler has its lines and what stands beside them: whole nanoseconds, one unit.

Steps are 1, 2 or 5 times a power of ten; the unit follows the visible range, the count of labels
follows their width. Times are counted from an origin, normally the start of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.model.times import format_in, nice_step, unit_for
from viewer.model.trace import Ints

_FARTHEST = 1 << 63  # beyond it a line has no int64
_LABEL_GAP = 20
_DIGIT_WIDTH = 7
_MINOR_GAP = 6
_MINOR_PARTS = {1: 5, 2: 4, 5: 5}


@dataclass(frozen=True, slots=True)
class Ruler:
    """Lines of the ruler in ns of the shared axis: `major` has labels, `minor` is between them."""

    unit: str
    major: Ints
    labels: tuple[str, ...]
    minor: Ints


def ruler(t0: int, t1: int, width: int, origin: int = 0, min_gap: int = 60) -> Ruler:
    """Lines for [t0, t1] ns on `width` pixels, at least `min_gap` pixels from label to label.

    Labels count from `origin` in one unit. An empty range has no lines.
    """
    span = t1 - t0
    if span <= 0 or width <= 0:
        none = np.empty(0, np.int64)
        return Ruler("ns", none, (), none)
    unit, factor = unit_for(span)
    gap = min_gap
    while True:
        step, digit = nice_step(-(-span * gap // width))
        decimals = _decimals(step, factor)
        first, last = -(-(t0 - origin) // step), (t1 - origin) // step
        ends = (_label(n * step, factor, decimals) for n in (first, last))
        needed = max(map(len, ends)) * _DIGIT_WIDTH + _LABEL_GAP
        if needed <= gap:
            break
        gap = needed
    steps = [n for n in range(first, last + 1) if abs(origin + n * step) < _FARTHEST]
    labels = tuple(_label(n * step, factor, decimals) for n in steps)
    major = np.array([origin + n * step for n in steps], np.int64)
    return Ruler(unit, major, labels, _minor(t0, t1, width, origin, step, digit))


def _decimals(step: int, factor: int) -> int:
    """How many decimals of the unit a multiple of the step needs."""
    decimals = 0
    while factor > 1 and step % factor:
        factor //= 10
        decimals += 1
    return decimals


def _label(ns: int, factor: int, decimals: int) -> str:
    """A multiple of the step in the unit, exact: the decimals apart, as a float has 53 bits."""
    if ns == 0:
        return "0"
    whole, rest = divmod(abs(ns), factor)
    sign = format_in(-1, 1)[0] if ns < 0 else ""
    text = sign + format_in(whole, 1)
    return f"{text}.{rest * 10**decimals // factor:0{decimals}d}" if decimals else text


def _minor(t0: int, t1: int, width: int, origin: int, step: int, digit: int) -> Ints:
    parts = next(
        (
            n
            for n in (_MINOR_PARTS[digit], 2)
            if step % n == 0 and step * width >= n * _MINOR_GAP * (t1 - t0)
        ),
        1,
    )
    part = step // parts
    between = range(-(-(t0 - origin) // part), (t1 - origin) // part + 1)
    lines = (origin + n * part for n in between if n % parts)
    return np.array([line for line in lines if abs(line) < _FARTHEST], np.int64)
