"""Reads the packets of a Perfetto file block by block: plain, gzip, or compressed in packets.

The packets of large files are found on another thread, a block ahead of what reads their events:
both take as long, and numpy releases the GIL.
"""

from __future__ import annotations

import contextvars
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import cast

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.memory_budget import allowance
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, Fields, MessageLayouts, Wanted
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.codecs.reading import Cancelled, Progress, faults_of, stop_if
from viewer.codecs.unpacking import PackedFile, is_partial
from viewer.formats.perfetto.annotations import EVENT
from viewer.formats.perfetto.damage import REST_LOST, Checks, PacketFinder, Problem, Spans

BLOCK = 1 << 20  # bytes: small enough for the processor's cache, large enough for few calls
_MANY = 8 * BLOCK  # bytes of a file from which starting a thread pays off
_AHEAD = 2  # blocks; more would only take memory
# A block is larger than usual only for a packet that is. All fields of its packets are found at
# once. Not measured: five numbers of 8 bytes for a field of two bytes, and their sorting.
_FIELDS_MEMORY = 50
_COMPRESSED = 50
_DAMAGED_INSIDE = "damaged compressed packets: left out"
_ALL_TAGS = range(8, 1 << 16)  # of a TracePacket, with extensions
# Most packets are events, and nearly all of their bytes are that event and its arguments.
_WANTED = Wanted(_ALL_TAGS, {11 << 3 | LENGTH_DELIMITED: EVENT})


class Packets:
    """Some packets of a block: their positions and fields."""

    def __init__(
        self, block: PaddedBytes, spans: Spans, layouts: MessageLayouts, place: int
    ) -> None:
        """place: of the first byte of the block in the file, unpacked."""
        self.block, self.spans, self.place = block, spans, place
        self.inside = ""  # the compressed packet around it, as a place
        self.share = 1.0  # of the file read so far, approximately
        self.read = 0  # bytes read so far, unpacked
        self.ratio = 1.0  # unpacked bytes per byte of the file
        self.fields: Fields = block.fields_alike(spans.begin, spans.end, layouts)

    def __len__(self) -> int:
        return len(self.spans)

    def byte(self, packet: int) -> str:
        """Where a packet is in the file; for one in compressed packets, where these are."""
        return self.inside or f"byte {self.place + self.spans.start_of(packet)}"


def packets_of(
    path: str, progress: Progress, cancelled: Cancelled, problem: Problem
) -> Iterator[Packets]:
    """All packets in file order. Raises UnreadableFile and ReadCancelled.

    Damage is reported by `problem(kind, count, first)`.
    """
    try:
        is_large = os.path.getsize(path) >= _MANY
    except (OSError, ValueError):
        is_large = False  # opening it reports why
    if not is_large:
        return _packets(path, progress, cancelled, problem)
    return _Ahead(path, progress, cancelled, problem).packets()


class _Ahead:
    """Finds packets on another thread; the callbacks are called on the thread that takes them."""

    def __init__(
        self, path: str, progress: Progress, cancelled: Cancelled, problem: Problem
    ) -> None:
        self._path = path
        self._progress, self._cancelled, self._problem = progress, cancelled, problem
        self._found: SimpleQueue[Packets | BaseException | Callable[[], None] | None]
        self._found = SimpleQueue()
        self._room = threading.Semaphore(_AHEAD)
        self._left = threading.Event()

    def packets(self) -> Iterator[Packets]:
        """All packets. Raises UnreadableFile and ReadCancelled."""
        # the allowance of the file is one of the thread that reads it
        context = contextvars.copy_context()
        finder = threading.Thread(target=context.run, args=(self._find,), name="packets")
        finder.start()
        try:
            while (item := self._found.get()) is not None:
                stop_if(self._cancelled)
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Packets):
                    yield item
                    self._room.release()
                else:
                    item()
        finally:
            self._left.set()
            self._room.release()
            finder.join()

    def _find(self) -> None:
        """Put packets, calls and at last None or an error into the queue."""

        def later(call: Callable[..., None]) -> Callable[..., None]:
            return lambda *arguments: self._found.put(partial(call, *arguments))

        try:
            packet_blocks = _packets(
                self._path, later(self._progress), self._left.is_set, later(self._problem)
            )
            for packets in packet_blocks:
                self._found.put(packets)
                self._room.acquire()
                if self._left.is_set():
                    return
            self._found.put(None)
        except BaseException as error:  # raised again where the packets are taken
            self._found.put(error)


