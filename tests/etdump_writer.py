"""Writes ETDumps with the flatbuffers package, for tests of what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers

Event = dict[str, Any]


def framework(name: str, start: int, end: int, **more: Any) -> Event:
    return {"name": name, "chain": -1, "instruction": 0, "start": start, "end": end, **more}


def operator(name: str, instruction: int, start: int, end: int, **more: Any) -> Event:
    return {"name": name, "instruction": instruction, "start": start, "end": end, **more}


def delegate(identifier: int | str, instruction: int, start: int, end: int, **more: Any) -> Event:
    field = "number" if isinstance(identifier, int) else "text"
    return {field: identifier, "instruction": instruction, "start": start, "end": end, **more}


def vector(b: flatbuffers.Builder, offsets: list[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def write_dump(
    path: Path, *runs: tuple[str | None, list[Event]], prefix: bool = True, g1: bool = False
) -> Path:
    """Write runs, given as (name, events), as a dump of a schema generation."""
    b = flatbuffers.Builder(1024)

    def profile(event: Event) -> int:
        name = event.get("name")
        refs = [
            (0, name if name is None else b.CreateString(name)),
            (4, b.CreateString(event["text"]) if "text" in event else None),
            (5, b.CreateByteVector(event["metadata"]) if "metadata" in event else None),
        ]
        b.StartObject(8)
        for slot, offset in refs:
            if offset is not None:
                b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        b.PrependInt32Slot(1, event.get("chain", 0), 0)
        b.PrependInt32Slot(2, event.get("instruction", -1), -1)
        b.PrependInt32Slot(3, event.get("number", -1), -1)
        b.PrependUint64Slot(6, event["start"], 0)
        b.PrependUint64Slot(7, event["end"], 0)
        return b.EndObject()

    def event_table(event: Event) -> int:
        inner = profile(event)
        b.StartObject(3)
        b.PrependUOffsetTRelativeSlot(0, inner, 0)
        return b.EndObject()

    def allocators() -> int:
        name = b.CreateString("method_allocator")
        b.StartObject(1)
        b.PrependUOffsetTRelativeSlot(0, name, 0)
        return vector(b, [b.EndObject()])

    def run(name: str | None, events: list[Event]) -> int:
        listed = vector(b, [event_table(e) for e in events])
        kept = allocators()
        title = None if name is None else b.CreateString(name)
        shift = 0 if g1 else 1
        b.StartObject(3 + shift)
        if title is not None:
            b.PrependUOffsetTRelativeSlot(0, title, 0)
        b.PrependUOffsetTRelativeSlot(1 + shift, kept, 0)
        if events:
            b.PrependUOffsetTRelativeSlot(2 + shift, listed, 0)
        return b.EndObject()

    listed = vector(b, [run(name, events) for name, events in runs])
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, listed, 0)
    root = b.EndObject()
    (b.FinishSizePrefixed if prefix else b.Finish)(root, b"ED00")
    path.write_bytes(bytes(b.Output()))
    return path
