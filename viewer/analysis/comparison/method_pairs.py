"""Pairs the operators of two methods by evidence, the strongest first.

1. Constants: an operator is the one that has its weights, if no other one has them.
2. Shapes, data types and data flow: the one with the same neighbors, up to those that are paired.
   Names decide between several.
3. What is left between pairs, in order: the alignment with the highest sum of what agrees, of
   shapes, data types, neighbors, source lines and names.
4. What runs in another order: by the names and lines that only one operator on each side has.

Only what is certain is paired: an operator that could as well be paired with another one is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from viewer.analysis.comparison.evidence import Evidence, only_users
from viewer.analysis.comparison.module_names import (
    ModuleNames,
    NamedCalls,
    equal_elements,
    outer_paths,
)
from viewer.analysis.comparison.pair_scores import MOST_SURE, Neighbors, PairScores, only_ones

_MOST_ROUNDS = 100


class MethodPairs:
    """The pairs of two methods, by place in each."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.of_a: dict[int, int] = {}
        self.of_b: dict[int, int] = {}
        self._elements, self._doubtful = equal_elements(evidence.a, evidence.b, evidence.kind)
        self._calls_of_b = NamedCalls(
            evidence.b, [paired_operator.path for paired_operator in evidence.b]
        )
        self._pair_constants()
        self._strength = dict.fromkeys(self.of_a, MOST_SURE)
        self._with_constants = {p for x in self.of_a for p in outer_paths(evidence.a[x].path)}
        self.keeps_constants = self._are_constants_kept()
        self._pair_neighbors()
        self._is_firm = frozenset(self.of_a if self.keeps_constants else ())
        if not evidence.has_flow:
            self._pair_names()
        for _ in range(2):
            if not self._is_done:
                self._align()
            if not self.keeps_constants:
                self._pair_names()
            self._pair_neighbors()
        self._pair_lines()

    def _take(self, x: int, y: int) -> None:
        self.of_a[x], self.of_b[y] = y, x

    def alike(self) -> tuple[dict[int, str], dict[int, str]]:
        """Return why some are left on each side: as many of A as of B could be one another."""
        kinds = [column.tolist() for column in self.evidence.kind]
        sides = self._left()
        count = [Counter(kinds[side][i] for i in index) for side, index in enumerate(sides)]
        first, second = (
            {
                i: f"{count[0][kind]} of A and {count[1][kind]} of B are alike"
                for i in index
                if count[1 - side][kind := kinds[side][i]]
            }
            for side, index in enumerate(sides)
        )
        return first, second

    def _names(self, likely: Iterable[tuple[int, int]] = ()) -> ModuleNames:
        return ModuleNames(self.evidence.a, self._calls_of_b, self.of_a, self._elements, likely)

    @property
    def _is_done(self) -> bool:
        """Whether a side has nothing left to be paired."""
        e = self.evidence
        return len(self.of_a) in (len(e.a), len(e.b))

    def is_doubtful(self, x: int) -> bool:
        """Whether another number of equal elements leaves open which is which."""
        return any(
            (path in self._doubtful or self._elements.get(path, path) != path)
            and path not in self._with_constants
            for path in outer_paths(self.evidence.a[x].path)
        )

    def _left(self) -> tuple[list[int], list[int]]:
        """The operators of A and of B without a partner."""
        e = self.evidence
        return (
            [i for i in range(len(e.a)) if i not in self.of_a],
            [j for j in range(len(e.b)) if j not in self.of_b],
        )

    # -- constants ---------------------------------------------------------------------------------

    def _pair_constants(self) -> None:
        """Pair operators with a constant that only one on each side has."""
        of_a, of_b = (
            only_users([paired_operator.constants for paired_operator in paired_operators])
            for paired_operators in (self.evidence.a, self.evidence.b)
        )
        votes = Counter((x, of_b[c]) for c, x in of_a.items() if c in of_b)
        for (x, y), _ in votes.most_common():
            if x not in self.of_a and y not in self.of_b:
                self._take(x, y)

    def _are_constants_kept(self) -> bool:
        """Whether most constants of one side are on the other, so that others are new."""
        of_a, of_b = (
            {c for paired_operator in paired_operators for c in paired_operator.constants}
            for paired_operators in (self.evidence.a, self.evidence.b)
        )
        return 4 * len(of_a & of_b) > min(len(of_a), len(of_b)) > 0

    def _may_be(self, x: int, y: int) -> bool:
        """Whether constants do not contradict that two operators are one."""
        e = self.evidence
        a, b = e.a[x].constants, e.b[y].constants
        if not (self.keeps_constants and a and b) or set(a) & set(b):
            return True
        return e.has_norm_behind(0, x) != e.has_norm_behind(1, y)  # it is folded into the other one

    def _balance(self, pairs: dict[int, int], x: int, y: int) -> int:
        """How many more paired neighbors two operators have in common than not."""
        agrees, differs = self.evidence.common(pairs, x, y)
        return agrees - differs

    # -- data flow ---------------------------------------------------------------------------------

    def _pair_neighbors(self) -> None:
        """Pair what has the same operators around, up to those that are paired."""
        if not self.evidence.has_flow:
            return
        rules = (self._same_cones, Neighbors.next_to_constants, self._same_neighbors,
                 self._named_neighbors, self._one_side, self._other_sizes,
                 Neighbors.surely_named)  # fmt: skip
        for _ in range(_MOST_ROUNDS):
            if self._is_done:
                return
            before = len(self.of_a)
            around = Neighbors(self.evidence, self.of_a, self.of_b, self._strength, self._names)
            for rule in rules:
                for x, y in rule(around):
                    if x not in self.of_a and y not in self.of_b and self._may_be(x, y):
                        self._strength[x] = self._next_strength(x)
                        self._take(x, y)
                if len(self.of_a) > before:
                    break
            else:
                return

    def _next_strength(self, x: int) -> int:
        e = self.evidence
        around = (*e.inputs[0][x], *e.outputs[0][x])
        return max(
            max((self._strength.get(i, 1) for i in around if i in self.of_a), default=1) - 1, 1
        )

    def _same_cones(self, around: Neighbors) -> Iterator[tuple[int, int]]:
        """What depends on the same, and of which the same depends."""
        for x, y in around.same():
            is_known = around.has_inputs(x) and not around.is_contradicted(x, y)
            if is_known or around.is_anchored(x):
                yield x, y

    def _same_neighbors(self, around: Neighbors) -> Iterator[tuple[int, int]]:
        """What takes the same as another and gives the same."""
        for x, before, after in around.found:
            if before is not None and before == after and around.takes_equal(x, before):
                yield x, before

    def _named_neighbors(self, around: Neighbors) -> Iterator[tuple[int, int]]:
        """What takes or gives the same, and is the same by its name, or in the same module."""
        for x, before, after in around.found:
            neighbors = [y for y in (before, after) if y is not None]
            named = [y for y in neighbors if y == around.named(x)]
            inside = [y for y in neighbors if around.is_in_module(x, y)]
            if named:
                yield x, named[0]
            elif len(inside) == 1 and len(neighbors) == 2:
                yield x, inside[0]

    def _one_side(self, around: Neighbors) -> Iterator[tuple[int, int]]:
        """What takes or gives the same, if nothing contradicts that."""
        claims = Counter(y for _, *partners in around.found for y in set(partners) if y is not None)
        for x, before, after in around.found:
            if before is not None and after is not None:
                continue
            y = after if before is None else before
            if y is None or claims[y] > 1 or around.is_surely_another(x, y):
                continue
            is_near = before is not None and around.is_anchored(x)
            if is_near or not around.is_contradicted(x, y):
                yield x, y

    def _other_sizes(self, around: Neighbors) -> Iterator[tuple[int, int]]:
        """What has the same types around, if no operator that is left has its shapes."""
        yield from around.alike()

    # -- order -------------------------------------------------------------------------------------

    def _align(self) -> None:
        """Pair what is between pairs in order, as far as it is certain."""
        scores = PairScores(
            self.evidence, self.of_a, self._names(), keeps_constants=self.keeps_constants
        )
        for x, y in scores.in_order(*self._left()):
            self._take(x, y)

    # -- another order -----------------------------------------------------------------------------

    def _pair_names(self) -> None:
        """Pair what is the same by name, line and shape, where no fewer pairs result from it."""
        e = self.evidence
        kind_a, kind_b = (column.tolist() for column in e.kind)
        wanted = {
            i: j
            for i, j in enumerate(ModuleNames(e.a, self._calls_of_b, {}, self._elements).partner)
            if j >= 0 and kind_a[i] == kind_b[j]
            and i not in self._is_firm and self._may_be(i, j)
        }  # fmt: skip
        for i, j in wanted.items():
            chain, operator = [], i
            # What has to be paired anew if this is: the partner of its partner, and so on.
            while self.of_a.get(i) != j and operator in wanted and operator not in chain:
                chain.append(operator)
                before = self.of_b.get(wanted[operator])
                if before is None or before == i:
                    self._pair_anew({x: wanted[x] for x in chain})
                    break
                operator = before

    def _pair_anew(self, pairs: dict[int, int]) -> None:
        """Pair some with others than before, if these have no fewer neighbors in common."""
        old = {x: self.of_a[x] for x in pairs if x in self.of_a}
        for x in old:
            del self.of_b[self.of_a.pop(x)]
        before, after = (
            sum(self._balance(self.of_a | partner_of, *pair) for pair in partner_of.items())
            for partner_of in (old, pairs)
        )
        # Elements of lists have no names, only numbers that shift.
        named = all(
            path and not any(map(str.isdecimal, path.split(".")))
            for path in (self.evidence.a[x].path for x in pairs)
        )
        for x, y in (pairs if named or after >= before else old).items():
            self._take(x, y)

    def _pair_lines(self) -> None:
        """Pair what has a line of its own in the same module, if it is another operator now too."""
        e = self.evidence
        if self._is_done:
            return
        names = self._names()
        paths = (
            [names.of(paired_operator.path) for paired_operator in e.a],
            [paired_operator.path for paired_operator in e.b],
        )
        for is_same_type in (True, False):
            keys = [
                [
                    (path, paired_operator.text, paired_operator.op if is_same_type else "")
                    if paired_operator.text
                    else (side, i)
                    for i, (paired_operator, path) in enumerate(
                        zip(paired_operators, paths[side], strict=True)
                    )
                ]
                for side, paired_operators in enumerate((e.a, e.b))
            ]
            for i, j in only_ones(*self._left(), *keys):
                if self._may_be(i, j):
                    self._take(i, j)
