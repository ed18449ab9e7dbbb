"""The calls of a program file: the operator of a kernel, the delegate of a call, branches."""

from __future__ import annotations

from itertools import accumulate

from viewer.model.names.executorch import kernel_operator
from viewer.program.executable.executable import (
    Delegate,
    ExecutableMethod,
    Instruction,
    InstructionKind,
)
from viewer.program.program import base_name

_NO_DELEGATE = Delegate("", 0)


def kernel_name(instruction: Instruction) -> str:
    """Return the base name of a kernel call's operator: "add" for "aten::add.out"."""
    return base_name(kernel_operator(instruction.name))


def kind_at(method: ExecutableMethod, instruction: int) -> InstructionKind | None:
    """Return the kind of an instruction; None if the method has no such instruction."""
    instructions = method.instructions
    return instructions[instruction].kind if 0 <= instruction < len(instructions) else None


def delegate_of(method: ExecutableMethod, instruction: int) -> Delegate:
    """Return the delegate of a call; one without a backend if it is not a delegate call."""
    if kind_at(method, instruction) is not InstructionKind.DELEGATE_CALL:
        return _NO_DELEGATE
    number = method.instructions[instruction].delegate
    return method.delegates[number] if 0 <= number < len(method.delegates) else _NO_DELEGATE


def in_control_flow(method: ExecutableMethod) -> frozenset[int]:
    """Return the instructions of branches, which a jump may skip, and of the bodies of loops."""
    count = len(method.instructions)
    depth = [0] * (count + 1)  # how many more spans contain an instruction than the one before
    for jump in method.instructions:
        if jump.kind is InstructionKind.JUMP_FALSE_CALL:
            # A jump back ends a loop.
            first = jump.number + 1 if jump.target > jump.number else max(jump.target, 0)
            last = min(jump.target, count) if jump.target > jump.number else jump.number
            if first < last:
                depth[first] += 1
                depth[last] -= 1
    return frozenset(i for i, open_spans in enumerate(accumulate(depth)) if open_spans > 0)
