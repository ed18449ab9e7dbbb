"""The calls of a program file: the operator of a kernel, the delegate of a call, branches."""

from __future__ import annotations

from viewer.model.executorch_names import kernel_operator
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


def in_branches(method: ExecutableMethod) -> frozenset[int]:
    """Return the instructions that a jump may skip."""
    found: set[int] = set()
    reached = 0  # jumps may overlap: each instruction is added once
    for jump in method.instructions:
        if jump.kind is InstructionKind.JUMP_FALSE_CALL:
            first = max(jump.number + 1, reached)
            last = min(jump.target, len(method.instructions))
            found.update(range(first, last))
            reached = max(reached, last)
    return frozenset(found)
