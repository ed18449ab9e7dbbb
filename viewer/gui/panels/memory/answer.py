"""What the Memory panel shows of one method: its plan, its operators, and its times. No Qt.

Everything is computed here, off the GUI thread for a large program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.links.labels import operator_count
from viewer.analysis.memory.plan import (
    InstructionTimes,
    MemoryPlan,
    instruction_operators,
    instruction_times,
    known_plan,
)
from viewer.analysis.memory.storages import BEFORE
from viewer.analysis.nodes.executable_calls import kernel_name
from viewer.arrays import Bools, Ints
from viewer.model.counter import Counter, changes
from viewer.model.text import one_line
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences, typical_inference
from viewer.program.executable.executable import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Program
from viewer.render.boxes.arena import ArenaBoxes
from viewer.render.frames.counter_raster import CounterRaster
from viewer.render.palette import OPERATORS, PLAIN, SLAB, Palette, by_name
from viewer.reports.programs.memory import INPUT, origin
from viewer.view.open_trace import OpenTrace
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

_MOST_NAMES = 3  # operators that a label lists


@dataclass(frozen=True, slots=True, eq=False)
class MemoryQuestion:
    """What to show.

    space: the open files. executable, method: the program file and which of its methods. shown: a
    profile that ran the method, as it ran; None without one. run: the chosen inference of it, None
    for the typical one. warm_up: whether those that warm up may be typical.
    """

    space: Workspace
    executable: Executable
    method: ExecutableMethod
    shown: OpenTrace | None
    run: Run | None
    warm_up: bool

    @property
    def is_named(self) -> bool:
        """Whether the name of the profile is shown, as there are several."""
        return len(self.space.traces) > 1


@dataclass(frozen=True, slots=True)
class Writer:
    """What wrote a storage first.

    instruction: -1 for what is there before the first one. operators: indexes into
    `Program.operators`. module, name: of the operators, or of the kernel without an ETRecord; an
    input or state is its own name. kernel: "" if the name is that of the kernel.
    """

    instruction: int
    operators: tuple[int, ...]
    module: str
    name: str
    kernel: str

    @property
    def label(self) -> str:
        """Module and name: "ln · layer_norm"."""
        return f"{self.module} · {self.name}" if self.module else self.name


@dataclass(frozen=True, slots=True, eq=False)
class ArenaAxis:
    """The horizontal axis of the picture, from 0 to `length`: instructions, or ticks of a run.

    boxes: of the storages. live: the bytes in use. ns_per_tick: None for instructions.
    """

    length: int
    boxes: ArenaBoxes
    live: CounterRaster
    peak: int
    times: InstructionTimes | None = None

    def instruction_at(self, t: int) -> int:
        """Return the instruction at a place, -1 before the first one."""
        if self.times is None:
            return t
        place = int(np.searchsorted(self._starts, t, side="right")) - 1
        return int(self.times.number[place]) if place >= 0 else -1

    def span_of(self, instruction: int) -> tuple[int, int]:
        """Return where an instruction starts, and where the next one does."""
        if self.times is None:
            return instruction, instruction + 1
        places = np.flatnonzero(self.times.number == instruction)
        if not len(places):
            return 0, 0
        ends = np.append(self._starts[1:], self.length)
        return int(self._starts[places[0]]), int(ends[places[0]])

    @property
    def _starts(self) -> Ints:
        assert self.times is not None
        return self.times.tick - self.times.run.start


@dataclass(frozen=True, eq=False)
class MemoryAnswer:
    """The plan of one method and what belongs to its storages.

    program: the ETRecord, None without one. writers: per storage. is_at_peak: per storage (bools).
    bands: the ids of its memories, in the order of the picture. instructions: the axis over
    instructions; time: over the time of an inference, None without one. is_typical: whether that is
    the typical inference, and not the chosen one.
    """

    question: MemoryQuestion
    plan: MemoryPlan
    program: Program | None
    operators: dict[int, tuple[int, ...]]
    writers: tuple[Writer, ...]
    bands: tuple[int, ...]
    instructions: ArenaAxis
    time: ArenaAxis | None
    is_typical: bool

    @cached_property
    def is_at_peak(self) -> Bools:
        """Per storage, whether it is in use at the peak."""
        mask = np.zeros(len(self.plan.storages), np.bool_)
        mask[self.plan.at_peak] = True
        return mask

    @cached_property
    def views(self) -> Ints:
        """Per storage, how many views of its tensor there are."""
        of_tensor = self.plan.storages.of_tensor
        return np.bincount(of_tensor[of_tensor >= 0], minlength=len(self.plan.storages)) - 1

    @cached_property
    def instructions_of(self) -> dict[int, tuple[int, ...]]:
        """Operator -> the instructions that run it."""
        numbers_of: dict[int, list[int]] = {}
        for instruction, operators in self.operators.items():
            for operator in operators:
                numbers_of.setdefault(operator, []).append(instruction)
        return {operator: tuple(numbers) for operator, numbers in numbers_of.items()}

    @property
    def whole(self) -> int:
        """The bytes of all memories, of which the picture has the bands."""
        return sum(self.size_of_band(i) for i in range(len(self.bands)))

    def size_of_band(self, band: int) -> int:
        """Return the bytes of a memory; more than the file states if a tensor ends beyond it."""
        sizes, memory, storages = (
            self.plan.method.buffer_sizes,
            self.bands[band],
            self.plan.storages,
        )
        stated = sizes[memory] if 0 <= memory < len(sizes) else 0
        ends = (storages.offset + storages.size)[storages.memory == memory]
        return max(stated, int(ends.max(initial=0)))

    def colors(self, palette: Palette | None) -> Palette:
        """Return the palette index of every storage: that of its operator, or of its kernel.

        palette: the index of every operator.
        """
        colors, (writers, operators) = self._plain_colors.copy(), self._single_operators
        colors[writers] = operators % OPERATORS if palette is None else palette[operators]
        return colors

    @cached_property
    def _plain_colors(self) -> Palette:
        """The colors of what no single operator wrote."""
        colors = by_name([writer.name for writer in self.writers])
        colors[np.array([writer.instruction < 0 for writer in self.writers], np.bool_)] = PLAIN
        colors[np.array([len(writer.operators) > 0 for writer in self.writers], np.bool_)] = SLAB
        return colors

    @cached_property
    def _single_operators(self) -> tuple[Ints, Ints]:
        """The storages that a single operator wrote, and its number."""
        pairs = [(i, w.operators[0]) for i, w in enumerate(self.writers) if len(w.operators) == 1]
        writers, operator = np.array(pairs, np.int64).reshape(-1, 2).T
        return writers, operator

    def live_ticks(self, storage: int) -> int:
        """Return for how many ticks a storage was in use in the inference, -1 if not known."""
        if self.time is None:
            return -1
        return int(self.time.boxes.end[storage] - self.time.boxes.start[storage])


def work_out(question: MemoryQuestion) -> MemoryAnswer:
    """Answer a question; a pure function."""
    plan, method = known_plan(question.method), question.method
    program = program_of_executable(question.space, question.executable)
    operators = {} if program is None else instruction_operators(program, method)
    writers = tuple(_writer(plan, i, program, operators) for i in range(len(plan.storages)))
    sizes = method.buffer_sizes
    bands = sorted({*plan.live_of, *(i for i, size in enumerate(sizes) if size)})
    run, is_typical = question.run, False
    if run is None and question.shown is not None:
        run, is_typical = _typical(question.shown, method, warm_up=question.warm_up), True
    times = None
    if run is not None and question.shown is not None:
        times = instruction_times(question.shown.trace, run, method)
    over_time = None if times is None else _over_time(plan, bands, times)
    over_instructions = _over_instructions(plan, bands)
    return MemoryAnswer(
        question, plan, program, operators, writers, tuple(bands), over_instructions, over_time,
        is_typical,
    )  # fmt: skip


def _typical(open_trace: OpenTrace, method: ExecutableMethod, *, warm_up: bool) -> Run | None:
    """Return the typical inference among those of a method, None without any."""
    ran = open_trace.table.ran
    for of in (
        counted_inferences(open_trace.trace, warm_up=warm_up),
        open_trace.trace.inferences(),
    ):
        runs = [run for run in of if ran[run.scope] is method]
        if runs:
            return typical_inference(runs)
    return None


def _over_instructions(plan: MemoryPlan, bands: Sequence[int]) -> ArenaAxis:
    storages, count = plan.storages, len(plan.live)
    boxes = _boxes(plan, bands, storages.first, storages.last + 1)
    tick, value = np.arange(count + 1), np.append(plan.live, 0)
    return ArenaAxis(max(count, 1), boxes, _curve(plan, tick, value), plan.peak_instruction)


def _over_time(plan: MemoryPlan, bands: Sequence[int], times: InstructionTimes) -> ArenaAxis:
    """The same over the ticks since the start of the inference."""
    storages, begin = plan.storages, times.run.start
    length = max(times.run.end, int(times.end.max(initial=begin))) - begin
    start = np.where(storages.writer < 0, 0, times.start[storages.first] - begin)
    is_kept = storages.is_state | plan.method.tensors.is_output[storages.tensor]
    end = np.where(is_kept, length, times.end[storages.last] - begin)
    boxes = _boxes(plan, bands, start, np.maximum(end, start))
    tick = np.append(times.tick - begin, length)
    live = np.append(plan.live[times.number], plan.kept)
    rows = np.flatnonzero(times.number == plan.peak_instruction)
    peak = int(times.tick[rows[0]]) - begin if len(rows) else -1
    return ArenaAxis(max(length, 1), boxes, _curve(plan, tick, live), peak, times)


def _boxes(plan: MemoryPlan, bands: Sequence[int], start: Ints, end: Ints) -> ArenaBoxes:
    storages = plan.storages
    band = np.searchsorted(np.array(bands, np.int64), storages.memory)
    return ArenaBoxes(start, end, storages.offset, storages.offset + storages.size, band)


def _curve(plan: MemoryPlan, tick: Ints, value: Ints) -> CounterRaster:
    counter = Counter("", "", "B", *changes(tick, value), limit=plan.arena)
    return CounterRaster.of(counter)


def _writer(
    plan: MemoryPlan,
    storage: int,
    program: Program | None,
    operators: Mapping[int, tuple[int, ...]],
) -> Writer:
    """Return what writes a storage first."""
    tensors, number = plan.method.tensors, int(plan.storages.writer[storage])
    before = origin(plan, storage)
    if before or not 0 <= number < len(plan.method.instructions):
        named = one_line(tensors.named(int(plan.storages.tensor[storage])))
        return Writer(BEFORE, (), "", f"{before} {named}".strip() or INPUT, "")
    instruction = plan.method.instructions[number]
    kernel = one_line(kernel_name(instruction) or instruction.name)
    writer_operators = operators.get(number, ())
    if instruction.kind is InstructionKind.DELEGATE_CALL:
        return Writer(
            number,
            writer_operators,
            "",
            one_line(instruction.name),
            operator_count(len(writer_operators)) if writer_operators else "",
        )
    if program is None or not writer_operators:
        return Writer(number, (), "", kernel, "")
    members = [program.operators[i] for i in writer_operators]
    names = list(dict.fromkeys(member.name for member in members))
    more = f" + {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    modules = {member.module_path for member in members}
    module = modules.pop() if len(modules) == 1 else ""
    return Writer(number, writer_operators, module, " + ".join(names[:_MOST_NAMES]) + more, kernel)
