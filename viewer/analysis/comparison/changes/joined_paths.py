"""The call trees of several traces as one: every path once, with the path of every slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import numbered, preorder, sizes
from viewer.analysis.calls.call_tree import left_out
from viewer.analysis.calls.paths import FRAMES, CallPaths, call_paths
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import LEVELS_OF_CALLS, NAME
from viewer.analysis.comparison.rollups import groups_of_keys, plain_names
from viewer.analysis.comparison.sessions import PartId, Session
from viewer.analysis.comparison.slice_rows import calls_of_keys
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Bools, Floats, Ints, levels
from viewer.model.names.executorch import EXECUTE
from viewer.model.quantiles import medians_of_groups
from viewer.model.queries import tree
from viewer.model.timing import ROUNDING_TICKS, UNMEASURED, Timing, timings
from viewer.model.trace import KeyKind

PathOfSlice = NDArray[np.int32]
# Sums have a bin for every path of every inference, unless these are many more than the slices.
_DENSE, _FEW = 4, 1 << 16


@dataclass(frozen=True, eq=False)
class JoinedPaths:
    """All paths in preorder: parallel int64 arrays.

    labels: the names. parent: the path around, -1 for an outermost one. name: index into `labels`.
    depth: 0 for an outermost one. of_slice: by the number of a trace the path of every slice,
    `len(parent)` for none (int32).
    """

    labels: tuple[str, ...]
    parent: Ints
    name: Ints
    depth: Ints
    of_slice: tuple[PathOfSlice, ...]

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def size(self) -> Ints:
        """How many paths the subtree of each path has, with itself. They follow the path."""
        return sizes(self.parent, self.depth)

    def rolled(self, values: Floats) -> Floats:
        """Return the sums over the subtrees of all paths, along the last axis.

        NaN counts as 0, and is the sum of a subtree of nothing else.
        """
        at, known = np.arange(len(self)), np.isfinite(values)
        ends = at + self.size
        sums, counts = (
            np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(own, axis=-1)], axis=-1)
            for own in (np.where(known, values, 0), known)
        )
        has = counts[..., ends] > counts[..., at]
        return np.where(has, sums[..., ends] - sums[..., at], np.nan)

    def only(self, kept: Ints) -> JoinedPaths:
        """Return some paths, ascending, which include the parents of each."""
        place = np.full(len(self) + 1, len(kept))
        place[kept] = np.arange(len(kept))
        around = self.parent[kept]
        return JoinedPaths(
            self.labels,
            np.where(around >= 0, place[around], -1),
            self.name[kept],
            self.depth[kept],
            tuple(place[own].astype(np.int32) for own in self.of_slice),
        )


def joined_paths(traces: Sequence[tuple[Session, int]], names: PathNames) -> JoinedPaths:
    """Return the paths of some traces, without processes and threads.

    traces: a session of each trace, and its arm (0 or 1).
    """
    texts: dict[str, int] = {}
    made = []
    for session, side in traces:
        trace = session.table.trace
        # Threads have the number of their track only: paths are joined over all of them.
        tracks = list(map(str, range(len(trace.tracks))))
        found = call_paths(
            trace, tracks, names.of(session, side), left_out(session.table), merges=names.merges
        )
        made.append(_frames(found, texts))
    return _merged(made, tuple(texts))


@dataclass(frozen=True, eq=False)
class _Frames:
    """The frames of one trace: parent, label and depth, and the frame of every slice."""

    parent: Ints
    label: Ints
    depth: Ints
    of_slice: PathOfSlice


def _frames(paths: CallPaths, texts: dict[str, int]) -> _Frames:
    """The paths below threads, with labels numbered by `texts`, which grows."""
    is_frame = paths.depth >= FRAMES
    at = np.flatnonzero(is_frame)
    place = np.append(np.where(is_frame, np.cumsum(is_frame) - 1, -1), len(at))
    used, own = np.unique(paths.name[at], return_inverse=True)
    number = [texts.setdefault(paths.labels[i], len(texts)) for i in used.tolist()]
    return _Frames(
        np.where(paths.depth[at] > FRAMES, place[paths.parent[at]], -1),
        np.array(number, np.int64)[own.reshape(-1)],
        paths.depth[at] - FRAMES,
        place[paths.node].astype(np.int32),
    )


def _merged(made: Sequence[_Frames], texts: tuple[str, ...]) -> JoinedPaths:
    """The distinct paths of the frames of several traces."""
    labels = max(len(texts), 1)
    first = np.cumsum([0, *(len(one.parent) for one in made)])
    parent = np.concatenate(
        [np.where(m.parent >= 0, m.parent + f, -1) for m, f in zip(made, first, strict=False)]
        or [np.empty(0, np.int64)]
    )
    label = np.concatenate([one.label for one in made] or [parent])
    depth = np.concatenate([one.depth for one in made] or [parent])
    path = np.empty(len(parent), np.int64)
    parents, names, depths, count = [parent[:0]], [parent[:0]], [parent[:0]], 0
    for number, level in enumerate(levels(depth)):
        around = path[parent[level]] if number else np.full(len(level), -1)
        of, distinct = numbered((around + 1) * labels + label[level])
        path[level] = count + of
        count += len(distinct)
        parents.append(distinct // labels - 1)
        names.append(distinct % labels)
        depths.append(np.full(len(distinct), number))
    parent, name, depth = map(np.concatenate, (parents, names, depths))
    order = preorder(parent, depth, name)
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    of_slice = []
    for one, begin in zip(made, first, strict=False):
        own = place[path[begin : begin + len(one.parent)]]
        of_slice.append(np.append(own, count)[one.of_slice].astype(np.int32))
    return JoinedPaths(texts, place[parent[order]], name[order], depth[order], tuple(of_slice))


class PathNames:
    """The names by the rows of a comparison; by the names of slices without one.

    By name, a path has the names of slices, without what differs between two processes: the
    address of an object, and the number of a step. By operator or module, a slice that a row of
    the comparison counts has the label of this row. So operators that belong together have one
    name, even if their modules were renamed, and the kernels that a delegate call replaces have
    that of the call. A kernel is part of its call, and an event inside a delegate call keeps its
    own name.

    calls: the comparison by call. rows: by call, operator or module, None for names of slices.
    labels: the text of every row; equal ones have a number.
    """

    def __init__(self, calls: Comparison, rows: Comparison | None) -> None:
        self.rows = None if rows is None or rows.a.level == NAME else rows
        both = [arm.methods for arm in (calls.a, calls.b)]
        self._of_a = {b: a for a, b in calls.pairs.methods}
        self._has_methods = any(len(common) + len(rest) > 1 for common, rest in both)
        own: Sequence[Row] = () if self.rows is None else self.rows.rows
        self.labels = _distinct([row.label for row in own])
        self._row_of_part = tuple(_row_of_part(own, side) for side in (0, 1))

    @property
    def merges(self) -> bool:
        """Whether a slice without a name of its own is a part of the one around it."""
        return self.rows is not None

    def of(self, session: Session, side: int) -> KeyGroups:
        """Return the names of the keys of a session's trace. side: 0 if it is in A, 1 in B."""
        groups = self._groups(session, side)
        return self._with_methods(groups, session, side) if self._has_methods else groups

    def _groups(self, session: Session, side: int) -> KeyGroups:
        trace = session.table.trace
        if self.rows is None:
            return KeyGroups(*plain_names(trace, trace.keys.name))
        arm = self.rows.b if side else self.rows.a
        part = _part_of_keys(arm, session)
        row = np.append(self._row_of_part[side], -1)[part]
        events = np.flatnonzero(trace.keys.kind == KeyKind.DELEGATE_EVENT)
        if arm.level not in LEVELS_OF_CALLS or not len(events):
            return KeyGroups(self.labels, row)
        names, number = np.unique(trace.keys.name[events], return_inverse=True)
        texts = [trace.strings[name] for name in names.tolist()]
        row[events] = len(self.labels) + number.reshape(-1)
        return KeyGroups((*self.labels, *texts), row)

    def _with_methods(self, groups: KeyGroups, session: Session, side: int) -> KeyGroups:
        """Name the method that is executed, so that no path has the times of two methods."""
        trace = session.table.trace
        labels, of_key = list(groups.labels), groups.of_key.copy()
        runs = np.flatnonzero(trace.keys.kind == KeyKind.FRAMEWORK)
        for key in runs.tolist():
            scope = int(trace.keys.scope[key])
            if trace.strings[int(trace.keys.name[key])] == EXECUTE and scope >= 0:
                method = session.method_of(scope)[0]
                of_key[key] = len(labels)
                labels.append(f"{EXECUTE} ({self._of_a.get(method, method) if side else method})")
        return KeyGroups(tuple(labels), of_key)


