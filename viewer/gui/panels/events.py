"""The Events panel: duration statistics of each event over all inferences, as `opscope inspect`.

A trace can contain 200,000 distinct events. So rows are positions in the columns of the statistics,
a filter searches each distinct text once, and a cell's text is created when it is painted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot

from viewer.analysis.links.labels import key_labels, run_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.events import EventStatistics, event_statistics
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.cost_painting import colors_of
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import (
    ColumnKind,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
    column_of,
)
from viewer.gui.panels.base.trace_panel import TraceTablePanel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.model import figures as figure_terms
from viewer.model.figures import FigureTerm
from viewer.model.queries import run_of_slices
from viewer.model.text import name_text
from viewer.model.times import NARROW_SPACE, counted, format_bounded, group_digits
from viewer.model.timing import ROUNDING_TICKS
from viewer.model.trace import RunKind
from viewer.render.palette import Palette
from viewer.tables.statistics import STATISTICS
from viewer.view.open_trace import AT_ONCE, OpenTrace

METADATA = "metadata"
_UNIT_WIDTH = 32  # px; by how much " cycles" is wider than " µs"


@dataclass(frozen=True, eq=False)
class EventRows:
    """Event statistics with all texts and numbers to show, prepared before painting.

    labels: text of every key. texts: codes per row, and the lower-case texts that the filter
    searches. order: the rank of each row by event and by block. picked: the title of the column of
    the current inference, "" without one; in_run: its ticks. rate: ns per tick.
    """

    found: EventStatistics
    labels: tuple[str, ...]
    texts: tuple[tuple[Ints, Sequence[str]], ...]
    order: tuple[Ints, Ints]
    picked: str
    in_run: Floats
    rate: float

    @property
    def with_units(self) -> bool:
        """Whether any event has a clock of its own, whose unit cells show."""
        return not bool((self.found.unit < 0).all())

    @property
    def logged_once(self) -> bool:
        """Whether no event has a distribution."""
        return bool((self.found.statistics.count <= 1).all())

    @cached_property
    def spread(self) -> Floats:
        """The spread of each row in percent, NaN if the median is 0."""
        numbers = self.found.statistics
        spread = np.full(len(self.found), np.nan)
        np.divide(100 * (numbers.p90 - numbers.p10), numbers.p50, out=spread, where=numbers.p50 > 0)
        return spread

    def event(self, i: int) -> str:
        """Return the label of a row."""
        return name_text(self.labels[int(self.found.key[i])])

    def time(self, value: float, i: int, *, plain: bool = False) -> str:
        """Return a duration of a row as text."""
        if np.isnan(value):
            return "" if plain else MISSING
        if (unit := self.found.unit_name(i)) is not None:
            # A separate clock: numbers as logged, never converted to time.
            number = f"{value:.1f}".removesuffix(".0")
            return number if plain else f"{_grouped(number)}{NARROW_SPACE}{unit}"
        ns = value * self.rate
        if plain:
            return f"{ns:.3f}".removesuffix(".000")
        return format_bounded(ns, int(self.found.has_zeros[i]), ROUNDING_TICKS * self.rate)

    def longest_slice(self, i: int) -> int:
        """Return the slice of a row's longest occurrence."""
        where = self.found.occurrences(i)
        return int(self.found.slices[where][np.argmax(self.found.duration[where])])

    def event_of(self, slice: int) -> int:
        """Return the row of a slice's event, -1 without one."""
        rows = np.flatnonzero(self.found.slices == slice)
        return int(np.searchsorted(self.found.row_ptr, rows[0], "right")) - 1 if len(rows) else -1


def rows_of(
    event_statistics: EventStatistics,
    in_run: Ints,
    picked: str,
    rate: float,
    event_rows: EventRows | None = None,
) -> EventRows:
    """Prepare statistics for display. Pure; 0.4 s for 200,000 events with distinct names.

    in_run: ticks of each row in the current inference, -1 for none. known: earlier rows of the same
    statistics, to reuse.
    """
    ticks = np.where(in_run < 0, np.nan, in_run)
    if event_rows is not None and event_rows.found is event_statistics:
        return replace(event_rows, in_run=ticks, picked=picked)
    labels = tuple(_distinct_labels(event_statistics.table, key_labels(event_statistics.table)))
    small = [label.lower() for label in labels]
    trace = event_statistics.table.trace
    texts = (
        (event_statistics.key, small),
        (
            trace.keys.name[event_statistics.key].astype(np.int64),
            [s.lower() for s in trace.strings],
        ),
        (event_statistics.block, [title.lower() for title in event_statistics.block_titles]),
    )
    order = _ranks(small)[event_statistics.key], _ranks(texts[2][1])[event_statistics.block]
    return EventRows(event_statistics, labels, texts, order, picked, ticks, rate)


