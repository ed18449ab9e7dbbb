"""What the Sizes panel shows of a program file, or of two: its parts, as a tree.

Everything is computed here, off the GUI thread for a large program; no data of the file is read,
except to find parts with equal bytes. The tree groups parts by kind, operator or module. Every row
is one leaf, so that sizes add up. Groups with one member are not shown as such.
What is selected in the session is looked up among the parts, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.memory.plan import slices_of_instruction
from viewer.analysis.program_differences import NONE, PartPairs, paired_modules, paired_parts
from viewer.analysis.sizes.file_parts import NO_MODULE, FilePart, FileParts, file_parts
from viewer.analysis.sizes.groups import duplicates, kind_text, operators_text, users_text
from viewer.arrays import Ints
from viewer.codecs.reading import Cancelled, ReadCancelled, never_cancelled
from viewer.dataclasses import dataclass, field
from viewer.gui.session.selection import longest_slice
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.program.executables import Executable
from viewer.program.module_tree import ModuleTree
from viewer.render.box_pictures import TreeSizes
from viewer.render.palette import OPERATORS, PLAIN, SLAB, Palette, by_name
from viewer.view.state import SliceRef, SliceSet
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class SizesQuestion:
    """What to show: a program file, and the one to compare it with, if any."""

    space: Workspace
    executable: Executable
    other: Executable | None = None


Call = tuple[int, int]  # method and instruction
User = int | Call  # an operator, or a call


def calls_of(part: FilePart) -> set[Call]:
    """Return the calls that use a part, without those in control flow."""
    return {(use.method, use.instruction) for use in part.uses if not use.chain}


@dataclass(frozen=True, slots=True, eq=False)
class RowColors:
    """What decides the color of each row.

    operator: the only operator that uses it, `NONE` for none or several. without_operator: the
    palette index of a row without one.
    """

    operator: Ints
    without_operator: Palette


@dataclass(frozen=True, eq=False)
class SizesAnswer:
    """The parts of a file, or those of two files side by side.

    a, b: the files; b is None without a comparison. pairs: the rows of both. part_a, part_b: per
    row, indexes into `FileParts.parts`, `NONE` on the side that does not have it. bytes_a, bytes_b:
    their sizes, 0 there.
    """

    question: SizesQuestion
    a: FileParts
    b: FileParts | None
    pairs: PartPairs | None
    part_a: Ints
    part_b: Ints
    bytes_a: Ints
    bytes_b: Ints

    def __len__(self) -> int:
        return len(self.part_a)

    @property
    def is_compared(self) -> bool:
        return self.b is not None

    def sides(self, row: int) -> tuple[tuple[FileParts, FilePart], ...]:
        """Return the parts of a row with their files: that of A, then that of B."""
        sides = []
        for parts, part_rows in ((self.a, self.part_a), (self.b, self.part_b)):
            if parts is not None and part_rows[row] != NONE:
                sides.append((parts, parts.parts[int(part_rows[row])]))
        return tuple(sides)

    def part(self, row: int) -> FilePart:
        """Return the part of a row; that of A, if both files have it."""
        return self.sides(row)[0][1]

    @cached_property
    def larger(self) -> Ints:
        """The bytes of each row: in the file where it is larger."""
        return np.maximum(self.bytes_a, self.bytes_b)

    @cached_property
    def change(self) -> Ints:
        """B less A, in bytes."""
        return self.bytes_b - self.bytes_a

    @cached_property
    def most_bytes(self) -> int:
        """The bytes of the largest row of A, 1 at least."""
        return int(self.bytes_a.max(initial=0)) or 1

    @cached_property
    def most_change(self) -> int:
        """The largest change of a row in bytes, 1 at least."""
        return int(np.abs(self.change).max(initial=0)) or 1

    @cached_property
    def has_operators(self) -> bool:
        """Whether operators are known: the matching ETRecord is open."""
        return any(f is not None and f.program is not None for f in (self.a, self.b))

    @cached_property
    def has_modules(self) -> bool:
        """Whether the ETRecords of all shown files state modules."""
        return all(f is None or f.tree is not None for f in (self.a, self.b))

    def colors(self, of_a: Palette | None, of_b: Palette | None) -> Palette:
        """Return the palette index of every row, from those of the operators of both files."""
        colors = self.own_colors.without_operator.copy()
        operator = self.own_colors.operator
        is_b = self.part_a == NONE
        for palette, is_side in ((of_a, ~is_b), (of_b, is_b)):
            rows = np.flatnonzero(is_side & (operator != NONE))
            operators = operator[rows]
            colors[rows] = operators % OPERATORS if palette is None else palette[operators]
        return colors

    @cached_property
    def used(self) -> tuple[Mapping[User, Sequence[int]], Mapping[User, Sequence[int]]]:
        """Which rows an operator or a call uses in A, and in B."""
        rows_by_user: tuple[dict[User, list[int]], dict[User, list[int]]] = ({}, {})
        sides = (self.a, self.part_a), (self.b, self.part_b)
        for rows_of, (parts, part_rows) in zip(rows_by_user, sides, strict=True):
            for row, number in enumerate(part_rows.tolist()):
                if parts is not None and number != NONE:
                    part = parts.parts[number]
                    for user in (*part.operators, *calls_of(part)):
                        rows_of.setdefault(user, []).append(row)
        return rows_by_user

    @cached_property
    def own_colors(self) -> RowColors:
        """What decides the color of each row."""
        operator = np.full(len(self), NONE)
        fixed = np.full(len(self), PLAIN, np.uint8)
        kernels: dict[str, list[int]] = {}
        for row in range(len(self)):
            parts, part = self.sides(row)[0]
            if len(part.operators) == 1:
                operator[row] = part.operators[0]
            elif part.operators or (parts.program is None and len(part.users) > 1):
                fixed[row] = SLAB
            elif parts.program is None and part.users:
                kernels.setdefault(users_text(part), []).append(row)
        for name, color in zip(kernels, by_name(list(kernels)), strict=True):
            fixed[kernels[name]] = color
        return RowColors(operator, fixed)


def work_out(question: SizesQuestion) -> SizesAnswer:
    """Answer a question; a pure function."""
    a, b = question.executable, question.other
    of_a = file_parts(a, program_of_executable(question.space, a))
    size_a = np.array([part.size for part in of_a.parts], np.int64)
    if b is None:
        order, none = np.arange(len(size_a)), np.full(len(size_a), NONE)
        return SizesAnswer(question, of_a, None, None, order, none, size_a, np.zeros_like(size_a))
    of_b = file_parts(b, program_of_executable(question.space, b))
    size_b = np.array([part.size for part in of_b.parts], np.int64)
    pairs = paired_parts(of_a, of_b)
    rows = np.array(pairs.rows, np.int64).reshape(-1, 2)
    # The last number is that of a missing part, whose index is -1.
    bytes_a, bytes_b = np.append(size_a, 0)[rows[:, 0]], np.append(size_b, 0)[rows[:, 1]]
    return SizesAnswer(question, of_a, of_b, pairs, rows[:, 0], rows[:, 1], bytes_a, bytes_b)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Which rows have parts with equal bytes.

    count: per row, how many parts of its file have the same bytes, itself included; 0 for none.
    first: per row, the row of the first of them, else its own. groups, extra: how many such groups
    the file has, and how many parts are the second or a later one. saved: the bytes of these.
    unread, why: parts that could not be compared, and the reason.
    """

    count: Ints
    first: Ints
    groups: int
    extra: int
    saved: int
    unread: int
    why: str


