"""Many thin lines as pixels: the cost follows the pixels that they have, not their number."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Floats


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
    change = np.zeros((lines + 1, columns), np.int16)
    np.add.at(change, (low[upright, 1], low[upright, 0]), 1)
    np.add.at(change, (high[upright, 1] + 1, low[upright, 0]), -1)
    found |= np.cumsum(change, axis=0, dtype=np.int16, out=change)[:-1] != 0
    flat &= ~upright
    change = np.zeros((lines, columns + 1), np.int16)
    np.add.at(change, (low[flat, 1], low[flat, 0]), 1)
    np.add.at(change, (low[flat, 1], high[flat, 0] + 1), -1)
    found |= np.cumsum(change, axis=1, dtype=np.int16, out=change)[:, :-1] != 0
    steep = ~upright & ~flat
    way = other[steep] - one[steep]
    steps = np.abs(way).max(axis=1, initial=0)
    of = np.repeat(np.arange(len(steps)), steps + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    at = one[steep][of] + np.rint(way[of] * (number / steps[of])[:, None]).astype(np.int64)
    found[at[:, 1], at[:, 0]] = True
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
