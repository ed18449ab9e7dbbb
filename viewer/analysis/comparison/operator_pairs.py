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

from viewer.analysis.comparison.alignment import aligned
from viewer.analysis.comparison.module_calls import ModuleCalls, PairedOperator, module_calls
from viewer.program.program import Method, Operator, Program

# A module is seen through to one inside it if that has most of its operators.
_MOST_OF_IT = 0.6
_FOLDED = frozenset(("batch_norm",))
_FOLDED_INTO = frozenset(("convolution", "linear", "conv1d", "conv2d", "conv3d"))


class Grade(Enum):
    """How surely two sides of a row belong together, most surely first."""

    SAME = "same"
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


@dataclass(frozen=True, slots=True)
class OperatorPairs:
    """All pairs, in the order of A.

    methods: the methods of A and B that were compared. same_program: whether debug handles decided.
    """

    pairs: tuple[OperatorPair, ...]
    methods: tuple[tuple[str, str], ...]
    same_program: bool


def pair_operators(a: Program, b: Program) -> OperatorPairs:
    """Return which operators of two programs belong together."""
    methods = tuple(_paired_methods(a, b))
    if a is b or all(_identities(x) == _identities(y) for x, y in methods):
        pairs = [
            OperatorPair(op.index, y.by_handle[op.debug_handle].index, Grade.SAME, "same record")
            for x, y in methods
            for op in x.operators
            if op.debug_handle in y.by_handle
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
        for i, j in aligned(a, b, _likeness, _identity):
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
            (op for module in modules for op in module.everything),
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
        has_other = {op.op for op in b.operators if op.index not in set(partner.values())}
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


def _likeness(x: PairedOperator, y: PairedOperator) -> float:
    """How alike two operators of paired modules are; 0 if they are different ones."""
    if x.op != y.op:
        return 0
    return 4 + 2 * (x.text == y.text) + (x.shapes == y.shapes) + 0.5 * (x.dtypes == y.dtypes)


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
    """Pairs of the modules inside two paired ones."""
    found = []
    names = {module.name: module for module in b if not module.is_element}
    for x in a:
        if not x.is_element and x.name in names:
            found.append((x, names[x.name]))
    patterns = [dict.fromkeys(one.pattern for one in side if one.is_element) for side in (a, b)]
    for pattern in patterns[0]:
        if pattern in patterns[1]:
            found += _paired_elements(_elements(a, pattern), _elements(b, pattern))
    # Lists that only one side has by this name, then single modules, in the order of the graph.
    lists_a = [pattern for pattern in patterns[0] if pattern not in patterns[1]]
    lists_b = [pattern for pattern in patterns[1] if pattern not in patterns[0]]

    def alike(p: str, q: str) -> float:
        return max(
            _resemblance(x, y) for x in _elements(a, p)[:3] for y in _elements(b, q)[:3]
        )  # fmt: skip

    for i, j in aligned(lists_a, lists_b, alike, lambda pattern: pattern):
        found += _paired_elements(_elements(a, lists_a[i]), _elements(b, lists_b[j]))
    used_a, used_b = ({id(pair[side]) for pair in found} for side in (0, 1))
    rest_a = [one for one in a if id(one) not in used_a and not one.is_element]
    rest_b = [one for one in b if id(one) not in used_b and not one.is_element]
    renamed = aligned(rest_a, rest_b, _resemblance, lambda one: (one.name, one.content))
    count_a, count_b = (Counter(one.content for one in side) for side in (rest_a, rest_b))
    for i, j in renamed:
        x, y = rest_a[i], rest_b[j]
        # Which of several equal modules is left over cannot be told.
        if count_a[x.content] == count_b[x.content] or x.content != y.content:
            found.append((x, y))
    return found


def _elements(modules: Sequence[ModuleCalls], pattern: str) -> list[ModuleCalls]:
    return [one for one in modules if one.is_element and one.pattern == pattern]


def _paired_elements(
    a: Sequence[ModuleCalls], b: Sequence[ModuleCalls]
) -> list[tuple[ModuleCalls, ModuleCalls]]:
    """Elements of two lists, in order, by their contents; equal ones by their index."""

    def score(x: ModuleCalls, y: ModuleCalls) -> float:
        likeness = _resemblance(x, y) or (0.5 if x.type == y.type else 0)
        return likeness + (0.5 if likeness and _digits(x) == _digits(y) else 0)

    pairs = aligned(a, b, score, lambda one: (_digits(one), one.content))
    return [(a[i], b[j]) for i, j in pairs]


def _digits(module: ModuleCalls) -> tuple[str, ...]:
    return tuple(part for part in module.name.split(".") if part.isdecimal())


def _resemblance(x: ModuleCalls, y: ModuleCalls) -> float:
    """How alike the contents of two modules are; 0 if they have other operators."""
    if x.content == y.content:
        return 4
    if x.structure == y.structure:
        return 3
    common = sum((Counter(x.structure) & Counter(y.structure)).values())
    share = common / max(len(x.structure), len(y.structure), 1)
    return share if share > 0.5 and x.type.rpartition(".")[2] == y.type.rpartition(".")[2] else 0


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


def unpaired(operators: Sequence[Operator], used: Iterable[int]) -> list[Operator]:
    """The operators that are in no pair."""
    paired = set(used)
    return [op for op in operators if op.index not in paired]
