"""Reads the profile events of an ETDump into columns, directly from its flatbuffer.

`load` reads the file into memory. `read_runs` and `read_events` convert its tables to parallel
arrays and lists of distinct texts; events without a time are passed on.
`viewer.formats.executorch.etdump.reader` interprets the events and cites the specification. Offsets
that lead outside the file raise `Malformed`; other unexpected data is counted as a problem of the
trace.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables, distinct_texts, elements
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats.executorch.texts import decoded
from viewer.model.building.builder import BACKWARDS, TraceBuilder
from viewer.model.times import LAP

DAMAGED = "The file is damaged or truncated: copy it again, or record it again"
_IDENTIFIER = b"ED00"
_CHUNK = 1 << 16  # events per gather, so that their columns fit in the processor's cache
_READ = 1 << 22
# Minimum size in bytes: an offset and the head of a table; an event adds its inner table and
# offset.
_LEAST_RUN = 8
# 146 years in ns. Later times, as in damaged files, would not come back from a Perfetto export,
# whose clocks may be 2**40 ns off.
_LATEST = (1 << 62) - (1 << 40)
_LEAST_EVENT = 16
# Bytes of an event at the peak, besides the file, at least. Measured with RSS: 300 for 64 bytes in
# the file (200,000 timed events).
_EVENT_MEMORY = 200

Codes32 = NDArray[np.int32]


@dataclass(slots=True)
class ProfileEvents:
    """The profile events in file order; codes index the lists of distinct texts.

    row: position among all events of the file. number: integer identifier, -1 if none. metadatas:
    the bytes as logged.
    """

    run: Codes32
    row: Codes32
    name: Codes32
    chain: Codes32
    instruction: Codes32
    number: Codes32
    text: Codes32
    metadata: Codes32
    start: Ints
    end: Ints
    names: list[str]
    texts: list[str]
    metadatas: list[bytes]

    def __len__(self) -> int:
        return len(self.run)

    def named(self, *names: str) -> Bools:
        """Which events have one of the names."""
        is_named: Bools = np.array([*(name in names for name in self.names), False])[self.name]
        return is_named


@dataclass(slots=True)
class Runs:
    """The runs of a file: their names, and the position and length of their event lists.

    allocators: first element and length of each run's list of allocators. bundled_input: index of
    the bundled input that it ran on, -1 if none.
    """

    names: list[str]
    first: Ints
    length: Ints
    allocators: tuple[Ints, Ints]
    bundled_input: Codes32


def sniff(head: bytes) -> bool:
    """Whether it has the identifier of ETDumps, with or without a size prefix."""
    return head[4:8] == _IDENTIFIER or head[8:12] == _IDENTIFIER


def load(path: str, progress: Progress, cancelled: Cancelled) -> Buffer:
    """Read the whole file; this is half of the progress. Raises UnreadableFile, ReadCancelled."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(12)
            if not sniff(head):
                raise UnreadableFile(
                    path,
                    "this is not an ETDump (no ED00)",
                    where="byte 4",
                    remedy="Choose the .etdp file that the runtime wrote",
                )
            if size >= 1 << 32:
                raise UnreadableFile(path, f"a flatbuffer cannot have {size} bytes", remedy=DAMAGED)
            allowance().take(size)
            content = np.empty(size, np.uint8)
            room = content.data
            file.seek(0)
            done = 0
            while done < size and (got := file.readinto(room[done : done + _READ])):
                done += got
                progress(done // 2, size)
                stop_if(cancelled)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(path, reason) from error
    return Buffer(content[:done])


def read_runs(buffer: Buffer, builder: TraceBuilder) -> Runs:
    """Read the runs and set the builder's schema generation. Raises Malformed."""
    prefix = 0 if buffer.bytes[4:8].tobytes() == _IDENTIFIER else 4
    if prefix:
        stated = int(buffer.bytes[:4].view("<u4")[0]) + 4
        if stated > buffer.size:
            raise Malformed(buffer.size, f"the file ends here, but should have {stated} bytes")
        if stated < buffer.size:
            builder.problem("bytes after the end of the dump: ignored", 1, f"byte {stated}")
    start = prefix + int(buffer.bytes[prefix : prefix + 4].view("<u4")[0])
    root = Tables(buffer, np.array([start]), "root table")
    version = int(root.numbers(0, np.uint32, 0)[0])
    if version:
        builder.problem(f"version {version} is unknown: read as version 0")
    first, length = buffer.vectors(root.targets(1), 4, "list of runs")
    tables = Tables(buffer, elements(buffer, first, length, "runs", _LEAST_RUN), "run")
    slot, builder.generation = 3, "G2/G3"
    if not tables.has(3) and _holds_events(buffer, tables.targets(2)):
        slot, builder.generation = 2, "G1"
    codes, names = distinct_texts(buffer, tables.targets(0), "run names")
    texts = [*decoded(names, builder.problem), ""]  # code -1, no name, is the last entry
    first, length = buffer.vectors(tables.targets(slot), 4, "list of events")
    allocators = buffer.vectors(tables.targets(slot - 1), 4, "list of allocators")
    bundled = np.full(len(tables), -1, np.int32)
    if slot == 3:
        bundled = tables.numbers(1, np.int32, -1)
    return Runs([texts[c] for c in codes.tolist()], first, length, allocators, bundled)


def _holds_events(buffer: Buffer, lists: Ints) -> bool:
    """Whether the lists contain events, not allocators, whose only field is a name."""
    first, length = buffer.vectors(lists, 4, "list in a run")
    first_full = np.flatnonzero(length > 0)[:1]
    tables = Tables(
        buffer,
        elements(buffer, first[first_full], np.ones(len(first_full), np.int64), "list", 4),
        "list item",
    )
    if tables.has(1) or tables.has(2):
        return True
    target = tables.targets(0)
    if not target.any():
        return False
    size = int(buffer.u4(target)[0])
    end = int(target[0]) + 4 + size
    is_text = end < buffer.size and buffer.bytes[end] == 0
    return not (is_text and buffer.text(int(target[0])).decode("ascii", "replace").isprintable())


def read_events(
    buffer: Buffer,
    runs: Runs,
    builder: TraceBuilder,
    others: Callable[[Ints, Ints], None],
    progress: Progress,
    cancelled: Cancelled,
) -> ProfileEvents:
    """All profile events whose times fit int64, as logged: an end may be before its start.

    others: called with the other events, by position among all events and position in the file.
    Raises Malformed or ReadCancelled.
    """
    positions = elements(buffer, runs.first, runs.length, "events", _LEAST_EVENT)
    total = len(positions)
    allowance().take(buffer.size + total * _EVENT_MEMORY)
    numbers = {f: np.empty(total, np.int32) for f in ("row", "chain", "instruction", "number")}
    places = {f: np.empty(total, np.uint32) for f in ("name", "text", "metadata")}
    start, end = np.empty(total, np.int64), np.empty(total, np.int64)
    n = 0
    for low in range(0, total, _CHUNK):
        stop_if(cancelled)
        place = positions[low : low + _CHUNK]
        tables = Tables(buffer, place, "event")
        profile = tables.targets(0)
        rows = np.arange(low, low + len(place))
        if not profile.all():
            others(rows[profile == 0], place[profile == 0])
            rows, profile = rows[profile > 0], profile[profile > 0]
        events = Tables(buffer, profile, "profile event")
        s, e = events.numbers(6, np.uint64, 0), events.numbers(7, np.uint64, 0)
        fits = np.maximum(s, e) < np.uint64(_LATEST)
        keep: Ints | slice = slice(None)
        if not fits.all():
            count_rows(builder, "times of 2^62 and more: left out", rows[~fits])
            keep = np.flatnonzero(fits)
            rows, s, e = rows[keep], s[keep], e[keep]
        span = slice(n, n + len(rows))
        n += len(rows)
        start[span], end[span] = s, e
        numbers["row"][span] = rows
        for field, slot, default in (("chain", 1, 0), ("instruction", 2, -1), ("number", 3, -1)):
            numbers[field][span] = events.numbers(slot, np.int32, default)[keep]
        for field, slot in (("name", 0), ("text", 4), ("metadata", 5)):
            places[field][span] = events.targets(slot)[keep]
        progress((buffer.size + buffer.size * (low + len(place)) // total) // 2, buffer.size)
    del positions
    run = np.repeat(np.arange(len(runs.length), dtype=np.int32), runs.length)[numbers["row"][:n]]
    codes, texts = {}, {}
    for field, where in places.items():
        codes[field], texts[field] = distinct_texts(buffer, where[:n].astype(np.int64), field)
    progress(buffer.size, buffer.size)
    return ProfileEvents(
        run=run,
        **{field: column[:n] for field, column in numbers.items()},
        **codes,
        start=start[:n],
        end=end[:n],
        names=decoded(texts["name"], builder.problem),
        texts=decoded(texts["text"], builder.problem),
        metadatas=texts["metadata"],
    )


def correct_ends(builder: TraceBuilder, events: ProfileEvents) -> None:
    """Correct ends that are before the start, in place."""
    is_early = events.end < events.start
    if not is_early.any():
        return
    wrapped = is_early & (events.start < LAP)
    kind = "end before start: taken as a 32-bit counter that wrapped"
    count_rows(builder, kind, events.row[wrapped])
    events.end[wrapped] += LAP
    # Here already, so that durations on foreign clocks are not negative either.
    count_rows(builder, BACKWARDS, events.row[events.start > events.end])
    np.maximum(events.start, events.end, out=events.end)


def filled(codes: Ints | Codes32, texts: list[str] | list[bytes]) -> Bools:
    """Where codes (-1: none) refer to a non-empty text."""
    has: Bools = np.array([*map(bool, texts), False])[codes]
    return has


def count_rows(builder: TraceBuilder, kind: str, rows: Ints | Codes32) -> None:
    """Count a problem of events, given by their positions in the file."""
    builder.problem(kind, len(rows), f"event {rows[0]}" if len(rows) else "")
