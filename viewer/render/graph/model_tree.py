"""A whole model as nested groups, and which of them are open or closed.

Groups are modules, delegate calls in them, and operators as leaves. Inside a module, what one
delegate call runs is a group of its own, since a call may cover parts of several modules. An
operator of several calls, or that partly runs outside of them, is in none. A module with one member
is left out: its content takes its place. Very many members are divided into runs, so that every
group can be opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property
from math import ceil

import numpy as np

from viewer.analysis.delegates.delegation import Instance
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.program.dataflow import Dataflow
from viewer.program.module_tree import Module, ModuleKind, ModuleTree, module_tree
from viewer.program.program import Program

MOST_MEMBERS = 50  # of a group; more are divided into runs
_DEEPEST = 40  # modules that are nested deeper are not groups


class GroupKind(IntEnum):
    """What a node of the tree is. RUN: consecutive members of a large group."""

    MODEL = 0
    MODULE = 1
    CALL = 2
    RUN = 3
    OPERATOR = 4


@dataclass(frozen=True, eq=False)
class GroupTree:
    """The nodes of the tree in preorder, as columns; node 0 is the model.

    kind: of `GroupKind`. parent: -1 for the model. end: the nodes inside a node are those from its
    own number + 1 to `end` - 1. depth: 0 for the model. operator: index into `Program.operators`,
    -1 for a group. call: index into the delegate calls that the tree was made of, -1 for what is no
    such group. names: the path of a module in the module around it, the operator, "" for a call.
    details: the class of a module, the path of the module of an
    operator in the module around it. leaf: the node of every
    operator (-1 for none).
    """

    kind: Ints
    parent: Ints
    end: Ints
    depth: Ints
    operator: Ints
    call: Ints
    names: tuple[str, ...]
    details: tuple[str, ...]
    leaf: Ints

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def is_group(self) -> Bools:
        """Per node, whether it has members."""
        mask: Bools = self.end > np.arange(len(self)) + 1
        return mask

    @cached_property
    def members(self) -> Ints:
        """How many direct members each node has."""
        return np.bincount(self.parent[1:], minlength=len(self))

    @cached_property
    def operators(self) -> Ints:
        """How many operators are in each node; 1 for an operator."""
        return self.count_inside(self.operator >= 0)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The nodes of every depth."""
        order = np.argsort(self.depth, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.depth))[:-1]))

    def count_inside(self, flags: Bools) -> Ints:
        """Return per node how many nodes have a flag, of those in it and itself."""
        upto = np.concatenate([[0], np.cumsum(flags)])
        counts: Ints = upto[self.end] - upto[:-1]
        return counts

    def inside(self, node: int) -> Ints:
        """Return the operators in a node, in the order of the tree."""
        operators = self.operator[node : int(self.end[node])]
        operators_inside: Ints = operators[operators >= 0]
        return operators_inside

    def around(self, node: int) -> list[int]:
        """Return the groups around a node, innermost first."""
        nodes = []
        node = int(self.parent[node])
        while node >= 0:
            nodes.append(node)
            node = int(self.parent[node])
        return nodes


def group_tree(program: Program, calls: Sequence[Instance]) -> GroupTree:
    """Return the tree of a program. calls: its delegate calls with their operators."""
    return _Builder(program, module_tree(program), calls).tree()


@dataclass(frozen=True, slots=True)
class _Item:
    """A member of a group: a module of the module tree, or an operator. first: its first one."""

    is_module: bool
    number: int
    first: int


@dataclass(frozen=True, slots=True)
class _Planned:
    """A node that is still to be numbered.

    items: what is in a module or call. ready: the members of a run. module, call: around its
    members. own_call, operator: as in `GroupTree`.
    """

    kind: GroupKind
    name: str = ""
    detail: str = ""
    items: tuple[_Item, ...] = ()
    ready: tuple[_Planned, ...] = ()
    module: int = 0
    call: int = -1
    own_call: int = -1
    operator: int = -1


