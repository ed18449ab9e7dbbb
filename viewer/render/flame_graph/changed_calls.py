"""The call paths of two arms as the nodes of a differential flame graph.

A box is as wide as the time of its path in B. Paths that only A has are no part of any box of B:
they are boxes of A's time inside one of their own, "Only in A", to the right of all others. The
color of a box is its verdict: slower, faster, or gray. Paths of one arm are hatched.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.comparison.comparison import VERDICTS, Verdict
from viewer.analysis.comparison.path_changes import PathChanges
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass, replace
from viewer.render.palette import FASTER, FRAME, SLAB, SLOWER, UNLINKED, Palette

ONLY_A = "Only in A"


@dataclass(frozen=True, eq=False)
class ChangedCalls:
    """The nodes of a differential flame graph, siblings by descending width.

    table: in ns of B, or of A inside "Only in A". Its numbers are paths of `changes`, -1 for "Only
    in A", and its counts are 0.
    """

    changes: PathChanges
    table: CallTable

    @property
    def number(self) -> Ints:
        """Per node its path, -1 for "Only in A"."""
        return self.table.number

    @cached_property
    def change_ns(self) -> Floats:
        """Per node how much longer B takes, in ns; that of "Only in A" is the sum of its paths."""
        change = np.append(self.changes.change_ns, 0.0)[self.number]
        change[self.number < 0] = -self.table.total[self.number < 0]
        return change

    @cached_property
    def color(self) -> Palette:
        """The palette index of every node."""
        of_verdict = [
            {Verdict.SLOWER: SLOWER, Verdict.FASTER: FASTER}.get(verdict, SLAB)
            for verdict in VERDICTS
        ]
        colors = np.array(of_verdict, np.uint8)[self.changes.verdict]
        only_a, only_b = self.changes.only
        colors[only_a | only_b] = UNLINKED
        return np.append(colors, np.uint8(FRAME))[self.number]

    @property
    def is_proven(self) -> Bools:
        """Which nodes are proven to be slower or faster."""
        mask: Bools = (self.color == SLOWER) | (self.color == FASTER)
        return mask

    def part(self, node: int) -> ChangedCalls:
        """Return a node and what is below it, alone."""
        return replace(self, table=self.table.subtree(node))


def changed_calls(changes: PathChanges) -> ChangedCalls:
    """Return the nodes of all paths."""
    paths, (total_a, total_b), (own_a, own_b) = changes.paths, changes.total_ns, changes.own_ns
    only_a = changes.only[0]
    place = np.append(np.where(only_a, -1, np.cumsum(~only_a) - 1), -1)
    rows, gone = np.flatnonzero(~only_a), np.flatnonzero(only_a)
    parent, depth = place[paths.parent[rows]], paths.depth[rows]
    number, name, labels = rows, paths.name[rows], paths.labels
    if len(gone):
        root = len(rows)
        place[gone] = root + 1 + np.arange(len(gone))
        is_top = ~np.append(only_a, False)[paths.parent[gone]]
        tops = np.flatnonzero(is_top)
        # What is below a top follows it.
        own_depth = paths.depth[gone] - paths.depth[gone[tops]][np.cumsum(is_top) - 1] + 1
        parent = np.concatenate([parent, [-1], np.where(is_top, root, place[paths.parent[gone]])])
        depth = np.concatenate([depth, [0], own_depth])
        number = np.concatenate([rows, [-1], gone])
        name = np.concatenate([name, [len(labels)], paths.name[gone]])
        labels = (*labels, ONLY_A)
    total, self_ns = _whole_ns(total_a, total_b, number), _whole_ns(own_a, own_b, number)
    group = number < 0
    total[group] = total[(parent >= 0) & np.append(group, False)[parent]].sum()
    self_ns[group] = 0
    table = CallTable(
        labels,
        parent,
        name,
        depth,
        number,
        total,
        self_ns,
        np.zeros(len(number), np.int64),
    )
    return ChangedCalls(changes, table.sorted_by(np.where(group, -1, total)))


def _whole_ns(a: Floats, b: Floats, number: Ints) -> Ints:
    """The ns of B, or of A for what B does not have."""
    whole: Ints = np.rint(np.append(np.nan_to_num(np.where(np.isnan(b), a, b)), 0)).astype(np.int64)
    return whole[number]
