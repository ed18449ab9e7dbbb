"""Turns the allocations in a PyTorch profile into counters of memory, for each device.

With `profile_memory`, torch.profiler writes an instant `[memory]` for each allocation and release:
`Bytes` (negative for a release), `Device Type` and `Device Id`, and since PyTorch 1.10 the totals
of the device after it, `Total Allocated` and `Total Reserved`. Without them, a counter adds up the
bytes of the file, from 0. The instants stay, because they have the addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.counter import Counter, stated_counter
from viewer.model.trace import Column, Problem, Trace

MEMORY = "[memory]"
_ALLOCATED, _RESERVED, _BYTES = "Total Allocated", "Total Reserved", "Bytes"
_TYPE, _ID = "Device Type", "Device Id"
# Numbers of c10::DeviceType (c10/core/DeviceType.h) that allocate memory.
_DEVICES = {
    0: "CPU", 1: "CUDA", 2: "MKLDNN", 3: "OpenGL", 4: "OpenCL", 5: "IDEEP", 6: "HIP", 7: "FPGA",
    8: "MAIA", 9: "XLA", 10: "Vulkan", 11: "Metal", 12: "XPU", 13: "MPS", 14: "Meta", 15: "HPU",
    16: "VE", 17: "Lazy", 18: "IPU", 19: "MTIA", 20: "PrivateUse1",
}  # fmt: skip
_MOST_DEVICES = 100
_TOO_MANY = "memory of more than 100 devices: the counters of the rest are left out"
_SUMMED = "from 0 at the first event of the file, which states no total"


def with_memory_counters(trace: Trace) -> Trace:
    """Return a trace with counters of the memory that its events state; others as they are."""
    slices, columns = trace.slices, trace.slices.columns
    if MEMORY not in trace.strings or _BYTES not in columns:
        return trace
    is_memory = slices.name == trace.strings.index(MEMORY)
    type_, bytes_ = (_whole(columns.get(name), is_memory) for name in (_TYPE, _BYTES))
    if type_ is None or bytes_ is None:
        return trace
    memory_rows = np.flatnonzero(is_memory)
    memory_rows = memory_rows[np.argsort(slices.source_row[memory_rows], kind="stable")]
    processes = {track.process: i for i, track in enumerate(trace.tracks)}
    of_track = np.array([processes[track.process] for track in trace.tracks])
    device = _whole(columns.get(_ID), is_memory)
    number = np.full(len(memory_rows), -1) if device is None else device[memory_rows]
    keys = np.stack([of_track[slices.tracks_of(memory_rows)], type_[memory_rows], number])
    distinct, which = np.unique(keys, axis=1, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    bounds = np.searchsorted(which.reshape(-1)[order], np.arange(distinct.shape[1] + 1)).tolist()
    counters: list[Counter] = []
    for key, first, last in zip(distinct.T.tolist(), bounds, bounds[1:], strict=False):
        if len(counters) >= 2 * _MOST_DEVICES:
            break
        device_rows = memory_rows[order[first:last]]
        counters += _counters(
            trace, trace.tracks[key[0]].process, _name(*key[1:]), device_rows, bytes_
        )
    problems = trace.problems
    if distinct.shape[1] > _MOST_DEVICES:
        problems = (*problems, Problem(_TOO_MANY, distinct.shape[1] - _MOST_DEVICES, ""))
    return replace(trace, counters=(*trace.counters, *counters), problems=problems)


def _counters(
    trace: Trace, process: str, device: str, rows: Ints, bytes_: Ints
) -> Iterator[Counter]:
    """Yield the counters of a device; rows: its events, in the order of the file."""
    slices, has_total = trace.slices, False
    for name, title in ((_ALLOCATED, "allocated"), (_RESERVED, "reserved")):
        values = _whole(slices.columns.get(name), rows)
        if values is None:
            continue
        has_total = True
        counter = stated_counter(
            process, f"Memory {title} · {device}", slices.start[rows], values[rows]
        )
        # A CPU reserves nothing, which is no curve.
        if title == "allocated" or counter.value.any():
            yield replace(counter, unit="B")
    if not has_total:
        rows = rows[np.argsort(slices.start[rows], kind="stable")]
        summed = stated_counter(
            process, f"Memory change · {device}", slices.start[rows], np.cumsum(bytes_[rows])
        )
        yield replace(summed, unit="B", note=_SUMMED)


def _whole(column: Column | None, rows: Ints | Bools) -> Ints | None:
    """Return a column as whole numbers; None if any of some slices has none."""
    if column is None or column.strings is not None or column.values.dtype.kind not in "iu":
        return None
    if column.valid is not None and not column.valid[rows].all():
        return None
    return column.values.astype(np.int64)


def _name(kind: int, number: int) -> str:
    """Return the name of a device, as PyTorch writes it with its number: "CUDA:1"."""
    name = _DEVICES.get(kind, f"device type {kind}")
    return name if number < 0 else f"{name}:{number}"
