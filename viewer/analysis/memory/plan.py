"""The memory plan of a method: bytes in use at each instruction, the peak, and what holds it.

The runtime keeps the whole arena while the program is loaded; what delegates, kernels and the
runtime allocate themselves is not in the plan. A program file states where in an arena each tensor
is, not when. A tensor is in use from the first instruction that uses it to the last. One that an
instruction reads before any wrote it is one of:

* a view: it has the bytes of the tensor that was written last and contains its bytes. Export
  removes the instructions of most views, so nothing else in the file states them
* state, such as a cache: it keeps its bytes from one inference to the next

This gives the lifetimes that ExecuTorch's own planning computes (exir/memory_planning.py,
`update_all_tensors_lifetime`; release 1.5.1): inputs live from the start, outputs to the end, state
always, and a tensor as long as its views.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from viewer.analysis.nodes.instruction_nodes import branch_nodes
from viewer.arrays import Bools, Ints, numbers_at
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.times import group_digits
from viewer.model.trace import KeyKind, Run, Trace
from viewer.model.trace_attributes import Counter, changes
from viewer.program.executables import (
    NONE,
    Dynamism,
    ExecutableMethod,
    Instruction,
    InstructionKind,
)
from viewer.program.program import Program

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
        tensor_of = numbers_at(method.value_count, tensors.value, np.arange(count), -1)
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
        number = numbers_at(len(tensors), used_roots, np.arange(len(used_roots)), -1)
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


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """The planned memory of one method.

    method: of the program file. storages: see `Storages`. live: bytes in use at each instruction,
    of all memories together: overlapping bytes count once (int64). live_of: the same by memory id.
    """

    method: ExecutableMethod
    storages: Storages
    live: Ints
    live_of: dict[int, Ints]

    @property
    def arena(self) -> int:
        """The bytes of all memories, which the runtime allocates at once."""
        return self.method.planned_bytes

    @property
    def peak(self) -> int:
        """The most bytes in use at one instruction; 0 without instructions."""
        return int(self.live.max(initial=0))

    @cached_property
    def peak_instruction(self) -> int:
        """The first instruction with the most bytes in use, -1 if nothing is ever in use."""
        return int(np.argmax(self.live)) if self.peak else -1

    @property
    def fragmentation(self) -> float | None:
        """The share of the arena that is not in use at the peak, 0 to 1; None without an arena."""
        return 1 - self.peak / self.arena if self.arena else None

    @property
    def at_peak(self) -> Ints:
        """The storages in use at the peak, the largest first."""
        held = self.storages.live_at(self.peak_instruction)
        return held[np.argsort(-self.storages.size[held], kind="stable")]

    @cached_property
    def kept(self) -> int:
        """The bytes that keep their contents between inferences; what overlaps counts once."""
        storages = self.storages
        return sum(
            intervals.length(storages.offset[index], storages.offset[index] + storages.size[index])
            for memory in self.live_of
            for index in (np.flatnonzero(storages.is_state & (storages.memory == memory)),)
        )

    @cached_property
    def outside(self) -> Bools:
        """Per storage, whether it ends beyond its memory: then the file is damaged."""
        sizes = np.array(self.method.buffer_sizes, np.int64)
        memory = self.storages.memory
        is_known = (memory >= 0) & (memory < len(sizes))
        limit = numbers_at(len(memory), is_known, sizes[memory[is_known]])
        is_outside: Bools = self.storages.offset + self.storages.size > limit
        return is_outside

    @cached_property
    def unknown_tensors(self) -> int:
        """How many planned tensors are in no storage: never used, or without a sane size."""
        return int(((self.method.tensors.memory >= 0) & (self.storages.of_tensor < 0)).sum())


_Figures = tuple[Storages, Ints, dict[int, Ints]]
_KNOWN: WeakKeyDictionary[ExecutableMethod, _Figures] = WeakKeyDictionary()


def known_plan(method: ExecutableMethod) -> MemoryPlan:
    """Return the plan of a method, computed once for as long as the method is open."""
    # A plan itself would keep its method, and so the cache would keep both.
    if method not in _KNOWN:
        plan = memory_plan(method)
        _KNOWN[method] = plan.storages, plan.live, plan.live_of
    return MemoryPlan(method, *_KNOWN[method])


def memory_plan(method: ExecutableMethod, cancelled: Callable[[], bool] = bool) -> MemoryPlan:
    """Return the plan of a method. Takes 0.1 s for 5,000 instructions."""
    storages, count = storages_of(method), len(method.instructions)
    live_of = {
        memory: _live(storages, np.flatnonzero(storages.memory == memory), count, cancelled)
        for memory in sorted(set(storages.memory.tolist()))
    }
    total = sum(live_of.values(), np.zeros(count, np.int64))
    return MemoryPlan(method, storages, total, live_of)


def _live(storages: Storages, index: Ints, count: int, cancelled: Callable[[], bool]) -> Ints:
    """The bytes that some storages cover at each instruction; what overlaps counts once."""
    low, high = storages.offset[index], storages.offset[index] + storages.size[index]
    edges = np.unique(np.concatenate((low, high)))
    width, users = np.diff(edges), np.zeros(max(len(edges) - 1, 0), np.int64)
    begin, end = np.searchsorted(edges, low), np.searchsorted(edges, high)
    change = np.zeros(count + 1, np.int64)
    for instruction, which, is_start in _events(storages, index):
        if cancelled():
            break
        cells = slice(begin[which], end[which])
        if is_start:
            change[instruction] += width[cells][users[cells] == 0].sum()
            users[cells] += 1
        else:
            users[cells] -= 1
            change[instruction] -= width[cells][users[cells] == 0].sum()
    return np.cumsum(change[:-1])


def _events(storages: Storages, index: Ints) -> Iterable[tuple[int, int, bool]]:
    """Where storages come into use and go out of it, in order: instruction, storage, which."""
    first, after = storages.first[index], storages.last[index] + 1
    number = np.arange(len(index))
    instruction = np.concatenate((after, first))
    which = np.concatenate((number, number))
    is_start = np.repeat([False, True], len(index))
    order = np.lexsort((is_start, instruction))
    return zip(
        instruction[order].tolist(), which[order].tolist(), is_start[order].tolist(), strict=True
    )


def written_by(plan: MemoryPlan, instructions: Collection[int]) -> Ints:
    """Return the storages that some instructions write first, ascending."""
    return np.flatnonzero(np.isin(plan.storages.writer, list(instructions)))


def used_by(plan: MemoryPlan, instructions: Collection[int]) -> Ints:
    """Return the storages that some instructions read or write, ascending."""
    method, count = plan.method, len(plan.method.instructions)
    values = {
        member
        for number in instructions
        if 0 <= number < count
        for value in method.instructions[number].values
        for member in method.lists.get(value, (value,))
    }
    of_tensor = plan.storages.of_tensor[np.isin(method.tensors.value, list(values))]
    return np.unique(of_tensor[of_tensor >= 0])


@dataclass(frozen=True, slots=True, eq=False)
class HeldBytes:
    """What groups of storages hold, as parallel arrays.

    count: of storages. at_peak: bytes at the peak of the plan. most: the most bytes that the group
    holds at one instruction. first, last: the instructions from which to which it holds any.
    """

    count: Ints
    at_peak: Ints
    most: Ints
    first: Ints
    last: Ints


def held_by_groups(plan: MemoryPlan, group: Ints, groups: int) -> HeldBytes:
    """Return what groups hold; group: per storage its group, each of which has a storage."""
    storages = plan.storages
    at_peak = np.zeros(groups, np.int64)
    np.add.at(at_peak, group[plan.at_peak], storages.size[plan.at_peak])
    # Every storage begins once and ends once, so that the sum is 0 after each group.
    instruction = np.concatenate((storages.last + 1, storages.first))
    change = np.concatenate((-storages.size, storages.size))
    both = np.concatenate((group, group))
    order = np.lexsort((change > 0, instruction, both))
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, both[order], np.cumsum(change[order]))
    first = np.full(groups, len(plan.live))
    np.minimum.at(first, group, storages.first)
    last = np.full(groups, -1)
    np.maximum.at(last, group, storages.last)
    return HeldBytes(np.bincount(group, minlength=groups), at_peak, most, first, last)


def instruction_operators(program: Program, ran: ExecutableMethod) -> dict[int, tuple[int, ...]]:
    """Return instruction -> indexes into `Program.operators`, ascending.

    By the debug handle map of the method with the same name, and inside control flow by the order
    of the graph. Instructions that neither has are left out.
    """
    method = program.method(ran.name)
    if method is None:
        return {}
    operators_of_instruction: dict[int, tuple[int, ...]] = {}
    for instruction, handles in method.handles.items():
        operators = {method.by_handle[h].index for h in handles if h in method.by_handle}
        if operators:
            operators_of_instruction[instruction] = tuple(sorted(operators))
    for instruction, node in branch_nodes(program, method, ran).items():
        operators_of_instruction.setdefault(instruction, (program.operator_of_node(node).index,))
    return operators_of_instruction


IN_USE = "Planned memory in use"
DERIVED = "derived from the memory plan of the program file"
# What the runtime logs with the number of an instruction.
_KINDS = (KeyKind.CONTROL, KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL)


def planned_counters(trace: Trace, ran: Sequence[ExecutableMethod | None]) -> tuple[Counter, ...]:
    """Return the planned bytes in use while a trace ran, per process and method.

    From the start of an instruction its bytes are those of the plan; between inferences, only what
    keeps its contents. Inferences that overlap, as in views that align them, have no counter: their
    bytes were not in use together. ran: per scope the method that ran, None if that is not known.
    Takes 20 ms for 200,000 slices.
    """
    if any(counter.name.startswith(IN_USE) for counter in trace.counters):
        return ()  # our own exports already contain them
    planned = {i: method for i, method in enumerate(ran) if method and method.planned_bytes}
    processes = [track.process for track in trace.tracks]
    groups: dict[tuple[str, ExecutableMethod], list[Run]] = {}
    for run in trace.inferences() if planned else ():
        method = planned.get(run.scope)
        if method is not None:
            groups.setdefault((processes[run.track], method), []).append(run)
    several = len({method for _, method in groups}) > 1
    return tuple(
        counter
        for (process, method), runs in groups.items()
        if (counter := _counter(trace, ran, process, method, runs, several=several)) is not None
    )


def _counter(
    trace: Trace,
    ran: Sequence[ExecutableMethod | None],
    process: str,
    method: ExecutableMethod,
    runs: Sequence[Run],
    *,
    several: bool,
) -> Counter | None:
    ordered = sorted(runs, key=lambda run: run.start)
    if any(later.start < run.end for run, later in pairwise(ordered)):
        return None
    plan = known_plan(method)
    instruction = _instruction_of_keys(
        trace, [i for i, executable_method in enumerate(ran) if executable_method is method]
    )
    index = np.flatnonzero((instruction >= 0)[trace.slices.key])
    if len({track.process for track in trace.tracks}) > 1:
        is_here = np.array([track.process == process for track in trace.tracks], np.bool_)
        index = index[is_here[trace.slices.tracks_of(index)]]
    number = instruction[trace.slices.key[index]]
    index, number = index[number < len(plan.live)], number[number < len(plan.live)]
    # An end comes before a start at the same time, which then decides.
    ends = np.array([run.end for run in ordered], np.int64)
    tick = np.concatenate((ends, trace.slices.start[index]))
    value = np.concatenate((np.full(len(ends), plan.kept), plan.live[number]))
    order = np.argsort(tick, kind="stable")
    tick, value = changes(tick[order], value[order])
    note = f"{DERIVED}; its arena has {group_digits(plan.arena)} B"
    name = f"{IN_USE} · {method.name}" if several else IN_USE
    return Counter(process, name, "B", tick, value, note=note, limit=plan.arena)


def _instruction_of_keys(trace: Trace, scopes: Sequence[int]) -> Ints:
    """Return per key of a trace its instruction in some scopes, -1 for none."""
    keys = trace.keys
    is_own: Bools = np.isin(keys.kind, _KINDS) & np.isin(keys.scope, scopes)
    return np.where(is_own, keys.instruction, -1)


@dataclass(frozen=True, slots=True, eq=False)
class InstructionTimes:
    """When the instructions of a method ran in one inference, in ticks of the trace.

    start: the first time at which each or a later one starts; end: the last time at which each or
    an earlier one ends. So an instruction that did not run has no time of its own. tick, number:
    all starts in order of time, with the instruction of each.
    """

    run: Run
    start: Ints
    end: Ints
    tick: Ints
    number: Ints


def instruction_times(trace: Trace, run: Run, method: ExecutableMethod) -> InstructionTimes | None:
    """Return when the instructions of a method ran in an inference; None if none was logged."""
    slices, count = trace.slices, len(method.instructions)
    instruction = _instruction_of_keys(trace, [run.scope])
    index = np.flatnonzero((instruction >= 0)[slices.key])
    start = slices.start[index]
    inside = (start >= run.start) & (start <= trace.last_start(run))
    index = index[inside & (instruction[slices.key[index]] < count)]
    if not run.all_tracks:
        index = index[slices.tracks_of(index) == run.track]
    if not len(index):
        return None
    index = index[np.argsort(slices.start[index], kind="stable")]
    number = instruction[slices.key[index]]
    first = np.full(count, run.end)
    np.minimum.at(first, number, slices.start[index])
    last = np.full(count, run.start)
    np.maximum.at(last, number, slices.end[index])
    return InstructionTimes(
        run,
        np.minimum.accumulate(first[::-1])[::-1],
        np.maximum.accumulate(last),
        slices.start[index],
        number,
    )


def slices_of_instruction(trace: Trace, scopes: Sequence[int], instruction: int) -> Ints:
    """Return the slices of an instruction's calls in some scopes, without the kernels in them."""
    is_of_instruction = _instruction_of_keys(trace, scopes) == instruction
    calls = is_of_instruction & (trace.keys.kind != KeyKind.KERNEL)
    is_own = calls if calls.any() else is_of_instruction
    return np.flatnonzero(is_own[trace.slices.key])
