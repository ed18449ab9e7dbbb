"""The file around a program: bundled program, extended header and segments.

A `.pte` starts with a flatbuffer. At byte 8, the extended header "eh00" may follow, with its own
length (24 bytes, or 32 since 1.0), the size of the flatbuffer, and where the segments start. A
`.bpte` is another flatbuffer, which holds a `.pte` as a byte vector. Specified by
schema/extended_header.h and devtools/bundled_program/schema/bundled_program_schema.fbs of
ExecuTorch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.codecs.file_bytes import FileBytes, LazyBytes
from viewer.codecs.flatbuffer import Buffer, Tables
from viewer.codecs.reading import UnreadableFile

PROGRAM, BUNDLED = b"ET12", b"BP08"
DAMAGED = "The file is damaged or truncated: copy it again, or export it again"
_HEADER, _HEADER_AT = b"eh00", 8
_LEAST_HEADER = 24
_LEAST = 16  # bytes of the smallest flatbuffer with an identifier and a root table
_PROGRAM_SLOT = 2


@dataclass(frozen=True, slots=True)
class Container:
    """A program file.

    content: the `.pte`, which may be inside another file. base: where it starts in the file.
    program_size: bytes of its flatbuffer. header: length of the extended header, 0 without one.
    segment_base: where the segments start in `content`. size: of the whole file.
    """

    content: LazyBytes
    base: int
    program_size: int
    header: int
    segment_base: int
    size: int

    @property
    def is_bundled(self) -> bool:
        """Whether the program is inside a bundled program."""
        return len(self.content) < self.size

    def program(self) -> Buffer:
        """The flatbuffer of the program."""
        return Buffer(self.content.part(0, self.program_size))


def sniff(head: bytes) -> bool:
    """Whether it has the identifier of a program or of a bundled program."""
    return head[4:8] in (PROGRAM, BUNDLED)


def open_container(path: str) -> Container:
    """Open a file and find the program in it. Raises UnreadableFile, OSError, `Malformed`.

    Only blocks with tables are read: weights never are.
    """
    content = LazyBytes(FileBytes(path))
    size = len(content)
    if size < _LEAST:
        raise UnreadableFile(
            path, "the file ends before its program starts", where="byte 0", remedy=DAMAGED
        )
    base = 0
    if content.raw(4, 8) == BUNDLED:
        base, length = _bundled_program(content)
        content = content.part(base, base + length)
    if len(content) < _LEAST or content.raw(4, 8) != PROGRAM:
        raise UnreadableFile(
            path,
            "this is not an ExecuTorch program (no ET12)",
            where=f"byte {base + 4}",
            remedy="Choose the .pte file that the export wrote",
        )
    return _with_header(path, content, base, size)


def _bundled_program(content: LazyBytes) -> tuple[int, int]:
    """Position and size of the program in a bundled program."""
    buffer = Buffer(content)
    root = Tables(buffer, np.array([_u4(content, 0)]), "bundled program")
    first, length = buffer.vectors(root.targets(_PROGRAM_SLOT), 1, "program of a bundle")
    return int(first[0]), int(length[0])


def _with_header(path: str, content: LazyBytes, base: int, size: int) -> Container:
    """Read the extended header, if there is one."""
    position = _HEADER_AT
    if content.raw(position, position + 4) != _HEADER:
        return Container(content, base, len(content), 0, 0, size)
    length = _u4(content, position + 4) if len(content) >= position + _LEAST_HEADER else 0
    if length < _LEAST_HEADER:
        raise UnreadableFile(
            path,
            f"the extended header has {length} bytes, but needs at least {_LEAST_HEADER}",
            where=f"byte {base + position}",
            remedy=DAMAGED,
        )
    program, segments = _u8(content, position + 8), _u8(content, position + 16)
    if not _LEAST <= program <= len(content):
        raise UnreadableFile(
            path,
            f"the program should have {program} bytes, but has {len(content)}",
            where=f"byte {base + position + 8}",
            remedy=DAMAGED,
        )
    return Container(content, base, program, length, segments, size)


def _u4(content: LazyBytes, position: int) -> int:
    return int.from_bytes(content.raw(position, position + 4), "little")


def _u8(content: LazyBytes, position: int) -> int:
    return int.from_bytes(content.raw(position, position + 8), "little")
