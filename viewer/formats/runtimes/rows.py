"""Rows of text tables with their line numbers, in bounded memory, and exact durations."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats.text_rows import DistinctTexts, argument_column, chunks_of_lines, decoded
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Column

NO_TIME = "row without a usable time: left out"
# Bytes of a row at the peak: its cells as texts, and its arguments. Not measured.
_ROW_MEMORY = 600
# Commas separate thousands only. A decimal comma is no time: 1,5 must not become 15.
_NUMBER = re.compile(
    r"(?:[0-9]{1,18}|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5})(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,2})?"
)
_MOST_NS = 1 << 61


def lines_of(
    path: str, builder: TraceBuilder, progress: Progress, cancelled: Cancelled
) -> Iterator[tuple[int, list[str]]]:
    """Lines in parts, each with the number of its first line. Raises as `chunks_of_lines`."""
    for first, raw in chunks_of_lines(path, progress, cancelled):
        # Lines that end in CR only are one line to the file, and several to csv.
        text = decoded(b"".join(raw), first, builder).replace("\r", " ").replace("\0", " ")
        yield first, text.split("\n")[: len(raw)]


def rows_of(
    path: str,
    builder: TraceBuilder,
    progress: Progress,
    cancelled: Cancelled,
    *,
    keeps_spaces: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV, each with its line number; no empty rows.

    keeps_spaces: spaces around cells are kept. Raises
    UnreadableFile, ReadCancelled and NotEnoughMemory.
    """
    count = 0
    for first, lines in lines_of(path, builder, progress, cancelled):
        rows = csv.reader(lines, skipinitialspace=not keeps_spaces)
        try:
            for row in rows:
                if any(row):
                    count += 1
                    cells = row if keeps_spaces else [cell.strip() for cell in row]
                    yield first + rows.line_num - 1, cells
        except csv.Error as error:
            line = first + rows.line_num - 1
            raise UnreadableFile(
                path, f"the row cannot be parsed ({error})", where=f"line {line}"
            ) from error
        allowance().take(count * _ROW_MEMORY)


def header_row(line: str) -> list[str]:
    """The cells of a line that may be the header of a CSV, [] if it cannot be parsed."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]
    except csv.Error:
        return []


def lines_of_head(head: bytes) -> Sequence[str]:
    """The lines in the first bytes of a file, the last one possibly cut."""
    return head.decode("utf-8-sig", "replace").replace("\0", " ").splitlines()


def amount(text: str) -> Fraction | None:
    """A number of at least 0, exactly as written; None if it is none, or too large for a time."""
    if not _NUMBER.fullmatch(text):
        return None
    value = Fraction(text.replace(",", ""))
    return value if value < _MOST_NS else None


def ticks_of(text: str, per_unit: int) -> int | None:
    """A time in whole ticks, rounded; None if it is no time. per_unit: ticks of its unit."""
    value = amount(text)
    if value is None or value * per_unit >= _MOST_NS:
        return None
    return round(value * per_unit)


def columns_of(arguments: Mapping[str, Mapping[int, str]], count: int) -> dict[str, Column]:
    """Columns of `count` slices from the texts that some have: of numbers, if all are numbers."""
    return {name: _column(found, count) for name, found in arguments.items()}


def _column(found: Mapping[int, str], count: int) -> Column:
    known = DistinctTexts({"": 0})
    codes = np.zeros(count, np.uint32)
    codes[np.fromiter(found, np.int64, len(found))] = known.codes(list(found.values()))
    return argument_column(codes, tuple(known))
