"""Pairs the operators of two programs: which operator of B is which of A, how surely, and why.

Two programs with the same operators under the same debug handles are one: the handle decides.
Otherwise operators are paired by evidence (`method_pairs`), and what became several, or was
several, is a group (`operator_groups`). What several could be stays unpaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import product

from viewer.analysis.comparison.evidence import UNKNOWN, Evidence, constants_of, only_users
from viewer.analysis.comparison.method_pairs import MethodPairs
from viewer.analysis.comparison.operator_groups import grouped
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.program.program import Method, Program


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
        """The pairs of each operator of A."""
        found: dict[int, list[OperatorPair]] = {}
        for pair in self.pairs:
            found.setdefault(pair.a, []).append(pair)
        return found


def pair_operators(a: Program, b: Program, chosen: tuple[str, str] | None = None) -> OperatorPairs:
    """Return which operators of two programs belong together.

    chosen: a method of A and one of B: only these are paired, as if they were one.
    """
    methods = tuple(_paired_methods(a, b) if chosen is None else _named(a, b, chosen))
    if (a is b or methods) and all(x is y or _is_same(x, y) for x, y in methods):
        pairs = [
            OperatorPair(one.index, other.index, Grade.SAME, "same record")
            for x, y in methods
            if not a.is_recorded  # in a profile: only their names are known
            for one, other in zip(x.operators, y.operators, strict=True)
        ]
        return OperatorPairs(tuple(pairs), _names(methods), True)
    found: list[OperatorPair] = []
    alike: tuple[dict[int, str], dict[int, str]] = {}, {}
    for x, y in methods:
        evidence = Evidence(x, y, (dataflow_of(a), dataflow_of(b)))
        chosen_pairs = MethodPairs(evidence)
        found += _graded_pairs(evidence, chosen_pairs)
        for own, method, more in zip(alike, (x, y), chosen_pairs.alike(), strict=True):
            own.update((method.operators[i].index, why) for i, why in more.items())
    found.sort(key=lambda pair: (pair.a, pair.b))
    return OperatorPairs(tuple(found), _names(methods), False, alike)


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
            one.debug_handle,
            one.module_path,
            one.op,
            one.source and (one.source.line, one.source.text),
            [(n.op, [(t.dtype, t.shape) for t in n.outputs]) for n in one.nodes],
        )
        for one in method.operators
    ]


def _graded_pairs(evidence: Evidence, found: MethodPairs) -> Iterator[OperatorPair]:
    first, other = ([one.operator.index for one in own] for own in (evidence.a, evidence.b))
    for i, j in found.of_a.items():
        yield OperatorPair(first[i], other[j], *_graded(evidence, found, i, j))
    for group in grouped(evidence, found.of_a, found.of_b):
        for i, j in product(group.a, group.b):
            if found.of_a.get(i) != j:
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
    for name, (own, other) in (("inputs", evidence.inputs), ("outputs", evidence.outputs)):
        same = [pairs.of_a[k] in other[j] for k in own[i] if k in pairs.of_a]
        same += [pairs.of_b[k] in own[i] for k in other[j] if k in pairs.of_b]
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
    all_same = " and ".join(filter(None, (", ".join(agrees[:-1]), *agrees[-1:])))
    return grade, "; ".join(filter(None, (all_same and f"same {all_same}", ", ".join(differs))))
