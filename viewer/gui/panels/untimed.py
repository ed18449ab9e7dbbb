"""The panel of untimed events: allocations and logged values, in file order.

Their order is known, but not their time, so they are shown as a table and never as a curve. There
can be a million. So rows are positions in the trace's columns, a filter searches each distinct text
once, and a cell's text is created when it is painted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot

from viewer.analysis.links.labels import (
    HOW_TO_LOG,
    keys_of,
    link_reason,
    run_label,
    runs_of,
    set_label,
)
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.cost_painting import colors_of
from viewer.gui.panels.base.panel import PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import PanelColumn, PanelTable, TableModel, TableView, column_of
from viewer.gui.panels.base.trace_panel import TraceTablePanel
from viewer.model.figures import TimeScope
from viewer.model.times import group_digits
from viewer.model.trace import Column, UntimedEvents, UntimedKind, ValueType
from viewer.model.untimed import TYPE_NAMES, counts_text, identifier_of, kind_name, value_text
from viewer.tables.slices import UNTIMED
from viewer.view.open_trace import OpenTrace

WITHOUT_DATA = "empty"
NO_DATA = "The tensor has no data in the debug buffer"


class UntimedRows:
    """Some untimed events of a trace as rows, given by their indices.

    runs: codes per event, and the run of each code. known: earlier rows, whose texts serve again if
    they are of the same trace.
    """

    def __init__(
        self, open_trace: OpenTrace, listed: Ints, untimed_rows: UntimedRows | None = None
    ) -> None:
        self.shown, self.events, self.listed = open_trace, open_trace.trace.untimed, listed
        if untimed_rows is None or untimed_rows.shown is not open_trace:
            untimed_rows = None
        table = open_trace.table
        self.keys: Ints = keys_of(open_trace.trace) if untimed_rows is None else untimed_rows.keys
        self.runs: tuple[Ints, tuple[str, ...]] = (
            runs_of(table) if untimed_rows is None else untimed_rows.runs
        )
        self.operators: list[str] = (
            [set_label(table, link.operators) for link in table.links]
            if untimed_rows is None
            else untimed_rows.operators
        )

    @cached_property
    def searched(self) -> list[tuple[NDArray[Any], list[str]]]:
        """Codes per event and lower-case texts of each text column; -1 is the last text, "".

        Scalars match by type, not by value.
        """
        open_trace, events = self.shown, self.events
        is_tensor = (events.type == ValueType.TENSOR) | (events.type == ValueType.TENSOR_LIST)
        types = [TYPE_NAMES[type] for type in ValueType]
        labels = np.append(open_trace.labels.astype(np.int64), -1)
        texts: list[tuple[NDArray[Any], Sequence[str]]] = [
            self.runs,
            (labels[events.after], [*open_trace.label_strings, ""]),
            (events.kind, [kind.name for kind in UntimedKind]),
            (_codes(events.name), [*(events.name.strings or ()), ""]),
            (events.identifier, [*map(str, events.identifiers), ""]),
            (self.keys, [*self.operators, ""]),
            (np.where(is_tensor, events.value + len(types), events.type),
                [*types, *events.tensors]),
        ]  # fmt: skip
        return [(codes, [text.lower() for text in every]) for codes, every in texts]

    def holds(self, word: str) -> Bools:
        """Return which events have a word in some cell."""
        hit = np.zeros(len(self.events), np.bool_)
        for codes, texts in self.searched:
            hit |= np.array([word in text for text in texts], np.bool_)[codes]
        return hit

    @property
    def has_operators(self) -> bool:
        """Whether any event is linked."""
        linked = np.append(self.shown.table.set_of_key >= 0, False)
        return bool(linked[self.keys[self.listed]].any())

    @property
    def has_names(self) -> bool:
        """Whether any event has a name or an identifier."""
        events, rows = self.events, self.listed
        return bool(((events.identifier[rows] >= 0) | _stated(events.name, rows)).any())

    def slice_of(self, i: int) -> int:
        """Return the slice that an event follows, else the call that contains it, else -1."""
        events = self.events
        return int(events.after[i]) if events.after[i] >= 0 else int(events.call[i])

    def after(self, i: int) -> str:
        """Return the label of the slice before an event."""
        before = int(self.events.after[i])
        return self.shown.label(before) if before >= 0 else ""

    def operator(self, i: int) -> str:
        """Return the label of the operators of an event."""
        key = int(self.keys[i])
        return self.operators[key] if key >= 0 else ""

    def members(self, i: int) -> tuple[int, ...]:
        """Return the operators of an event."""
        key = int(self.keys[i])
        return self.shown.table.links[key].operators if key >= 0 else ()

    def value(self, i: int) -> str:
        """Return the value of an event, and whether it is an output."""
        text = value_text(self.events, i)
        return f"{text} · output" if self.events.output[i] else text

    def offset(self, i: int, *, plain: bool = False) -> str:
        """Return the place of a value in the debug buffer."""
        place = self.events.offset.value(i)
        return WITHOUT_DATA if place == -1 else _number(place, plain=plain)


def _column(
    name: str, text: Callable[[UntimedRows, int], str], width: int, /, **rest: Any
) -> PanelColumn[UntimedRows]:
    """Return a column of events: gray if it shows their place, or nothing."""
    return column_of(UNTIMED[name], width, **{
        "text": lambda c, i: text(c, i) or MISSING,
        "plain": text,
        "tooltip": text,
        "tone": lambda c, i: "text1" if text(c, i) else "text2",
    } | rest)  # fmt: skip


def _value_tip(c: UntimedRows, i: int) -> str:
    place, text = c.events.offset.value(i), c.value(i)
    if place is None or place == -1:
        return text
    return f"{text or MISSING}\nat byte {group_digits(int(place))} of the debug buffer"


def _has_one(of: Callable[[UntimedRows], NDArray[Any]]) -> Callable[[UntimedRows], bool]:
    return lambda c: len(np.unique(of(c)[c.listed])) < 2


EVENTS: PanelTable[UntimedRows] = PanelTable(
    "Events without a time",
    (
        _column("run", lambda c, i: c.runs[1][int(c.runs[0][i])], 120, tone="text2", leaves=4,
            is_unused=_has_one(lambda c: c.runs[0])),
        _column("event", lambda c, i: str(c.events.source_row[i]), 52, tone="text2",
            text=lambda c, i: group_digits(c.events.source_row[i]),
            tooltip=lambda c, i: group_digits(c.events.source_row[i])),
        _column("after", UntimedRows.after, 120, tone="text2", leaves=3, elides_middle=True),
        _column("kind", lambda c, i: kind_name(c.events, i), 84, tone="text2", leaves=2,
            is_unused=_has_one(lambda c: c.events.kind)),
        _column("name", lambda c, i: _name(c.events, i), 128,
            tip="Name of the allocator, or name and identifier of what was logged.",
            is_unused=lambda c: not c.has_names),
        _column("operators", UntimedRows.operator, 0, elides_middle=True,
            tooltip=lambda c, i: c.operator(i) or link_reason(c.shown.table, i),
            title="Operator", tip="The operators that an event belongs to.",
            swatch=lambda c, i, colors: colors_of(c.members(i), colors) or None,
            is_unused=lambda c: not c.has_operators),
        _column("value", UntimedRows.value, 140, tooltip=_value_tip, fills=True,
            font=lambda c, i: "code" if c.value(i) else "cell",
            is_unused=lambda c: not c.events.type[c.listed].any()),
        _column("bytes", lambda c, i: _number(c.events.size.value(i), plain=True), 80, leaves=5,
            text=lambda c, i: _number(c.events.size.value(i)) or MISSING,
            tooltip=lambda c, i: _number(c.events.size.value(i)),
            is_unused=lambda c: not _stated(c.events.size, c.listed).any()),
        _column("offset", lambda c, i: c.offset(i, plain=True), 72, tone="text2", leaves=1,
            text=lambda c, i: c.offset(i) or MISSING,
            tooltip=lambda c, i: NO_DATA if c.offset(i) == WITHOUT_DATA else c.offset(i),
            is_unused=lambda c: not _stated(c.events.offset, c.listed).any()),
    ),
    least=130,
    rows=lambda c: c.listed,
    holds=UntimedRows.holds,
    sortable=False,
    most_copied=5000,  # writing that many takes 85 ms
    rest="opscope export --table untimed writes all rows",
)  # fmt: skip


def _name(events: UntimedEvents, i: int) -> str:
    """Return the allocator, or the name and delegate debug identifier logged with a value."""
    identifier = identifier_of(events, i)
    parts = (events.name.value(i), None if identifier is None else str(identifier))
    return " · ".join(str(part) for part in parts if part is not None)


def _codes(column: Column) -> NDArray[Any]:
    codes = column.values.astype(np.int64)
    return codes if column.valid is None else np.where(column.valid, codes, -1)


def _stated(column: Column, rows: Ints) -> Bools:
    return np.ones(len(rows), np.bool_) if column.valid is None else column.valid[rows]


def _number(value: Any, *, plain: bool = False) -> str:
    if value is None:
        return ""
    return str(value) if plain else group_digits(int(value))


NOTHING = f"No allocation or debug events here. {HOW_TO_LOG}"
ORDER = "in order, without times"


class UntimedPanel(TraceTablePanel[Ints]):
    """Allocation and debug events of the current trace, in the current inference or in all."""

    def __init__(self, host: PanelHost) -> None:
        theme = host.theme
        self.model = TableModel(EVENTS, theme)
        super().__init__(
            host,
            TableView(self.model, theme),
            "Filter by operator, name, shape or type",
            "Filter events without a time",
        )
        self.refresh()

    def question(self) -> Question | None:
        """Return the question for the events in the scope; it is answered synchronously."""
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None or not len(open_trace.trace.untimed):
            return None
        return Question(_listed, (open_trace, scope))

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        self.model.clear()

    def show_answer(self, rows: Ints) -> None:
        """List the events, given by their indices, or count those of other inferences."""
        open_trace, scope = self._of
        assert open_trace is not None
        events = open_trace.trace.untimed
        unit = open_trace.file.unit
        where = (
            f"all {unit.plural}" if scope.run is None else run_label(open_trace.table, scope.run)
        )
        if not len(rows):
            self.show_sentence(f"None in {where}; {counts_text(events)} in other {unit.plural}.")
            return
        self._color()
        self.model.show(UntimedRows(open_trace, rows, self.model.contents))
        count = group_digits(len(rows))
        of = "" if len(rows) == len(events) else f" of {group_digits(len(events))}"
        self._show_table(f"{count}{of} events · {where} · {ORDER}")

    @Slot(int)
    def _choose(self, row: int) -> None:
        rows = self.model.contents
        index = -1 if rows is None else rows.slice_of(self.model.item_of(row))
        if rows is not None and index >= 0:
            self._select(rows.shown, index)


def _listed(open_trace: OpenTrace, scope: TimeScope) -> Ints:
    events = open_trace.trace.untimed
    if scope.run is None:
        return np.arange(len(events))
    run = open_trace.trace.runs.index(scope.run)
    return np.flatnonzero(events.run == run)
