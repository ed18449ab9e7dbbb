"""How long each event of a profile took over its runs: p10, p50, p90, average, extremes, total.

An *event block* is the runs that logged the same events in the same order (see
`viewer.analysis.statistics.event_blocks`); a row is one key of a block. Every occurrence counts, in
a loop many of one run. Rows stand in the order in which instructions, and events inside them, first
appear.

Durations are whole ticks as logged. Events on a clock of their own have their native durations and
unit; where a row has one such event, all of it is taken as native, since an event is timed by one
clock. Slices that the reader derived are no events and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.event_blocks import first_of, merge_runs
from viewer.arrays import Bools, Ints
from viewer.model.distributions import Statistics, grouped
from viewer.model.queries import NATIVE_DURATION, NATIVE_START, NATIVE_UNIT, foreign, run_of_slices
from viewer.model.trace import KeyKind, Run, RunKind, Trace

_UNKNOWN_UNIT = "ticks"


@dataclass(frozen=True, slots=True)
class EventBlock:
    """Some runs that logged the same events.

    name: what the file calls these runs. method: what they ran, or for a load what it loaded; None
    where neither the file nor a record tells. runs: indexes into `Trace.runs`, empty for slices
    outside all runs. rows: its rows in the parallel arrays of `EventStatistics`.
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
    ticks) and `statistics` (ticks, or that unit). Per occurrence, row by row in file order, cut by
    `row_ptr`: slices (index into the trace's slices), start and duration as logged.
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
        """Where the occurrences of a row stand in slices, start and duration."""
        return slice(int(self.row_ptr[row]), int(self.row_ptr[row + 1]))

    def name(self, row: int) -> str:
        """What the file calls the event of a row; a delegate event by its identifier."""
        trace = self.table.trace
        return trace.strings[int(trace.keys.name[self.key[row]])]

    def unit_name(self, row: int) -> str | None:
        """The unit of a clock of its own, None for the trace's ticks."""
        unit = int(self.unit[row])
        return None if unit < 0 else self.units[unit]

    @cached_property
    def block_titles(self) -> tuple[str, ...]:
        """The names of the blocks; with their method where there are several to be told apart."""
        program = self.table.program
        tracks = list(dict.fromkeys(b.track for b in self.blocks if b.runs))
        several = len(tracks) > 1 or (program is not None and len(program.methods) > 1)
        return tuple(
            f"{b.name} ({b.method or f'method {tracks.index(b.track) + 1}'})"
            if several and b.runs and (b.method or len(tracks) > 1)
            else b.name
            for b in self.blocks
        )


def event_statistics(table: LinkTable) -> EventStatistics:
    """The statistics of a linked trace over all its runs."""
    trace = table.trace
    order, run = _in_file_order(trace)
    key = trace.slices.key[order].astype(np.int64)
    told = np.argsort(first_of(run, _instruction_of_key(trace)[key]), kind="stable")
    none = len(trace.runs)
    kinds = [(r.name, r.kind, _place(trace, r), r.bundled_input) for r in trace.runs]
    merged = merge_runs(run[told], key[told], [*kinds, ("", None, None, -1)])
    row = np.empty(len(order), np.int64)
    row[told] = merged.row
    count = len(merged.row_code)
    by_row = np.argsort(row, kind="stable")
    taken, row = order[by_row], row[by_row]
    unit, units = _units(trace, taken, row, count)
    start, duration = _logged(trace, taken)
    bounds = merged.row_ptr.tolist()
    blocks = []
    for i, members in enumerate(merged.runs):
        rows = range(bounds[i], bounds[i + 1])
        if int(members[0]) == none:
            blocks.append(EventBlock("", None, None, 0, (), rows))
            continue
        one = trace.runs[int(members[0])]
        name = (
            table.method_of_scope(one.scope)
            if one.kind is RunKind.INFERENCE
            else table.method_of_track(one.track)
        )
        numbers = tuple(members.tolist())
        blocks.append(EventBlock(one.name, name, one.kind, one.track, numbers, rows))
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


def _place(trace: Trace, run: Run) -> tuple[str, int]:
    """What runs of one block have in common: an inference its method, a load where it is drawn."""
    of = run.scope if run.kind is RunKind.INFERENCE else run.track
    return trace.tracks[run.track].process, of


def _in_file_order(trace: Trace) -> tuple[Ints, Ints]:
    """All events, run by run in file order, and the run of each.

    Those outside all runs come last, as run number len(trace.runs).
    """
    slices = trace.slices
    keep = np.ones(len(slices), np.bool_) if slices.derived is None else ~slices.derived
    keep &= _has_duration(trace)
    run = run_of_slices(trace)
    run[run < 0] = len(trace.runs)
    chosen = np.flatnonzero(keep)
    # Files list runs one after another, and both numbers fit 32 bits: one sort of one number.
    place = run[chosen] << 32 | slices.source_row[chosen].astype(np.int64)
    chosen = chosen[np.argsort(place, kind="stable")]
    return chosen, run[chosen]


def _has_duration(trace: Trace) -> Bools:
    """False for foreign slices whose native duration is no whole number: they have none at all."""
    column = trace.slices.columns.get(NATIVE_DURATION)
    known = np.ones(len(trace.slices), np.bool_)
    if column is not None and (column.strings is not None or column.values.dtype.kind not in "iu"):
        known[foreign(trace.slices)] = False
    return known


def _logged(trace: Trace, at: Ints) -> tuple[Ints, Ints]:
    """Start and duration of slices as the file has them, not as they are drawn."""
    slices = trace.slices
    start, duration = slices.start[at], slices.end[at] - slices.start[at]
    for name, ticks in ((NATIVE_START, start), (NATIVE_DURATION, duration)):
        column = slices.columns.get(name)
        if column is None or column.strings is not None or column.values.dtype.kind not in "iu":
            continue
        own = np.ones(len(at), np.bool_) if column.valid is None else column.valid[at]
        ticks[own] = column.values[at[own]]
    return start, duration


def _units(trace: Trace, at: Ints, row: Ints, count: int) -> tuple[Ints, tuple[str, ...]]:
    """Per row its native unit as an index into the units, -1 for the trace's own ticks."""
    slices = trace.slices
    unit = np.full(count, -1)
    is_foreign = np.zeros(len(slices), np.bool_)
    is_foreign[foreign(slices)] = True
    own = np.flatnonzero(is_foreign[at])
    column = slices.columns.get(NATIVE_UNIT)
    if column is None or column.strings is None:
        unit[row[own]] = 0
        return unit, (_UNKNOWN_UNIT,)
    units = (*column.strings, _UNKNOWN_UNIT)
    codes = column.values[at[own]].astype(np.int64)
    if column.valid is not None:
        codes[~column.valid[at[own]]] = len(units) - 1
    unit[row[own]] = codes
    return unit, units


def _instruction_of_key(trace: Trace) -> Ints:
    """Per key a number for its instruction and, for a delegate event, its identifier.

    Events of one instruction are told together, where the first of them stands.
    """
    keys = trace.keys
    label = np.where(keys.kind == KeyKind.DELEGATE_EVENT, keys.name.astype(np.int64) + 1, 0)
    framework = (keys.kind == KeyKind.FRAMEWORK).astype(np.int64)
    place = ((keys.instruction + 1) << 1 | framework) * (len(trace.strings) + 1) + label
    numbers: Ints = np.unique(place, return_inverse=True)[1]
    return numbers
