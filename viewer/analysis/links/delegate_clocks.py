"""The clocks of delegate events: where their times come from, and the rates that the user states.

A delegate such as QNN counts its own cycles, whose length no ETDump states. A clock is named by the
backend of the events, or by their unit where no ETRecord shows the backend. Units of time need no
rate, and neither does Vulkan, whose runtime converts the times of shaders to ns. A rate gives a
duration in ns, rounded down. It moves nothing: where an event ran inside its call stays unknown, so
its place is for drawing only, and it is not added to times of the file's clock.

An ETDump does not name backends, so its reader decides by the names of a call's events whether they
are XNNPACK's, whose starts are placed and whose durations are rounded to µs. An ETRecord and a
program file name the backend of each call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints
from viewer.dataclasses import replace
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT, foreign
from viewer.model.times import ticks_to_ns
from viewer.model.timing import NS_PER, ROUNDING_TICKS, TICKS, Timing, is_value
from viewer.model.trace import Column, KeyKind, Trace
from viewer.program.debug_handles import shader_of
from viewer.program.executables import XNNPACK

Clock = tuple[int, str]  # a key of the trace, and the unit of its slices

NATIVE_NS = "native_ns"
VULKAN = "VulkanBackend"
_UNIT = TICKS  # of an event whose file states none


def clock_names(table: LinkTable) -> tuple[str, ...]:
    """Return the names of the clocks in a trace whose rate can be stated, in alphabetical order."""
    clocks = _clocks(table.trace)[2]
    return tuple(
        sorted({clock_name(table, *clock) for clock in clocks if not unit_ns(table, *clock)})
    )


def timed_clocks(table: LinkTable) -> dict[str, str]:
    """Return the clocks of a trace that need no rate, with their units: {"VulkanBackend": "ns"}."""
    clocks = [clock for clock in _clocks(table.trace)[2] if unit_ns(table, *clock)]
    return {clock_name(table, *clock): _time_unit(table, *clock) for clock in clocks}


def clocks_text(names: Collection[str], timed: Mapping[str, str], has: str, none: str) -> str:
    """Return which clocks a rate can be stated for, and which need none, for a refusal.

    has, none: what stands before the names, and instead of them.
    """
    parts = [f"{has} {', '.join(sorted(names))}"] if names else []
    parts += [f"{clock} counts {unit} and needs no rate" for clock, unit in sorted(timed.items())]
    return "; ".join(parts) or none


def with_clock_rates(table: LinkTable, chosen: Mapping[str, Fraction]) -> LinkTable:
    """Return a table with rates, given as ns per cycle or tick by the names of `clock_names`."""
    if not chosen:
        return table
    clocks = [clock for clock in _clocks(table.trace)[2] if not unit_ns(table, *clock)]
    named = {clock: clock_name(table, *clock) for clock in clocks}
    rates = {clock: chosen[name] for clock, name in named.items() if name in chosen}
    return replace(table, clock_rates=rates)


def native_ns(table: LinkTable) -> Column | None:
    """Return the duration in ns of every slice on a clock with a stated rate; None if none is."""
    return _in_ns(table, table.clock_rates) if table.clock_rates else None


def own_clock_ns(table: LinkTable) -> Column | None:
    """Return the same, also for clocks that count units of time, whose rate is known."""
    rates = dict(table.clock_rates)
    for clock in _clocks(table.trace)[2]:
        if ns := unit_ns(table, *clock):
            rates[clock] = Fraction(ns)
    return _in_ns(table, rates) if rates else None


def clocks_of_slices(table: LinkTable) -> tuple[Ints, Ints, list[Clock]]:
    """Return the slices that a clock other than the file's timed, the clock of each, the clocks."""
    return _clocks(table.trace)


def _in_ns(table: LinkTable, of_clock: Mapping[Clock, Fraction]) -> Column | None:
    slices = table.trace.slices
    index, clock, clocks = _clocks(table.trace)
    rates = [of_clock.get(clock) for clock in clocks]
    values, valid = np.zeros(len(slices), np.int64), np.zeros(len(slices), np.bool_)
    for rate in {rate for rate in rates if rate is not None}:
        rows = index[np.array([other == rate for other in rates])[clock]]
        values[rows] = ticks_to_ns(slices.columns[NATIVE_DURATION].values[rows], rate)
        valid[rows] = True
    return Column(values, valid) if valid.any() else None


def with_native_ns(table: LinkTable) -> Trace:
    """Return the trace of a table with the column `native_ns`, if it has any rate."""
    column, trace = native_ns(table), table.trace
    if column is None:
        return trace
    columns = {**trace.slices.columns, NATIVE_NS: column}
    return replace(trace, slices=replace(trace.slices, columns=columns))


def clock_rate(table: LinkTable, i: int) -> Fraction | None:
    """Return the stated ns per cycle or tick of slice i, None if it has no such rate."""
    if not table.clock_rates:
        return None
    columns, key = table.trace.slices.columns, int(table.trace.slices.key[i])
    duration = columns[NATIVE_DURATION].value(i) if NATIVE_DURATION in columns else None
    unit = columns[NATIVE_UNIT].value(i) if NATIVE_UNIT in columns else None
    return None if duration is None else table.clock_rates.get((key, str(unit or _UNIT)))


def native_ns_of(table: LinkTable, i: int) -> int | None:
    """Return the duration in ns of slice i, as in `native_ns`, without computing the others."""
    rate = clock_rate(table, i)
    if rate is None:
        return None
    return int(ticks_to_ns(table.trace.slices.columns[NATIVE_DURATION].values[i : i + 1], rate)[0])


def clock_name(table: LinkTable, key: int, unit: str) -> str:
    """Return the name of a clock: the backend of its events, else their unit."""
    if backend := table.links[key].backend:
        return backend
    return VULKAN if shader_of(table.trace.keys.identifier[key]) else unit


def unit_ns(table: LinkTable, key: int, unit: str) -> int:
    """Return the ns of a clock's unit; 0 if its rate is unknown."""
    return NS_PER.get(_time_unit(table, key, unit), 0)


def _time_unit(table: LinkTable, key: int, unit: str) -> str:
    # The names of its first shaders do not always tell.
    return "ns" if unit == TICKS and table.links[key].backend == VULKAN else unit


def _clocks(trace: Trace) -> tuple[Ints, Ints, list[Clock]]:
    """Return the slices on other clocks, the clock of each, and the clocks; no values."""
    slices = trace.slices
    duration, unit = slices.columns.get(NATIVE_DURATION), slices.columns.get(NATIVE_UNIT)
    none = np.empty(0, np.int64)
    if duration is None or duration.strings is not None or duration.values.dtype.kind not in "iu":
        return none, none, []
    index = foreign(slices)
    units: tuple[str, ...] = (_UNIT,)
    code = np.zeros(len(index), np.int64)
    if unit is not None and unit.strings is not None:
        units = (*unit.strings, _UNIT)
        code = unit.values[index].astype(np.int64)
        if unit.valid is not None:
            code[~unit.valid[index]] = len(units) - 1
    timed: Bools = ~np.array([is_value(unit) for unit in units], np.bool_)[code]
    index, code = index[timed], code[timed]
    pairs, clock = np.unique(slices.key[index] * np.int64(len(units)) + code, return_inverse=True)
    clocks = [(pair // len(units), units[pair % len(units)]) for pair in pairs.tolist()]
    return index, clock, clocks


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
    from viewer.analysis.nodes.instruction_nodes import delegate_of

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
