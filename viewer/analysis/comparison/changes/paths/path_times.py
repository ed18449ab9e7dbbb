"""The self times of paths in one session: medians over its inferences, as columns.

The total of a path is the sum of the self times of it and of all paths below it. The median of
totals would be too long: where processes are interrupted, most inferences have one call that takes
much longer, and it is another one each time.

An inference has the slices that start in it. A slice around them that started before it, such as
the main loop around the steps of a training, counts with its part inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.calls.preorder import numbered
from viewer.analysis.comparison.changes.paths.joined_paths import JoinedPaths, PathOfSlice
from viewer.analysis.comparison.sessions import Session
from viewer.arrays import Bools, Floats, Ints
from viewer.model.queries import tree
from viewer.model.timing import ROUNDING_TICKS, Timing, timings

# Sums have a bin for every path of every inference, unless these are many more than the slices.
_DENSE, _FEW = 4, 1 << 16
_UNMEASURED = Timing.ESTIMATED | Timing.DERIVED


@dataclass(frozen=True, eq=False)
class PathTimes:
    """Per path, in ns.

    own: the median of its self time over the inferences in which it ran, NaN without any. grain: by
    how much its times differ at least, 0 if it did not run. measured: whether all of its times are.
    """

    own: Floats
    grain: Floats
    measured: Bools


def times_of_paths(session: Session, paths: JoinedPaths, path: PathOfSlice) -> PathTimes:
    """Return the times of all paths in a session. path: that of every slice of its trace."""
    slices, row, count = session.table.trace.slices, session.row_of_slices, len(paths)
    at = np.flatnonzero((row >= 0) & (path < count))
    key, ticks = row[at] * count + path[at], slices.end[at] - slices.start[at]
    around, inside = _around(session, path, count)
    keys, own = np.concatenate([key, around]), np.concatenate([ticks, inside])
    distinct, total, begun = _sums(keys, own, len(session.runs) * count)
    node = distinct % max(count, 1)
    within = np.zeros(len(distinct))
    has_parent = np.flatnonzero(paths.parent[node] >= 0)
    parent = distinct[has_parent] - node[has_parent] + paths.parent[node[has_parent]]
    place = np.minimum(np.searchsorted(distinct, parent), max(len(distinct) - 1, 0))
    known = distinct[place] == parent if len(place) else np.zeros(0, np.bool_)
    np.add.at(within, place[known], total[has_parent[known]])
    calls = np.bincount(node, begun, count)
    ran = np.maximum(np.bincount(node, minlength=count), 1)
    timing = timings(slices)[at]
    grain, measured = np.ones(count), np.ones(count, np.bool_)
    grain[path[at[timing & Timing.ROUNDED > 0]]] = ROUNDING_TICKS
    measured[path[at[timing & _UNMEASURED > 0]]] = False
    rate = session.ns_per_tick
    return PathTimes(
        _medians(node, np.maximum(total - within, 0), count) * rate,
        grain * calls / ran * rate,
        measured,
    )


def _sums(keys: Ints, ticks: Ints, most: int) -> tuple[Ints, Floats, Ints]:
    """The distinct keys, ascending, with the sum of the ticks of each, and how often it occurs.

    most: more than every key.
    """
    if most > _DENSE * len(keys) + _FEW:
        bins, distinct = numbered(keys)
        most = len(distinct)
    else:
        bins, distinct = keys, np.flatnonzero(np.bincount(keys, minlength=most))
    count: Ints = np.bincount(bins, minlength=most)
    total = np.bincount(bins, ticks, most).astype(np.float64)
    used = slice(None) if most == len(distinct) else distinct
    return distinct, total[used], count[used]


def _around(session: Session, path: PathOfSlice, count: int) -> tuple[Ints, Ints]:
    """The slices around those of an inference that started before it: as `row * count + path`.

    Also their ticks inside the inference, each slice once per inference.
    """
    slices, row = session.table.trace.slices, session.row_of_slices
    if session.is_whole:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shape = tree(slices)
    parent = np.full(len(row), -1)
    parent[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
    nested = np.flatnonzero((row >= 0) & (parent >= 0))
    pairs = _crossing(row, row[nested], parent[nested])
    every = pairs
    while len(pairs):
        run, own = np.divmod(pairs, len(row))
        above = parent[own]
        pairs = _crossing(row, run[above >= 0], above[above >= 0])
        every = np.union1d(every, pairs)
    run, own = np.divmod(every, max(len(row), 1))
    start, end = (
        np.array([getattr(one, edge) for one in session.runs], np.int64)[run]
        for edge in ("start", "end")
    )
    ticks = np.minimum(slices.end[own], end) - np.maximum(slices.start[own], start)
    some = path[own] < count
    keys: Ints = (run[some] * count + path[own[some]]).astype(np.int64)
    return keys, np.maximum(ticks[some], 0)


def _crossing(row: Ints, run: Ints, around: Ints) -> Ints:
    """The slices around that did not start in the same inference, as `run * slices + around`."""
    outside = row[around] != run
    return np.unique(run[outside] * len(row) + around[outside])


def _medians(node: Ints, values: Floats, count: int) -> Floats:
    """The median of the values of each node, NaN for a node without any."""
    found = np.full(count, np.nan)
    order = np.lexsort((values, node))
    used, first, many = np.unique(node[order], return_index=True, return_counts=True)
    ordered = values[order]
    found[used] = (ordered[first + (many - 1) // 2] + ordered[first + many // 2]) / 2
    return found
