"""What the Calls panel shows: the nodes of a call tree in a scope, with their boxes and colors.

Everything is computed here, off the GUI thread for a large trace, and as columns: a tree of 100,000
nodes has no object per node. No Qt.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.calls.call_table import CallTable, preorder
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.calls.paths import FRAMES
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.calls.shown_calls import CallRows, Matches, PlacedCalls, ShownCalls
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

    A width is the total of a node, or bottom-up its self time. top_down: of a bottom-up tree, all
    nodes of the scope, top-down from the processes on. given_uncut: the durations of the counted
    slices of each node together, None if these are the totals. sampled: how many of these slices
    are made of samples, None if none is. focus: () also if its node is not in the scope. levels:
    how many levels are shown bottom-up, 0 for all. outer_levels: how many outer levels have one
    node only: 2 for a single thread, 1 for a process.
    """

    question: CallsQuestion
    tree_of_calls: CallTree
    top_down: CallTable | None
    given_uncut: Ints | None
    sampled: Ints | None
    levels: int
    outer_levels: int

    def picture(self, scope: str) -> FlameGraph:
        inverted = self.question.mode.is_inverted
        first_frame = 0 if inverted or self.focus else FRAMES - self.outer_levels
        return flame_graph(
            self.table.table(),
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

    def is_sampled(self, node: int) -> bool:
        """Return whether slices of a node are made of samples, so that nobody counted its calls."""
        return self.sampled is not None and bool(self.sampled[node])

    @property
    def uncut(self) -> Ints:
        """The durations of the counted slices of each node together; may be computed on use."""
        return self.table.total if self.given_uncut is None else self.given_uncut

    def uncut_at(self, places: slice) -> Ints:
        """Return the same of the nodes at some places."""
        if self.given_uncut is None:
            return self.table.total_at(places)
        return self.given_uncut[self.layout.order[places]]

    def uncut_of(self, node: int) -> int:
        """Return the durations of the counted slices of a node together."""
        if self.given_uncut is None:
            return self.table.total_of(node)
        return int(self.given_uncut[node])

    @cached_property
    def count(self) -> int:
        """How many calls are shown."""
        table = self.table
        counts = table.depth == 0 if self.question.mode.is_inverted else slice(None)
        return int(table.count[counts].sum())

    def numbers(self, node: int) -> Ints:
        """Return the numbers in `tree` of the paths that a node stands for."""
        from viewer.analysis.calls.call_tree import called

        if self.top_down is not None:
            return self.top_down.number[called(self.top_down, self.table, node)]
        return self.table.number[node : node + 1]

    def node_of(self, index: int) -> int:
        """Return the node of a slice, bottom-up that of its name; -1 if it is not shown."""
        number = self.tree.number_of(index)
        if number < 0:
            return -1
        if self.top_down is None:
            return self.node_numbered(number)
        nodes = np.flatnonzero(self.top_down.number == number)
        if not len(nodes):
            return -1
        name = self.top_down.name[nodes[0]]
        roots = np.flatnonzero((self.table.depth == 0) & (self.table.name == name))
        return int(roots[0]) if len(roots) else -1


def _timed(calls: CallTable) -> CallTable:
    """Leave out processes without time, as of instants, if others have time."""
    roots = np.flatnonzero(calls.depth == 0)
    timed = np.repeat(calls.total[roots] > 0, np.diff(roots, append=len(calls)))
    return calls.kept(timed) if timed.any() else calls


def work_out(question: CallsQuestion) -> CallsAnswer:
    """Answer a question; a pure function."""
    from viewer.analysis.calls.call_tree import bottom_up

    trees, mode, scope = question.trees, question.mode, question.scope
    tree = trees.tree(mode.key)
    calls = _timed(tree.table(scope))
    sums = _of_nodes(tree.uncut(scope), calls)
    # Nothing is cut, then, and there is no mean of no calls.
    is_total = bool(((sums == calls.total) | (calls.count == 0)).all()) and not mode.is_inverted
    uncut = None if is_total else sums
    del sums
    samples = tree.sampled(scope)
    sampled = None if samples is None else _of_nodes(samples, calls)
    outer_levels = _levels_of_one(calls)
    outer = calls.name[calls.depth < outer_levels]
    no_calls = np.unique(calls.name[calls.depth < FRAMES])
    levels, top_down = 0, None
    if mode.is_inverted:
        levels, top_down = _levels(calls), calls
        table = bottom_up(calls, levels or None)
        mask = ~np.isin(table.name, outer)
        table = table.kept(mask)
        # The same nodes again, with these sums in the place of counts.
        uncut, sampled = (
            None
            if values is None
            else bottom_up(replace(calls, count=values), levels or None).count[mask]
            for values in (uncut, sampled)
        )
    else:
        if outer_levels:
            keep = calls.depth >= outer_levels
            uncut, sampled = _rows(uncut, keep), _rows(sampled, keep)
        table = calls.from_depth(outer_levels)
    focus = question.focus
    node = table.find(focus) if focus else None
    if node is None:
        focus = ()
    else:
        part = slice(node, node + int(table.size[node]))
        uncut, sampled = _rows(uncut, part), _rows(sampled, part)
        table = table.subtree(node)
    order = preorder(table.parent, table.depth, -_width(table, mode))
    uncut, sampled = _rows(uncut, order), _rows(sampled, order)
    del calls  # of ten million nodes, what is not needed for the boxes takes 400 MB
    nodes = _placed(table, order, mode)
    del table, order
    color = _colors(question, tree, top_down, nodes)
    answer = CallsAnswer(
        nodes,
        no_calls,
        color,
        nodes.layout.raster(color),
        CallRows(nodes),
        focus,
        question,
        tree,
        top_down,
        uncut,
        sampled,
        levels,
        outer_levels,
    )
    _ = answer.label_rank  # cached here: the GUI thread needs it
    return answer


def _rows(values: Ints | None, rows: Ints | Bools | slice) -> Ints | None:
    return None if values is None else values[rows]


def _width(table: CallTable, mode: CallMode) -> Ints:
    return table.self_ticks if mode.is_inverted else table.total


def _placed(table: CallTable, order: Ints, mode: CallMode) -> PlacedCalls:
    """Return the nodes of a table in another order, with their boxes."""
    layout = FlameLayout.of(table.depth[order], _width(table, mode)[order])
    has_totals = layout.is_exact and not mode.is_inverted
    return PlacedCalls(
        table.labels,
        table.name[order],
        table.number[order],
        table.count[order],
        None if table.zeros is None else table.zeros[order],
        layout,
        None if has_totals else table.total[order],
        None if has_totals else table.self_ticks[order],
    )


def matches_of(answer: CallsAnswer, text: str) -> Matches:
    """Search the names of calls for a text; case is ignored. A pure function."""
    mask = answer.table.matching(text) & answer.is_call
    calls: CallTable | PlacedCalls = answer.table
    hits = mask
    if answer.top_down is not None:
        # Totals below a name are parts of its own: only top-down do they add up.
        calls = answer.top_down
        hits = calls.matching(text) & (calls.depth >= FRAMES)
    total, size = calls.total, answer.table.size
    whole = int(total[calls.depth == 0].sum())
    outermost = calls.outermost(hits, size if answer.top_down is None else None)
    ticks = int(total[outermost].sum())
    boxes = answer.layout.raster_of(mask, answer.color)
    around = answer.table.with_parents(mask, size)
    if answer.top_down is not None:
        around |= _inside(mask, size)  # the callers are what one looks for
    count = int(calls.count[hits].sum())
    return Matches(answer, mask, around, boxes, count, ticks, whole)


def _inside(mask: Bools, size: Ints) -> Bools:
    """Return which nodes are in the subtrees of some nodes; size: of the subtree of each."""
    indexes = np.flatnonzero(mask)
    change = np.zeros(len(mask) + 1, np.int64)
    np.add.at(change, indexes, 1)
    np.add.at(change, indexes + size[indexes], -1)
    is_inside: Bools = np.cumsum(change[:-1]) > 0
    return is_inside


def _of_nodes(values: Ints, calls: CallTable) -> Ints:
    """Return the values of the nodes of a table, given those of all nodes of its tree."""
    return values if len(values) == len(calls) else values[calls.number]


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


def _colors(
    question: CallsQuestion, tree: CallTree, top_down: CallTable | None, nodes: PlacedCalls
) -> Palette:
    """Return the color of every node: that of its slices; bottom-up, of all slices of its name."""
    open_trace = question.trees.shown
    slices = open_trace.trace.slices
    palette = palette_of(open_trace, question.scheme, question.lengths)
    weights = weights_of(slices.start, slices.end, palette)
    weight = group_weights(tree.numbers, weights, len(tree))
    if top_down is None:
        return colors_of_weights(weight[nodes.number])
    by_name = group_weights(top_down.name, weight[top_down.number], len(top_down.labels))
    return colors_of_weights(by_name[nodes.name])
