"""What the Sizes panel shows of a program file, or of two: a row for each part. No Qt.

Everything is computed here, off the GUI thread for a large program; no data of the file is read,
except to find parts with equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.programs.part_pairs import NONE, PartPairs, paired_parts
from viewer.analysis.sizes.file_parts import FilePart, FileParts, file_parts
from viewer.analysis.sizes.groups import duplicates, users_text
from viewer.arrays import Ints
from viewer.codecs.reading import Cancelled, ReadCancelled, never_cancelled
from viewer.program.executable.executable import Executable
from viewer.render.palette import OPERATORS, PLAIN, SLAB, Palette, by_name
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class SizesQuestion:
    """What to show: a program file, and the one to compare it with, if any."""

    space: Workspace
    executable: Executable
    other: Executable | None = None


Call = tuple[int, int]  # method and instruction
User = int | Call  # an operator, or a call


def calls_of(part: FilePart) -> set[Call]:
    """Return the calls that use a part, without those in control flow."""
    return {(use.method, use.instruction) for use in part.uses if not use.chain}


@dataclass(frozen=True, slots=True, eq=False)
class RowColors:
    """What decides the color of each row.

    operator: the only operator that uses it, `NONE` for none or several. without_operator: the
    palette index of a row without one.
    """

    operator: Ints
    without_operator: Palette


@dataclass(frozen=True, eq=False)
class SizesAnswer:
    """The parts of a file, or those of two files side by side.

    a, b: the files; b is None without a comparison. pairs: the rows of both. part_a, part_b: per
    row, indexes into `FileParts.parts`, `NONE` on the side that does not have it. bytes_a, bytes_b:
    their sizes, 0 there.
    """

    question: SizesQuestion
    a: FileParts
    b: FileParts | None
    pairs: PartPairs | None
    part_a: Ints
    part_b: Ints
    bytes_a: Ints
    bytes_b: Ints

    def __len__(self) -> int:
        return len(self.part_a)

    @property
    def is_compared(self) -> bool:
        """Whether there are two files."""
        return self.b is not None

    def sides(self, row: int) -> tuple[tuple[FileParts, FilePart], ...]:
        """Return the parts of a row with their files: that of A, then that of B."""
        sides = []
        for parts, part_rows in ((self.a, self.part_a), (self.b, self.part_b)):
            if parts is not None and part_rows[row] != NONE:
                sides.append((parts, parts.parts[int(part_rows[row])]))
        return tuple(sides)

    def part_in(self, row: int, parts: FileParts) -> FilePart:
        """Return the part of a row in one of the files, which has it."""
        part_rows = self.part_a if parts is self.a else self.part_b
        return parts.parts[int(part_rows[row])]

    def part(self, row: int) -> FilePart:
        """Return the part of a row; that of A, if both files have it."""
        return self.sides(row)[0][1]

    @cached_property
    def larger(self) -> Ints:
        """The bytes of each row: in the file where it is larger."""
        return np.maximum(self.bytes_a, self.bytes_b)

    @cached_property
    def change(self) -> Ints:
        """B less A, in bytes."""
        return self.bytes_b - self.bytes_a

    @cached_property
    def most_bytes(self) -> int:
        """The bytes of the largest row of A, 1 at least."""
        return int(self.bytes_a.max(initial=0)) or 1

    @cached_property
    def most_change(self) -> int:
        """The largest change of a row in bytes, 1 at least."""
        return int(np.abs(self.change).max(initial=0)) or 1

    @cached_property
    def has_operators(self) -> bool:
        """Whether operators are known: the matching ETRecord is open."""
        return any(f is not None and f.program is not None for f in (self.a, self.b))

    @cached_property
    def has_modules(self) -> bool:
        """Whether the ETRecords of all shown files state modules."""
        return all(f is None or f.tree is not None for f in (self.a, self.b))

    def colors(self, of_a: Palette | None, of_b: Palette | None) -> Palette:
        """Return the palette index of every row: that of its operator, or of its kernel.

        of_a, of_b: the index of every operator of each file; None for each its own.
        """
        colors = self.own_colors.without_operator.copy()
        operator = self.own_colors.operator
        is_b = self.part_a == NONE
        for palette, is_side in ((of_a, ~is_b), (of_b, is_b)):
            rows = np.flatnonzero(is_side & (operator != NONE))
            operators = operator[rows]
            colors[rows] = operators % OPERATORS if palette is None else palette[operators]
        return colors

    @cached_property
    def used(self) -> tuple[Mapping[User, Sequence[int]], Mapping[User, Sequence[int]]]:
        """Which rows an operator or a call uses in A, and in B."""
        rows_by_user: tuple[dict[User, list[int]], dict[User, list[int]]] = ({}, {})
        sides = (self.a, self.part_a), (self.b, self.part_b)
        for rows_of, (parts, part_rows) in zip(rows_by_user, sides, strict=True):
            for row, number in enumerate(part_rows.tolist()):
                if parts is not None and number != NONE:
                    part = parts.parts[number]
                    for user in (*part.operators, *calls_of(part)):
                        rows_of.setdefault(user, []).append(row)
        return rows_by_user

    @cached_property
    def own_colors(self) -> RowColors:
        """What decides the color of each row."""
        operator = np.full(len(self), NONE)
        fixed = np.full(len(self), PLAIN, np.uint8)
        kernels: dict[str, list[int]] = {}
        for row in range(len(self)):
            parts, part = self.sides(row)[0]
            if len(part.operators) == 1:
                operator[row] = part.operators[0]
            elif part.operators or (parts.program is None and len(part.users) > 1):
                fixed[row] = SLAB
            elif parts.program is None and part.users:
                kernels.setdefault(users_text(part), []).append(row)
        for name, color in zip(kernels, by_name(list(kernels)), strict=True):
            fixed[kernels[name]] = color
        return RowColors(operator, fixed)


def work_out(question: SizesQuestion) -> SizesAnswer:
    """Answer a question; a pure function."""
    a, b = question.executable, question.other
    of_a = file_parts(a, program_of_executable(question.space, a))
    size_a = np.array([part.size for part in of_a.parts], np.int64)
    if b is None:
        order, none = np.arange(len(size_a)), np.full(len(size_a), NONE)
        return SizesAnswer(question, of_a, None, None, order, none, size_a, np.zeros_like(size_a))
    of_b = file_parts(b, program_of_executable(question.space, b))
    size_b = np.array([part.size for part in of_b.parts], np.int64)
    pairs = paired_parts(of_a, of_b)
    rows = np.array(pairs.rows, np.int64).reshape(-1, 2)
    # The last number is that of a missing part, whose index is -1.
    bytes_a, bytes_b = np.append(size_a, 0)[rows[:, 0]], np.append(size_b, 0)[rows[:, 1]]
    return SizesAnswer(question, of_a, of_b, pairs, rows[:, 0], rows[:, 1], bytes_a, bytes_b)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """Which rows have parts with equal bytes.

    count: per row, how many parts of its file have the same bytes, itself included; 0 for none.
    first: per row, the row of the first of them, else its own. groups, extra: how many such groups
    the file has, and how many parts are the second or a later one. saved: the bytes of these.
    unread, why: parts that could not be compared, and the reason.
    """

    count: Ints
    first: Ints
    groups: int
    extra: int
    saved: int
    unread: int
    why: str


def find_copies(answer: SizesAnswer, cancelled: Cancelled = never_cancelled) -> Copies | None:
    """Read the file where parts have equal sizes; in a comparison, that of A. None if cancelled."""
    try:
        copies = duplicates(answer.a, cancelled)
    except ReadCancelled:
        return None
    size = len(answer)
    row_of_part = np.zeros(len(answer.a.parts), np.int64)
    has_part = answer.part_a != NONE
    row_of_part[answer.part_a[has_part]] = np.flatnonzero(has_part)
    count, first = np.zeros(size, np.int64), np.arange(size)
    for group in copies.groups:
        rows = row_of_part[list(group.parts)]
        count[rows], first[rows] = len(rows), rows[0]
    extra = sum(len(group.parts) - 1 for group in copies.groups)
    return Copies(
        count, first, len(copies.groups), extra, copies.saved, copies.unread, copies.why
    )  # fmt: skip
