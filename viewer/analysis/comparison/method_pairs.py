"""Pairs the operators of two methods by evidence, the strongest first.

1. Constants: an operator is the one that has its weights, if no other one has them.
2. Shapes, data types and data flow: the one with the same neighbors. Names decide between several.
3. What is left between pairs, in order: the alignment with the highest sum of what agrees.
4. What runs in another order: by the names and lines that only one operator on each side has.

Only what is certain is paired: an operator that could as well be paired with another one is not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from viewer.analysis.comparison.evidence import (
    UNKNOWN,
    Evidence,
    ModuleNames,
    NamedCalls,
    ascending,
    best_alignment,
    codes,
    equal_elements,
    only_users,
    outer_paths,
)
from viewer.arrays import Ints

MOST_SURE = 8  # how sure pairs by constants are; others one less than those next to them


class Neighbors:
    """What is left of two methods, and what it has in common with what is paired.

    found: an operator of A, the one of B that takes the same, and the one that gives the same; None
    if there is none, or several.
    """

    def __init__(
        self,
        evidence: Evidence,
        of_a: Mapping[int, int],
        of_b: Mapping[int, int],
        strength: Mapping[int, int],
        names: Callable[[Iterable[tuple[int, int]]], ModuleNames],
    ) -> None:
        self._e, self._of_a, self._of_b, self._strength = evidence, of_a, of_b, strength
        self._left = [i for i in range(len(evidence.a)) if i not in of_a]
        self._free = [j for j in range(len(evidence.b)) if j not in of_b]
        self._kinds = tuple(column.tolist() for column in evidence.kind)
        self._cones = evidence.cones(of_a, is_exact=True)
        likely = ((x, y) for x, *partners in self.found for y in partners if y is not None)
        self._names = names(likely)

    def is_anchored(self, x: int) -> bool:
        """Whether an operator of A takes what a paired one gives; without inputs, the reverse."""
        sides = self._e.inputs[0][x] or self._e.outputs[0][x]
        return any(i in self._of_a for i in sides)

    def next_to_constants(self) -> Iterator[tuple[int, int]]:
        """Yield what takes the result of one with its constants, if nothing contradicts it."""
        for x, before, after in self.found:
            is_open = not any(i in self._of_a for i in self._e.outputs[0][x])
            if before is not None and (is_open or after in (None, before)) and any(
                self._strength.get(i, 0) == MOST_SURE
                and self._is_around(x, i) and self._of_a[i] in self._e.inputs[1][before]
                for i in self._e.inputs[0][x]
            ):  # fmt: skip
                yield x, before

    def _is_around(self, x: int, i: int) -> bool:
        """Whether the module of an operator of A is that of another one, or around it."""
        path, other = self._e.a[x].path, self._e.a[i].path
        return not path or f"{other}.".startswith(f"{path}.")

    def takes_equal(self, x: int, y: int) -> bool:
        """Whether two operators depend on the same, or all that one takes is paired."""
        takes = self._cones[0]
        return takes[0][x] == takes[1][y] or all(i in self._of_a for i in self._e.inputs[0][x])

    def has_inputs(self, x: int) -> bool:
        """Whether an operator of A takes the result of another one."""
        return bool(self._e.inputs[0][x])

    def named(self, x: int) -> int | None:
        """The operator of B with the same name and kind, unless it is paired."""
        y = self._names.partner[x]
        is_free = y >= 0 and y not in self._of_b and self._kinds[0][x] == self._kinds[1][y]
        return y if is_free else None

    def is_contradicted(self, x: int, y: int) -> bool:
        """Whether names pair one of two operators with another one that is left."""
        return self.named(x) not in (None, y) or self._namesake.get(y, x) != x

    def is_surely_another(self, x: int, y: int) -> bool:
        """Whether the name of one of two operators is that of another one beyond doubt."""
        other = self._namesake.get(y, x)
        is_sure = self._names.is_sure
        return (is_sure[x] and self.named(x) not in (None, y)) or (is_sure[other] and other != x)

    def surely_named(self) -> Iterator[tuple[int, int]]:
        """Yield the operators that are the only ones of their type in modules that are paired."""
        for x in self._left:
            y = self.named(x)
            if y is not None and self._names.is_sure[x]:
                yield x, y

    @cached_property
    def _namesake(self) -> dict[int, int]:
        return {y: x for x in self._left if (y := self.named(x)) is not None}

    def is_in_module(self, x: int, y: int) -> bool:
        """Whether two operators are in modules that belong together."""
        return self._names.of(self._e.a[x].path) == self._e.b[y].path

    def same(self) -> Iterator[tuple[int, int]]:
        """Yield what has equal operators around on both sides; of several, by line or module."""
        yield from self._equal_cones(self._left, self._free, *self._cones)

    def alike(self) -> Iterator[tuple[int, int]]:
        """Yield what has operators of equal types around, where no shapes are equal."""
        kinds = ({self._kinds[0][i] for i in self._left}, {self._kinds[1][j] for j in self._free})
        left = [i for i in self._left if self._kinds[0][i] not in kinds[1]]
        free = [j for j in self._free if self._kinds[1][j] not in kinds[0]]
        if left and free:
            partner = self._names.partner
            for x, y in self._equal_cones(left, free, *self._e.cones(self._of_a, is_exact=False)):
                is_known = partner[x] < 0 and self.has_inputs(x) and y not in partner
                if is_known or partner[x] == y or self.is_anchored(x):
                    yield x, y

    def _equal_cones(
        self,
        left: Sequence[int],
        free: Sequence[int],
        takes: tuple[list[int], list[int]],
        gives: tuple[list[int], list[int]],
    ) -> Iterator[tuple[int, int]]:
        keys: list[list[Hashable]] = [
            list(zip(*cone_codes, strict=True)) for cone_codes in zip(takes, gives, strict=True)
        ]
        done: set[int] = set()
        for names in (None, self._e.text, self._e.leaf):
            if names is not None:
                keys = [
                    list(zip(side_keys, column.tolist(), strict=True))
                    for side_keys, column in zip(keys, names, strict=True)
                ]
            for x, y in only_ones(left, free, *keys):
                if x not in done:
                    done.add(x)
                    yield x, y

    @cached_property
    def found(self) -> list[tuple[int, int | None, int | None]]:
        """Per operator of A that is left, what takes the same and what gives the same."""
        sides = []
        for neighbors, back, cones in (
            (self._e.inputs, self._e.outputs, self._cones[0]),
            (self._e.outputs, self._e.inputs, self._cones[1]),
        ):
            partners = dict(only_ones(self._left, self._free, *cones))
            sides.append({**partners, **self._next_to_pairs(neighbors, back)})
        return [
            (x, sides[0].get(x), sides[1].get(x))
            for x in self._left
            if x in sides[0] or x in sides[1]
        ]

    def _next_to_pairs(
        self, neighbors: Sequence[list[list[int]]], back: Sequence[list[list[int]]]
    ) -> dict[int, int]:
        """What is next to a pair, alone of its kind there; of several kinds of one, by line."""
        votes: dict[int, Counter[int]] = defaultdict(Counter)
        around = {i for x in self._left for i in neighbors[0][x] if i in self._of_a}
        lines = [list(zip(self._kinds[s], self._e.text[s].tolist(), strict=True)) for s in (0, 1)]
        for i in around:
            left = [x for x in back[0][i] if x not in self._of_a]
            free = [y for y in back[1][self._of_a[i]] if y not in self._of_b]
            keys = self._kinds
            pairs = dict(only_ones(left, free, *keys))
            if len(pairs) < min(len(left), len(free)):
                pairs = {**dict(only_ones(left, free, *lines)), **pairs}
            for x, y in pairs.items():
                votes[x][y] += self._strength.get(i, 1)
        partners = {}
        for x, counter in votes.items():
            (y, most), *others = counter.most_common(2)
            if not others or others[0][1] < most:
                partners[x] = y
        return partners


def only_ones(
    a: Iterable[int], b: Iterable[int], key_a: Sequence[Hashable], key_b: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs with a key that only one on each side has."""
    of_a: dict[Hashable, list[int]] = defaultdict(list)
    of_b: dict[Hashable, list[int]] = defaultdict(list)
    for index, keys, of_key in ((a, key_a, of_a), (b, key_b, of_b)):
        for i in index:
            of_key[keys[i]].append(i)
    for key, in_a in of_a.items():
        if len(in_a) == len(of_b.get(key, ())) == 1:
            yield in_a[0], of_b[key][0]


