"""Questions about an executable: its methods, kinds of instructions and sizes."""

from viewer.program.executable.executable import (
    INSERTED,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Part,
    PartKind,
    XnnpackNode,
)
from viewer.program.executable.tensors import Tensors


def method(name: str) -> ExecutableMethod:
    instructions = (
        Instruction(0, InstructionKind.KERNEL_CALL, "aten::add.out"),
        Instruction(1, InstructionKind.FREE_CALL, values=(3,)),
        Instruction(2, InstructionKind.KERNEL_CALL, "aten::mul.out"),
    )
    return ExecutableMethod(name, instructions, (), Tensors.empty(), buffer_sizes=(0, 100, 28))


def executable() -> Executable:
    parts = (
        Part(PartKind.DELEGATES, "a", 10),
        Part(PartKind.PROGRAM, "", 7),
        Part(PartKind.DELEGATES, "b", 5),
    )
    return Executable("m.pte", "ExecuTorch program", "", (method("a"), method("b")), parts, 22)


def test_a_method_is_found_by_its_name():
    assert executable().method("b").name == "b"
    assert executable().method("c") is None


def test_instructions_are_counted_by_kind():
    assert method("a").count(InstructionKind.KERNEL_CALL) == 2
    assert method("a").count(InstructionKind.DELEGATE_CALL) == 0


def test_sizes_are_added_up():
    assert method("a").planned_bytes == 128
    assert executable().part_sizes() == {PartKind.DELEGATES: 15, PartKind.PROGRAM: 7}


def test_a_node_without_an_operator_was_inserted():
    assert XnnpackNode("XNNStaticTranspose", INSERTED).is_inserted
    assert not XnnpackNode("XNNConv2d", 3).is_inserted