def find_copies(answer: SizesAnswer, cancelled: Cancelled = never_cancelled) -> Copies | None:
    """Read the file where parts have equal sizes; in a comparison, that of A. None if cancelled."""
    try:
        copies = duplicates(answer.a, cancelled)
    except ReadCancelled:
        return None
    size = len(answer)
    row_of_part = np.zeros(len(answer.a.parts), np.int64)
    has_part = answer.part_a != NONE
    row_of_part[answer.part_a[has_part]] = np.flatnonzero(has_part)
    count, first = np.zeros(size, np.int64), np.arange(size)
    for group in copies.groups:
        rows = row_of_part[list(group.parts)]
        count[rows], first[rows] = len(rows), rows[0]
    extra = sum(len(group.parts) - 1 for group in copies.groups)
    return Copies(
        count, first, len(copies.groups), extra, copies.saved, copies.unread, copies.why
    )  # fmt: skip


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
        inside = np.zeros(len(self.row), np.bool_)
        inside[self.sizes.inside(node)[skip:]] = True
        for number, parent in enumerate(self.sizes.parent.tolist()):
            if parent >= 0 and inside[parent]:
                inside[number] = True
        rows = self.row[inside]
        return np.sort(rows[rows != NONE])

    def colors(self, colors: Palette) -> Palette:
        """Return the color of each node: that of all rows inside, or `SLAB` if theirs differ."""
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
    return _tree(answer, top, "." if by is Grouping.MODULE else " · ")


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
        label = operators_text(parts, part) or users_text(part) or kind_text(part.kind)
        return ((key, label),)

    return path


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


