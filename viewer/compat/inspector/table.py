"""The Inspector's visible table in two formats: tab-separated text and a boxed grid.

Both match the official tool byte for byte: lists in Python syntax, nothing for an absent value,
`True` and `False`, numbers in full in the TSV and with six digits in the grid. The official tool
uses pandas and tabulate ("fancy_grid"). The few rules that its columns need are reimplemented here,
without those dependencies and their guesses about arbitrary tables.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from typing import BinaryIO

NUMBERS = ("p10", "p50", "p90", "avg", "min", "max")
METADATA = "delegate_debug_metadata"
FULL_LIST = 5  # from this many operators on, a cell names the first two and the last


class AnswerTable:
    """Named columns of equal length; cells are None, bool, int, float, str or lists of those."""

    def __init__(self, columns: dict[str, Sequence[object]]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def write_tsv(self, file: BinaryIO) -> None:
        """Write a header, and the rows with their numbers in the first column."""
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="", write_through=False)
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *self.columns])
        writer.writerows(zip(range(len(self)), *self.columns.values(), strict=True))
        text.detach()

    def grid(self) -> Iterator[str]:
        """Yield the lines of a boxed table."""
        numbers = [str(i) for i in range(len(self))]
        columns = [("", numbers, True)]
        columns += [(name, *_cells(values)) for name, values in self.columns.items()]
        widths = [
            max(_width(name) + 2, max(map(_width, cells), default=0)) for name, cells, _ in columns
        ]
        right = [is_right for _, _, is_right in columns]

        def rule(left: str, between: str, end: str, line: str) -> str:
            return left + between.join(line * (width + 2) for width in widths) + end

        def row(cells: Sequence[str]) -> str:
            padded = (
                _padded(cell, width, is_right)
                for cell, width, is_right in zip(cells, widths, right, strict=True)
            )
            return f"│ {' │ '.join(padded)} │"

        yield rule("╒", "╤", "╕", "═")
        yield row([name for name, _, _ in columns])
        for i, cells in enumerate(zip(*(cells for _, cells, _ in columns), strict=True)):
            yield rule("├", "┼", "┤", "─") if i else rule("╞", "╪", "╡", "═")
            yield row(cells)
        yield rule("╘", "╧", "╛", "═")


def shown_ops(ops: Sequence[str]) -> list[str] | str:
    """Return a cell's operators: a list, or from five on a text with the first two and the last."""
    if len(ops) < FULL_LIST:
        return list(ops)
    return f"['{ops[0]}', '{ops[1]}' ... '{ops[-1]}'] ({len(ops)} total)"


def _cells(values: Sequence[object]) -> tuple[list[str], bool]:
    """Return a column's texts, aligned at the decimal point, and whether it is right-aligned."""
    if not any(isinstance(v, float) for v in values):
        return ["" if v is None else _one_line(str(v)) for v in values], False
    texts = ["" if v is None else format(v, "g") for v in values]
    after = [_after_point(text) for text in texts]
    most = max(after)
    return [t + " " * (most - n) for t, n in zip(texts, after, strict=True)], True


def _after_point(number: str) -> int:
    """Return the number of characters after the point, else after the "e"; -1 for integers."""
    position = max(number.rfind("."), -1)
    position = position if position >= 0 else number.rfind("e")
    return len(number) - position - 1 if position >= 0 else -1


def _one_line(text: str) -> str:
    """Return a cell as one line, with unprintable text escaped."""
    return text.strip() if text.isprintable() else text.encode("unicode_escape").decode().strip()


def _padded(text: str, width: int, is_right: bool) -> str:
    fill = " " * (width - _width(text))
    return fill + text if is_right else text + fill


def _width(text: str) -> int:
    """Return the width in terminal columns: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
