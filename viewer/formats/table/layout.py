"""Finds the layout of a table at the start of a text: separator, header, units, first rows.

Before the header may be empty lines, comments (`#`) and a line `sep=;`, as spreadsheets write it.
A comment that has as many cells as the rows below it is their header, as numpy writes it. A row of
units may follow the header. A table without a header has the columns "column 1" and so on. Lines
of dashes, as Markdown and terminals draw them, are no rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from viewer.dataclasses import dataclass
from viewer.formats.table.time_texts import IN_CELLS, is_time_text, unit_of

SEPARATORS = ",\t;|"
SAMPLE_ROWS = 200
COMMENT = "#"
_RULE = re.compile(r"[\s+|:=-]*[-=]{2}[\s+|:=-]*")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Any way to write a number: a sign, digits with separators of thousands and decimals, an exponent.
_NUMBER = re.compile(r"\s*[+-]?[0-9][0-9.,'_ \u00a0\u202f]*(?:[eE][+-]?[0-9]{1,3})?\s*")
_NO_NUMBERS = frozenset(
    ("", "[null]", "null", "none", "nan", "nat", "n/a", "na", "-", "nil", "<na>")
)
# The share of rows that are as wide as the header, or less: other texts have separators, too.
_FIT = 0.8


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is written.

    names: of its columns, "" for one without a name. units: stated for each column, "" for none.
    lines: before the first row. header: the line with the names, "" for none. rows: the cells of
    the first rows, and the numbers of their lines from 1. quoted: whether all names are in quotes.
    above: lines above the header that are no part of the table.
    """

    separator: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    lines: int
    header: str
    rows: tuple[tuple[str, ...], ...]
    row_lines: tuple[int, ...]
    quoted: bool = False
    above: tuple[str, ...] = ()

    @property
    def number_columns(self) -> list[int]:
        """The columns that have only numbers in the first rows, at least one."""
        return [
            column
            for column in range(len(self.names))
            if is_numbers([row[column] for row in self.rows if column < len(row)])
        ]


def is_number(cell: str) -> bool:
    """Whether a cell looks like a number, in any way to write one, or like a time."""
    return _NUMBER.fullmatch(cell) is not None or is_time_text(cell)


def is_no_row(line: str) -> bool:
    """Whether a line, or its first cells, is a comment or a drawn line, without times."""
    return line.lstrip().startswith(COMMENT) or is_rule(line)


def is_rule(text: str) -> bool:
    """Whether a text is a drawn line."""
    return _RULE.fullmatch(text) is not None


def is_no_value(cell: str) -> bool:
    """Whether a cell states that it has no value."""
    return cell.strip().casefold() in _NO_NUMBERS


def is_numbers(cells: Sequence[str]) -> bool:
    """Whether cells are numbers, apart from those without a value; at least one is."""
    return any(map(is_number, cells)) and all(is_number(c) or is_no_value(c) for c in cells)


def layout_of(text: str, *, whole: bool) -> Layout | None:
    """The layout of a table; None if the text is no table.

    whole: whether the text is complete; otherwise its last line is not used.
    """
    lines = lines_of(text, whole=whole)
    index, stated, comment = 0, "", -1
    while index < len(lines):
        line = lines[index].strip("\r\n\ufeff")
        if match := _SEPARATOR_LINE.fullmatch(line):
            stated = match[1]
        elif line.lstrip().startswith(COMMENT):
            comment = index
        elif line.strip(" "):
            break
        index += 1
    if comment >= 0 and index < len(lines):
        above = lines[comment].lstrip("\ufeff \t").removeprefix(COMMENT)
        layout = best_layout([above, *lines[index:]], index - 1, stated)
        if layout is not None and layout.lines == index and _is_headed(layout):
            plain_layout = best_layout(lines[index:], index, stated)
            if plain_layout is None or not _is_headed(plain_layout):
                return layout
    return best_layout(lines[index:], index, stated)


def lines_of(text: str, *, whole: bool) -> list[str]:
    """The lines of a text with their ends. whole: whether the text is; else the last may be cut."""
    lines = _LINE.findall(text)
    if lines and not whole and not lines[-1].endswith("\n"):
        lines.pop()
    return lines


def _is_headed(layout: Layout) -> bool:
    """Whether a table has a header of its own."""
    return bool(layout.header) and bool(layout.number_columns)


def best_layout(
    lines: Sequence[str], before: int, stated: str = "", *, footers: bool = False
) -> Layout | None:
    """The layout whose rows fit the header in the first line best; None if none fit.

    before: number of lines above these. stated: the separator, "" if not known. footers: whether
    narrower lines at the end may follow the rows.
    """
    candidates = [
        (fit, len(layout.number_columns), len(layout.names), layout)
        for separator in (stated or SEPARATORS)
        if (fit_and_layout := _with(separator, lines, before, footers)) is not None
        for fit, layout in [fit_and_layout]
        if sum(fit) >= _FIT
    ]
    return max(candidates, key=lambda each: each[:3])[3] if candidates else None


