"""Reads ETDump files, the profiles that the ExecuTorch runtime writes (.etdp, .etdump).

Specified by devtools/etdump/etdump_schema_flatcc.fbs of ExecuTorch: a flatbuffer with the
identifier "ED00", with a size prefix (as the runtime writes it) or without. Three generations of
the schema are supported: G1 (release 0.1), whose runs have their fields one slot earlier, G2 (0.2,
0.3) and G3 (0.4 and later). G2 and G3 differ only in debug events; without a debug event that shows
which it is, the generation is "G2/G3". Not read: strides of logged tensors, and the tensors of a
list after the third.

The file leaves these questions open. Opscope answers them as follows:

* The duration of a tick. Assumed to be 1 ns.
* The method of a run (`methods`). Each method is a scope and a thread; a load is drawn with its
  method. Instructions after a load in the same run are a separate inference.
* A 32-bit counter that wraps. Undone once per file, so that all times are on one axis (`wraps`).
* A run that starts before an earlier one ended. The clock restarted, as a cycle counter does when
  it is reset. Later runs share no time axis with earlier ones and get a separate thread, where
  their times stay as logged (`methods`).
* Nesting. Derived from the completion order, inside calls from times too (`events`).
* Delegate events outside their call have their own clock (`foreign_clocks`). Not every time of one
  is measured: `event_timing`. The values in its metadata become columns (`metadata`).
* Time of a DELEGATE_CALL that its events do not cover becomes separate slices: `uncovered`.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.flatbuffer import damage_of
from viewer.codecs.reading import Cancelled, Progress, stop_if
from viewer.dataclasses import dataclass, replace
from viewer.formats import format_of
from viewer.formats.executorch.etdump.events import (
    DAMAGED,
    CallTree,
    ProfileEvents,
    Runs,
    count_rows,
    identities,
    kinds,
    load,
    nest,
    nest_inside,
    read_events,
    read_runs,
    sniff,
)
from viewer.formats.executorch.etdump.foreign_clocks import (
    PROBLEM,
    find_foreign,
    place_foreign,
    undo_cumulative,
)
from viewer.formats.executorch.etdump.metadata import metadata_column, value_columns, values_of
from viewer.formats.executorch.etdump.methods import (
    LOADS,
    clocks,
    ends_of_runs,
    failed_runs,
    loads,
    loads_of_runs,
    methods_of_runs,
    part_runs,
    spans,
)
from viewer.formats.executorch.etdump.untimed import Untimed, UntimedReader, place
from viewer.formats.executorch.etdump.wraps import undo_wraps
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import xnnpack_operator
from viewer.model.timing import ROUNDING_TICKS, Timing
from viewer.model.trace import UNATTRIBUTED, Clock, Column, KeyKind, RunKind, Trace

_COST = "estimatedCost"


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read one ETDump. Raises UnreadableFile or ReadCancelled."""
    buffer = load(path, progress, cancelled)
    builder = TraceBuilder(path, FORMAT.name, "", Clock("ns", assumed=True))
    with damage_of(path, DAMAGED):
        runs = read_runs(buffer, builder)
        reader = UntimedReader(buffer, runs, builder)
        events = read_events(buffer, runs, builder, reader.read, progress, cancelled)
        untimed = reader.finish()
    del buffer, reader
    _compose(builder, os.path.basename(path), runs, events, untimed, cancelled)
    del events, untimed  # a fifth of the peak memory, if kept while the builder sorts
    return builder.build()


__all__ = ["FORMAT", "read", "sniff"]
FORMAT = format_of("executorch.etdump.reader")


