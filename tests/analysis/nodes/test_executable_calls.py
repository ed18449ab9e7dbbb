"""The calls of a program file."""

from viewer.analysis.nodes.instruction_nodes import (
    delegate_of,
    in_control_flow,
    kernel_name,
    kind_at,
)
from viewer.program.executables import (
    Delegate,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Tensors,
)

KERNEL, CALL, JUMP = (
    InstructionKind.KERNEL_CALL,
    InstructionKind.DELEGATE_CALL,
    InstructionKind.JUMP_FALSE_CALL,
)


def method(*instructions, delegates=()):
    return ExecutableMethod("forward", instructions, delegates, Tensors.empty())


def test_a_kernel_has_the_name_of_its_operator():
    assert kernel_name(Instruction(0, KERNEL, "aten::add.out")) == "add"
    assert kernel_name(Instruction(0, KERNEL, "llama::custom_sdpa.out")) == "custom_sdpa"


def test_a_call_has_its_delegate_and_anything_else_none():
    npu = Delegate("ToyNpu", 8)
    ran = method(
        Instruction(0, CALL, "ToyNpu", delegate=0),
        Instruction(1, KERNEL, "aten::add.out"),
        Instruction(2, CALL, "ToyNpu", delegate=9),
        delegates=(npu,),
    )
    assert delegate_of(ran, 0) is npu
    assert [delegate_of(ran, i).backend for i in (1, 2, 3, -1)] == ["", "", "", ""]
    assert [kind_at(ran, i) for i in (0, 1, 3, -1)] == [CALL, KERNEL, None, None]


def test_what_a_jump_skips_and_what_it_repeats_is_control_flow():
    kernels = [Instruction(i, KERNEL, "aten::add.out") for i in range(7)]
    branch = method(Instruction(0, JUMP, target=3), *kernels[1:5])
    assert in_control_flow(branch) == {1, 2}
    loop = method(*kernels[:4], Instruction(4, JUMP, target=2), *kernels[5:])
    assert in_control_flow(loop) == {2, 3}


def test_jumps_to_nowhere_and_many_that_overlap_are_counted_once():
    far = method(Instruction(0, JUMP, target=2**40), Instruction(1, KERNEL, "aten::add.out"))
    assert in_control_flow(far) == {1}
    back = method(Instruction(0, KERNEL, "aten::add.out"), Instruction(1, JUMP, target=-5))
    assert in_control_flow(back) == {0}
    many = method(*(Instruction(i, JUMP, target=50_000) for i in range(50_000)))
    assert len(in_control_flow(many)) == 49_999
