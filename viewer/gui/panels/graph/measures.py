"""What the graph can be colored by: a value for sets of operators, as columns. No Qt.

A new measure needs a member of `MeasureKind`, a function here that returns its `Measure`, a line in
`measure_of`, and one in `controls` that says when there are values. A value of several
operators is never divided: it counts for the innermost group that has all of them, and for all
groups around it. Every group with some of them, but not all, shares it, and so do the operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain

import numpy as np

from viewer.analysis.memory.plan import instruction_operators, known_plan
from viewer.analysis.numbers.compared import EDGES, OperatorErrors
from viewer.analysis.sizes.file_parts import file_parts
from viewer.analysis.sizes.stored_items import ItemKind
from viewer.arrays import Bools, Floats, Ints
from viewer.gui.panels.graph.node_figures import CostFigures, NodeFigures
from viewer.model.text import bytes_text
from viewer.model.times import MINUS, format_share, group_digits
from viewer.program.executable.executable import Executable
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupTree
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

_WEIGHTS = (ItemKind.CONSTANT, ItemKind.STATE, ItemKind.NAMED_DATA, ItemKind.DELEGATE)
_DECADES = len(EDGES) + 1  # one for each step of the colors of errors elsewhere
NO_FILE = "No open program file (.pte) belongs to this model"


class MeasureKind(Enum):
    """What a measure is of; its value is the title of its button."""

    TIME = "Time"
    CHANGE = "Change"
    MEMORY = "Memory"
    SIZE = "Size"
    ERROR = "Error"


@dataclass(frozen=True, eq=False)
class Measure:
    """The values of sets of operators.

    operators, ptr (s + 1): set i has operators[ptr[i] : ptr[i + 1]], without duplicates. values
    (s): int64 or float64. combine: what the value of a group is: `np.add` for the sum of the sets
    in it, `np.maximum` for the largest one. text: of a value. none: what an operator without a
    value shows. whole: what shares are relative to, 0 to show none; part: per set what its share is
    of, None for its value. shared: what several operators share, "calls". linked: per operator,
    whether it may have values; None for all. title: what the values are, for the legend. decades:
    of a scale up to 1 that is logarithmic; 0 for one from 0 to the largest value. operator_text: of
    the value of an operator, if it says more than `text`.
    """

    kind: MeasureKind
    title: str
    operators: Ints
    ptr: Ints
    values: Ints | Floats
    text: Callable[[int | float], str]
    none: str
    shared: str
    combine: np.ufunc = np.add
    whole: int = 0
    part: Ints | None = None
    linked: Bools | None = None
    note: str = ""
    decades: int = 0
    operator_text: Callable[[int], str] | None = None

    def parts(self, values: Ints | Floats, most: float) -> Floats:
        """Return where on the scale some values are, 0 to 1. most: the largest value shown."""
        if not self.decades:
            return np.asarray(values / most if most > 0 else np.zeros(len(values)))
        with np.errstate(divide="ignore"):
            return np.clip(np.log10(values) / self.decades + 1, 0, 1)

    @property
    def least(self) -> str:
        """The start of the scale as text."""
        return f"10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[self.decades]}" if self.decades else "0"

    def most(self, value: int | float) -> str:
        """Return the end of the scale as text, "" without values. value: the largest one shown."""
        return "" if value <= 0 else "1" if self.decades else self.text(value)


def measure_of(
    kind: MeasureKind,
    program: Program,
    figures: NodeFigures | None,
    space: Workspace,
    errors: OperatorErrors | None,
) -> Measure | None:
    """Return the values of operators, None if there are none of this kind."""
    if kind is MeasureKind.MEMORY:
        return memory_measure(space, program)
    if kind is MeasureKind.SIZE:
        return size_measure(space, program)
    if kind is MeasureKind.ERROR:
        return None if errors is None else error_measure(errors)
    return time_measure(figures) if isinstance(figures, CostFigures) else None


def time_measure(figures: CostFigures) -> Measure:
    """Return the self time of operators and the time of the sets that share it.

    Shares are of wall time.
    """
    table, base = figures.answer.table, figures.base
    rows = [(row.operators, row.ticks) for row in table.rows]

    def text(ticks: int | float) -> str:
        return base.text(int(ticks))

    return Measure(
        MeasureKind.TIME, "Time", *_columns(rows), text, "no time in this range", "calls",
        whole=table.whole, part=np.array([row.wall for row in table.rows], np.int64),
        linked=figures.linked, operator_text=figures.text,
    )  # fmt: skip


def memory_measure(workspace: Workspace, program: Program) -> Measure:
    """Return the planned bytes of what operators write, by the instructions that write it."""
    rows: list[tuple[tuple[int, ...], int]] = []
    file = _file_of(workspace, program)
    for method in () if file is None else file.methods:
        written = instruction_operators(program, method)
        storages = known_plan(method).storages
        size = np.zeros(len(method.instructions), np.int64)
        is_written = (storages.writer >= 0) & (storages.writer < len(size))
        np.add.at(size, storages.writer[is_written], storages.size[is_written])
        rows += [
            (operators, int(size[number]))
            for number, operators in written.items()
            if 0 <= number < len(size) and size[number]
        ]
    return Measure(
        MeasureKind.MEMORY, "Planned bytes of outputs", *_columns(rows), _bytes,
        "no planned output", "instructions", note=NO_FILE if file is None else "",
    )  # fmt: skip


def size_measure(workspace: Workspace, program: Program) -> Measure:
    """Return the bytes of weights and other data in the program file, by what uses them."""
    file = _file_of(workspace, program)
    parts = () if file is None else file_parts(file, program).parts
    rows = [(part.operators, part.size) for part in parts if part.kind in _WEIGHTS]
    whole = sum(size for _, size in rows)
    rows = [row for row in rows if row[0]]
    return Measure(
        MeasureKind.SIZE, "Bytes of weights and delegates", *_columns(rows), _bytes, "no weights",
        "parts", whole=whole, note=NO_FILE if file is None else "",
    )  # fmt: skip


def error_measure(errors: OperatorErrors) -> Measure:
    """Return the errors of the logged values of operators, relative to their signal."""
    members = np.array(sorted(errors.of), np.int64)
    values = np.array([errors.of[i] for i in members.tolist()], np.float64)
    return Measure(
        MeasureKind.ERROR, "Error relative to the signal", members,
        np.arange(len(members) + 1), values, _error, "not compared", "values", np.maximum,
        decades=_DECADES,
    )  # fmt: skip


def _error(value: int | float) -> str:
    if value == 0:
        return "no error"
    return f"{value:.1e}".replace("-", MINUS) if np.isfinite(value) else "not finite or no signal"


def _file_of(workspace: Workspace, program: Program) -> Executable | None:
    """Return the program file of a model: of several, the one that ran, or the first."""
    files = [
        file for file in workspace.executables if program_of_executable(workspace, file) is program
    ]
    ran = {id(workspace.what_ran(trace)) for trace in workspace.traces} if len(files) > 1 else ()
    return next((file for file in files if id(file) in ran), next(iter(files), None))


def _bytes(value: int | float) -> str:
    return bytes_text(int(value))


def _columns(rows: Iterable[tuple[tuple[int, ...], int]]) -> tuple[Ints, Ints, Ints]:
    """Return operators, ptr and values of some sets."""
    rows = list(rows)
    lengths = [len(operators) for operators, _ in rows]
    members = np.fromiter(chain.from_iterable(row[0] for row in rows), np.int64, sum(lengths))
    ptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return members, ptr, np.array([value for _, value in rows], np.int64)


@dataclass(frozen=True, eq=False)
class Amounts:
    """Columns with one value per node of the tree.

    own: of all sets inside, 0 without any; part: what its share is of. has: whether there is any.
    shared: the sum (or the
    largest) of the sets that a node shares with others, sets: how many these are. members: the
    operators of the largest one.
    """

    tree: GroupTree
    measure: Measure
    own: Ints | Floats
    part: Ints | Floats
    has: Bools
    shared: Ints | Floats
    sets: Ints
    members: Ints

    @cached_property
    def most(self) -> Ints | Floats:
        """The largest value of an operator."""
        return np.asarray(self.own[self.tree.operator >= 0].max(initial=0))

    @cached_property
    def linked_inside(self) -> Bools:
        """Per node, whether an operator in it may have values."""
        tree, linked = self.tree, self.measure.linked
        if linked is None:
            return np.ones(len(tree), np.bool_)
        has_slices = np.zeros(len(tree), np.bool_)
        leaves = np.flatnonzero(tree.operator >= 0)
        has_slices[leaves] = linked[tree.operator[leaves]]
        return np.asarray(tree.count_inside(has_slices) > 0)

    def is_shared(self, node: int) -> bool:
        """Whether all of the value of a node is shared with others."""
        return bool(self.sets[node]) and not self.own[node]

    def text(self, node: int) -> str:
        """Return "8.544 µs · 15.5 % + shared", "2.774 µs shared by 5", or "" without a value."""
        measure = self.measure
        if self.has[node] and not self.is_shared(node):
            part = int(self.part[node]) if measure.whole else 0
            share = f" · {format_share(part, measure.whole)}" if measure.whole else ""
            more = " + shared" if self.sets[node] else ""
            return f"{measure.text(self.own[node].item())}{share}{more}"
        return self.shared_text(node)

    def shared_text(self, node: int) -> str:
        """Return "2.774 µs shared by 5", "9.1 µs in 3 shared calls"; "" if it shares nothing."""
        sets = int(self.sets[node])
        if not sets:
            return ""
        value = self.measure.text(self.shared[node].item())
        if sets == 1:
            return f"{value} shared by {group_digits(int(self.members[node]))}"
        return f"{value} in {group_digits(sets)} shared {self.measure.shared}"


def amounts(tree: GroupTree, measure: Measure) -> Amounts:
    """Return the values of all nodes. Takes time in proportion to the sets and the depth."""
    count, length = len(tree), np.diff(measure.ptr)
    sets, combine, values = len(length), measure.combine, measure.values
    parts = values if measure.part is None else measure.part
    own_amounts, shared, part = (_zeros(count, like) for like in (values, values, parts))
    number, members = np.zeros((2, count), np.int64)
    has = np.zeros(count, np.bool_)
    # Every set in every node with members of it, and how many: from the innermost nodes outward.
    node, of_set = tree.leaf[measure.operators], np.repeat(np.arange(sets), length)
    unplaced = np.bincount(of_set[node < 0], minlength=sets) > 0
    node, of_set = node[~unplaced[of_set]], of_set[~unplaced[of_set]]
    inside = np.ones(len(node), np.int64)
    for depth in range(len(tree.levels) - 1, -1, -1):
        here = tree.depth[node] == depth
        pairs, position = np.unique(node[here] * sets + of_set[here], return_inverse=True)
        sums = np.bincount(position, inside[here], len(pairs)).astype(np.int64)
        at_node, its_set = np.divmod(pairs, max(sets, 1))
        is_whole = sums == length[its_set]
        home, whole = at_node[is_whole], its_set[is_whole]
        combine.at(own_amounts, home, values[whole])
        combine.at(part, home, parts[whole])
        has[home] = True
        home, partly = at_node[~is_whole], its_set[~is_whole]
        combine.at(shared, home, values[partly])
        np.add.at(number, home, 1)
        np.maximum.at(members, home, length[partly])
        node = np.concatenate([node[~here], tree.parent[at_node]])
        of_set = np.concatenate([of_set[~here], its_set])
        inside = np.concatenate([inside[~here], sums])
    return Amounts(tree, measure, own_amounts, part, has, shared, number, members)


def _zeros(count: int, like: Ints | Floats) -> Ints | Floats:
    return np.zeros(count, np.int64) if like.dtype.kind == "i" else np.zeros(count)
