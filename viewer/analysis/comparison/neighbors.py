"""Operators of A and B with the same operators around, given some pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from viewer.analysis.comparison.evidence import Evidence
from viewer.analysis.comparison.module_names import ModuleNames

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
        self._kinds = tuple(own.tolist() for own in evidence.kind)
        self._cones = evidence.cones(of_a, is_exact=True)
        likely = ((x, y) for x, *own in self.found for y in own if y is not None)
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
        known = ({self._kinds[0][i] for i in self._left}, {self._kinds[1][j] for j in self._free})
        left = [i for i in self._left if self._kinds[0][i] not in known[1]]
        free = [j for j in self._free if self._kinds[1][j] not in known[0]]
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
            list(zip(*own, strict=True)) for own in zip(takes, gives, strict=True)
        ]
        done: set[int] = set()
        for names in (None, self._e.text, self._e.leaf):
            if names is not None:
                keys = [
                    list(zip(own, column.tolist(), strict=True))
                    for own, column in zip(keys, names, strict=True)
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
            own = dict(only_ones(self._left, self._free, *cones))
            sides.append({**own, **self._next_to_pairs(neighbors, back)})
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
        found = {}
        for x, own in votes.items():
            (y, most), *others = own.most_common(2)
            if not others or others[0][1] < most:
                found[x] = y
        return found


def only_ones(
    a: Iterable[int], b: Iterable[int], key_a: Sequence[Hashable], key_b: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs with a key that only one on each side has."""
    of_a: dict[Hashable, list[int]] = defaultdict(list)
    of_b: dict[Hashable, list[int]] = defaultdict(list)
    for own, keys, found in ((a, key_a, of_a), (b, key_b, of_b)):
        for i in own:
            found[keys[i]].append(i)
    for key, some in of_a.items():
        if len(some) == len(of_b.get(key, ())) == 1:
            yield some[0], of_b[key][0]
