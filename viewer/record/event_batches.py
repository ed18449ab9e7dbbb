"""Buffers logged events until they are written: rows of fixed size, and the texts they refer to.

A batch is two byte strings: `rows`, with 40 bytes per event (`FIELDS`), and `texts`, with every
name, identifier and metadata encoded as in the ETDump: its length, its bytes, one to four zero
bytes. So logging only appends, and writing is numpy on whole batches. A batch refers only to its
own texts, so a full one can move to a file on disk, and only one batch stays in memory.
"""

from __future__ import annotations

import os
import struct
import tempfile  # noqa: TID251
import threading
import weakref
from enum import IntEnum

# Name and struct code of each column. The kind determines the meaning of `value` and `start`;
# `metadata` is a position in the texts, -1 if none.
FIELDS = (
    ("start", "Q"), ("end", "Q"), ("block", "I"), ("value", "i"), ("chain", "i"),
    ("instruction", "i"), ("metadata", "i"), ("kind", "I"),
)  # fmt: skip
# The size of an event in an ETDump without its texts: a record of 48 bytes and a reference to it.
EVENT_BYTES = 52
MOST_BYTES = (1 << 31) - (1 << 20)  # a flatbuffer is limited to 2 GiB; leaves room for its head
FULL = 4 << 20  # bytes per batch: large enough for numpy to be fast, small for memory

_pack = struct.Struct("<" + "".join(code for _, code in FIELDS)).pack
_pack_length = struct.Struct("<I").pack
_PADDING = tuple(bytes(4 - rest) for rest in range(4))


class EventKind(IntEnum):
    """The kind of an event."""

    OPERATOR = 0
    """value: position of the name in the texts."""
    NUMBER = 1
    """A delegate's event. value: its integer identifier."""
    TEXT = 2
    """A delegate's event. value: position of its identifier in the texts."""
    ALLOCATION = 3
    """value: number of the allocator, from 1. start: size in bytes."""


class Batch:
    """Some events in the order in which they ended, in memory or in the spill file."""

    def __init__(self, rows: bytes, texts: bytes, spill: Spill | None = None) -> None:
        self.size = (len(rows), len(texts))
        self._spill = spill
        self._held = (rows, texts) if spill is None else None
        self._at = 0 if spill is None else spill.append(rows + texts)

    def read(self) -> tuple[bytes, bytes]:
        """Rows and texts. Raises OSError if the spill file cannot be read."""
        if self._held is not None:
            return self._held
        assert self._spill is not None
        data = self._spill.read(self._at, sum(self.size))
        return data[: self.size[0]], data[self.size[0] :]


class Spill:
    """An unnamed temporary file that disappears with the process."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        # It lives as long as the tracer, which is longer than any block of code.
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._lock = threading.RLock()
        self._end = 0

    def append(self, data: bytes) -> int:
        """Append data; returns its position. Raises OSError."""
        with self._lock:
            self._file.seek(self._end)
            self._file.write(data)
            self._file.flush()
            position, self._end = self._end, self._end + len(data)
            return position

    def read(self, position: int, size: int) -> bytes:
        """Read appended bytes. Raises OSError."""
        with self._lock:
            end = -1
            while end != self._end:  # else a signal handler logged meanwhile and moved the position
                end = self._end
                self._file.seek(position)
                data = self._file.read(size)
        if len(data) < size:
            raise OSError(f"the spill file ends at byte {position + len(data)}")
        return data


class EventBatches:
    """Collects events of all threads, limited by their size in an ETDump."""

    def __init__(self, max_bytes: int, spill: Spill | None) -> None:
        # A signal handler or a finalizer may log while this thread is logging.
        self._lock = threading.RLock()
        self._adding = False
        self._left = max_bytes
        self._full_at = max_bytes - FULL  # remaining bytes at which the batch is full
        self._spill = spill
        self._batches: list[Batch] = []
        self._rows, self._texts = bytearray(), bytearray()
        self._places: dict[str, int] = {}
        self.dropped = 0
        """Events for which there was no room."""
        self.spill_failure: OSError | None = None
        """Why batches stay in memory in spite of the spill folder."""

    def reserve(self, size: int) -> bool:
        """Reserve bytes for other data; if there are too few, no room is left for events either."""
        with self._lock:
            enough = self._left >= size
            self._left = self._left - size if enough else 0
            return enough

    def add(
        self,
        kind: int,
        block: int,
        value: int | str,
        chain: int,
        instruction: int,
        start: int,
        end: int,
        metadata: bytes = b"",
    ) -> None:
        """Append one event, or count it as dropped.

        A str value must be encodable as UTF-8. Raises TypeError if a number is not an integer.
        """
        with self._lock:
            within, self._adding = self._adding, True
            try:
                if self._left < EVENT_BYTES:
                    self.dropped += 1
                    return
                if type(value) is str:
                    place_of_text = self._places.get(value)
                    if place_of_text is None:
                        place_of_text = self._put(value.encode())
                        if place_of_text is None:
                            return
                        self._places[value] = place_of_text
                    value = place_of_text
                place = self._put(metadata) if metadata else -1
                if place is None:
                    return
                self._rows.extend(_pack(start, end, block, value, chain, instruction, place, kind))
                self._left -= EVENT_BYTES
                if self._left < self._full_at and not within:  # an outer call still uses the texts
                    self._close()
            except struct.error:
                raise TypeError(
                    f"not a whole number among start {start!r}, end {end!r}, chain {chain!r}, "
                    f"instruction {instruction!r}: round it, or use a clock like "
                    "time.perf_counter_ns"
                ) from None
            finally:
                self._adding = within

    def snapshot(self) -> list[Batch]:
        """All events so far; later events do not change the result."""
        with self._lock:
            last = Batch(bytes(self._rows), bytes(self._texts))
            return [*self._batches, last] if self._rows else list(self._batches)

    def _put(self, data: bytes) -> int | None:
        """Add a text to the batch and return its position; if it is too long, None (a drop)."""
        size = len(data)
        if self._left < EVENT_BYTES + 8 + size:
            self.dropped += 1
            return None
        place = len(self._texts)
        self._texts.extend(_pack_length(size) + data + _PADDING[size & 3])
        self._left -= 8 + size - (size & 3)
        return place

    def _close(self) -> None:
        rows, texts = bytes(self._rows), bytes(self._texts)
        try:
            batch = Batch(rows, texts, self._spill)
        except OSError as error:  # the disk is full: nothing is lost, but memory is limited too
            self.spill_failure, self._spill = error, None
            self._left = min(self._left, 1 << 29)
            batch = Batch(rows, texts)
        self._batches.append(batch)
        self._rows.clear()
        self._texts.clear()
        self._places.clear()
        self._full_at = self._left - FULL
