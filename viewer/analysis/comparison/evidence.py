"""What operators and modules of two methods have in common: the evidence on which they are paired.

Every kind of evidence is a column of codes, equal in A and B for what is equal, so a whole row of
candidates is compared at a time. A name is evidence only if it is about the same module. So names
of A are first put into those of B, by the operators that are paired.

If several alignments of sequences are best, the pairs come as early in both as possible: of three
equal calls and four equal calls, the first three are paired.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from viewer.arrays import Ints, lists_by_key
from viewer.dataclasses import dataclass
from viewer.program.dataflow import Dataflow
from viewer.program.program import Method, Operator, Setting, Tensor

Pairs = list[tuple[int, int]]

# The table has one entry per pair of items. Beyond this many, items are paired by their number
# among the equal ones.
_LARGEST = 4_000_000


def best_alignment(score: Callable[[int], Ints], rows: int, columns: int) -> Pairs:
    """Return the pairs in order with the highest sum of scores, as indexes, ascending.

    score: of a row with every column, 0 for what may not be paired.
    """
    # Of the table of the best sums of what follows, only some rows are kept; those between are
    # computed again on the way back.
    step = max(int(rows**0.5), 1)
    last = np.zeros(columns + 1, np.int64)
    checkpoints = {rows: last}
    for i in range(rows - 1, -1, -1):
        last = _row(score(i), last)
        if i % step == 0:
            checkpoints[i] = last
    pairs: Pairs = []
    i = j = 0
    while i < rows and j < columns:
        end = min(i - i % step + step, rows)
        block = [checkpoints[end]]
        for row in range(end - 1, i - 1, -1):
            block.append(_row(score(row), block[-1]))
        block.reverse()
        for best, below in pairwise(block):
            scores = score(i)
            while j < columns and best[j] == best[j + 1] and best[j] != scores[j] + below[j + 1]:
                j += 1
            if j < columns and scores[j] and best[j] == scores[j] + below[j + 1]:
                pairs.append((i, j))
                j += 1
            i += 1
    return pairs


def _row(score: Ints, below: Ints) -> Ints:
    """The best sums of what follows a place of a row, from those of the row below it."""
    best = np.append(np.maximum(score + below[1:], below[:-1]), 0)
    maxima: Ints = np.maximum.accumulate(best[::-1])[::-1]
    return maxima


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Return the most pairs of equal items in order, as indexes, ascending."""
    first = 0
    shorter = min(len(a), len(b))
    while first < shorter and a[first] == b[first]:
        first += 1
    last = 0
    # Of unequal numbers of equal items, the first ones are paired, so the end must not take any.
    if len(a) == len(b):
        while last < shorter - first and a[-1 - last] == b[-1 - last]:
            last += 1
    end_a, end_b = len(a) - last, len(b) - last
    x, y = a[first:end_a], b[first:end_b]
    middle = _best(x, y) if len(x) * len(y) <= _LARGEST else _by_number(x, y)
    return [
        *((i, i) for i in range(first)),
        *((i + first, j + first) for i, j in middle),
        *((end_a + i, end_b + i) for i in range(last)),
    ]


def ascending(pairs: Sequence[tuple[int, int]]) -> Pairs:
    """The most of some pairs, sorted by their first index, of which none cross."""
    ends: list[int] = []  # the least last index of every length
    of_length: list[int] = []
    before = [-1] * len(pairs)
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        ends[length:] = [j, *ends[length + 1 :]]
        of_length[length:] = [number, *of_length[length + 1 :]]
        before[number] = of_length[length - 1] if length else -1
    chain, number = [], of_length[-1] if of_length else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return chain[::-1]


