"""Runs and links of events without a time, as far as a program identifies them.

A debug event is linked like the call or the delegate event that its value belongs to. An event
without one is never linked, and neither is an allocation.
"""

from __future__ import annotations

import numpy as np

from viewer.analysis.links.labels import run_label
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.model.trace import Trace, UntimedKind

HOW_TO_LOG = (
    "ExecuTorch logs values if the program is loaded with enable_etdump=True and a "
    "debug_buffer_size, and allocations if its allocators are tracked."
)
NO_CALL = "no timed event of its identity after it in the run"
OUTSIDE = "logged outside any instruction"


def keys_of(trace: Trace) -> Ints:
    """Return per event the key of the slice that its value belongs to, -1 if there is none."""
    keys = np.append(trace.slices.key.astype(np.int64), -1)
    key_of_event: Ints = keys[trace.untimed.call]
    return key_of_event


def link_reason(table: LinkTable, i: int) -> str:
    """Return why event i is linked or not; empty for an allocation, which is never linked."""
    events = table.trace.untimed
    if events.kind[i] == UntimedKind.ALLOCATION:
        return ""
    if events.call[i] >= 0:
        return table.links[int(table.trace.slices.key[events.call[i]])].reason.text
    return OUTSIDE if events.chain.values[i] < 0 else NO_CALL


def runs_of(table: LinkTable) -> tuple[Ints, tuple[str, ...]]:
    """Return the run of each event as codes into labels: "forward · run 2", "load".

    A block without any timed event is named by its position in the file: "Execute · block 3".
    """
    trace = table.trace
    events = trace.untimed
    texts = [run_label(table, run) for run in trace.runs]
    codes = np.where(events.run >= 0, events.run, len(texts) + events.block.astype(np.int64))
    texts += [f"{name or 'run'} · block {i}" for i, name in enumerate(events.blocks, 1)]
    return codes, tuple(texts)
