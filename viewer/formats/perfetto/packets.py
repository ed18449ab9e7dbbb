"""Reads the packets of a Perfetto file block by block: plain, gzip, or compressed in packets.

The packets of large files are found on another thread, a block ahead of what reads their events:
both take as long, and numpy releases the GIL.
"""

from __future__ import annotations

import contextvars
import gzip
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from typing import BinaryIO, cast

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.gzip_head import MAGIC
from viewer.codecs.memory_budget import allowance
from viewer.codecs.partial_file import is_partial, open_part
from viewer.codecs.protobuf.fields import Fields
from viewer.codecs.protobuf.layouts import MessageLayouts, Wanted
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.codecs.protobuf.wire import LENGTH_DELIMITED
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled, UnreadableFile
from viewer.formats.perfetto.annotations import EVENT

BLOCK = 1 << 20  # bytes: small enough for the processor's cache, large enough for few calls
_MANY = 8 * BLOCK  # bytes of a file from which starting a thread pays off
_AHEAD = 2  # blocks; more would only take memory
_MOST_PACKET = 1 << 26
_MOST_INSIDE = 1 << 26  # for a packet inside a compressed one
# A block is larger than usual only for a packet that is. All fields of its packets are found at
# once. Not measured: five numbers of 8 bytes for a field of two bytes, and their sorting.
_FIELDS_MEMORY = 50
_COMPRESSED = 50
_DAMAGED = "invalid or truncated packet: the rest of the file is lost"
_ALL_TAGS = range(8, 1 << 16)  # of a TracePacket, with extensions
# Most packets are events, and nearly all of their bytes are that event and its arguments.
_WANTED = Wanted(_ALL_TAGS, {11 << 3 | LENGTH_DELIMITED: EVENT})

Problem = Callable[[str, int, str], None]


class Packets:
    """Some packets of a block: their positions and fields."""

    def __init__(self, block: PaddedBytes, begin: Ints, end: Ints, layouts: MessageLayouts) -> None:
        self.block = block
        self.begin = begin
        self.share = 1.0  # of the file read so far, approximately
        self.read = 0  # bytes read so far, unpacked
        self.ratio = 1.0  # unpacked bytes per byte of the file
        self.fields: Fields = block.fields_alike(begin, end, layouts)

    def __len__(self) -> int:
        return len(self.begin)


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
                if self._cancelled():
                    raise ReadCancelled
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
            return lambda *given: self._found.put(partial(call, *given))

        try:
            found = _packets(
                self._path, later(self._progress), self._left.is_set, later(self._problem)
            )
            for packets in found:
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
    try:
        file, size = open_part(path)
        with file:
            stream: BinaryIO = file
            if file.read(2) == MAGIC:
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb"))
            file.seek(0)
            rest, place, layouts = b"", 0, MessageLayouts(_WANTED)
            while True:
                if cancelled():
                    raise ReadCancelled
                more, damage = _more(stream, max(BLOCK, len(rest)))
                progress(min(file.tell(), size), size)
                block = _block(rest, more)
                begin, end, stop = block.records()
                consumed = min(file.tell(), size)
                for packets in _unpacked(block, begin, end, problem, layouts, 0):
                    packets.share = consumed / size
                    packets.read = place + stop
                    packets.ratio = packets.read / max(consumed, 1)
                    yield packets
                rest = block.data[stop : block.size].tobytes()
                place += stop
                if damage and not is_partial():
                    problem("damaged or truncated gzip: the rest of the file is lost", 1, damage)
                if damage or not more or len(rest) > _MOST_PACKET:
                    break
                if stop == 0 and len(rest) > 16 and not _may_go_on(block):
                    break
            if rest and any(rest) and not is_partial():
                problem(_DAMAGED, 1, f"byte {place}")
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error


def _block(rest: bytes, more: bytes) -> PaddedBytes:
    """The next bytes to look at. Raises NotEnoughMemory."""
    size = len(rest) + len(more)
    if size > 5 * BLOCK:
        allowance().take(size * _FIELDS_MEMORY)
    return PaddedBytes(padded(rest + more))


def _more(stream: BinaryIO, size: int) -> tuple[bytes, str]:
    try:
        return stream.read(size), ""
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        return b"", str(error)


def _may_go_on(block: PaddedBytes) -> bool:
    """Whether the message at the start of a block is only incomplete, not damaged."""
    begin, end = block.cut_off()
    return begin > 0 and end > block.size


def _unpacked(
    block: PaddedBytes,
    begin: Ints,
    end: Ints,
    problem: Problem,
    layouts: MessageLayouts,
    depth: int,
) -> Iterator[Packets]:
    """The packets of a block, with compressed packets replaced by their contents."""
    if not len(begin):
        return
    whole = Packets(block, begin, end, layouts)
    packed = whole.fields.get(_COMPRESSED, LENGTH_DELIMITED).sorted()
    if not len(packed):
        yield whole
        return
    first = 0
    for owner, at, stop in zip(
        packed.owner.tolist(), packed.at.tolist(), packed.end.tolist(), strict=True
    ):
        if owner > first:
            yield Packets(block, begin[first:owner], end[first:owner], layouts)
        first = owner + 1
        if depth:
            problem("compressed packets inside compressed packets: left out", 1, "")
            continue
        unpacker = zlib.decompressobj()
        data = block.data[at:stop].tobytes()
        rest = b""
        while data or rest:
            try:
                part = unpacker.decompress(data, 4 * BLOCK)
            except zlib.error as error:
                problem("damaged compressed packets: left out", 1, str(error))
                break
            data = unpacker.unconsumed_tail
            inner = _block(rest, part)
            inner_begin, inner_end, inner_stop = inner.records()
            yield from _unpacked(inner, inner_begin, inner_end, problem, layouts, 1)
            rest = inner.data[inner_stop : inner.size].tobytes()
            is_stuck = inner_stop == 0 and not _may_go_on(inner)
            if not part or not data or is_stuck or len(rest) > _MOST_INSIDE:
                break
        if rest:
            problem("damaged compressed packets: left out", 1, "")
    if first < len(begin):
        yield Packets(block, begin[first:], end[first:], layouts)


def last(fields: Fields, field: int, count: int, wire_type: int = 0, default: int = 0) -> Ints:
    """A field's number in every message, the last one if it is repeated (uint64)."""
    found = fields.get(field, wire_type).sorted()
    if len(found) == count and found.is_single:
        return cast(Ints, found.value)
    out = np.full(count, default, np.uint64)
    out[found.owner] = found.value
    return cast(Ints, out)
