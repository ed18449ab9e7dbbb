"""Pairs the operators of two programs: which operator of B is which of A, how surely, and why.

Two programs with the same operators under the same debug handles are one: the handle decides.
Otherwise modules are paired first, from the outermost inwards, then the operators inside:

* modules inside paired ones by name; elements of a list by their contents in order, then by index
* what is left by contents in order (renamed modules), and a module around another one is seen
  through (wrappers)
* the operators of paired modules by what they are, in order; then those that moved into a module
  inside, and those of the same source line
* a batch norm that is only on one side belongs to the convolution or linear layer whose result it
  takes, if that one is paired: folding it into the weights is what removes it

Nothing is paired across modules by its operator name alone. What several could be stays unpaired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from viewer.analysis.comparison.alignment import in_stages
from viewer.analysis.comparison.module_calls import ModuleCalls, PairedOperator, module_calls
from viewer.program.program import Method, Program

# A module is seen through to one inside it if that has most of its operators.
_MOST_OF_IT = 0.6
_FOLDED = frozenset(("batch_norm",))
_FOLDED_INTO = frozenset(("convolution", "linear", "conv1d", "conv2d", "conv3d"))


class Grade(Enum):
    """How surely two sides of a row belong together, most surely first."""

    SAME = "same"
    BY_HAND = "by_hand"
    MOVED = "moved"
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
    """

    pairs: tuple[OperatorPair, ...]
    methods: tuple[tuple[str, str], ...]
    same_program: bool

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
    if (a is b or methods) and all(x is y or _identities(x) == _identities(y) for x, y in methods):
        pairs = [
            OperatorPair(one.index, other.index, Grade.SAME, "same record")
            for x, y in methods
            if not a.is_recorded  # in a profile: only their names are known
            for one, other in zip(x.operators, y.operators, strict=True)
        ]
        return OperatorPairs(tuple(pairs), _names(methods), True)
    found = [pair for x, y in methods for pair in _MethodPairing(x, y).pairs()]
    return OperatorPairs(tuple(sorted(found, key=lambda p: (p.a, p.b))), _names(methods), False)


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


class _MethodPairing:
    """Pairs the operators of two methods."""

    def __init__(self, a: Method, b: Method) -> None:
        self._of_a, self._of_b = module_calls(a.operators), module_calls(b.operators)
        self._method_a, self._method_b = a, b
        self._pairs: dict[int, tuple[PairedOperator, PairedOperator, Grade]] = {}
        self._taken: set[int] = set()  # operators of B
        self._paths: dict[str, str] = {}  # of paired modules

    def pairs(self) -> Iterator[OperatorPair]:
        """Yield all pairs of the two methods."""
        self._pair_modules(*_seen_through(self._of_a, self._of_b))
        for x, y, grade in self._pairs.values():
            yield self._graded(x, y, grade)
        yield from self._folded(self._method_a, self._method_b, swapped=False)
        yield from self._folded(self._method_b, self._method_a, swapped=True)

    def _pair_modules(self, a: ModuleCalls, b: ModuleCalls) -> None:
        self._paths[a.path] = b.path
        rest_a, rest_b = list(a.children), list(b.children)
        for x, y in _paired_children(rest_a, rest_b):
            rest_a.remove(x)
            rest_b.remove(y)
            self._pair_modules(*_seen_through(x, y))
        self._pair_in_order(a.own, b.own)
        self._pair_into(a.own, rest_b)
        self._pair_into(b.own, rest_a, swapped=True)
        self._pair_lines(a.own, b.own)

    def _pair_in_order(self, a: Sequence[PairedOperator], b: Sequence[PairedOperator]) -> None:
        for i, j in in_stages(a, b, _STAGES):
            self._take(a[i], b[j])
        # Those that run in another order than before.
        rest_a, rest_b = self._left_of_a(a), self._left_of_b(b)
        for x, y in _only_ones(rest_a, rest_b, lambda one: (one.op, one.text)):
            self._take(x, y)

    def _pair_into(
        self,
        own: Sequence[PairedOperator],
        modules: Sequence[ModuleCalls],
        *,
        swapped: bool = False,
    ) -> None:
        """Pair operators with those that the other side runs in modules of their own."""
        inside = sorted(
            (module.everything[0] for module in modules if len(set(module.structure)) == 1),
            key=lambda one: one.operator.index,
        )
        left = self._left_of_b(own) if swapped else self._left_of_a(own)
        free = self._left_of_a(inside) if swapped else self._left_of_b(inside)
        for op in dict.fromkeys(one.op for one in left):
            x, y = ([one for one in side if one.op == op] for side in (left, free))
            if len(x) == len(y):
                for first, second in zip(x, y, strict=True):
                    self._take(*((second, first) if swapped else (first, second)))

    def _pair_lines(self, a: Sequence[PairedOperator], b: Sequence[PairedOperator]) -> None:
        """Pair what the same line of source became, if it is another operator now."""
        rest_a, rest_b = self._left_of_a(a), self._left_of_b(b)
        for x, y in _only_ones(rest_a, rest_b, lambda one: one.text):
            if x.text:
                self._take(x, y, Grade.REWRITTEN)

    def _take(self, x: PairedOperator, y: PairedOperator, grade: Grade = Grade.SAME) -> None:
        self._pairs[x.operator.index] = x, y, grade
        self._taken.add(y.operator.index)

    def _left_of_a(self, some: Iterable[PairedOperator]) -> list[PairedOperator]:
        return [one for one in some if one.operator.index not in self._pairs]

    def _left_of_b(self, some: Iterable[PairedOperator]) -> list[PairedOperator]:
        return [one for one in some if one.operator.index not in self._taken]

    def _graded(self, x: PairedOperator, y: PairedOperator, grade: Grade) -> OperatorPair:
        path_a, path_b = x.operator.module_path, y.operator.module_path
        differences = []
        if x.op != y.op:
            differences.append(f"{x.op} became {y.op}")
        if path_a != path_b:
            differences.append(f"module {path_a or '(outermost)'} is {path_b or '(outermost)'}")
        if x.shapes != y.shapes:
            differences.append("other shapes")
        if x.dtypes != y.dtypes:
            differences.append("other data types")
        if x.text != y.text:
            differences.append("another source line")
        if not differences:
            why = "same module, operator, shapes and source line"
        else:
            why = ", ".join(differences)
            grade = Grade.MOVED if grade is Grade.SAME else grade
        return OperatorPair(x.operator.index, y.operator.index, grade, why)

    def _folded(self, a: Method, b: Method, *, swapped: bool) -> Iterator[OperatorPair]:
        """Pairs of the batch norms of one side with what they were folded into on the other."""
        partner = {x: y.operator.index for x, (_, y, _) in self._pairs.items()}
        if swapped:
            partner = {y: x for x, y in partner.items()}
        paired = set(partner.values())
        has_other = {op.op for op in b.operators if op.index not in paired}
        maker = {
            result.name: op for op in a.operators for node in op.nodes for result in node.outputs
        }
        for op in a.operators:
            if op.op not in _FOLDED or op.index in partner or op.op in has_other:
                continue
            makers = (maker.get(value.name) for value in op.nodes[0].inputs if not value.parameter)
            into = next((one for one in makers if one is not None), None)
            if into is None or into.op not in _FOLDED_INTO or into.index not in partner:
                continue
            other = partner[into.index]
            x, y = (other, op.index) if swapped else (op.index, other)
            yield OperatorPair(x, y, Grade.GROUP, f"{op.op} is folded into {into.op}")


