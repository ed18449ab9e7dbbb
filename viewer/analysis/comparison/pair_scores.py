"""How much any two operators have in common, for the alignment of what is left."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from viewer.analysis.comparison.alignment import ascending, best_alignment
from viewer.analysis.comparison.evidence import UNKNOWN, Evidence, codes
from viewer.analysis.comparison.module_names import ModuleNames
from viewer.arrays import Ints

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
        path = codes([names.of(one.path) for one in e.a], [one.path for one in e.b])
        columns = [*around, (e.text, _TEXT), (e.leaf, _LEAF), (path, _PATH)]
        # In A, what is not known equals nothing.
        self._a = np.array([np.where(a == UNKNOWN, UNKNOWN - 1, a) for (a, _), _ in columns])
        self._b = np.array([b for (_, b), _ in columns])
        self._weights = np.array([weight for _, weight in columns])[:, None]
        fixed = (e.type, e.shape, e.dtype, e.constants)
        self._fixed_a, self._fixed_b = (np.array([c[s] for c in fixed]) for s in (0, 1))
        self._names, self._keeps_constants = names, keeps_constants
        lines = [(one.path, one.op, one.operator.source) for one in e.a]
        count = Counter(lines)
        self._repeated = {i for i, line in enumerate(lines) if count[line] > 1 and line[2]}

    def is_supported(self, x: int, y: int) -> bool:
        """Whether anything but shapes and types of two operators agrees."""
        return bool((self._a[:, x] == self._b[:, y]).any()) or self._names.partner[x] == y

    def in_order(self, left: Sequence[int], free: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the certain pairs of what is left of A and of B, in order between known pairs.

        The order alone decides nothing if more operators of a kind are left on one side.
        """
        kinds = [own.tolist() for own in self._evidence.kind]
        count = [Counter(kinds[side][i] for i in own) for side, own in enumerate((left, free))]
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
        place = {j: at for at, j in enumerate(y)}
        kept: dict[bytes, Ints] = {}  # of operators that differ in their place alone

        def score(row: int) -> Ints:
            i = x[row]
            own, fixed = self._a[:, i], self._fixed_a[:, i]
            key = own.tobytes() + fixed.tobytes()
            found = kept.get(key)
            if found is None:
                if len(kept) > _MOST_KEPT:
                    kept.clear()
                found = kept[key] = self._scores(own, fixed, own_b, fixed_b, 0)
            at = place.get(self._names.partner[i])
            if at is not None:
                # The n-th call of a line that runs several times is the n-th call.
                found = np.zeros(len(y), np.int64) if i in self._repeated else found.copy()
                near = slice(at, at + 1)
                found[near] = self._scores(own, fixed, own_b[:, near], fixed_b[:, near], _PLACE)
            return found

        return score

    def _scores(self, own: Ints, fixed: Ints, other: Ints, fixed_other: Ints, more: int) -> Ints:
        support = more + (self._weights * (other == own[:, None])).sum(0)
        type_, shape, dtype = fixed_other[:3] == fixed[:3, None]
        found = 1 + _SHAPE * shape + _DTYPE * dtype + support
        enough = np.where(shape, np.where(dtype, 0, _OTHER_TYPE), _OTHER_SHAPE)
        if self._keeps_constants and fixed[3] != UNKNOWN:
            differ = (fixed_other[3] != UNKNOWN) & (fixed_other[3] != fixed[3])
            enough = np.where(differ & shape, _OTHER_CONSTANTS, enough)
        scores: Ints = np.where(type_ & (support >= enough), found, 0)
        return scores