def _compose(
    builder: TraceBuilder,
    process: str,
    runs: Runs,
    events: ProfileEvents,
    untimed: Untimed,
    cancelled: Cancelled,
) -> None:
    if not runs.length.all():
        empty = np.flatnonzero(runs.length == 0)
        builder.problem("run without events", len(empty), f"run {empty[0]}")
    kind = kinds(events)
    if undo_wraps(events, kind, builder):
        kind = kinds(events)
    if not len(events):
        builder.untimed(place(untimed, runs, events, kind))
        return
    loading = events.named(*LOADS)
    parts, first = part_runs(events, loading)
    is_load = loads(runs, parts, first, events, kind, loading)
    method, methods = methods_of_runs(events, kind, first, is_load, builder)

    load = loads_of_runs(method, np.logical_or.reduceat(loading, first))

    titles = ["Execute"] if methods == 1 else [f"Execute {m + 1}" for m in range(methods)]
    lane = method.copy()
    if methods == 1:
        lane[is_load] = 0
    else:
        follows = np.append(method[1:], -1)
        lane[is_load] = np.where(follows < 0, methods, follows)[is_load]
    if (lane == methods).any():
        titles.append("load")
    scope_of = [builder.scope(title) for title in titles[:methods]]
    if is_load.any():
        # loads have method -1, which selects this last entry
        scope_of.append(builder.scope("load"))
    scope = np.array(scope_of)[method]

    bounds = np.append(first, len(events))
    count = bounds[1:] - bounds[:-1]
    tree = nest(events, kind)
    timing = event_timing(events, kind, tree.parent)  # as logged, before events are moved
    foreign = find_foreign(events, kind, tree.parent)
    without_time = place(untimed, runs, events, kind)  # before any event changes its place
    passes = undo_cumulative(events, kind, tree.parent, foreign, timing)
    count_rows(builder, PROBLEM, np.sort(events.row[passes.at]))
    nest_inside(events, tree, foreign.at)
    place_foreign(events, foreign, tree)
    count_rows(
        builder,
        "delegate events with a separate clock: placed inside their call for drawing only",
        np.sort(events.row[foreign.timed]),
    )
    executes = ends_of_runs(events)
    failed = failed_runs(events, kind, first, is_load, loading, executes)
    count_rows(
        builder,
        "inference without Method::execute: it failed or was interrupted",
        events.row[first[failed]],
    )
    finished = ~flags_at(len(first), failed)
    run_start, finish = spans(events, first, count, executes)
    clock = clocks(run_start, finish)
    if clock[-1]:
        again = np.flatnonzero(np.diff(clock) > 0) + 1
        builder.problem(
            "the clock restarted: later inferences are on separate threads",
            len(again),
            f"run {parts[again[0]] >> 1}",
        )
    track = _tracks(builder, process, titles, lane, clock)
    columns = _columns(events) | metadata_column(events)
    columns |= foreign.columns(len(events)) | passes.columns(len(events))
    columns |= value_columns(events, columns, builder, cancelled)
    stop_if(cancelled)
    builder.untimed(without_time)
    scope_of_event = scope.repeat(count)
    name, key = identities(events, kind, scope_of_event, builder)
    gaps = uncovered(events, kind, tree, foreign.at)
    order, row, depth = tree.order, events.row, tree.depth
    start, end, track_of = events.start, events.end, track.repeat(count)
    if len(gaps.call):
        # The gaps, numbered after the events, mostly have the values of their call.
        order = _with_places(order, gaps.place)
        gap_name = np.full(len(gaps.call), builder.intern(UNATTRIBUTED), np.uint32)
        name = np.append(name, gap_name)
        key = np.append(key, _gap_keys(builder, scope_of_event, events, gaps))
        start, end = np.append(start, gaps.start), np.append(end, gaps.end)
        track_of = np.append(track_of, track_of[gaps.call])
        row = np.append(row, row[gaps.call])
        depth = np.append(depth, depth[gaps.call] + np.int32(1))
        timing = np.append(timing, np.zeros(len(gaps.call), np.uint8))
    builder.add(
        track=track_of[order].astype(np.uint32),
        start=start[order],
        end=end[order],
        name=name[order],
        key=key[order],
        source_row=row[order].astype(np.uint32),
        levels=depth[order],
        derived=(order >= len(events)) if len(gaps.call) else None,
        timing=timing[order],
        columns={label: _ordered(column, order) for label, column in columns.items()},
    )
    for i, run in enumerate(parts.tolist()):
        builder.run(
            RunKind.LOAD if is_load[i] else RunKind.INFERENCE,
            runs.names[run >> 1],
            int(track[i]),
            int(scope[i]),
            int(run_start[i]),
            int(finish[i]),
            bundled_input=int(runs.bundled_input[run >> 1]),
            first_row=int(events.row[first[i]]),
            finished=bool(finished[i]),
            load=int(load[i]),
        )


