"""Writes tables as delimited text for spreadsheets and CSV readers: .csv by comma, .tsv by tab.

RFC 4180: fields with a delimiter, a quote or a line end are quoted, quotes are doubled. Lines end
in "\\n", the text is UTF-8, nulls are empty fields. A file is written completely or not at all.
`parquet.py` writes Parquet.

By default, texts that a spreadsheet would take for formulas, and control characters, are changed as
in `viewer.codecs.spreadsheet_cells`. A table with such a text has its first column name in quotes,
which CSV readers do not see: so Opscope knows which of its own tables have texts to change back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.codecs.spreadsheet_cells import harmless
from viewer.export.tables.parquet import write_parquet
from viewer.model.trace import Column
from viewer.tables.columns import RowPlaces, SharedColumn, row_count, text_array

ROWS_AT_ONCE = 200_000
_FLAGS = ("false", "true")
_Quoted = Callable[[str], str]


def write_table(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Sequence[Any],
    *,
    raw: bool = False,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write columns of equal length under a header; returns the number of rows.

    A column is a `Column`, a `SharedColumn`, a list, a numpy array or a pandas Series; None, NaN
    and pd.NA become empty fields, and integers next to a null stay integers. The suffix selects
    the format: ".parquet" as in `write_parquet`, ".tsv" (and ".tab") by tab, anything else by
    comma. raw: write texts as they are, as Parquet always has them. Raises ValueError for columns
    of different lengths, OSError, WriteCancelled.
    """
    if os.fspath(path).lower().endswith(".parquet"):
        return write_parquet(path, header, columns, progress=progress, cancelled=cancelled)
    if len(header) != len(columns):
        raise ValueError(f"{len(header)} names for {len(columns)} columns")
    lengths = {row_count(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    rows = lengths.pop() if lengths else 0
    delimiter = "\t" if os.fspath(path).lower().endswith((".tsv", ".tab")) else ","
    quoted = _quoting(delimiter, alone=len(columns) == 1)
    is_changed = not raw and _any_harmful(header, columns)
    spelled: _Quoted = (lambda text: quoted(harmless(text))) if is_changed else quoted
    names = list(map(spelled, header))
    if is_changed and not names[0].startswith('"'):
        names[0] = f'"{names[0]}"'
    texts = list(_pieces(columns, delimiter, quoted, spelled))
    with replacing(path) as out:
        # The first part is written even if it is empty, for the header.
        for first in range(0, max(rows, 1), ROWS_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            part = slice(first, first + ROWS_AT_ONCE)
            lines = list(map(delimiter.join, zip(*(text(part) for text in texts), strict=True)))
            if first == 0:
                lines.insert(0, delimiter.join(names))
            lines.append("")
            # Names from files that are not UTF-8 contain lone surrogates; they must not stop the
            # export.
            out.write("\n".join(lines).encode("utf-8", "replace"))
            progress(min(first + ROWS_AT_ONCE, rows), rows)
    return rows


def _quoting(delimiter: str, *, alone: bool) -> _Quoted:
    """Return the function that quotes a cell if needed; alone: the table has one column."""
    special = re.compile(f'[{delimiter}"\n\r]').search

    def quoted(text: str) -> str:
        # A row of one empty cell would be an empty line, which readers skip.
        if special(text) or (alone and not text):
            return '"' + text.replace('"', '""') + '"'
        return text

    return quoted


def _any_harmful(header: Sequence[str], columns: Sequence[Any]) -> bool:
    """Whether any text of a table would be changed for spreadsheets."""
    tables = (header, *map(_distinct_texts, columns))
    return any(harmless(text) != text for texts in tables for text in texts)


def _distinct_texts(column: Any) -> Iterable[str]:
    if isinstance(column, SharedColumn):
        column = column.values
    if isinstance(column, Column):
        return column.strings or ()
    texts = set[str]()
    for first in range(0, row_count(column), ROWS_AT_ONCE):
        values = _values(column, slice(first, first + ROWS_AT_ONCE))
        texts.update(value for value in values if isinstance(value, str))
    return texts


def _values(column: Any, part: slice) -> list[Any]:
    """Some values of a list, array or Series."""
    selected = column[part]
    values: list[Any] = selected.tolist() if hasattr(selected, "tolist") else selected
    return values


def _pieces(
    columns: Sequence[Any], delimiter: str, quoted: _Quoted, spelled: _Quoted
) -> Iterator[Callable[[slice], list[str]]]:
    """Return the functions that give the parts of some lines.

    Columns next to each other that share their values are one part, joined once for each value.
    """
    for places, group in groupby(columns, lambda c: c.places if _is_shared(c) else None):
        if places is None:
            yield from (_cell_texts(column, quoted, spelled) for column in group)
            continue
        each = [_cell_texts(column.values, quoted, spelled)(slice(None)) for column in group]
        yield _spread(text_array(map(delimiter.join, zip(*each, strict=True))), places)


def _spread(texts: NDArray[np.object_], places: RowPlaces) -> Callable[[slice], list[str]]:
    return lambda part: texts[places.block(part)].tolist()


def _is_shared(column: Any) -> bool:
    return isinstance(column, SharedColumn) and column.is_shared


def _cell_texts(column: Any, quoted: _Quoted, spelled: _Quoted) -> Callable[[slice], list[str]]:
    """Return the function that gives the cells of some rows; distinct texts are converted once.

    quoted: for numbers and nulls. spelled: for texts, which may have to be changed too.
    """
    if isinstance(column, Column | SharedColumn):
        strings = (column if isinstance(column, Column) else column.values).strings
        table = None if strings is None else text_array([*map(spelled, strings), quoted("")])

        def typed(part: slice) -> list[str]:
            rows = column.taken(part)
            if table is not None:  # a null's code may be past the texts
                codes = rows.values
                every = codes if rows.valid is None else np.where(rows.valid, codes, len(table) - 1)
                texts: list[str] = table[every].tolist()
                return texts
            spell = _FLAGS.__getitem__ if rows.values.dtype.kind == "b" else str
            texts = list(map(spell, rows.values.tolist()))
            if rows.valid is not None:
                for i in np.flatnonzero(~rows.valid).tolist():
                    texts[i] = quoted("")
            return texts

        return typed

    once = cache(spelled)

    def each(part: slice) -> list[str]:
        return [
            once(value) if isinstance(value, str) else quoted("" if _is_null(value) else str(value))
            for value in _values(column, part)
        ]

    return each


def _is_null(value: object) -> bool:
    """Whether a value is None, NaN or pd.NA, whose comparison is not a bool."""
    if value is None:
        return True
    differs = value != value
    return not isinstance(differs, bool | np.bool_) or bool(differs)
