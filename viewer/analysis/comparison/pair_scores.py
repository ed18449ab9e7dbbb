"""How much any two operators have in common: given some pairs, the operators around them too."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from viewer.analysis.comparison.alignment import ascending, best_alignment
from viewer.analysis.comparison.evidence import UNKNOWN, Evidence, codes
from viewer.analysis.comparison.module_names import ModuleNames
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
