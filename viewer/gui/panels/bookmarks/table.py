"""The table of bookmarks: names and notes are editable, times are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints
from viewer.gui.panels.base.tables.columns import ColumnKind, Copied, PanelColumn, PanelTable
from viewer.gui.session.bookmarks import edit, is_on_open_clock
from viewer.gui.session.session import Session
from viewer.model.text import display_name, one_line
from viewer.model.times import format_position, format_time
from viewer.view.clock_groups import group_title
from viewer.view.state import Bookmark


@dataclass(frozen=True)
class BookmarkRows:
    """All bookmarks of the session. clocks: their names by key, in the order of the rows."""

    session: Session
    marks: tuple[Bookmark, ...]
    clocks: dict[str, str]

    @property
    def has_clocks(self) -> bool:
        """Whether there are several clocks, which the rows name."""
        return len(self.clocks) > 1

    @property
    def order(self) -> Ints:
        """The bookmarks by clock and start."""
        place = {clock: at for at, clock in enumerate(self.clocks)}
        keys = [(place.get(m.clock, 0), m.t0, m.t1, n) for n, m in enumerate(self.marks)]
        return np.array([key[-1] for key in sorted(keys)], np.int64)

    def clock(self, i: int) -> str:
        """Return the name of the clock of a bookmark."""
        return self.clocks.get(self.marks[i].clock) or next(iter(self.clocks.values()))

    def length(self, i: int) -> str:
        """Return the length of a bookmark."""
        span = self.marks[i].t1 - self.marks[i].t0
        return format_time(span) if span else "moment"


def rows_of(session: Session) -> BookmarkRows:
    """Return the bookmarks, with the open clocks, then those of closed files."""
    clocks = {group.key: group_title(group, session.traces) for group in session.groups}
    for mark in session.state.marks:
        if not is_on_open_clock(session, mark):
            clocks[mark.clock] = f"{one_line(display_name(mark.clock))} (closed)"
    return BookmarkRows(session, session.state.marks, clocks)


def _copied(c: BookmarkRows, rows: Ints) -> Copied:
    """Return rows with times in whole ns; with a last column for the clock if there are several."""
    titles = ["name", "start_ns", "length_ns", "note", "clock"]
    marks = [(c.marks[i], c.clock(i)) for i in rows.tolist()]
    cells = [(m.name, str(m.t0), str(m.t1 - m.t0), m.note, clock) for m, clock in marks]
    end = len(titles) - (not c.has_clocks)
    return titles[:end], (texts[:end] for texts in cells)


BOOKMARKS: PanelTable[BookmarkRows] = PanelTable(
    "Bookmarks",
    (
        PanelColumn("Name", width=200, text=lambda c, i: c.marks[i].name, tone="text1",
            tooltip=lambda c, i: c.marks[i].name,
            edit=lambda c, i, text: edit(c.session, i, name=text)),
        PanelColumn("Clock", width=130, text=BookmarkRows.clock, tooltip=BookmarkRows.clock,
            is_unused=lambda c: not c.has_clocks),
        PanelColumn("Start", ColumnKind.TIME, 130,
            text=lambda c, i: format_position(c.marks[i].t0)),
        PanelColumn("Length", ColumnKind.TIME, 120, text=BookmarkRows.length),
        PanelColumn("Note", text=lambda c, i: c.marks[i].note, tooltip=lambda c, i: c.marks[i].note,
            edit=lambda c, i, text: edit(c.session, i, note=text)),
    ),
    least=160,
    rows=lambda c: c.order,
    copied=_copied,
    sortable=False,
)  # fmt: skip
