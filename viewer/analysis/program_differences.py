"""What differs between two program files: parts that belong together, and rows of numbers.

Nothing is measured. Numbers are added up over all methods; planned memory is per method. Parameters
belong together by their paths; all else by its users, then by kind, role and shape. Nothing is
paired by its size.

With the ETRecords of both, users are operators, paired as in a comparison of profiles. Otherwise
they are the kernel calls, delegate calls and nodes of XNNPACK of methods with the same name, paired
in the order in which they run, by what they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from viewer.analysis.comparison.evidence import aligned
from viewer.analysis.comparison.operator_pairs import Joined, OperatorPairs, pair_operators
from viewer.analysis.memory.plan import memory_plan
from viewer.analysis.sizes.file_parts import FilePart, FileParts, Use
from viewer.analysis.sizes.groups import GroupKey, groups, kind_text, operators_text, users_text
from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass
from viewer.program.executables import Executable, InstructionKind
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
        return PairedBy.ORDER if self.operators is None else PairedBy.ETRECORDS

    def key_a(self, part: FilePart) -> Hashable:
        return self._key("a", part)

    def key_b(self, part: FilePart) -> Hashable:
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
    of_key = lists_by_key((key, j) for j, key in reversed(b) if key is not None)
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


@dataclass(frozen=True, slots=True)
class Row:
    """One number of A and of B; None on the side that does not have it. label_b: its name in B."""

    label: str
    a: int | None
    b: int | None
    label_b: str = ""

    @property
    def change(self) -> int:
        """B minus A."""
        return (self.b or 0) - (self.a or 0)


Rows = tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class ProgramDifferences:
    """Rows of two files, those with the largest change first.

    methods: instructions of each. instructions: by kind. kernels: calls by operator. delegates:
    number by backend. nodes: of XNNPACK, by type. memory: bytes by method, "forward · peak". kinds,
    operators, modules: bytes of the file; modules with those inside, and empty without the
    ETRecords of both. Without these, an operator is a call: "aten::addmm.out at 12" is the one of
    instruction 12, "XNNConv2d at 3, node 5" is in the delegate that instruction 3 calls.
    """

    a: FileParts
    b: FileParts
    paired_by: PairedBy
    methods: Rows
    instructions: Rows
    kernels: Rows
    delegates: Rows
    nodes: Rows
    memory: Rows
    kinds: Rows
    operators: Rows
    modules: Rows


def program_differences(a: FileParts, b: FileParts) -> ProgramDifferences:
    """Return what differs between two files."""
    pairs = UserPairs(a, b)
    x, y = a.executable, b.executable
    return ProgramDifferences(
        a,
        b,
        pairs.paired_by,
        methods=_per_method(x, y, lambda program, i: {"": len(program.methods[i].instructions)}),
        instructions=_counts(_kinds(x), _kinds(y)),
        kernels=_counts(_kernels(x), _kernels(y)),
        delegates=_counts(_backends(x), _backends(y)),
        nodes=_counts(_nodes(x), _nodes(y)),
        memory=_memory(x, y),
        kinds=_counts(_sizes_by_kind(a), _sizes_by_kind(b)),
        operators=_operators(a, b, pairs),
        modules=_modules(a, b, pairs),
    )


def _sorted(rows: list[Row]) -> Rows:
    return tuple(sorted(rows, key=lambda row: (-abs(row.change), -(row.a or 0), row.label)))


def _counts(a: Mapping[str, int], b: Mapping[str, int]) -> Rows:
    return _sorted([Row(name, a.get(name), b.get(name)) for name in dict.fromkeys((*a, *b))])


def _kinds(executable: Executable) -> Counter[str]:
    return Counter(
        instruction.kind.name.lower().replace("_", " ")
        for method in executable.methods
        for instruction in method.instructions
    )


def _kernels(executable: Executable) -> Counter[str]:
    return Counter(
        instruction.name
        for method in executable.methods
        for instruction in method.instructions
        if instruction.kind is InstructionKind.KERNEL_CALL
    )


def _backends(executable: Executable) -> Counter[str]:
    return Counter(
        delegate.backend for method in executable.methods for delegate in method.delegates
    )


def _nodes(executable: Executable) -> Counter[str]:
    return Counter(
        node.type
        for method in executable.methods
        for delegate in method.delegates
        for node in delegate.nodes
    )


def _sizes_by_kind(file_parts: FileParts) -> dict[str, int]:
    return {group.label: group.size for group in groups(file_parts, GroupKey.KIND)}


def _per_method(
    a: Executable, b: Executable, figures: Callable[[Executable, int], dict[str, int]]
) -> Rows:
    """Rows of each method, in the order of A; `figures`: name -> number of a method."""
    pairs = dict(paired_methods(a, b))
    rows = []
    for i, method in enumerate(a.methods):
        partner = pairs.get(i)
        figures_a, other = figures(a, i), {} if partner is None else figures(b, partner)
        name_b = "" if partner is None else b.methods[partner].name
        for name, value in figures_a.items():
            label_b = f"{name_b}{name}" if name_b != method.name else ""
            rows.append(Row(f"{method.name}{name}", value, other.get(name), label_b))
    for j in sorted(set(range(len(b.methods))) - set(pairs.values())):
        rows += [Row(f"{b.methods[j].name}{name}", None, n) for name, n in figures(b, j).items()]
    return tuple(rows)


def _memory(a: Executable, b: Executable) -> Rows:
    def figures(executable: Executable, number: int) -> dict[str, int]:
        plan = memory_plan(executable.methods[number])
        return {" · peak": plan.peak, " · arena": plan.arena}

    return _per_method(a, b, figures)


def _operators(a: FileParts, b: FileParts, pairs: UserPairs) -> Rows:
    """Bytes of the parts whose users belong together."""
    by_order = pairs.paired_by is PairedBy.ORDER
    of_a, of_b = _by_users(a, pairs.key_a, by_order), _by_users(b, pairs.key_b, by_order)
    rows = []
    for key in dict.fromkeys((*of_a, *of_b)):
        label, size = of_a.get(key, ("", None))
        label_b, size_b = of_b.get(key, ("", None))
        is_other = bool(label) and label_b != label
        rows.append(Row(label or label_b, size, size_b, label_b if is_other else ""))
    return _sorted(rows)


def _by_users(
    file_parts: FileParts, key: Callable[[FilePart], Hashable], by_order: bool
) -> dict[Hashable, tuple[str, int]]:
    """Label and bytes of the parts with the same users. by_order: they are calls, not operators."""
    size_of_key: dict[Hashable, tuple[str, int]] = {}
    for i in file_parts.by_size:
        part = file_parts.parts[i]
        label = users_text(part) or f"({kind_text(part.kind)})"
        if by_order and part.uses:
            label = f"{label} at {_place(part.uses[0])}"
        elif not by_order:
            label = operators_text(file_parts, part) or label
        had, size = size_of_key.get(key(part), (label, 0))
        size_of_key[key(part)] = had, size + part.size
    return size_of_key


def _place(use: Use) -> str:
    return str(use.instruction) if use.node < 0 else f"{use.instruction}, node {use.node}"


def _modules(a: FileParts, b: FileParts, pairs: UserPairs) -> Rows:
    tree_a, tree_b = a.tree, b.tree
    if tree_a is None or tree_b is None or pairs.operators is None:
        return ()
    of_a, of_b = _by_module(a), _by_module(b)
    partners = paired_modules(tree_a, tree_b, pairs.operators)
    taken, rows = set(partners.values()), []
    for number, (label, size) in of_a.items():
        partner = partners.get(number)
        if partner is None:
            rows.append(Row(label, size, None))
            continue
        label_b, size_b = of_b.get(partner, ("", 0))  # it may use no data
        rows.append(Row(label, size, size_b, label_b if label_b != label else ""))
    partners_of_a = {partners.get(number) for number in of_a}
    for number, (label, size) in of_b.items():
        if number not in partners_of_a:
            rows.append(Row(label, 0 if number in taken else None, size))
    return _sorted(rows)


def _by_module(file_parts: FileParts) -> dict[int, tuple[str, int]]:
    """Module -> its label and its bytes with those of the modules inside."""
    return {
        group.module: (group.label, group.total)
        for group in groups(file_parts, GroupKey.MODULE)
        if group.module >= 0
    }
