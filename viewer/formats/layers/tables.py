"""Finds the tables of layers in a text or in JSON, and collects their rows with their lines.

Lines become cells by separators, boxes, Markdown, or columns of fixed width. In JSON, tables are
arrays of objects, wherever they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress
from viewer.dataclasses import dataclass, field
from viewer.formats.json_objects import (
    DEEPEST,
    first_objects,
    has_events,
    is_json,
    parsed,
    read_json,
)
from viewer.formats.layers.headings import (
    HINTS,
    NAME,
    PATTERNS,
    STATUS,
    Columns,
    Known,
    Pattern,
    duration,
    is_duration,
    known_of,
    recognized,
    stated_columns_of,
    words_of,
)
from viewer.formats.table.column_roles import MARK, PHASE_OF, recognized_names
from viewer.formats.table.stated_columns import UNIT as STATED_UNIT
from viewer.formats.table.stated_columns import stated_columns
from viewer.formats.table.time_texts import parse_unit, split_unit, units_row
from viewer.formats.text_rows import UNFIT, TableRows, header_row, lines_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import LAYER_TYPE as TYPE
from viewer.model.recorded_names import LAYER_UNIT as UNIT
from viewer.model.text import bytes_text
from viewer.model.times import format_time

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


NOT_RUN = frozenset(("not_run", "optimized_out", "not run", "optimized out", "skipped"))
# `[11/28/2026-10:00:00] [I] ` of TensorRT's log, `D RKNN: [10:00:00.000] ` of RKNN's.
_PREFIX = re.compile(r"(?:\[[0-9][^\]\n]{4,40}\] )?\[[VIWEF]\] |[DIWE] RKNN: \[[0-9:.]{5,20}\] ")
_TOTAL = re.compile(r"(?i)(?:grand |over)?(?:total|sum|all layers)\b")
_TOTAL_LINE = re.compile(
    r"(?i)\s*((?:self \w{1,20} time )?(?:total|sum)\b[^:=\n]{0,80}?)\s*[:=]"
    r"\s*([0-9][0-9.,]{0,30})\s*([a-zµμ]{0,12})\s*(?:[,;(].*)?$"
)
_RUNS = re.compile(r"=== Profile \(([0-9]{1,9}) iterations ?\) ===")
# What a header or a row of a pattern has; other lines need no splitting.
_HINTS = ("time", "dur", "latency", "elapsed", "avg", "average", "mean", "median", "p50", "total",
          "cycle", "took", "cost", "ms ", *filter(str.isascii, HINTS))  # fmt: skip
_ALL_HINTS = (*_HINTS, *HINTS)
# What is no row: the separator, as spreadsheets state it, and the fence of a text in Markdown.
_QUOTED = re.compile(r"\"?sep=.?\"?|`{3,}\w*|>", re.IGNORECASE)
_LONGEST_HEADER = 8192
_LOOK_AHEAD = 3
_ROW_MEMORY = 600


@dataclass(slots=True)
class Table:
    """A table: its columns, its rows with their lines, and what it states as its total.

    rows: (line, cells). totals: (line, cells of the row, or a text and its amount). title: of the
    tool, "" if it is not known. is_json: whether numbers are those of JSON.
    """

    columns: Columns
    line: int
    title: str = ""
    is_json: bool = False
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    totals: list[tuple[int, str, str]] = field(default_factory=list)  # line, amount, unit


@dataclass(frozen=True, slots=True)
class Start:
    """Where the first table of a text is, and how its lines are split.

    separator: "" if `splitter` or `pattern` splits them.
    """

    columns: Columns
    separator: str = ""
    splitter: Barred | Spaced | None = None
    pattern: Pattern | None = None


def has_hint(text: str) -> bool:
    """Whether a text can have a header: a word of a duration."""
    text = text.lower()
    return any(map(text.__contains__, _HINTS if text.isascii() else _ALL_HINTS))


def header_of(cells: Sequence[str]) -> Columns | None:
    """The columns of a header: as the user stated them, else by their headings."""
    stated = stated_columns()
    name, length = stated.get("name"), stated.get("dur")
    if stated.get("start") or stated.get("end"):
        return None
    if name and length:
        return stated_columns_of(list(cells), name, length, stated.get(STATED_UNIT) or "")
    columns = recognized(cells)
    unit = stated.get(STATED_UNIT) or ""
    if columns is not None and not columns.unit and unit:
        return Columns(columns.headings, columns.length, unit, columns.what, columns.roles)
    return columns


def is_total(columns: Columns, row: Sequence[str]) -> bool:
    """Whether a row has the sum of the others: its first cells are a word for it."""
    name = columns.cell(NAME, row) or columns.cell(TYPE, row) or next(filter(None, row), "")
    kind = columns.cell(TYPE, row)
    return _TOTAL.match(name) is not None and (
        not kind or kind == name or NAME not in columns.roles
    )


def is_not_run(columns: Columns, row: Sequence[str]) -> bool:
    """Whether a row states that its layer did not run."""
    return columns.cell(STATUS, row).casefold().rpartition(".")[2] in NOT_RUN


def start_of(lines: Sequence[str]) -> Start | None:
    """The first table in the first lines of a text, None if there is none."""
    is_stated = bool(stated_columns().get("dur"))
    if lines and not is_stated and _has_starts(lines[0]):
        return None
    for index, line in enumerate(lines):
        if len(line) > _LONGEST_HEADER or not (is_stated or has_hint(line)):
            continue
        text = _PREFIX.sub("", line, count=1)
        if is_rule(text):
            continue
        below = _below(lines, index)
        for splitter in [Barred(bar) for bar in BARS if text.strip().startswith(bar)]:
            if (columns := header_of(splitter.header(text, below))) and _fit(
                columns, map(splitter.row, below)
            ):
                return Start(columns, splitter=splitter)
        for separator in SEPARATORS:
            headings = header_row(text, separator) if separator in text else []
            rows = [header_row(next_line, separator) for next_line in below]
            if rows and (units := units_row(rows[0])):
                headings = _with_units(headings, units)
            columns = header_of(headings)
            if columns is not None and _fit(columns, [_ended(headings, row) for row in rows]):
                return Start(columns, separator=separator)
        spaced = Spaced()
        if (columns := header_of(spaced.header(text, below))) and _fit(
            columns, map(spaced.row, below)
        ):
            return Start(columns, splitter=spaced)
        for pattern in PATTERNS:
            if pattern.row.fullmatch(text.rstrip()):
                of_pattern = header_of(pattern.headings)
                if of_pattern is not None:
                    return Start(of_pattern, pattern=pattern)
    return None


def _has_starts(line: str) -> bool:
    """Whether a line is a header of slices: no row below it needs to be looked at."""
    names = (
        header_row(line, separator)
        for separator in SEPARATORS
        if separator in line[:_LONGEST_HEADER]
    )
    roles = map(recognized_names, names)
    return any(by_role["start"] and (by_role["dur"] or by_role["end"]) for by_role in roles)


def _below(lines: Sequence[str], index: int) -> list[str]:
    """The next lines after one that may be rows of its table."""
    texts = (
        _PREFIX.sub("", line, count=1) for line in lines[index + 1 : index + 2 + 2 * _LOOK_AHEAD]
    )
    return [line for line in texts if line.strip() and not is_rule(line)][:_LOOK_AHEAD]


def _fit(columns: Columns, rows: Iterable[Sequence[str]]) -> bool:
    """Whether one of the rows below a header has as many cells and a duration.

    Rows that say begin or end are no layers: their time is when they happened.
    """
    fitting = [row for row in rows if len(row) == len(columns.headings)]
    for cells in zip(*fitting, strict=True):
        if all(PHASE_OF.get(cell.strip().casefold(), MARK) != MARK for cell in cells):
            return False
    return any(
        is_duration(row[columns.length], unit_in(columns, row)) or is_not_run(columns, row)
        for row in fitting
    )


def _ended(headings: Sequence[str], row: list[str]) -> list[str]:
    """A row with as many cells as its header, if a separator ends only one of them."""
    if len(row) == len(headings) - 1 and not headings[-1]:
        return [*row, ""]
    return row[:-1] if len(row) == len(headings) + 1 and not row[-1] else row


def _with_units(headings: Sequence[str], units: Sequence[str]) -> list[str]:
    """Headings with the units of the row below them, as nvprof writes it."""
    return [
        f"{heading} ({unit})" if unit else heading
        for heading, unit in zip_longest(headings, units, fillvalue="")
    ]


def unit_in(columns: Columns, row: Sequence[str]) -> str:
    """The unit of a row's duration, "" if only its cell can state it."""
    return columns.unit or parse_unit(columns.cell(UNIT, row))