def _packets(
    path: str, progress: Progress, cancelled: Cancelled, problem: Problem
) -> Iterator[Packets]:
    """As `packets_of`, on this thread."""
    with faults_of(path), PackedFile(path) as source:
        rest, place, layouts = b"", 0, MessageLayouts(_WANTED)
        checks = Checks()
        finder = PacketFinder(problem, checks, is_partial=is_partial())
        while True:
            stop_if(cancelled)
            more = source.read(max(BLOCK, len(rest)))
            progress(min(source.done, source.size), source.size)
            block = _block(rest, more)
            is_last = not more
            spans, stop = finder.packets(block, place, is_last=is_last)
            unpacking = _Unpacking(finder, checks, problem, layouts)
            for packets in unpacking.packets(block, spans, place):
                packets.share = source.share
                packets.read = place + stop
                packets.ratio = source.ratio
                yield packets
            rest = block.data[stop : block.size].tobytes()
            place += stop
            if is_last:
                if source.fault:
                    problem(f"{source.fault}: the content before it was read", 1, "")
                break


def _block(rest: bytes, more: bytes) -> PaddedBytes:
    """The next bytes to look at. Raises NotEnoughMemory."""
    size = len(rest) + len(more)
    if size > 5 * BLOCK:
        allowance().take(size * _FIELDS_MEMORY)
    return PaddedBytes(padded(rest + more))


class _Unpacking:
    """Gives packets with compressed packets replaced by their contents."""

    def __init__(
        self, finder: PacketFinder, checks: Checks, problem: Problem, layouts: MessageLayouts
    ) -> None:
        self._finder, self._checks, self._problem = finder, checks, problem
        self._layouts = layouts

    def packets(
        self, block: PaddedBytes, spans: Spans, place: int, *, is_inner: bool = False
    ) -> Iterator[Packets]:
        """The packets of a block."""
        if not len(spans):
            return
        whole = Packets(block, spans, self._layouts, place)
        more = self._finder.looked_into(block, spans, whole.fields, place)
        if more is not None:
            spans, whole = more, Packets(block, more, self._layouts, place)
        packed = whole.fields.get(_COMPRESSED, LENGTH_DELIMITED).sorted()
        if not len(packed):
            yield whole
            return
        first = 0
        for owner, begin, stop in zip(
            packed.owner.tolist(), packed.at.tolist(), packed.end.tolist(), strict=True
        ):
            if owner > first:
                yield Packets(block, spans.part(first, owner), self._layouts, place)
            first = owner + 1
            if is_inner:
                self._problem("compressed packets inside compressed packets: left out", 1, "")
            else:
                yield from self._unpacked(block.data[begin:stop].tobytes(), whole.byte(owner))
        if first < len(spans):
            yield Packets(block, spans.part(first, len(spans)), self._layouts, place)

    def _unpacked(self, data: bytes, byte: str) -> Iterator[Packets]:
        """The packets in a compressed one, at a byte of the file."""
        unpacker = zlib.decompressobj()

        def problem(kind: str, count: int, _first: str) -> None:
            self._problem(_DAMAGED_INSIDE if kind == REST_LOST else kind, count, byte)

        finder, rest = PacketFinder(problem, self._checks), b""
        inner = _Unpacking(finder, self._checks, problem, self._layouts)
        is_last = False
        while not is_last:
            part = b""
            try:
                part = unpacker.decompress(data, 4 * BLOCK)
                data = unpacker.unconsumed_tail
                is_last = not part or not data
            except zlib.error:
                problem(_DAMAGED_INSIDE, 1, byte)
                is_last = True
            block = _block(rest, part)
            spans, stop = finder.packets(block, 0, is_last=is_last)
            for packets in inner.packets(block, spans, 0, is_inner=True):
                packets.inside = byte
                yield packets
            rest = block.data[stop : block.size].tobytes()


def last(fields: Fields, field: int, count: int, wire_type: int = 0, default: int = 0) -> Ints:
    """A field's number in every message, the last one if it is repeated (uint64)."""
    last_field = fields.get(field, wire_type).sorted()
    if len(last_field) == count and last_field.is_single:
        return cast(Ints, last_field.value)
    out = np.full(count, default, np.uint64)
    out[last_field.owner] = last_field.value
    return cast(Ints, out)