# What an agreement weighs. Shapes outweigh everything after them.
_SHAPE, _DTYPE, _NEXT, _NEAR, _TEXT, _LEAF, _PATH, _PLACE = 64, 16, 4, 2, 5, 2, 4, 6
# What operators must have in common apart from shapes and data types if these differ.
_OTHER_SHAPE, _OTHER_TYPE, _OTHER_CONSTANTS = 8, 4, 12
_MOST_KEPT = 512
# The most cells of the table of an alignment; beyond, what is left stays unpaired.
_LARGEST = 40_000_000


class PairScores:
    """The scores of the operators of two methods, given the pairs that are known already."""

    def __init__(
        self,
        evidence: Evidence,
        pairs: Mapping[int, int],
        names: ModuleNames,
        *,
        keeps_constants: bool,
    ) -> None:
        e = self._evidence = evidence
        self._pairs = dict(pairs)
        around = zip(e.around(pairs), (_NEXT, _NEAR) * 2, strict=True) if e.has_flow else ()
        path = codes(
            [names.of(paired_operator.path) for paired_operator in e.a],
            [paired_operator.path for paired_operator in e.b],
        )
        columns = [*around, (e.text, _TEXT), (e.leaf, _LEAF), (path, _PATH)]
        # In A, what is not known equals nothing.
        self._a = np.array([np.where(a == UNKNOWN, UNKNOWN - 1, a) for (a, _), _ in columns])
        self._b = np.array([b for (_, b), _ in columns])
        self._weights = np.array([weight for _, weight in columns])[:, None]
        fixed = (e.type, e.shape, e.dtype, e.constants)
        self._fixed_a, self._fixed_b = (np.array([c[s] for c in fixed]) for s in (0, 1))
        self._names, self._keeps_constants = names, keeps_constants
        lines = [
            (paired_operator.path, paired_operator.op, paired_operator.operator.source)
            for paired_operator in e.a
        ]
        count = Counter(lines)
        self._repeated = {i for i, line in enumerate(lines) if count[line] > 1 and line[2]}

    def is_supported(self, x: int, y: int) -> bool:
        """Whether anything but shapes and types of two operators agrees."""
        return bool((self._a[:, x] == self._b[:, y]).any()) or self._names.partner[x] == y

    def in_order(self, left: Sequence[int], free: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the certain pairs of what is left of A and of B, in order between known pairs.

        The order alone decides nothing if more operators of a kind are left on one side.
        """
        kinds = [column.tolist() for column in self._evidence.kind]
        count = [Counter(kinds[side][i] for i in index) for side, index in enumerate((left, free))]
        fixed = ascending(sorted(self._pairs.items()))
        sizes = len(self._evidence.a), len(self._evidence.b)
        for (i, j), (end_i, end_j) in pairwise([(-1, -1), *fixed, sizes]):
            x = left[bisect_left(left, i) : bisect_left(left, end_i)]
            y = free[bisect_left(free, j) : bisect_left(free, end_j)]
            if not x or not y or len(x) * len(y) > _LARGEST:
                continue
            for p, q in self.certain(x, y):
                kind = kinds[0][p]
                if self.is_supported(p, q) or count[0][kind] == count[1][kind]:
                    yield p, q

    def certain(self, x: Sequence[int], y: Sequence[int]) -> set[tuple[int, int]]:
        """Return the pairs of some of A and some of B in order with the highest sum of scores.

        They are certain where the earliest and the latest of the alignments with that sum agree.
        """
        early = best_alignment(self.rows(x, y), len(x), len(y))
        late = best_alignment(self.rows(x[::-1], y[::-1]), len(x), len(y))
        return {(x[i], y[j]) for i, j in early} & {(x[-1 - i], y[-1 - j]) for i, j in late}

    def rows(self, x: Sequence[int], y: Sequence[int]) -> Callable[[int], Ints]:
        """Return a function from a place in some of A to the scores with some of B.

        0 is for what may not be a pair.
        """
        own_b, fixed_b = self._b[:, y], self._fixed_b[:, y]
        place = {j: column for column, j in enumerate(y)}
        scores_of: dict[bytes, Ints] = {}  # of operators that differ in their place alone

        def score(row: int) -> Ints:
            i = x[row]
            codes_a, fixed = self._a[:, i], self._fixed_a[:, i]
            key = codes_a.tobytes() + fixed.tobytes()
            scores = scores_of.get(key)
            if scores is None:
                if len(scores_of) > _MOST_KEPT:
                    scores_of.clear()
                scores = scores_of[key] = self._scores(codes_a, fixed, own_b, fixed_b, 0)
            column = place.get(self._names.partner[i])
            if column is not None:
                # The n-th call of a line that runs several times is the n-th call.
                scores = np.zeros(len(y), np.int64) if i in self._repeated else scores.copy()
                near = slice(column, column + 1)
                scores[near] = self._scores(
                    codes_a, fixed, own_b[:, near], fixed_b[:, near], _PLACE
                )
            return scores

        return score

    def _scores(self, column: Ints, fixed: Ints, other: Ints, fixed_other: Ints, more: int) -> Ints:
        support = more + (self._weights * (other == column[:, None])).sum(0)
        type_, shape, dtype = fixed_other[:3] == fixed[:3, None]
        total = 1 + _SHAPE * shape + _DTYPE * dtype + support
        enough = np.where(shape, np.where(dtype, 0, _OTHER_TYPE), _OTHER_SHAPE)
        if self._keeps_constants and fixed[3] != UNKNOWN:
            differ = (fixed_other[3] != UNKNOWN) & (fixed_other[3] != fixed[3])
            enough = np.where(differ & shape, _OTHER_CONSTANTS, enough)
        scores: Ints = np.where(type_ & (support >= enough), total, 0)
        return scores


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
        # If most constants of one side are on the other, others are new.
        of_a, of_b = (
            {constant for operator in operators for constant in operator.constants}
            for operators in (evidence.a, evidence.b)
        )
        self.keeps_constants = 4 * len(of_a & of_b) > min(len(of_a), len(of_b)) > 0
        self._pair_neighbors()
        self._is_firm = frozenset(self.of_a if self.keeps_constants else ())
        if not evidence.has_flow:
            self._pair_names()
        for _ in range(2):
            if not self._is_done:  # what is between pairs in order, as far as it is certain
                scores = PairScores(
                    evidence, self.of_a, self._names(), keeps_constants=self.keeps_constants
                )
                for x, y in scores.in_order(*self._left()):
                    self._take(x, y)
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

    def _may_be(self, x: int, y: int) -> bool:
        """Whether constants do not contradict that two operators are one."""
        e = self.evidence
        a, b = e.a[x].constants, e.b[y].constants
        if not (self.keeps_constants and a and b) or set(a) & set(b):
            return True
        return e.has_norm_behind(0, x) != e.has_norm_behind(1, y)  # it is folded into the other one

    # -- data flow ---------------------------------------------------------------------------------

    def _pair_neighbors(self) -> None:
        """Pair what has the same operators around, up to those that are paired."""
        if not self.evidence.has_flow:
            return
        rules = (self._same_cones, Neighbors.next_to_constants, self._same_neighbors,
                 self._named_neighbors, self._one_side, Neighbors.alike,
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

    # -- order -------------------------------------------------------------------------------------

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
            sum(
                agrees - differs
                for x, y in partner_of.items()
                for agrees, differs in [self.evidence.common(self.of_a | partner_of, x, y)]
            )
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
