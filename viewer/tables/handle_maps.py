"""Debug handle maps next to what was logged, as rows: `opscope export --table handle_map`.

One row per identifier of a delegate instance, or per debug handle without an identifier. Times are
sums over all its events, rounded down to ns; empty if it was not logged on the profile's clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from viewer.analysis.delegates.handle_maps import MapRow
from viewer.program.program import Operator, Program
from viewer.tables.slices import operator_names, source_places
from viewer.tables.spec import (
    DEBUG_HANDLES,
    FILE,
    OPERATOR_NAMES,
    ColumnSpec,
    TableSpec,
    ticks_and_ns,
)


@dataclass(frozen=True, slots=True)
class _IdentifierRow:
    """A row of a map; rate: None if nothing ran."""

    file: str
    rate: Fraction | None
    map: MapRow
    operators: list[Operator]


HANDLE_MAP = TableSpec("handle_map", (
    FILE,
    ColumnSpec("method", "category", "Method of the model", "map.method"),
    ColumnSpec("instruction_id", "Int64", "Instruction of the runtime",
        lambda row: row.map.instruction if row.map.instruction >= 0 else None),
    ColumnSpec("backend", "category", "Delegate", "map.backend"),
    ColumnSpec("identifier", "category", "Delegate debug identifier, as logged or registered",
        "map.identifier"),
    ColumnSpec("standing", "category", 'Status: "logged", "never logged" and more',
        "map.status.value"),
    DEBUG_HANDLES.filled(lambda row: json.dumps(list(row.map.handles))),
    OPERATOR_NAMES.filled(lambda row: json.dumps(operator_names(row.operators))),
    ColumnSpec("modules", "category", 'Modules and operators, as displayed, joined by "; "',
        lambda row: "; ".join(operator.label for operator in row.operators)),
    ColumnSpec("source", "category", '"file:line", joined by "; "',
        lambda row: "; ".join(source_places(row.operators))),
    ColumnSpec("slices", "int64", "Number of events with it", "map.slices"),
    *ticks_and_ns("dur", "Sum of their durations; null if not on the clock of the profile",
        lambda row: row.map.ticks if row.map.has_time and row.rate is not None else None, "Int64"),
    ColumnSpec("on_own_clock", "Int64", "Number of events with a clock of their own",
        lambda row: row.map.foreign or None),
    ColumnSpec("note", "category", "What is unexpected", "map.detail"),
))  # fmt: skip

HANDLE_MAP_COLUMNS = HANDLE_MAP.names


def handle_map_columns(
    rows: Sequence[MapRow], program: Program | None, file: str, ns_per_tick: Fraction | None
) -> dict[str, Any]:
    """Return one entry per row: column name -> values.

    file: the profile, or the ETRecord if there is none. ns_per_tick: None if nothing ran.
    """
    every = program.operators if program else ()
    return HANDLE_MAP.arrays(
        [
            _IdentifierRow(file, ns_per_tick, row, [every[i] for i in row.operators if every])
            for row in rows
        ]
    )
