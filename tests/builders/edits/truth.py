"""What is true of an edit: which operators of A and B are the same, and how a pair may be graded.

Operators with a common identity belong together; if several do, they are a group. Equal elements of
a list without other evidence cannot be told apart: any of the longest pairings in order is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from tests.builders.edits.exported import Exported, Stage
from viewer.analysis.comparison.joined import Joined
from viewer.program.program import Operator

Pair = tuple[int, int]


@dataclass(frozen=True)
class Truth:
    """The true pairs of an edit, by index of operators.

    pairs: of one and one, with the grades that they may have. groups: of A and B. others: pairs
    that are as right, since nothing tells equal parts of a list from one another. free: operators
    of A and of B that may stay alone for the same reason. alike: pairs that a group may have.
    """

    pairs: dict[Pair, frozenset[str]]
    groups: tuple[tuple[frozenset[int], frozenset[int]], ...]
    others: frozenset[Pair]
    free: tuple[frozenset[int], frozenset[int]]
    alike: frozenset[Pair]


def truth_of(a: Exported, b: Exported, *, constants: bool) -> Truth:
    """Return what is true. constants: whether these are evidence."""
    joined: Joined[tuple[int, int]] = Joined()
    of_identity: dict[str, tuple[int, int]] = {}
    for side, one in enumerate((a, b)):
        for index, identities in enumerate(one.identities):
            joined.add((side, index))
            for identity in identities:
                joined.join(of_identity.setdefault(identity, (side, index)), (side, index))
    pairs: dict[Pair, frozenset[str]] = {}
    groups = []
    for members in joined.groups():
        of_a, of_b = (frozenset(i for s, i in members if s == side) for side in (0, 1))
        if len(of_a) == len(of_b) == 1:
            (x,), (y,) = of_a, of_b
            pairs[x, y] = grades(a.program.operators[x], b.program.operators[y])
        elif of_a and of_b:
            groups.append((of_a, of_b))
    exchange = _Exchange(a, b, constants=constants)
    exchange.find()
    return Truth(
        pairs, tuple(groups), frozenset(exchange.others - set(pairs)),
        (frozenset(exchange.free[0]), frozenset(exchange.free[1])), frozenset(exchange.alike),
    )  # fmt: skip


def grades(a: Operator, b: Operator) -> frozenset[str]:
    """Return the grades that a pair may have: a contradiction forbids *same* and *moved*."""
    allowed = set()
    if a.op != b.op:
        allowed |= {"rewritten", "renamed"}
    if _shapes(a) != _shapes(b):
        allowed.add("resized")
    if _types(a) != _types(b):
        allowed.add("other_type")
    if allowed - {"rewritten", "renamed"}:
        return frozenset(allowed)
    if not allowed:
        allowed |= {"moved", "renamed", "rewritten"}
        texts = [one.source.text if one.source else "" for one in (a, b)]
        if a.module_path == b.module_path and texts[0] == texts[1]:
            allowed.add("same")
    return frozenset(allowed)


def _shapes(operator: Operator) -> tuple[object, ...]:
    kept = {t.parameter: t.shape for n in operator.nodes for t in n.inputs if t.parameter}
    return tuple(t.shape for t in operator.nodes[-1].outputs), tuple(kept.values())


def _types(operator: Operator) -> tuple[str, ...]:
    return tuple(tensor.dtype for tensor in operator.nodes[-1].outputs)


@dataclass
class _Exchange:
    """Elements of lists that all evidence allows to exchange."""

    a: Exported
    b: Exported
    constants: bool
    others: set[Pair] = field(default_factory=set)
    alike: set[Pair] = field(default_factory=set)
    free: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def find(self) -> None:
        shared = self._shared()
        lists: dict[str, tuple[list[Stage], list[Stage]]] = {}
        for side, one in enumerate((self.a, self.b)):
            for stage in one.stages:
                lists.setdefault(stage.of, ([], []))[side].append(stage)
        for x, y in lists.values():
            keys = [
                [_content(one, stage, shared) for stage in stages]
                for one, stages in ((self.a, x), (self.b, y))
            ]
            self._exchange(x, y, *keys)

    def _shared(self) -> set[bytes]:
        """The contents that are once in each of both."""
        if not self.constants:
            return set()
        counts = [Counter(one.constants.values()) for one in (self.a, self.b)]
        return {data for data, n in counts[0].items() if n == counts[1][data] == 1}

    def _exchange(
        self,
        x: Sequence[Stage],
        y: Sequence[Stage],
        keys_x: Sequence[Hashable],
        keys_y: Sequence[Hashable],
    ) -> None:
        best, used = _best_pairs(keys_x, keys_y)
        if not best:
            return
        # With as many equal ones on both sides in order, there is nothing to exchange but lineage.
        for i, j in best:
            pairs = set(zip(x[i].operators, y[j].operators, strict=True))
            self.others |= pairs
            self.free[0].update(p for p, _ in pairs if i in used[0])
            self.free[1].update(q for _, q in pairs if j in used[1])
        for i, key in enumerate(keys_x):
            for j, other in enumerate(keys_y):
                if key == other:
                    self.alike.update(zip(x[i].operators, y[j].operators, strict=True))


def _best_pairs(
    x: Sequence[Hashable], y: Sequence[Hashable]
) -> tuple[list[Pair], tuple[set[int], set[int]]]:
    """The pairs of all longest pairings of equal items in order, and what may stay alone."""
    before = _table(x, y)
    after = _table(x[::-1], y[::-1])
    n, m = len(x), len(y)
    most = before[n][m]
    pairs = [
        (i, j)
        for i in range(n)
        for j in range(m)
        if x[i] == y[j] and before[i][j] + 1 + after[n - i - 1][m - j - 1] == most
    ]
    alone_x = {i for i in range(n) if any(before[i][j] + after[n - i - 1][m - j] == most
                                          for j in range(m + 1))}  # fmt: skip
    alone_y = {j for j in range(m) if any(before[i][j] + after[n - i][m - j - 1] == most
                                          for i in range(n + 1))}  # fmt: skip
    return pairs, (alone_x, alone_y)


def _table(x: Sequence[Hashable], y: Sequence[Hashable]) -> list[list[int]]:
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, one in enumerate(x):
        for j, other in enumerate(y):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
            )
    return table


def _content(exported: Exported, stage: Stage, shared: set[bytes]) -> Hashable:
    """What ran in an element of a list, with the constants that are evidence."""
    found = []
    for index in stage.operators:
        operator = exported.program.operators[index]
        kept = dict.fromkeys(t.parameter for n in operator.nodes for t in n.inputs if t.parameter)
        evidence = tuple(
            data if (data := exported.constants[path]) in shared else b"" for path in kept
        )
        found.append((operator.op, _shapes(operator), evidence))
    return tuple(found)
