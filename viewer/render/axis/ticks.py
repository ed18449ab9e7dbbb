"""Positions and labels of the ruler's lines: integer nanoseconds, in one unit.

Steps are 1, 2 or 5 times a power of ten. The unit follows the visible range, the number of labels
their width. A `Scale` says what is counted and from where: normally ns from the start of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Ints
from viewer.model.times import (
    NARROW_SPACE,
    format_fixed,
    format_from_to,
    format_position,
    group_digits,
    nice_step,
    unit_for,
)
from viewer.render.axis.xmap import Axis, XMap

_FARTHEST = 1 << 63  # beyond this, a line's time does not fit int64
_LABEL_GAP = 20
_DIGIT_WIDTH = 7
_MINOR_GAP = 6
_MINOR_PARTS = {1: 5, 2: 4, 5: 5}


CYCLES = ("cycles", 1)


@dataclass(frozen=True, slots=True)
class Ruler:
    """Lines of the ruler, in its own unit of counting: `major` has labels, `minor` is between."""

    unit: str
    major: Ints
    labels: tuple[str, ...]
    minor: Ints


@dataclass(frozen=True, slots=True)
class Scale:
    """What the ruler counts: ns of an axis from `origin`, or cycles of one file.

    cycles: maps cycles to that axis, None to count ns; if given, `origin` is in cycles.
    start: a description of the origin, "trace start".
    """

    origin: int = 0
    cycles: Axis | None = None
    start: str = "trace start"

    def lines(self, xmap: XMap, width: int) -> Ruler:
        """Return the lines of a view as columns; `width` is the space for labels, in pixels."""
        here = xmap if self.cycles is None else xmap.on(self.cycles)
        t0, t1 = here.times
        unit = None if self.cycles is None else CYCLES
        # Gaps have no times: what is between two lines is as wide as without them.
        if len(xmap.gaps):
            width = int((t1 - t0) / here.ticks_per_pixel * width / here.width) + 1
        ticks = ruler(t0, t1, width, self.origin, unit=unit)
        return replace(ticks, major=here.pixel_of(ticks.major), minor=here.pixel_of(ticks.minor))

    def caption(self, span: int) -> str:
        """Return what the labels of a view of `span` ns count: "µs from trace start"."""
        unit = unit_for(span) if self.cycles is None else CYCLES
        return f"{unit[0]} from {self.start}"

    def text(self, ns: int, resolution_ns: float = 1) -> str:
        """Format a time on the axis like the ruler: "1.250 µs", "1 000 cycles".

        resolution_ns: the ns per pixel of the view, by default whole ns.
        """
        if self.cycles is None:
            return format_position(ns - self.origin, resolution_ns)
        cycles = self.cycles.to_ticks_floor(ns) - self.origin
        return f"{group_digits(cycles)}{NARROW_SPACE}cycles"

    def span_text(self, first: int, last: int) -> str:
        """Format two times on the axis like the ruler: "0 to 200 µs", "10 to 20 cycles"."""
        if self.cycles is None:
            return format_from_to(first - self.origin, last - self.origin)
        cycles = (self.cycles.to_ticks_floor(ns) - self.origin for ns in (first, last))
        ends = dict.fromkeys(map(group_digits, cycles))
        return f"{' to '.join(ends)}{NARROW_SPACE}cycles"


def ruler(
    t0: int,
    t1: int,
    width: int,
    origin: int = 0,
    min_gap: int = 60,
    unit: tuple[str, int] | None = None,
) -> Ruler:
    """Return lines for [t0, t1] ns on `width` pixels, with labels at least `min_gap` px apart.

    Labels count from `origin` in one unit: the given one (name, factor), else one that suits the
    range. An empty range has no lines.
    """
    span = t1 - t0
    if span <= 0 or width <= 0:
        none = np.empty(0, np.int64)
        return Ruler("ns", none, (), none)
    name, factor = unit or unit_for(span)
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
    return Ruler(name, major, labels, _minor(t0, t1, width, origin, step, digit))


def _decimals(step: int, factor: int) -> int:
    """Return how many decimals of the unit a multiple of the step needs."""
    decimals = 0
    while factor > 1 and step % factor:
        factor //= 10
        decimals += 1
    return decimals


def _label(ns: int, factor: int, decimals: int) -> str:
    return "0" if ns == 0 else format_fixed(ns, factor, decimals)


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
