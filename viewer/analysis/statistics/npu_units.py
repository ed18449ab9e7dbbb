"""Utilization of NPU units: how long each was busy, alone or with others, or all were idle.

Every row is the length of a set of time, so rows overlap, with three exceptions: DMA + CDMA = only
DMA + overlap, compute = only compute + overlap, overall = busy + idle. The sets are those of Torq's
own profiler (its overview of compile profiles), plus rows for jobs and for the host:

    dma_cdma      union of DMA In, DMA Out and CDMA    compute       union of slice units and CSS
    only_dma      dma_cdma minus compute               only_compute  compute minus dma_cdma
    overlap       both are active
    nss           jobs of the sequencer; any unit may be active in one
    host          all runtime work of the processor; host_programs and host_copy are parts of it
    hal           work of the HAL itself, outside the dispatches that it calls
    busy          union of all above                   idle          overall minus busy
    overall       from the earliest start to the latest end of any slice; clipped to the range

Of nested host and HAL slices only the innermost ones are work, otherwise nothing would ever be
idle, and waits ("NSS_WAIT", "HOST_WAIT", "HAL_QUEUE_WAIT") are not: while the host waits for a job,
the job is busy. A range costs two searches per row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass
from viewer.model import intervals
from viewer.model.intervals import Intervals
from viewer.model.queries import tree, units_of
from viewer.model.recorded_names import START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Trace, Unit

_DMA = (Unit.DMA_IN, Unit.DMA_OUT)
_COMPUTE = (Unit.SLICE, Unit.CSS)
_PROCESSOR = (Unit.HOST, Unit.HAL)
_NUMBERED = re.compile(r".*\d")  # C0 has one track for all slice units, which is not one unit

# Names in host profiles, and in annotated ones. Newer annotated profiles start host programs and
# jobs under one name: they have no row for host programs.
_WAITS = ("_WAIT", WAIT_PROGRAM)  # suffixes of names
_HOST_PARTS = (
    (
        "host_programs",
        "Host programs",
        ("HOST_START", "HOST_PROGRAM", f"{START_PROGRAM} (host)"),
    ),
    ("host_copy", "Host copy", ("HOST_COPY", "torq_hl.host_copy")),
)


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """One row: a key for scripts ("only_dma"), a label for people, its ticks and their share."""

    key: str
    label: str
    ticks: int
    share: float


def has_units(trace: Trace) -> bool:
    """Return whether any track of a trace belongs to a unit, so that it has an overview."""
    return any(track.unit for track in trace.tracks)


class UnitOverview:
    """The overview of one trace; its sets are computed once, so range queries are cheap."""

    def __init__(self, trace: Trace) -> None:
        self._start, self._end = trace.start, trace.end
        self._sets = _sets(trace) if has_units(trace) else []

    def rows(self, first: int | None = None, last: int | None = None) -> tuple[OverviewRow, ...]:
        """Return the rows in the ticks [first, last], or in the whole trace, in a fixed order.

        Rows of units without a track are absent; without any unit there are no rows.
        """
        lo = self._start if first is None else max(first, self._start)
        hi = self._end if last is None else min(last, self._end)
        overall = max(hi - lo, 0)
        ticks = [_length_within(times, lo, hi) for _, _, times in self._sets]
        named = [(key, label) for key, label, _ in self._sets]
        if self._sets:
            named += [("idle", "Idle"), ("overall", "Overall")]
            ticks += [overall - ticks[-1], overall]
        return tuple(
            OverviewRow(key, label, length, length / overall if overall else 0.0)
            for (key, label), length in zip(named, ticks, strict=True)
        )

    def times(self) -> list[tuple[str, str, Intervals]]:
        """Return key, label and times of every row, of the whole trace."""
        if not self._sets:
            return []
        whole = np.array([self._start]), np.array([self._end])
        idle = intervals.subtract(whole, self._sets[-1][2])
        return [*self._sets, ("idle", "Idle", idle), ("overall", "Overall", whole)]

    def longest(
        self, key: str, first: int | None = None, last: int | None = None
    ) -> tuple[int, int] | None:
        """Return the longest uninterrupted interval of a row in the ticks [first, last].

        None if the row has no time there, or the trace has no row for the key.
        """
        lo = self._start if first is None else max(first, self._start)
        hi = self._end if last is None else min(last, self._end)
        sets = {name: times for name, _, times in self._sets}
        if key in ("idle", "overall"):
            whole = (np.array([lo]), np.array([hi]))
            sets[key] = intervals.subtract(whole, sets["busy"]) if key == "idle" else whole
        if key not in sets:
            return None
        start, end = intervals.clip(*sets[key], lo, hi)
        if not len(start):
            return None
        index = int(np.argmax(end - start))
        return int(start[index]), int(end[index])


def _length_within(times: Intervals, first: int, last: int) -> int:
    """Return how much of a union is inside [first, last]."""
    start, end = times
    lo = int(np.searchsorted(end, np.int64(first), "right"))
    hi = int(np.searchsorted(start, np.int64(last)))
    if lo >= hi:
        return 0
    inside = int((end[lo:hi] - start[lo:hi]).sum())
    return inside - max(first - int(start[lo]), 0) - max(int(end[hi - 1]) - last, 0)


def _sets(trace: Trace) -> list[tuple[str, str, Intervals]]:
    """Return key, label and united time of every row down to `busy`, the last."""
    slices = trace.slices
    track = slices.row_track[slices.rows()]
    unit = units_of(trace)
    stated_units = {t.unit for t in trace.tracks}
    rows: list[tuple[str, str, Intervals]] = []

    def time(of: Bools | Ints) -> Intervals:
        return intervals.union(slices.start[of], slices.end[of])

    def row(key: str, label: str, times: Intervals, *of: Unit) -> None:
        if stated_units.intersection(of):
            rows.append((key, label, times))

    times_of_unit = {u: time(unit == u) for u in Unit}
    dma = _united(times_of_unit[u] for u in _DMA)
    dma_cdma = _united((dma, times_of_unit[Unit.CDMA]))
    compute = _united(times_of_unit[u] for u in _COMPUTE)
    npu = (*_DMA, Unit.CDMA, *_COMPUTE)
    row("dma_in", "DMA In", times_of_unit[Unit.DMA_IN], Unit.DMA_IN)
    row("dma_out", "DMA Out", times_of_unit[Unit.DMA_OUT], Unit.DMA_OUT)
    row("dma", "DMA", dma, *_DMA)
    row("cdma", "CDMA", times_of_unit[Unit.CDMA], Unit.CDMA)
    row("dma_cdma", "DMA + CDMA", dma_cdma, *_DMA, Unit.CDMA)
    for thread, index in _by_slice_unit(trace, track):
        row(re.sub(r"\W+", "_", thread.lower()), thread, time(index), Unit.SLICE)  # slice_unit_0
    row("slice", "Slice units", times_of_unit[Unit.SLICE], Unit.SLICE)
    row("css", "CSS", times_of_unit[Unit.CSS], Unit.CSS)
    row("compute", "Compute", compute, *_COMPUTE)
    only_dma, only_compute, overlap = intervals.divided(dma_cdma, compute)
    row("only_dma", "Only DMA", only_dma, *npu)
    row("only_compute", "Only compute", only_compute, *npu)
    row("overlap", "DMA and compute", overlap, *npu)
    row("nss", "NSS jobs", times_of_unit[Unit.NSS], Unit.NSS)

    work = _work(trace, unit)
    row("host", "Host", time(work & (unit == Unit.HOST)), Unit.HOST)
    for key, label, names in _HOST_PARTS:
        called = np.array([name in names for name in trace.strings], np.bool_)[slices.name]
        if called.any():
            row(key, label, time(work & called & (unit == Unit.HOST)), Unit.HOST)
    row("hal", "HAL", time(work & (unit == Unit.HAL)), Unit.HAL)
    idle = {Unit.NONE, *_PROCESSOR}
    busy = _united((time(work), *(times for u, times in times_of_unit.items() if u not in idle)))
    rows.append(("busy", "Busy", busy))
    return rows


def _by_slice_unit(trace: Trace, track: Codes) -> Iterator[tuple[str, Ints]]:
    """Yield the threads that show a single slice unit each, by number, with their slices."""
    threads = {t.thread for t in trace.tracks if t.unit is Unit.SLICE}
    units = sorted(filter(_NUMBERED.fullmatch, threads), key=lambda name: (len(name), name))
    number = {thread: i for i, thread in enumerate(units)}
    unit_of_track = [number.get(t.thread, -1) if t.unit is Unit.SLICE else -1 for t in trace.tracks]
    unit = np.array(unit_of_track, np.int64)[track]
    order = np.argsort(unit, kind="stable")
    bounds = np.searchsorted(unit[order], np.arange(len(units) + 1)).tolist()
    for thread, lo, hi in zip(units, bounds, bounds[1:], strict=False):
        yield thread, order[lo:hi]


def _united(sets: Iterable[Intervals]) -> Intervals:
    filled_sets = [intervals_of_set for intervals_of_set in sets if len(intervals_of_set[0])]
    if len(filled_sets) == 1:
        return filled_sets[0]
    starts, ends = zip((np.empty(0, np.int64),) * 2, *filled_sets, strict=True)
    return intervals.union(np.concatenate(starts), np.concatenate(ends))


def _work(trace: Trace, unit: Ints) -> Bools:
    """Return per slice whether it is host or HAL work: innermost, and not a wait."""
    slices = trace.slices
    work: Bools = np.isin(unit, _PROCESSOR)
    if not work.any():
        return work
    shape = tree(slices)
    work[shape.index[shape.parent[shape.parent >= 0]]] = False
    # A HAL call may contain whole dispatches, which are slices of another track.
    hal = np.flatnonzero(unit == Unit.HAL)
    on_host = (unit == Unit.HOST) & (slices.end > slices.start)
    starts = np.sort(slices.start[on_host])
    contained = np.searchsorted(starts, slices.end[hal]) - np.searchsorted(
        starts, slices.start[hal]
    )
    work[hal[contained > 0]] = False
    waits = np.array([name.endswith(_WAITS) for name in trace.strings], np.bool_)
    return work & ~waits[slices.name]
