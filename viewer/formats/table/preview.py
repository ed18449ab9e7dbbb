"""What the first rows of a table become with stated columns, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.codecs.reading import UnreadableFile
from viewer.formats.table.column_roles import Columns, columns_of
from viewer.formats.table.layout import COMMENT, Layout, is_no_value
from viewer.formats.table.stated_columns import DECIMAL, ColumnsNeeded, StatedColumns
from viewer.formats.table.time_cells import Numbers


@dataclass(frozen=True, slots=True)
class Preview:
    """The first rows as slices.

    missing: what is not known; then nothing else is, except for the decimal separator. fault: why
    the columns cannot be used, "" if they can. times: start and duration of each row in ps, None
    for a row without. bad: what is wrong with the first row that has no times, "" if none is.
    columns: what each column is, None if not known.
    """

    missing: tuple[str, ...]
    fault: str
    times: tuple[tuple[int, int] | None, ...]
    bad: str
    columns: Columns | None

    @property
    def slices(self) -> list[tuple[int, int]]:
        """Start and duration in ps of the rows that have them."""
        return [time for time in self.times if time is not None]


def preview_of(layout: Layout, stated: StatedColumns) -> Preview:
    """The first rows of a table with the columns that are stated, or that their names show."""
    try:
        columns = columns_of(layout, stated, "")
    except ColumnsNeeded as error:
        return Preview(error.question.missing, "", (), "", None)
    except UnreadableFile as error:
        return Preview((), error.reason, (), "", None)
    numbers = Numbers(layout.separator, columns.decimal)
    length = columns.dur if columns.dur >= 0 else columns.end
    at = columns.start, length
    if not layout.rows:
        return Preview((), "", (), "", columns)
    cells = [
        numbers.parse([row[column] if column < len(row) else "" for row in layout.rows], unit)
        for column, unit in zip(at, columns.units, strict=True)
    ]
    if numbers.question:
        return Preview((DECIMAL,), numbers.question, (), "", columns)
    parsed: list[list[int | None]] = []
    for one in cells:
        numbers.settle(one.ns, one.ps, one.meaning)
        amounts = zip(one.ns.tolist(), one.ps.tolist(), one.usable.tolist(), strict=True)
        parsed.append([ns * 1000 + ps if ok else None for ns, ps, ok in amounts])
    times: list[tuple[int, int] | None] = []
    bad = ""
    for row, line, start, last in zip(
        layout.rows, layout.row_lines, parsed[0], parsed[1], strict=True
    ):
        took = None if start is None or last is None else last
        if took is not None and start is not None and columns.dur < 0:
            took = max(took - start, 0)
        is_usable = start is not None and took is not None and took >= 0
        times.append((start or 0, took or 0) if is_usable else None)
        if not is_usable and not bad and not row[0].lstrip().startswith(COMMENT):
            column = columns.start if start is None else length
            cell = row[column] if column < len(row) else ""
            said = "has no value" if is_no_value(cell) else f'is "{cell.strip()}"'
            bad = f"line {line}: {layout.names[column]} {said}"
    return Preview((), "", tuple(times), bad, columns)
