"""The changes of call paths between two arms: the call trees of both, joined by path.

A path is the names of the calls from the outermost to the innermost, over all processes and
threads. Its total is the sum of the self times of its subtree. So totals add up, and time is never
divided. Totals are tested as one family, with the whole inference. Paths with the same times, such
as a call and the only one in it, count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.calls.call_table import numbered, preorder, sizes
from viewer.analysis.calls.call_tree import left_out
from viewer.analysis.calls.paths import FRAMES, CallPaths, call_paths
from viewer.analysis.comparison.arms import Arm, Noise, drifts_of, half_sessions, median_of_sessions
from viewer.analysis.comparison.comparison import (
    Compared,
    Comparison,
    Figures,
    Waterfall,
    figures_of,
)
from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs
from viewer.analysis.comparison.levels import CALLS, LEVELS_OF_CALLS, NAME, PATH
from viewer.analysis.comparison.operator_pairs import Grade, Row
from viewer.analysis.comparison.rollups import groups_of_keys, plain_names
from viewer.analysis.comparison.rows import calls_of_keys
from viewer.analysis.comparison.session_test import distinct_times
from viewer.analysis.comparison.sessions import Part, PartId, Session
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Bools, Floats, Ints, levels, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.quantiles import medians_of_groups
from viewer.model.queries import tree
from viewer.model.recorded_names import EXECUTE
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
        place = numbers_at(len(self) + 1, kept, np.arange(len(kept)), len(kept))
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


BETWEEN = " > "


@dataclass(frozen=True, eq=False)
class PathChanges:
    """The paths of both arms, as columns with one value per path.

    calls: the comparison by call. names: of the calls. total, own: per arm, the session medians of
    total and self time in ns, of shape (sessions, paths); NaN if a session does not have a path.
    figures: one per test, at last that of the whole inference. test: per path its number there.
    of_file: by the path of a profile, the call path of every slice; `len(paths)` for none.
    """

    calls: Comparison
    names: PathNames
    paths: JoinedPaths
    total: tuple[Floats, Floats]
    own: tuple[Floats, Floats]
    figures: Figures
    test: Ints
    of_file: dict[str, PathOfSlice]

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def inference(self) -> Compared:
        """The figures of the whole inference."""
        return self._test(len(self.figures) - 1)

    def compared(self, path: int) -> Compared:
        """Return the figures of a path."""
        return self._test(int(self.test[path]))

    @cached_property
    def _made(self) -> dict[int, Compared]:
        return {}

    def _test(self, number: int) -> Compared:
        if number not in self._made:
            self._made[number] = self.figures.of(number)
        return self._made[number]

    @cached_property
    def total_ns(self) -> tuple[Floats, Floats]:
        """Per arm, the total of every path in ns; NaN if the arm does not have it."""
        return median_of_sessions(self.total[0]), median_of_sessions(self.total[1])

    @cached_property
    def own_ns(self) -> tuple[Floats, Floats]:
        """Per arm, the self time of every path in ns; NaN if the arm does not have it."""
        return median_of_sessions(self.own[0]), median_of_sessions(self.own[1])

    @cached_property
    def change_ns(self) -> Floats:
        """How much longer B takes, in ns; an arm that does not have the path counts as 0.

        0 for a path of both arms if these have different clocks.
        """
        a, b = self.total_ns
        change = np.nan_to_num(b) - np.nan_to_num(a)
        return change if self.calls.is_of_time else np.where(np.isfinite(a + b), 0.0, change)

    @cached_property
    def verdict(self) -> Ints:
        """Per path its verdict, as an index into `VERDICTS`."""
        return self.figures.verdict[self.test]

    @cached_property
    def only(self) -> tuple[Bools, Bools]:
        """Which paths only A has, and which only B."""
        a, b = (np.isnan(ns) for ns in self.total_ns)
        return b, a

    def halves(self, arm: Arm) -> tuple[Floats, Floats, Floats]:
        """Return the totals in the first and in the second half of the sessions of an arm, in ns.

        Both have the shape (sessions, paths), with NaN for a session that has too few inferences.
        Last, by how much the times of every path differ at least.
        """
        times: tuple[list[Floats], list[Floats]] = [], []
        grain = np.zeros(len(self))
        for session in arm.sessions:
            for half_times, half in zip(times, half_sessions(session), strict=True):
                if not half.runs:
                    half_times.append(np.full(len(self), np.nan))
                    continue
                path = self.of_file[session.table.trace.path]
                path_times = times_of_paths(half, self.paths, path)
                half_times.append(path_times.own)
                grain = np.maximum(grain, path_times.grain)
        first, last = (np.array(rows).reshape(-1, len(self)) for rows in times)
        return self.paths.rolled(first), self.paths.rolled(last), self.paths.rolled(grain)

    def names_of(self, path: int) -> list[str]:
        """Return the names of the calls from the outermost to that of a path."""
        names = list[str]()
        while path >= 0:
            names.append(self.paths.labels[int(self.paths.name[path])])
            path = int(self.paths.parent[path])
        return names[::-1]

    @cached_property
    def _row_of_label(self) -> dict[int, int]:
        number = {text: row for row, text in enumerate(self.names.labels)}
        return {i: number[text] for i, text in enumerate(self.paths.labels) if text in number}

    def row_of(self, path: int) -> Row | None:
        """Return the row of the comparison that the call of a path is, None for a plain name."""
        row = self._row_of_label.get(int(self.paths.name[path]))
        return None if row is None or self.names.rows is None else self.names.rows.rows[row]

    def grade(self, path: int) -> tuple[Grade, str]:
        """Return how surely both arms have the same path, and why."""
        only_a, only_b = self.only
        if only_a[path] or only_b[path]:
            side = "A" if only_a[path] else "B"
            return Grade.ONLY_A if only_a[path] else Grade.ONLY_B, f"only in {side}"
        row = self.row_of(path)
        if row is not None and row.a and row.b:
            return row.grade, row.why
        return Grade.SAME if self.names.rows else Grade.BY_NAME, "same names of calls"


def has_records(calls: Comparison) -> bool:
    """Return whether both arms have an ETRecord, whose operators are better names of calls."""
    programs = calls.a.program, calls.b.program
    return all(program is not None and not program.is_recorded for program in programs)


def path_changes(
    calls: Comparison, rows: Comparison | None, noise: Noise | None = None
) -> PathChanges:
    """Return the changes of all paths.

    calls: the comparison by call. rows: what calls are named by: `calls`, the comparison by module,
    or None for the names of slices. noise: of the device.
    """
    names = PathNames(calls, rows)
    arms = calls.a, calls.b
    # Sessions of one file, such as those between restarts of its clock, have one column of paths.
    number: dict[int, int] = {}
    traces: list[tuple[Session, int]] = []
    for side, arm in enumerate(arms):
        for session in arm.sessions:
            if number.setdefault(id(session.table), len(traces)) == len(traces):
                traces.append((session, side))
    paths = joined_paths(traces, names)
    times = [
        [
            times_of_paths(session, paths, paths.of_slice[number[id(session.table)]])
            for session in arm.sessions
        ]
        for arm in arms
    ]
    self_times = (
        calls.scaled(0, _stacked(times[0], paths)),
        calls.scaled(1, _stacked(times[1], paths)),
    )
    total = paths.rolled(self_times[0]), paths.rolled(self_times[1])
    used, test = distinct_times(*total)
    index = np.flatnonzero(test >= 0)  # the others ran in no inference that counts
    every = [path_times for sessions in times for path_times in sessions]
    grain = paths.rolled(np.max([path_times.grain for path_times in every], axis=0))[used]
    is_estimated = ~np.all([path_times.measured for path_times in every], axis=0)
    measured = paths.rolled(is_estimated.astype(np.float64))[used] == 0
    inference = calls.inference_times
    figures = figures_of(
        np.column_stack([total[0][:, used], inference[0]]),
        np.column_stack([total[1][:, used], inference[1]]),
        np.append(grain, 0.0),
        np.append(measured, measured.all()),
        calls.is_of_time,
        None if noise is None else (noise, _deviations(noise, names, paths, used)),
        np.append(calls.confounded(len(used)), calls.is_confounded),
    )
    paths = paths.only(index)
    of_file = {
        session.table.trace.path: path_of_slice
        for (session, _), path_of_slice in zip(traces, paths.of_slice, strict=True)
    }
    total, self_times = ((a[:, index], b[:, index]) for a, b in (total, self_times))
    return PathChanges(calls, names, paths, total, self_times, figures, test[index], of_file)


def _stacked(times: Sequence[PathTimes], paths: JoinedPaths) -> Floats:
    return np.array([path_times.own for path_times in times]).reshape(len(times), len(paths))


def _deviations(noise: Noise, names: PathNames, paths: JoinedPaths, used: Ints) -> Floats:
    """The known deviations of some paths, and at last that of the inference."""
    deviations = [noise.typical] * len(paths.labels)
    if names.rows is not None:
        number = {text: i for i, text in enumerate(paths.labels)}
        for label, row in zip(names.labels, names.rows.rows, strict=True):
            if label in number:
                deviations[number[label]] = names.rows.deviation(noise, row)
    return np.append(np.array(deviations)[paths.name[used]], noise.inference)


# A comparison whose rows are call paths, for the command line.


def comparison_by(
    a: Arm,
    b: Arm,
    level: str = CALLS,
    noise: Noise | None = None,
    by_hand: HandPairs = NO_PAIRS,
    *,
    relative: bool = False,
) -> Comparison:
    """Return the comparison of two arms at any level, also by call path."""
    kind = PathComparison if level == PATH else Comparison
    return kind(a, b, level, noise, by_hand, relative=relative)


@dataclass(frozen=True, eq=False)
class _PathArm(Arm):
    """Sessions whose parts are paths, numbered as in `PathChanges`."""

    paths: tuple[Part, ...] = ()

    @cached_property
    def _numbering(self) -> tuple[tuple[Part, ...], dict[PartId, int], dict[int, Ints]]:
        return self.paths, {part.id: i for i, part in enumerate(self.paths)}, {}


class PathComparison(Comparison):
    """The changes of call paths, each a row; inner calls count in the rows of those around them."""

    def __init__(
        self,
        a: Arm,
        b: Arm,
        level: str = PATH,
        noise: Noise | None = None,
        by_hand: HandPairs = NO_PAIRS,
        *,
        relative: bool = False,
    ) -> None:
        super().__init__(a, b, CALLS, noise, by_hand, relative=relative)
        calls = Comparison(a, b, CALLS, by_hand=by_hand, relative=relative)
        self.changes = path_changes(calls, calls if has_records(calls) else None, noise)
        self.a, self.b = (
            _PathArm(arm.sessions, arm.choice, arm.method, level, self._parts(side))
            for side, arm in enumerate((a, b))
        )

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All paths, from the outermost calls to the innermost."""
        rows = []
        only_a, only_b = (mask.tolist() for mask in self.changes.only)
        for path in range(len(self.changes)):
            grade, why = self.changes.grade(path)
            label = BETWEEN.join(self.changes.names_of(path))
            a, b = () if only_b[path] else (path,), () if only_a[path] else (path,)
            rows.append(Row(PATH, label, grade, why, a, b))
        return tuple(rows)

    @cached_property
    def _all(self) -> tuple[Compared, ...]:
        changes = self.changes
        return (*map(changes.compared, range(len(changes))), changes.inference)

    @cached_property
    def _drifts(self) -> tuple[float | None, ...]:
        changes, calls = self.changes, self.changes.calls
        halves, grain = [], np.zeros(len(changes))
        for side, arm in enumerate((calls.a, calls.b)):
            first, last, half_grain = changes.halves(arm)
            halves.append(calls.with_half_inferences(side, first, last))
            grain = np.maximum(grain, half_grain)
        return drifts_of(halves, np.append(grain, 0.0))

    @cached_property
    def waterfall(self) -> Waterfall | None:
        """Where the change comes from, by self time: that of a call is not in the calls around."""
        a, b = self.inference.a_ns, self.inference.b_ns
        if a is None or b is None or not self.is_of_time:
            return None
        of_a, of_b = map(np.nan_to_num, self.changes.own_ns)
        change, (only_a, only_b) = of_b - of_a, self.changes.only
        in_a, in_b = float(change[only_a].sum()), float(change[only_b].sum())
        pairs = float(change.sum()) - in_a - in_b
        common = b - a if self.is_relative else 0.0
        return Waterfall(a, common, pairs, in_a, in_b, b - a - common - pairs - in_a - in_b, b)

    def _parts(self, side: int) -> tuple[Part, ...]:
        """The paths of an arm, with what its own side of their rows runs."""
        changes, parts = self.changes, []
        rows = changes.names.rows
        arm = None if rows is None else rows.b if side else rows.a
        for path in range(len(changes)):
            row, operators = changes.row_of(path), set[int]()
            if row is not None and arm is not None:
                operators = {i for n in (row.b if side else row.a) for i in arm.parts[n].operators}
            names = tuple(changes.names_of(path))
            part = PartId(PATH, -1, None, names)
            parts.append(Part(part, names[-1], "", tuple(sorted(operators)), False))
        return tuple(parts)
