"""A comparison whose rows are call paths, for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.comparison.arms import CALLS, PATH, Arm, drifts_of
from viewer.analysis.comparison.changes.paths.path_changes import (
    BETWEEN,
    has_records,
    path_changes,
)
from viewer.analysis.comparison.comparison import Compared, Comparison, Waterfall
from viewer.analysis.comparison.hand_pairs import NO_PAIRS, HandPairs
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.noise import Noise
from viewer.analysis.comparison.sessions import Part, PartId
from viewer.arrays import Ints


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
        found = []
        only_a, only_b = (some.tolist() for some in self.changes.only)
        for path in range(len(self.changes)):
            grade, why = self.changes.grade(path)
            label = BETWEEN.join(self.changes.names_of(path))
            a, b = () if only_b[path] else (path,), () if only_a[path] else (path,)
            found.append(Row(PATH, label, grade, why, a, b))
        return tuple(found)

    @cached_property
    def _all(self) -> tuple[Compared, ...]:
        changes = self.changes
        return (*map(changes.compared, range(len(changes))), changes.inference)

    @cached_property
    def _drifts(self) -> tuple[float | None, ...]:
        changes, calls = self.changes, self.changes.calls
        halves, grain = [], np.zeros(len(changes))
        for side, arm in enumerate((calls.a, calls.b)):
            first, last, own = changes.halves(arm)
            halves.append(calls.with_half_inferences(side, first, last))
            grain = np.maximum(grain, own)
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
        changes, found = self.changes, []
        rows = changes.names.rows
        arm = None if rows is None else rows.b if side else rows.a
        for path in range(len(changes)):
            row, operators = changes.row_of(path), set[int]()
            if row is not None and arm is not None:
                operators = {i for n in (row.b if side else row.a) for i in arm.parts[n].operators}
            names = tuple(changes.names_of(path))
            part = PartId(PATH, -1, None, names)
            found.append(Part(part, names[-1], "", tuple(sorted(operators)), False))
        return tuple(found)