def _tracks(
    builder: TraceBuilder, process: str, titles: list[str], lane: Ints, clock: Ints
) -> Ints:
    of_run = list(zip(lane.tolist(), clock.tolist(), strict=True))
    tracks = {}
    for on, since in sorted(set(of_run)):
        again = f" · clock {since + 1}" if since else ""
        tracks[on, since] = builder.track(process, f"{titles[on]}{again}")
    return np.array([tracks[key] for key in of_run])


def _with_places(order: Ints, places: Ints) -> Ints:
    """The preorder of all events with the gaps inserted; gaps are numbered after the events."""
    place = np.empty(len(order), np.int64)
    place[order] = 2 * np.arange(len(order)) + 1
    return np.argsort(np.append(place, places), kind="stable")


def _gap_keys(
    builder: TraceBuilder, scope: Ints, events: ProfileEvents, gaps: UnattributedParts
) -> Codes:
    """The key of every gap, one per instruction."""
    calls = list(
        zip(scope[gaps.call].tolist(), events.instruction[gaps.call].tolist(), strict=True)
    )
    keys = {
        (s, instruction): builder.key(
            KeyKind.UNATTRIBUTED, UNATTRIBUTED, scope=s, instruction=instruction
        )
        for s, instruction in sorted(set(calls))
    }
    return np.fromiter(map(keys.__getitem__, calls), np.uint32, len(calls))


def _ordered(column: Column, order: Ints) -> Column:
    is_event = order < len(column.values)
    if is_event.all():
        return column.taken(order)
    taken = column.taken(np.where(is_event, order, 0))
    valid = is_event if taken.valid is None else is_event & taken.valid
    return replace(taken, valid=valid)


def _columns(events: ProfileEvents) -> dict[str, Column]:
    of_chain = (events.chain >= 0) & (events.instruction >= 0)
    columns = {"instruction_id": Column(events.instruction.astype(np.int64), of_chain)}
    if (events.chain < -1).any() or (events.chain > 0).any():
        columns["chain"] = Column(events.chain.astype(np.int64))
    return columns


def event_timing(events: ProfileEvents, kind: NDArray[np.uint8], parent: Ints) -> NDArray[np.uint8]:
    """The `Timing` of every event; parent: index of each event's parent, -1 if none.

    XNNPACK logs durations alone, in whole µs. Its profiler puts the events of a call one after
    another, from a start that it measured, so their starts are placed and their durations rounded
    (backends/xnnpack/runtime/profiling/XNNProfiler.cpp). Core ML states no times per operation:
    its delegate divides the time of a prediction by the estimated costs of the operations, which
    it logs as metadata. Events on a clock of their own need no mark here, since their native
    columns tell.

    An ETDump does not name the backend of a call. It is XNNPACK if all of its events have names of
    XNNPACK, as any backend may log one such name.
    """
    timing = np.zeros(len(events), np.uint8)
    is_delegate = kind == KeyKind.DELEGATE_EVENT
    named = [xnnpack_operator(text) is not None for text in events.texts]
    if any(named):
        is_named = np.array([*named, False])[events.text] & (events.number == -1)
        is_inside = is_delegate & (parent >= 0) & (kind[parent] == KeyKind.DELEGATE_CALL)
        of_others = flags_at(len(events), parent[is_inside & ~is_named])
        is_inside[is_inside] = ~of_others[parent[is_inside]]
        timing[is_inside] = Timing.PLACED
        timing[is_inside & _in_whole_us(events, is_inside, parent)] |= np.uint8(Timing.ROUNDED)
    costed = [_states_cost(raw) for raw in events.metadatas]
    if any(costed):
        timing[is_delegate & np.array([*costed, False])[events.metadata]] |= np.uint8(
            Timing.ESTIMATED
        )
    return timing


