"""What nodes are named and colored by: the values of operators and groups, texts and fills.

A new measure needs a member of `MeasureKind`, a function here that returns its `Measure`, a line in
`measure_of`, and one in `controls` that says when there are values. A value of several
operators is never divided: it counts for the innermost group that has all of them, and for all
groups around it. Every group with some of them, but not all, shares it, and so do the operators.

Of changes, only what is proven has a color, by its size in steps; everything else is gray. A node
of a group, such as the operators of a delegate call, shows the change of the whole group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain
from math import ceil
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from viewer.analysis.comparison.comparison import CHANGED, Compared, Verdict
from viewer.analysis.comparison.operator_changes import OperatorChanges
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.cost.costs import CostRow
from viewer.analysis.delegates.delegation import Instance, instances_of
from viewer.analysis.flows.dataflow import MOST_EXPENSIVE
from viewer.analysis.memory.plan import instruction_operators, known_plan
from viewer.analysis.numbers.compared import EDGES, OperatorErrors
from viewer.analysis.sizes.file_parts import ItemKind, file_parts
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.feeds.feed import CostAnswer
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureBase
from viewer.model.text import bytes_text
from viewer.model.times import MINUS, counted, format_share, format_time, group_digits
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupTree
from viewer.render.palette import edge_rgb, fills, label_colors, label_rgb, mix
from viewer.reports.compare_text import change_text, difference_text, row_sentence, verdict_text
from viewer.view.open_comparison import OpenComparison
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

# Names come from files: longer ones are cut in the drawing and in tooltips.
_LONGEST = 120


def tags_of(calls: Sequence[Instance]) -> dict[int, str]:
    """Map each operator to its first delegate call, such as "Xnnpack 2/10"."""
    tags: dict[int, str] = {}
    for number, call in enumerate(calls):
        place = f" {number + 1}/{len(calls)}" if len(calls) > 1 else ""
        tag = f"{backend_name(call)}{place}"
        for operator in call.operators:
            tags.setdefault(operator, tag)
    return tags


def call_name(calls: Sequence[Instance], number: int) -> str:
    """Return "Xnnpack · call 2 of 10"."""
    return " · ".join(filter(None, (backend_name(calls[number]), call_place(calls, number))))


def call_place(calls: Sequence[Instance], number: int) -> str:
    """Return "call 2 of 10": which one of the delegate calls it is; "" for the only one."""
    count = len(calls)
    return f"call {group_digits(number + 1)} of {group_digits(count)}" if count > 1 else ""


def backend_name(call: Instance) -> str:
    """Return the name of a delegate, "Xnnpack"."""
    return cut_line(call.backend.removesuffix("Backend"))


def cut_line(text: str, *, from_end: bool = False) -> str:
    """Return a text as one line of limited length; `from_end` keeps its end, as of a path."""
    cut = text[-_LONGEST:] if from_end else text[:_LONGEST]
    line = " ".join(cut.splitlines())
    if len(text) <= _LONGEST:
        return line
    return f"…{line}" if from_end else f"{line}…"


NO_SLICE = "no slice in A and B"
# Steps of the color of what is slower, and of what is faster.
CHANGE_STEPS = 3


class NoCostFill(Enum):
    """Fills that are not a palette index.

    IDLE: no time in the current scope. UNLINKED: no slice of the profile is linked to the operator.
    PLAIN: there is no profile.
    """

    IDLE = "idle"
    UNLINKED = "unlinked"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class ChangeFill:
    """The fill of a change between two arms.

    step: 1 to `CHANGE_STEPS` for what is slower or faster, else 0. only_in: "A" or "B" if the other
    arm does not have it, else "".
    """

    verdict: Verdict
    step: int = 0
    only_in: str = ""


@dataclass(frozen=True, slots=True)
class CallFill:
    """The ground of a delegate call. backend: the number of its delegate in the program."""

    backend: int


Fill = int | NoCostFill | ChangeFill | CallFill


@dataclass(frozen=True, slots=True)
class NodeCell:
    """The figure of an operator as a text, a fill, and the mark of its verdict if it has one."""

    text: str
    fill: Fill
    verdict: Verdict | None = None


@dataclass(frozen=True, eq=False)
class CostFigures:
    """The costs of one profile in a scope. The time of a set of operators is never divided.

    title: what the figures are, such as "run 2". count: of the operators of the program. left_out:
    what has figures and no node, "" for nothing. best: what a high rank means.
    """

    left_out: ClassVar[str] = ""
    best: ClassVar[str] = MOST_EXPENSIVE

    answer: CostAnswer
    count: int

    @property
    def title(self) -> str:
        scope = scope_text(self.answer.open_trace, self.answer.scope, per_inference=True)
        return f"{self.base.titled(figure_terms.SELF.title)} · {scope}" if self.base.name else scope

    @cached_property
    def _rows(self) -> tuple[dict[int, CostRow], dict[int, list[CostRow]]]:
        """The row of every operator alone, and those that it shares with others."""
        alone: dict[int, CostRow] = {}
        shared: dict[int, list[CostRow]] = {}
        for row in self.answer.table.rows:
            if row.is_shared:
                for operator in row.operators:
                    shared.setdefault(operator, []).append(row)
            else:
                alone[row.operators[0]] = row
        return alone, shared

    @cached_property
    def _whole(self) -> int:
        return self.answer.table.whole  # the table sums it up each time

    @cached_property
    def order(self) -> Ints:
        """The ranking key per operator; the highest ones are shown first."""
        alone, shared = self._rows
        order = np.zeros(self.count, np.int64)
        order[list(alone)] = [row.ticks for row in alone.values()]
        ticks = [sum(row.ticks for row in rows) for rows in shared.values()]
        order[list(shared)] = np.maximum(order[list(shared)], ticks)
        return order

    @cached_property
    def linked(self) -> Bools:
        """Per operator, whether any slice of the trace, in the scope or not, is linked to it."""
        linked = np.zeros(self.count, np.bool_)
        linked[np.fromiter(chain.from_iterable(self.answer.open_trace.table.sets), np.int64)] = True
        return linked

    @property
    def base(self) -> FigureBase:
        return self.answer.base

    def text(self, operator: int) -> str:
        """Return "12.210 µs · 22.1 % + shared": the self time of an operator that has one."""
        alone, shared = self._rows
        time, part = self._self_texts(alone[operator])
        return f"{time}{part and f' · {part}'}{' + shared' if operator in shared else ''}"

    def tag(self, operator: int) -> str:
        """Return the delegate call of an operator outside the program, "" for none."""
        return ""

    def lines(self, operator: int) -> list[str]:
        """Return the lines of the tooltip of an operator about its figures."""
        alone, shared = self._rows
        parts = []
        if operator in alone:
            time, part = self._self_texts(alone[operator])
            parts.append(f"{time} self{part and f', {part}'}")
        if operator in shared:
            rows = shared[operator]
            time = self.base.text(sum(row.ticks for row in rows))
            sharing = f"in {group_digits(len(rows))} shared calls"
            if len(rows) == 1:
                sharing = f"shared by {group_digits(len(rows[0].operators))}"
            parts.append(f"{time} {sharing}, not divided")
        if parts:
            return [f"{' and '.join(parts)} in {self.title}"]
        return [f"no slice in {self.title}" if self.linked[operator] else "not linked to any slice"]

    def summary(self, operators: Sequence[int]) -> str:
        """Return a sentence about selected operators, "" to describe the graph instead."""
        return ""

    def _self_texts(self, row: CostRow) -> tuple[str, str]:
        """Return the time of an operator alone, and its share; "" if the file cuts it to 0."""
        whole, time = self._whole, self.base.text(row.ticks, row.zeros)
        has_share = whole and (row.ticks or not row.zeros)
        return time, format_share(row.wall, whole) if has_share else ""


@dataclass(frozen=True, eq=False)
class ChangeFigures:
    """The changes of a comparison; the graph is that of the program of A."""

    comparison: OpenComparison
    best: ClassVar[str] = "largest changes"

    @property
    def changes(self) -> OperatorChanges:
        return self.comparison.operators

    @property
    def title(self) -> str:
        return " · ".join(filter(None, (self.left_out, self.comparison.subtitle)))

    @property
    def left_out(self) -> str:
        only_b = self.changes.only_b
        return f"{counted(only_b, 'row')} only in B" if only_b else ""

    @cached_property
    def order(self) -> Ints:
        return self.changes.order

    @property
    def most(self) -> str:
        """The largest proven change without its sign, "" if none is proven."""
        return format_time(round(self.changes.largest)) if self.changes.largest else ""

    def cells(self, operators: Ints) -> list[NodeCell]:
        return [self._cell(operator) for operator in operators.tolist()]

    def tag(self, operator: int) -> str:
        """Return the delegate call of B that has an operator, "Xnnpack 2 in B"."""
        tag = self._tags_of_b.get(operator, "")
        return f"{tag} in B" if tag else ""

    def lines(self, operator: int) -> list[str]:
        row, changes = self.changes.row_of(operator), self.changes
        if row < 0:
            return [NO_SLICE]
        (compared, change), lines = self._row(row), []
        if len(changes.operators[row]) > 1:
            label = cut_line(compared.label)
            lines.append(f"{self._sharing(operator)}, not divided: {label}")
        why = cut_line(compared.why.capitalize())
        lines += [times_text(change), f"{verdict_text(change)}.", f"{why}."]
        if changes.own[operator] >= 0 and changes.sets[operator]:
            shared = int(changes.shared[operator])
            other, its = self._row(shared)
            lines.append(
                f"also {self._sharing(operator)}, not divided: {cut_line(other.label)}, "
                f"{times_text(its)}"
            )
        return lines

    def summary(self, operators: Sequence[int]) -> str:
        rows = {self.changes.row_of(operator) for operator in operators}
        if len(rows) != 1 or rows == {-1}:
            return ""
        row, change = self._row(rows.pop())
        return f"{row.label}: {times_text(change)}. {row_sentence(row, change)}"

    def _cell(self, operator: int) -> NodeCell:
        row, change = self.changes.row_of(operator), self.changes.change_of(operator)
        if change is None:
            return NodeCell(NO_SLICE, NoCostFill.UNLINKED)
        only_in = "A" if change.b_ns is None else "B" if change.a_ns is None else ""
        ns = change.a_ns if only_in == "A" else change.b_ns
        text = difference_text(round(change.change_ns))
        if only_in:
            text = f"{format_time(round(ns or 0))} only in {only_in}"
        if len(self.changes.operators[row]) > 1:
            text += f" {self._sharing(operator)}"
        else:
            ratio = change_text(change)
            text += f" · {ratio}" if ratio else ""
            text += " + shared" if self.changes.sets[operator] else ""
        return NodeCell(text, self._fill(change, only_in), change.verdict)

    def _fill(self, change: Compared, only_in: str) -> Fill:
        step = 0
        if change.verdict in CHANGED:
            share = abs(change.change_ns) / (self.changes.largest or 1.0)
            step = min(max(ceil(share * CHANGE_STEPS), 1), CHANGE_STEPS)
        return ChangeFill(change.verdict, step, only_in)

    def _sharing(self, operator: int) -> str:
        changes = self.changes
        count = group_digits(len(changes.operators[int(changes.shared[operator])]))
        sets = int(changes.sets[operator])
        return f"shared by {count}" + (f", largest of {sets} groups" if sets > 1 else "")

    def _row(self, number: int) -> tuple[Row, Compared]:
        return self.comparison.rows[number]

    @cached_property
    def _tags_of_b(self) -> dict[int, str]:
        program = self.comparison.program(1)
        if program is None:
            return {}
        tags = tags_of(instances_of(program))
        pairs = self.comparison.calls.pairs.pairs
        return {pair.a: tags[pair.b] for pair in pairs if pair.b in tags}


def times_text(change: Compared) -> str:
    """Return "A 100 µs, B 130 µs, +30 µs per inference, +30.0 %"; what is not known is left out."""
    times = [
        f"{arm} {format_time(round(ns))}"
        for arm, ns in (("A", change.a_ns), ("B", change.b_ns))
        if ns is not None
    ]
    if len(times) == 2:
        times.append(f"{difference_text(round(change.change_ns))} per inference")
    return ", ".join(filter(None, (*times, change_text(change))))


NodeFigures = CostFigures | ChangeFigures


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
    """Return the self time of operators and the time of the sets that share it, of wall time."""
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


# How much of its color a step has; the rest is the canvas.
_OF_COLOR = (0.32, 0.6, 1.0)
# How much of the slab a gray has: what did not change is dimmed.
_UNCHANGED, _UNKNOWN = 0.28, 0.6
# Palette indexes of the colors of delegates: unlike heat and unlike each other.
_BACKENDS = (1, 0, 6, 11, 8, 4)
_TINT = 0.12
_HATCH_STEP, _HATCH_ALPHA = 8, 0.5  # px, and faint behind texts


@dataclass(frozen=True, slots=True)
class NodeColors:
    """The colors of a node: fill, text and outline, and whether the outline is dashed."""

    fill: QColor
    text: QColor
    outline: QColor
    is_dashed: bool = False


def colors_of(fill: Fill, theme: Theme) -> NodeColors:
    if isinstance(fill, ChangeFill):
        return _colors_of_change(fill, theme)
    if isinstance(fill, CallFill):
        outline = backend_color(fill.backend, theme)
        ground = QColor(outline)
        ground.setAlphaF(_TINT)
        return NodeColors(ground, theme.color("text1"), outline, is_dashed=True)
    if isinstance(fill, NoCostFill):
        ground = theme.color("raised" if fill is NoCostFill.PLAIN else "panel")
        is_dashed = fill is NoCostFill.UNLINKED
        return NodeColors(ground, theme.color("text1"), theme.color("text3"), is_dashed)
    label = QColor.fromRgb(label_colors(theme.dark)[fill])
    return NodeColors(QColor.fromRgb(fills(theme.dark)[fill]), label, theme.color("line"))


def backend_color(number: int, theme: Theme) -> QColor:
    """Return the color of a delegate, by its number among those of the program."""
    rgb = fills(theme.dark)[_BACKENDS[number % len(_BACKENDS)]]
    return QColor.fromRgb(rgb if theme.dark else edge_rgb(rgb))


def paint_hatch(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Paint lines at 45 degrees inside of what only one arm has: SVG files ignore clipping."""
    painter.setPen(QPen(theme.color("text3", _HATCH_ALPHA), 1.0))
    bottom, height, step = rect.bottom(), rect.height(), theme.px(_HATCH_STEP)
    inset = theme.px(2)
    offset = float(step)
    while offset < rect.width() + height:
        # From the left or the bottom edge up to the top or the right one.
        start, end = max(offset - height, 0.0) + inset, min(offset, rect.width()) - inset
        if end > start:
            painter.drawLine(
                QPointF(rect.left() + start, bottom - start + offset - height),
                QPointF(rect.left() + end, bottom - end + offset - height),
            )
        offset += step


def _colors_of_change(fill: ChangeFill, theme: Theme) -> NodeColors:
    tokens = theme.tokens
    if fill.step:
        color = tokens.slower if fill.verdict is Verdict.SLOWER else tokens.faster
        share = _OF_COLOR[min(fill.step, CHANGE_STEPS) - 1]
        rgb = mix(_rgb(tokens.canvas), _rgb(color), share)
        label = QColor.fromRgb(label_rgb(rgb))
        return NodeColors(QColor.fromRgb(rgb), label, theme.color("line"))
    share = _UNCHANGED if fill.verdict is Verdict.NO_CHANGE else _UNKNOWN
    rgb = mix(_rgb(tokens.canvas), _rgb(tokens.slab), share)
    is_dimmed = fill.verdict is Verdict.NO_CHANGE
    text = theme.color("text2" if is_dimmed else "text1")
    return NodeColors(QColor.fromRgb(rgb), text, theme.color("line"))


def _rgb(token: str) -> int:
    return int(token[1:], 16)
