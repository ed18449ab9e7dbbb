"""The table of search results: a row is the position of a match.

Sorting needs one rank per distinct text and one pass over the matches, so large lists are sorted
off the GUI thread. A list shows at most a million rows: nobody reads more, and a table widget
allocates memory for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewer.analysis.links.labels import set_label, track_name
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import colors_of
from viewer.gui.panels.base.tables.columns import ColumnKind, Copied, PanelColumn, PanelTable
from viewer.gui.session.feeds.search import Hits
from viewer.model.queries import foreign
from viewer.model.times import format_position, ticks_to_ns
from viewer.render.palette import Palette
from viewer.view.open_trace import OpenTrace

MOST_ROWS = 1_000_000


NAME, OPERATOR, START, DURATION, TRACK = "name", "operator", "start", "duration", "track"


@dataclass(frozen=True, slots=True)
class Order:
    """The column that sorts the matches, and the direction."""

    column: str = START
    descending: bool = False

    def after_click(self, column: str) -> Order:
        """Return the order after a click on a heading.

        A new column is sorted in ascending order, durations in descending order; a click on the
        current column reverses it.
        """
        if column == self.column:
            return Order(column, not self.descending)
        return Order(column, descending=column == DURATION)


_TSV_TITLES = ("Name", "Operator", "Start (ns)", "Duration (ns)", "Track", "Process", "File")


def sorted_hits(hits: Hits, traces: Sequence[OpenTrace], by: Order) -> Ints:
    """Return the positions of the matches, sorted by a column and then by time. Pure.

    Slices timed by a separate clock have no duration in ns: they sort before all others, or after
    them if descending.
    """
    if by.column == START:
        order = np.arange(len(hits))
        return order[::-1] if by.descending else order
    value = np.zeros(len(hits), np.int64)
    ranks = _ranks([_texts(open_trace, by.column) for open_trace in traces])
    for number, open_trace in enumerate(traces):
        positions = np.flatnonzero(hits.trace == number)
        index, slices = hits.slice[positions], open_trace.trace.slices
        match by.column:
            case "name":
                value[positions] = ranks[number][open_trace.labels[index]]
            case "operator":
                # -1, for no operator, indexes the last rank: that of the empty text.
                value[positions] = ranks[number][open_trace.table.set_of_key[slices.key[index]]]
            case "track":
                row = np.searchsorted(slices.row_ptr, index, side="right") - 1
                value[positions] = ranks[number][slices.row_track[row]]
            case _:
                ticks = slices.end[index] - slices.start[index]
                length = ticks_to_ns(ticks, open_trace.axis.ns_per_tick)
                length[np.isin(index, foreign(slices))] = -1
                value[positions] = length
    return np.argsort(-value if by.descending else value, kind="stable")


def _texts(open_trace: OpenTrace, column: str) -> list[str]:
    table = open_trace.table
    match column:
        case "name":
            return list(open_trace.label_strings)
        case "operator":
            return [*(set_label(table, operators) for operators in table.sets), ""]
        case "track":
            return [track_name(table, i) for i in range(len(table.trace.tracks))]
    return []


def _ranks(texts: Sequence[Sequence[str]]) -> list[Ints]:
    """Return the rank of each text of each trace among all texts, ignoring case."""
    order = {
        text: i
        for i, text in enumerate(
            sorted({t.casefold() for trace_texts in texts for t in trace_texts})
        )
    }
    return [np.array([order[t.casefold()] for t in trace_texts], np.int64) for trace_texts in texts]


@dataclass(frozen=True, eq=False, slots=True)
class HitRows:
    """The matches of some traces in an order.

    order: their positions, sorted by `by`. colors: the palette index of each operator of a trace.
    """

    hits: Hits
    traces: Sequence[OpenTrace]
    order: Ints
    by: Order
    colors: Callable[[OpenTrace], Palette | None]

    def slice(self, position: int) -> tuple[OpenTrace, int]:
        """Return the trace and the index of a match."""
        ref = self.hits.ref(position)
        return self.traces[ref.trace], ref.index


# The text of a slice, given by its trace and its index.
_Text = Callable[[OpenTrace, int], str]


def _operator(open_trace: OpenTrace, i: int) -> str:
    return set_label(open_trace.table, open_trace.link(i).operators)


def _track(open_trace: OpenTrace, i: int) -> str:
    return track_name(open_trace.table, open_trace.trace.slices.track(i))


def _process(open_trace: OpenTrace, i: int) -> str:
    return open_trace.trace.tracks[open_trace.trace.slices.track(i)].process


def _name_tip(open_trace: OpenTrace, i: int) -> str:
    text, name = open_trace.label(i), open_trace.trace.name(i)
    return text if name == text else f"{text}\n{name} in the file"


def _swatch(c: HitRows, position: int, colors: Palette | None) -> Sequence[int] | None:
    open_trace, i = c.slice(position)
    return colors_of(open_trace.link(i).operators, c.colors(open_trace)) or None


def _column(
    key: str,
    kind: ColumnKind,
    width: int,
    text: _Text,
    tooltip: _Text | None = None,
    **rest: Any,
) -> PanelColumn[HitRows]:
    """Return a column. Its title has an arrow if it sorts."""
    tip, title = tooltip or text, key.capitalize()

    def title_of(c: HitRows) -> str:
        return f"{title} {'↓' if c.by.descending else '↑'}" if c.by.column == key else title

    return PanelColumn(
        title,
        kind,
        width,
        key=key,
        text=lambda c, position: text(*c.slice(position)),
        tooltip=lambda c, position: tip(*c.slice(position)),
        title_of=title_of,
        **{"tone": "text1"} | rest,
    )


def _copied(c: HitRows, positions: Ints) -> Copied:
    return _TSV_TITLES, (_plain(*c.slice(position)) for position in positions.tolist())


def _plain(open_trace: OpenTrace, i: int) -> tuple[str, ...]:
    start, end = open_trace.span_ns(i)
    return (
        open_trace.label(i),
        _operator(open_trace, i),
        str(start),
        str(end - start) if open_trace.native(i) is None else "",
        _track(open_trace, i),
        _process(open_trace, i),
        open_trace.file.path,
    )


HITS: PanelTable[HitRows] = PanelTable(
    "Search matches",
    (
        _column(NAME, ColumnKind.TEXT, 0, OpenTrace.label, _name_tip),
        _column(OPERATOR, ColumnKind.TEXT, 140, lambda s, i: _operator(s, i) or MISSING,
            lambda s, i: _operator(s, i) or s.link(i).detail, leaves=2, swatch=_swatch),
        _column(START, ColumnKind.TIME, 132, lambda s, i: format_position(s.span_ns(i)[0])),
        _column(DURATION, ColumnKind.TIME, 92, OpenTrace.length_text),
        _column(TRACK, ColumnKind.TEXT, 120, _track,
            lambda s, i: f"{_process(s, i)} · {_track(s, i)}", leaves=1, tone="text2"),
    ),
    least=120,
    rows=lambda c: c.order[:MOST_ROWS],
    copied=_copied,
    sortable=False,
    most_copied=5000,  # writing that many takes less than 100 ms
    rest="they were not copied",
)  # fmt: skip
