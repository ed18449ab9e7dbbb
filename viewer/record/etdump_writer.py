"""Writes logged events as an ETDump, the profile format of ExecuTorch (.etdp).

devtools/etdump/etdump_schema_flatcc.fbs of ExecuTorch specifies the layout, which has not changed
since release 0.4. The `flatbuffers` package builds the head: the root, the runs, their names and
allocators. numpy writes the events as records of one shape: for a million events this takes 0.2 s,
while the package takes 18 s. References in a flatbuffer point forward, so the order is:

    head | per run: the number of its events, references to them | vtables | batch | batch ...

A batch has a record of 48 bytes for each of its events, then its texts in the order they were
logged. A record has room for every field; its vtable states which exist. No event has both a name
and an identifier, so these share a field.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import BinaryIO

import flatbuffers
import numpy as np
from numpy.typing import NDArray

from viewer.codecs.atomic_file import replacing
from viewer.dataclasses import dataclass
from viewer.record.event_batches import FIELDS, Batch, EventKind

_IDENTIFIER = b"ED00"
MOST = (1 << 31) - 1
_RECORD = 48
_ROW = np.dtype(
    [(name, f"<{'u' if code.isupper() else 'i'}{8 if code == 'Q' else 4}") for name, code in FIELDS]
)

# The fields of a record. A table starts with the distance back to its vtable.
_TIMED = np.dtype([
    ("event_vtable", "<i4"), ("event", "<u4"), ("vtable", "<i4"), ("what", "<u4"),
    ("start", "<u8"), ("end", "<u8"), ("chain", "<i4"), ("instruction", "<i4"),
    ("metadata", "<u4"), ("padding", "<u4"),
])  # fmt: skip
_ALLOCATION = np.dtype([
    ("event_vtable", "<i4"), ("event", "<u4"), ("vtable", "<i4"), ("allocator", "<i4"),
    ("size", "<u8"), ("padding", "V24"),
])  # fmt: skip
_TABLE = _TIMED.fields["vtable"][1]  # type: ignore[index]
_WHAT = _TIMED.fields["what"][1]  # type: ignore[index]
_METADATA = _TIMED.fields["metadata"][1]  # type: ignore[index]


def _vtable(size: int, *fields: int) -> bytes:
    """The vtable of a table of `size` bytes: the offset of each slot's field, 0 if absent."""
    return struct.pack(f"<{2 + len(fields)}H", 4 + 2 * len(fields), size, *fields)


def _timed_vtable(kind: EventKind, metadata: bool) -> bytes:
    def at(field: str) -> int:
        return int(_TIMED.fields[field][1]) - int(_TABLE)  # type: ignore[index]

    what = [
        at("what") if kind is k else 0
        for k in (EventKind.OPERATOR, EventKind.NUMBER, EventKind.TEXT)
    ]
    return _vtable(
        at("padding"),
        what[0],
        at("chain"),
        at("instruction"),
        what[1],
        what[2],
        at("metadata") if metadata else 0,
        at("start"),
        at("end"),
    )


# For an event with times, an event with an allocation, and an allocation; then for each kind of
# timed event, without and with metadata.
_VTABLES = (
    _vtable(8, 4),
    _vtable(8, 0, 4),
    _vtable(16, 4, 8),
    *(
        _timed_vtable(k, m)
        for k in (EventKind.OPERATOR, EventKind.NUMBER, EventKind.TEXT)
        for m in (False, True)
    ),
)
_TIMED_EVENT, _ALLOCATION_EVENT, _AN_ALLOCATION, _FIRST_TIMED = range(4)
_VTABLE_AT = np.cumsum([0, *map(len, _VTABLES)])


@dataclass(frozen=True, slots=True)
class _Runs:
    """The event blocks with events: the number, event count and allocator count of each."""

    block: NDArray[np.int64]
    length: NDArray[np.int64]
    allocators: NDArray[np.int64]


