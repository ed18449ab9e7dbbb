"""Finds the table in a text that has other lines above its header or below its rows.

The header is the line, of the first ones, that shows most of what the columns are, or that has the
names that the user states. Lines above it are left out, and the reader says so.
"""

from __future__ import annotations

import csv
from dataclasses import replace

from viewer.formats.table.column_names import TIMES, kind_of, recognized_names
from viewer.formats.table.layout import SEPARATORS, Layout, best_layout, layout_of, lines_of
from viewer.formats.table.stated_columns import StatedColumns

_MOST_LINES = 30


def table_of(text: str, stated: StatedColumns, *, whole: bool) -> Layout | None:
    """The layout of the table in a text, None if there is none. whole: as for `layout_of`."""
    first = layout_of(text, whole=whole)
    wanted = stated.names
    if first is not None and _is_table(first, stated, wanted):
        return first
    lines = lines_of(text, whole=whole)
    best: tuple[int, Layout] | None = None
    for at, line in enumerate(lines[:_MOST_LINES]):
        if not _may_be_header(line, wanted):
            continue
        layout = best_layout(lines[at:], at, footers=True)
        if layout is None or not layout.header or not _is_table(layout, stated, wanted):
            continue
        known = sum(map(bool, recognized_names(layout.names).values()))
        if best is None or known > best[0]:
            above = tuple(line for line in lines[:at] if line.strip())
            best = known, replace(layout, above=above)
    return best[1] if best else first


def _is_table(layout: Layout, stated: StatedColumns, wanted: set[str]) -> bool:
    """Whether it has the columns that are stated, or shows what its columns are."""
    if wanted:
        return wanted <= set(layout.names)
    return kind_of(layout, stated) != ""


def _may_be_header(line: str, wanted: set[str]) -> bool:
    """Whether a line has the stated names with any separator, or names of times and others."""
    for separator in SEPARATORS:
        if separator not in line:
            continue
        try:
            names = [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
        except csv.Error:
            continue
        if wanted and wanted <= set(names):
            return True
        found = {role for role, columns in recognized_names(names).items() if columns}
        if not wanted and found & {*TIMES, "at"} and len(names) >= 2:
            return True
    return False