class _Builder:
    def __init__(self, program: Program, modules: ModuleTree, calls: Sequence[Instance]) -> None:
        self._program, self._modules = program, modules
        count = len(program.operators)
        self._call_of = np.full(count, -1, np.int64)
        for number, call in enumerate(calls):
            self._call_of[list(call.operators)] = number
        of_calls = [operator for call in calls for operator in call.operators]
        parts = np.bincount(np.array(of_calls, np.int64), minlength=count)
        self._call_of[(parts > 1) | _runs_outside(program)] = -1
        self._first, self._call_of_module = self._module_facts(count)

    def _module_facts(self, count: int) -> tuple[list[int], list[int]]:
        """Return per module its first operator (`count` for none), and its call if it has one."""
        tree = self._modules.modules
        none = len(self._program.operators) + 1  # more than any call
        first, low, high = [count] * len(tree), [none] * len(tree), [-1] * len(tree)
        for number in range(len(tree) - 1, -1, -1):
            operators = list(tree[number].operators)
            calls = self._call_of[operators].tolist()
            first[number] = min([first[number], *operators])
            low[number], high[number] = min([low[number], *calls]), max([high[number], *calls])
            parent = tree[number].parent
            if parent >= 0:
                first[parent] = min(first[parent], first[number])
                low[parent] = min(low[parent], low[number])
                high[parent] = max(high[parent], high[number])
        same = [a if a == b else -1 for a, b in zip(low, high, strict=True)]
        return first, same

    def tree(self) -> GroupTree:
        """Number all nodes in preorder; without recursion, as modules may be nested deeply."""
        root = self._modules.modules[0]
        name = "model" if root.kind is ModuleKind.MODEL else self._modules.name(0)
        model = _Planned(GroupKind.MODEL, name, root.type, self._items(0, 0))
        planned: list[_Planned] = []
        parent: list[int] = []
        depth: list[int] = []
        todo = [(model, -1, 0)]
        while todo:
            node, around, level = todo.pop()
            number = len(planned)
            planned.append(node)
            parent.append(around)
            depth.append(level)
            todo += [(member, number, level + 1) for member in reversed(self._members(node, level))]
        end = list(range(1, len(planned) + 1))
        for number in range(len(planned) - 1, 0, -1):
            end[parent[number]] = max(end[parent[number]], end[number])
        operator = np.array([node.operator for node in planned], np.int64)
        leaf = np.full(len(self._program.operators), -1, np.int64)
        rows = np.flatnonzero(operator >= 0)
        leaf[operator[rows]] = rows
        return GroupTree(
            np.array([node.kind for node in planned], np.int64),
            np.array(parent, np.int64),
            np.array(end, np.int64),
            np.array(depth, np.int64),
            operator,
            np.array([node.own_call for node in planned], np.int64),
            tuple(node.name for node in planned),
            tuple(node.detail for node in planned),
            leaf,
        )

    def _items(self, number: int, depth: int) -> tuple[_Item, ...]:
        """Return the members of a module, in the order of their first operators."""
        module = self._modules.modules[number]
        if depth >= _DEEPEST:
            operators = self._modules.operators_in(number)
            return tuple(_Item(False, operator, operator) for operator in operators)
        items = [_Item(False, operator, operator) for operator in module.operators]
        items += [self._alone(child) for child in self._inside(module)]
        return tuple(sorted(items, key=lambda item: item.first))

    def _inside(self, module: Module) -> list[int]:
        """Return the modules in a module that have operators."""
        count = len(self._program.operators)
        return [child for child in module.children if self._first[child] < count]

    def _alone(self, number: int) -> _Item:
        """Return a module, or what takes its place because it has one member only."""
        while True:
            module = self._modules.modules[number]
            inside = self._inside(module)
            if len(inside) + len(module.operators) != 1:
                return _Item(True, number, self._first[number])
            if module.operators:
                return _Item(False, module.operators[0], module.operators[0])
            number = inside[0]

    def _members(self, node: _Planned, depth: int) -> list[_Planned]:
        """Return the nodes directly in a node of some depth."""
        if node.kind in (GroupKind.MODEL, GroupKind.MODULE):
            members = self._with_calls(node, depth)
        elif node.kind is GroupKind.CALL:
            members = [self._node(item, node, depth) for item in node.items]
        else:
            members = list(node.ready)
        if len(members) <= MOST_MEMBERS:
            return members
        size = max(ceil(len(members) / MOST_MEMBERS), MOST_MEMBERS)
        runs = [tuple(members[start : start + size]) for start in range(0, len(members), size)]
        return [_Planned(GroupKind.RUN, _run_name(run), ready=run) for run in runs]

    def _with_calls(self, node: _Planned, depth: int) -> list[_Planned]:
        """Return the members of a module; those of one delegate call are together in a group."""
        by_call: dict[int, list[_Item]] = {}
        order: list[_Item | int] = []
        for item in node.items:
            call = int((self._call_of_module if item.is_module else self._call_of)[item.number])
            if call < 0 or call == node.call:
                order.append(item)
                continue
            if call not in by_call:
                order.append(call)
            by_call.setdefault(call, []).append(item)
        return [
            self._node(entry, node, depth)
            if isinstance(entry, _Item)
            else _Planned(
                GroupKind.CALL,
                items=tuple(by_call[entry]),
                module=node.module,
                call=entry,
                own_call=entry,
            )
            for entry in order
        ]

    def _node(self, item: _Item, around: _Planned, depth: int) -> _Planned:
        if not item.is_module:
            operator = self._program.operators[item.number]
            place = self._inside_of(operator.module_path, around.module)
            return _Planned(GroupKind.OPERATOR, operator.name, place, operator=item.number)
        module = self._modules.modules[item.number]
        return _Planned(
            GroupKind.MODULE,
            self._name(item.number, around.module),
            module.type,
            self._items(item.number, depth + 1),
            module=item.number,
            call=around.call,
        )

    def _name(self, number: int, around: int) -> str:
        """Return the name of a module inside the one around it."""
        module = self._modules.modules[number]
        if module.kind is not ModuleKind.MODULE:
            return self._modules.name(number)
        return self._inside_of(module.path, around)

    def _inside_of(self, path: str, around: int) -> str:
        """Return the path of a module without that of a module around it."""
        outer = self._modules.modules[around].path
        return "" if path == outer else path.removeprefix(f"{outer}.") if outer else path


def _runs_outside(program: Program) -> Bools:
    """Return per operator whether an instruction that calls no delegate runs a part of it."""
    mask = np.zeros(len(program.operators), np.bool_)
    for method in program.methods:
        for instruction, handles in method.handles.items():
            if instruction not in method.delegates and not method.delegates_only:
                operators = (method.by_handle.get(handle) for handle in handles)
                mask[[operator.index for operator in operators if operator is not None]] = True
    return mask


def _run_name(run: Sequence[_Planned]) -> str:
    """Return "first … last"; a run in a run has the names at its ends."""
    first, last = run[0].name or "call", run[-1].name or "call"
    return first if first == last else f"{first} … {last}"


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
