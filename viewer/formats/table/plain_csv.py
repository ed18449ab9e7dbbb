"""Reads a table of any other tool: one slice per row, whatever its columns are called.

The columns are recognized by their names (`column_roles`), or stated by the user. Times may be in
any unit from s to ps and are exact down to 1 ps. The text may be packed and encoded in several ways
(`packed_text`). Rows without usable times are left out and counted, with the line and the text of
the first one. Rows that start with `#` and have no times are comments. Rows can also be begins and
ends, or samples of counters (`plain_rows`). Other lines can be above the header: it is the line, of
the first ones, that shows most of what the columns are, or that has the names that the user states.
They are left out, and the reader says so.

Other columns are arguments of the slices. `method`, `instruction_id`, `depth` and `derived` mean
what they mean in a profile CSV.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace

from viewer.codecs.partial_file import is_partial, open_part
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.formats import HEAD_SIZE, format_of
from viewer.formats.row_reader import NUL, header_row
from viewer.formats.table.column_names import TIMES, kind_of, recognized, recognized_names
from viewer.formats.table.column_roles import columns_of
from viewer.formats.table.csv_blocks import blocks
from viewer.formats.table.csv_rows import CsvBlock
from viewer.formats.table.layout import (
    SEPARATORS,
    Layout,
    best_layout,
    is_number,
    layout_of,
    lines_of,
)
from viewer.formats.table.packed_text import WINDOWS, TextLines, head_text, is_direct
from viewer.formats.table.plain_rows import PlainRows
from viewer.formats.table.stated_columns import NOTHING_STATED, StatedColumns, stated_columns
from viewer.formats.text_rows import LineFile
from viewer.model.trace import Trace

MAX_COLUMNS = 256
_SAMPLE = 1 << 18
_HEADER_LIMIT = 1 << 20
_MOST_LINES = 30
# A part of every name of a time.
_HINT = re.compile(
    r"(?i)start|begin|from|end|stop|finish|dur|elapsed|latency|time|took|(?<![a-z])t[os]?(?![a-z])"
)


def sniff(head: bytes) -> bool:
    """Whether it is a table with names of times and others, or with two columns of numbers."""
    layout = table_of(head_text(head), stated_columns(), whole=len(head) < HEAD_SIZE)
    if layout is None:
        return False
    if kind_of(layout, stated_columns()):
        return True
    roles = {role for role, columns in recognized(layout).items() if columns}
    if roles & set(TIMES) and len(roles) >= 2:
        return True
    return len(layout.rows) >= 2 and len(layout.number_columns) >= 2


def shows_columns(head: bytes) -> bool:
    """Whether a table shows what its columns are, so that it opens without a question."""
    layout = table_of(head_text(head), NOTHING_STATED, whole=len(head) < HEAD_SIZE)
    try:
        return layout is not None and columns_of(layout, NOTHING_STATED, "").start >= 0
    except UnreadableFile:
        return False


def is_table(head: bytes) -> bool:
    """Whether it is a table beyond doubt, by its columns of times or by all of its rows."""
    layout = table_of(head_text(head), stated_columns(), whole=len(head) < HEAD_SIZE)
    if layout is None or layout.above:
        return False
    if kind_of(layout, stated_columns()) and _has_times(layout):
        return True
    is_even = {len(row) for row in layout.rows} == {len(layout.names)}
    return len(layout.rows) >= 2 and is_even and len(layout.number_columns) >= 2


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row. Raises UnreadableFile (ColumnsNeeded), ReadCancelled."""
    with faults_of(path):
        layout = layout_in(path)
        columns = columns_of(layout, stated_columns(), path)
        if len(layout.names) > MAX_COLUMNS:
            raise UnreadableFile(
                path,
                f"it has {len(layout.names)} columns; the limit is {MAX_COLUMNS}",
                where=f"line {layout.lines}",
                remedy="Leave out arguments that you do not need",
            )
        with open(path, "rb") as file:
            direct = is_direct(file.read(HEAD_SIZE))
        rows = PlainRows(path, layout, columns)
        with closing(_direct(path, rows) if direct else _packed(path, rows)) as parts:
            for block, position, share, ratio in parts:
                stop_if(cancelled)
                rows.add(block, position, share)
                rows.slices.reserve(share, position, ratio)
                progress(min(int(share * rows.size), rows.size), rows.size)
    return rows.trace(cancelled)


