"""Reads what is packed with Zstandard, xz or bzip2 in order, as `unpacking` reads gzip.

A file may have several members one after another, as `cat` and parallel packers write them, and
zeros between them. Where it is damaged, what can be unpacked before is read, and `fault` says why.
"""

from __future__ import annotations

import bz2
import lzma
import os
import sys
from collections.abc import Callable
from typing import Protocol, cast

from viewer.codecs.unpacking import Unpacked

_MOST_MEMORY = 128 << 20  # of xz, which files state; those of xz -9 need 65 MiB
_STEP = 1 << 16
_FINE = 256
_ZSTANDARD, _XZ, _BZIP2 = "Zstandard", "xz", "bzip2"


class _Unpacker(Protocol):
    """One member; of `bz2`, `lzma` and `compression.zstd`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def packing_of(head: bytes) -> str:
    """What packed a file, by its first bytes: "Zstandard", "xz" or "bzip2"; "" if none of them."""
    # Parallel packers of Zstandard begin with a frame that is skipped.
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        return _ZSTANDARD
    if head[:6] == b"\xfd7zXZ\0":
        return _XZ
    is_bzip2 = head[:3] == b"BZh" and head[3:4].isdigit()
    return _BZIP2 if is_bzip2 and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90") else ""


def _maker(packing: str) -> tuple[Callable[[], _Unpacker], tuple[type[Exception], ...]]:
    """What makes the unpacker of a member, and the errors that it raises."""
    if packing == _BZIP2:
        return bz2.BZ2Decompressor, (OSError,)
    if packing == _XZ:
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY), (lzma.LZMAError,)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return cast(Callable[[], _Unpacker], zstd.ZstdDecompressor), (zstd.ZstdError,)


class PackedStream:
    """The unpacked bytes of a file, in order."""

    def __init__(self, path: str) -> None:
        """Open a file of one of these packings. Raises OSError."""
        self._file = open(path, "rb")  # noqa: SIM115 - `__exit__` closes it
        self._packing = packing_of(self._file.read(16))
        self._new, self._errors = _maker(self._packing)
        self._count = Unpacked(path)
        self._begin = self._returned = 0  # where the member begins, and its bytes that were read
        self._last = 0  # where the packed bytes begin that were read last
        self._file.seek(0)
        self._unpack = self._new()
        self.fault = ""  # why it could not be read to its end

    def read(self, most: int) -> bytes:
        """Up to `most` more bytes; b"" at the end, or where it is damaged.

        Raises UnreadableFile if it grows beyond all measure.
        """
        while not self.fault:
            if self._unpack.eof and not self._next_member():
                return b""
            data = b""
            if self._unpack.needs_input:
                self._last = self._file.tell()
                data = self._file.read(_STEP)
                if not data:
                    self.fault = f"the {self._packing} file is truncated"
                    return b""
            try:
                got = self._unpack.decompress(data, most)
            except self._errors as error:
                self.fault = f"the {self._packing} file is damaged ({error})"
                return self._before_damage()
            if got:
                self._returned += len(got)
                self._count.add(len(got), self._file.tell())
                return got
        return b""

    def _next_member(self) -> bool:
        """Begin the next member, and return whether there is one."""
        self._file.seek(-len(self._unpack.unused_data), os.SEEK_CUR)
        while (head := self._file.read(16)) and not head.strip(b"\0"):
            pass
        zeros = len(head) - len(head.lstrip(b"\0"))
        self._begin, self._returned = self._file.seek(zeros - len(head), os.SEEK_CUR), 0
        if head and packing_of(self._file.read(16)) != self._packing:
            self.fault = f"bytes behind the {self._packing} file: not read"
            head = b""
        self._file.seek(self._begin)
        self._unpack = self._new()
        return bool(head)

    def _before_damage(self) -> bytes:
        """The bytes of this member before its damage that were not read, from its start again."""
        unpack, skip = self._new(), self._returned
        parts: list[bytes] = []
        self._file.seek(self._begin)
        try:
            while not unpack.eof:
                position = self._file.tell()
                is_fine = position >= self._last
                size = 1 if is_fine else min(_STEP, self._last - position)
                data = self._file.read(size) if unpack.needs_input else b""
                if unpack.needs_input and not data:
                    break
                got = unpack.decompress(data, _FINE if is_fine else _STEP)
                parts.append(got[skip:])
                skip = max(skip - len(got), 0)
                self._count.add(len(parts[-1]), position)
        except self._errors:
            pass  # here it is damaged
        return b"".join(parts)

    def __enter__(self) -> PackedStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
