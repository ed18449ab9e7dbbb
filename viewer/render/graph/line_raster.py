"""Many thin lines as pixels: the cost follows the pixels that they have, not their number."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Floats, Ints


def line_pixels(start: Floats, end: Floats, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are on any of n lines of 1 px.

    start, end (n, 2): x and y in pixels, inside the canvas or not.
    """
    found = np.zeros((lines, columns), np.bool_)
    if not columns or not lines or not len(start):
        return found
    start, end = _clipped(start, end, columns, lines)
    one = np.clip(np.floor(start).astype(np.int64), 0, [columns - 1, lines - 1])
    other = np.clip(np.floor(end).astype(np.int64), 0, [columns - 1, lines - 1])
    upright, flat = one[:, 0] == other[:, 0], one[:, 1] == other[:, 1]
    low, high = np.minimum(one, other), np.maximum(one, other)
    found |= _runs(low[upright, 0], low[upright, 1], high[upright, 1], columns, lines)
    flat &= ~upright
    found |= _runs(low[flat, 1], low[flat, 0], high[flat, 0], lines, columns).T
    steep = ~upright & ~flat
    way = other[steep] - one[steep]
    steps = np.abs(way).max(axis=1, initial=0)
    of = np.repeat(np.arange(len(steps)), steps + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    at = one[steep][of] + np.rint(way[of] * (number / steps[of])[:, None]).astype(np.int64)
    found[at[:, 1], at[:, 0]] = True
    return found


def _runs(at: Ints, low: Ints, high: Ints, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are in runs from `low` to `high` in columns `at`."""
    change = np.zeros((lines + 1, columns), np.int16)
    cells = change.reshape(-1)  # with one index, `add.at` is five times as fast as with two
    np.add.at(cells, low * columns + at, np.int16(1))
    np.add.at(cells, (high + 1) * columns + at, np.int16(-1))
    for line in range(1, lines):  # whole lines: three times as fast as `cumsum`
        change[line] += change[line - 1]
    found: Bools = change[:-1] != 0
    return found


def _clipped(start: Floats, end: Floats, columns: int, lines: int) -> tuple[Floats, Floats]:
    """Return the parts of lines that are on the canvas (Liang-Barsky)."""
    way = end - start
    first, last = np.zeros(len(start)), np.ones(len(start))
    is_seen = np.ones(len(start), np.bool_)
    for axis, size in ((0, columns), (1, lines)):
        along, at = way[:, axis], start[:, axis]
        still = along == 0
        is_seen &= ~still | ((at >= 0) & (at < size))
        step = np.where(still, 1.0, along)
        one, other = -at / step, (size - 1e-6 - at) / step
        low, high = np.minimum(one, other), np.maximum(one, other)
        first = np.where(still, first, np.maximum(first, low))
        last = np.where(still, last, np.minimum(last, high))
    is_seen &= first <= last
    start, way, first, last = start[is_seen], way[is_seen], first[is_seen], last[is_seen]
    return start + way * first[:, None], start + way * last[:, None]