def _part_of_keys(arm: Arm, session: Session) -> Ints:
    """The part of an arm that every key is of, -1 for none."""
    if arm.level in LEVELS_OF_CALLS:
        return calls_of_keys(arm, session)
    if session.program is None:
        return np.full(len(session.table.trace.keys), -1)
    groups, group = groups_of_keys(session.table, arm.level)
    part = [arm.number.get(PartId(arm.level, -1, None, group), -1) for group in groups]
    return np.array([*part, -1], np.int64)[group]


def _row_of_part(rows: Sequence[Row], side: int) -> Ints:
    own = [(part, i) for i, row in enumerate(rows) for part in (row.b if side else row.a)]
    found = np.full(max((part for part, _ in own), default=-1) + 1, -1)
    for part, row in own:
        found[part] = row
    return found


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels of which equal ones have a number, in their order: "add", "add (2)"."""
    count: Counter[str] = Counter()
    found = []
    for label in labels:
        count[label] += 1
        found.append(label if count[label] == 1 else f"{label} ({count[label]})")
    return tuple(found)


# The self times of paths in one session: medians over its inferences, as columns.
#
# The total of a path is the sum of the self times of it and of all paths below it. The median of
# totals would be too long: where processes are interrupted, most inferences have one call that
# takes much longer, and it is another one each time.
#
# An inference has the slices that start in it. A slice around them that started before it, such as
# the main loop around the steps of a training, counts with its part inside.


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
    measured[path[at[timing & UNMEASURED > 0]]] = False
    rate = session.ns_per_tick
    return PathTimes(
        medians_of_groups(node, np.maximum(total - within, 0), count) * rate,
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
        np.array([getattr(run, edge) for run in session.runs], np.int64)[run]
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
