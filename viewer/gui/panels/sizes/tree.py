"""The rows of an answer as a tree: by kind, operator or module. No Qt.

Every row is one leaf, so that sizes add up. Groups with one member are not shown as such.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from viewer.analysis.programs.part_pairs import NONE, paired_modules
from viewer.analysis.sizes.file_parts import NO_MODULE, FilePart, FileParts
from viewer.analysis.sizes.groups import kind_text, operators_text, users_text
from viewer.arrays import Ints
from viewer.gui.panels.sizes.answer import SizesAnswer
from viewer.program.module_tree import ModuleTree
from viewer.render.boxes.treemap import TreeSizes
from viewer.render.palette import SLAB, Palette

Step = tuple[Hashable, str]  # what a group is, and its label
Path = tuple[Step, ...]


class Grouping(Enum):
    """What rows are grouped by; its value is the title of its button."""

    KIND = "Kind"
    OPERATOR = "Operator"
    MODULE = "Module"


@dataclass(frozen=True, eq=False)
class SizeTree:
    """Nodes are groups and rows; node 0 is all of the file.

    sizes: the tree, with the larger of both files in a comparison. label: of a group; "" for a row.
    row: of a leaf, `NONE` for a group. node: of each row. bytes_a, bytes_b, count: per node, with
    all that is inside; count is the number of rows.
    """

    sizes: TreeSizes
    label: tuple[str, ...]
    row: Ints
    node: Ints
    bytes_a: Ints
    bytes_b: Ints
    count: Ints

    def rows_in(self, node: int, skip: int = 0) -> Ints:
        """Return all rows inside a node, ascending; without its first `skip` members."""
        if self.row[node] != NONE:
            return self.row[node : node + 1]
        wanted = set(self.sizes.inside(node)[skip:].tolist())
        inside = np.zeros(len(self.row), np.bool_)
        inside[list(wanted)] = True
        for number, parent in enumerate(self.sizes.parent.tolist()):
            if parent >= 0 and inside[parent]:
                inside[number] = True
        rows = self.row[inside]
        return np.sort(rows[rows != NONE])

    def colors(self, colors: Palette) -> Palette:
        """Return the color of each node: that of all rows inside, or `SLAB` if theirs differ.

        colors: of each row.
        """
        none = SLAB + 1
        node_colors = np.where(self.row != NONE, colors[self.row], none).tolist()
        parents = self.sizes.parent.tolist()
        for node in range(len(node_colors) - 1, 0, -1):
            around, color = parents[node], node_colors[node]
            node_colors[around] = color if node_colors[around] in (none, color) else SLAB
        return np.array(node_colors, np.uint8)


def size_tree(answer: SizesAnswer, by: Grouping) -> SizeTree:
    """Return the rows of an answer as a tree. `Grouping.MODULE` needs `has_modules`."""
    top = _Group("")
    path_of = _PATHS[by](answer)
    for row in range(len(answer)):
        group = top
        for key, label in path_of(row):
            group = group.groups.setdefault(key, _Group(label))
        group.rows.append(row)
    joint = "." if by is Grouping.MODULE else " · "
    return _tree(answer, top, joint)


@dataclass(slots=True, eq=False)
class _Group:
    label: str
    groups: dict[Hashable, _Group] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)


def _tree(answer: SizesAnswer, top: _Group, joint: str) -> SizeTree:
    parent, label, row = list[int](), list[str](), list[int]()
    waiting = [(top, NONE, "")]
    while waiting:
        group, around, before = waiting.pop()
        name = f"{before}{joint}{group.label}" if before else group.label
        if around != NONE and len(group.groups) == 1 and not group.rows:
            waiting.append((next(iter(group.groups.values())), around, name))
            continue
        if around == NONE or len(group.rows) > 1 or group.groups:
            parent.append(around)
            label.append(name)
            row.append(NONE)
            around = len(parent) - 1
        for member in group.rows:
            parent.append(around)
            label.append("")
            row.append(member)
        waiting += [(value, around, "") for value in reversed(group.groups.values())]
    above, rows = np.array(parent, np.int64), np.array(row, np.int64)
    is_row = rows != NONE

    def whole(numbers: Ints) -> TreeSizes:
        return TreeSizes.of(above, np.where(is_row, np.append(numbers, 0)[rows], 0))

    node = np.zeros(len(answer), np.int64)
    node[rows[is_row]] = np.flatnonzero(is_row)
    ones = np.ones(len(answer), np.int64)
    return SizeTree(
        whole(answer.larger), tuple(label), rows, node,
        whole(answer.bytes_a).size, whole(answer.bytes_b).size, whole(ones).size,
    )  # fmt: skip


# -- paths ---------------------------------------------------------------------------------------


def _by_kind(answer: SizesAnswer) -> Callable[[int], Path]:
    def path(row: int) -> Path:
        parts, part = answer.sides(row)[0]
        number = int(answer.part_a[row] if parts is answer.a else answer.part_b[row])
        kind: Step = (part.kind, kind_text(part.kind))
        around = part.inside if part.inside >= 0 else number
        if part.inside >= 0 or parts.inside(number):
            return kind, ((parts is answer.a, around), parts.parts[around].name)
        return (kind,)

    return path


def _by_operator(answer: SizesAnswer) -> Callable[[int], Path]:
    def path(row: int) -> Path:
        parts, part = answer.sides(row)[0]
        key: Hashable = part.operators or part.users or part.kind
        if answer.pairs is not None:
            users = answer.pairs.users
            key = users.key_a(part) if parts is answer.a else users.key_b(part)
        return ((key, _operator_label(parts, part)),)

    return path


def _operator_label(parts: FileParts, part: FilePart) -> str:
    return operators_text(parts, part) or users_text(part) or kind_text(part.kind)


def _by_module(answer: SizesAnswer) -> Callable[[int], Path]:
    tree_a, tree_b = answer.a.tree, None if answer.b is None else answer.b.tree
    paths: dict[tuple[bool, int], Path] = {}
    partners: dict[int, int] = {}  # module of B -> module of A
    pairs = None if answer.pairs is None else answer.pairs.users.operators
    if tree_a is not None and tree_b is not None and pairs is not None:
        partners = {j: i for i, j in paired_modules(tree_a, tree_b, pairs).items()}

    def path(row: int) -> Path:
        parts, part = answer.sides(row)[0]
        is_a = parts is answer.a
        tree = tree_a if is_a else tree_b
        if tree is None or part.module == NO_MODULE:
            return ((part.kind, kind_text(part.kind)),)
        place = is_a, part.module
        if place not in paths:
            paths[place] = _chain(tree, part.module) if is_a else _chain_of_b(part.module)
        return paths[place]

    def _chain_of_b(module: int) -> Path:
        """The modules of A around, and inside them those that only B has."""
        assert tree_a is not None
        assert tree_b is not None
        steps: list[Step] = []
        for number in tree_b.around(module):
            if number in partners:
                return (*_chain(tree_a, partners[number]), *reversed(steps))
            steps.append((("b", number), tree_b.name(number)))
        return tuple(reversed(steps))

    return path


def _chain(tree: ModuleTree, module: int) -> Path:
    """The modules around a module and itself, without the outermost one."""
    modules = [(number, tree.name(number)) for number in tree.around(module)]
    return tuple(reversed(modules[:-1]))


_PATHS: dict[Grouping, Callable[[SizesAnswer], Callable[[int], Path]]] = {
    Grouping.KIND: _by_kind, Grouping.OPERATOR: _by_operator, Grouping.MODULE: _by_module,
}  # fmt: skip
