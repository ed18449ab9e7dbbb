"""Which tensors of a method share planned memory, and from which instruction to which they use it.

A program file states where in an arena each tensor is, not when. A tensor is in use from the first
instruction that uses it to the last. One that an instruction reads before any wrote it is one of:

* a view: it has the bytes of the tensor that was written last and contains its bytes. Export
  removes the instructions of most views, so nothing else in the file states them
* state, such as a cache: it keeps its bytes from one inference to the next

This gives the lifetimes that ExecuTorch's own planning computes (exir/memory_planning.py,
`update_all_tensors_lifetime`; release 1.5.1): inputs live from the start, outputs to the end, state
always, and a tensor as long as its views.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.program.executable.executable import (
    NONE,
    Dynamism,
    ExecutableMethod,
    Instruction,
    InstructionKind,
)

BEFORE = -1  # instead of an instruction: written before the first one
_VIEW = "executorch_prim::et_view"  # makes a view while it runs; its result comes last
_LIMIT = 1 << 46  # bytes; a damaged file has offsets whose sums exceed 64 bits
_COPY_INTO = "executorch_prim::et_copy_index"  # its first argument is what it writes


@dataclass(frozen=True, slots=True, eq=False)
class Storages:
    """Bytes of planned memory, each for one tensor and its views, ordered by `first`.

    memory: its id. offset, size: in bytes. first, last: the instructions from which to which it is
    in use, both included; `first` is 0 for what is there before. writer: the instruction that
    writes it first, `BEFORE` for inputs and state. tensor: the one of the method's tensors that has
    all of its bytes; the others are views. is_state: keeps its bytes between inferences. of_tensor:
    per tensor of the method its storage, -1 for one without planned memory.
    """

    memory: Ints
    offset: Ints
    size: Ints
    first: Ints
    last: Ints
    writer: Ints
    tensor: Ints
    is_state: Bools
    of_tensor: Ints

    def __len__(self) -> int:
        return len(self.memory)

    def live_at(self, instruction: int) -> Ints:
        """The storages in use at an instruction, ascending."""
        return np.flatnonzero((self.first <= instruction) & (instruction <= self.last))


def storages_of(method: ExecutableMethod) -> Storages:
    """Return the planned storages of a method. Tensors of unknown or absurd size have none."""
    lifetimes = _Lifetimes(method)
    for instruction in method.instructions:
        lifetimes.follow(instruction)
    lifetimes.end()
    return lifetimes.storages()


class _Lifetimes:
    """Follows the instructions of a method in their order."""

    def __init__(self, method: ExecutableMethod) -> None:
        self._method = method
        tensors = method.tensors
        count = len(tensors)
        tensor_of = np.full(method.value_count, -1)
        tensor_of[tensors.value] = np.arange(count)
        self._tensor_of: list[int] = tensor_of.tolist()  # read one by one
        is_sized = (tensors.size > 0) & (tensors.dynamism != Dynamism.UNBOUND)
        is_sized &= (tensors.offset < _LIMIT) & (tensors.size < _LIMIT)
        self._is_planned = (tensors.memory != NONE) & (tensors.offset != NONE) & is_sized
        self._end = tensors.offset + np.maximum(tensors.size, 0)
        self._first, self._last = np.full(count, -1), np.full(count, -1)
        self._written = np.full(count, -2)  # when each was written last; -2 for never
        self._base = np.arange(count)  # the tensor whose bytes each uses
        self._is_state = np.zeros(count, np.bool_)
        self._kept: list[tuple[int, int]] = []  # a tensor, and one that must live as long
        last = len(method.instructions) - 1
        for tensor in np.flatnonzero(tensors.is_input).tolist():
            self._start(tensor)
        is_kept = ((tensors.constant != NONE) | (tensors.name != NONE)) & ~tensors.is_input
        for tensor in np.flatnonzero(is_kept & self._is_planned).tolist():
            self._keep(tensor, last)

    def _start(self, tensor: int) -> None:
        self._first[tensor], self._written[tensor] = 0, BEFORE

    def _keep(self, tensor: int, last: int) -> None:
        self._start(tensor)
        self._last[tensor], self._is_state[tensor] = last, True

    def follow(self, instruction: Instruction) -> None:
        """Note what an instruction reads and writes."""
        used = list(dict.fromkeys(self._tensors(instruction.values)))
        if not used:
            return
        written = self._results(instruction, used)
        if self._is_alias(instruction) and len(used) > 1:
            self._kept.append((used[-1], used[0]))
        for tensor in used:
            if self._first[tensor] < 0:
                self._first[tensor] = instruction.number
                if tensor not in written and self._is_planned[tensor]:
                    base = self._containing(tensor)
                    if base < 0:
                        self._keep(tensor, len(self._method.instructions) - 1)
                    else:
                        self._base[tensor] = self._base[base]
            self._last[tensor] = max(instruction.number, int(self._last[tensor]))
        for tensor in written:
            self._written[tensor] = instruction.number

    def _is_alias(self, instruction: Instruction) -> bool:
        """Whether the last tensor of an instruction gets the bytes of its first."""
        is_view = instruction.name.startswith(_VIEW)
        return is_view or instruction.kind is InstructionKind.MOVE_CALL

    def _tensors(self, values: tuple[int, ...]) -> Iterator[int]:
        """The tensors among values, also those in lists, in their order."""
        lists, tensor_of, count = self._method.lists, self._tensor_of, len(self._tensor_of)
        for value in values:
            for element in lists.get(value, (value,)):
                tensor = tensor_of[element] if 0 <= element < count else -1
                if tensor >= 0:
                    yield tensor

    def _results(self, instruction: Instruction, used: list[int]) -> set[int]:
        """The tensors that an instruction writes."""
        if instruction.kind is InstructionKind.DELEGATE_CALL:
            return self._results_of_delegate(instruction, used)
        if instruction.kind is not InstructionKind.KERNEL_CALL:
            return set(used[-1:]) if self._is_alias(instruction) else set()
        if instruction.name.startswith(_COPY_INTO):
            return set(used[:1])
        return set(self._tensors(instruction.values[-1:]))

    def _results_of_delegate(self, instruction: Instruction, used: list[int]) -> set[int]:
        """The tensors that a delegate writes: the last of its arguments.

        The file states how many only for XNNPACK. Else they are those that appear for the first
        time, except a view of a tensor that nothing else read: it was written for something.
        """
        stated = self._method.delegates[instruction.delegate].outputs if (
            0 <= instruction.delegate < len(self._method.delegates)
        ) else NONE  # fmt: skip
        if stated != NONE:
            return set(used[max(len(used) - stated, 0) :])
        tensors_read: set[int] = set()
        for tensor in reversed(used):
            if self._first[tensor] >= 0:
                break
            base = self._containing(tensor)
            if base >= 0 and self._last[base] == self._written[base] >= 0:
                break
            tensors_read.add(tensor)
        return tensors_read

    def _containing(self, tensor: int) -> int:
        """The tensor written last whose bytes contain those of another; -1 without one."""
        tensors = self._method.tensors
        holds = self._is_planned & (self._written >= BEFORE)
        holds &= (tensors.memory == tensors.memory[tensor]) & (self._end >= self._end[tensor])
        holds &= tensors.offset <= tensors.offset[tensor]
        holds[tensor] = False
        containing = np.flatnonzero(holds)
        return int(containing[np.argmax(self._written[containing])]) if len(containing) else -1

    def end(self) -> None:
        """Keep outputs to the end, and what a loop or an alias needs as long as these."""
        last = len(self._method.instructions) - 1
        is_output = self._method.tensors.is_output & (self._first >= 0)
        self._last[is_output] = np.maximum(last, 0)
        roots, has = self._base, self._first >= 0
        first, end = np.where(has, self._first, last + 1), self._last.copy()
        np.minimum.at(first, roots, first.copy())
        np.maximum.at(end, roots, self._last)
        for tensor, other in reversed(self._kept):
            root = roots[other]
            end[root] = max(end[root], end[roots[tensor]])
        # The first and the last instruction of each loop, inner loops first.
        loops = [
            (instruction.target, instruction.number)
            for instruction in self._method.instructions
            if instruction.kind is InstructionKind.JUMP_FALSE_CALL
            and 0 <= instruction.target <= instruction.number
        ]
        for start, jump in sorted(loops, key=lambda loop: loop[1] - loop[0]):
            needed = (first < start) & (start <= end) & (end < jump)
            end[needed] = jump
        self._first, self._last = first, end

    def storages(self) -> Storages:
        """The storages, once all instructions were followed."""
        tensors, roots = self._method.tensors, self._base
        is_used = self._is_planned & (self._last[roots] >= np.maximum(self._first[roots], 0))
        # The base of a storage contains all of its views.
        used_roots = np.unique(roots[is_used])
        used_roots = used_roots[np.lexsort((tensors.offset[used_roots], self._first[used_roots]))]
        number = np.full(len(tensors), -1)
        number[used_roots] = np.arange(len(used_roots))
        of_tensor = np.where(is_used, number[roots], -1)
        before = self._is_state[used_roots] | tensors.is_input[used_roots]
        return Storages(
            memory=tensors.memory[used_roots],
            offset=tensors.offset[used_roots],
            size=tensors.size[used_roots],
            first=self._first[used_roots],
            last=self._last[used_roots],
            writer=np.where(before, BEFORE, self._first[used_roots]),
            tensor=used_roots,
            is_state=self._is_state[used_roots],
            of_tensor=of_tensor,
        )
