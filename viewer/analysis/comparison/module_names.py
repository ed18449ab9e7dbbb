"""Which module of B is which of A, by the operators that are paired, and what that says of others.

A name is evidence only if it is about the same module. So names of A are first put into those of B.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from viewer.analysis.comparison.alignment import aligned, ascending
from viewer.analysis.comparison.evidence import PairedOperator
from viewer.arrays import Ints

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
    first, second = (
        [
            _or_alone(sorted(c for c in content if c in both), (side, i))
            for i, content in enumerate(contents)
        ]
        for side, contents in enumerate((a, b))
    )
    return first, second


def _or_alone(content: list[Content], alone: Hashable) -> Hashable:
    return tuple(content) or alone


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
