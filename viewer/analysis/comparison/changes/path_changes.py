"""The changes of call paths between two arms: the call trees of both, joined by path.

A path is the names of the calls from the outermost to the innermost (`path_names`), over all
processes and threads. Its self time is what is in no other path below it, and its total is the sum
of the self times of its subtree (`path_times`). So totals add up, and time is never divided. Paths
that only one arm runs are kept.

Totals are tested as one family, with the whole inference. Paths with the same times, such as a call
and the only one in it, count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.arms import Arm, drifts_of, half_sessions, median_of_sessions
from viewer.analysis.comparison.changes.joined_paths import (
    JoinedPaths,
    PathNames,
    PathOfSlice,
    PathTimes,
    joined_paths,
    times_of_paths,
)
from viewer.analysis.comparison.comparison import (
    Compared,
    Comparison,
    Figures,
    Waterfall,
    figures_of,
)
from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import CALLS, PATH
from viewer.analysis.comparison.noise import Noise
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.session_test import distinct_times
from viewer.analysis.comparison.sessions import Part, PartId, Session
from viewer.arrays import Bools, Floats, Ints

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
