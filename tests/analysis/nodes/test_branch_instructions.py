"""The kernels between the jumps of a program file are the graph's nodes in branches."""

from viewer.analysis.nodes.branch_instructions import branch_operators
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind
from viewer.program.executable.tensors import Tensors
from viewer.program.program import GraphNode, Method, Operator

KERNEL, MOVE, JUMP = (
    InstructionKind.KERNEL_CALL,
    InstructionKind.MOVE_CALL,
    InstructionKind.JUMP_FALSE_CALL,
)


def executable(*instructions):
    return ExecutableMethod("forward", instructions, (), Tensors.empty())


def method(*ops, handles=None):
    """A method with nodes (op, branch), one operator each."""
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"n{i}", op, i + 1, branch=branch),))
        for i, (op, branch) in enumerate(ops)
    )
    return Method("forward", operators, handles or {})


CONDITIONAL = executable(
    Instruction(0, JUMP, target=3),
    Instruction(1, KERNEL, "aten::sin.out"),
    Instruction(2, JUMP, target=4),
    Instruction(3, KERNEL, "aten::cos.out"),
    Instruction(4, KERNEL, "aten::tanh.out"),
)
SIN, COS = ("aten.sin.default", "true branch of cond"), ("aten.cos.default", "false branch of cond")
COND, TANH = ("higher_order.cond", ""), ("aten.tanh.default", "")


def test_kernels_in_branches_have_their_operators_in_order():
    source = method(SIN, COS, COND, TANH, handles={4: (4,)})
    assert branch_operators(source, CONDITIONAL) == {1: 0, 3: 1}


def test_if_the_lists_differ_nothing_is_known():
    assert branch_operators(method(COS, SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}
    assert branch_operators(method(SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}


def test_a_program_without_jumps_has_no_branches():
    straight = executable(Instruction(0, KERNEL, "aten::sin.out"))
    assert branch_operators(method(("aten.sin.default", "")), straight) == {}


def test_a_jump_to_nowhere_ends_with_the_program():
    wild = executable(
        Instruction(0, JUMP, target=2**40),
        Instruction(1, KERNEL, "aten::sin.out"),
        Instruction(2, MOVE),
    )
    assert branch_operators(method(SIN), wild) == {1: 0}
