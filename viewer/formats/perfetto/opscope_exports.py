"""Restores what an Opscope export contains beyond the Perfetto format.

`viewer.export.perfetto.writer` describes what it writes. This module restores the identities of
slices (all slices of one identity share their arguments), the NPU unit of a track, inferences that
no slice spans, where times come from, the units of columns, facts about flows, and clock and ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints, flags_at, parts_of
from viewer.dataclasses import replace
from viewer.formats.event_pairs import Places, taken
from viewer.formats.perfetto.argument_columns import INT, ArgumentColumns
from viewer.formats.perfetto.sequences import Problem, as_text
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import NATIVE_DURATION
from viewer.model.times import ns_to_tick, parse_ratio, tick_to_ns, ticks_to_ns
from viewer.model.timing import parse_timing, parse_zeros
from viewer.model.trace import NOT_FINISHED, Clock, Column, KeyKind, Run, RunKind, Unit
from viewer.model.trace_attributes import Provenance, first_ns, of_source

RUN_CATEGORY = "INFERENCE"
UNITS = {unit.name: unit for unit in Unit if unit}
# Columns whose values belong to an identity, in addition to its name, identifier and instruction.
_OF_KEYS = (
    "category", "correlation_id", "operator", "debug_handles", "module", "source", "called_from",
    "link_reason", "estimate_ticks", "estimate_ns", "location",
)  # fmt: skip
_BETWEEN = " · run "
_OTHER_TICKS = "ticks that do not match the times: another program changed them, the times are used"


def keys_of(
    builder: TraceBuilder,
    names: Codes,
    columns: Mapping[str, Column],
    identifiers: tuple[Sequence[Any], Ints],
    instructions: tuple[Ints, Bools] | None,
) -> Codes:
    """The key of every slice, from its name (a number from the builder) and its arguments.

    identifiers: the distinct identifiers (int or str), and the index of each slice's identifier, -1
    if none. instructions: the ids, and which slices have one.
    """
    values, which = identifiers
    # All name numbers are used, so they already group the slices.
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
    positions = np.zeros(total, np.int64)
    for part in parts_of(len(names)):  # any slice of each group
        positions[group[part]] = np.arange(part.start, part.start + len(group[part]))
    identifier = np.full(total, None, object)
    if values:
        identifier[:] = [values[i] if i >= 0 else None for i in which[positions].tolist()]
    instruction = np.full(total, -1)
    if instructions is not None:
        instruction = np.where(is_told[positions], np.maximum(ids[positions], -1), -1)
    numbered = builder.distinct_keys(
        np.full(total, KeyKind.PLAIN, np.uint8),
        names[positions],
        np.zeros(total, np.uint32),
        instruction,
        identifier,
    )
    codes: Codes = taken(numbered, group)
    return codes


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
    """Replace values by numbers starting from 0, keeping their order."""
    if not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000:
        dense: Ints = np.unique(values, return_inverse=True)[1].reshape(-1)
        return dense
    is_used = flags_at(high - low + 1, values - low)
    return (np.cumsum(is_used) - 1)[values - low]


def _combined(group: NDArray[Any], codes: Ints) -> NDArray[Any]:
    """Split groups of slices by codes (>= -1)."""
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


def with_real_durations(columns: dict[str, Column], problem: Problem) -> dict[str, Column]:
    """Columns without negative durations on a delegate's clock, which are counted."""
    column = columns.get(NATIVE_DURATION)
    if column is None or column.strings is not None:
        return columns
    is_negative = np.less(column.values, 0)
    if column.valid is not None:
        is_negative &= column.valid
    problem("negative duration on a delegate's clock: left out", int(is_negative.sum()), "")
    if not is_negative.any():
        return columns
    valid = ~is_negative if column.valid is None else column.valid & ~is_negative
    values = np.where(is_negative, 0, column.values)
    return {**columns, NATIVE_DURATION: replace(column, values=values, valid=valid)}


def stated_timing(texts: Sequence[Any], which: Ints) -> NDArray[np.uint8]:
    """The `Timing` of every slice from the distinct texts of "timing", and the index of its text.

    -1, and texts that no export writes, are measured.
    """
    timings = [parse_timing(str(text)) or 0 for text in texts]
    return np.array([*timings, 0], np.uint8)[which]


