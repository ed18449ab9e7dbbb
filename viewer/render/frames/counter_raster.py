"""Counters as pixels: a step area per counter, computed per column and never per change.

In a column the area extends to the time-weighted mean of the values, and a paler area above it to
their maximum. So every value is visible, even if it lasts only one tick. The maximum comes from a
pyramid of maxima, the mean from a prefix sum. The bottom of the area is 0, or the least value if
that is below 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints
from viewer.model.counter import Counter
from viewer.model.intervals import durations
from viewer.render.axis.xmap import XMap
from viewer.render.palette import Pixels

_FIRST_TICK = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class CounterColors:
    """0xffRRGGBB: `area` up to the mean, `peak` above it, `line` on top, `ground` at the bottom."""

    area: int
    peak: int
    line: int
    ground: int


@dataclass(frozen=True, slots=True, eq=False)
class CounterRaster:
    """One counter, ready to be drawn. Immutable: safe to share between threads.

    top, bottom: the maximum and minimum of all values and 0; the limit of the counter is at the top
    too, if it has one. most: the maximum of all values and 0. maxima[k]: the maxima of complete
    groups of 2**(k + 1) neighbors. area: the integral of the values from the first tick to each
    tick.
    """

    counter: Counter
    top: float
    bottom: float
    most: float
    maxima: tuple[NDArray[Any], ...]
    area: Floats

    @staticmethod
    def of(counter: Counter) -> CounterRaster:
        """Prepare a counter, in linear time."""
        value = counter.value
        maxima = []
        level = value
        while len(level) > 1:
            pairs = len(level) // 2 * 2
            level = np.maximum(level[:pairs:2], level[1:pairs:2])
            maxima.append(level)
        area = np.zeros(len(value))
        np.cumsum(value[:-1] * durations(counter.tick[:-1], counter.tick[1:]), out=area[1:])
        most, bottom = float(value.max(initial=0)), float(value.min(initial=0))
        top = max(most, float(counter.limit))
        return CounterRaster(counter, top, bottom, most, tuple(maxima), area)

    def columns(self, xmap: XMap) -> tuple[Floats, Floats]:
        """Return maximum and mean of each column; `xmap` is on the axis of the trace."""
        return self._between(xmap.edges)

    def at(self, x: int, xmap: XMap) -> tuple[float, float]:
        """Return maximum and mean of one column, both 0 outside the view."""
        if not 0 <= x < xmap.width:
            return 0.0, 0.0
        greatest, mean = self._between(xmap.edges[x : x + 2])
        return float(greatest[0]), float(mean[0])

    def _between(self, edges: Ints) -> tuple[Floats, Floats]:
        edges = np.maximum(edges, _FIRST_TICK + 1)
        # If a tick is wider than a column, columns after its first contain no tick; they show the
        # value that is valid until the next tick.
        left, right = np.minimum(edges[:-1], edges[1:] - 1), edges[1:] - 1
        first = np.searchsorted(self.counter.tick, left, side="right") - 1
        last = np.searchsorted(self.counter.tick, right, side="right")
        greatest = self._greatest(first, last)
        mean = greatest.copy()
        mixed = np.flatnonzero(last - first > 1)
        if len(mixed):
            start, end = edges[mixed], edges[mixed + 1]
            mean[mixed] = (self._until(end) - self._until(start)) / durations(start, end)
            # A prefix sum over the whole trace may lack the precision for a column of a few ticks.
            np.clip(mean, self.bottom, greatest, out=mean)
        return greatest, mean

    def _greatest(self, first: Ints, last: Ints) -> Floats:
        """Return the maxima of values first .. last-1; index -1 is the 0 before all values."""
        lo, hi = np.maximum(first, 0), last.copy()
        best = np.where(first < 0, 0.0, -np.inf)
        for level in (self.counter.value, *self.maxima):
            if not (lo < hi).any():
                break
            at_edge = np.flatnonzero((lo & 1 == 1) & (lo < hi))
            best[at_edge] = np.maximum(best[at_edge], level[lo[at_edge]])
            lo[at_edge] += 1
            at_edge = np.flatnonzero((hi & 1 == 1) & (lo < hi))
            best[at_edge] = np.maximum(best[at_edge], level[hi[at_edge] - 1])
            lo, hi = lo >> 1, hi >> 1
        return best

    def _until(self, ticks: Ints) -> Floats:
        """Return the integral up to some ticks."""
        before = np.searchsorted(self.counter.tick, ticks, side="right") - 1
        index = np.maximum(before, 0)
        reached = np.maximum(ticks, self.counter.tick[index])
        since = durations(self.counter.tick[index], reached)
        return np.where(before < 0, 0.0, self.area[index] + self.counter.value[index] * since)

    def lines(self, values: Floats, height: int) -> NDArray[np.int16]:
        """Return the heights of values in pixel lines, out of `height`.

        At least 1 if above the bottom.
        """
        if self.top == self.bottom:
            return np.zeros(len(values), np.int16)
        above = values - self.bottom
        high = np.rint(above * (height / (self.top - self.bottom)))
        np.maximum(high, above > 0, out=high)
        return high.astype(np.int16)


def stamp(
    image: Pixels, y: int, height: int, raster: CounterRaster, xmap: XMap, colors: CounterColors
) -> None:
    """Draw a counter on the lines [y, y + height) of an image; clipped to the image."""
    top, bottom = max(y, 0), min(y + height, len(image))
    if bottom <= top:
        return  # only the edge of the band is visible
    greatest, mean = raster.columns(xmap)
    high, low = raster.lines(greatest, height), raster.lines(mean, height)
    # The line continues down to the lower neighbor, so that steps are connected.
    neighbors = np.minimum(np.append(high[:1], high[:-1]), np.append(high[1:], high[-1:]))
    foot = np.minimum(neighbors, high - 1)
    below = (y + height - 1 - np.arange(top, bottom, dtype=np.int16))[:, None]  # lines of the area
    lines = image[top:bottom]
    inside = below < high
    np.copyto(lines, np.uint32(colors.peak), where=inside)
    np.copyto(lines, np.uint32(colors.area), where=below < low)
    np.copyto(lines, np.uint32(colors.line), where=inside & (below >= foot))
    if bottom == y + height > top:
        lines[-1, high == 0] = colors.ground
