"""Finds the operators of instructions inside control flow, by the program file.

Export maps no instruction inside a branch to a debug handle, but it emits the kernels of branches
in the order of the graph: of a torch.cond first the true branch, then the false one, with jumps
around them. So the list of kernels between jumps in the program file is the list of the graph's
nodes in branches. It decides only if both lists are equal from the first to the last operator.
"""

from __future__ import annotations

from viewer.analysis.nodes.executable_calls import in_branches, kernel_name
from viewer.program.executable.executable import ExecutableMethod, InstructionKind
from viewer.program.program import Method, base_name


def branch_operators(method: Method, ran: ExecutableMethod) -> dict[int, int]:
    """Return instruction -> index into `Program.operators` for kernels in branches.

    Empty if the two lists differ, as for loops, around whose bodies export adds instructions.
    """
    inside = in_branches(ran)
    kernels = [
        instruction
        for instruction in ran.instructions
        if instruction.number in inside
        and instruction.kind is InstructionKind.KERNEL_CALL
        and instruction.number not in method.handles
    ]
    nodes = [
        (operator.index, base_name(node.op))
        for operator in method.operators
        for node in operator.nodes
        if node.branch and not node.op.startswith("higher_order.")
    ]
    if [kernel_name(kernel) for kernel in kernels] != [name for _, name in nodes]:
        return {}
    return {kernel.number: index for kernel, (index, _) in zip(kernels, nodes, strict=True)}
