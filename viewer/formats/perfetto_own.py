"""What an export of ours says beyond what Perfetto knows, read back.

`viewer.export.perfetto_trace` says what it writes. Here become of it again: the identities of the
slices, whose arguments all slices of one identity share; the unit of an NPU that a track is of; the
inferences that no slice spans; the units of columns; what is said of the flows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.formats.perfetto_sequences import as_text
from viewer.model.builder import TraceBuilder
from viewer.model.trace import Bools, Codes, Column, Ints, KeyKind, Run, RunKind, Unit

RUN_CATEGORY = "INFERENCE"
UNITS = {unit.name: unit for unit in Unit if unit}
# Columns whose values are those of an identity, beside its name, identifier and instruction.
_OF_KEYS = (
    "category", "correlation_id", "operator", "debug_handles", "module", "source", "link_reason",
    "estimate_ticks", "estimate_ns", "location",
)  # fmt: skip
_BETWEEN = " · run "


def keys_of(
    builder: TraceBuilder, names: Codes, columns: Mapping[str, Column],
    identifiers: tuple[Sequence[Any], Ints], instructions: tuple[Ints, Bools] | None,
) -> Codes:  # fmt: skip
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
        np.full(total, KeyKind.PLAIN, np.uint8), names[at], np.zeros(total, np.uint32),
        instruction, identifier,
    )  # fmt: skip
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


def with_units(
    columns: Mapping[str, Column], provenance: Mapping[str, int | str]
) -> dict[str, Column]:
    """Columns with the units that the file states for them."""
    units = {
        name: str(unit) for name in columns
        if (unit := provenance.get(f"source1.unit_of_{name}", ""))
    }  # fmt: skip
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
