"""How many slices each class of a colour scheme has, and how much time they took: for the legend.

Time is own time, the length of a slice less what lies inside of it, so that a call, the kernel in
it and the scope around both are not counted thrice, and the shares of all classes make up the
whole. Slices that a clock of their own timed count no time, nor does what a reader worked out
inside of another slice: the file has that time in the slice around it already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from viewer.model.queries import foreign, self_time
from viewer.model.trace import Trace
from viewer.timeline.schemes import Classes


@dataclass(frozen=True, slots=True)
class Share:
    """One class: its title, palette index, how many slices it has, and their own time in ns."""

    title: str
    colour: int
    count: int
    ns: float


def shares(every: Iterable[tuple[Trace, Classes, Fraction]]) -> tuple[Share, ...]:
    """The classes of some traces that have slices, most costly first; `Fraction` is ns per tick.

    A class is the same in several traces where its title and colour are.
    """
    counts: dict[tuple[str, int], int] = {}
    times: dict[tuple[str, int], float] = {}
    for trace, classes, ns_per_tick in every:
        of_slice = classes.of(trace)
        number = len(classes.titles)
        count = np.bincount(of_slice, minlength=number)
        own = self_time(trace.slices)
        own[foreign(trace.slices)] = 0
        if trace.slices.derived is not None:
            inside = trace.slices.row_depth > 0
            own[trace.slices.derived & inside[trace.slices.rows()]] = 0
        ticks = np.bincount(of_slice, weights=own.astype(np.float64), minlength=number)
        for i in np.flatnonzero(count).tolist():
            name = classes.titles[i], int(classes.colour[i])
            counts[name] = counts.get(name, 0) + int(count[i])
            times[name] = times.get(name, 0.0) + float(ticks[i]) * float(ns_per_tick)
    found = [Share(*name, counts[name], times[name]) for name in counts]
    return tuple(sorted(found, key=lambda s: (-s.ns, -s.count, s.title, s.colour)))
