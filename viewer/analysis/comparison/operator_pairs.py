"""Pairs the operators of two programs: which operator of B is which of A, how surely, and why.

Two programs with the same operators under the same debug handles are one: the handle decides.
Otherwise operators are paired by evidence (`method_pairs`), and what became several, or was
several, is a group, which is one row of a comparison:

* several of a type that take the same, one of that type that computes all of their results: linear
  layers for queries, keys and values in one
* several that together are one operator of another type: attention by hand
* a batch norm that is folded into the convolution or linear layer whose result it takes
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import product
from math import prod
from typing import Generic, TypeVar

from viewer.analysis.comparison.evidence import (
    FOLDED,
    UNKNOWN,
    Evidence,
    PairedOperator,
    constants_of,
    only_users,
)
from viewer.analysis.comparison.method_pairs import MethodPairs
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.text import listed
from viewer.program.program import Method, Program

_FOLDED_INTO = frozenset(("convolution", "linear"))
_ARITHMETIC = frozenset(("mul", "div", "add", "sub", "neg", "to", "_to_copy", "clone"))
_LAYOUT = frozenset(("transpose", "permute", "view", "reshape", "unsqueeze", "expand", "t"))
# What an operator can be computed with: what that has at least, and what else it may have.
_COMPOSED: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(core.split()), _ARITHMETIC | frozenset(more.split()) | layout)
    for name, core, more, layout in (
        ("scaled_dot_product_attention", "softmax matmul",
         "bmm baddbmm masked_fill where dropout softmax_int", _LAYOUT),
        ("layer_norm", "mean", "var pow square sqrt rsqrt", frozenset[str]()),
        ("rms_norm", "mean", "pow square sqrt rsqrt", frozenset[str]()),
        ("softmax", "exp", "sum max amax", frozenset[str]()),
        ("silu", "sigmoid", "", frozenset[str]()),
        ("gelu", "erf", "pow", frozenset[str]()),
        ("gelu", "tanh", "pow", frozenset[str]()),
        ("linear", "matmul", "mm addmm", _LAYOUT),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Operators of A and of B, by place, that are the same together. why: in words."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    why: str


@dataclass(frozen=True)
class _Side:
    """A side of a comparison: its operators, their neighbors, and the partners of some."""

    operators: list[PairedOperator]
    inputs: list[list[int]]
    outputs: list[list[int]]
    partner: dict[int, int]

    @property
    def left(self) -> list[int]:
        """The operators without a partner."""
        return [i for i in range(len(self.operators)) if i not in self.partner]


def grouped(e: Evidence, of_a: dict[int, int], of_b: dict[int, int]) -> Iterator[Group]:
    """Yield the groups of operators without a partner, and of those with a batch norm behind."""
    a = _Side(e.a, e.inputs[0], e.outputs[0], of_a)
    b = _Side(e.b, e.inputs[1], e.outputs[1], of_b)
    for many, whole, is_swapped in ((a, b, False), (b, a, True)):
        for several, single, why in (
            *_joined(many, whole), *_composed(many, whole), *_folded(many, whole)
        ):  # fmt: skip
            yield Group((single,), several, why) if is_swapped else Group(several, (single,), why)


def _joined(many: _Side, whole: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """Several of a type that take the same, and one that has their results."""
    several: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    for i in many.left:
        taken = tuple(many.partner.get(j, -1) for j in many.inputs[i])
        if taken and -1 not in taken:
            several[many.operators[i].op, tuple(sorted(taken))].append(i)
    single = Counter((whole.operators[j].op, tuple(sorted(whole.inputs[j]))) for j in whole.left)
    for j in whole.left:
        key = whole.operators[j].op, tuple(sorted(whole.inputs[j]))
        positions = several.get(key, [])
        sizes = [_size(many.operators[i]) for i in positions]
        fits = sum(sizes) == _size(whole.operators[j]) or len(set(sizes)) == 1
        if len(positions) > 1 and single[key] == 1 and fits:
            yield tuple(positions), j, f"{len(positions)} x {whole.operators[j].op} in one"


def _size(paired_operator: PairedOperator) -> int:
    """The number of elements of its first result; 0 if it is not known."""
    shape = paired_operator.shapes[0] if paired_operator.shapes else None
    return prod(n for n in shape if isinstance(n, int)) if shape else 0


def _composed(many: _Side, whole: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """Several that together are one operator of another type."""
    for j in whole.left:
        op = whole.operators[j].op
        core, more = _COMPOSED.get(op, (frozenset[str](), frozenset[str]()))
        if not core:
            continue
        around = {
            whole.partner[k] for k in (*whole.inputs[j], *whole.outputs[j]) if k in whole.partner
        }
        free = {i for i in many.left if many.operators[i].op in core | more}
        for region in _regions(many, free):
            types = {many.operators[i].op for i in region}
            edge = {k for i in region for k in (*many.inputs[i], *many.outputs[i])} - region
            if core <= types and around & edge:
                yield tuple(sorted(region)), j, f"{len(region)} operators are {op}"
                break


def _regions(side: _Side, free: set[int]) -> Iterator[set[int]]:
    """The connected sets of some operators."""
    free = set(free)
    while free:
        todo, region = [free.pop()], set[int]()
        while todo:
            i = todo.pop()
            region.add(i)
            near = {*side.inputs[i], *side.outputs[i]} & free
            free -= near
            todo += near
        yield region


def _folded(many: _Side, whole: _Side) -> Iterator[tuple[tuple[int, ...], int, str]]:
    """A batch norm and what it is folded into, which has a partner."""
    has_other = {whole.operators[j].op for j in whole.left}
    for i in many.left:
        op = many.operators[i].op
        if op not in FOLDED or op in has_other:
            continue
        into = next((j for j in many.inputs[i] if many.operators[j].op in _FOLDED_INTO), None)
        if into is not None and into in many.partner:
            why = f"{op} is folded into {many.operators[into].op}"
            yield (into, i), many.partner[into], why


class Grade(Enum):
    """How surely two sides of a row belong together, most surely first."""

    SAME = "same"
    BY_HAND = "by_hand"
    MOVED = "moved"
    RESIZED = "resized"
    OTHER_TYPE = "other_type"
    REWRITTEN = "rewritten"
    GROUP = "group"
    BY_NAME = "by_name"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True)
class OperatorPair:
    """An operator of A and one of B, as indexes into `Program.operators`, with the reason."""

    a: int
    b: int
    grade: Grade
    why: str


@dataclass(frozen=True)
class OperatorPairs:
    """All pairs, in the order of A.

    methods: the methods of A and B that were compared. same_program: whether debug handles decided.
    alike: per side, operators that stay unpaired because they could be several, with the reason.
    """

    pairs: tuple[OperatorPair, ...]
    methods: tuple[tuple[str, str], ...]
    same_program: bool
    alike: tuple[Mapping[int, str], Mapping[int, str]] = ({}, {})

    @cached_property
    def of_a(self) -> dict[int, list[OperatorPair]]:
        return lists_by_key((pair.a, pair) for pair in self.pairs)


def pair_operators(a: Program, b: Program, chosen: tuple[str, str] | None = None) -> OperatorPairs:
    """Return which operators of two programs belong together.

    chosen: a method of A and one of B: only these are paired, as if they were one.
    """
    methods = tuple(_paired_methods(a, b) if chosen is None else _named(a, b, chosen))
    if (a is b or methods) and all(x is y or _is_same(x, y) for x, y in methods):
        pairs = [
            OperatorPair(operator.index, other.index, Grade.SAME, "same record")
            for x, y in methods
            if not a.is_recorded  # in a profile: only their names are known
            for operator, other in zip(x.operators, y.operators, strict=True)
        ]
        return OperatorPairs(tuple(pairs), _names(methods), True)
    operator_pairs: list[OperatorPair] = []
    alike: tuple[dict[int, str], dict[int, str]] = {}, {}
    for x, y in methods:
        evidence = Evidence(x, y, (dataflow_of(a), dataflow_of(b)))
        chosen_pairs = MethodPairs(evidence)
        operator_pairs += _graded_pairs(evidence, chosen_pairs)
        for reasons, method, more in zip(alike, (x, y), chosen_pairs.alike(), strict=True):
            reasons.update((method.operators[i].index, why) for i, why in more.items())
    operator_pairs.sort(key=lambda pair: (pair.a, pair.b))
    return OperatorPairs(tuple(operator_pairs), _names(methods), False, alike)


def _names(methods: Iterable[tuple[Method, Method]]) -> tuple[tuple[str, str], ...]:
    return tuple((x.name, y.name) for x, y in methods)


def _paired_methods(a: Program, b: Program) -> Iterator[tuple[Method, Method]]:
    """Methods of equal names; a single one is paired with a single one of another name."""
    of_name = {method.name: method for method in b.methods}
    yield from ((method, of_name[method.name]) for method in a.methods if method.name in of_name)
    names = {method.name for method in a.methods}
    rest_a = [method for method in a.methods if method.name not in of_name]
    rest_b = [method for method in b.methods if method.name not in names]
    if len(rest_a) == len(rest_b) == 1:
        yield rest_a[0], rest_b[0]


def _named(a: Program, b: Program, names: tuple[str, str]) -> Iterator[tuple[Method, Method]]:
    of_a, of_b = ({method.name: method for method in program.methods} for program in (a, b))
    if names[0] in of_a and names[1] in of_b:
        yield of_a[names[0]], of_b[names[1]]


def _is_same(a: Method, b: Method) -> bool:
    """Whether two methods have the same operators, of which none has the constants of another."""
    if _identities(a) != _identities(b):
        return False
    if a.constants == b.constants or not (a.constants and b.constants):
        return True
    of_a, of_b = (
        only_users([constants_of(op, method.constants) for op in method.operators])
        for method in (a, b)
    )
    return all(of_a[content] == of_b[content] for content in of_a.keys() & of_b.keys())


def _identities(method: Method) -> list[object]:
    return [
        (
            operator.debug_handle,
            operator.module_path,
            operator.op,
            operator.source and (operator.source.line, operator.source.text),
            [(n.op, [(t.dtype, t.shape) for t in n.outputs]) for n in operator.nodes],
        )
        for operator in method.operators
    ]


def _graded_pairs(evidence: Evidence, method_pairs: MethodPairs) -> Iterator[OperatorPair]:
    first, other = (
        [paired_operator.operator.index for paired_operator in paired_operators]
        for paired_operators in (evidence.a, evidence.b)
    )
    for i, j in method_pairs.of_a.items():
        yield OperatorPair(first[i], other[j], *_graded(evidence, method_pairs, i, j))
    for group in grouped(evidence, method_pairs.of_a, method_pairs.of_b):
        for i, j in product(group.a, group.b):
            if method_pairs.of_a.get(i) != j:
                yield OperatorPair(first[i], other[j], Grade.GROUP, group.why)


def _graded(evidence: Evidence, pairs: MethodPairs, i: int, j: int) -> tuple[Grade, str]:
    """The grade of a pair, and what agrees and what differs."""
    x, y = evidence.a[i], evidence.b[j]
    agrees, differs = [], []
    is_known = bool(set(x.constants) & set(y.constants))
    if is_known:
        agrees.append("constants")
    elif x.constants and y.constants and pairs.keeps_constants:
        differs.append("other constants")
    for name, (a, b) in (("shapes", evidence.shape), ("data types", evidence.dtype)):
        if a[i] != b[j]:
            differs.append(f"other {name}")
        elif a[i] != UNKNOWN:
            agrees.append(name)
    for name, (neighbors, other) in (("inputs", evidence.inputs), ("outputs", evidence.outputs)):
        same = [pairs.of_a[k] in other[j] for k in neighbors[i] if k in pairs.of_a]
        same += [pairs.of_b[k] in neighbors[i] for k in other[j] if k in pairs.of_b]
        if all(same):
            agrees += [name] if same else []
        elif name == "inputs" or not is_known:
            differs.append(f"other {name}")
    if x.text != y.text:
        differs.append("another source line")
    elif x.text:
        agrees.append("source line")
    if x.path != y.path:
        differs.append(f"module {x.path or '(outermost)'} is {y.path or '(outermost)'}")
    else:
        agrees.append("module")
    if pairs.is_doubtful(i):
        differs.append("one of several equal elements")
    times = evidence.times_at_place(i, j)
    if times[0] != times[1] and not is_known:
        differs.append(f"{times[0]} times in A, {times[1]} times in B")
    grade = Grade.MOVED if differs else Grade.SAME
    if x.shapes != y.shapes:
        grade = Grade.RESIZED
    if x.dtypes != y.dtypes:
        grade = Grade.OTHER_TYPE
    if x.op != y.op:
        grade = Grade.REWRITTEN
        differs.insert(0, f"{x.op} became {y.op}")
    all_same = f"same {listed(agrees)}" if agrees else ""
    return grade, "; ".join(filter(None, (all_same, ", ".join(differs))))


# The arm (0 or 1), what it is, and its number there.
Member = tuple[int, str, int]
Thing = TypeVar("Thing", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a comparison: parts of A and parts of B, by number, ascending; one may be empty.

    why: the reason of the grade, in words.
    """

    level: str
    label: str
    grade: Grade
    why: str
    a: tuple[int, ...]
    b: tuple[int, ...]


class Joined(Generic[Thing]):
    """Groups of things that were joined with one another, in the order in which they came."""

    def __init__(self) -> None:
        self._above: dict[Thing, Thing] = {}

    def add(self, member: Thing) -> None:
        """Add something that may be alone."""
        self._above.setdefault(member, member)

    def join(self, member: Thing, other: Thing) -> None:
        """Put two things, and what they were joined with, into one group."""
        self.add(member)
        self.add(other)
        self._above[self.of(other)] = self.of(member)

    def of(self, member: Thing) -> Thing:
        """The member that stands for the group of a thing; itself if it was not added."""
        if member not in self._above:
            return member
        while self._above[member] != member:
            self._above[member] = self._above[self._above[member]]
            member = self._above[member]
        return member

    def groups(self) -> list[list[Thing]]:
        groups = lists_by_key((self.of(member), member) for member in self._above)
        return list(groups.values())