def write_etdump(
    path: str | os.PathLike[str],
    blocks: Sequence[str],
    allocators: Sequence[str],
    batches: Sequence[Batch],
    ns_per_tick: int = 1,
) -> None:
    """Write events as an ETDump, atomically.

    blocks: names of the event blocks; blocks without events are left out, because the official
    Inspector rejects them. allocators: names; allocations number them from 1. ns_per_tick: factor
    for all times, because readers expect ns.

    Raises OSError if the file cannot be written, ValueError if it would exceed 2 GiB.
    """
    runs = _runs(batches, len(blocks))
    head, vectors_at = _head(runs, blocks, allocators)
    count = int(runs.length.sum())
    vtables = b"".join(_VTABLES)
    vtables_at = -(-(len(head) + 4 * (count + len(runs.block))) // 8) * 8
    begins = np.cumsum([_up(vtables_at + len(vtables)), *(_batch_size(batch) for batch in batches)])
    total = int(begins[-1])
    if total > MOST:
        raise ValueError(
            f"the dump would have {total} bytes, and an ETDump ends at 2 GiB: log fewer events, or "
            "write several dumps"
        )
    head[:4] = struct.pack("<I", total - 4)
    vectors = _vectors(runs, batches, begins, len(head))
    _point(head, vectors_at, runs)
    with replacing(path) as file:
        file.write(head)
        file.write(vectors.tobytes())
        file.write(bytes(vtables_at - len(head) - vectors.nbytes))
        file.write(vtables)
        file.write(bytes(int(begins[0]) - vtables_at - len(vtables)))
        for batch, begin in zip(batches, begins.tolist(), strict=False):
            _write_batch(file, batch, begin, vtables_at, ns_per_tick)


def _up(size: int) -> int:
    """Round a size up to a multiple of 8, to align what follows."""
    return (size + 7) // 8 * 8


def _batch_size(batch: Batch) -> int:
    rows, texts = batch.size
    return rows // _ROW.itemsize * _RECORD + _up(texts)


def _rows(batch: Batch) -> tuple[NDArray[np.void], bytes]:
    rows, texts = batch.read()
    return np.frombuffer(rows, _ROW), texts


def _runs(batches: Sequence[Batch], blocks: int) -> _Runs:
    length = np.zeros(blocks, np.int64)
    allocators = np.zeros(blocks, np.int64)
    for batch in batches:
        rows, _ = _rows(batch)
        length += np.bincount(rows["block"], minlength=blocks)
        allocations = rows[rows["kind"] == EventKind.ALLOCATION]
        np.maximum.at(allocators, allocations["block"], allocations["value"])
    used = np.flatnonzero(length)
    return _Runs(used, length[used], allocators[used])


def _head(
    runs: _Runs, blocks: Sequence[str], allocators: Sequence[str]
) -> tuple[bytearray, NDArray[np.int64]]:
    """The head, and the position in it of each run's reference to its events, which follow it.

    A builder creates a file from its end and can refer only to what it has created. So the
    reference to events is a placeholder number of the same width, which is set later.
    """
    b = flatbuffers.Builder(1024)
    names = {name: b.CreateString(name) for name in {blocks[n] for n in runs.block.tolist()}}
    most = int(runs.allocators.max(initial=0))
    listed = [b.CreateString(name) for name in allocators[:most]]
    tables, from_end = [], []
    for block, count in zip(runs.block.tolist(), runs.allocators.tolist(), strict=True):
        allocator_list = None
        if count:
            allocator_list = _references(b, [_allocator(b, name) for name in listed[:count]])
        b.StartObject(4)
        b.PrependUOffsetTRelativeSlot(0, names[blocks[block]], 0)
        if allocator_list is not None:
            b.PrependUOffsetTRelativeSlot(2, allocator_list, 0)
        b.PrependUint32Slot(3, MOST, 0)
        from_end.append(b.Offset())
        tables.append(b.EndObject())
    listed_runs = _references(b, tables)
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, listed_runs, 0)
    b.FinishSizePrefixed(b.EndObject(), _IDENTIFIER)
    head = bytearray(b.Output())
    return head, len(head) - np.array(from_end, np.int64)


