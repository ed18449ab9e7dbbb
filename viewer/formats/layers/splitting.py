"""Splits lines of a table into cells: separators, boxes, Markdown, columns of fixed width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

SEPARATORS = "\t;,|"
BARS = "│┃║|"
_RULE = re.compile(r"[\s\-=+_*~:|\u2500-\u257f]{3,}")
# What draws rules in boxes: they can be in the line of a row, if a line end is lost.
_RULERS = "".join(sorted(set(map(chr, range(0x2500, 0x2580))) - set(BARS)))
_GAPS = re.compile(r"\S+(?: \S+)*")
_MARKED = re.compile(r"(\*\*|__|\*|`+)([^*`]+)\1")
_NUMBERED = re.compile(r"\s*[0-9]{1,9}(?=\s)")
_TOKENS = re.compile(r"\S+")


def is_rule(line: str) -> bool:
    """Whether a line only draws: `----`, `|---|:--:|`, `├──┼──┤`."""
    return _RULE.fullmatch(line) is not None and len(set(line.strip()) - set("|│┃║ ")) > 0


@dataclass(slots=True)
class Barred:
    """Cells between bars: boxes and Markdown. There may be one at both ends of a line."""

    bar: str

    def header(self, line: str, below: Sequence[str] = ()) -> list[str]:
        """The cells of a header."""
        return self.row(line)

    def row(self, line: str) -> list[str]:
        """The cells of a row, [] if the line is none."""
        text = line.strip().strip(_RULERS).strip()
        if self.bar not in text:
            return []
        text = text.removeprefix(self.bar).removesuffix(self.bar)
        if self.bar == "|":
            parts = re.split(r"(?<!\\)\|", text)
            return [_unmarked(part.strip()).replace(r"\|", "|") for part in parts]
        return [part.strip() for part in text.split(self.bar)]


def _unmarked(cell: str) -> str:
    """A cell of Markdown without what makes it bold, or code."""
    match = _MARKED.fullmatch(cell)
    return match[2] if match else cell.strip("`")


@dataclass(slots=True)
class Spaced:
    """Columns of fixed width.

    Two spaces separate headings, or one below which a cell of each row begins, if rows have more
    cells than that. A row has the cells between such gaps. If these are not as many as the
    headings, because some are empty, each belongs to the heading above it; the last column takes
    the rest of the line.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)

    def header(self, line: str, below: Sequence[str] = ()) -> list[str]:
        """The cells of a header; its rows are split accordingly. below: the next rows."""
        line = line.expandtabs().rstrip()
        rows = [row.expandtabs().rstrip() for row in below]
        spans = [match.span() for match in _GAPS.finditer(line)]
        # A column of numbers of rows has no heading, as pandas prints it.
        if rows and all(
            (number := _NUMBERED.match(row)) and spans and number.end() <= spans[0][1]
            and len(_GAPS.findall(row)) == len(spans) + 1
            for row in rows
        ):  # fmt: skip
            self.spans = [(0, 1), *spans]
            return ["", *(line[first:end] for first, end in spans)]
        if rows and all(len(_GAPS.findall(row)) == len(spans) for row in rows):
            self.spans = spans
            return [line[first:end] for first, end in spans]
        spans = []
        for match in _TOKENS.finditer(line):
            first, end = match.span()
            if spans and first - spans[-1][1] == 1 and not _is_border(line, first, rows):
                spans[-1] = spans[-1][0], end
            else:
                spans.append((first, end))
        self.spans = spans
        return [line[first:end] for first, end in spans]

    def row(self, line: str) -> list[str]:
        """The cells of a row, [] if the line is none."""
        line = line.expandtabs().rstrip()
        width = len(self.spans)
        for pattern in (_GAPS, _TOKENS):
            matches = list(pattern.finditer(line))
            is_whole = pattern is _GAPS or self._are_below(matches)
            if not matches or (len(matches) == width and is_whole):
                return [match[0] for match in matches]
        cells = [""] * width
        ends = [0] * width
        index = 0
        for match in _TOKENS.finditer(line):
            first, end = match.span()
            # A word stays in the cell before it, unless a heading is above it alone.
            column = self._column(first, end)
            if not (index < width and cells[index] and first - ends[index] == 1
                    and column <= index + 1 and first != self.spans[column][0]):  # fmt: skip
                index = max(index, column)
            cells[index] = (
                f"{cells[index]}{line[ends[index] : first]}{match[0]}" if cells[index] else match[0]
            )
            ends[index] = end
        return cells

    def _are_below(self, words: Sequence[re.Match[str]]) -> bool:
        """Whether no word stands below another heading than its own.

        A row with an empty cell and a space in another has as many words as there are headings.
        """
        return all(
            min(end, word.end()) > max(first, word.start()) or self._shared(*word.span()) <= 0
            for word, (first, end) in zip(words, self.spans, strict=False)
        )

    def _shared(self, first: int, end: int) -> int:
        """How many characters of a cell are below a heading."""
        return max(min(end, e) - max(first, s) for s, e in self.spans)

    def _column(self, first: int, end: int) -> int:
        """The column whose heading a cell is below, or nearest to."""
        shared = [min(end, e) - max(first, s) for s, e in self.spans]
        return max(range(len(shared)), key=shared.__getitem__)


def _is_border(line: str, position: int, rows: Sequence[str]) -> bool:
    """Whether a heading that follows after one space is a column: each row has a cell there."""
    if line[position] in "([{<%" or not rows:
        return False
    return all(
        row[position - 1 : position] == " " and row[position : position + 1].strip() for row in rows
    )


def splitters(line: str) -> Sequence[Barred | Spaced]:
    """What can split a line that is no CSV."""
    text = line.strip()
    barred = [Barred(bar) for bar in BARS if text.startswith(bar)]
    return [*barred, Spaced()]
