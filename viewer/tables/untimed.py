"""Events without a time as rows of a table: what `opscope export --table untimed` writes.

One row per allocation or debug event, in file order. Their order is known but their time is not, so
no column has one: `event` is the position in the file, `after` the preceding slice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.untimed_links import NO_CALL, OUTSIDE, keys_of, runs_of
from viewer.model.trace import Column, UntimedKind, ValueType
from viewer.model.untimed import TYPE_NAMES, value_texts
from viewer.tables.columns import Rows, cells, text_array
from viewer.tables.slices import caller_places, operator_names, source_places
from viewer.tables.spec import (
    CALLED_FROM,
    DEBUG_HANDLES,
    METHOD,
    OPERATOR_NAMES,
    ColumnSpec,
    TableSpec,
)


class _Events:
    """The events of a trace. Columns are lists of values by a code of each event."""

    def __init__(self, table: LinkTable, process: str) -> None:
        self.table, self.process = table, process
        self.events, self.trace = table.trace.untimed, table.trace
        self.keys = keys_of(table.trace)

    def of_keys(self, text: Callable[[int], str]) -> NDArray[Any]:
        """Return a text of the identity of each event, "" for those without one."""
        return text_array([*map(text, range(len(self.table.links))), ""])[self.keys]

    def runs(self) -> NDArray[Any]:
        """Return the run of each event."""
        run, runs = runs_of(self.table)
        return text_array(runs)[run]

    def names_before(self) -> NDArray[Any]:
        """Return the name of the slice before each event."""
        names = (self.trace.strings[name] for name in self.trace.slices.name)
        return text_array([*names, ""])[self.events.after]

    def rows_before(self) -> NDArray[Any]:
        """Return the position in the file of the slice before each event."""
        row = np.append(self.trace.slices.source_row, 0)[self.events.after]
        return cells(Column(row, self.events.after >= 0), slice(None))

    def methods(self) -> NDArray[Any]:
        """Return the method of the run of each event."""
        names = (self.table.method_of_scope(run.scope) or "" for run in self.trace.runs)
        return text_array([*names, ""])[self.events.run]

    def reasons(self) -> NDArray[Any]:
        """Return how the operators of each event were found, or why there are none."""
        texts = self.of_keys(lambda k: self.table.links[k].reason.text)
        no_call = (self.events.kind == UntimedKind.DEBUG) & (self.keys < 0)
        texts[no_call] = np.where(self.events.chain.values[no_call] < 0, OUTSIDE, NO_CALL)
        return texts


def _stored(name: str) -> Callable[[_Events], NDArray[Any]]:
    """Return the value of a column that events have themselves."""
    return lambda e: cells(getattr(e.events, name), slice(None))


# A value is that of all events.
UNTIMED = TableSpec("untimed", (
    ColumnSpec("process", "category", "Name of the file",
        lambda e: text_array([e.process] * len(e.events))),
    ColumnSpec("run", "category", "Method and number of the run, or block", _Events.runs,
        title="Run"),
    ColumnSpec("event", "int64", "Position in the file", lambda e: e.events.source_row, title="#"),
    ColumnSpec("after", "category", "Name of the slice before it", _Events.names_before,
        title="After"),
    ColumnSpec("after_event", "Int64", "Position of that slice", _Events.rows_before),
    ColumnSpec("kind", "category", "What it is",
        lambda e: text_array([kind.name.lower() for kind in UntimedKind])[e.events.kind],
        title="Kind"),
    ColumnSpec("name", "category", "Name of the allocator", _stored("name"), title="Name"),
    ColumnSpec("bytes", "Int64", "Size", _stored("size"), "bytes", "Bytes"),
    ColumnSpec("identifier", "category", "Delegate debug identifier, as logged",
        lambda e: text_array([*map(str, e.events.identifiers), ""])[e.events.identifier]),
    METHOD.filled(_Events.methods),
    ColumnSpec("chain", "Int64", "Chain of the instruction", _stored("chain")),
    ColumnSpec("instruction_id", "Int64", "Instruction of the runtime", _stored("instruction")),
    ColumnSpec("type", "category", "Type of the value",
        lambda e: text_array([TYPE_NAMES[type] for type in ValueType])[e.events.type]),
    ColumnSpec("value", "category", "The value, or its shape", lambda e: value_texts(e.events),
        title="Value"),
    ColumnSpec("output", "category", '"true" for an output of the method',
        lambda e: text_array(["", "true"])[e.events.output.astype(np.int64)]),
    ColumnSpec("offset", "Int64", "Offset in the debug buffer", _stored("offset"), "bytes",
        "Offset"),
    DEBUG_HANDLES.filled(lambda e: e.of_keys(lambda k: json.dumps(list(e.table.links[k].handles)))),
    OPERATOR_NAMES.filled(
        lambda e: e.of_keys(lambda k: json.dumps(operator_names(e.table.operators(k))))),
    ColumnSpec("source", "category", '"file:line", joined by "; "',
        lambda e: e.of_keys(lambda k: "; ".join(source_places(e.table.executed(k))))),
    ColumnSpec("link_reason", "category", "How the operators were found, or why there are none",
        _Events.reasons),
    CALLED_FROM.filled(
        lambda e: e.of_keys(lambda k: "; ".join(caller_places(e.table.executed(k))))),
))  # fmt: skip


def untimed_columns(table: LinkTable, process: str) -> Rows:
    """Return one row per event: column name -> array of equal length.

    process: the name of the file.
    """
    return UNTIMED.row(_Events(table, process))
