"""Which of the 12 colors the most expensive names take, so that no two of them look the same.

A name has the color of its hash, an operator or a module that of its place in the program. Of ten
such, several usually have the same one. So those that take the most time in a file choose first:
each keeps its color unless a more expensive one has it, and then takes the free one that differs
most from the others. All open files agree: a name has one color. Cheaper names keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from viewer.analysis.cost.thread_time import ThreadTime
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Floats, Ints
from viewer.formats.column_cache import CACHE
from viewer.model.intervals import durations
from viewer.model.trace import Slices, Trace
from viewer.render.color_schemes import NAMES, TURN_SCHEMES, Classes, Turns, classes_of, why_not
from viewer.render.color_shares import Counted, shares
from viewer.render.palette import OPERATOR_FILLS, OPERATORS

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
