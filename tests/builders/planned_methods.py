"""Methods of program files with planned tensors, made without a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.program.executables import (
    NONE,
    Delegate,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Tensors,
)

Place = tuple[int, int]  # offset and bytes


def kernel(*values: int, name: str = "aten::relu.out") -> Instruction:
    """A kernel call; its last value is its result."""
    return Instruction(0, InstructionKind.KERNEL_CALL, name, values)


def delegate(*values: int, number: int = 0) -> Instruction:
    """A delegate call."""
    return Instruction(0, InstructionKind.DELEGATE_CALL, "Backend", values, delegate=number)


def move(source: int, target: int) -> Instruction:
    """A move of one value to another."""
    return Instruction(0, InstructionKind.MOVE_CALL, "", (source, target))


def jump(target: int) -> Instruction:
    """A jump to an instruction."""
    return Instruction(0, InstructionKind.JUMP_FALSE_CALL, "", (), target)


def planned_method(
    places: Sequence[Place | None],
    *instructions: Instruction,
    inputs: Sequence[int] = (),
    outputs: Sequence[int] = (),
    delegates: Sequence[Delegate] = (Delegate("Backend", 0),),
    memories: Sequence[int] = (),
    constants: Sequence[int] = (),
    lists: dict[int, tuple[int, ...]] | None = None,
    arena: int = 1024,
) -> ExecutableMethod:
    """A method whose value i is a tensor at `places[i]`; None for a tensor that is not planned.

    memories: the memory id of each tensor; 1 by default. constants: values with data in the file.
    lists: value (after the tensors) -> its members.
    """
    count = len(places)
    ids = list(memories) or [1] * count
    members = lists or {}
    tensors = Tensors(
        value=np.arange(count),
        dtype=np.zeros(count, np.uint32),
        first=np.arange(count + 1),
        extents=np.array([place[1] if place else 0 for place in places], np.int64),
        size=np.array([place[1] if place else 0 for place in places], np.int64),
        memory=np.array([ids[i] if place else NONE for i, place in enumerate(places)], np.int64),
        offset=np.array([place[0] if place else NONE for place in places], np.int64),
        constant=np.where(np.isin(np.arange(count), list(constants)), 1, NONE),
        is_external=np.zeros(count, np.bool_),
        name=np.full(count, NONE),
        is_input=np.isin(np.arange(count), list(inputs)),
        is_output=np.isin(np.arange(count), list(outputs)),
        dynamism=np.zeros(count, np.uint8),
        dtypes=("u8",),
    )
    numbered = tuple(
        Instruction(i, one.kind, one.name, one.values, one.target, one.delegate)
        for i, one in enumerate(instructions)
    )
    return ExecutableMethod(
        "forward",
        numbered,
        tuple(delegates),
        tensors,
        value_count=max([count, *(value + 1 for value in members)]),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        lists=members,
        buffer_sizes=(0, *([arena] * max(ids, default=1))),
    )
