"""Reads an ETRecord's ZIP archive: its JSON members without their weights, and hashes of constants.

All releases store members uncompressed; an ETRecord that was zipped again is supported too. Pickles
are never loaded, that is, reference outputs, representative inputs, and the weights, constants and
example inputs next to a program. A suffix alone does not identify those, because a method may be
named `update_state_dict`: a member is a pickle only if its name is another member's plus a suffix.

Lowered modules contain their weights as base64 text, about 2.7 bytes per byte of weights. This text
is removed piece by piece while a member is read, so that one of 90 MB needs only a few MB. Hashes
of constants are the CRC-32 that a ZIP archive of `torch.save` inside states for every storage; of
its pickle, the opcodes are read one by one for names of tensors and storages.
"""

from __future__ import annotations

import io
import lzma
import os
import pickletools
import string
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import IO, Any

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if

MAGIC = "ETRECORD_V0"
EDGE = "edge_dialect_exported_program"
ATEN = "exported_program"
DEBUG_HANDLES = "debug_handle_map"
DELEGATES = "delegate_map"
NUMBER_OF_OUTPUTS = "instruction_id_to_num_outs_map"
EXPORT_GRAPH = "export_graph_id"

BLOBS = ("_state_dict", "_constants", "_example_inputs")
# The limit for a member without weights; parsed JSON takes about four times its size.
_MOST_TEXT = 1 << 30
# Members are stored uncompressed; a real ETRecord that is zipped again compresses 1:40 at most.
MOST_RATIO = 80
_BASE64 = (string.ascii_letters + string.digits + "+/=").encode()
# A piece of only base64 after another such piece is weights: no name, path or number has 4096 such
# characters in a row, and shorter weights do not matter.
_PIECE = 1 << 12
_CHUNK = 256 * _PIECE
# Everything that zipfile and its decompressors raise for a damaged or encrypted archive.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, struct.error,
)  # fmt: skip


class Members:
    """The JSON members of one ETRecord, used as a context manager.

    edge: method -> member with its edge dialect graph. is_flat: up to 1.1, there is one such
    member, without the method's name. graphs: members with the ATen program and extra graphs. maps:
    which of the maps exist. All methods raise only UnreadableFile or ReadCancelled.
    """

    def __init__(self, path: str, progress: Progress, cancelled: Cancelled) -> None:
        self._path = path
        self._progress = progress
        self._cancelled = cancelled
        self._done = 0
        self.held = 0  # bytes that the contents of the members read before take
        try:
            self._archive = zipfile.ZipFile(path)
            self._all = {info.filename: info for info in self._archive.infolist()}
        except DAMAGED as error:
            raise self._damaged(error) from error
        programs = [n for n in self._all if not n.endswith("/") and not self._is_blob(n)]
        self.is_flat = EDGE in programs
        self.edge = {n[len(EDGE) + 1 :]: n for n in programs if n.startswith(EDGE + "/")}
        if self.is_flat:
            self.edge["forward"] = EDGE
        edge = set(self.edge.values())
        self.graphs = [n for n in programs if n == ATEN or ("/" in n and n not in edge)]
        member_names = (DEBUG_HANDLES, DELEGATES, NUMBER_OF_OUTPUTS, EXPORT_GRAPH)
        self.maps = frozenset(n for n in member_names if n in self._all)
        selected = {*edge, *self.graphs, *self.maps}
        self._total = sum(self._all[n].file_size for n in selected)
        # Members may share bytes of the file, so their sizes are checked as a sum.
        if self._total > MOST_RATIO * os.path.getsize(path):
            self._archive.close()
            raise self._too_big(f"its members would unpack to {self._total:,} bytes", "")

    def __enter__(self) -> Members:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def read(self, name: str) -> bytearray:
        """The text of a member without its weights."""
        result = bytearray()
        was_weights = False
        try:
            with self._archive.open(self._all[name]) as member:
                while chunk := member.read(_CHUNK):
                    stop_if(self._cancelled)
                    for start in range(0, len(chunk), _PIECE):
                        piece = chunk[start : start + _PIECE]
                        is_weights = not piece.translate(None, _BASE64)
                        # The first piece of a run is kept: it may start inside an escape.
                        if not (is_weights and was_weights):
                            result += piece
                        was_weights = is_weights
                    if len(result) > _CHUNK:
                        allowance().take(self.held + 2 * len(result))
                    if len(result) > _MOST_TEXT:
                        raise self._too_big(f"it holds more than {_MOST_TEXT:,} bytes", name)
                    self._done += len(chunk)
                    self._progress(min(self._done, self._total), self._total)
        except DAMAGED as error:
            raise self._damaged(error) from error
        return result

    def constants(self, program: str) -> Iterator[zipfile.ZipInfo]:
        """The members with the parameters, buffers and constants of a program."""
        for end in BLOBS[:2]:
            if program + end in self._all:
                yield self._all[program + end]

    def _is_blob(self, name: str) -> bool:
        return any(name.endswith(end) and name[: -len(end)] in self._all for end in BLOBS)

    def _damaged(self, error: Exception) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"the ETRecord's ZIP archive is damaged ({error})",
            remedy="Copy or save the ETRecord again",
        )

    def _too_big(self, reason: str, where: str) -> UnreadableFile:
        remedy = "ETRecords have uncompressed members: this one was not made by export"
        return UnreadableFile(self._path, reason, where=where, remedy=remedy)


