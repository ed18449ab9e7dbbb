"""Reads hashes of a program's parameters, buffers and constants, without reading their values.

`torch.save` writes them as a ZIP archive inside the ETRecord: a pickle with the name and the
storage of each, and every storage as a member, of which the archive states the CRC-32. The pickle
is never loaded: its opcodes are read one by one, and only names of tensors and storages are used.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import IO, Any

from viewer.formats.executorch.etrecord.archive import DAMAGED

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
