"""The rows and texts of the Memory panel: tensors, operators and modules. No Qt.

The swatch of a row is that of its color: a row has the number of its color in `operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from viewer.analysis.links.labels import run_label
from viewer.analysis.memory.plan import held_by_groups
from viewer.arrays import Ints
from viewer.gui.panels.base.operator_tables.contents import (
    Cell,
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.tables.columns import ColumnKind, Heading
from viewer.gui.panels.memory.answer import MemoryAnswer, Writer
from viewer.model.text import bytes_text, display_name
from viewer.model.times import (
    counted,
    format_share,
    format_time,
    group_digits,
    percent_digits,
    tick_to_ns,
)
from viewer.program.executable.executable import InstructionKind
from viewer.render.palette import SLAB, Palette

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
        rows.append(
            TableRow(
                (number,),
                " · ".join(filter(None, (before, writer.module))),
                writer.name,
                _hint(writer),
                *cells_of(columns, i, float(writer.instruction)),
                int(storages.size[i]) / most,
                detail=writer.kernel if len(writer.kernel) > _LONGEST_HINT else "",
            )
        )
    headings = headings_of("Written by", columns)
    group = np.zeros(len(order), np.int64)
    group[order] = np.arange(len(order))
    return MemoryRows(OperatorContents(headings, tuple(rows)), group)


def _hint(writer: Writer) -> str:
    """Return the kernel as it is listed: long names would hide the operator."""
    if writer.kernel == writer.name:
        return ""
    return (
        writer.kernel
        if len(writer.kernel) <= _LONGEST_HINT
        else f"{writer.kernel[: _LONGEST_HINT - 1]}…"
    )


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
    backends = [
        instruction.name
        for instruction in plan.method.instructions
        if instruction.kind is InstructionKind.DELEGATE_CALL
    ]
    names = ", ".join(dict.fromkeys(backends))
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
