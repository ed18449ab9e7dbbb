"""The kernels between the jumps of a program file are the graph's nodes in branches."""

from viewer.analysis.nodes.branch_instructions import branch_nodes
from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind
from viewer.program.executable.tensors import Tensors
from viewer.program.program import GraphNode, Method, Operator, Program

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
        Operator(i, "forward", i + 1, (GraphNode(f"n{i}", op, i + 1, branch=branch, position=i),))
        for i, (op, branch) in enumerate(ops)
    )
    return Method("forward", operators, handles or {})


def found(source, ran):
    return branch_nodes(Program("p", "ETRecord", "", (source,)), source, ran)


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
    assert found(source, CONDITIONAL) == {1: 0, 3: 1}


def test_if_the_lists_differ_nothing_is_known():
    assert found(method(COS, SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}
    assert found(method(SIN, COND, handles={4: (4,)}), CONDITIONAL) == {}


def test_a_program_without_jumps_has_no_branches():
    straight = executable(Instruction(0, KERNEL, "aten::sin.out"))
    assert found(method(("aten.sin.default", "")), straight) == {}


def test_a_jump_to_nowhere_ends_with_the_program():
    wild = executable(
        Instruction(0, JUMP, target=2**40),
        Instruction(1, KERNEL, "aten::sin.out"),
        Instruction(2, MOVE),
    )
    assert found(method(SIN), wild) == {1: 0}


def test_the_order_of_the_graph_counts_and_not_that_of_the_operators():
    """The first and the third node have one debug handle, as quantizing nodes have a neighbor's."""
    sin = [GraphNode(f"n{i}", "aten.sin.default", 1, branch="b", position=i) for i in (0, 2)]
    other = GraphNode("n1", "aten.sin.default", 2, branch="b", position=1)
    source = Method(
        "forward", (Operator(0, "forward", 1, tuple(sin)), Operator(1, "forward", 2, (other,)))
    )
    ran = executable(
        Instruction(0, JUMP, target=4),
        *(Instruction(i, KERNEL, "aten::sin.out") for i in (1, 2, 3)),
    )
    names = [source.operators[0].nodes[0], source.operators[0].nodes[1], other]
    assert {i: names[node].name for i, node in found(source, ran).items()} == {
        1: "n0", 2: "n1", 3: "n2",
    }  # fmt: skip


def test_a_graph_of_unknown_order_decides_nothing():
    node = GraphNode("n0", "aten.sin.default", 1, branch="b")
    source = Method("forward", (Operator(0, "forward", 1, (node,)),))
    assert found(source, CONDITIONAL) == {}
