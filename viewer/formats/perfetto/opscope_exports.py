"""What an export of ours says beyond what Perfetto knows, read back.

`viewer.export.perfetto.writer` says what it writes. Here become of it again: the identities of the
slices, whose arguments all slices of one identity share; the unit of an NPU that a track is of; the
inferences that no slice spans; the units of columns; what is said of the flows; clock and ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints
from viewer.formats.perfetto.annotations import INT, Annotations
from viewer.formats.perfetto.begin_end import Places
from viewer.formats.perfetto.sequences import Problem, as_text
from viewer.model.building.builder import TraceBuilder
from viewer.model.provenance import Provenance, first_ns, of_source
from viewer.model.times import ns_to_tick, tick_to_ns, ticks_to_ns
from viewer.model.trace import Clock, Column, KeyKind, Run, RunKind, Unit

RUN_CATEGORY = "INFERENCE"
UNITS = {unit.name: unit for unit in Unit if unit}
# Columns whose values are those of an identity, beside its name, identifier and instruction.
_OF_KEYS = (
    "category", "correlation_id", "operator", "debug_handles", "module", "source", "link_reason",
    "estimate_ticks", "estimate_ns", "location",
)  # fmt: skip
_BETWEEN = " · run "
_OTHER_TICKS = "ticks that are not those of the times: another program changed them, times count"


def keys_of(
    builder: TraceBuilder,
    names: Codes,
    columns: Mapping[str, Column],
    identifiers: tuple[Sequence[Any], Ints],
    instructions: tuple[Ints, Bools] | None,
) -> Codes:
    """The key of every slice, made of its name (a number of the builder's) and its arguments.

    identifiers: the distinct ones, numbers and texts, and of every slice which it has, -1 for none.
    instructions: the ids and which slices have one.
    """
    values, which = identifiers
    # All numbers of names are in use: they are groups of slices already.
    group: NDArray[Any] = names
    if values:
        group = _combined(group, which)
    if instructions is not None:
        ids, is_told = instructions
        group = _combined(group, _dense(np.where(is_told, np.maximum(ids, -1), -1) + 1) - 1)
    for name in _OF_KEYS:
        if name in columns:
            group = _combined(group, _codes(columns[name]))
    total = int(group.max()) + 1 if len(group) else 0
    at = np.zeros(total, np.int64)
    at[group] = np.arange(len(names))  # any slice of each
    identifier = np.full(total, None, object)
    if values:
        identifier[:] = [values[i] if i >= 0 else None for i in which[at].tolist()]
    instruction = np.full(total, -1)
    if instructions is not None:
        instruction = np.where(is_told[at], np.maximum(ids[at], -1), -1)
    numbered = builder.distinct_keys(
        np.full(total, KeyKind.PLAIN, np.uint8),
        names[at],
        np.zeros(total, np.uint32),
        instruction,
        identifier,
    )
    found: Codes = numbered[group]
    return found


def _codes(column: Column) -> Ints:
    """A number for every value of a column, -1 for none."""
    values = column.values
    if values.dtype.kind == "f":
        values = values.view(np.int64)
    codes = values.astype(np.int64)
    if column.strings is None:
        codes = _dense(codes)
    return codes if column.valid is None else np.where(column.valid, codes, -1)


def _dense(values: Ints) -> Ints:
    """Numbers from 0 on in place of values."""
    if not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000:
        found: Ints = np.unique(values, return_inverse=True)[1].reshape(-1)
        return found
    known = np.zeros(high - low + 1, np.bool_)
    known[values - low] = True
    return (np.cumsum(known) - 1)[values - low]


def _combined(group: NDArray[Any], codes: Ints) -> NDArray[Any]:
    """Groups of slices that have one group and one code; codes from -1 on."""
    if not len(codes) or (codes == codes[0]).all():
        return group
    size = int(codes.max()) + 2
    return _dense(group.astype(np.int64) * size + (codes + 1))


def in_stated_order(columns: Mapping[str, Column], names: Iterable[str]) -> dict[str, Column]:
    """Columns in the order in which the file numbers their names."""
    rank = {name: i for i, name in enumerate(names)}
    order = sorted(columns, key=lambda name: rank.get(name, len(rank)))
    return {name: columns[name] for name in order}


def with_units(columns: Mapping[str, Column], provenance: Provenance) -> dict[str, Column]:
    """Columns with the units that the file states for them."""
    stated = of_source(provenance)
    units = {name: str(unit) for name in columns if (unit := stated.get(f"unit_of_{name}", ""))}
    return {
        name: replace(column, unit=units[name]) if name in units else column
        for name, column in columns.items()
    }


def stated_runs(
    names: Sequence[str], numbers: Sequence[Any], ticks: Sequence[Any]
) -> list[Run | None]:
    """The inferences that slices are, by their names and the arguments "run" (a number) and "ticks"
    ("0 to 10"), of no track yet; None for one that says nothing of use."""
    found: list[Run | None] = []
    for name, number, span in zip(names, numbers, ticks, strict=True):
        first, _, last = str(span).partition(" to ")
        run = None
        try:
            start, end, which = int(first), int(last), int(number)
        except (TypeError, ValueError):
            pass
        else:
            if -(2**63) <= start <= end < 2**63 and which > 0:
                method = name.rpartition(_BETWEEN)[0] or name
                run = Run(RunKind.INFERENCE, which, method, 0, 0, start, end)
        found.append(run)
    # Of a part of a trace nothing says how many there were in all.
    known = [run.number for run in found if run is not None]
    total = len(known) if sorted(known) == list(range(1, len(known) + 1)) else 0
    return [run and replace(run, total=total) for run in found]


def about_flows(event: bytes) -> dict[str, int | str]:
    """What the event that speaks about a source says of its flows, which no attribute does."""
    try:
        found = pb.TrackEvent.FromString(event)
    except Exception:  # DecodeError of whichever protobuf runtime
        return {}
    told: dict[str, int | str] = {}
    for one in found.debug_annotations:
        if (name := as_text(one.name)) == "flows_left_out":
            told[name] = as_text(one.string_value)
    return told


def own_ticks(
    provenance: Provenance,
    arguments: Annotations,
    slice_of: Places,
    start: Ints,
    end: Ints,
    problem: Problem,
) -> tuple[Clock, Ints, Ints] | None:
    """Clock and ticks of our own export of one file, whose times are ns from its origin on.

    A tick that lasts 1 ns stands in the time itself. Else the ticks stand on all slices of the
    input; those that the export added, inferences and marks, have the first tick of their ns.
    """
    stated = of_source(provenance)
    try:
        ratio = Fraction(str(stated.get("ns_per_tick", "")))
    except (ValueError, ZeroDivisionError):
        return None
    first = first_ns(provenance)
    if ratio <= 0 or first is None:
        return None
    if ratio == 1:
        # Not where a tick would be beyond 64 bits: then the times of the file stay.
        if not _fits(start, end, first):
            return None
        ticks, length = start + first, end - start
    else:
        begun = arguments.take("start_ticks", INT, slice_of, len(start))
        lasting = arguments.take("dur_ticks", INT, slice_of, len(start))
        if begun is None or lasting is None or (begun[1] != lasting[1]).any():
            return None
        ticks, length = begun[0], lasting[0]
        told = np.flatnonzero(begun[1])
        if not _are_of(ticks[told], ratio, first, start[told]) or not _are_of(
            (ticks + length)[told], ratio, first, end[told]
        ):
            problem(_OTHER_TICKS, 1, "")
            return None
        for i in np.flatnonzero(~begun[1]).tolist():
            a, b = (ns_to_tick(int(t[i]) + first, ratio) for t in (start, end))
            ticks[i], length[i] = clipped([a, b - a])
    if (length < 0).any():
        return None
    clock = Clock(
        str(stated.get("clock_unit", "ns")),
        ratio,
        stated.get("clock_rate") == "assumed",
        str(stated.get("clock_domain", "")),
    )
    return clock, ticks, ticks + length


def _are_of(ticks: Ints, ns_per_tick: Fraction, first: int, ns: Ints) -> bool:
    """Whether some times, in ns from the first on, are the floors of ticks."""
    most = max(abs(int(ticks.min(initial=0))), abs(int(ticks.max(initial=0))))
    if most * ns_per_tick.numerator >= 2**62 or abs(first) >= 2**62:
        floors = [tick_to_ns(t, ns_per_tick) - first for t in ticks.tolist()]
        expected: list[int] = ns.tolist()
        return floors == expected
    return bool((ticks_to_ns(ticks, ns_per_tick) - first == ns).all())


def _fits(start: Ints, end: Ints, by: int) -> bool:
    """Whether times can be moved by so much within 64 bits."""
    if not len(start):
        return abs(by) < 2**63
    low, high = int(min(start.min(), end.min())), int(max(start.max(), end.max()))
    return low + by >= -(2**63) and high + by < 2**63 and abs(by) < 2**63


def clipped(ticks: list[int]) -> Ints:
    """Ticks as int64; what lies beyond stands at its end."""
    return np.array([min(max(t, -(2**63)), 2**63 - 1) for t in ticks], np.int64)
