"""The operators of an ETRecord that each instruction of a program file runs."""

from __future__ import annotations

from viewer.analysis.nodes.branch_instructions import branch_nodes
from viewer.program.executable.executable import ExecutableMethod
from viewer.program.program import Program


def instruction_operators(program: Program, ran: ExecutableMethod) -> dict[int, tuple[int, ...]]:
    """Return instruction -> indexes into `Program.operators`, ascending.

    By the debug handle map of the method with the same name, and inside control flow by the order
    of the graph. Instructions that neither has are left out.
    """
    method = program.method(ran.name)
    if method is None:
        return {}
    found: dict[int, tuple[int, ...]] = {}
    for instruction, handles in method.handles.items():
        own = {method.by_handle[h].index for h in handles if h in method.by_handle}
        if own:
            found[instruction] = tuple(sorted(own))
    for instruction, node in branch_nodes(program, method, ran).items():
        found.setdefault(instruction, (program.operator_of_node(node).index,))
    return found
