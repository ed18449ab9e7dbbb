"""Finds the graph nodes of instructions inside control flow, by the program file.

Export maps no instruction inside a branch to a debug handle, but it emits the kernels of branches
in the order of the graph: of a torch.cond first the true branch, then the false one, with jumps
around them. So the list of kernels between jumps in the program file is the list of the graph's
nodes in branches. It decides only if both lists are equal from the first to the last operator.
"""

from __future__ import annotations

from viewer.analysis.nodes.executable_calls import in_control_flow, kernel_name
from viewer.program.executable.executable import ExecutableMethod, InstructionKind
from viewer.program.program import Method, Program, base_name


def branch_nodes(program: Program, method: Method, ran: ExecutableMethod) -> dict[int, int]:
    """Return instruction -> index into `Program.nodes` for kernels in branches.

    Empty if the two lists differ, as for loops, around whose bodies export adds instructions, and
    if the order of the graph is not known.
    """
    inside = in_control_flow(ran)
    kernels = [
        instruction
        for instruction in ran.instructions
        if instruction.number in inside
        and instruction.kind is InstructionKind.KERNEL_CALL
        and instruction.number not in method.handles
    ]
    nodes = sorted(
        (program.nodes[i].position, i)
        for operator in method.operators
        for i in program.node_numbers(operator.index)
        if program.nodes[i].branch and not program.nodes[i].op.startswith("higher_order.")
    )
    if not nodes or nodes[0][0] < 0:
        return {}
    names = [base_name(program.nodes[i].op) for _, i in nodes]
    if [kernel_name(kernel) for kernel in kernels] != names:
        return {}
    return {kernel.number: i for kernel, (_, i) in zip(kernels, nodes, strict=True)}
