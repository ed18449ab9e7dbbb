"""The time of each class in a color scheme, and the colors of the most expensive names.

Time is wall time (`viewer.model.charging`), so that a call, the kernel in it and the scope around
both do not count three times, and the shares of all classes add up to the whole. Slices on foreign
clocks have no time, and neither do derived slices inside other slices. If classes are operators,
events without an operator inside a linked call count as that call, as in all other panels. They are
still listed, as slices. Shares are relative to the time that panels cover, without inferences that
did not finish. A trace that does not support the scheme is colored by name: its classes come after
all others, with shares of their own total.

A name has the color of its hash, an operator or a module that of its place in the program, so of
ten several usually have the same one. So those that take the most time in a file choose first: each
keeps its color unless a more expensive one has it, and then takes the free one that differs most
from the others. All open files agree. Cheaper names keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from heapq import nsmallest

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.cost.event_times import ThreadTime
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Floats, Ints, parts_of
from viewer.dataclasses import dataclass
from viewer.formats.column_cache import CACHE
from viewer.model.charging import Segments, charge_slices
from viewer.model.figures import TimeScope
from viewer.model.intervals import durations
from viewer.model.queries import counted_slices, execute_keys, foreign, run_of_slices, tree
from viewer.model.trace import RunKind, Slices, Trace
from viewer.render.color_schemes import (
    NAMES,
    TURN_SCHEMES,
    Classes,
    Numbers,
    Turns,
    classes_of,
    why_not,
)
from viewer.render.palette import (
    FRAME,
    OPERATOR_FILLS,
    OPERATORS,
    PLAIN,
    SLAB,
    UNATTRIBUTED,
    UNLINKED,
    Palette,
)

MOST = 240
# Gray context colors, which are not classes of the scheme.
CONTEXT = (FRAME, PLAIN, UNATTRIBUTED)


@dataclass(frozen=True, slots=True)
class Share:
    """One class: its title, palette index, number of slices, and their wall time in ns.

    whole: the total that its share is relative to, in ns. by_name: from a trace that is colored by
    name instead of the scheme.
    """

    title: str
    color: int
    count: int
    ns: float
    whole: float = 0.0
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Shares:
    """The classes that have slices: largest time first, context last.

    listed: the first of them; more: how many others there are.
    """

    listed: tuple[Share, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """The slices to count in one trace: all of them, or those that start in one of its runs.

    by_name: it is colored by name, because the scheme does not apply to it. threads: the busy time
    of a plain profile, None for another. warm_up: whether times of all of it include the inferences
    that warm up.
    """

    trace: Trace
    classes: Classes
    ns_per_tick: Fraction
    run: int | None = None
    by_name: bool = False
    threads: ThreadTime | None = None
    warm_up: bool = True


def shares(every: Iterable[Counted]) -> Shares:
    """Count the classes of some traces. There may be millions of names: only `MOST` are listed.

    Classes of several traces are the same if their titles and colors are.
    """
    counts: dict[tuple[bool, str, int], int] = {}
    times: dict[tuple[bool, str, int], float] = {}
    wholes = {False: 0.0, True: 0.0}
    for counted in every:
        classes = counted.classes
        count, ticks = _of_classes(counted)
        for i in np.flatnonzero(count).tolist():
            name = counted.by_name, classes.titles[i], int(classes.color[i])
            ns = float(ticks[i]) * float(counted.ns_per_tick)
            counts[name] = counts.get(name, 0) + int(count[i])
            times[name] = times.get(name, 0.0) + ns
            wholes[counted.by_name] += ns
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


def _of_classes(counted_trace: Counted) -> tuple[Ints, NDArray[np.float64]]:
    """Return per class the number of its slices, and their wall time in ticks.

    Where no lanes overlap, these are the durations of all its slices minus those of their children.
    Charging all slices would take longer.
    """
    trace, slices = counted_trace.trace, counted_trace.trace.slices
    number = len(counted_trace.classes.titles)
    if counted_trace.threads is not None and counted_trace.run is None:
        return _of_whole(counted_trace, counted_trace.threads)
    of_slice = counted_trace.classes.of(trace)
    if counted_trace.threads is not None and counted_trace.run is not None:
        scope = TimeScope(trace.runs[counted_trace.run])
        busy = _sums(counted_trace.threads.within(scope), of_slice, number)
        of_run = of_slice[run_of_slices(trace) == counted_trace.run]
        return np.bincount(of_run, minlength=number).astype(np.int64), busy
    chosen = np.ones(len(slices), np.bool_)
    in_runs = chosen
    if counted_trace.run is not None:
        chosen = in_runs = run_of_slices(trace) == counted_trace.run
    else:
        if execute_keys(trace).any():
            inferences = [i for i, run in enumerate(trace.runs) if run.kind is RunKind.INFERENCE]
            in_runs = np.isin(run_of_slices(trace), inferences) if inferences else chosen
        counted = counted_slices(trace, warm_up=counted_trace.warm_up)
        in_runs = in_runs if counted is None else in_runs & counted
    timed = np.ones(len(slices), np.bool_)
    timed[foreign(slices)] = False
    adds_time, subtracts_time = timed, timed
    if slices.derived is not None:
        adds_time = timed & ~(slices.derived & (slices.row_depth > 0)[slices.rows()])
        subtracts_time = timed & ~slices.derived
    count = np.bincount(of_slice[chosen], minlength=number)
    child = around = np.empty(0, np.int64)
    if slices.row_depth.any():
        shape = tree(slices)
        child = shape.index[shape.parent >= 0]
        around = shape.index[shape.parent[shape.parent >= 0]]
        if counted_trace.classes.by_operator:
            of_slice = _with_calls(counted_trace.classes.color, of_slice, child, around)
    summed = in_runs & adds_time
    if (slices.row_lane > 0).any():
        charged = charge_slices(trace, adds_time).of_threads
        return count, _sums(charged.taken(summed[charged.group]), of_slice, number)
    long = durations(slices.start, slices.end).astype(np.float64)
    ticks: NDArray[np.float64] = np.bincount(
        of_slice[summed], weights=long[summed], minlength=number
    ).astype(np.float64)
    inside = subtracts_time[child] & summed[around]
    ticks -= np.bincount(of_slice[around[inside]], weights=long[child[inside]], minlength=number)
    return count, ticks


def _of_whole(counted_trace: Counted, threads: ThreadTime) -> tuple[Ints, NDArray[np.float64]]:
    """Return `_of_classes` of all of a plain profile, whose wall time is a column."""
    wall = threads.wall(warm_up=counted_trace.warm_up).view(np.uint64)
    number = len(counted_trace.classes.titles)
    count, ticks = np.zeros(number, np.int64), np.zeros(number)
    for part in parts_of(len(wall)):
        of_slice = counted_trace.classes.of(counted_trace.trace, part)
        count += np.bincount(of_slice, minlength=number)
        ticks += np.bincount(of_slice, weights=wall[part], minlength=number)
    return count, ticks


def _sums(charged: Segments, of_slice: Numbers, number: int) -> NDArray[np.float64]:
    """Return the ticks of every class; charged: with the numbers of slices as groups."""
    long = durations(charged.start, charged.end).astype(np.float64)
    sums = np.bincount(of_slice[charged.group], weights=long, minlength=number)
    return sums.astype(np.float64)


def _with_calls(color: Palette, of_slice: Numbers, child: Ints, around: Ints) -> Numbers:
    """Return the classes of slices, where slices without an operator take that of their call.

    An operator's cost is that of its calls, whatever their events are called.
    """
    without = (color == UNLINKED) | (color == PLAIN)
    linked = (color < OPERATORS) | (color == SLAB)
    classes = of_slice.copy()
    while True:  # once per nesting level of events
        moved = without[classes[child]] & linked[classes[around]]
        if not moved.any():
            return classes
        classes[child[moved]] = classes[around[moved]]


MOST_EXPENSIVE = 10
# Above this number of slices, times come from some of them: then the order is not exact, and all
# colors are given to the first ones.
_COUNTED = 200_000

SAMPLED_TICKS = "sampled ticks"  # their name among kept columns

Ranked = tuple[tuple[str, int], ...]  # titles and colors, the most expensive first


@dataclass(frozen=True, slots=True)
class SampledTicks:
    """The self time of every so-many-th slice of a trace, in ticks."""

    ticks: Floats


def expensive_names(table: LinkTable, threads: ThreadTime | None) -> Mapping[str, Ranked]:
    """Return per scheme the names that take the most time in a trace.

    threads: its busy time, if it is a plain profile.
    """
    return {
        scheme: _ranked(table.trace, classes_of(scheme, table), threads)
        for scheme in TURN_SCHEMES
        if scheme == NAMES or not why_not(scheme, table)
    }


def _ranked(trace: Trace, classes: Classes, threads: ThreadTime | None) -> Ranked:
    if len(trace.slices) <= _COUNTED:
        counted = Counted(trace, classes, Fraction(1), threads=threads)
        listed = [(share.title, share.color) for share in shares([counted]).listed]
        return tuple(pair for pair in listed if pair[1] < OPERATORS)[:MOST_EXPENSIVE]
    sampled = sampled_ticks(trace.slices)
    number, ticks = classes.of(trace, _sample_of(trace.slices)), sampled.ticks
    of_class = np.bincount(number, weights=ticks, minlength=len(classes.titles))
    first = np.argsort(-of_class, kind="stable")
    first = first[(of_class[first] > 0) & (classes.color[first] < OPERATORS)][: 2 * OPERATORS]
    pairs = [(classes.titles[i], int(classes.color[i])) for i in first.tolist()]
    return tuple(dict.fromkeys(pairs))[:OPERATORS]


def sampled_ticks(slices: Slices) -> SampledTicks:
    """Return the self time of some slices of a large trace, from kept columns if it is there."""
    which = _sample_of(slices)
    sampled = CACHE.extra(slices, SAMPLED_TICKS, SampledTicks)
    if sampled is None or len(sampled.ticks) != len(which):
        return SampledTicks(_self_ticks(slices, which))
    return sampled


def _sample_of(slices: Slices) -> Ints:
    return np.arange(0, len(slices), len(slices) // _COUNTED + 1)


def _self_ticks(slices: Slices, which: Ints) -> Floats:
    """Return the self time of some slices, by their ascending numbers."""
    ticks = durations(slices.start[which], slices.end[which]).astype(np.float64)
    row = np.searchsorted(slices.row_ptr, which, side="right") - 1
    place = slices.row_track.astype(np.int64) << 32 | slices.row_lane
    for number in np.unique(row).tolist():
        below = number + 1
        if (
            below == len(place)
            or place[below] != place[number]
            or slices.row_depth[below] != slices.row_depth[number] + 1
        ):
            continue
        inside = slice(int(slices.row_ptr[below]), int(slices.row_ptr[below + 1]))
        start, end = slices.start[inside], slices.end[inside]
        busy = np.append(0.0, np.cumsum(durations(start, end), dtype=np.float64))
        here = np.flatnonzero(row == number)
        first = np.searchsorted(start, slices.start[which[here]])
        last = np.searchsorted(start, slices.end[which[here]])
        ticks[here] -= busy[last] - busy[first]
    return ticks


def turns_of(every: Sequence[Mapping[str, Ranked]]) -> Turns:
    """Return the colors that the most expensive names of some traces take, per scheme."""
    return {
        scheme: chosen
        for scheme in TURN_SCHEMES
        if (chosen := chosen_colors([ranked[scheme] for ranked in every if scheme in ranked]))
    }


def chosen_colors(every: Sequence[Ranked]) -> dict[str, int]:
    """Return the colors of names that do not keep theirs: of each list, all get different ones."""
    usual: dict[str, int] = {}
    neighbors: dict[str, set[str]] = {}
    for ranked in every:
        titles = [title for title, _ in ranked]
        for title, color in ranked:
            usual.setdefault(title, color)
            neighbors.setdefault(title, set()).update(titles)
    chosen: dict[str, int] = {}

    def around(title: str) -> list[int]:
        return [chosen[name] for name in neighbors[title] if name in chosen]

    for title, color in usual.items():
        if color not in around(title):
            chosen[title] = color
    for title in [title for title in usual if title not in chosen]:
        taken = around(title)
        free = [color for color in range(OPERATORS) if color not in taken]
        distance = _distances()
        chosen[title] = max(
            free or range(OPERATORS),
            key=lambda color: min((distance[color][other] for other in taken), default=0.0),
        )
    return {title: color for title, color in chosen.items() if color != usual[title]}


@lru_cache(maxsize=1)
def _distances() -> list[list[float]]:
    """The distances of all pairs of colors in OKLab."""
    rgb = np.array([[fill >> shift & 255 for shift in (16, 8, 0)] for fill in OPERATOR_FILLS]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array(
        [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    lab = np.cbrt(cones) @ np.array(
        [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )
    distances: list[list[float]] = np.linalg.norm(lab[:, None] - lab[None], axis=2).tolist()
    return distances