def layout_in(path: str) -> Layout:
    """The layout of a table in a file. Raises UnreadableFile, OSError."""
    with open(path, "rb") as file:
        direct = is_direct(file.read(HEAD_SIZE))
    if direct:
        with open_part(path, lines=True, quotes=True)[0] as plain:
            sample = plain.read(_SAMPLE)
    else:
        with TextLines(path) as packed:
            sample = packed.read(_SAMPLE)
            if not sample and packed.fault:
                raise UnreadableFile(path, packed.fault, remedy="Copy or record it again")
    text = sample.decode("utf-8-sig", "replace").replace("\0", " ")
    layout = table_of(text, stated_columns(), whole=len(sample) < _SAMPLE)
    if layout is None:
        raise UnreadableFile(
            path,
            "it is no table: no row has cells separated by comma, semicolon, tab or |",
            where="line 1",
        )
    return layout


def table_of(text: str, stated: StatedColumns, *, whole: bool) -> Layout | None:
    """The layout of the table in a text, also below other lines; None if there is none.

    whole: as for `layout_of`.
    """
    first = layout_of(text, whole=whole)
    wanted = stated.names
    if first is not None and _is_table(first, stated, wanted):
        return first
    lines = lines_of(text, whole=whole)
    best: tuple[int, Layout] | None = None
    for index, line in enumerate(lines[:_MOST_LINES]):
        if not _may_be_header(line, wanted):
            continue
        layout = best_layout(lines[index:], index, footers=True)
        if layout is None or not layout.header or not _is_table(layout, stated, wanted):
            continue
        if layout.rows and not wanted and not _has_times(layout):
            continue
        recognized_count = sum(map(bool, recognized_names(layout.names).values()))
        if best is None or recognized_count > best[0]:
            above = tuple(line for line in lines[:index] if line.strip())
            best = recognized_count, replace(layout, above=above)
    return best[1] if best else first


def _is_table(layout: Layout, stated: StatedColumns, wanted: set[str]) -> bool:
    """Whether it has the columns that are stated, or shows what its columns are."""
    if wanted:
        return wanted <= set(layout.names)
    return kind_of(layout, stated) != ""


def _has_times(layout: Layout) -> bool:
    """Whether a column that is called a time mostly has numbers or times: else it has words."""
    named = recognized(layout)
    for column in {column for role in (*TIMES, "at") for column in named[role]}:
        cells = [row[column] for row in layout.rows if column < len(row)]
        if 2 * sum(map(is_number, cells)) > len(cells):
            return True
    return False


def _may_be_header(line: str, wanted: set[str]) -> bool:
    """Whether a line has the stated names with any separator, or names of times and others."""
    if not wanted and not _HINT.search(line):
        return False
    for separator in SEPARATORS:
        if separator not in line:
            continue
        names = header_row(line, separator, skips_spaces=False)
        if wanted and wanted <= set(names):
            return True
        roles = {role for role, columns in recognized_names(names).items() if columns}
        if not wanted and roles & {*TIMES, "at"} and len(names) >= 2:
            return True
    return False


_Parts = Generator[tuple[CsvBlock, int, float, float], None, None]


def _direct(path: str, rows: PlainRows) -> _Parts:
    """The rows of a text in UTF-8, with position, share of the file and ratio of its packing."""
    file, rows.size = open_part(path, lines=True, quotes=True)
    with file:
        _skip(file, rows)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, position in parts:
                yield block, position, position / max(rows.size, position, 1), 1.0


def _packed(path: str, rows: PlainRows) -> _Parts:
    """The rows of another text, like `_direct`."""
    with TextLines(path) as file:
        rows.size = file.size
        if file.encoding == WINDOWS:
            rows.builder.problem("text that is not UTF-8: read as Windows-1252", 1, "")
        _skip(file, rows)
        with closing(blocks(file, path, rows.shape)) as parts:
            for block, position in parts:
                # Blocks after this one were read already.
                share = file.share * position / max(file.tell(), position, 1)
                yield block, position, max(share, 1e-9), file.ratio
        if file.fault and not is_partial():
            rows.builder.problem(file.fault, 1, "the rows before it are shown")


def _skip(file: LineFile, rows: PlainRows) -> None:
    """Read the lines before the first row."""
    nuls = sum(file.readline(_HEADER_LIMIT).count(b"\0") for _ in range(rows.layout.lines))
    rows.builder.problem(NUL, nuls, "before the first row")


FORMAT = format_of("table.plain_csv")
