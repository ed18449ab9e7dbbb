"""Writes tables as delimited text for spreadsheets and CSV readers: .csv by comma, .tsv by tab.

RFC 4180: fields with a delimiter, a quote or a line end are quoted, quotes are doubled. Lines end
in "\\n", the text is UTF-8, nulls are empty fields. A file is written completely or not at all.
`parquet.py` writes Parquet.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.codecs.reading import Cancelled, Progress, never_cancelled, no_progress
from viewer.export.tables.parquet import write_parquet

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 200_000


def write_table(
    path: str | os.PathLike[str],
    header: Sequence[str],
    columns: Sequence[Any],
    *,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
) -> int:
    """Write columns of equal length under a header; returns the number of rows.

    A column is a list, a numpy array or a pandas Series; None, NaN and pd.NA become empty fields,
    and integers next to a null stay integers. The suffix selects the format: ".parquet" as in
    `write_parquet`, ".tsv" (and ".tab") by tab, anything else by comma. Raises ValueError for
    columns of different lengths, OSError, WriteCancelled, NoParquet.
    """
    if os.fspath(path).lower().endswith(".parquet"):
        return write_parquet(path, header, columns, progress=progress, cancelled=cancelled)
    if len(header) != len(columns):
        raise ValueError(f"{len(header)} names for {len(columns)} columns")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    rows = lengths.pop() if lengths else 0
    tab = os.fspath(path).lower().endswith((".tsv", ".tab"))
    with replacing(path) as out:
        # The first part is written even if it is empty, for the header.
        for first in range(0, max(rows, 1), ROWS_AT_ONCE):
            if cancelled():
                raise WriteCancelled
            part = _frame([column[first : first + ROWS_AT_ONCE] for column in columns])
            names = list(header) if first == 0 else False
            text = _text(part, names, tab, csv.QUOTE_MINIMAL)
            if "\r" in text:
                # Before Python 3.13, csv does not quote a lone carriage return if lines end in
                # "\n".
                text = _text(part, names, tab, csv.QUOTE_ALL)
            # Names from files that are not UTF-8 contain lone surrogates; they must not stop the
            # export.
            out.write(text.encode("utf-8", "replace"))
            progress(min(first + ROWS_AT_ONCE, rows), rows)
    return rows


def _text(part: pd.DataFrame, header: list[str] | bool, tab: bool, quoting: Literal[0, 1]) -> str:
    return part.to_csv(
        sep="\t" if tab else ",",
        header=header,
        index=False,
        lineterminator="\n",
        quoting=quoting,
    )


def _frame(columns: Sequence[Any]) -> pd.DataFrame:
    import pandas as pd

    # A list stays a column of objects: pandas would turn [1, None] into floats.
    parts = {
        i: pd.Series(column, dtype=object)
        if isinstance(column, list | tuple)
        else pd.Series(column).reset_index(drop=True)
        for i, column in enumerate(columns)
    }
    return pd.DataFrame(parts)
