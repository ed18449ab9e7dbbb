"""What the columns of a table are by number, and the times of its first rows with them."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.formats.table.layout import Layout, is_no_row, is_no_value
from viewer.formats.table.time_cells import Numbers


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table by number: -1 for none. At most one of `dur` and `end` is there.

    ends_at_start: whether a slice of a duration ends at its `start`. phase: what a row is. values:
    counters. Without a length and a phase, a row is an instant, or only values. units: of start,
    and of duration or end. decimal: "point", "comma", or "" if not stated. is_query: whether the
    table is the output of a trace_processor query.
    """

    name: int
    start: int
    dur: int
    end: int
    process: int
    thread: int
    identifier: int
    units: tuple[str, str]
    decimal: str
    is_query: bool = False
    phase: int = -1
    values: tuple[int, ...] = ()
    ends_at_start: bool = False

    @property
    def length(self) -> int:
        """The column of the duration or the end."""
        return max(self.dur, self.end)

    @property
    def has_slices(self) -> bool:
        """Whether rows are slices, or their begins and ends."""
        return not self.values or self.length >= 0 or self.phase >= 0


@dataclass(frozen=True, slots=True)
class SampleTimes:
    """times: start and duration of each row in ps, None for a row without. bad: what is wrong with
    the first row that has no times, "" if none is. question: why no times are known, "" if they
    are."""

    times: tuple[tuple[int, int] | None, ...]
    bad: str
    question: str


def sample_times(layout: Layout, columns: Columns) -> SampleTimes:
    """The times of the first rows of a table."""
    numbers = Numbers(layout.separator, columns.decimal)
    length = columns.length if columns.length >= 0 else columns.start
    time_columns = columns.start, length
    if not layout.rows:
        return SampleTimes((), "", "")
    cells = [
        numbers.parse([row[column] if column < len(row) else "" for row in layout.rows], unit)
        for column, unit in zip(time_columns, columns.units, strict=True)
    ]
    if numbers.question:
        return SampleTimes((), "", numbers.question)
    parsed: list[list[int | None]] = []
    for column_cells in cells:
        numbers.settle(column_cells.ns, column_cells.ps, column_cells.meaning)
        amounts = zip(
            column_cells.ns.tolist(),
            column_cells.ps.tolist(),
            column_cells.usable.tolist(),
            strict=True,
        )
        parsed.append([ns * 1000 + ps if ok else None for ns, ps, ok in amounts])
    times: list[tuple[int, int] | None] = []
    bad = ""
    for row, line, start, last in zip(
        layout.rows, layout.row_lines, parsed[0], parsed[1], strict=True
    ):
        took = None if start is None or last is None else last
        if took is not None and start is not None and columns.dur < 0:
            took = max(took - start, 0)
        is_wide = any(cell.strip() for cell in row[len(layout.names) :])
        is_usable = start is not None and took is not None and took >= 0 and not is_wide
        if is_usable and columns.ends_at_start:
            start = (start or 0) - (took or 0)
        times.append((start or 0, took or 0) if is_usable else None)
        if not is_usable and not bad and not is_no_row(row[0]):
            column = columns.start if start is None else length
            cell = row[column] if column < len(row) else ""
            said = "has no value" if is_no_value(cell) else f'is "{cell.strip()}"'
            bad = f"line {line}: {layout.names[column]} {said}"
            if is_wide:
                bad = f"line {line} has {len(row)} cells, and the header {len(layout.names)}"
    return SampleTimes(tuple(times), bad, "")