_MOST = 2000  # parts, operators or instructions that are looked up
_NONE: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class UsedRows:
    """Rows of an answer. own: used by the selection only. shared: also by others."""

    own: Ints
    shared: Ints


def select_users(session: Session, answer: SizesAnswer, rows: Ints) -> bool:
    """Select the operators that use some rows, else their slices; returns whether there are any."""
    for parts, part_of in ((answer.a, answer.part_a), (answer.b, answer.part_b)):
        if parts is not None:
            numbers = part_of[rows]
            users = [parts.parts[i] for i in numbers[numbers != NONE][:_MOST].tolist()]
            if any(select(session, parts, users) for select in (_select_operators, _select_slices)):
                return True
    return False


def _select_operators(session: Session, parts: FileParts, file_parts: list[FilePart]) -> bool:
    operators = tuple(sorted({i for part in file_parts for i in part.operators}))
    linked = [i for i, t in enumerate(session.traces) if t.table.program is parts.program]
    if not operators or parts.program is None or not linked:
        return False
    current = session.current_trace
    session.select_operators(current if current in linked else linked[0], operators)
    return True


def _select_slices(session: Session, parts: FileParts, file_parts: list[FilePart]) -> bool:
    """Select the calls of the instructions that use some parts, in the first profile with any."""
    numbers = sorted({call for part in file_parts for call in calls_of(part)})
    for trace in range(len(session.traces)):
        open_trace = session.as_run(trace)
        slice_parts = [_NONE]
        for number, instruction in numbers[:_MOST]:
            method = parts.executable.methods[number]
            if scopes := [i for i, ran in enumerate(open_trace.table.ran) if ran is method]:
                slice_parts.append(slices_of_instruction(open_trace.trace, scopes, instruction))
        slices = np.unique(np.concatenate(slice_parts))
        if len(slices):
            session.show_inferences(Inferences.AS_RUN)
            longest = SliceRef(trace, longest_slice(open_trace, slices))
            session.select_slices(SliceSet({trace: slices}), longest, reveal=True)
            return True
    return False


def selected_rows(session: Session, answer: SizesAnswer) -> UsedRows:
    """Return the rows that the selected slices or operators use."""
    own_rows, shared = set[int](), set[int]()
    for side, parts in zip(answer.used, (answer.a, answer.b), strict=True):
        if parts is None:
            continue
        operators, calls = _selected(session, parts)
        users: set[User] = set(operators) or set(calls)
        for row in {row for user in users for row in side.get(user, ())}:
            part = next(part for file, part in answer.sides(row) if file is parts)
            every = set(part.operators) if operators else calls_of(part)
            (own_rows if every <= users else shared).add(row)
    both = own_rows, shared - own_rows
    return UsedRows(*(np.array(sorted(rows), np.int64) for rows in both))


def _selected(session: Session, parts: FileParts) -> tuple[set[int], set[Call]]:
    """The selected operators of a file's ETRecord, and the selected calls: method, instruction."""
    state = session.state
    operators, calls = set[int](), set[Call]()
    methods = {id(method): i for i, method in enumerate(parts.executable.methods)}
    for trace, numbers in state.slices.of.items():
        table = session.traces[trace].table
        keys = np.unique(table.trace.slices.key[numbers])[:_MOST]
        if parts.program is not None and table.program is parts.program:
            operators |= {i for key in keys.tolist() for i in table.links[key].operators}
        scopes = table.trace.keys.scope[keys].tolist()
        instructions = table.trace.keys.instruction[keys].tolist()
        for scope, instruction in zip(scopes, instructions, strict=True):
            method = table.ran[scope] if 0 <= scope < len(table.ran) else None
            if method is not None and id(method) in methods and instruction >= 0:
                calls.add((methods[id(method)], instruction))
    if state.operators is not None:
        trace, chosen = state.operators
        if parts.program is not None and session.traces[trace].table.program is parts.program:
            operators |= set(chosen[:_MOST])
    return operators, calls
