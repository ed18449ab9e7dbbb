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
from viewer.export.tables.columns import Rows, cells, text_array
from viewer.export.tables.slices import caller_places, operator_names, source_places
from viewer.model.trace import Column, UntimedKind, ValueType
from viewer.model.untimed import TYPE_NAMES, value_texts

UNTIMED_COLUMNS = (
    "process", "run", "event", "after", "after_event", "kind", "name", "bytes", "identifier",
    "method", "chain", "instruction_id", "type", "value", "output", "offset", "debug_handles",
    "operators", "source", "link_reason", "called_from",
)  # fmt: skip


def untimed_columns(table: LinkTable, process: str) -> Rows:
    """Return one row per event: column name -> array of equal length.

    process: the name of the file.
    """
    trace, events, links = table.trace, table.trace.untimed, table.links
    keys = keys_of(trace)
    run, runs = runs_of(table)
    methods = [table.method_of_scope(r.scope) or "" for r in trace.runs]
    is_debug = events.kind == UntimedKind.DEBUG

    def of_key(value: Callable[[int], str]) -> NDArray[Any]:
        return text_array([*(value(k) for k in range(len(links))), ""])[keys]

    reason = of_key(lambda k: links[k].reason.text)
    no_call = is_debug & (keys < 0)
    reason[no_call] = np.where(events.chain.values[no_call] < 0, OUTSIDE, NO_CALL)
    after = np.append(trace.slices.name.astype(np.int64), len(trace.strings))[events.after]
    row = np.append(trace.slices.source_row, 0)[events.after]
    all_rows = slice(None)
    return {
        "process": text_array([process])[np.zeros(len(events), np.int64)],
        "run": text_array(runs)[run],
        "event": events.source_row,
        "after": text_array([*trace.strings, ""])[after],
        "after_event": cells(Column(row, events.after >= 0), all_rows),
        "kind": text_array([kind.name.lower() for kind in UntimedKind])[events.kind],
        "name": cells(events.name, all_rows),
        "bytes": cells(events.size, all_rows),
        "identifier": text_array([*map(str, events.identifiers), ""])[events.identifier],
        "method": text_array([*methods, ""])[events.run],
        "chain": cells(events.chain, all_rows),
        "instruction_id": cells(events.instruction, all_rows),
        "type": text_array([TYPE_NAMES[type] for type in ValueType])[events.type],
        "value": value_texts(events),
        "output": text_array(["", "true"])[events.output.astype(np.int64)],
        "offset": cells(events.offset, all_rows),
        "debug_handles": of_key(lambda k: json.dumps(list(links[k].handles))),
        "operators": of_key(lambda k: json.dumps(operator_names(table.operators(k)))),
        "source": of_key(lambda k: "; ".join(source_places(table.executed(k)))),
        "link_reason": reason,
        "called_from": of_key(lambda k: "; ".join(caller_places(table.executed(k)))),
    }