def _best(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    if not a or not b:
        return []
    number: dict[Hashable, int] = {}
    codes_a, codes_b = (
        np.array([number.setdefault(key, len(number)) for key in keys]) for keys in (a, b)
    )
    rest = np.zeros((len(a) + 1, len(b) + 1), np.int32)  # the most pairs of what follows
    for i in range(len(a) - 1, -1, -1):
        paired = np.where(codes_b == codes_a[i], 1 + rest[i + 1, 1:], 0)
        best = np.maximum(paired, rest[i + 1, :-1])
        # Not pairing b[j] takes the best of those behind it.
        rest[i, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if codes_a[i] == codes_b[j] and 1 + rest[i + 1, j + 1] >= rest[i, j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif rest[i, j + 1] >= rest[i, j]:
            j += 1
        else:
            i += 1
    return pairs


def _by_number(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Pairs of equal items with the same number among these; those that cross others are left."""
    places = lists_by_key((key, j) for j, key in enumerate(b))
    used: dict[Hashable, int] = {}
    pairs, last = [], -1
    for i, key in enumerate(a):
        nth = used.get(key, 0)
        used[key] = nth + 1
        positions = places.get(key, [])
        if nth < len(positions) and positions[nth] > last:
            last = positions[nth]
            pairs.append((i, last))
    return pairs


Shape = tuple[int | str, ...] | None
# In names of calls that PyTorch records: "<built-in method dim of Tensor object at 0x7f0e>", and
# "train.py(27): forward".
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LINE = re.compile(r"\(\d+\): ")
MODULE = "nn.Module: "
UNKNOWN = -1
FOLDED = frozenset(("batch_norm",))
# What makes two calls with equal shapes two operators; others depend on shapes or on the backend.
_SETTINGS = frozenset(("stride", "dilation", "groups"))


def without_address(name: str) -> str:
    """Return a name without the address of an object, which is another one in each process."""
    return _ADDRESS.sub("", name) if " at 0x" in name else name


def _what(op: str) -> str:
    """What a recorded call is: without the name of its module, and the line of its function."""
    if op.startswith(MODULE):
        return MODULE
    return _LINE.sub(": ", without_address(op), count=1)


@dataclass(frozen=True)
class PairedOperator:
    """What of an operator is compared. Computed once, because each is compared with many.

    op: the source call, "convolution", without what differs between recordings. shapes: of its
    results and of its parameters. dtypes: of its results. text: of its source line, without what
    follows it. constants: hashes of its parameters, where they are known
    and not all 0 or 1. settings: which part it takes, and how a convolution moves.
    """

    operator: Operator
    op: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    text: str
    constants: tuple[str, ...] = ()
    settings: tuple[tuple[str, Setting], ...] = ()

    @classmethod
    def of(cls, operator: Operator, contents: Mapping[str, str]) -> PairedOperator:
        """Return what is compared of an operator. contents: parameter -> hash of its values."""
        results = operator.nodes[-1].outputs
        parameters = [t for node in operator.nodes for t in node.inputs if t.parameter]
        distinct: dict[str, Tensor] = {t.parameter: t for t in parameters}
        source = operator.source
        return cls(
            operator,
            _what(operator.op),
            (*(t.shape for t in results), *(t.shape for t in distinct.values())),
            tuple(t.dtype for t in results),
            " ".join(source.text.split()) if source else "",
            constants_of(operator, contents),
            tuple(s for node in operator.nodes for s in node.settings if s[0] in _SETTINGS),
        )

    @cached_property
    def path(self) -> str:
        """The path of its module."""
        return self.operator.module_path


def constants_of(operator: Operator, contents: Mapping[str, str]) -> tuple[str, ...]:
    """Return the known hashes of an operator's parameters. contents: those of its method."""
    if not contents:
        return ()
    names = {t.parameter for node in operator.nodes for t in node.inputs if t.parameter}
    return tuple(sorted(filter(None, map(contents.get, names))))


def only_users(constants: Sequence[tuple[str, ...]]) -> dict[str, int]:
    """Return constant -> the operator that has it, of those that only one has."""
    count = Counter(c for constant in constants for c in set(constant))
    return {c: i for i, constant in enumerate(constants) for c in constant if count[c] == 1}


class Evidence:
    """The evidence of two methods; every column is of A and of B.

    kind: type, shapes, data types and settings. leaf: the last name of the module. inputs, outputs:
    per side and operator, those whose results it takes, and those that take its own.
    """

    def __init__(self, a: Method, b: Method, flows: tuple[Dataflow, Dataflow]) -> None:
        self.a, self.b = (
            [PairedOperator.of(op, method.constants) for op in method.operators]
            for method in (a, b)
        )
        self.type = self._column(lambda operator: operator.op)
        self.shape = self._column(lambda operator: operator.shapes or None)
        self.dtype = self._column(lambda operator: operator.dtypes or None)
        self.text = self._column(lambda operator: operator.text or None)
        self.path = self._column(lambda operator: operator.path or None)
        self.leaf = self._column(lambda operator: operator.path.rpartition(".")[2] or None)
        self.constants = self._column(lambda operator: operator.constants or None)
        self.kind = self._column(
            lambda operator: (operator.op, operator.shapes, operator.dtypes, operator.settings)
        )
        self._place = self._column(lambda operator: (operator.op, operator.path, operator.text))
        self._count = tuple(np.bincount(column) for column in self._place)
        self.inputs = [_within(m, flow.inputs_of) for m, flow in zip((a, b), flows, strict=True)]
        self.outputs = [_within(m, flow.outputs_of) for m, flow in zip((a, b), flows, strict=True)]

    def _column(self, key: Callable[[PairedOperator], Hashable]) -> tuple[Ints, Ints]:
        return codes(map(key, self.a), map(key, self.b))

    def times_at_place(self, x: int, y: int) -> tuple[int, int]:
        """Return how many operators of A and of B are alike at the line and module of two.

        A loop that was unrolled has one in each round.
        """
        (a, b), (of_a, of_b) = self._place, self._count
        return int(of_a[a[x]]), int(of_b[b[y]])

    @property
    def has_flow(self) -> bool:
        """Whether the data flow of both methods is known."""
        return all(any(neighbors) for neighbors in self.inputs)

    def has_norm_behind(self, side: int, number: int) -> bool:
        """Whether only a batch norm takes the result of an operator: it may be folded into it."""
        paired_operators, outputs = (self.a, self.b)[side], self.outputs[side][number]
        return len(outputs) == 1 and paired_operators[outputs[0]].op in FOLDED

    def common(self, pairs: Mapping[int, int], x: int, y: int) -> tuple[int, int]:
        """Return how many paired neighbors of an operator of A one of B has too, and has not."""
        has = [
            pairs[i] in sides[1][y]
            for sides in (self.inputs, self.outputs)
            for i in sides[0][x]
            if i in pairs
        ]
        return sum(has), len(has) - sum(has)

    def cones(
        self, pairs: Mapping[int, int], *, is_exact: bool
    ) -> tuple[tuple[list[int], list[int]], tuple[list[int], list[int]]]:
        """Return codes of an operator with all that its inputs depend on, and all that uses it.

        Both end at what is paired, which equals its partner alone. is_exact: with equal shapes and
        data types, else only types are compared.
        """
        columns = self.kind if is_exact else self.type
        number: dict[Hashable, int] = {}
        numbers = [
            {x: i for i, x in enumerate(pairs)},
            {y: i for i, y in enumerate(pairs.values())},
        ]
        # What is next to an operator tells it from others on the way, but is no part of its own.
        near = [
            [
                (*sorted(pair for j in sources if (pair := number_of.get(j)) is not None), -1,
                 *sorted(pair for j in taken if (pair := number_of.get(j)) is not None))
                for sources, taken in zip(inputs, outputs, strict=True)
            ]
            for number_of, inputs, outputs in zip(numbers, self.inputs, self.outputs, strict=True)
        ]  # fmt: skip
        cones = []
        for sides in (self.inputs, self.outputs):
            both: list[list[int]] = []
            for side, neighbors in enumerate(sides):
                labels = columns[side].tolist()
                cone = [UNKNOWN] * len(labels)
                seen = [UNKNOWN] * len(labels)
                order = range(len(labels))
                for i in order if sides is self.inputs else reversed(order):
                    pair = numbers[side].get(i)
                    if pair is not None:
                        cone[i] = seen[i] = -2 - pair
                        continue
                    key = labels[i], tuple(sorted([seen[j] for j in neighbors[i]]))
                    cone[i] = number.setdefault(key, len(number))
                    seen[i] = number.setdefault((cone[i], near[side][i]), len(number))
                both.append(cone)
            cones.append((both[0], both[1]))
        return cones[0], cones[1]

    def around(self, pairs: Mapping[int, int]) -> list[tuple[Ints, Ints]]:
        """Return columns of what is around: of inputs and outputs, one and two steps away.

        pairs: what is paired already. Those are equal to their partner alone, others to all of
        their type.
        """
        label = [list(column.tolist()) for column in self.type]
        for number, (x, y) in enumerate(pairs.items()):
            label[0][x] = label[1][y] = -2 - number
        columns = []
        for sides in (self.inputs, self.outputs):
            near = label
            for _ in range(2):
                near_keys = [
                    [(label[s][i], *sorted(near[s][j] for j in neighbors))
                     for i, neighbors in enumerate(sides[s])]
                    for s in (0, 1)
                ]  # fmt: skip
                keys = [[key[1:] for key in near_key] for near_key in near_keys]
                columns.append(codes(*keys))
                near = [code.tolist() for code in codes(*near_keys)]
        return columns


def codes(a: Iterable[Hashable], b: Iterable[Hashable]) -> tuple[Ints, Ints]:
    """Return numbers for keys, equal ones for equal keys; `UNKNOWN` for None."""
    number: dict[Hashable, int] = {None: UNKNOWN}
    first, second = (
        np.array([number.setdefault(key, len(number)) for key in keys], np.int64) for keys in (a, b)
    )
    return first, second


def _within(method: Method, neighbors: Callable[[int], Ints]) -> list[list[int]]:
    """The neighbors of each operator of a method, as places in it."""
    place = {op.index: i for i, op in enumerate(method.operators)}
    return [
        [place[j] for j in neighbors(op.index).tolist() if j in place] for op in method.operators
    ]


Content = tuple[str, int]  # a module inside an element, and the kind of an operator that runs there


class NamedCalls:
    """The operators of a method by name: module, type, line, and which call of these each is.

    paths: the module of each operator.
    """

    def __init__(self, operators: Sequence[PairedOperator], paths: Sequence[str]) -> None:
        self.paths = paths
        self.types = list(
            zip(paths, (paired_operator.op for paired_operator in operators), strict=True)
        )
        self.by_text = _numbered(
            zip(self.types, (paired_operator.text for paired_operator in operators), strict=True)
        )
        # A line that runs several times is one; lines are numbered, as their texts may change.
        lines: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)
        numbers = []
        for i, (type_, paired_operator) in enumerate(zip(self.types, operators, strict=True)):
            seen = lines[type_]
            line = paired_operator.operator.source or i
            numbers.append((type_, seen.setdefault(line, len(seen))))
        self.by_line = _numbered(numbers)
        self.lines = {type_: len(of_type) for type_, of_type in lines.items()}
        self.count = Counter(self.types)

    @cached_property
    def of_text(self) -> dict[Hashable, int]:
        """The operator of each key in `by_text`."""
        return {key: i for i, key in enumerate(self.by_text)}

    @cached_property
    def of_line(self) -> dict[Hashable, int]:
        """The operator of each key in `by_line`."""
        return {key: i for i, key in enumerate(self.by_line)}


def _numbered(keys: Iterable[Hashable]) -> list[Hashable]:
    """Each key with its number among equal ones."""
    count: dict[Hashable, int] = defaultdict(int)
    numbered_keys: list[Hashable] = []
    for key in keys:
        numbered_keys.append((key, count[key]))
        count[key] += 1
    return numbered_keys


class ModuleNames:
    """The names of modules in A as those in B, given some pairs of operators, and likely ones.

    A module has the name of the one with most of its partners; without any, that of the module
    around it and its own; without that its own name, unless this is another module now.

    elements: what is known of elements of lists. partner: of each operator of A, the one of B with
    its name, -1 for none. is_sure: whether it is the only one of its type in a module with pairs,
    or in one inside such a module.
    """

    def __init__(
        self,
        a: Sequence[PairedOperator],
        b: NamedCalls,
        pairs: Mapping[int, int],
        elements: Mapping[str, str],
        likely: Iterable[tuple[int, int]] = (),
    ) -> None:
        direct = Counter((a[x].path, b.paths[y]) for x, y in pairs.items())
        votes: Counter[tuple[str, str]] = Counter()
        for paths, count in direct.items():
            for names in _around(*paths):
                votes[names] += count
        self._name: dict[str, str] = {}
        for (path, other), _ in votes.most_common():
            self._name.setdefault(path, other)
        named = set(self._name)
        self._taken = set(self._name.values())
        own_paths, other_paths = {paired_operator.path for paired_operator in a}, set(b.paths)
        more = Counter((a[x].path, b.paths[y]) for x, y in likely)
        for (path, other), _ in more.most_common():
            if path not in other_paths and other not in own_paths:
                self._name.setdefault(path, other)
        for path, other in elements.items():
            self._name.setdefault(path, f"{other}?" if other in self._taken else other)
        calls = NamedCalls(a, [self.of(paired_operator.path) for paired_operator in a])
        self.partner: list[int] = []
        self.is_sure: list[bool] = []
        for i, (paired_operator, type_) in enumerate(zip(a, calls.types, strict=True)):
            is_named = bool(paired_operator.path or paired_operator.text)
            partner = b.of_text.get(calls.by_text[i], -1) if is_named else -1
            if is_named and partner < 0 and calls.lines[type_] == b.lines.get(type_):
                partner = b.of_line.get(calls.by_line[i], -1)
            self.partner.append(partner)
            is_known = (
                paired_operator.path in named or paired_operator.path.rpartition(".")[0] in named
            )
            is_alone = calls.count[type_] == b.count[type_] == 1
            self.is_sure.append(partner >= 0 and is_known and is_alone)

    def of(self, path: str) -> str:
        """The name in B of a module of A; one that no module has if it is not known."""
        known_name = self._name.get(path)
        if known_name is not None:
            return known_name
        around, _, leaf = path.rpartition(".")
        name = f"{self.of(around)}.{leaf}" if around else path
        self._name[path] = name = f"{name}?" if name in self._taken else name
        return name


def _around(path: str, other: str) -> Iterator[tuple[str, str]]:
    """Two modules, those around them, and further out as long as these have equal names."""
    yield path, other
    is_equal = True
    while is_equal and "." in path and "." in other:
        path, other = path.rpartition(".")[0], other.rpartition(".")[0]
        yield path, other
        is_equal = path.rpartition(".")[2] == other.rpartition(".")[2]


def equal_elements(
    a: Sequence[PairedOperator], b: Sequence[PairedOperator], kinds: tuple[Ints, Ints]
) -> tuple[dict[str, str], frozenset[str]]:
    """Return which elements of lists of modules have equal contents, in order.

    Also those elements of A with contents that none or another number in B has.

    Elements have no names, only numbers that shift. Only what both methods have counts: what was
    edited in all elements tells none from another. Where no contents are equal, numbers are all
    that is left.
    """
    sides = [
        _elements(operators, kind.tolist()) for operators, kind in zip((a, b), kinds, strict=True)
    ]
    partner: dict[str, str] = {}
    doubtful: set[str] = set()
    for name in sides[0].keys() & sides[1].keys():
        first, second = (list(side[name]) for side in sides)
        contents = _contents(*(list(side[name].values()) for side in sides))
        count = [Counter(content) for content in contents]
        pairs = {first[i]: second[j] for i, j in aligned(*contents)}
        named = {
            path: path
            for path, content in zip(first, contents[0], strict=True)
            if path in second and content == contents[1][second.index(path)]
        }
        if len(named) >= len(pairs):  # they may run in another order
            pairs = named
        doubtful.update(
            path
            for path, content in zip(first, contents[0], strict=True)
            if (pairs or len(first) != len(second))
            and (path not in pairs or count[1][content] != count[0][content])
        )
        if pairs:
            partner |= {path: f"{path}?" for path in first} | _between(pairs, first, second) | pairs
    return partner, frozenset(doubtful)


def outer_paths(path: str) -> list[str]:
    """Return a module and all modules around it."""
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _between(
    pairs: Mapping[str, str], first: Sequence[str], second: Sequence[str]
) -> dict[str, str]:
    """Elements between pairs, if there are as many on both sides."""
    anchors = ascending([
        (i, second.index(pairs[path])) for i, path in enumerate(first) if path in pairs
    ])  # fmt: skip
    taken = set(pairs.values())
    added: dict[str, str] = {}
    for (i, j), (end_i, end_j) in pairwise([(-1, -1), *anchors, (len(first), len(second))]):
        left = [path for path in first[i + 1 : end_i] if path not in pairs]
        free = [path for path in second[j + 1 : end_j] if path not in taken]
        if len(left) == len(free):
            added |= zip(left, free, strict=True)
    return added


def _contents(
    a: Sequence[Sequence[Content]], b: Sequence[Sequence[Content]]
) -> tuple[list[Hashable], list[Hashable]]:
    """What of the elements of a list is in some of both sides; an element without is alone."""
    both = {c for content in a for c in content} & {c for content in b for c in content}
    of_sides: list[list[Hashable]] = [
        [
            tuple(sorted(c for c in content if c in both)) or (side, i)
            for i, content in enumerate(contents)
        ]
        for side, contents in enumerate((a, b))
    ]
    return of_sides[0], of_sides[1]


def _elements(
    operators: Sequence[PairedOperator], kinds: Sequence[int]
) -> dict[str, dict[str, list[Content]]]:
    """List of modules -> its elements -> what runs in them, with its module in there."""
    elements: dict[str, dict[str, list[Content]]] = defaultdict(lambda: defaultdict(list))
    for paired_operator, kind in zip(operators, kinds, strict=True):
        parts = paired_operator.path.split(".")
        for i, part in enumerate(parts):
            if part.isdecimal():
                contents = elements[".".join(parts[:i])][".".join(parts[: i + 1])]
                contents.append((".".join(parts[i + 1 :]), kind))
    return elements