def _identity(one: PairedOperator) -> object:
    return one.op, one.shapes, one.dtypes, one.text


_STAGES = (_identity, lambda one: (one.op, one.text), lambda one: one.op)


def _only_ones(
    a: Sequence[PairedOperator],
    b: Sequence[PairedOperator],
    key: Callable[[PairedOperator], object],
) -> Iterator[tuple[PairedOperator, PairedOperator]]:
    """Pairs with a key that only one on each side has."""
    count_a, count_b = Counter(map(key, a)), Counter(map(key, b))
    of_b = {key(one): one for one in b}
    for one in a:
        if count_a[key(one)] == count_b[key(one)] == 1:
            yield one, of_b[key(one)]


def _paired_children(
    a: Sequence[ModuleCalls], b: Sequence[ModuleCalls]
) -> list[tuple[ModuleCalls, ModuleCalls]]:
    """Pairs of the modules inside two paired ones.

    By name first, in any order. Elements of a list have no names, only numbers that shift: they are
    the same by name only if their contents are. The rest is paired between those, by content, by
    structure without shapes, and elements at last by number and by type.
    """
    of_name = {module.name: j for j, module in enumerate(b)}
    named = [
        (i, of_name[x.name])
        for i, x in enumerate(a)
        if x.name in of_name
        and (not x.is_element or x.content == b[of_name[x.name]].content)
    ]  # fmt: skip
    used_a, used_b = {i for i, _ in named}, {j for _, j in named}

    def free(key: Callable[[ModuleCalls], object]) -> Callable[[tuple[int, int]], object]:
        """A key that no module has which is paired by its name."""

        def of(place: tuple[int, int]) -> object:
            side, number = place
            if number in (used_b if side else used_a):
                return place
            return key((b if side else a)[number])

        return of

    stages = [
        free(lambda one: one.content),
        free(lambda one: one.structure),
        free(lambda one: (one.name,) if one.is_element else (one.name, one)),
        free(lambda one: (one.pattern, one.type) if one.is_element else (one.name, one)),
    ]
    places_a, places_b = [(0, i) for i in range(len(a))], [(1, j) for j in range(len(b))]
    rest = in_stages(
        places_a, places_b, stages, named,
        alone=lambda place: not (b if place[0] else a)[place[1]].is_element,
    )  # fmt: skip
    return [(a[i], b[j]) for i, j in dict.fromkeys([*named, *rest])]


def _seen_through(a: ModuleCalls, b: ModuleCalls) -> tuple[ModuleCalls, ModuleCalls]:
    """The modules to compare: a module inside one of them if that is more like the other."""
    best, pair = _shared(a, b), (a, b)
    for outer, other, is_b in ((b, a, True), (a, b, False)):
        inner: ModuleCalls | None = outer
        while inner is not None:
            shared = _shared(other, inner)
            if shared > best:
                best, pair = shared, ((other, inner) if is_b else (inner, other))
            size = len(inner.everything)
            large = [c for c in inner.children if len(c.everything) > _MOST_OF_IT * size]
            inner = large[0] if large else None
    return pair


def _shared(x: ModuleCalls, y: ModuleCalls) -> float:
    """The share of operators that both have at the same path below the module."""
    return len(x.places & y.places) / max(len(x.places | y.places), 1)
