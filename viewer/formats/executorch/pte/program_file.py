"""Opens a program file: what is around the program, and what the steps of reading it share.

A `.pte` starts with a flatbuffer. At byte 8, the extended header "eh00" may follow, with its own
length (24 bytes, or 32 since 1.0), the size of the flatbuffer, and where the segments start. A
`.bpte` is another flatbuffer, which holds a `.pte` as a byte vector. Specified by
schema/extended_header.h and devtools/bundled_program/schema/bundled_program_schema.fbs of
ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.codecs.file_bytes import FileBytes, LazyBytes
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables, distinct_texts, elements, numbers_in
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats.executorch.schema import decoded
from viewer.model.trace import Problem

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


# The largest language models have some ten thousand instructions.
MOST_OBJECTS = 1 << 20
MOST_METHODS = 4096
MOST_DELEGATES = 1 << 16
# Of columns: a file of 100 MB could claim 2 GB of them.
MOST_VALUES = 1 << 21
_MOST_NUMBERS = 1 << 22
# Of one segment, and of the XNNPACK graphs of a file: people look at them one by one. The largest
# language models have some ten thousand.
MOST_CONSTANTS = 1 << 18
MOST_TEXT = 256  # bytes of a name; operators have up to 60
# Bytes of the columns and the object of a table at the peak. Not measured.
_TABLE_MEMORY = 150
_LEAST_TABLE = 8  # bytes: an offset and the head of a table


class Problems:
    """Counts unexpected data; only the place of the first occurrence is stored."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def count(self, kind: str, count: int, first: str) -> None:
        """Count a problem; nothing if `count` is 0."""
        if count:
            had, where = self._found.get(kind, (0, first))
            self._found[kind] = (had + count, where)

    def count_rows(self, kind: str, rows: Ints, place: Callable[[int], str]) -> None:
        """Count a problem of rows of a column; `place` names the first one."""
        self.count(kind, len(rows), place(int(rows[0])) if len(rows) else "")

    def found(self) -> tuple[Problem, ...]:
        """All problems, in the order in which they were first found."""
        return tuple(Problem(kind, n, where) for kind, (n, where) in self._found.items())


@dataclass(frozen=True, slots=True)
class Children:
    """The tables in the vectors of a slot, parent after parent.

    at: their positions in the file. count: how many each parent has. bounds: parents + 1 positions
    of each parent's first one.
    """

    tables: Tables
    at: Ints
    count: Ints
    bounds: Ints

    def __len__(self) -> int:
        return len(self.at)

    @property
    def parent(self) -> Ints:
        """The parent of each."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def place(self, what: str) -> Callable[[int], str]:
        """Names one of them by its number and its parent's: "value 3 of method 0"."""

        def place(row: int) -> str:
            parent = int(np.searchsorted(self.bounds, row, side="right")) - 1
            return f"{what} {row - int(self.bounds[parent])} of method {parent}"

        return place

    @property
    def position(self) -> Ints:
        """The position of each in its parent's vector."""
        return np.arange(len(self.at)) - np.repeat(self.bounds[:-1], self.count)


@dataclass(frozen=True, slots=True)
class Lists:
    """The numbers in the vectors of a slot, parent after parent; bounds as in `Children`."""

    values: NDArray[np.int64]
    bounds: Ints

    def of(self, parent: int) -> tuple[int, ...]:
        """The numbers of one parent."""
        return tuple(self.values[self.bounds[parent] : self.bounds[parent + 1]].tolist())

    @property
    def parent(self) -> Ints:
        """The parent of each number."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))


class ProgramTables:
    """Reads tables, numbers and texts of one flatbuffer; all methods raise `Malformed`."""

    def __init__(self, buffer: Buffer, problems: Problems) -> None:
        self.buffer = buffer
        self.problems = problems
        self._taken = 0  # bytes that all tables take, about

    def root(self) -> Tables:
        """The root table."""
        positions = np.zeros(1, np.int64)
        return Tables(self.buffer, positions + self.buffer.u4(positions), "root table")

    def children(self, parents: Tables, slot: int, what: str, most: int = MOST_OBJECTS) -> Children:
        """The tables that a slot of some tables lists; at most `most`."""
        first, length = self.buffer.vectors(parents.targets(slot), 4, what)
        _check_count(first, length, what, most)
        self._taken += int(length.sum()) * _TABLE_MEMORY
        allowance().take(self._taken)
        positions = elements(self.buffer, first, length, what, _LEAST_TABLE)
        return Children(
            Tables(self.buffer, positions, f"entry of the {what}"),
            positions,
            length,
            _bounds(length),
        )

    def of(self, positions: Ints, what: str) -> Tables:
        """Tables at positions."""
        return Tables(self.buffer, positions, what)

    def numbers(self, parents: Tables, slot: int, what: str) -> Lists:
        """The vectors of 32-bit numbers in a slot of some tables."""
        first, length = self.buffer.vectors(parents.targets(slot), 4, what)
        _check_count(first, length, what, _MOST_NUMBERS)
        values = numbers_in(self.buffer, first, length, np.int32, what)
        return Lists(values.astype(np.int64), _bounds(length))

    def long_numbers(self, parents: Tables, slot: int, what: str) -> Lists:
        """The vectors of 64-bit numbers in a slot of some tables."""
        first, length = self.buffer.vectors(parents.targets(slot), 8, what)
        _check_count(first, length, what, _MOST_NUMBERS)
        return Lists(numbers_in(self.buffer, first, length, np.int64, what), _bounds(length))

    def texts(self, positions: Ints, what: str) -> tuple[NDArray[np.int32], list[str]]:
        """Codes of strings at positions, -1 for none, and the distinct texts."""
        codes, texts = distinct_texts(self.buffer, positions, what)
        long = [text for text in texts if len(text) > MOST_TEXT]
        self.problems.count(
            f"a name of more than {MOST_TEXT} bytes was cut", len(long), f"in {what}"
        )
        cut = [text[:MOST_TEXT] for text in texts]
        return codes, decoded(cut, self.problems.count)


def _bounds(length: Ints) -> Ints:
    return np.append(0, np.cumsum(length))


def _check_count(first: Ints, length: Ints, what: str, most: int) -> None:
    total = int(length.sum())
    if total > most:
        raise Malformed(int(first[0]) - 4, f"{what} has {total} entries, but only {most} are read")
