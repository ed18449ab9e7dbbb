"""What slices are called in the paths of a comparison, the same in both arms.

By name, a path has the names of slices, without what differs between two processes: the address of
an object, and the number of a step. By operator or module, a slice that a row of the comparison
counts has the label of this row. So operators that belong together have one name, even if their
modules were renamed, and the kernels that a delegate call replaces have that of the call. A kernel
is part of its call, and an event inside a delegate call keeps its own name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from viewer.analysis.comparison.arms import LEVELS_OF_CALLS, Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.rollups import NAME, groups_of_keys, plain_names
from viewer.analysis.comparison.sessions import PartId, Session
from viewer.analysis.comparison.slice_rows import calls_of_keys
from viewer.analysis.statistics.group_keys import KeyGroups
from viewer.arrays import Ints
from viewer.model.names.executorch import EXECUTE
from viewer.model.trace import KeyKind


class PathNames:
    """The names by the rows of a comparison; by the names of slices without one.

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
    part = [arm.number.get(PartId(arm.level, -1, None, own), -1) for own in groups]
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
