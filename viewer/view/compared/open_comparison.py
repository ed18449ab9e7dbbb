"""A comparison of open profiles, with what the window needs of it: levels, slices, typical runs.

No Qt. Everything is computed from a workspace and frozen columns, so that it can be computed off
the GUI thread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.arms import figures_text
from viewer.analysis.comparison.changes.operators import OperatorChanges, operator_changes
from viewer.analysis.comparison.changes.path_changes import PathChanges, path_changes
from viewer.analysis.comparison.comparison import Compared, Comparison
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import CALLS, NAME
from viewer.analysis.comparison.sessions import Session
from viewer.analysis.comparison.slice_rows import rows_of_slices
from viewer.analysis.comparison.typical import typical_run
from viewer.arrays import Ints
from viewer.model.queries import parent_of, starts_in_run, tree
from viewer.model.trace import KeyKind, Run, Trace
from viewer.program.program import Program
from viewer.render.axis.gaps import Gaps
from viewer.render.axis.xmap import Axis
from viewer.view.compared.pair_gaps import ShownInference, pair_gaps
from viewer.view.compared_arms import ChosenArm, ComparedArms
from viewer.workspace.comparison_arms import arm_of, arm_problem
from viewer.workspace.run_choice import RunChoice, of_numbers, of_scope
from viewer.workspace.workspace import Workspace


class OpenComparison:
    """Two arms of open profiles, compared.

    chosen: which files and inferences the arms are. problem: why they cannot be compared, "" if
    they can.
    """

    def __init__(self, space: Workspace, chosen: ComparedArms) -> None:
        self.chosen = chosen
        self.arms = tuple(
            arm_of(space, choice_of(space, chosen_arm), frozenset(chosen_arm.paths))
            for chosen_arm in (chosen.a, chosen.b)
        )
        self.problem = next(
            (
                f"{name}: {problem}"
                for name, arm in zip("AB", self.arms, strict=True)
                if (problem := arm_problem(arm))
            ),
            "",
        )
        self._axes = {
            trace.path: Axis(space.clocks.ns_per_tick(trace), space.clocks.offset_ns(trace))
            for trace in space.traces
            if trace.path in chosen.paths
        }
        self._levels: dict[str, Comparison] = {}
        self._rows_of_slices: dict[tuple[str, str], Ints] = {}
        self._parents_of: dict[str, Ints] = {}
        self._paths: dict[str, PathChanges] = {}

    @property
    def calls(self) -> Comparison:
        """The comparison by calls, or by operator or name for profiles without calls."""
        return self.at(CALLS)

    def at(self, level: str) -> Comparison:
        """The comparison at a level of `rollups`."""
        comparison = self._levels.get(level)
        if comparison is None:
            comparison = self._levels[level] = Comparison(
                self.arms[0],
                self.arms[1],
                level,
                by_hand=self.chosen.by_hand,
                relative=self.chosen.relative,
            )
        return comparison

    def paths(self, by: str) -> PathChanges:
        """The changes of call paths; by: what calls are named by, "name", `CALLS` or `MODULE`."""
        if by not in self._paths:
            rows = None if by == NAME else self.at(by)
            self._paths[by] = path_changes(self.calls, rows)
        return self._paths[by]

    @property
    def subtitle(self) -> str:
        """What its figures are: "medians of 4 + 4 sessions", "inference 3 → inference 12"."""
        return figures_text(self.arms[0], self.arms[1], relative=self.calls.is_relative)

    @property
    def size(self) -> int:
        """The number of slices of all profiles: the time that a level takes grows with it."""
        every = (session.table.trace for arm in self.arms for session in arm.sessions)
        return sum({trace.path: len(trace.slices) for trace in every}.values())

    @property
    def rows(self) -> Sequence[tuple[Row, Compared]]:
        """The rows of `calls` with their figures."""
        return self._pairs

    @cached_property
    def _pairs(self) -> tuple[tuple[Row, Compared], ...]:
        return tuple(zip(self.calls.rows, self.calls.compared, strict=True))

    @cached_property
    def operators(self) -> OperatorChanges:
        """The changes of the operators of A by `calls`."""
        return operator_changes(self.calls)

    def program(self, side: int) -> Program | None:
        """The program that the sessions of an arm are linked to."""
        return self.arms[side].program

    def side_of(self, path: str) -> int | None:
        """The arm of a profile: 0 for A, 1 for B, None if it is in neither.

        A profile whose inferences are in both arms is in A.
        """
        for side, arm in enumerate((self.chosen.a, self.chosen.b)):
            if path in arm.paths:
                return side
        return None

    def rows_of_slices(self, path: str, level: str = CALLS) -> Ints | None:
        """The row of every slice of a profile at a level, -1 for none; None if it is in no arm."""
        session = self._session_of(path)
        if session is None:
            return None
        made_for = path, level
        if made_for not in self._rows_of_slices:
            compared, rows = self.at(level), np.full(len(session.table.trace.slices), -1)
            for side, chosen in enumerate((self.chosen.a, self.chosen.b)):
                if path in chosen.paths:
                    arm = compared.b if side else compared.a
                    rows_here = rows_of_slices(arm, side, compared.rows, session)
                    rows = np.where(rows >= 0, rows, rows_here)
            self._rows_of_slices[made_for] = rows
        return self._rows_of_slices[made_for]

    def slices_of_rows(self, path: str, rows: Collection[int], run: Run, level: str) -> Ints:
        """The outermost slices of some rows in an inference of a profile, ascending (int64)."""
        row_of, session = self.rows_of_slices(path, level), self._session_of(path)
        if row_of is None or session is None:
            return np.empty(0, np.int64)
        trace = session.table.trace
        is_wanted = np.zeros(len(self.at(level).rows) + 1, np.bool_)  # the last one is for no row
        is_wanted[list(rows)] = True
        wanted = is_wanted[row_of]
        indexes = np.flatnonzero(wanted)
        kinds = trace.keys.kind[trace.slices.key[indexes]]
        if (kinds != KeyKind.KERNEL).any():
            indexes = indexes[kinds != KeyKind.KERNEL]  # that of a call may be as long as the call
        indexes = starts_in_run(trace, run, indexes)
        parent = self._parents(trace)
        inside = (parent[indexes] >= 0) & wanted[parent[indexes]]
        outermost: Ints = indexes[~inside]
        return outermost

    def _parents(self, trace: Trace) -> Ints:
        """The slice that contains each slice of a profile, -1 for none; kept for the last two."""
        parents = self._parents_of.get(trace.path)
        if parents is None:
            shape = tree(trace.slices)
            parents = np.full(len(shape.index), -1)
            parents[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
            while len(self._parents_of) > 1:  # one per arm
                del self._parents_of[next(iter(self._parents_of))]
            self._parents_of[trace.path] = parents
        return parents

    def slices_of_path(self, file: str, path: int, run: Run, by: str) -> Ints:
        """The slices of a call path in an inference of a profile, ascending (int64).

        They start in it, or else are around it. path: a number of `paths(by)`.
        """
        of_slice, session = self.paths(by).of_file.get(file), self._session_of(file)
        if of_slice is None or session is None:
            return np.empty(0, np.int64)
        trace = session.table.trace
        indexes = np.flatnonzero(of_slice == path)
        inside = starts_in_run(trace, run, indexes)
        slices = trace.slices
        around = indexes[(slices.start[indexes] <= run.start) & (slices.end[indexes] >= run.end)]
        return inside if len(inside) else around

    def path_of_slice(self, file: str, index: int, by: str) -> int:
        """The call path that a slice of a profile is an occurrence or a part of, -1 for none."""
        changes, session = self.paths(by), self._session_of(file)
        of_slice = changes.of_file.get(file)
        if of_slice is None or session is None:
            return -1
        while 0 <= index < len(of_slice):
            if of_slice[index] < len(changes):
                return int(of_slice[index])
            index = parent_of(session.table.trace.slices, index)
        return -1

    def _session_of(self, path: str) -> Session | None:
        every = (session for arm in self.arms for session in arm.sessions)
        return next((session for session in every if session.table.trace.path == path), None)

    def typical(self, side: int) -> tuple[str, Run] | None:
        """The profile and the inference that shows an arm best, None without inferences.

        Both arms show the same method if they have one in common.
        """
        return self._typical[side]

    @cached_property
    def gaps(self) -> tuple[Gaps, Gaps] | None:
        """The gaps in the axes of A and B with which paired calls of the typical inferences align.

        None without two inferences of different profiles.
        """
        inferences = []
        for typical in self._typical:
            session = None if typical is None else self._session_of(typical[0])
            row_of = None if typical is None else self.rows_of_slices(typical[0])
            if typical is None or session is None or row_of is None:
                return None
            path, run = typical
            inferences.append(ShownInference(session.table.trace, run, self._axes[path], row_of))
        a, b = inferences
        return None if a.trace is b.trace else pair_gaps(a, b)

    @cached_property
    def _typical(self) -> tuple[tuple[str, Run] | None, ...]:
        of_a = typical_run(self.arms[0])
        method = "" if of_a is None or of_a[0].is_whole else of_a[0].method_of(of_a[1].scope)[0]
        both = of_a, typical_run(self.arms[1], method)
        return tuple(
            None if typical is None else (typical[0].table.trace.path, typical[1])
            for typical in both
        )


def choice_of(space: Workspace, arm: ChosenArm) -> RunChoice | None:
    """Which of the inferences of its profiles an arm has; None for all."""
    if not arm.numbers:
        return None
    if arm.scope:
        return of_scope(space, arm.paths, arm.numbers, arm.scope)
    return of_numbers(space, arm.numbers)
