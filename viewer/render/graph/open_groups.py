"""What of a model is visible: open and closed groups, or some operators; and the edges between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.program.dataflow import Dataflow
from viewer.render.graph.model_tree import GroupTree

MOST_BOXES = 72  # in the first view


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """What is visible of a tree.

    is_frame, is_box (per node): an open group, or a closed one or an operator; all else is hidden.
    box: per node the box that it is or that hides it, -1 for a frame, and for what is left out.
    parent, depth: of every visible node, the frame around it, and how many frames are.
    """

    tree: GroupTree
    is_frame: Bools
    is_box: Bools
    box: Ints
    parent: Ints
    depth: Ints

    @cached_property
    def boxes(self) -> Ints:
        """The boxes, ascending."""
        return np.flatnonzero(self.is_box)

    @cached_property
    def frames(self) -> Ints:
        """The frames, ascending, so outer ones first."""
        return np.flatnonzero(self.is_frame)

    @cached_property
    def box_of(self) -> Ints:
        """The box of every operator, -1 for none."""
        return np.append(self.box, -1)[self.tree.leaf]

    @cached_property
    def visible(self) -> Ints:
        """Frames and boxes, ascending."""
        return np.flatnonzero(self.is_frame | self.is_box)


def shown_groups(tree: GroupTree, opened: frozenset[int]) -> ShownGroups:
    """Return what is visible while some groups are open; the model itself always is."""
    count = len(tree)
    is_open = np.zeros(count, np.bool_)
    is_open[[node for node in opened if 0 <= node < count]] = True
    is_open &= tree.is_group
    is_open[0] = True
    box = np.full(count, -1, np.int64)
    for level in tree.levels[1:]:
        above = box[tree.parent[level]]
        parents = np.where(is_open[level], -1, level)
        box[level] = np.where(above >= 0, above, parents)
    is_frame: Bools = is_open & (box < 0)
    is_box: Bools = box == np.arange(count)
    return ShownGroups(tree, is_frame, is_box, box, tree.parent, tree.depth)


def shown_operators(tree: GroupTree, operators: Ints) -> ShownGroups:
    """Return some operators without the modules and calls around them: a neighborhood."""
    count = len(tree)
    leaves = tree.leaf[operators]
    leaves = leaves[leaves >= 0]
    is_frame, is_box = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    is_frame[0], is_box[leaves] = True, True
    box, parent = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    box[leaves], parent[0] = leaves, -1
    return ShownGroups(tree, is_frame, is_box, box, parent, (parent >= 0).astype(np.int64))


def first_opened(tree: GroupTree, most: int = MOST_BOXES) -> frozenset[int]:
    """Return the groups to open first: the outer ones, as long as there are at most `most` boxes.

    Groups of one depth that are alike (of one class and size) are opened together or not at all.
    """
    opened = {0}
    boxes = int(tree.members[0])
    front = [0]
    while front:
        inside = np.flatnonzero(np.isin(tree.parent, front) & tree.is_group).tolist()
        front = []
        alike: dict[tuple[str, int, int], list[int]] = {}
        for node in inside:
            key = tree.details[node], int(tree.kind[node]), int(tree.members[node])
            alike.setdefault(key, []).append(node)
        for nodes in alike.values():
            more = sum(int(tree.members[node]) - 1 for node in nodes)
            if boxes + more <= most:
                boxes += more
                opened.update(nodes)
                front += nodes
    return frozenset(opened)


@dataclass(frozen=True, eq=False)
class GroupEdges:
    """The data flow between operators, carried along the groups; edges of one place are merged.

    group, source, target (m): an edge inside a group, from one of its members to another one. The
    group itself as source or target stands for what is outside of it. count: how many edges of
    operators each carries. ptr, carried: which ones, as positions among the edges of operators.
    """

    group: Ints
    source: Ints
    target: Ints
    count: Ints
    ptr: Ints
    carried: Ints

    def __len__(self) -> int:
        return len(self.group)


def operator_edges(flow: Dataflow) -> tuple[Ints, Ints]:
    """Return producer and consumer of every edge of a program."""
    length = np.diff(flow.input_ptr)
    return flow.inputs.astype(np.int64), np.repeat(np.arange(len(length)), length)


def group_edges(groups: ShownGroups, producer: Ints, consumer: Ints) -> GroupEdges:
    """Return the edges between what is visible. Takes time in proportion to edges and depth."""
    box, parent, depth = groups.box_of, groups.parent, groups.depth
    a, b = box[producer], box[consumer]
    number = np.flatnonzero((a >= 0) & (b >= 0) & (a != b))
    a, b = a[number], b[number]
    parts: list[tuple[Ints, Ints, Ints, Ints]] = []
    rest = np.arange(len(number))
    while len(rest):
        inner, outer = parent[a[rest]], parent[b[rest]]
        met = inner == outer
        done = rest[met]
        parts.append((inner[met], a[done], b[done], number[done]))
        rest, inner, outer = rest[~met], inner[~met], outer[~met]
        # The deeper end leaves its group; of two that are equally deep, both do.
        up_a = depth[a[rest]] >= depth[b[rest]]
        up_b = depth[b[rest]] >= depth[a[rest]]
        leaving, coming = rest[up_a], rest[up_b]
        parts.append((inner[up_a], a[leaving], inner[up_a], number[leaving]))
        parts.append((outer[up_b], outer[up_b], b[coming], number[coming]))
        a[leaving], b[coming] = inner[up_a], outer[up_b]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else []
    if not columns:
        none = np.zeros(0, np.int64)
        return GroupEdges(none, none, none, none, np.zeros(1, np.int64), none)
    group, source, target, carried = columns
    order = np.lexsort((carried, target, source, group))
    group, source, target, carried = (column[order] for column in (group, source, target, carried))
    new = np.ones(len(group), np.bool_)
    new[1:] = (np.diff(group) != 0) | (np.diff(source) != 0) | (np.diff(target) != 0)
    start = np.flatnonzero(new)
    ptr = np.append(start, len(group))
    return GroupEdges(group[start], source[start], target[start], np.diff(ptr), ptr, carried)