def _in_whole_us(events: ProfileEvents, mask: Bools, parent: Ints) -> Bools:
    """Which of XNNPACK's events are in a call whose events are all whole µs.

    That is, durations, and starts counted from the first of them. One that is not shows that the
    ticks are not ns, or that a later XNNPACK measures finer; then nothing is known of rounding.
    """
    rows = np.flatnonzero(mask)
    call = parent[rows]
    first = np.full(len(events), np.iinfo(np.int64).max)
    np.minimum.at(first, call, events.start[rows])
    length, since = events.end[rows] - events.start[rows], events.start[rows] - first[call]
    is_odd = (length % ROUNDING_TICKS != 0) | (since % ROUNDING_TICKS != 0)
    has_odd = flags_at(len(events), call[is_odd])
    is_whole: Bools = mask & (parent >= 0) & ~has_odd[parent]
    return is_whole


def _states_cost(metadata: bytes) -> bool:
    """Whether metadata is a JSON object with the estimated cost of an operation."""
    # The search is fast, and false for the metadata of all other delegates.
    return f'"{_COST}"'.encode() in metadata and _COST in (values_of(metadata) or {})


# Finds the parts of DELEGATE_CALLs that their delegates' events do not cover.
#
# XNNPACK, for example, starts its first event 0.24 to 11.8 µs after its call started, and leaves 28
# to 83 % of the calls of small models uncovered. That time belongs to no operator, but is not lost:
# it becomes separate slices named "unattributed", which are flagged as derived. If a call's events
# have their own clock, or it has none but plain scopes, its coverage is unknown and it gets none.


@dataclass(slots=True)
class UnattributedParts:
    """Uncovered parts of calls, in parallel arrays.

    call: the event of the call. place: where the part is inserted among the events, which have the
    places 1, 3, 5, ... in preorder.
    """

    call: Ints
    start: Ints
    end: Ints
    place: Ints


def uncovered(
    events: ProfileEvents, kind: NDArray[np.uint8], tree: CallTree, foreign: Ints
) -> UnattributedParts:
    """Find the parts of calls that no event covers; parts without a duration are left out.

    foreign: the events with their own clock. An event within another one covers no more than that.
    """
    parent, order = tree.parent, tree.order
    is_own = (parent >= 0) & (kind[parent] == KeyKind.DELEGATE_CALL)
    is_own[foreign] = False
    has_own = flags_at(len(events), parent[is_own & (kind == KeyKind.DELEGATE_EVENT)])
    rows = np.flatnonzero(is_own & has_own[parent] & ~tree.within)
    if not len(rows):
        return UnattributedParts(rows, rows, rows, rows)
    # Events are in completion order, so those of one call are sorted by end.
    rows = rows[np.argsort(parent[rows], kind="stable")]
    call, is_first = parent[rows], np.append(True, np.diff(parent[rows]) != 0)
    is_last = np.append(is_first[1:], True)
    start = np.clip(events.start[rows], events.start[call], events.end[call])
    end = np.clip(events.end[rows], start, events.end[call])
    covered_to = _running_max(end, is_first)
    next_start = -_running_max(-start[::-1], is_last[::-1])[::-1]
    before = np.where(is_first, events.start[call], np.append(0, covered_to[:-1]))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    inside = np.bincount(parent[parent >= 0], minlength=len(order))
    unattributed_parts = UnattributedParts(
        np.concatenate([call, call[is_last]]),
        np.concatenate([before, covered_to[is_last]]),
        np.concatenate([next_start, events.end[call[is_last]]]),
        np.concatenate([2 * position[rows], 2 * (position + inside)[call[is_last]] + 2]),
    )
    keep = np.flatnonzero(unattributed_parts.end > unattributed_parts.start)
    return UnattributedParts(
        unattributed_parts.call[keep],
        unattributed_parts.start[keep],
        unattributed_parts.end[keep],
        unattributed_parts.place[keep],
    )


def _running_max(values: Ints, is_first: Bools) -> Ints:
    """The running maximum, restarted at the first value of every group."""
    group = np.cumsum(is_first) - 1
    distinct, rank = np.unique(values, return_inverse=True)
    # Lift the ranks of each group above those of all earlier groups.
    lifted = np.maximum.accumulate(rank + group * len(distinct))
    result: Ints = distinct[lifted - group * len(distinct)]
    return result
