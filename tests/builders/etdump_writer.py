"""Writes ETDumps of every schema generation, event by event, with the official flatbuffers package.

An event is a dict. A profile event has `start` and `end`, and of `name, chain, instruction, number,
text, metadata` what is logged. An allocation is `{"allocation": (allocator, bytes)}`. A debug event
is `{"debug": value}` with the same identity fields, and `output` if it is one. Values: None, bool,
int, float, `Single`, `Tensor`, a list of Tensors, `Missing` (a type without content), or ABSENT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flatbuffers

Event = dict[str, Any]

NULL, INT, BOOL, FLOAT, DOUBLE, TENSOR, TENSOR_LIST, STRING = range(8)
ABSENT = object()
F32, I64 = 6, 4


@dataclass(frozen=True)
class Tensor:
    """Scalar type, sizes and the offset of its data in the debug buffer; strides if logged."""

    scalar_type: int
    sizes: Sequence[int]
    offset: int = 32
    strides: Sequence[int] | None = None


@dataclass(frozen=True)
class Single:
    """A float of 32 bits."""

    value: float


@dataclass(frozen=True)
class Missing:
    """A value that names a type and holds nothing."""

    type: int


@dataclass
class Run:
    """One event block."""

    name: str | None
    events: Sequence[Event]
    allocators: Sequence[str | None] = ("method_allocator",)
    bundled_input: int = -1


def framework(name: str, start: int, end: int, **more: Any) -> Event:
    return {"name": name, "chain": -1, "instruction": 0, "start": start, "end": end, **more}


def operator(name: str, instruction: int, start: int, end: int, **more: Any) -> Event:
    return {"name": name, "instruction": instruction, "start": start, "end": end, **more}


def delegate(identifier: int | str, instruction: int, start: int, end: int, **more: Any) -> Event:
    field = "number" if isinstance(identifier, int) else "text"
    return {field: identifier, "instruction": instruction, "start": start, "end": end, **more}


def write_dump(
    path: Path, runs: Sequence[Run], *, prefix: bool = True, generation: str = "G3"
) -> Path:
    """Write runs as a dump; generation is "G1", "G2" or "G3"."""
    writer = _Writer(generation)
    listed = writer.vector([writer.run(run) for run in runs])
    b = writer.b
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, listed, 0)
    (b.FinishSizePrefixed if prefix else b.Finish)(b.EndObject(), b"ED00")
    path.write_bytes(bytes(b.Output()))
    return path


class _Writer:
    def __init__(self, generation: str) -> None:
        self.b = flatbuffers.Builder(1024)
        self.generation = generation

    def vector(self, offsets: Sequence[int]) -> int:
        b = self.b
        b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            b.PrependUOffsetTRelative(offset)
        return b.EndVector()

    def table(self, slots: int, references: dict[int, int | None]) -> int:
        """A table of references to what was written before."""
        self.b.StartObject(slots)
        for slot, offset in references.items():
            if offset is not None:
                self.b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        return self.b.EndObject()

    def text(self, text: str | None) -> int | None:
        return None if text is None else self.b.CreateString(text)

    def run(self, run: Run) -> int:
        events = self.vector([self.event(e) for e in run.events]) if run.events else None
        allocators = self.vector([self.table(1, {0: self.text(n)}) for n in run.allocators])
        name = self.text(run.name)
        b, shift = self.b, 0 if self.generation == "G1" else 1
        b.StartObject(3 + shift)
        if name is not None:
            b.PrependUOffsetTRelativeSlot(0, name, 0)
        if shift:
            b.PrependInt32Slot(1, run.bundled_input, -1)
        b.PrependUOffsetTRelativeSlot(1 + shift, allocators, 0)
        if events is not None:
            b.PrependUOffsetTRelativeSlot(2 + shift, events, 0)
        return b.EndObject()

    def event(self, event: Event) -> int:
        if "allocation" in event:
            return self.table(3, {1: self.allocation(*event["allocation"])})
        if "debug" in event:
            return self.table(3, {2: self.debug(event)})
        return self.table(3, {0: self.profile(event)} if event else {})

    def profile(self, event: Event) -> int:
        b = self.b
        name, text = self.text(event.get("name")), self.text(event.get("text"))
        metadata = b.CreateByteVector(event["metadata"]) if "metadata" in event else None
        b.StartObject(8)
        for slot, offset in ((0, name), (4, text), (5, metadata)):
            if offset is not None:
                b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        b.PrependInt32Slot(1, event.get("chain", 0), 0)
        b.PrependInt32Slot(2, event.get("instruction", -1), -1)
        b.PrependInt32Slot(3, event.get("number", -1), -1)
        b.PrependUint64Slot(6, event["start"], 0)
        b.PrependUint64Slot(7, event["end"], 0)
        return b.EndObject()

    def allocation(self, allocator: int, size: int) -> int:
        b = self.b
        b.StartObject(2)
        b.PrependInt32Slot(0, allocator, 0)
        b.PrependUint64Slot(1, size, 0)
        return b.EndObject()

    def debug(self, event: Event) -> int:
        b, value = self.b, event["debug"]
        if self.generation == "G1":
            b.StartVector(1, len(value), 1)
            for type in reversed(value):
                b.PrependByte(type)
            values = b.EndVector()
            b.StartObject(3)
            b.PrependInt32Slot(0, event.get("chain", 0), 0)
            b.PrependInt32Slot(1, event.get("instruction", -1), -1)
            b.PrependUOffsetTRelativeSlot(2, values, 0)
            return b.EndObject()
        entry = None if value is ABSENT else self.value(value, event.get("output"))
        text, name = self.text(event.get("text")), self.text(event.get("name"))
        b.StartObject(3 if self.generation == "G2" else 6)
        b.PrependUint64Slot(0, event.get("chain", 0) % 2**64, 0)
        b.PrependInt32Slot(1, event.get("instruction", -1), -1)
        if self.generation == "G3":
            b.PrependInt32Slot(3, event.get("number", -1), -1)
        for slot, offset in ((2, entry), (4, text), (5, name)):
            if offset is not None:
                b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        return b.EndObject()

    def value(self, value: Any, output: bool | None) -> int:
        b = self.b
        slot, content = -1, None
        match value:
            case None:
                type = NULL
            case Missing():
                type = value.type
            case bool():
                type, slot, content = BOOL, 6, self.scalar(b.PrependBoolSlot, value)
            case int():
                type, slot, content = INT, 3, self.scalar(b.PrependInt64Slot, value)
            case float():
                type, slot, content = DOUBLE, 5, self.scalar(b.PrependFloat64Slot, value)
            case Single():
                type, slot, content = FLOAT, 4, self.scalar(b.PrependFloat32Slot, value.value)
            case Tensor():
                type, slot, content = TENSOR, 1, self.tensor(value)
            case _:
                tensors = self.vector([self.tensor(t) for t in value])
                type, slot, content = TENSOR_LIST, 2, self.table(1, {0: tensors})
        flag = None if output is None else self.scalar(b.PrependBoolSlot, output)
        b.StartObject(8)
        b.PrependInt8Slot(0, type, 0)
        if content is not None:
            b.PrependUOffsetTRelativeSlot(slot, content, 0)
        if flag is not None:
            b.PrependUOffsetTRelativeSlot(7, flag, 0)
        return b.EndObject()

    def scalar(self, prepend: Any, value: Any) -> int:
        self.b.StartObject(1)
        prepend(0, value, 0)
        return self.b.EndObject()

    def numbers(self, numbers: Sequence[int]) -> int:
        self.b.StartVector(8, len(numbers), 8)
        for number in reversed(numbers):
            self.b.PrependInt64(number)
        return self.b.EndVector()

    def tensor(self, tensor: Tensor) -> int:
        b = self.b
        sizes = self.numbers(tensor.sizes)
        strides = None if tensor.strides is None else self.numbers(tensor.strides)
        b.StartObject(4)
        b.PrependUOffsetTRelativeSlot(1, sizes, 0)
        if strides is not None:
            b.PrependUOffsetTRelativeSlot(2, strides, 0)
        b.PrependInt64Slot(3, tensor.offset, 0)
        b.PrependInt8Slot(0, tensor.scalar_type, 0)
        return b.EndObject()
