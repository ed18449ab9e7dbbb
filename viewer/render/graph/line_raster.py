"""Many thin lines as pixels: the cost follows the pixels that they have, not their number."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Floats, Ints


def line_pixels(start: Floats, end: Floats, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are on any of n lines of 1 px.

    start, end (n, 2): x and y in pixels, inside the canvas or not.
    """
    mask = np.zeros((lines, columns), np.bool_)
    if not columns or not lines or not len(start):
        return mask
    start, end = _clipped(start, end, columns, lines)
    cell = np.clip(np.floor(start).astype(np.int64), 0, [columns - 1, lines - 1])
    other = np.clip(np.floor(end).astype(np.int64), 0, [columns - 1, lines - 1])
    upright, flat = cell[:, 0] == other[:, 0], cell[:, 1] == other[:, 1]
    low, high = np.minimum(cell, other), np.maximum(cell, other)
    mask |= _runs(low[upright, 0], low[upright, 1], high[upright, 1], columns, lines)
    flat &= ~upright
    mask |= _runs(low[flat, 1], low[flat, 0], high[flat, 0], lines, columns).T
    steep = ~upright & ~flat
    way = other[steep] - cell[steep]
    steps = np.abs(way).max(axis=1, initial=0)
    of = np.repeat(np.arange(len(steps)), steps + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    cells = cell[steep][of] + np.rint(way[of] * (number / steps[of])[:, None]).astype(np.int64)
    mask[cells[:, 1], cells[:, 0]] = True
    return mask


def _runs(column: Ints, low: Ints, high: Ints, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are in runs from `low` to `high` in columns `column`."""
    change = np.zeros((lines + 1, columns), np.int16)
    cells = change.reshape(-1)  # with one index, `add.at` is five times as fast as with two
    np.add.at(cells, low * columns + column, np.int16(1))
    np.add.at(cells, (high + 1) * columns + column, np.int16(-1))
    for line in range(1, lines):  # whole lines: three times as fast as `cumsum`
        change[line] += change[line - 1]
    mask: Bools = change[:-1] != 0
    return mask


def _clipped(start: Floats, end: Floats, columns: int, lines: int) -> tuple[Floats, Floats]:
    """Return the parts of lines that are on the canvas (Liang-Barsky)."""
    way = end - start
    first, last = np.zeros(len(start)), np.ones(len(start))
    is_seen = np.ones(len(start), np.bool_)
    for axis, size in ((0, columns), (1, lines)):
        along, across = way[:, axis], start[:, axis]
        still = along == 0
        is_seen &= ~still | ((across >= 0) & (across < size))
        step = np.where(still, 1.0, along)
        entry, other = -across / step, (size - 1e-6 - across) / step
        low, high = np.minimum(entry, other), np.maximum(entry, other)
        first = np.where(still, first, np.maximum(first, low))
        last = np.where(still, last, np.minimum(last, high))
    is_seen &= first <= last
    start, way, first, last = start[is_seen], way[is_seen], first[is_seen], last[is_seen]
    return start + way * first[:, None], start + way * last[:, None]
