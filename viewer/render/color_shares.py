"""How many slices each class of a color scheme has, and how much time they took: for the legend.

Time is own time, the length of a slice less what lies inside of it, so that a call, the kernel in
it and the scope around both are not counted thrice, and the shares of all classes make up the
whole. Slices that a clock of their own timed count no time, nor does what a reader worked out
inside of another slice: the file has that time in the slice around it already.

Where classes are of operators, events without one inside of a linked call count as that call does,
in which all panels have their time; they are still listed, as slices.

Where no run is picked, time is that of the inferences, so that shares are of `Method::execute` as
those of operators are; loads are in it only where the runtime logs no such scope. A trace that has
not what the scheme tells apart is colored by names: its classes stand behind all others, and their
shares are of that time alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.model.intervals import durations
from viewer.model.queries import execute_keys, foreign, run_of_slices, tree
from viewer.model.trace import RunKind, Trace
from viewer.render.color_schemes import Classes, Numbers
from viewer.render.palette import FRAME, OPERATORS, PLAIN, SLAB, UNATTRIBUTED, UNLINKED, Palette

MOST = 240
# What is gray because it is context, and no answer to what the colors are about.
CONTEXT = (FRAME, PLAIN, UNATTRIBUTED)


@dataclass(frozen=True, slots=True)
class Share:
    """One class: its title, palette index, how many slices it has, and their own time in ns.

    whole: what its share is of, in ns. by_name: of a trace that has names instead of the scheme.
    """

    title: str
    color: int
    count: int
    ns: float
    whole: float = 0.0
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Shares:
    """The classes that have slices: most costly first, what is context last.

    listed: the first of them; more: how many others there are.
    """

    listed: tuple[Share, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted of one trace: all of it, or the slices that begin in one of its runs.

    by_name: it is colored by names, since it has not what the scheme tells apart.
    """

    trace: Trace
    classes: Classes
    ns_per_tick: Fraction
    run: int | None = None
    by_name: bool = False


def shares(every: Iterable[Counted]) -> Shares:
    """Count the classes of some traces. Names alone may be millions: only `MOST` are listed.

    A class is the same in several traces where its title and color are.
    """
    counts: dict[tuple[bool, str, int], int] = {}
    times: dict[tuple[bool, str, int], float] = {}
    wholes = {False: 0.0, True: 0.0}
    for one in every:
        classes = one.classes
        count, ticks = _of_classes(one)
        for i in np.flatnonzero(count).tolist():
            name = one.by_name, classes.titles[i], int(classes.color[i])
            ns = float(ticks[i]) * float(one.ns_per_tick)
            counts[name] = counts.get(name, 0) + int(count[i])
            times[name] = times.get(name, 0.0) + ns
            wholes[one.by_name] += ns
    first = nsmallest(
        MOST,
        counts,
        key=lambda name: (name[0], name[2] in CONTEXT, -times[name], -counts[name], name),
    )
    listed = tuple(
        Share(name[1], name[2], counts[name], times[name], wholes[name[0]], name[0])
        for name in first
    )
    return Shares(listed, len(counts) - len(listed))


def _of_classes(one: Counted) -> tuple[Ints, NDArray[np.float64]]:
    """Per class how many slices it has, and their own time in ticks.

    The lengths of all its slices, less those of what lies inside of them. That is `self_time` by
    class; slice by slice that function would hold up every other thread.
    """
    trace, slices = one.trace, one.trace.slices
    of_slice, number = one.classes.of(trace), len(one.classes.titles)
    chosen = np.ones(len(slices), np.bool_)
    in_runs = chosen
    if one.run is not None:
        chosen = in_runs = run_of_slices(trace) == one.run
    elif execute_keys(trace).any():
        inferences = [i for i, run in enumerate(trace.runs) if run.kind is RunKind.INFERENCE]
        in_runs = np.isin(run_of_slices(trace), inferences) if inferences else chosen
    timed = np.ones(len(slices), np.bool_)
    timed[foreign(slices)] = False
    own, covers = timed, timed
    if slices.derived is not None:
        own = timed & ~(slices.derived & (slices.row_depth > 0)[slices.rows()])
        covers = timed & ~slices.derived
    count = np.bincount(of_slice[chosen], minlength=number)
    child = around = np.empty(0, np.int64)
    if slices.row_depth.any():
        shape = tree(slices)
        child = shape.index[shape.parent >= 0]
        around = shape.index[shape.parent[shape.parent >= 0]]
        if one.classes.by_operator:
            of_slice = _with_calls(one.classes.color, of_slice, child, around)
    long = durations(slices.start, slices.end).astype(np.float64)
    counted = in_runs & own
    ticks: NDArray[np.float64] = np.bincount(
        of_slice[counted], weights=long[counted], minlength=number
    ).astype(np.float64)
    inside = covers[child] & counted[around]
    ticks -= np.bincount(of_slice[around[inside]], weights=long[child[inside]], minlength=number)
    return count, ticks


def _with_calls(color: Palette, of_slice: Numbers, child: Ints, around: Ints) -> Numbers:
    """Classes of slices, those without an operator inside of a linked one with the class of that:
    an operator's cost is that of its calls, whatever their events are called."""
    without = (color == UNLINKED) | (color == PLAIN)
    linked = (color < OPERATORS) | (color == SLAB)
    found = of_slice.copy()
    while True:  # once for each level of events inside of events
        moved = without[found[child]] & linked[found[around]]
        if not moved.any():
            return found
        found[child[moved]] = found[around[moved]]