class TextTables:
    """The tables of a text, row by row."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.tables: list[Table] = []
        self.runs = ""  # what the text states as the number of inferences
        self._builder = builder
        self._count = 0

    @property
    def table(self) -> Table | None:
        """The one that is being read."""
        return self.tables[-1] if self.tables else None

    def read_separated(
        self, path: str, separator: str, progress: Progress, cancelled: Cancelled
    ) -> None:
        """Read the rows of a CSV. Raises UnreadableFile, ReadCancelled."""
        rows = TableRows(path, self._builder, progress, cancelled, separator=separator)
        before = 0
        for line, row in rows:
            is_after_gap, before = line > before + 1, line
            if self._begins(line, row):
                rows.header = row
            elif (
                self._adds_units(row)
                or all(is_rule(f"-{cell}-") for cell in row)
                or _QUOTED.fullmatch("".join(row))
            ):
                continue
            elif not rows.header:
                rows.skip(line, row)
            elif len(row) == 1:
                self._beside(line, row[0], is_text=is_after_gap)
            elif rows.fits(line, row := _ended(rows.header, row)):
                self._row(line, row)

    def read_lines(self, path: str, start: Start, progress: Progress, cancelled: Cancelled) -> None:
        """Read the rows of another text. Raises UnreadableFile, ReadCancelled."""
        splitter = start.splitter or Spaced()
        is_ended, is_parted = True, False  # by anything, by empty lines alone
        for line, text, below in _texts(path, self._builder, progress, cancelled):
            if start.pattern is not None:
                self._patterned(line, text, start.pattern)
                continue
            if match := _RUNS.search(text):
                self.runs = match[1]
            if not text.strip():
                is_parted = self._has_rows() and (is_parted or not is_ended)
                is_ended = is_ended or self._has_rows()
                continue
            if _QUOTED.fullmatch(text.strip()):
                continue
            if is_rule(text):
                is_parted = False
                is_ended = is_ended or (isinstance(splitter, Spaced) and self._has_rows())
                continue
            again = type(splitter)(splitter.bar) if isinstance(splitter, Barred) else Spaced()
            if self._begins(line, again.header(text, below())):
                splitter, is_ended, is_parted = again, False, False
                continue
            table = self.table
            if table is None:
                continue
            row = splitter.row(text)
            width = len(table.columns.headings)
            if _TOTAL_LINE.match(text):
                self._beside(line, text)
            elif is_parted and self._is_like_others(row):
                self._row(line, row)
            elif is_ended and not (len(row) == width and isinstance(splitter, Barred)):
                if len(row) == width and is_total(table.columns, row):
                    self._row(line, row)
                elif isinstance(splitter, Barred) and len(row) > 1:
                    self._builder.problem(UNFIT, 1, f"line {line}")
            elif len(row) == width:
                self._row(line, row)
            else:
                self._builder.problem(UNFIT, 1, f"line {line}")

    def _patterned(self, line: str | int, text: str, pattern: Pattern) -> None:
        number = int(line)
        match = pattern.row.fullmatch(text.rstrip())
        if match is None:
            if pattern.near.search(text):
                self._builder.problem(UNFIT, 1, f"line {number}")
            return
        row = list(match.groups(""))
        if pattern.once.search(row[-1]):  # a line end is lost
            self._builder.problem(UNFIT, 2, f"line {number}")
            return
        table = self.table
        # The first layer again begins the next inference.
        if table is None or (len(table.rows) > 1 and table.rows[0][1][:2] == row[:2]):
            columns = header_of(pattern.headings)
            if columns is None:
                return
            self.tables.append(Table(columns, number, pattern.title))
        self._row(number, row)

    def _has_rows(self) -> bool:
        return self.table is not None and bool(self.table.rows)

    def _is_like_others(self, row: Sequence[str]) -> bool:
        """Whether a line below an empty one is a row still: of three cells or more, as others."""
        (_, first), columns = self.tables[-1].rows[0], self.tables[-1].columns
        return (
            2 < len(row) == len(columns.headings)
            and is_duration(row[columns.length], unit_in(columns, row))
            and all(bool(cell) and cell.isdecimal() for column, cell in enumerate(row)
                    if first[column].isdecimal())
        )  # fmt: skip

    def _begins(self, line: int, cells: Sequence[str]) -> bool:
        """Whether a row is a header, which begins a table."""
        columns = header_of(cells)
        if columns is None:
            return False
        if is_duration(cells[columns.length], columns.unit):
            return False
        tool = known_of(cells)
        self.tables.append(Table(columns, line, tool.title if tool else ""))
        return True

    def _adds_units(self, row: Sequence[str]) -> bool:
        """Whether a row has the units of the header above it; they become part of it."""
        table = self.table
        if table is None or table.rows or not (units := units_row(row)):
            return False
        columns = header_of(_with_units(table.columns.headings, units))
        table.columns = columns or table.columns
        return True

    def _row(self, line: int, row: list[str]) -> None:
        table = self.tables[-1]
        self._count += 1
        if self._count % 1000 == 0:
            allowance().take(self._count * _ROW_MEMORY)
        if is_total(table.columns, row):
            table.totals.append((line, row[table.columns.length], unit_in(table.columns, row)))
        else:
            table.rows.append((line, row))

    def _beside(self, line: int, text: str, *, is_text: bool = False) -> None:
        """A line that is no row: what it states as the total, or a row that lost its separators.

        is_text: whether it cannot be such a row, because an empty line is above it.
        """
        table = self.tables[-1]
        if match := _TOTAL_LINE.match(text):
            unit = match[3] or split_unit(match[1])[1]
            if is_duration(match[2], unit):
                table.totals.append((line, match[2], unit))
        elif not is_text and any(character.isdigit() for character in text):
            self._builder.problem(UNFIT, 1, f"line {line}")


def _texts(
    path: str, builder: TraceBuilder, progress: Progress, cancelled: Cancelled
) -> Iterator[tuple[int, str, Callable[[], list[str]]]]:
    """The lines of a file with their numbers, without what a log writes before each.

    Each with what gets the rows below it.
    """
    for first, lines in lines_of(path, builder, progress, cancelled):
        for index, line in enumerate(lines):
            text = _PREFIX.sub("", line.rstrip("\n"), count=1)
            yield first + index, text, partial(_below, lines, index)


# Objects that are long before their table: what the tool writes first.
_MARKS = (b'"execution_summary"', b'"detailed_performance"', b'"avg_performance"')
_SPLIT = re.compile(rb'"(?:columns|headers)"\s*:\s*(\[[^\[\]]{2,2000}\])')
_KEYED = re.compile(rb'"[^"]{1,400}"\s*:\s*(?=\{[^{}]{2,2000}\})')
_LONGEST_CELL = 400
NO_OBJECT = "object that is no row of the table: left out"


def is_json_table(head: bytes) -> bool:
    """Whether the start of a JSON text has an object with a name and a duration."""
    if not is_json(head) or has_events(head):
        return False
    if any(mark in head for mark in _MARKS):
        return True
    for raw in first_objects(head):
        if (
            has_hint(raw.decode("latin-1"))
            and isinstance(item := parsed(raw), dict)
            and _fits(item)
        ):
            return True
    return any(map(_are_headings, _SPLIT.findall(head)[:4])) or _is_keyed(head)


def _are_headings(text: bytes) -> bool:
    """Whether the headings of a JSON with columns and rows are of a table of layers."""
    heads = parsed(text)
    columns = header_of([str(head) for head in heads]) if isinstance(heads, list) else None
    return columns is not None and bool(columns.unit)


def _is_keyed(head: bytes) -> bool:
    """Whether most objects have their name as a key: `"conv1": {"time_ms": 0.5}`."""
    keyed = list(_KEYED.finditer(head))[:4]
    if len({match[0] for match in keyed}) < len(keyed):
        return False
    tails = [head[match.end() :] for match in keyed]
    rows = [item for tail in tails if isinstance(item := _first(tail), dict)]
    return len(rows) > 1 and all(_fits({"name": "", **row}) for row in rows)


def _first(text: bytes) -> Any:
    """The JSON object that a text begins with, None if it is none."""
    return parsed(text[: text.find(b"}") + 1])


def _fits(item: Mapping[str, Any]) -> bool:
    columns = header_of([str(key) for key in item])
    if columns is None:
        return False
    row = [_cell(value) for value in item.values()]
    return duration(row[columns.length], unit_in(columns, row)) is not None


class JsonTables:
    """The tables of one JSON text."""

    def __init__(self, path: str, builder: TraceBuilder) -> None:
        self.tables: list[Table] = []
        self.runs = ""
        self._builder = builder
        self._path = path

    def read(self) -> None:
        """Read the file. Raises UnreadableFile, OSError."""
        whole = read_json(self._path, self._builder.problem)
        self._walk(whole, 0)
        tool = next((known_of(table.columns.headings) for table in self.tables), None)
        if tool is not None and tool.unit and isinstance(whole, dict):
            self._state(whole, tool)

    def _walk(self, item: Any, depth: int) -> None:
        if depth > DEEPEST:
            return
        if isinstance(item, list):
            rows = [row for row in item if isinstance(row, dict)]
            if rows and self._add(rows, len(item) - len(rows)):
                return
            for child in item:
                self._walk(child, depth + 1)
        elif isinstance(item, dict):
            if (rows := _rows_of(item)) and self._add(rows, 0):
                return
            for value in item.values():
                before = len(self.tables)
                self._walk(value, depth + 1)
                if len(self.tables) == before + 1 and isinstance(value, list):
                    self._totals(item, self.tables[-1])

    def _add(self, rows: list[dict[str, Any]], others: int) -> bool:
        """Add the table of some objects, False if they are none."""
        headings = list(dict.fromkeys(str(key) for row in rows for key in row))
        columns = header_of(headings)
        if columns is None:
            return False
        tool = known_of(headings)
        exact = not any(isinstance(row.get(headings[columns.length]), str) for row in rows)
        table = Table(columns, 1, tool.title if tool else "", is_json=exact)
        name = headings[columns.roles.get(NAME, columns.roles.get(TYPE, 0))]
        for number, row in enumerate(rows, 1):
            if not table.rows and name not in row and headings[columns.length] not in row:
                if "count" in row and len(row) == 1:
                    self.runs = str(row["count"])
                else:
                    self._builder.problem(NO_OBJECT, 1, f"object {number}")
                continue
            cells = {str(key): _cell(value) for key, value in row.items()}
            table.rows.append((number, [cells.get(heading, "") for heading in headings]))
        self._builder.problem(NO_OBJECT, others, "")
        if not any(duration(row[columns.length], unit_in(columns, row)) for _, row in table.rows):
            return False
        self.tables.append(table)
        return True

    @staticmethod
    def _totals(around: Mapping[str, Any], table: Table) -> None:
        """Keep the total of the column of durations that stands next to the table."""
        wanted = f"total {words_of(table.columns.headings[table.columns.length])}"
        for key, value in around.items():
            if words_of(key) == wanted and isinstance(value, int | float):
                unit = split_unit(key)[1] or table.columns.unit
                table.totals.append((1, _cell(value), unit))

    def _state(self, whole: Mapping[str, Any], tool: Known) -> None:
        """Keep what a known tool states about all inferences."""
        parts = [part for part in whole.values() if isinstance(part, dict)]
        for key, value in ((key, value) for part in parts for key, value in part.items()):
            name = key.replace("_", " ").strip().capitalize()
            if key == tool.times and isinstance(value, list):
                times = [length[0] for cell in value if (length := duration(str(cell), tool.unit))]
                if times:
                    least, most = format_time(round(min(times))), format_time(round(max(times)))
                    mean = format_time(round(sum(times) / len(times)))
                    self._builder.state(name, f"{len(times)}: {least} to {most}, mean {mean}")
            elif "memory" in key and isinstance(value, int):
                self._builder.state(name, bytes_text(value))
            elif key.endswith("_time") and (length := duration(str(value), tool.unit)):
                self._builder.state(name, format_time(round(length[0])))


def _rows_of(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object of objects by name, or of columns and rows as pandas splits them."""
    heads = next((item[key] for key in ("columns", "headers") if key in item), None)
    lists = next((item[key] for key in ("data", "rows") if key in item), None)
    if isinstance(heads, list) and isinstance(lists, list):
        names = [str(head) for head in heads]
        return [dict(zip(names, row, strict=False)) for row in lists if isinstance(row, list)]
    if len(item) > 1 and all(isinstance(value, dict) for value in item.values()):
        return [{"name": key, **value} for key, value in item.items()]
    return []


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)[:_LONGEST_CELL]
