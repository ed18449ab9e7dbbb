"""What the Calls panel shows: the nodes of a call tree in a scope, with their boxes and colors.

Everything is computed here, off the GUI thread for a large trace, and as columns: a tree of 100,000
nodes has no object per node. No Qt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.calls.paths import FRAMES
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.arrays import Bools, Ints, narrow
from viewer.gui.panels.calls.shown_calls import CallRows, Matches, ShownCalls
from viewer.model.figures import TimeScope
from viewer.model.text import display_name
from viewer.render.color_schemes import LengthRange
from viewer.render.flame_graph.boxes import (
    FlameGraph,
    FlameLayout,
    colors_of_weights,
    flame_graph,
    group_weights,
)
from viewer.render.lod import weights_of
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace, palette_of

# Nodes of a bottom-up tree; a tree of long paths has fewer levels of callers instead.
_MOST_CALLERS = 1_000_000
_FEWEST_LEVELS = 2


class CallMode(Enum):
    """The kind of a tree; its value is the key of `CallTree`, and whether it is bottom-up."""

    TOP_DOWN = "name", False
    BOTTOM_UP = "name", True
    MODULE = "module", False
    OPERATOR = "operator", False

    @property
    def key(self) -> str:
        """What slices are merged by."""
        return self.value[0]

    @property
    def is_inverted(self) -> bool:
        """Whether the callers of a name are below it."""
        return self.value[1]


class CallTrees:
    """The call trees of one trace with inferences as they ran, each made on first use."""

    def __init__(self, open_trace: OpenTrace) -> None:
        self.shown = open_trace
        self._groups = GroupKeys(open_trace.table)
        self._made: dict[str, CallTree] = {}

    def missing(self, mode: CallMode) -> str:
        """Return why the trace has no such tree, as a sentence; "" if it has one."""
        return self._groups.missing(mode.key)

    @property
    def first_mode(self) -> CallMode:
        """The tree to start with: by name, but by module where the ETRecord's operators ran.

        There the names are those of the runtime, which are the same in every model.
        """
        table = self.shown.table
        if table.program_path is None or not table.sets:
            return CallMode.TOP_DOWN
        return CallMode.OPERATOR if self.missing(CallMode.MODULE) else CallMode.MODULE

    def tree(self, key: str) -> CallTree:
        """Return the tree by a key that the trace has."""
        if key not in self._made:
            self._made[key] = CallTree(self.shown.table, key, self._groups)
        return self._made[key]


@dataclass(frozen=True, slots=True)
class CallsQuestion:
    """What to show.

    focus: the names from the root to the node that is shown alone, () for all. scheme, lengths: the
    colors of the timeline.
    """

    trees: CallTrees
    scope: TimeScope
    mode: CallMode
    focus: tuple[str, ...]
    scheme: str
    lengths: LengthRange | None


@dataclass(frozen=True, eq=False)
class CallsAnswer(ShownCalls):
    """The nodes of a tree with their costs, siblings by descending width in the flame graph.

    A width is the total of a node, or bottom-up its self time. calls: bottom-up, all nodes of the
    scope, top-down from the processes on; otherwise the table. uncut: the durations of the counted
    slices of each node together. sampled: how many of these slices are made of samples. focus: ()
    also if its node is not in the scope. levels: how many levels are shown bottom-up, 0 for all.
    outer_levels: how many outer levels have one node only: 2 for a single thread, 1 for a process.
    """

    question: CallsQuestion
    tree_of_calls: CallTree
    calls: CallTable
    uncut: Ints
    sampled: Ints
    levels: int
    outer_levels: int

    def picture(self, scope: str) -> FlameGraph:
        inverted = self.question.mode.is_inverted
        first_frame = 0 if inverted or self.focus else FRAMES - self.outer_levels
        return flame_graph(
            self.table,
            display_name(self.shown.trace.path),
            scope,
            ns_per_tick=self.shown.axis.ns_per_tick,
            bottom_up=inverted,
            first_frame=first_frame,
        )

    @property
    def shown(self) -> OpenTrace:
        """The trace, with inferences as they ran."""
        return self.question.trees.shown

    @property
    def tree(self) -> CallTree:
        """The call tree of the trace."""
        return self.tree_of_calls

    @property
    def is_inverted(self) -> bool:
        return self.question.mode.is_inverted

    @cached_property
    def count(self) -> int:
        """How many calls are shown."""
        table = self.table
        counts = table.depth == 0 if self.question.mode.is_inverted else slice(None)
        return int(table.count[counts].sum())

    def numbers(self, node: int) -> Ints:
        """Return the numbers in `tree` of the paths that a node stands for."""
        from viewer.analysis.calls.bottom_up import called

        if self.question.mode.is_inverted:
            return self.calls.number[called(self.calls, self.table, node)]
        return self.table.number[node : node + 1]

    def node_of(self, index: int) -> int:
        """Return the node of a slice, bottom-up that of its name; -1 if it is not shown."""
        number = self.tree.number_of(index)
        if number < 0:
            return -1
        if not self.question.mode.is_inverted:
            return self.node_numbered(number)
        nodes = np.flatnonzero(self.calls.number == number)
        if not len(nodes):
            return -1
        name = self.calls.name[nodes[0]]
        roots = np.flatnonzero((self.table.depth == 0) & (self.table.name == name))
        return int(roots[0]) if len(roots) else -1


def _timed(calls: CallTable) -> CallTable:
    """Leave out processes without time, as of instants, if others have time."""
    roots = np.flatnonzero(calls.depth == 0)
    timed = np.repeat(calls.total[roots] > 0, np.diff(roots, append=len(calls)))
    return calls.kept(timed) if timed.any() else calls


def work_out(question: CallsQuestion) -> CallsAnswer:
    """Answer a question; a pure function."""
    from viewer.analysis.calls.bottom_up import bottom_up

    trees, mode = question.trees, question.mode
    tree = trees.tree(mode.key)
    calls = _timed(tree.table(question.scope))
    uncut = _of_nodes(tree.uncut(question.scope), calls)
    # Nothing is cut, then, and there is no mean of no calls.
    is_total = bool(((uncut == calls.total) | (calls.count == 0)).all()) and not mode.is_inverted
    uncut = calls.total if is_total else uncut
    sampled = _of_nodes(tree.sampled(question.scope), calls)
    outer_levels = _levels_of_one(calls)
    outer = calls.name[calls.depth < outer_levels]
    no_calls = np.unique(calls.name[calls.depth < FRAMES])
    levels = 0
    if mode.is_inverted:
        levels = _levels(calls)
        table = bottom_up(calls, levels or None)
        # The same nodes again, with these sums in the place of counts.
        mask = ~np.isin(table.name, outer)
        table = table.kept(mask)
        sums, of_samples = (
            bottom_up(_counting(calls, values), levels or None).count[mask]
            if values.any()
            else np.zeros(len(table), np.int64)
            for values in (uncut, sampled)
        )
    else:
        sums, of_samples = uncut, sampled
        if outer_levels:
            keep = calls.depth >= outer_levels
            sums, of_samples = uncut[keep], sampled[keep]
        table = calls.from_depth(outer_levels)
    focus = question.focus
    node = table.find(focus) if focus else None
    if node is None:
        focus = ()
    else:
        part = slice(node, node + int(table.size[node]))
        sums, of_samples = sums[part], of_samples[part]
        table = table.subtree(node)
    table, order = _sorted(table, table.self_ticks if mode.is_inverted else table.total)
    width = table.self_ticks if mode.is_inverted else table.total
    sums = table.total if is_total else sums[order]
    of_samples = of_samples[order] if of_samples.any() else of_samples
    if not mode.is_inverted:
        calls = table
    del order, uncut  # of ten million nodes, what is not needed for the boxes takes 300 MB
    color = _colors(question, tree, calls, table)
    layout = FlameLayout.of(table.parent, table.depth, width)
    _ = table.size  # cached here, as is the order of names: the GUI thread needs them
    is_call = ~np.isin(table.name, no_calls)
    answer = CallsAnswer(
        table,
        width,
        is_call,
        color,
        layout,
        layout.raster(color),
        CallRows(table),
        focus,
        question,
        tree,
        calls,
        sums,
        of_samples,
        levels,
        outer_levels,
    )
    _ = answer.label_rank
    return answer


def matches_of(answer: CallsAnswer, text: str) -> Matches:
    """Search the names of calls for a text; case is ignored. A pure function."""
    mask = answer.table.matching(text) & answer.is_call
    calls, hits = answer.table, mask
    if answer.question.mode.is_inverted:
        # Totals below a name are parts of its own: only top-down do they add up.
        calls = answer.calls
        hits = calls.matching(text) & (calls.depth >= FRAMES)
    whole = int(calls.total[calls.depth == 0].sum())
    ticks = int(calls.total[calls.outermost(hits)].sum())
    boxes = answer.layout.raster_of(mask, answer.color)
    around = answer.table.with_parents(mask)
    if answer.question.mode.is_inverted:
        around |= _inside(answer.table, mask)  # the callers are what one looks for
    count = int(calls.count[hits].sum())
    return Matches(answer, mask, around, boxes, count, ticks, whole)


def _inside(table: CallTable, mask: Bools) -> Bools:
    """Return which nodes are in the subtrees of some nodes."""
    indexes = np.flatnonzero(mask)
    change = np.zeros(len(table) + 1, np.int64)
    np.add.at(change, indexes, 1)
    np.add.at(change, indexes + table.size[indexes], -1)
    is_inside: Bools = np.cumsum(change[:-1]) > 0
    return is_inside


def _of_nodes(values: Ints, calls: CallTable) -> Ints:
    """Return the values of the nodes of a table, given those of all nodes of its tree."""
    return values if len(values) == len(calls) else values[calls.number]


def _counting(table: CallTable, sums: Ints) -> CallTable:
    """Return a table with sums in the place of its counts."""
    return replace(table, count=sums)


def _sorted(table: CallTable, values: Ints) -> tuple[CallTable, Ints]:
    """Return the nodes with siblings by descending value, and the place of each in the table."""
    call_table = replace(table, number=narrow(np.arange(len(table)))).sorted_by(values)
    return replace(call_table, number=table.number[call_table.number]), call_table.number


def _levels_of_one(calls: CallTable) -> int:
    """Return how many outer levels have one node only: 2 for a single thread, 1 for a process."""
    if np.count_nonzero(calls.depth == 0) != 1:
        return 0
    return FRAMES if np.count_nonzero(calls.depth == 1) == 1 else 1


def _levels(calls: CallTable) -> int:
    """Return how many levels of callers there is room for, 0 for all."""
    lengths = np.sort(calls.depth[calls.depth >= FRAMES] + 1)
    if int(lengths.sum()) <= _MOST_CALLERS:
        return 0
    # With at most n levels, a path of length k has min(k, n) nodes.
    shorter = np.cumsum(lengths)
    longer = len(lengths) - 1 - np.arange(len(lengths))
    fits = shorter + longer * lengths <= _MOST_CALLERS
    return max(int(lengths[fits].max(initial=0)), _FEWEST_LEVELS)


def _colors(question: CallsQuestion, tree: CallTree, calls: CallTable, table: CallTable) -> Palette:
    """Return the color of every node: that of its slices on the timeline.

    Bottom-up, it is that of all slices with its name.
    """
    open_trace = question.trees.shown
    slices, palette = (
        open_trace.trace.slices,
        palette_of(open_trace, question.scheme, question.lengths),
    )
    weights = weights_of(slices.start, slices.end, palette)
    weight = group_weights(tree.numbers, weights, len(tree))
    if not question.mode.is_inverted:
        return colors_of_weights(weight[table.number])
    by_name = group_weights(calls.name, weight[calls.number], len(calls.labels))
    return colors_of_weights(by_name[table.name])
