"""Which parts of two program files belong together, so that their sizes can be compared one by one.

Parameters belong together by their paths; all else by its users, then by kind, role and shape. What
is left over is in one file only: nothing is paired by its size.

With the ETRecords of both, users are operators, paired as in a comparison of profiles. Otherwise,
users are the kernel calls, delegate calls and nodes of XNNPACK of methods with the same name,
paired in the order in which they run, by what they are. Modules of two ETRecords belong together by
the operators inside that do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from viewer.analysis.comparison.alignment import aligned
from viewer.analysis.comparison.joined import Joined
from viewer.analysis.comparison.operator_pairs import OperatorPairs, pair_operators
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.program.executable.executable import Executable
from viewer.program.module_tree import ModuleKind, ModuleTree

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
        user_names = frozenset(self._names.of((side, user)) for user in users)
        return user_names or (frozenset(part.users) or part.kind)


def paired_methods(a: Executable, b: Executable) -> tuple[tuple[int, int], ...]:
    """Return the methods with equal names; a single one is paired with a single other one."""
    of_name = {method.name: j for j, method in enumerate(b.methods)}
    pairs = [(i, of_name[m.name]) for i, m in enumerate(a.methods) if m.name in of_name]
    rest_a = sorted(set(range(len(a.methods))) - {i for i, _ in pairs})
    rest_b = sorted(set(range(len(b.methods))) - {j for _, j in pairs})
    if len(rest_a) == len(rest_b) == 1:
        pairs.append((rest_a[0], rest_b[0]))
    return tuple(pairs)


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
    for instruction in method.instructions:
        if not instruction.name:
            continue
        calls.append((number, instruction.number, -1))
        names.append(instruction.name)
        if instruction.delegate >= 0:
            nodes = method.delegates[instruction.delegate].nodes
            calls += [(number, instruction.number, node) for node in range(len(nodes))]
            names += [node.type for node in nodes]
    return calls, names


NONE = -1
Key = Callable[[FilePart], Hashable]


@dataclass(frozen=True, eq=False)
class PartPairs:
    """Pairs of parts, as indexes into `FileParts.parts`, `NONE` for a part that one file only has.

    rows: those of A in the order of the file, then what only B has. users: which users of both
    belong together.
    """

    rows: tuple[tuple[int, int], ...]
    users: UserPairs

    @property
    def paired_by(self) -> PairedBy:
        """How the users were paired."""
        return self.users.paired_by


def paired_parts(a: FileParts, b: FileParts) -> PartPairs:
    """Pair the parts of two files, each at most once; in the order of the file if keys are equal.

    The first of these that two parts share decides: users, kind, names and shape; users and names;
    names; users, kind, role and shape; users, kind and role; kind and name without users.
    """
    users = UserPairs(a, b)
    left, right = list(range(len(a.parts))), list(range(len(b.parts)))
    partner_of_part: dict[int, int] = {}
    keys_a = [users.key_a(part) for part in a.parts]
    keys_b = [users.key_b(part) for part in b.parts]
    for rule, with_users in _RULES:
        matches = _matched(
            [(i, _key(rule, a.parts[i], keys_a[i] if with_users else None)) for i in left],
            [(j, _key(rule, b.parts[j], keys_b[j] if with_users else None)) for j in right],
        )
        partner_of_part.update(matches)
        taken = set(matches.values())
        left = [i for i in left if i not in matches]
        right = [j for j in right if j not in taken]
    rows = [(i, partner_of_part.get(i, NONE)) for i in range(len(a.parts))]
    return PartPairs((*rows, *((NONE, j) for j in right)), users)


def _key(rule: Key, part: FilePart, users: Hashable) -> Hashable:
    rule_key = rule(part)
    return None if rule_key is None else (rule_key, users)


def _matched(
    a: Sequence[tuple[int, Hashable]], b: Sequence[tuple[int, Hashable]]
) -> dict[int, int]:
    """Part of A -> part of B with the same key, each at most once; a key of None has no partner."""
    of_key: dict[Hashable, list[int]] = {}
    for j, key in reversed(b):
        if key is not None:
            of_key.setdefault(key, []).append(j)
    return {i: of_key[key].pop() for i, key in a if key is not None and of_key.get(key)}


def _exact(part: FilePart) -> Hashable:
    return (part.kind, part.names, part.role, part.text) if part.names else None


def _names(part: FilePart) -> Hashable:
    return part.names or None


def _shape(part: FilePart) -> Hashable:
    return (part.kind, part.role, part.text) if part.uses and not part.names else None


def _role(part: FilePart) -> Hashable:
    return (part.kind, part.role) if part.uses else None


def _name(part: FilePart) -> Hashable:
    return None if part.uses else (part.kind, part.name)


_RULES: tuple[tuple[Key, bool], ...] = (
    (_exact, True), (_names, True), (_names, False), (_shape, True), (_role, True), (_name, False),
)  # fmt: skip


def paired_modules(a: ModuleTree, b: ModuleTree, pairs: OperatorPairs) -> dict[int, int]:
    """Return module of A -> module of B, each at most once.

    A module belongs to the smallest one with all partners of its operators; if a module inside
    belongs to that one, to the one around. The outermost ones belong together. A module without
    paired operators belongs to the one with its path.
    """
    of_path = {
        (m.method, m.path): j for j, m in enumerate(b.modules) if m.kind is ModuleKind.MODULE
    }
    partner_of_module, taken = {0: 0}, {0}
    for number in range(len(a.modules) - 1, 0, -1):  # modules inside come first
        module = a.modules[number]
        partners = {
            int(b.of_operator[pair.b])
            for operator in a.operators_in(number)
            for pair in pairs.of_a.get(operator, ())
        }
        if partners:
            other = b.around_all(partners)
            while other in taken and other > 0:
                other = b.modules[other].parent
        else:
            other = of_path.get((module.method, module.path), 0)
        if other not in taken and (b.modules[other].kind is module.kind):
            partner_of_module[number] = other
            taken.add(other)
    return partner_of_module
