"""The loops of a program file: torch.map and torch.scan, as ExecuTorch's emitter lays them out.

From exir/emit/_emitter.py (`_emit_map`, `_emit_scan`) of ExecuTorch 1.5:

    sym_size                      the number of iterations, of the first dimension of the input
    copy_ per carried value       scan only: the initial values
    select_copy per input         the slices of this iteration; the jump below goes back to here
    the body, in node order
    copy_ per carried value       scan only: the values for the next iteration
    et_copy_index per output
    add, eq                       counts the iteration
    JF_CALL                       back to the first select_copy, unless it was the last iteration
    sub                           resets the count

A torch.map has one input and one output. Bodies may contain such operators of their own, so all
that count or select an iteration must use the loop's own count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from viewer.program.executable.executable import ExecutableMethod, Instruction, InstructionKind

_SIZE, _SELECT, _COPY = "aten::sym_size.int", "aten::select_copy.int_out", "aten::copy_"
_STORE, _ADD = "executorch_prim::et_copy_index.tensor", "executorch_prim::add.Scalar"
_EQUAL, _RESET = "executorch_prim::eq.Scalar", "executorch_prim::sub.Scalar"


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop. first, last: its instructions. own: those that are not of its body."""

    first: int
    last: int
    own: frozenset[int]


def loops_of(ran: ExecutableMethod) -> list[Loop]:
    """Return the loops of a method, inner ones first, as they end."""
    jumps = (x for x in ran.instructions if x.kind is InstructionKind.JUMP_FALSE_CALL)
    found = (_loop(ran, jump) for jump in jumps if 0 <= jump.target < jump.number)
    return [loop for loop in found if loop is not None]


def _loop(ran: ExecutableMethod, jump: Instruction) -> Loop | None:
    """Return the loop that a jump back ends, None if its layout is another one."""
    start, end = jump.target, jump.number
    add, equal, reset = (_at(ran, end + i) for i in (-2, -1, 1))
    if [x and x.name for x in (add, equal, reset)] != [_ADD, _EQUAL, _RESET]:
        return None
    assert add is not None
    assert equal is not None
    if len(add.values) < 1 or len(equal.values) < 2:
        return None
    count, size = add.values[0], equal.values[1]
    selects = list(_upwards(ran, start, _SELECT, 2, count))
    stores = list(_downwards(ran, end - 3, _STORE, 2, count))
    carried = list(_downwards(ran, start - 1, _COPY))
    first = start - 1 - len(carried)
    header = _at(ran, first)
    if header is None or header.name != _SIZE or header.values[2:3] != (size,) or not selects:
        return None
    tail = end - 3 - len(stores)
    copied = list(_downwards(ran, tail, _COPY))[: len(carried)]
    if len(copied) != len(carried):
        return None
    own = {first, end - 2, end - 1, end, end + 1, *carried, *selects, *stores, *copied}
    return Loop(first, end + 1, frozenset(own))


def _at(ran: ExecutableMethod, number: int) -> Instruction | None:
    """Return a kernel call by its number, None for anything else."""
    if not 0 <= number < len(ran.instructions):
        return None
    found = ran.instructions[number]
    return found if found.kind is InstructionKind.KERNEL_CALL else None


def _upwards(
    ran: ExecutableMethod, first: int, name: str, argument: int, value: int
) -> Iterator[int]:
    """Yield the kernel calls of a name from one on, as long as an argument has a value."""
    while (
        (x := _at(ran, first)) and x.name == name and x.values[argument : argument + 1] == (value,)
    ):
        yield first
        first += 1


def _downwards(
    ran: ExecutableMethod, last: int, name: str, argument: int = -1, value: int = -1
) -> Iterator[int]:
    """Yield the kernel calls of a name from one back, as long as an argument has a value."""
    while (x := _at(ran, last)) and x.name == name:
        if argument >= 0 and x.values[argument : argument + 1] != (value,):
            return
        yield last
        last -= 1
