"""Debug handle maps next to what was logged, as rows: `opscope export --table handle_map`.

One row per identifier of a delegate instance, or per debug handle without an identifier. Times are
sums over all its events, rounded down to ns; empty if it was not logged on the profile's clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from viewer.analysis.delegates.handle_maps import MapRow
from viewer.export.tables.slices import operator_names, source_places
from viewer.model.times import tick_to_ns
from viewer.program.program import Program

HANDLE_MAP_COLUMNS = (
    "file", "method", "instruction_id", "backend", "identifier", "standing", "debug_handles",
    "operators", "modules", "source", "slices", "dur_ticks", "dur_ns", "on_own_clock", "note",
)  # fmt: skip


def handle_map_columns(
    rows: Sequence[MapRow], program: Program | None, file: str, ns_per_tick: Fraction | None
) -> dict[str, list[Any]]:
    """Return one entry per row: column name -> list.

    file: the profile, or the ETRecord if there is none. ns_per_tick: None if nothing ran.
    """
    found: dict[str, list[Any]] = {name: [] for name in HANDLE_MAP_COLUMNS}
    for row in rows:
        own = [program.operators[i] for i in row.operators] if program else []
        timed = row.has_time and ns_per_tick is not None
        values = (
            file,
            row.method,
            row.instruction if row.instruction >= 0 else "",
            row.backend,
            row.identifier,
            row.status.value,
            json.dumps(list(row.handles)),
            json.dumps(operator_names(own)),
            "; ".join(operator.label for operator in own),
            "; ".join(source_places(own)),
            row.slices,
            row.ticks if timed else "",
            tick_to_ns(row.ticks, ns_per_tick) if timed and ns_per_tick is not None else "",
            row.foreign or "",
            row.detail,
        )
        for name, value in zip(HANDLE_MAP_COLUMNS, values, strict=True):
            found[name].append(value)
    return found
