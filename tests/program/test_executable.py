"""Questions about an executable: its methods, kinds of instructions and sizes."""

import numpy as np

from viewer.program.executables import (
    INSERTED,
    Dynamism,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Part,
    PartKind,
    Tensors,
    XnnpackNode,
)


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


def tensors() -> Tensors:
    count, none = 4, np.full(4, -1)
    return Tensors(
        value=np.arange(count),
        dtype=np.array([0, 1, 0, 0], np.uint32),
        first=np.array([0, 2, 2, 3, 4]),
        extents=np.array([1, 8, 5, 6]),
        size=none,
        memory=none,
        offset=none,
        constant=none,
        is_external=np.zeros(count, np.bool_),
        name=np.array([0, -1, -1, -1]),
        is_input=np.zeros(count, np.bool_),
        is_output=np.zeros(count, np.bool_),
        dynamism=np.array([0, 0, Dynamism.BOUND, Dynamism.UNBOUND], np.uint8),
        dtypes=("f32", "i64"),
        names=("fc.weight",),
    )


def test_dtype_and_shape_as_text():
    assert [tensors().text(i) for i in range(4)] == [
        "f32 1 × 8", "i64 scalar", "f32 up to 5", "f32, any shape",
    ]  # fmt: skip


def test_shapes_and_names():
    assert [tensors().shape(i) for i in range(3)] == [(1, 8), (), (5,)]
    assert [tensors().named(i) for i in range(2)] == ["fc.weight", ""]


def test_no_tensors():
    assert len(Tensors.empty()) == 0