_PICKLE = "data.pkl"
_LARGEST_PICKLE = 1 << 24
_LARGEST_PACKED = 1 << 26
_LOCAL_NAMES = 26  # where a local header states the lengths of its names
# Values that all are 0 or 1 are not searched for in storages beyond this: biases and norms are
# smaller.
_LARGEST_FILL = 1 << 22
_ONE = {
    "FloatStorage": b"\0\0\x80\x3f", "HalfStorage": b"\0\x3c", "BFloat16Storage": b"\x80\x3f",
    "DoubleStorage": b"\0\0\0\0\0\0\xf0\x3f", "BoolStorage": b"\1", "ByteStorage": b"\1",
    "CharStorage": b"\1", "ShortStorage": b"\1\0", "IntStorage": b"\1\0\0\0",
    "LongStorage": b"\1\0\0\0\0\0\0\0",
}  # fmt: skip


def hashes_in(path: str, info: zipfile.ZipInfo) -> Mapping[str, str]:
    """Return `hashes` of a member of an ETRecord.

    Only the end of the member and its pickle are read, so a packed one is not read at all if it is
    large.
    """
    with open(path, "rb") as file:
        if info.compress_type == zipfile.ZIP_STORED:
            return hashes(io.BufferedReader(_Window(file, info)))
        if info.file_size > _LARGEST_PACKED:
            return {}
        with zipfile.ZipFile(file) as archive, archive.open(info) as member:
            return hashes(member)


class _Window(io.RawIOBase):
    """A member that is not packed, as a file. `zipfile` reads all that it skips in one."""

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        self._file, self._size, self._at = file, info.file_size, 0
        file.seek(info.header_offset + _LOCAL_NAMES)
        name, extra = struct.unpack("<HH", file.read(4))
        self._start = info.header_offset + _LOCAL_NAMES + 4 + name + extra

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(offset + (0, self._at, self._size)[whence], 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._start + self._at)
        read = self._file.read(min(len(buffer), max(self._size - self._at, 0)))
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)


def hashes(member: IO[bytes]) -> Mapping[str, str]:
    """Return the hash of every tensor by its name; "" if all of its values are 0 or 1.

    Nothing is returned if the member is damaged, or is no archive.
    """
    try:
        with zipfile.ZipFile(member) as archive:
            inside = {info.filename.partition("/")[2]: info for info in archive.infolist()}
            pickled = inside.get(_PICKLE)
            if pickled is None or pickled.file_size > _LARGEST_PICKLE:
                return {}
            tensors = list(_tensors(archive.read(pickled)))
    except (*DAMAGED, OSError, IndexError, KeyError, MemoryError, TypeError, AttributeError):
        return {}
    hash_of = {}
    for name, kind, key, start in tensors:
        storage = inside.get(f"data/{key}")
        if storage is not None:
            is_fill = _is_fill(storage.CRC, storage.file_size, kind)
            hash_of[name] = "" if is_fill else f"{storage.CRC:08x}:{storage.file_size}:{start}"
    return hash_of


def _tensors(raw: bytes) -> Iterator[tuple[str, str, str, int]]:
    """The name of each tensor, the class and key of its storage, and where in that it starts.

    A tensor is pickled as its name, then ("storage", class, key, device, size), which is a
    persistent id, then its start.
    """
    memo: dict[int, str | None] = {}
    texts: list[str] = []
    last: str | None = None  # the text on top of the stack
    waiting = False
    argument: Any
    for opcode, argument, _ in pickletools.genops(raw):
        name = opcode.name
        if name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            memo[len(memo) if argument is None else argument] = last
            continue
        last = memo.get(argument) if name in ("BINGET", "LONG_BINGET") else None
        if name in ("BINUNICODE", "SHORT_BINUNICODE"):
            last = argument
        elif name == "GLOBAL":
            last = argument.rpartition(" ")[2] if argument.endswith("Storage") else None
        elif name == "BINPERSID":
            waiting = len(texts) > 4
        elif waiting and isinstance(argument, int):
            waiting = False
            yield texts[-5], texts[-3], texts[-2], argument
        if last is not None:
            texts.append(last)


@lru_cache(maxsize=1024)
def _is_fill(crc: int, size: int, kind: str) -> bool:
    """Whether a storage has at most one value, or all of its values are 0 or 1."""
    one_bytes = _ONE.get(kind, b"\1")
    if size <= len(one_bytes):
        return True
    if size > _LARGEST_FILL:
        return False
    return crc in (zlib.crc32(bytes(size)), zlib.crc32(one_bytes * (size // len(one_bytes))))
