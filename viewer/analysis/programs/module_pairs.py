"""Which modules of two ETRecords belong together, by the operators inside that do."""

from __future__ import annotations

from viewer.analysis.comparison.operator_pairs import OperatorPairs
from viewer.program.module_tree import ModuleKind, ModuleTree


def paired_modules(a: ModuleTree, b: ModuleTree, pairs: OperatorPairs) -> dict[int, int]:
    """Return module of A -> module of B, each at most once.

    A module belongs to the smallest one with all partners of its operators; if a module inside
    belongs to that one, to the one around. The outermost ones belong together. A module without
    paired operators belongs to the one with its path.
    """
    of_path = {
        (m.method, m.path): j for j, m in enumerate(b.modules) if m.kind is ModuleKind.MODULE
    }
    found, taken = {0: 0}, {0}
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
            found[number] = other
            taken.add(other)
    return found