def _with(
    separator: str, lines: Sequence[str], before: int, footers: bool
) -> tuple[tuple[float, float], Layout] | None:
    """The layout with a separator. footers: whether narrower lines at the end do not count.

    Also the shares of rows that have as many cells as the header, and that have fewer.
    """
    if separator in "\"'\r\n# ":
        return None
    later = _records(lines, separator)
    first = next(later, None)
    if first is None or len(first[0]) < 2:
        return None  # most texts of other kinds, for each of the separators
    records = [first, *later]
    names, first_line, last_line = records[0]
    header = "".join(lines[first_line:last_line]).strip("\r\n")
    rows = [record for record in records[1:] if not is_no_row(separator.join(record[0]))]
    quoted = all(cell.strip()[:1] == '"' for cell in header.split(separator))
    if sum(map(is_number, names)) >= 2:
        rows, last_line, header, quoted = [records[0], *rows], first_line, "", False
        names = [f"column {i + 1}" for i in range(len(names))]
    names = [" ".join(name.strip("\ufeff").split()) for name in names]
    # The last line of a file may be cut.
    widths = [len(row[0]) for row in rows]
    if footers:
        fitting = [i for i, width in enumerate(widths) if width >= len(names)]
        widths = widths[: fitting[-1] + 1] if fitting else widths
    # R writes no name for the numbers of rows, and pandas can leave it out.
    if widths and names[0] and all(width == len(names) + 1 for width in widths):
        names = ["", *names]
    while not names[-1]:
        names.pop()
        if len(names) < 2:
            return None
    units = [unit_of(name) for name in names]
    if rows and (below := _units_row(rows, len(names))):
        units = [unit or unit_below for unit, unit_below in zip(units, below, strict=True)]
        last_line = rows[0][2]
        rows = rows[1:]
    same = sum(len(names) <= width <= len(names) + 1 for width in widths)
    fewer = sum(2 <= width < len(names) for width in widths)
    count = max(len(widths), 1)
    fit = (same / count, fewer / count) if widths else (1.0, 0.0)
    rows = rows[:SAMPLE_ROWS]
    if separator == "|":
        rows = [([cell.strip() for cell in row[0]], row[1], row[2]) for row in rows]
    for column, unit in enumerate(units):
        cells = [row[0][column] for row in rows if column < len(row[0])]
        if not unit and _state_units(cells):
            units[column] = IN_CELLS
    layout = Layout(
        separator,
        tuple(_distinct(names)),
        tuple(units),
        before + last_line,
        header,
        tuple(tuple(row[0]) for row in rows),
        tuple(before + row[1] + 1 for row in rows),
        quoted,
    )
    return fit, layout


def _records(lines: Sequence[str], separator: str) -> Iterator[tuple[list[str], int, int]]:
    """The cells of each row that is not empty, with the numbers of its lines, from and up to."""
    reader = csv.reader(iter(lines), delimiter=separator)
    before = 0
    for _ in range(SAMPLE_ROWS + 2):
        try:
            cells = next(reader, None)
        except csv.Error:
            return
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield cells, before, reader.line_num
        before = reader.line_num


def _state_units(cells: Sequence[str]) -> bool:
    """Whether most cells are times with a unit, and none is a number without, apart from 0."""
    if any(_NUMBER.fullmatch(cell) and cell.strip(" +-0.") for cell in cells):
        return False
    texts = sum(map(is_time_text, cells))
    others = sum(not is_no_value(cell) and not _NUMBER.fullmatch(cell) for cell in cells) - texts
    return texts > 0 and texts >= _FIT * (texts + others)


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """The names, numbered where they repeat: "dur", "dur (2)"."""
    seen: dict[str, int] = {}
    taken = set(names)
    for name in names:
        count = seen[name] = seen.get(name, 0) + 1
        unique = name
        while name and count > 1 and (unique := f"{name} ({count})") in taken:
            count += 1
        taken.add(unique)
        yield unique


def _units_row(rows: Sequence[tuple[list[str], int, int]], width: int) -> list[str] | None:
    """The units that the first row states for columns of numbers; None if it is no such row."""
    cells = [cell.strip() for cell in rows[0][0][:width]]
    cells += [""] * (width - len(cells))
    if any(map(is_number, cells)):
        return None
    units = [unit_of(cell, alone=True) for cell in cells]
    below = [row[0] for row in rows[1:]]
    is_unit = [
        bool(unit) and (not below or is_numbers([row[i] for row in below if i < len(row)]))
        for i, unit in enumerate(units)
    ]
    if not any(is_unit):
        return None
    return [unit if ok else "" for unit, ok in zip(units, is_unit, strict=True)]
