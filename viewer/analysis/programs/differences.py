"""What differs between two program files, as rows of numbers: what both have and what only one has.

Nothing is measured: these are facts of the files. Numbers of calls, nodes and bytes are added up
over all methods; planned memory is per method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from viewer.analysis.memory.plan import memory_plan
from viewer.analysis.programs.part_pairs import PairedBy, UserPairs, paired_methods, paired_modules
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.analysis.sizes.groups import (
    GroupKey,
    groups,
    kind_text,
    operators_text,
    users_text,
)
from viewer.analysis.sizes.stored_items import Use
from viewer.program.executable.executable import Executable, InstructionKind


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
