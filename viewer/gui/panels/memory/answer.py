"""What the Memory panel shows of one method: its plan, operators, times and texts. No Qt.

Everything is computed here, off the GUI thread for a large program. The swatch of a row is that of
its color: a row has the number of its color in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property

import numpy as np

from viewer.analysis.links.labels import operator_count, run_label
from viewer.analysis.memory.plan import (
    BEFORE,
    InstructionTimes,
    MemoryPlan,
    held_by_groups,
    instruction_operators,
    instruction_times,
    known_plan,
)
from viewer.analysis.nodes.instruction_nodes import kernel_name
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.operator_model import (
    Cell,
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.model.text import bytes_text, display_name, one_line
from viewer.model.times import (
    counted,
    format_share,
    format_time,
    group_digits,
    percent_digits,
    tick_to_ns,
)
from viewer.model.trace import Run
from viewer.model.trace_attributes import Counter, changes
from viewer.model.warm_up import counted_inferences, typical_inference
from viewer.program.executables import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Program
from viewer.render.box_pictures import ArenaBoxes
from viewer.render.frame import CounterRaster
from viewer.render.palette import OPERATORS, PLAIN, SLAB, Palette, by_name
from viewer.reports.program_files import INPUT, origin
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
        sizes, storages = self.plan.method.buffer_sizes, self.plan.storages
        memory = self.bands[band]
        stated = sizes[memory] if 0 <= memory < len(sizes) else 0
        ends = (storages.offset + storages.size)[storages.memory == memory]
        return max(stated, int(ends.max(initial=0)))

    def colors(self, palette: Palette | None) -> Palette:
        """Return the palette index of every storage: that of its operator, else of its kernel."""
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
    ran, trace = open_trace.table.ran, open_trace.trace
    for inferences in (counted_inferences(trace, warm_up=warm_up), trace.inferences()):
        if runs := [run for run in inferences if ran[run.scope] is method]:
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
        count = operator_count(len(writer_operators)) if writer_operators else ""
        return Writer(number, writer_operators, "", one_line(instruction.name), count)
    if program is None or not writer_operators:
        return Writer(number, (), "", kernel, "")
    members = [program.operators[i] for i in writer_operators]
    names = list(dict.fromkeys(member.name for member in members))
    more = f" + {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    modules = {member.module_path for member in members}
    module = modules.pop() if len(modules) == 1 else ""
    return Writer(number, writer_operators, module, " + ".join(names[:_MOST_NAMES]) + more, kernel)


TYPICAL = ", the typical inference"
AT_PEAK = "✓"
NO_MODULE = "(no module)"
_LONGEST_HINT = 24  # characters
_MOST_HOLDERS = 8  # of the peak, in the line below the table


class MemoryMode(Enum):
    """What a row is; its value is the title of its button."""

    TENSORS = "Tensors"
    OPERATOR = "By operator"
    MODULE = "By module"


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """The rows of one mode. group: per storage the number of its row in `contents`."""

    contents: OperatorContents
    group: Ints

    def storages(self, number: int) -> Ints:
        """Return the storages of a row, given by its number."""
        return np.flatnonzero(self.group == number)

    def colors(self, colors: Palette) -> Palette:
        """Return the color of each row: that of its storages, or `SLAB` if theirs differ."""
        count = len(self.contents.rows)
        row_colors = np.zeros(count, np.uint8)
        row_colors[self.group] = colors
        mixed = np.zeros(count, np.bool_)
        mixed[self.group[colors != row_colors[self.group]]] = True
        row_colors[mixed] = SLAB
        return row_colors


def rows_of(answer: MemoryAnswer, mode: MemoryMode) -> MemoryRows:
    """Return the rows of a mode, the largest first."""
    if mode is MemoryMode.TENSORS:
        return _tensors(answer)
    if mode is MemoryMode.OPERATOR:
        return _groups(answer, "Operator", lambda i: _operator_key(answer, i))
    return _groups(answer, "Module", lambda i: ("", _module(answer, i), ""))


def _tensors(answer: MemoryAnswer) -> MemoryRows:
    plan, times = answer.plan, answer.time
    storages, several = plan.storages, len(answer.bands) > 1

    def shape(i: int) -> Cell:
        text = shape_text(answer, i)
        return text, text

    def live(i: int) -> Cell:
        ns = _ns(answer, answer.live_ticks(i))
        return format_time(ns), float(ns)

    columns: RowColumns[int] = (
        (Heading("Shape", ColumnKind.CODE, 150), shape),
        (Heading("Size", ColumnKind.SHARE, 104, "Bytes of the tensor with its views."),
            lambda i: (size_text(answer, i), float(storages.size[i]))),
        (Heading("Offset", ColumnKind.NUMBER, 84, "First byte in the memory."),
            lambda i: (group_digits(int(storages.offset[i])), float(storages.offset[i]))),
        (Heading("Instructions", ColumnKind.NUMBER, 92,
            "From the first instruction that uses it to the last, both included."),
            lambda i: (span_text(answer, i), float(storages.first[i]))),
        *([(Heading("Live", ColumnKind.TIME, 92, "From the start of the first to the end of the "
            "last of these, in the inference below the table."), live)]
            if times is not None else ()),
        *([(Heading("Memory", ColumnKind.NUMBER, 64, "The id of the memory."),
            lambda i: (str(int(storages.memory[i])), float(storages.memory[i])))]
          if several else ()),
        (Heading("At peak", ColumnKind.TEXT, 60, "Whether it is in use at the peak."),
            lambda i: (AT_PEAK, 1.0) if answer.is_at_peak[i] else ("", 0.0)),
    )  # fmt: skip
    most = int(storages.size.max(initial=1))
    order = np.lexsort((storages.offset, storages.first, -storages.size))
    rows = []
    for number, i in enumerate(order.tolist()):
        writer = answer.writers[i]
        before = str(writer.instruction) if writer.instruction >= 0 else ""
        module = " · ".join(filter(None, (before, writer.module)))
        cells = cells_of(columns, i, float(writer.instruction))
        part, detail = int(storages.size[i]) / most, ""
        if len(writer.kernel) > _LONGEST_HINT:
            detail = writer.kernel
        name, hint = writer.name, _hint(writer)
        rows.append(TableRow((number,), module, name, hint, *cells, part, detail=detail))
    headings = headings_of("Written by", columns)
    group = np.zeros(len(order), np.int64)
    group[order] = np.arange(len(order))
    return MemoryRows(OperatorContents(headings, tuple(rows)), group)


def _hint(writer: Writer) -> str:
    """Return the kernel as it is listed: long names would hide the operator."""
    kernel = "" if writer.kernel == writer.name else writer.kernel
    return kernel if len(kernel) <= _LONGEST_HINT else f"{kernel[: _LONGEST_HINT - 1]}…"


def _operator_key(answer: MemoryAnswer, storage: int) -> tuple[str, str, str]:
    writer = answer.writers[storage]
    hint = ""
    if not writer.operators and writer.instruction >= 0:
        return "", writer.name, ""  # kernels of one name
    if len(writer.operators) != 1:
        hint = writer.kernel if writer.module == "" else ""
    return writer.module, writer.name, hint


def _module(answer: MemoryAnswer, storage: int) -> str:
    writer = answer.writers[storage]
    if writer.instruction < 0:
        return writer.name.split(" ")[0]
    return writer.module or NO_MODULE


def _groups(
    answer: MemoryAnswer, title: str, key_of: Callable[[int], tuple[str, str, str]]
) -> MemoryRows:
    plan = answer.plan
    numbers: dict[object, int] = {}
    names: list[tuple[str, str, str]] = []
    group = np.zeros(len(plan.storages), np.int64)
    for i, writer in enumerate(answer.writers):
        key = key_of(i)
        # Operators with the same label are different rows.
        same = (key, writer.operators if title == "Operator" else ())
        if same not in numbers:
            numbers[same] = len(names)
            names.append(key)
        group[i] = numbers[same]
    held = held_by_groups(plan, group, len(names))

    def at_peak(i: int, text: Callable[[int], str]) -> str:
        return text(int(held.at_peak[i])) if held.at_peak[i] else MISSING

    def share(i: int) -> float:
        return int(held.at_peak[i]) / plan.peak if plan.peak else 0.0

    columns: RowColumns[int] = (
        (Heading("At peak", ColumnKind.SHARE, 104, "Bytes in use at the peak."),
            lambda i: (at_peak(i, bytes_text), float(held.at_peak[i]))),
        (Heading("Of peak, %", ColumnKind.NUMBER, 72, "Share of the bytes in use at the peak."),
            lambda i: (at_peak(i, lambda _: percent_digits(share(i))), share(i))),
        (Heading("Most", ColumnKind.NUMBER, 84, "The most bytes in use at one instruction."),
            lambda i: (bytes_text(int(held.most[i])), float(held.most[i]))),
        (Heading("Tensors", ColumnKind.NUMBER, 64),
            lambda i: (group_digits(int(held.count[i])), float(held.count[i]))),
        (Heading("Instructions", ColumnKind.NUMBER, 92, "In which it has any bytes in use."),
            lambda i: (_span(int(held.first[i]), int(held.last[i])), float(held.first[i]))),
    )  # fmt: skip
    largest = int(held.at_peak.max(initial=0)) or 1
    order = np.lexsort((held.first, -held.most, -held.at_peak))
    rows = []
    for number, i in enumerate(order.tolist()):
        module, name, hint = names[i]
        cells = cells_of(columns, i, f"{module} {name}")
        part = int(held.at_peak[i]) / largest
        rows.append(TableRow((number,), module, name, hint, *cells, part))
    headings = headings_of(title, columns)
    place = np.zeros(len(names), np.int64)
    place[order] = np.arange(len(order))
    return MemoryRows(OperatorContents(headings, tuple(rows)), place[group])


# -- texts ---------------------------------------------------------------------------------------


def shape_text(answer: MemoryAnswer, storage: int) -> str:
    """Return the dtype and the shape of a storage: "f32 1 × 256"."""
    return answer.plan.method.tensors.text(int(answer.plan.storages.tensor[storage]))


def span_text(answer: MemoryAnswer, storage: int) -> str:
    """Return the instructions that use a storage: "39 – 41"."""
    storages = answer.plan.storages
    return _span(int(storages.first[storage]), int(storages.last[storage]))


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} – {last}"


def _ns(answer: MemoryAnswer, ticks: int) -> int:
    open_trace = answer.question.shown
    return 0 if open_trace is None else tick_to_ns(ticks, open_trace.axis.ns_per_tick)


def size_text(answer: MemoryAnswer, storage: int) -> str:
    """Return the size of a storage: "262 kB"."""
    return bytes_text(int(answer.plan.storages.size[storage]))


def tip_lines(answer: MemoryAnswer, storage: int) -> tuple[str, ...]:
    """Return the lines about a storage below the mouse, the first one as a title."""
    plan, writer = answer.plan, answer.writers[storage]
    storages = plan.storages
    number = f"{writer.instruction} · " if writer.instruction >= 0 else ""
    kernel = f" ({writer.kernel})" if writer.kernel and writer.kernel != writer.name else ""
    size = int(storages.size[storage])
    exact = f" ({group_digits(size)} B)" if size >= 1000 else ""
    memory = f"memory {int(storages.memory[storage])}, " if len(answer.bands) > 1 else ""
    lines = [
        f"{number}{writer.label}{kernel}",
        f"{shape_text(answer, storage)} · {bytes_text(size)}{exact}",
        f"{memory}offset {group_digits(int(storages.offset[storage]))} · "
        f"instructions {span_text(answer, storage)}",
    ]
    if answer.time is not None:
        lines.append(f"live for {format_time(_ns(answer, answer.live_ticks(storage)))}")
    if answer.is_at_peak[storage]:
        lines.append(f"in use at the peak, {format_share(size, plan.peak)}")
    views = int(answer.views[storage])
    if views > 0:
        lines.append(counted(views, "view"))
    return tuple(lines)


def instruction_text(answer: MemoryAnswer, instruction: int) -> str:
    """Return an instruction with its operator: "instruction 45, matmul"."""
    operators, program = answer.operators.get(instruction, ()), answer.program
    name = ""
    if program is not None and len(operators) == 1:
        name = program.operators[operators[0]].label
    elif 0 <= instruction < len(answer.plan.method.instructions):
        name = answer.plan.method.instructions[instruction].name
    return f"instruction {instruction}{f', {name}' if name else ''}"


def figures(answer: MemoryAnswer) -> Sequence[tuple[str, str]]:
    """Return the key figures, as number and caption."""
    plan = answer.plan
    unused = "0 %" if plan.fragmentation is None else percent_digits(plan.fragmentation)
    return (
        (bytes_text(plan.peak), "peak live"),
        (bytes_text(plan.arena), "planned arena"),
        (unused if unused.endswith("%") else f"{unused} %", "unused at the peak"),
    )


def holders_text(answer: MemoryAnswer) -> str:
    """Return who holds the peak, the largest first."""
    plan = answer.plan
    if plan.peak_instruction < 0:
        return "No planned memory"
    parts = []
    for storage in plan.at_peak[:_MOST_HOLDERS].tolist():
        size = int(plan.storages.size[storage])
        share = format_share(size, plan.peak)
        parts.append(f"{answer.writers[storage].label} {bytes_text(size)} ({share})")
    rest = len(plan.at_peak) - _MOST_HOLDERS
    parts += [f"{group_digits(rest)} more"] if rest > 0 else []
    return f"Peak at {instruction_text(answer, plan.peak_instruction)}: {', '.join(parts)}"


def beside_text(answer: MemoryAnswer) -> str:
    """Return what is not in the plan, what is unusual, and which inference the times are of."""
    plan = answer.plan
    instructions, call = plan.method.instructions, InstructionKind.DELEGATE_CALL
    names = ", ".join(dict.fromkeys(i.name for i in instructions if i.kind is call))
    parts = [f"{names}'s own memory is not included"] if names else ["No delegates"]
    outside, unknown = int(plan.outside.sum()), plan.unknown_tensors
    if outside:
        parts.append(f"{counted(outside, 'tensor')} beyond the end of their memory")
    if unknown:
        parts.append(f"{counted(unknown, 'planned tensor')} unused, or of unknown size")
    open_trace = answer.question.shown
    if answer.time is not None and answer.time.times is not None and open_trace is not None:
        label = run_label(open_trace.table, answer.time.times.run)
        name = f" of {display_name(open_trace.file.path)}" if answer.question.is_named else ""
        parts.append(f"Times of {label}{name}{TYPICAL if answer.is_typical else ''}")
    return " · ".join(parts)