def _distinct_labels(table: LinkTable, labels: Sequence[str]) -> list[str]:
    """Return the labels of all keys, with a hint for equal ones at a location: "DMA In (…)".

    The hint is the name in the file, the number of the action, or the location: the first of them
    that differs for all keys with the label.
    """
    trace, keys = table.trace, table.trace.keys
    by_label: dict[str, list[int]] = {}
    for key, location in enumerate(keys.location):
        if location is not None:
            by_label.setdefault(labels[key], []).append(key)
    distinct = list(labels)
    for label, same in by_label.items():
        if len(same) == 1:
            continue
        every = (
            [trace.strings[int(keys.name[key])] for key in same],
            [f"action {keys.instruction[key]}" for key in same],
            [str(keys.location[key]).removeprefix("loc(").removesuffix(")") for key in same],
        )
        hints = next((texts for texts in every if len(set(texts)) == len(same)), None)
        if hints is not None:
            for key, hint in zip(same, hints, strict=True):
                distinct[key] = f"{label} ({hint})"
    return distinct


def _ranks(texts: Sequence[str]) -> Ints:
    rank = np.empty(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return rank


def _holds(event_rows: EventRows, word: str) -> Bools:
    hit = np.zeros(len(event_rows.found), np.bool_)
    for codes, texts in event_rows.texts:
        hit |= np.array([word in text for text in texts], np.bool_)[codes]
    return hit | _metadata_holds(event_rows.found, word)


def _metadata_holds(event_statistics: EventStatistics, word: str) -> Bools:
    """Return which rows have an occurrence whose metadata contains a word, as text or as hex."""
    hit = np.zeros(len(event_statistics), np.bool_)
    column = event_statistics.table.trace.slices.columns.get(METADATA)
    if column is None or column.strings is None:
        return hit
    holds = np.array([word in text.lower() for text in column.strings], np.bool_)
    matching = holds[column.values[event_statistics.slices]]
    if column.valid is not None:
        matching &= column.valid[event_statistics.slices]
    rows = np.repeat(np.arange(len(event_statistics)), np.diff(event_statistics.row_ptr))
    hit[rows[matching]] = True
    return hit


def _grouped(number: str) -> str:
    integer, point, fraction = number.partition(".")
    return group_digits(int(integer)) + point + fraction


def _tooltip(event_rows: EventRows, i: int) -> str:
    link = event_rows.found.table.links[int(event_rows.found.key[i])]
    return "\n".join(dict.fromkeys((event_rows.event(i), event_rows.found.name(i), link.detail)))


def _swatch(event_rows: EventRows, i: int, colors: Palette | None) -> Sequence[int] | None:
    table = event_rows.found.table
    return colors_of(table.links[int(event_rows.found.key[i])].operators, colors) or (
        () if table.sets else None
    )


def _duration(
    title: str,
    values: Callable[[EventRows], NDArray[Any]],
    tip: str,
    leaves: int = 0,
    *,
    width: int = 84,
    tone: str = "text2",
    **rest: Any,
) -> PanelColumn[EventRows]:
    return PanelColumn(
        title,
        ColumnKind.TIME,
        width,
        tip,
        text=lambda c, i: c.time(float(values(c)[i]), i),
        plain=lambda c, i: c.time(float(values(c)[i]), i, plain=True),
        keys=values,
        fractions=lambda c: values(c)[c.found.unit < 0] * c.rate,
        tone=tone,
        leaves=leaves,
        extra_width=lambda c: _UNIT_WIDTH if c.with_units else 0,
        **rest,
    )


def _statistic(
    field: str, term: FigureTerm, leaves: int = 0, **rest: Any
) -> PanelColumn[EventRows]:
    """Return the column of a statistic of all occurrences."""
    values = attrgetter(f"found.statistics.{field}")
    return _duration(term.title, values, term.definition, leaves, **rest)


def _of_several(field: str, term: FigureTerm, leaves: int = 0) -> PanelColumn[EventRows]:
    """Return the column of a statistic that tells nothing about what was logged once."""
    return _statistic(field, term, leaves, is_unused=lambda c: c.logged_once)


EVENTS: PanelTable[EventRows] = PanelTable(
    "Events",
    (
        PanelColumn("Event", text=EventRows.event, keys=lambda c: c.order[0], tooltip=_tooltip,
            tone="text1", swatch=_swatch),
        PanelColumn("Block", width=120,
            text=lambda c, i: c.found.block_titles[int(c.found.block[i])],
            keys=lambda c: c.order[1], leaves=4, is_unused=lambda c: len(c.found.blocks) < 2),
        column_of(STATISTICS["count"], 56, "Here those that were logged in these runs.",
            text=lambda c, i: group_digits(int(c.found.statistics.count[i])),
            plain=lambda c, i: str(int(c.found.statistics.count[i])),
            keys=lambda c: c.found.statistics.count),
        _duration("Run", lambda c: c.in_run, "In the picked run; all its occurrences together.",
            width=92, title_of=lambda c: c.picked, is_unused=lambda c: not c.picked),
        _of_several("p10", figure_terms.P10, 2),
        _statistic("p50", figure_terms.MEDIAN, tone="text1"),
        _of_several("p90", figure_terms.P90),
        _of_several("avg", figure_terms.MEAN, 1),
        _of_several("min", figure_terms.MIN, 3),
        _of_several("max", figure_terms.MAX, 7),
        _of_several("total", figure_terms.SUM, 5),
        PanelColumn("Spread, %", ColumnKind.NUMBER, 80,
            "p90 less p10, as a percentage of the median.",
            text=lambda c, i: MISSING if np.isnan(c.spread[i]) else f"{c.spread[i]:.1f}",
            plain=lambda c, i: "" if np.isnan(c.spread[i]) else f"{c.spread[i]:.1f}",
            keys=lambda c: c.spread, leaves=6, is_unused=lambda c: c.logged_once),
    ),
    least=240,
    rows=lambda c: np.arange(len(c.found)),
    holds=_holds,
    also_copied=(PanelColumn("native unit", text=lambda c, i: c.found.unit_name(i) or ""),),
    most_copied=2000,  # writing that many takes 50 ms
    rest="opscope inspect --tsv_path writes all rows",
)  # fmt: skip


NOTHING = "Open a profile to see the duration of each event over all inferences."
NO_EVENTS = "This profile has no events with a time."


class EventsPanel(TraceTablePanel["EventsAnswer"]):
    """Statistics of the current trace's events over all inferences, and in the current one."""

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        self.model = TableModel(EVENTS, theme)
        super().__init__(
            host,
            TableView(self.model, theme),
            "Filter by event, operator or metadata",
            "Filter events",
        )
        session.selection_changed.connect(self._mark)
        self.refresh()

    def question(self) -> Question | None:
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None:
            return None
        run = None if scope.run is None else open_trace.trace.runs.index(scope.run)
        event_rows = self.answer.rows if self.answer and self.answer.shown is open_trace else None
        size = len(open_trace.trace.slices)
        return Question(_answer, (open_trace, run, event_rows), size, stays=event_rows is not None)

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        self.answer = None
        self.model.clear()

    def show_answer(self, answer: EventsAnswer) -> None:
        open_trace, statistics = answer.shown, answer.rows.found
        if not len(statistics):
            self.show_sentence(NO_EVENTS)
            return
        self._color()
        before = self.model.contents
        self.model.show(answer.rows, stays=before is not None and before.found is statistics)
        count = sum(r.kind is RunKind.INFERENCE for r in open_trace.trace.runs)
        where = f"all {open_trace.file.unit.counted(count)}" if count > 1 else "the whole trace"
        self._show_table(f"{counted(len(statistics), 'event')} · {where}")

    @Slot()
    def _mark(self) -> None:
        """Highlight the row of the selected slice, unless several rows are selected."""
        ref, answer = self._session.state.slice, self.answer
        if ref is None or answer is None or len(marked_rows(self.table)) > 1:
            return
        if self._session.traces[ref.trace] is answer.shown:
            row = self.model.row_of_item(answer.rows.event_of(ref.index))
            if row < 0:
                self.table.clearSelection()
            elif row not in marked_rows(self.table):
                self.table.selectRow(row)

    @Slot(int)
    def _choose(self, row: int) -> None:
        if self.answer is not None:
            longest = self.answer.rows.longest_slice(self.model.item_of(row))
            self._select(self.answer.shown, longest)


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """The statistics of a trace, with those of the current inference."""

    shown: OpenTrace
    rows: EventRows


def _answer(open_trace: OpenTrace, run: int | None, event_rows: EventRows | None) -> EventsAnswer:
    statistics = event_statistics(open_trace.table) if event_rows is None else event_rows.found
    in_run, picked = np.full(len(statistics), -1), ""
    if run is not None:
        row = np.repeat(np.arange(len(statistics)), np.diff(statistics.row_ptr))
        inside = run_of_slices(open_trace.trace)[statistics.slices] == run
        in_run[row[inside]] = 0
        np.add.at(in_run, row[inside], statistics.duration[inside])
        title = run_label(open_trace.table, open_trace.trace.runs[run]).rpartition(" · ")[2]
        picked = title.partition(" of ")[0].capitalize()
    rate = float(open_trace.axis.ns_per_tick)
    return EventsAnswer(open_trace, rows_of(statistics, in_run, picked, rate, event_rows))
