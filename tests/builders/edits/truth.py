"""What is true of an edit: which operators of A and B are the same, and how a pair may be graded.

Operators with a common identity belong together; if several do, they are a group. Not all of that
can be known from the programs, so other answers are as right where no evidence is against them:

* equal elements of a list: any of the longest pairings in order
* a layer and its copy, if the layer has another name than before
* what selects by the number of an element, when the numbers change: by number or by element
* a batch norm that was removed may have been folded into the convolution before it
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from tests.builders.edits.constants import is_trivial
from tests.builders.edits.exported import Exported, Stage
from tests.builders.edits.source import TWIN
from viewer.analysis.comparison.operator_pairs import Joined
from viewer.program.program import Operator

Pair = tuple[int, int]


@dataclass(frozen=True)
class Truth:
    """The true pairs of an edit, by index of operators.

    pairs: of one and one, with the grades that they may have. groups: of A and B. others: pairs
    that are as right. free: operators of A and of B that may stay alone. alike: pairs that a group
    may have. several: operators of A and of B that may be in several pairs.
    """

    pairs: dict[Pair, frozenset[str]]
    groups: tuple[tuple[frozenset[int], frozenset[int]], ...]
    others: frozenset[Pair]
    free: tuple[frozenset[int], frozenset[int]]
    alike: frozenset[Pair]
    several: tuple[frozenset[int], frozenset[int]]


def truth_of(a: Exported, b: Exported, *, constants: bool) -> Truth:
    """Return what is true. constants: whether these are evidence."""
    joined: Joined[tuple[int, int]] = Joined()
    of_identity: dict[str, tuple[int, int]] = {}
    for side, model in enumerate((a, b)):
        for index, identities in enumerate(model.identities):
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
    doubt = _Doubt(a, b, constants=constants)
    doubt.stages()
    doubt.copies(pairs)
    doubt.norms(pairs)
    doubt.numbers()
    for group in groups:
        for side in (0, 1):
            doubt.several[side].update(group[side])
    free, several = (
        (frozenset(both[0]), frozenset(both[1])) for both in (doubt.free, doubt.several)
    )
    return Truth(
        pairs, tuple(groups), frozenset(doubt.others), free, frozenset(doubt.alike), several
    )


def grades(a: Operator, b: Operator) -> frozenset[str]:
    """Return the grades that a pair may have: a contradiction forbids *same* and *moved*."""
    allowed = set()
    if a.op != b.op:
        allowed |= {"rewritten", "renamed"}
    if _shapes(a) != _shapes(b):
        allowed.add("resized")
    if _types(a) != _types(b):
        allowed.add("other_type")
    if not allowed:
        allowed |= {"moved", "renamed", "rewritten"}
        texts = [model.source.text if model.source else "" for model in (a, b)]
        if a.module_path == b.module_path and texts[0] == texts[1]:
            allowed.add("same")
    return frozenset(allowed)


def _shapes(operator: Operator) -> tuple[object, ...]:
    paths = {t.parameter: t.shape for n in operator.nodes for t in n.inputs if t.parameter}
    return tuple(t.shape for t in operator.nodes[-1].outputs), tuple(paths.values())


def _types(operator: Operator) -> tuple[str, ...]:
    return tuple(tensor.dtype for tensor in operator.nodes[-1].outputs)


def _pair_of_sets() -> tuple[set[int], set[int]]:
    return set(), set()


@dataclass
class _Doubt:
    """The answers that are as right as the truth, because no evidence is against them."""

    a: Exported
    b: Exported
    constants: bool
    others: set[Pair] = field(default_factory=set)
    alike: set[Pair] = field(default_factory=set)
    free: tuple[set[int], set[int]] = field(default_factory=_pair_of_sets)
    several: tuple[set[int], set[int]] = field(default_factory=_pair_of_sets)

    def __post_init__(self) -> None:
        self._shared: set[bytes] = set()  # contents that each of both has once
        if self.constants:
            counts = [Counter(model.constants.values()) for model in (self.a, self.b)]
            self._shared = {
                data
                for data, count in counts[0].items()
                if count == counts[1][data] == 1 and not is_trivial(data)
            }

    def _evidence(self, model: Exported, index: int) -> tuple[bytes, ...]:
        """The constants of an operator that are evidence, others as empty."""
        nodes = model.program.operators[index].nodes
        paths = dict.fromkeys(t.parameter for node in nodes for t in node.inputs if t.parameter)
        contents = (model.constants[path] for path in paths)
        return tuple(data if data in self._shared else b"" for data in contents)

    # -- elements of lists -------------------------------------------------------------------

    def stages(self) -> None:
        """Equal elements of a list."""
        lists: dict[str, tuple[list[Stage], list[Stage]]] = {}
        for side, model in enumerate((self.a, self.b)):
            for stage in model.stages:
                lists.setdefault(stage.of, ([], []))[side].append(stage)
        for x, y in lists.values():
            keys: list[list[Hashable]] = [
                [self._content(model, stage) for stage in stages]
                for model, stages in ((self.a, x), (self.b, y))
            ]
            # What an edit did to all elements is no evidence against any pair of them.
            same: Joined[Hashable] = Joined()
            of_uid = {stage.uid: key for stage, key in zip(x, keys[0], strict=True)}
            for stage, key in zip(y, keys[1], strict=True):
                if stage.uid in of_uid:
                    same.join(of_uid[stage.uid], key)
            first, second = ([same.of(key) for key in side] for side in keys)
            self._exchange(x, y, first, second)

    def _content(self, model: Exported, stage: Stage) -> Hashable:
        return tuple(
            (
                model.program.operators[i].op,
                _shapes(model.program.operators[i]),
                self._evidence(model, i),
            )
            for i in stage.operators
        )

    def _exchange(
        self,
        x: Sequence[Stage],
        y: Sequence[Stage],
        keys_x: Sequence[Hashable],
        keys_y: Sequence[Hashable],
    ) -> None:
        best, alone = _best_pairs(keys_x, keys_y)
        for i, j in best:
            pairs = self._inside(x[i], y[j])
            self.others.update(pairs)
            if len(pairs) > len({p for p, _ in pairs}) or len(pairs) > len({q for _, q in pairs}):
                for pair in pairs:
                    self.several[0].add(pair[0])
                    self.several[1].add(pair[1])
        if best:
            for side, stages in enumerate((x, y)):
                self.free[side].update(i for n in alone[side] for i in stages[n].operators)
        for i, key in enumerate(keys_x):
            for j, other in enumerate(keys_y):
                if key == other:
                    self.alike.update(self._inside(x[i], y[j]))

    def _inside(self, x: Stage, y: Stage) -> list[Pair]:
        """The pairs of operators of two elements as if they were one."""
        of_a: dict[str, set[int]] = defaultdict(set)
        for index in x.operators:
            for identity in self.a.identities[index]:
                of_a[_without(identity, x.uid)].add(index)
        return sorted(
            {
                (p, q)
                for q in y.operators
                for identity in self.b.identities[q]
                for p in of_a[_without(identity, y.uid)]
            }
        )

    # -- single operators --------------------------------------------------------------------

    def copies(self, pairs: dict[Pair, frozenset[str]]) -> None:
        """A layer with a copy behind it, of which neither has the name of before."""
        of_identity = [
            {identity: i for i, names in enumerate(model.identities) for identity in names}
            for model in (self.a, self.b)
        ]
        for side, model in enumerate((self.a, self.b)):
            for identity, copy in of_identity[side].items():
                original = of_identity[side].get(_original(identity))
                other = of_identity[1 - side].get(_original(identity))
                if TWIN not in identity or original is None or other is None:
                    continue
                before = (self.b if side == 0 else self.a).program.operators[other]
                now = model.program.operators[original]
                pair = (other, original) if side else (original, other)
                if pair not in pairs or before.module_path == now.module_path:
                    continue
                if any(self._evidence(model, original)):
                    continue
                self.others.add((other, copy) if side else (copy, other))
                self.free[side].update((original, copy))

    def norms(self, pairs: dict[Pair, frozenset[str]]) -> None:
        """A batch norm that was removed, or folded into the convolution before it."""
        partner = (dict(list(pairs)), {y: x for x, y in pairs})
        for side, model in enumerate((self.a, self.b)):
            for index, operator in enumerate(model.program.operators):
                if operator.op != "batch_norm" or index in partner[side]:
                    continue
                flow = next(m.flow for m in model.program.methods if operator in m.operators)
                assert flow is not None
                for consumer, producer in zip(flow.consumers, flow.producers, strict=True):
                    if consumer != index or producer not in partner[side]:
                        continue
                    is_layer = model.program.operators[producer].op == "convolution"
                    if is_layer and not self._evidence(model, producer)[0]:
                        other = partner[side][producer]
                        self.others.add((other, index) if side else (index, other))
                        self.free[side].add(index)
                        self.several[side].update((index, producer))
                        self.several[1 - side].add(other)

    def numbers(self) -> None:
        """What selects the weight of an element by its number."""
        of_number: tuple[dict[Hashable, int], dict[Hashable, int]] = {}, {}
        for side, model in enumerate((self.a, self.b)):
            for stage in model.stages:
                for index in stage.operators:
                    operator = model.program.operators[index]
                    if operator.op == "select":
                        of_number[side][stage.of, operator.nodes[-1].settings] = index
                        self.free[side].add(index)
        both = of_number[0].keys() & of_number[1].keys()
        self.others.update((of_number[0][key], of_number[1][key]) for key in both)


def _without(identity: str, uid: str) -> str:
    """An identity without the element of a list in it."""
    return "/".join("*" if part == uid else part for part in identity.split("/"))


def _original(identity: str) -> str:
    """The identity of the line that a line is a copy of."""
    return identity.partition(TWIN)[0]


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
    alone_x = {
        i
        for i in range(n)
        if any(before[i][j] + after[n - i - 1][m - j] == most for j in range(m + 1))
    }
    alone_y = {
        j
        for j in range(m)
        if any(before[i][j] + after[n - i][m - j - 1] == most for i in range(n + 1))
    }
    return pairs, (alone_x, alone_y)


def _table(x: Sequence[Hashable], y: Sequence[Hashable]) -> list[list[int]]:
    """The lengths of the longest pairings of all starts of two sequences."""
    table = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, item in enumerate(x):
        for j, other in enumerate(y):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if item == other else max(table[i][j + 1], table[i + 1][j])
            )
    return table
