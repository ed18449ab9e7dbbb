"""Which users of data in two program files belong together: operators, or calls in order.

With the ETRecords of both, users are operators, paired as in a comparison of profiles. Otherwise,
users are the kernel calls, delegate calls and nodes of XNNPACK of methods with the same name,
paired in the order in which they run, by what they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from enum import StrEnum

from viewer.analysis.comparison.alignment import aligned
from viewer.analysis.comparison.joined import Joined
from viewer.analysis.comparison.operator_pairs import OperatorPairs, pair_operators
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.program.executable.executable import Executable

Call = tuple[int, int, int]  # method, instruction, node (-1 for the call itself)


class PairedBy(StrEnum):
    """How the users of two files were paired; the values are those of `--json`."""

    ETRECORDS = "etrecords"
    ORDER = "order"


class UserPairs:
    """The pairs of two files. `key_a` and `key_b` return equal keys for parts that belong together.

    operators: the pairs of the ETRecords, None without both.
    """

    def __init__(self, a: FileParts, b: FileParts) -> None:
        self.operators: OperatorPairs | None = None
        if a.program is not None and b.program is not None:
            self.operators = pair_operators(a.program, b.program)
            pairs: Iterable[tuple[Hashable, Hashable]] = (
                (pair.a, pair.b) for pair in self.operators.pairs
            )
        else:
            pairs = _calls_in_order(a.executable, b.executable)
        self._names = Joined[Hashable]()
        for x, y in pairs:
            self._names.join(("a", x), ("b", y))

    @property
    def paired_by(self) -> PairedBy:
        """How the users were paired."""
        return PairedBy.ORDER if self.operators is None else PairedBy.ETRECORDS

    def key_a(self, part: FilePart) -> Hashable:
        """The key of a part of A."""
        return self._key("a", part)

    def key_b(self, part: FilePart) -> Hashable:
        """The key of a part of B."""
        return self._key("b", part)

    def _key(self, side: str, part: FilePart) -> Hashable:
        users: Iterable[Hashable] = part.operators
        if self.operators is None:
            users = ((use.method, use.instruction, use.node) for use in part.uses if not use.chain)
        found = frozenset(self._names.of((side, user)) for user in users)
        return found or (frozenset(part.users) or part.kind)


def paired_methods(a: Executable, b: Executable) -> tuple[tuple[int, int], ...]:
    """Return the methods with equal names; a single one is paired with a single other one."""
    of_name = {method.name: j for j, method in enumerate(b.methods)}
    found = [(i, of_name[m.name]) for i, m in enumerate(a.methods) if m.name in of_name]
    rest_a = sorted(set(range(len(a.methods))) - {i for i, _ in found})
    rest_b = sorted(set(range(len(b.methods))) - {j for _, j in found})
    if len(rest_a) == len(rest_b) == 1:
        found.append((rest_a[0], rest_b[0]))
    return tuple(found)


def _calls_in_order(a: Executable, b: Executable) -> Iterator[tuple[Call, Call]]:
    for i, j in paired_methods(a, b):
        calls_a, names_a = _calls(a, i)
        calls_b, names_b = _calls(b, j)
        for x, y in aligned(names_a, names_b):
            yield calls_a[x], calls_b[y]


def _calls(executable: Executable, number: int) -> tuple[list[Call], list[str]]:
    """The calls of a method in order, the nodes of XNNPACK after their call, and what they are."""
    method = executable.methods[number]
    calls, names = list[Call](), list[str]()
    for one in method.instructions:
        if not one.name:
            continue
        calls.append((number, one.number, -1))
        names.append(one.name)
        if one.delegate >= 0:
            nodes = method.delegates[one.delegate].nodes
            calls += [(number, one.number, node) for node in range(len(nodes))]
            names += [node.type for node in nodes]
    return calls, names
