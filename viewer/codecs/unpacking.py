"""One budget for all that is unpacked: gzip, ZIP archives, workbooks, and what is downloaded.

What a packed file states about its size is not believed: bytes are counted as they come, and
compared with the packed bytes that they come from. What is written to the disk leaves room there,
and is taken from the memory budget where the temporary folder is in memory.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Protocol

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, UnreadableFile, never_cancelled, stop_if
from viewer.codecs.system_memory import is_in_memory

if TYPE_CHECKING:
    import zipfile

# A real PyTorch trace is packed 13:1, the sheet of a workbook with equal rows 60:1; a list of one
# event repeated, 340:1. Deflate cannot exceed 1032:1.
MOST_RATIO = 300
# Bytes that any file may become: they are unpacked in a tenth of a second.
ALWAYS = 16 << 20
# What other programs need of the disk.
_ROOM = 64 << 20
_CHUNK, _STEP = 1 << 20, 1 << 13


class Unpacked:
    """The bytes that come out of a packed file.

    what: what grows, as the start of a sentence. ratio, always: it may have `ratio` bytes for each
    packed one, and `always` bytes in addition.
    """

    def __init__(
        self, path: str, what: str = "it", ratio: int = MOST_RATIO, always: int = ALWAYS
    ) -> None:
        self.count = 0
        self._path, self._what, self._ratio, self._always = path, what, ratio, always

    def add(self, count: int, packed: int) -> None:
        """Count bytes, which with those before come from so many. Raises UnreadableFile."""
        self.count += count
        if self.count > self._ratio * packed + self._always:
            raise UnreadableFile(
                self._path,
                f"{self._what} grows {self._ratio} times or more when unpacked, which no usual "
                "profile does",
                remedy="Unpack it, and open the file, if you trust it",
            )


class Readable(Protocol):
    """What is read in order."""

    def read(self, most: int, /) -> bytes:
        """Up to `most` more bytes; b"" only at the end."""


class UnpackedMember:
    """A member of a ZIP archive, unpacked while it is read."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        info: zipfile.ZipInfo,
        what: str,
        ratio: int = MOST_RATIO,
        always: int = ALWAYS,
    ) -> None:
        """what, ratio, always: as for `Unpacked`. Raises what `zipfile` raises if it is damaged."""
        self._file = archive.open(info)
        assert archive.fp is not None
        self._packed, self._begin = archive.fp, archive.fp.tell()
        self._unpacked = Unpacked(archive.filename or "", what, ratio, always)

    def read(self, most: int) -> bytes:
        """Up to `most` more bytes. Raises UnreadableFile."""
        parts: list[bytes] = []
        while most > 0:
            # As many packed bytes are read ahead at most.
            got = self._file.read(min(most, _STEP))
            if not got:
                break
            self._unpacked.add(len(got), self._packed.tell() - self._begin)
            parts.append(got)
            most -= len(got)
        return b"".join(parts)

    def __enter__(self) -> UnpackedMember:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def write_temporary(
    source: Readable,
    to: str,
    of: str,
    cancelled: Cancelled = never_cancelled,
) -> None:
    """Write a stream to a file in a temporary folder.

    of: what it is from, for errors. Raises UnreadableFile, ReadCancelled, NotEnoughMemory, OSError.
    """
    folder = os.path.dirname(to)
    in_memory = is_in_memory(folder)
    count = 0
    with open(to, "wb") as target:
        while chunk := source.read(_CHUNK):
            stop_if(cancelled)
            count += len(chunk)
            if shutil.disk_usage(folder).free < _ROOM + _CHUNK:
                raise UnreadableFile(
                    of,
                    f"it needs more room than the temporary folder {os.path.dirname(folder)} has",
                    remedy="Set TMPDIR to a folder on a larger disk",
                )
            if in_memory:
                allowance().take(count)
            target.write(chunk)