def _references(b: flatbuffers.Builder, tables: Sequence[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())


def _allocator(b: flatbuffers.Builder, name: int) -> int:
    b.StartObject(1)
    b.PrependUOffsetTRelativeSlot(0, name, 0)
    return int(b.EndObject())


def _vector_begins(runs: _Runs) -> NDArray[np.int64]:
    """The start of each run's list after the head, in 4-byte words: its length, then references."""
    return np.cumsum(runs.length + 1) - runs.length - 1


def _point(head: bytearray, vectors_at: NDArray[np.int64], runs: _Runs) -> None:
    """Set each run's reference to the list of its events."""
    words = np.frombuffer(head, "<u4")
    words[vectors_at >> 2] = len(head) + 4 * _vector_begins(runs) - vectors_at


def _vectors(
    runs: _Runs, batches: Sequence[Batch], begins: NDArray[np.int64], position: int
) -> NDArray[np.uint32]:
    """The lists of all runs, located at byte `position`; references are relative to themselves."""
    words = np.empty(int(runs.length.sum()) + len(runs.block), np.dtype("<u4"))
    first = _vector_begins(runs)
    words[first] = runs.length
    following = first + 1
    for batch, begin in zip(batches, begins.tolist(), strict=False):
        rows, _ = _rows(batch)
        run = np.searchsorted(runs.block, rows["block"])
        order = np.argsort(run, kind="stable")
        of, count = np.unique(run, return_counts=True)
        within = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
        place = np.repeat(following[of], count) + within
        words[place] = begin + _RECORD * order - (position + 4 * place)
        following[of] += count
    return words


def _write_batch(
    file: BinaryIO, batch: Batch, begin: int, vtables_at: int, ns_per_tick: int
) -> None:
    """Write one batch, located at byte `begin`."""
    rows, texts = _rows(batch)
    event = begin + _RECORD * np.arange(len(rows))
    table = event + int(_TABLE)
    texts_at = begin + _RECORD * len(rows)
    kind = rows["kind"]
    has_metadata = rows["metadata"] >= 0

    records = np.zeros(len(rows), _TIMED)
    records["event_vtable"] = event - (vtables_at + _VTABLE_AT[_TIMED_EVENT])
    records["event"] = int(_TABLE) - 4  # relative to its own position
    allocated = kind == EventKind.ALLOCATION
    shape = np.where(allocated, 0, _FIRST_TIMED + 2 * kind + has_metadata)
    records["vtable"] = table - (vtables_at + _VTABLE_AT[shape])
    places = texts_at + rows["value"].astype(np.int64) - (event + int(_WHAT))
    records["what"] = np.where(
        kind == EventKind.NUMBER, rows["value"].view(np.uint32), places.astype(np.uint32)
    )
    scale = np.uint64(ns_per_tick)
    records["start"], records["end"] = rows["start"] * scale, rows["end"] * scale
    records["chain"], records["instruction"] = rows["chain"], rows["instruction"]
    places = texts_at + rows["metadata"].astype(np.int64) - (event + int(_METADATA))
    records["metadata"] = np.where(has_metadata, places, 0)

    index = np.flatnonzero(allocated)
    if len(index):
        allocs = np.zeros(len(index), _ALLOCATION)
        allocs["event_vtable"] = event[index] - (vtables_at + _VTABLE_AT[_ALLOCATION_EVENT])
        allocs["event"] = int(_TABLE) - 4
        allocs["vtable"] = table[index] - (vtables_at + _VTABLE_AT[_AN_ALLOCATION])
        allocs["allocator"], allocs["size"] = rows["value"][index], rows["start"][index]
        records[index] = allocs.view(_TIMED)
    file.write(records.tobytes())
    file.write(texts)
    file.write(bytes(_up(len(texts)) - len(texts)))
