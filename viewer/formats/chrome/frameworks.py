"""What PyTorch, ONNX Runtime and ExecuTorch state in Chrome traces: inferences, and allocations.

    ProfilerStep#N  of category `user_annotation`: a step of a PyTorch profiler with a schedule. Its
                    copies on a GPU, of category `gpu_user_annotation`, are no steps of their own
    model_run       of category `Session`: an inference of ONNX Runtime. `model_loading_…` and
                    `session_initialization` are its loads
    [memory]        an instant for each allocation and release of a PyTorch profile with
                    `profile_memory`: `Bytes` (negative for a release), `Device Type`, `Device Id`

Inferences are numbered from 1 in order of time, whatever number the name has. If one thread of the
file has all of them, and none overlaps another, each covers what every thread and GPU stream did in
its time. Otherwise, as when several threads run one session, each covers only its own thread. A
PyTorch profile has no load. Its first steps warm up only if it starts with step 0.

Since PyTorch 1.10, allocations have the totals of the device after them, `Total Allocated` and
`Total Reserved`. Without them, a counter adds up the bytes of the file, from 0.

`backends/arm/scripts/etdump_to_chrome_trace.py` of ExecuTorch writes the events of the Inspector: a
thread for each event block, and a slice for each run of an event, name by name, not run by run. An
iteration of a block is an inference, or a load if it only loads. Starts and durations are ns that
were divided in binary floating point: they are rounded to whole ns again, so that slices that touch
still do. Events have no instruction, so those of one name in one block are one identity. Of an
event inside another one with the same times, the names tell which is which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from viewer.arrays import Bools, Codes, Ints, numbers_at
from viewer.dataclasses import dataclass, replace
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import (
    ANNOTATION,
    CONTROL,
    DELEGATE_CALL,
    EXECUTE,
    KERNEL_PREFIX,
    MODEL_RUN,
    OPERATOR_CALL,
    PROFILER_STEP,
    is_library_kernel,
)
from viewer.model.recorded_names import RUNTIME_SCOPES as SCOPES
from viewer.model.trace import Column, KeyKind, Problem, RunKind, Trace
from viewer.model.trace_attributes import Counter, stated_counter

SESSION_CATEGORY = "Session"
MOST_RUNS = 100_000  # of either kind; the list of inferences and the views are made for fewer
TOO_MANY = f"more than {MOST_RUNS:,} steps or runs: none is shown as an inference"
OVERLAPS = "step or run that overlaps an earlier one of its thread: not shown as an inference"
EMPTY = "step or run without a duration: not shown as an inference"
_STEP = re.compile(rf"{PROFILER_STEP}#[0-9]+")
_LOAD = re.compile(r"model_loading_\w+|session_initialization")
_EXECUTOR = "SequentialExecutor::Execute"


@dataclass(frozen=True, slots=True, eq=False)
class EventSlices:
    """The slices of a file as parallel arrays, before they are sorted.

    names, categories: the distinct texts; name, category: codes into them; a category may have no
    text. track: numbers of the builder. start, end: ticks.
    """

    names: Sequence[str]
    name: Codes
    categories: Sequence[str]
    category: Codes
    track: Codes
    start: Ints
    end: Ints

    def of(self, pattern: re.Pattern[str], category: str) -> Ints:
        """Return the slices of a category whose whole name matches, by start."""
        if category not in self.categories:
            return np.empty(0, np.int64)
        matches = np.array([pattern.fullmatch(name) is not None for name in self.names], np.bool_)
        of_category = self.category == list(self.categories).index(category)
        category_slices = np.flatnonzero(of_category & matches[self.name])
        return category_slices[np.lexsort((self.end[category_slices], self.start[category_slices]))]

    def span(self, index: Ints) -> tuple[Ints, Ints]:
        """Return the starts and ends of some slices."""
        return self.start[index], self.end[index]


def add_inferences(builder: TraceBuilder, slices: EventSlices, names: Codes) -> Codes:
    """Add loads and inferences to a trace, and return the key of each distinct name.

    The slices of steps, and of runs that are the whole of their threads' work, are scopes of the
    runtime. names: the distinct names as numbers of the builder.
    """
    kind = np.full(len(names), KeyKind.PLAIN, np.uint8)
    key = np.zeros(len(names), np.uint32)
    steps = slices.of(_STEP, ANNOTATION)
    runs = slices.of(re.compile(MODEL_RUN), SESSION_CATEGORY)
    is_step = np.zeros(len(names), np.bool_)
    if len(steps):
        if _add(builder, slices, steps):
            is_step[slices.name[steps]] = True
            # One key for all steps, so that figures by name have one row for them.
            key[is_step] = builder.key(KeyKind.FRAMEWORK, PROFILER_STEP)
    elif len(runs):
        loads = slices.of(_LOAD, SESSION_CATEGORY)
        if _add(builder, slices, runs, loads) and _is_whole(slices, runs):
            scopes = [*slices.name[runs].tolist(), *slices.name[loads].tolist()]
            scopes += [i for i, name in enumerate(slices.names) if name == _EXECUTOR]
            kind[scopes] = KeyKind.FRAMEWORK
    whole_rows = np.flatnonzero(~is_step)
    key[whole_rows] = builder.distinct_keys(
        kind[whole_rows],
        names[whole_rows],
        np.zeros(len(whole_rows), np.uint32),
        np.full(len(whole_rows), -1, np.int64),
        np.full(len(whole_rows), None, object),
    )
    return key


def _add(
    builder: TraceBuilder, slices: EventSlices, inferences: Ints, loads: Ints | None = None
) -> bool:
    """Add inferences (`inferences`, by start) and loads as runs; False if there are too many."""
    loads = inferences[:0] if loads is None else loads
    if len(inferences) + len(loads) > MOST_RUNS:
        builder.problem(
            TOO_MANY, len(inferences) + len(loads), slices.names[slices.name[inferences[0]]]
        )
        return False
    track, (start, end) = slices.track[inferences], slices.span(inferences)
    empty = end <= start
    overlaps = _overlaps(track, start, end) & ~empty
    for problem, odd in ((EMPTY, inferences[empty]), (OVERLAPS, inferences[overlaps])):
        if len(odd):
            builder.problem(problem, len(odd), slices.names[slices.name[odd[0]]])
    run_rows = inferences[~(empty | overlaps)]
    loads = loads[~_overlaps(np.zeros(len(loads), np.uint32), *slices.span(loads))]
    every = np.concatenate([run_rows, loads])
    every = every[np.lexsort((slices.end[every], slices.start[every]))]
    apart = not _overlaps(np.zeros(len(every), np.uint32), *slices.span(every)).any()
    everything = apart and len(np.unique(slices.track[run_rows])) == 1
    scope = builder.scope("file")
    for kind, rows in ((RunKind.LOAD, loads), (RunKind.INFERENCE, run_rows)):
        for i in rows.tolist():
            builder.run(
                kind,
                slices.names[slices.name[i]],
                int(slices.track[i]),
                scope,
                int(slices.start[i]),
                max(int(slices.start[i]), int(slices.end[i])),
                all_tracks=everything,
            )
    return len(run_rows) > 0


def _overlaps(track: Codes, start: Ints, end: Ints) -> Bools:
    """Return which of some slices, sorted by start, start before an earlier one of a track ends."""
    is_early = np.zeros(len(start), np.bool_)
    order = np.argsort(track, kind="stable")
    for track_rows in np.split(order, np.flatnonzero(np.diff(track[order])) + 1):
        is_early[track_rows[1:]] = (
            start[track_rows[1:]] < np.maximum.accumulate(end[track_rows])[:-1]
        )
    return is_early


def _is_whole(slices: EventSlices, runs: Ints) -> bool:
    """Return whether the threads that call the runtime also do all its work.

    Then the time of its runs is the whole that shares are of. A parallel executor and GPUs work on
    further threads; another thread may load the session.
    """
    work = slices.category != list(slices.categories).index(SESSION_CATEGORY)
    return bool(np.isin(slices.track[work], np.unique(slices.track[runs])).all())


BLOCK, TYPES = "event_block", "op_types"
_ITERATION, _DELEGATED = "iteration", "is_delegated_op"
# What encloses what, where times are equal.
_RANK = {KeyKind.FRAMEWORK: 0, KeyKind.OPERATOR_CALL: 1, KeyKind.DELEGATE_CALL: 1}


def is_inspector(columns: Mapping[str, Column], count: int) -> bool:
    """Return whether all slices have the arguments of the script. count: of slices."""
    block, iteration = columns.get(BLOCK), columns.get(_ITERATION)
    if not count or block is None or iteration is None or _DELEGATED not in columns:
        return False
    if block.valid is not None or iteration.valid is not None or block.strings is None:
        return False
    return iteration.strings is None and iteration.values.dtype.kind == "i"


def add_inspector_events(
    builder: TraceBuilder, slices: EventSlices, columns: Mapping[str, Column]
) -> tuple[Codes, Ints]:
    """Add the inferences and loads, and return the key of each slice, and an order of the slices.

    In this order, slices come after those around them.
    """
    block = columns[BLOCK]
    number = columns[_ITERATION].values.astype(np.int64)
    delegated = _is_true(columns[_DELEGATED])
    blocks = [builder.scope(text) for text in block.strings or ()]
    of_block = np.array(blocks, np.int64)[block.values]
    combined, which = np.unique(
        np.stack([of_block, slices.name.astype(np.int64), delegated]), axis=1, return_inverse=True
    )
    key = np.empty(combined.shape[1], np.uint32)
    rank = np.empty(combined.shape[1], np.int64)
    for i, (scope, name, is_delegated) in enumerate(combined.T.tolist()):
        text = slices.names[name]
        kind = _kind(text, is_delegated=bool(is_delegated))
        identifier = text if kind == KeyKind.DELEGATE_EVENT else None
        key[i] = builder.key(kind, text, scope=scope, identifier=identifier)
        rank[i] = _RANK.get(kind, 2)
    which = which.reshape(-1)
    _add_runs(builder, slices, of_block, number)
    return key[which], np.argsort(rank[which], kind="stable")


def _add_runs(builder: TraceBuilder, slices: EventSlices, scope: Ints, number: Ints) -> None:
    runs, which = np.unique(np.stack([scope, number]), axis=1, return_inverse=True)
    which, count = which.reshape(-1), runs.shape[1]
    if count > MOST_RUNS:
        builder.problem(TOO_MANY, count)
        return
    start, end = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(start, which, slices.start)
    np.maximum.at(end, which, np.maximum(slices.start, slices.end))
    track = numbers_at(count, which, slices.track)
    names = np.array(
        [2 if name == EXECUTE else name not in SCOPES for name in slices.names], np.int64
    )
    most = np.zeros(count, np.int64)
    np.maximum.at(most, which, names[slices.name])
    has_whole = {
        scope for scope, best in zip(runs[0].tolist(), most.tolist(), strict=True) if best == 2
    }
    for i in np.argsort(start, kind="stable").tolist():
        kind = RunKind.INFERENCE if most[i] else RunKind.LOAD
        # In a block whose inferences have Method::execute, one without it did not finish.
        builder.run(
            kind, EXECUTE if most[i] else "load", int(track[i]), int(runs[0, i]), int(start[i]),
            int(end[i]), finished=not most[i] or most[i] == 2 or int(runs[0, i]) not in has_whole,
        )  # fmt: skip


def _kind(name: str, *, is_delegated: bool) -> KeyKind:
    if is_delegated:
        return KeyKind.DELEGATE_EVENT
    if name in SCOPES:
        return KeyKind.FRAMEWORK
    if name in CONTROL:
        return KeyKind.CONTROL
    if name.startswith(KERNEL_PREFIX) or is_library_kernel(name):
        return KeyKind.KERNEL
    calls = {OPERATOR_CALL: KeyKind.OPERATOR_CALL, DELEGATE_CALL: KeyKind.DELEGATE_CALL}
    return calls.get(name, KeyKind.PLAIN)


def _is_true(column: Column) -> Bools:
    is_true: Bools = column.values != 0
    if column.strings is not None:
        is_true = np.array([text.lower() == "true" for text in column.strings])[column.values]
    return is_true if column.valid is None else is_true & column.valid


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
