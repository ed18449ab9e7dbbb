"""The Program panel: what ran, as a tree of the open program files (`.pte`).

A row makes the rows inside it on first use, since a method may have tens of thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from PySide6.QtCore import QPoint, Slot
from PySide6.QtWidgets import QMenu

from viewer.dataclasses import dataclass
from viewer.gui.panels.base.panel import PagePanel, PanelHost
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.widgets.tables import offer_markdown, pop_up
from viewer.gui.qt.widgets.trees import Cell, GrownRows, TreeColumn, TreeModel, TreeView
from viewer.model.text import bytes_text, display_name, one_line
from viewer.model.times import counted, group_digits
from viewer.program.executables import (
    NONE,
    Delegate,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Part,
    XnnpackNode,
)

NAME = TreeColumn("Name", 210, cell=Cell.NAME)
KIND = TreeColumn("Kind", 112, cell=Cell.TEXT, leaves=1)
CONTENTS = TreeColumn("Contents", 0, cell=Cell.TEXT)
BYTES = TreeColumn("Bytes", 64)
MOST_INSIDE = 50_000  # rows inside one row; a tree of more cannot be scrolled through

_KINDS = {
    InstructionKind.UNKNOWN: "unknown instruction",
    InstructionKind.KERNEL_CALL: "kernel call",
    InstructionKind.DELEGATE_CALL: "delegate call",
    InstructionKind.MOVE_CALL: "move",
    InstructionKind.JUMP_FALSE_CALL: "jump",
    InstructionKind.FREE_CALL: "free",
}


@dataclass(slots=True, eq=False)
class ProgramRow:
    """One row. size: in bytes, None for none. make: makes the rows inside it, None for none."""

    name: str
    kind: str
    contents: str = ""
    size: int | None = None
    make: Callable[[], Iterable[ProgramRow]] | None = None


class ProgramRows(GrownRows[ProgramRow]):
    """The rows of all open program files."""

    columns = (NAME, KIND, CONTENTS, BYTES)

    def __init__(self, executables: tuple[Executable, ...]) -> None:
        super().__init__()
        self.executables = executables

    def items_below(self, node: int) -> Iterable[ProgramRow]:
        """Make the rows inside one, at most `MOST_INSIDE` and one that counts the rest."""
        if node < 0:
            return map(file_row, self.executables)
        make = self.items[node].make
        rows = iter(make() if make is not None else ())
        inside = list(islice(rows, MOST_INSIDE))
        if rest := sum(1 for _ in rows):
            inside.append(ProgramRow(f"and {group_digits(rest)} more", ""))
        return inside

    def has_below(self, node: int) -> bool:
        return bool(self.executables) if node < 0 else self.items[node].make is not None

    def cell(self, node: int, column: TreeColumn) -> str:
        row = self.items[node]
        if column is BYTES:
            return "" if row.size is None else bytes_text(row.size)
        return {NAME: row.name, KIND: row.kind, CONTENTS: row.contents}[column]

    def spoken(self, node: int, column: TreeColumn) -> str:
        return self.cell(node, column)

    def hover(self, node: int, column: TreeColumn) -> str:
        return self.cell(node, column) if column in (NAME, CONTENTS) else ""

    def tsv(self, nodes: Sequence[int], columns: Sequence[TreeColumn]) -> str:
        """Return all columns of some rows as tab-separated text, sizes in bytes."""
        rows = [self.items[node] for node in nodes]
        lines = [(r.name, r.kind, r.contents, str(r.size or "")) for r in rows]
        titles = tuple(column.title for column in self.columns)
        return "".join("\t".join(line) + "\n" for line in (titles, *lines))


def file_row(executable: Executable) -> ProgramRow:
    """The row of a program file."""

    def make() -> Iterable[ProgramRow]:
        yield from (_method_row(method) for method in executable.methods)
        yield _sizes_row(executable)

    contents = counted(len(executable.methods), "method")
    if executable.generation:
        contents += f" · ExecuTorch {executable.generation}"
    name = display_name(executable.path)
    return ProgramRow(name, "program file", contents, executable.size, make)


def _sizes_row(executable: Executable) -> ProgramRow:
    """What the bytes of the file are for, by kind."""
    sizes = executable.part_sizes()

    def make() -> Iterable[ProgramRow]:
        for kind, size in sizes.items():
            parts = [part for part in executable.parts if part.kind is kind and part.name]
            make = partial(map, _part_row, parts) if len(parts) > 1 else None
            contents = counted(len(parts), "part") if make else ""
            yield ProgramRow(str(kind), "bytes", contents, size, make)

    contents = ", ".join(f"{kind} {bytes_text(size)}" for kind, size in sizes.items())
    return ProgramRow("Sizes", "", contents, executable.size, make)


def _part_row(part: Part) -> ProgramRow:
    return ProgramRow(one_line(part.name), str(part.kind), "", part.size)


def _method_row(method: ExecutableMethod) -> ProgramRow:
    def make() -> Iterable[ProgramRow]:
        yield _instructions_row("Instructions", method.instructions)
        for number, chain in enumerate(method.more_chains, 1):
            yield _instructions_row(f"Instructions of chain {number}", chain)
        if method.delegates:
            size = sum(delegate.size for delegate in method.delegates)
            backends = Counter(delegate.backend for delegate in method.delegates)
            yield ProgramRow(
                "Delegates",
                "",
                ", ".join(_times(one_line(name), n) for name, n in backends.items()),
                size,
                lambda: (_delegate_row(i, d) for i, d in enumerate(method.delegates)),
            )
        if len(method.tensors):
            yield ProgramRow(
                "Tensors", "", group_digits(len(method.tensors)), None, lambda: _tensor_rows(method)
            )
        yield _memory_row(method)

    contents = counted(len(method.instructions), "instruction")
    if method.delegates:
        contents += f", {counted(len(method.delegates), 'delegate')}"
    return ProgramRow(one_line(method.name), "method", contents, None, make)


def _instructions_row(title: str, instructions: tuple[Instruction, ...]) -> ProgramRow:
    kinds = Counter(instruction.kind for instruction in instructions)
    contents = ", ".join(counted(kinds[kind], _KINDS[kind]) for kind in _KINDS if kinds[kind])
    make = (lambda: map(_instruction_row, instructions)) if instructions else None
    return ProgramRow(title, "", contents or "none", None, make)


def _instruction_row(instruction: Instruction) -> ProgramRow:
    kind, values = instruction.kind, instruction.values
    used = ", ".join(map(str, values))
    contents = f"values {used}" if used else ""
    if kind is InstructionKind.MOVE_CALL:
        contents = f"value {values[0]} to value {values[1]}"
    elif kind is InstructionKind.JUMP_FALSE_CALL:
        contents = f"to {instruction.target}, if value {values[0]} is false"
    elif kind is InstructionKind.FREE_CALL:
        contents = f"value {values[0]}"
    name = one_line(instruction.name)
    if instruction.delegate >= 0:
        name += f" {instruction.delegate}"
    name = f"{instruction.number} · {name}" if name else str(instruction.number)
    return ProgramRow(name, _KINDS[kind], contents)


def _delegate_row(number: int, delegate: Delegate) -> ProgramRow:
    contents = counted(len(delegate.nodes), "node") if delegate.nodes else ""
    if delegate.unread:
        contents = f"nodes could not be read: {delegate.unread}"
    make = (lambda: map(_node_row, delegate.nodes)) if delegate.nodes else None
    name = f"{one_line(delegate.backend)} {number}"
    return ProgramRow(name, "delegate", contents, delegate.size, make)


def _node_row(node: XnnpackNode) -> ProgramRow:
    contents = "inserted by XNNPACK" if node.is_inserted else f"debug handle {node.debug_handle}"
    return ProgramRow(node.type, "XNNPACK node", contents)


def _tensor_rows(method: ExecutableMethod) -> Iterable[ProgramRow]:
    tensors = method.tensors
    for i in range(len(tensors)):
        kinds = [
            word
            for word, holds in (
                ("input", tensors.is_input[i]),
                ("output", tensors.is_output[i]),
                ("constant", tensors.constant[i] != NONE and tensors.memory[i] == NONE),
                ("in another file", tensors.is_external[i]),
                ("with an initial value", tensors.constant[i] != NONE != tensors.memory[i]),
            )
            if holds
        ]
        contents = tensors.text(i)
        if tensors.memory[i] != NONE:
            offset = group_digits(int(tensors.offset[i]))
            contents += f" · memory {tensors.memory[i]} at byte {offset}"
        name = f"value {tensors.value[i]}"
        if tensors.named(i):
            name += f" · {one_line(tensors.named(i))}"
        size = int(tensors.size[i])
        kind = ", ".join(kinds) or "tensor"
        yield ProgramRow(name, kind, contents, None if size == NONE else size)


def _memory_row(method: ExecutableMethod) -> ProgramRow:
    """The planned memories; 0 is reserved."""
    used = [(i, size) for i, size in enumerate(method.buffer_sizes) if i or size]
    make = (
        (lambda: (ProgramRow(f"memory {i}", "arena", "", size) for i, size in used))
        if used
        else None
    )
    return ProgramRow("Planned memory", "", counted(len(used), "arena"), method.planned_bytes, make)


def _times(name: str, count: int) -> str:
    return name if count == 1 else f"{group_digits(count)} {name}"


NOTHING = (
    "Open the program file (.pte) to see its instructions, delegates, tensors, memory and sizes."
)
MOST_COPIED = 5000  # rows
_OPEN_LEVELS = 1  # files and methods
_INDENT = 16  # px per level
_LEAST_CONTENTS = 150  # px
_COPY = "Copy rows as TSV"


class ProgramTree(TreeView[ProgramRows]):
    """The tree widget; only its rows are copied that are selected."""

    most_copied = MOST_COPIED

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        rows = self.selectionModel().selectedRows()
        self.copy_nodes([self._model.node(index) for index in rows], form)

    @Slot(QPoint)
    def _menu(self, point: QPoint) -> None:
        menu = QMenu(self)
        menu.addAction(_COPY, self.copy)
        offer_markdown(menu, _COPY, self.copy)
        pop_up(menu, self, point)


class ProgramPanel(PagePanel):
    """The open program files."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self.model = TreeModel[ProgramRows](self)
        self.tree = ProgramTree(self.model, "Program", theme, _INDENT, _LEAST_CONTENTS)
        self.tree.setSortingEnabled(False)
        self.set_page(self.tree)
        self.refresh_on(session.workspace_changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        executables, rows = tuple(self._session.workspace.executables), self.model.rows
        if not executables:
            self.show_sentence(NOTHING, "Open files…", self.host.open_files)
            return
        if rows is None or executables != rows.executables:  # else what is expanded stays
            self.tree.show_rows(ProgramRows(executables))
            self.tree.expandToDepth(_OPEN_LEVELS)
        self.show_page()

    def clear_page(self) -> None:
        self.tree.show_rows(None)