def stated_runs(
    names: Sequence[str], numbers: Sequence[Any], ticks: Sequence[Any]
) -> list[Run | None]:
    """Inferences from slices: names, and the arguments "run" (a number) and "ticks" ("0 to 10").

    They have no track yet. None for a slice without usable arguments.
    """
    runs: list[Run | None] = []
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
                finished = not name.endswith(NOT_FINISHED)
                run = Run(RunKind.INFERENCE, which, method, 0, 0, start, end, finished=finished)
        runs.append(run)
    # If only part of a trace was exported, the total is not known.
    run_numbers = [run.number for run in runs if run is not None]
    total = len(run_numbers) if sorted(run_numbers) == list(range(1, len(run_numbers) + 1)) else 0
    return [run and replace(run, total=total) for run in runs]


def about_flows(event: bytes) -> dict[str, int | str]:
    """The facts about flows from the event that describes a source in earlier exports."""
    try:
        track_event = pb.TrackEvent.FromString(event)
    except Exception:  # DecodeError of whichever protobuf runtime
        return {}
    facts: dict[str, int | str] = {}
    for debug_annotation in track_event.debug_annotations:
        if (name := as_text(debug_annotation.name)) == "flows_left_out":
            facts[name] = as_text(debug_annotation.string_value)
    return facts


def own_ticks(
    provenance: Provenance,
    arguments: ArgumentColumns,
    slice_of: Places,
    start: Ints,
    end: Ints,
    problem: Problem,
) -> tuple[Clock, Ints, Ints] | None:
    """Clock, starts and ends in ticks, for an export of one file; its times are ns from its origin.

    A tick of 1 ns is the time itself. Otherwise, all slices from the input state their ticks; those
    that the export added, inferences and bookmarks, get the first tick of their ns. None if the
    ticks cannot be restored.
    """
    stated = of_source(provenance)
    try:
        ratio = parse_ratio(str(stated.get("ns_per_tick", "")))
    except ValueError:
        return None
    first = first_ns(provenance)
    if first is None:
        return None
    if ratio == 1:
        # If a tick would exceed 64 bits, the times of the file are kept.
        if not _fits(start, end, first):
            return None
        ticks, length = start + first, end - start
    else:
        start_ticks = arguments.take("start_ticks", INT, slice_of, len(start))
        dur_ticks = arguments.take("dur_ticks", INT, slice_of, len(start))
        if start_ticks is None or dur_ticks is None or (start_ticks[1] != dur_ticks[1]).any():
            return None
        ticks, length = start_ticks[0], dur_ticks[0]
        rows = np.flatnonzero(start_ticks[1])
        if not _are_of(ticks[rows], ratio, first, start[rows]) or not _are_of(
            (ticks + length)[rows], ratio, first, end[rows]
        ):
            problem(_OTHER_TICKS, 1, "")
            return None
        for i in np.flatnonzero(~start_ticks[1]).tolist():
            a, b = (ns_to_tick(int(t[i]) + first, ratio) for t in (start, end))
            ticks[i], length[i] = clipped([a, b - a])
    if (length < 0).any():
        return None
    clock = Clock(
        str(stated.get("clock_unit", "ns")),
        ratio,
        stated.get("clock_rate") == "assumed",
        str(stated.get("clock_domain", "")),
        parse_zeros(str(stated.get("clock_zeros", ""))),
    )
    return clock, ticks, ticks + length


def _are_of(ticks: Ints, ns_per_tick: Fraction, first: int, ns: Ints) -> bool:
    """Whether times, in ns from `first` on, are the floors of ticks."""
    most = max(abs(int(ticks.min(initial=0))), abs(int(ticks.max(initial=0))))
    if most * ns_per_tick.numerator >= 2**62 or abs(first) >= 2**62:
        floors = [tick_to_ns(t, ns_per_tick) - first for t in ticks.tolist()]
        expected: list[int] = ns.tolist()
        return floors == expected
    return bool((ticks_to_ns(ticks, ns_per_tick) - first == ns).all())


def _fits(start: Ints, end: Ints, by: int) -> bool:
    """Whether times can be shifted by `by` within 64 bits."""
    if not -(2**63) <= by < 2**63:
        return False
    if not len(start):
        return True
    low, high = int(min(start.min(), end.min())), int(max(start.max(), end.max()))
    return low + by >= -(2**63) and high + by < 2**63


def clipped(ticks: list[int]) -> Ints:
    """Ticks as int64; values out of range are clamped."""
    return np.array([min(max(t, -(2**63)), 2**63 - 1) for t in ticks], np.int64)
