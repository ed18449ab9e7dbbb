"""What the first rows of a table become with stated columns, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.codecs.reading import UnreadableFile
from viewer.formats.table.column_roles import columns_of
from viewer.formats.table.layout import Layout
from viewer.formats.table.sample_times import Columns, sample_times
from viewer.formats.table.stated_columns import DECIMAL, ColumnsNeeded, StatedColumns


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
    sample = sample_times(layout, columns)
    if sample.question:
        return Preview((DECIMAL,), sample.question, (), "", columns)
    return Preview((), "", sample.times, sample.bad, columns)
