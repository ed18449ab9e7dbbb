"""Where the times of delegate events come from, once the backends of their calls are known.

An ETDump does not name backends, so its reader decides by the names of a call's events whether they
are XNNPACK's, whose starts are placed and whose durations are rounded to µs. An ETRecord and a
program file name the backend of each call.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools
from viewer.model.timing import ROUNDING_TICKS, Timing
from viewer.model.trace import KeyKind
from viewer.program.executable.executable import XNNPACK

_OF_XNNPACK = np.uint8(Timing.PLACED | Timing.ROUNDED)


def with_backends(table: LinkTable) -> LinkTable:
    """Return the table of a trace whose delegate events are timed as their backends do it.

    The trace is the same object unless a backend contradicts the names of its events.
    """
    trace, keys = table.trace, table.trace.keys
    slices, backends = trace.slices, _backends(table)
    if not backends:
        return table
    is_xnnpack, is_other = (np.zeros(len(keys), np.bool_) for _ in range(2))
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
        backend = backends.get((int(keys.scope[key]), int(keys.instruction[key])))
        is_xnnpack[key] = backend == XNNPACK and isinstance(keys.identifier[key], str)
        is_other[key] = backend is not None and backend != XNNPACK
    stated = np.zeros(len(slices), np.uint8) if slices.timing is None else slices.timing
    clear = is_other[slices.key] & (stated & _OF_XNNPACK > 0)
    mark = is_xnnpack[slices.key] & (stated & np.uint8(Timing.PLACED) == 0)
    if not (clear.any() or mark.any()):
        return table
    timing = stated.copy()
    timing[clear] &= ~_OF_XNNPACK
    timing[mark] |= np.uint8(Timing.PLACED)
    timing[mark & _in_whole_us(table, is_xnnpack)] |= np.uint8(Timing.ROUNDED)
    timing.flags.writeable = False
    return replace(table, trace=replace(trace, slices=replace(slices, timing=timing)))


def _backends(table: LinkTable) -> dict[tuple[int, int], str]:
    """The backends of calls by scope and instruction: of the program file, else of the record."""
    from viewer.analysis.nodes.executable_calls import delegate_of

    keys, backends = table.trace.keys, dict[tuple[int, int], str]()
    states = table.program is not None and not table.program.delegates_only
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_CALL).tolist():
        scope, instruction = int(keys.scope[key]), int(keys.instruction[key])
        ran = table.ran[scope] if scope < len(table.ran) else None
        backend = delegate_of(ran, instruction).backend if ran is not None else ""
        backend = backend or (table.links[key].backend if states else "")
        if backend:
            backends[scope, instruction] = backend
    return backends


def _in_whole_us(table: LinkTable, is_event: Bools) -> Bools:
    """Which slices are of an instruction whose events all have durations of whole µs."""
    keys, slices = table.trace.keys, table.trace.slices
    odd = is_event[slices.key] & ((slices.end - slices.start) % ROUNDING_TICKS != 0)
    places = np.stack([keys.scope.astype(np.int64), keys.instruction.astype(np.int64)], axis=1)
    _, place = np.unique(places, axis=0, return_inverse=True)
    of_slice = place.reshape(-1)[slices.key]
    is_whole: Bools = ~np.isin(of_slice, of_slice[odd])
    return is_whole
