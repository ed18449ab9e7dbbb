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

from viewer.model.queries import foreign, run_of_slices, self_time
from viewer.model.trace import Trace
from viewer.timeline.colouring import FRAME, PLAIN, UNATTRIBUTED
from viewer.timeline.schemes import Classes

# What is grey because it is context, and no answer to what the colours are about.
CONTEXT = (FRAME, PLAIN, UNATTRIBUTED)


@dataclass(frozen=True, slots=True)
class Share:
    """One class: its title, palette index, how many slices it has, and their own time in ns."""

    title: str
    colour: int
    count: int
    ns: float


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted of one trace: all of it, or the slices that begin in one of its runs."""

    trace: Trace
    classes: Classes
    ns_per_tick: Fraction
    run: int | None = None


def shares(every: Iterable[Counted]) -> tuple[Share, ...]:
    """The classes of some traces that have slices: most costly first, what is context last.

    A class is the same in several traces where its title and colour are.
    """
    counts: dict[tuple[str, int], int] = {}
    times: dict[tuple[str, int], float] = {}
    for one in every:
        trace, classes = one.trace, one.classes
        number = len(classes.titles)
        own = self_time(trace.slices)
        own[foreign(trace.slices)] = 0
        if trace.slices.derived is not None:
            inside = trace.slices.row_depth > 0
            own[trace.slices.derived & inside[trace.slices.rows()]] = 0
        which = slice(None) if one.run is None else run_of_slices(trace) == one.run
        of_slice = classes.of(trace)[which]
        count = np.bincount(of_slice, minlength=number)
        ticks = np.bincount(of_slice, weights=own[which].astype(np.float64), minlength=number)
        for i in np.flatnonzero(count).tolist():
            name = classes.titles[i], int(classes.colour[i])
            counts[name] = counts.get(name, 0) + int(count[i])
            times[name] = times.get(name, 0.0) + float(ticks[i]) * float(one.ns_per_tick)
    found = [Share(*name, counts[name], times[name]) for name in counts]
    return tuple(
        sorted(found, key=lambda s: (s.colour in CONTEXT, -s.ns, -s.count, s.title, s.colour))
    )
