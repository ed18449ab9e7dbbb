"""Statistics per event over all runs of a profile: p10, p50, p90, average, min, max, total.

An *event block* is a group of runs that logged the same events in the same order; a row is one key
of a block. A run is identified by its distinct event codes in order of first appearance: one that
repeats an event more often is in the same block, another branch of a torch.cond in another one.
Slices derived by the reader are no events.

Durations are integer ticks as logged. Events on a foreign clock have their native durations and
unit; in ns, if the user stated the rate of that clock. If a row has one such event, all its events
are treated as native, since each event is timed by one clock.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from viewer.analysis.links.delegate_clocks import native_ns
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints, flags_at, numbers_at
from viewer.dataclasses import dataclass
from viewer.model.inference_views import series_of
from viewer.model.quantiles import Statistics, grouped
from viewer.model.queries import NATIVE_DURATION, NATIVE_START, NATIVE_UNIT, foreign, run_of_slices
from viewer.model.timing import rounded_zeros
from viewer.model.trace import KeyKind, Run, RunKind, Trace

# A lookup table may have this many cells per event; beyond that, pairs are numbered first, which
# needs a sort.
_CELLS_PER_EVENT = 8


@dataclass(frozen=True, slots=True, eq=False)
class EventBlocks:
    """Blocks in order of first appearance, and their rows: one row per distinct code.

    runs: per block its runs. row_ptr: offsets into row_code (blocks + 1). row: per input event the
    row that it belongs to.
    """

    runs: tuple[Ints, ...]
    row_ptr: Ints
    row_code: Ints
    row: Ints


def merge_runs(run: Ints, code: Ints, kinds: Sequence[Hashable]) -> EventBlocks:
    """Merge runs of equal kind that logged equal sequences of distinct codes.

    run: per event its run, ascending. code: per event its identity, >= 0. Both are in output order.
    kinds: per run what else must be equal. Runs without events are in no block.
    """
    n = len(run)
    first = first_of(run, code)
    is_first = first == np.arange(n)
    first_events = np.flatnonzero(is_first)
    sequence, run_of_first = code[first_events], run[first_events]
    number = np.searchsorted(first_events, first)
    bounds = np.searchsorted(run_of_first, np.arange(len(kinds) + 1))
    members_of_run: dict[Hashable, list[int]] = {}
    for i in np.flatnonzero(np.diff(bounds)).tolist():
        same = (kinds[i], sequence[bounds[i] : bounds[i + 1]].tobytes())
        members_of_run.setdefault(same, []).append(i)
    runs = tuple(np.array(members) for members in members_of_run.values())
    leader = [int(members[0]) for members in runs]
    sizes = [int(bounds[i + 1] - bounds[i]) for i in leader]
    row_ptr = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    parts = [sequence[bounds[i] : bounds[i + 1]] for i in leader]
    offset = np.zeros(len(kinds), np.int64)
    for block, members in enumerate(runs):
        offset[members] = row_ptr[block] - bounds[members]
    row_code = np.concatenate([*parts, np.empty(0, np.int64)])
    return EventBlocks(runs, row_ptr, row_code, number + offset[run])


def first_of(run: Ints, code: Ints) -> Ints:
    """Return per event the position of the first event of the same run and code."""
    n = len(run)
    if not n:
        return np.empty(0, np.int64)
    width = int(code.max()) + 1
    pair = run * width + code
    cells = (int(run.max()) + 1) * width
    if cells > _CELLS_PER_EVENT * n:
        _, first_index, inverse = np.unique(pair, return_index=True, return_inverse=True)
        first: Ints = first_index[inverse]
        return first
    table = np.empty(cells, np.int64)
    # The last assignment to a cell wins: in reverse order, that is the first event.
    table[pair[::-1]] = np.arange(n - 1, -1, -1)
    first_events: Ints = table[pair]
    return first_events


_UNKNOWN_UNIT = "ticks"
_NS = "ns"


@dataclass(frozen=True, slots=True)
class EventBlock:
    """Runs that logged the same events.

    name: the file's name for these runs. method: the method that they ran, or that a load loaded;
    None if unknown. runs: indexes into `Trace.runs`, empty for slices outside all runs. rows: its
    rows in the parallel arrays of `EventStatistics`.
    """

    name: str
    method: str | None
    kind: RunKind | None
    track: int
    runs: tuple[int, ...]
    rows: range


@dataclass(frozen=True, eq=False)
class EventStatistics:
    """Blocks and rows of one linked trace.

    Per row: block, key (index into `Trace.keys`), unit (index into `units`, -1 for the trace's own
    ticks) and `statistics` (in ticks, or in that unit). Per occurrence, row by row in file order,
    delimited by `row_ptr`: slices (index into the trace's slices), start and duration as logged.
    """

    table: LinkTable
    blocks: tuple[EventBlock, ...]
    block: Ints
    key: Ints
    unit: Ints
    units: tuple[str, ...]
    row_ptr: Ints
    slices: Ints
    start: Ints
    duration: Ints
    statistics: Statistics

    def __len__(self) -> int:
        return len(self.key)

    def occurrences(self, row: int) -> slice:
        """Return the range of a row's occurrences in slices, start and duration."""
        return slice(int(self.row_ptr[row]), int(self.row_ptr[row + 1]))

    def name(self, row: int) -> str:
        """Return the event name of a row as in the file; for a delegate event, its identifier."""
        trace = self.table.trace
        return trace.strings[int(trace.keys.name[self.key[row]])]

    def unit_name(self, row: int) -> str | None:
        """Return the unit of a foreign clock, None for the trace's ticks."""
        unit = int(self.unit[row])
        return None if unit < 0 else self.units[unit]

    @cached_property
    def has_zeros(self) -> Bools:
        """Per row, whether the file cuts any of its durations to 0 (`timing.rounded_zeros`)."""
        zeros = numbers_at(
            len(self.table.trace.slices) + 1, rounded_zeros(self.table.trace.slices) + 1, 1
        )
        of_row = np.repeat(np.arange(len(self)), np.diff(self.row_ptr))
        has_zero: Bools = np.bincount(of_row, zeros[self.slices + 1], len(self)) > 0
        return has_zero

    @cached_property
    def block_titles(self) -> tuple[str, ...]:
        """The names of the blocks, with their methods if there are several."""
        program = self.table.program
        tracks = list(dict.fromkeys(b.track for b in self.blocks if b.runs))
        several = len(tracks) > 1 or (program is not None and len(program.methods) > 1)
        return tuple(
            f"{b.name} ({b.method or f'method {tracks.index(b.track) + 1}'})"
            if several and b.runs and (b.method or len(tracks) > 1)
            else b.name
            for b in self.blocks
        )


def event_statistics(table: LinkTable, *, by_series: bool = True) -> EventStatistics:
    """Return the statistics of a linked trace over all its runs.

    by_series: whether runs that may be of several methods are blocks of their own.
    """
    trace = table.trace
    order, run = _in_file_order(trace)
    key = trace.slices.key[order].astype(np.int64)
    in_order = np.argsort(first_of(run, _instruction_of_key(trace)[key]), kind="stable")
    none = len(trace.runs)
    kinds = [(r.series, r.kind, _place(trace, r, by_series), r.bundled_input) for r in trace.runs]
    merged = merge_runs(run[in_order], key[in_order], [*kinds, ("", None, None, -1)])
    row = numbers_at(len(order), in_order, merged.row)
    count = len(merged.row_code)
    by_row = np.argsort(row, kind="stable")
    taken, row = order[by_row], row[by_row]
    unit, units = _units(trace, taken, row, count)
    start, duration = _logged(trace, taken)
    rated = native_ns(table)
    if rated is not None and rated.valid is not None:
        is_rated = rated.valid[taken]
        duration[is_rated] = rated.values[taken[is_rated]]
        units = units if _NS in units else (*units, _NS)
        unit[row[is_rated]] = units.index(_NS)
    bounds = merged.row_ptr.tolist()
    blocks = []
    for i, members in enumerate(merged.runs):
        rows = range(bounds[i], bounds[i + 1])
        if int(members[0]) == none:
            blocks.append(EventBlock("", None, None, 0, (), rows))
            continue
        first_run = trace.runs[int(members[0])]
        name = (
            table.method_of_scope(first_run.scope)
            if first_run.kind is RunKind.INFERENCE
            else table.method_of_track(first_run.track)
        )
        numbers = tuple(members.tolist())
        blocks.append(
            EventBlock(first_run.series, name, first_run.kind, first_run.track, numbers, rows)
        )
    return EventStatistics(
        table=table,
        blocks=tuple(blocks),
        block=np.repeat(np.arange(len(blocks)), np.diff(merged.row_ptr)),
        key=merged.row_code,
        unit=unit,
        units=units,
        row_ptr=np.searchsorted(row, np.arange(count + 1)),
        slices=taken,
        start=start,
        duration=duration,
        statistics=grouped(duration, row, count),
    )


def _place(trace: Trace, run: Run, by_series: bool) -> tuple[str, int, int]:
    """Return what runs of one block share: their series, or (for loads) process and track."""
    process, scope, part, _ = series_of(trace, run)
    if run.kind is not RunKind.INFERENCE:
        return process, run.track, 0
    return process, scope, part if by_series else 0


def _in_file_order(trace: Trace) -> tuple[Ints, Ints]:
    """Return all events, run by run in file order, and the run of each.

    Events outside all runs come last, with run number len(trace.runs).
    """
    slices = trace.slices
    is_event = np.ones(len(slices), np.bool_) if slices.derived is None else ~slices.derived
    column = slices.columns.get(NATIVE_DURATION)
    if column is not None and (column.strings is not None or column.values.dtype.kind not in "iu"):
        is_event[foreign(slices)] = False
    run = run_of_slices(trace)
    run[run < 0] = len(trace.runs)
    chosen = np.flatnonzero(is_event)
    # Files list one run after another, and both numbers fit in 32 bits: one sort of one number.
    place = run[chosen] << 32 | slices.source_row[chosen].astype(np.int64)
    chosen = chosen[np.argsort(place, kind="stable")]
    return chosen, run[chosen]


def _logged(trace: Trace, index: Ints) -> tuple[Ints, Ints]:
    """Return start and duration of slices as logged in the file, not as drawn."""
    slices = trace.slices
    start, duration = slices.start[index], slices.end[index] - slices.start[index]
    for name, ticks in ((NATIVE_START, start), (NATIVE_DURATION, duration)):
        column = slices.columns.get(name)
        if column is None or column.strings is not None or column.values.dtype.kind not in "iu":
            continue
        has_value = np.ones(len(index), np.bool_) if column.valid is None else column.valid[index]
        ticks[has_value] = column.values[index[has_value]]
    return start, duration


def _units(trace: Trace, index: Ints, row: Ints, count: int) -> tuple[Ints, tuple[str, ...]]:
    """Return per row its native unit as an index into the units, -1 for the trace's ticks."""
    slices = trace.slices
    unit = np.full(count, -1)
    is_foreign = flags_at(len(slices), foreign(slices))
    foreign_rows = np.flatnonzero(is_foreign[index])
    column = slices.columns.get(NATIVE_UNIT)
    if column is None or column.strings is None:
        unit[row[foreign_rows]] = 0
        return unit, (_UNKNOWN_UNIT,)
    units = (*column.strings, _UNKNOWN_UNIT)
    codes = column.values[index[foreign_rows]].astype(np.int64)
    if column.valid is not None:
        codes[~column.valid[index[foreign_rows]]] = len(units) - 1
    unit[row[foreign_rows]] = codes
    return unit, units


def _instruction_of_key(trace: Trace) -> Ints:
    """Return per key a number for its instruction and, for a delegate event, its identifier.

    Events of one instruction are listed together, at the position of the first of them.
    """
    keys = trace.keys
    label = np.where(keys.kind == KeyKind.DELEGATE_EVENT, keys.name.astype(np.int64) + 1, 0)
    framework = (keys.kind == KeyKind.FRAMEWORK).astype(np.int64)
    place = ((keys.instruction + 1) << 1 | framework) * (len(trace.strings) + 1) + label
    numbers: Ints = np.unique(place, return_inverse=True)[1]
    return numbers
