"""What the units of an NPU system did: how long each was busy, alone or together, or none at all.

Every row is the length of a set of time, so the rows overlap and do not add up, but for these:
DMA + CDMA = only DMA + overlap, compute = only compute + overlap, overall = busy + idle. Times are
ticks. The sets are those of Torq's own profiler (its overview of compile profiles), with one row
more for jobs and for the host:

    dma_cdma      DMA In, DMA Out and CDMA united        compute       slice units and CSS united
    only_dma      dma_cdma less compute                  only_compute  compute less dma_cdma
    overlap       where both are at work
    nss           jobs of the sequencer: any of the units may be at work in one
    host          all that the processor does in the runtime; host_programs and host_copy are parts
    hal           what the HAL does itself, outside the dispatches that it calls
    busy          all of the above united                idle          overall less busy
    overall       from the earliest start to the latest end of any slice; in a range, its part there

Host and HAL profiles nest scopes, stages and actions. A slice with others inside says where, not
what: only the innermost ones are work, else nothing would ever be idle. Those that wait are none
("NSS_WAIT", "HOST_WAIT", "HAL_QUEUE_WAIT"): while the host waits for a job, the job is busy.

All is linear but for the sorting; a range costs two searches a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.model import intervals
from viewer.model.intervals import Intervals
from viewer.model.queries import tree, units_of
from viewer.model.torq_names import START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Trace, Unit

_DMA = (Unit.DMA_IN, Unit.DMA_OUT)
_COMPUTE = (Unit.SLICE, Unit.CSS)
_PROCESSOR = (Unit.HOST, Unit.HAL)
_NUMBERED = re.compile(r".*\d")  # C0 has one track of all its slice units: that is no unit

# As host profiles call it, and as annotated ones do. Newer annotated ones start host programs and
# jobs under one name: they have no row of host programs.
_WAITS = ("_WAIT", WAIT_PROGRAM)  # the ends of names
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
    """One row: a key for scripts ("only_dma"), a label for people, its ticks and share of all."""

    key: str
    label: str
    ticks: int
    share: float


def has_units(trace: Trace) -> bool:
    """Whether any track of a trace is of a unit, so that it has an overview."""
    return any(track.unit for track in trace.tracks)


class UnitOverview:
    """The overview of one trace; its sets are made once, ranges are cheap."""

    def __init__(self, trace: Trace) -> None:
        self._start, self._end = trace.start, trace.end
        self._sets = _sets(trace) if has_units(trace) else []

    def rows(self, first: int | None = None, last: int | None = None) -> tuple[OverviewRow, ...]:
        """The rows in the ticks [first, last], or in the whole trace, in a fixed order.

        Rows of units that the trace has no track of are absent; without any unit there are none.
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

    def longest(
        self, key: str, first: int | None = None, last: int | None = None
    ) -> tuple[int, int] | None:
        """Where the longest unbroken stretch of a row lies in the ticks [first, last].

        None for a row without any time there, and for a key that the trace has no row of.
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
        at = int(np.argmax(end - start))
        return int(start[at]), int(end[at])


def _length_within(times: Intervals, first: int, last: int) -> int:
    """How much of a union lies in [first, last]."""
    start, end = times
    lo = int(np.searchsorted(end, np.int64(first), "right"))
    hi = int(np.searchsorted(start, np.int64(last)))
    if lo >= hi:
        return 0
    inside = int((end[lo:hi] - start[lo:hi]).sum())
    return inside - max(first - int(start[lo]), 0) - max(int(end[hi - 1]) - last, 0)


def _sets(trace: Trace) -> list[tuple[str, str, Intervals]]:
    """Key, label and united time of every row down to `busy`, the last."""
    slices = trace.slices
    track = slices.row_track[slices.rows()]
    unit = units_of(trace)
    there = {t.unit for t in trace.tracks}
    rows: list[tuple[str, str, Intervals]] = []

    def time(of: Bools | Ints) -> Intervals:
        return intervals.union(slices.start[of], slices.end[of])

    def row(key: str, label: str, times: Intervals, *of: Unit) -> None:
        if there.intersection(of):
            rows.append((key, label, times))

    one = {u: time(unit == u) for u in Unit}
    dma = _united(one[u] for u in _DMA)
    dma_cdma = _united((dma, one[Unit.CDMA]))
    compute = _united(one[u] for u in _COMPUTE)
    npu = (*_DMA, Unit.CDMA, *_COMPUTE)
    row("dma_in", "DMA In", one[Unit.DMA_IN], Unit.DMA_IN)
    row("dma_out", "DMA Out", one[Unit.DMA_OUT], Unit.DMA_OUT)
    row("dma", "DMA", dma, *_DMA)
    row("cdma", "CDMA", one[Unit.CDMA], Unit.CDMA)
    row("dma_cdma", "DMA + CDMA", dma_cdma, *_DMA, Unit.CDMA)
    for thread, own in _by_slice_unit(trace, track):
        row(_key(thread), thread, time(own), Unit.SLICE)
    row("slice", "Slice units", one[Unit.SLICE], Unit.SLICE)
    row("css", "CSS", one[Unit.CSS], Unit.CSS)
    row("compute", "Compute", compute, *_COMPUTE)
    row("only_dma", "Only DMA", intervals.subtract(dma_cdma, compute), *npu)
    row("only_compute", "Only compute", intervals.subtract(compute, dma_cdma), *npu)
    row("overlap", "DMA and compute", intervals.intersect(dma_cdma, compute), *npu)
    row("nss", "NSS jobs", one[Unit.NSS], Unit.NSS)

    work = _work(trace, unit)
    row("host", "Host", time(work & (unit == Unit.HOST)), Unit.HOST)
    for key, label, names in _HOST_PARTS:
        called = np.array([name in names for name in trace.strings], np.bool_)[slices.name]
        if called.any():
            row(key, label, time(work & called & (unit == Unit.HOST)), Unit.HOST)
    row("hal", "HAL", time(work & (unit == Unit.HAL)), Unit.HAL)
    idle = {Unit.NONE, *_PROCESSOR}
    busy = _united((time(work), *(times for u, times in one.items() if u not in idle)))
    rows.append(("busy", "Busy", busy))
    return rows


def _by_slice_unit(trace: Trace, track: Codes) -> Iterator[tuple[str, Ints]]:
    """The threads that are of one slice unit each, by number, with their slices."""
    threads = {t.thread for t in trace.tracks if t.unit is Unit.SLICE}
    units = sorted(filter(_NUMBERED.fullmatch, threads), key=lambda name: (len(name), name))
    number = {thread: i for i, thread in enumerate(units)}
    unit_of_track = [number.get(t.thread, -1) if t.unit is Unit.SLICE else -1 for t in trace.tracks]
    unit = np.array(unit_of_track, np.int64)[track]
    order = np.argsort(unit, kind="stable")
    bounds = np.searchsorted(unit[order], np.arange(len(units) + 1)).tolist()
    for thread, lo, hi in zip(units, bounds, bounds[1:], strict=False):
        yield thread, order[lo:hi]


def _key(thread: str) -> str:
    """ "slice_unit_0" of "Slice unit 0"."""
    return re.sub(r"\W+", "_", thread.lower())


def _united(sets: Iterable[Intervals]) -> Intervals:
    starts, ends = zip(*sets, strict=True)
    return intervals.union(np.concatenate(starts), np.concatenate(ends))


def _work(trace: Trace, unit: Ints) -> Bools:
    """Per slice whether it is work of host or HAL: innermost, and no waiting."""
    slices = trace.slices
    work: Bools = np.isin(unit, _PROCESSOR)
    if not work.any():
        return work
    shape = tree(slices)
    work[shape.index[shape.parent[shape.parent >= 0]]] = False
    # A call of the HAL holds whole dispatches, which are slices of another track.
    hal = np.flatnonzero(unit == Unit.HAL)
    on_host = (unit == Unit.HOST) & (slices.end > slices.start)
    begins = np.sort(slices.start[on_host])
    held = np.searchsorted(begins, slices.end[hal]) - np.searchsorted(begins, slices.start[hal])
    work[hal[held > 0]] = False
    waits = np.array([name.endswith(_WAITS) for name in trace.strings], np.bool_)
    return work & ~waits[slices.name]
