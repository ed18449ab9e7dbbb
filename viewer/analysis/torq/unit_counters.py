"""Counters of NPU units, computed from the slices on their tracks.

Each process with units (`Track.unit`) gets:

* *Concurrent units*: the number of active units. A unit with overlapping slices counts once, and so
  does a track that combines several units.
* *Slice units busy*, *CSS busy*, *DMA busy*, *NPU busy*: the share of each time window in which the
  units are active. For slice units it is their mean; for DMA (in, out and CDMA) and NSS jobs it is
  the time in which any is active. A window has 1, 2 or 5 times a power of ten ticks. The last one
  ends with the trace, so the time-weighted mean of the shares is the share of the whole trace.
* *DMA In bandwidth* and *DMA In bytes*, and the same for DMA out and CDMA: over the active
  transfers, the sum of bytes / ticks, and the sum of bytes. Their `note` counts the transfers that
  have no duration or no bytes, and so are not in it.

Everything is linear after one sort of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints, lists_by_key
from viewer.model import intervals
from viewer.model.recorded_names import BYTES
from viewer.model.times import NARROW_SPACE, counted, format_in, group_digits, nice_step, unit_for
from viewer.model.trace import Trace, Unit
from viewer.model.trace_attributes import Counter, changes

MOST_WINDOWS = 200
# In a file with more processes, only the first ones get counters: each costs about 1 ms.
MOST_PROCESSES = 200

_TRANSFERS = {Unit.DMA_IN: "DMA In", Unit.DMA_OUT: "DMA Out", Unit.CDMA: "CDMA"}
_CONCURRENT = {*_TRANSFERS, Unit.SLICE, Unit.CSS}
_COUNTED = {*_CONCURRENT, Unit.NSS}
_THOUSANDS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
_NS = {"ns": 1, "us": 1000}  # ns per tick, by the clock's unit


def unit_counters(trace: Trace) -> tuple[Counter, ...]:
    """Return the counters in the trace's file, then those of its units, process by process."""
    by_process = lists_by_key(
        (track.process, number)
        for number, track in enumerate(trace.tracks)
        if track.unit in _COUNTED
    )
    # Our own exports already contain these counters.
    is_stated = bool(trace.provenance and trace.counters)
    if is_stated or not by_process or not len(trace.slices):
        return trace.counters
    work = _Work(trace)
    return trace.counters + tuple(
        counter
        for process in list(by_process)[:MOST_PROCESSES]
        for counter in _of_process(work, process, by_process[process])
    )


def _of_process(work: _Work, process: str, tracks: Sequence[int]) -> Iterator[Counter]:
    of_unit = lists_by_key((work.trace.tracks[track].unit, track) for track in tracks)
    units = {unit: [work.busy(track) for track in tracks] for unit, tracks in of_unit.items()}
    single = [busy for unit in sorted(units) if unit in _CONCURRENT for busy in units[unit]]
    if len(single) > 1:
        times, delta = _edges(single)
        tick, value = changes(times, np.cumsum(delta))
        yield Counter(
            process, "Concurrent units", "", tick, value, note=_as_one(work.trace, of_unit)
        )
    transfers = [busy for unit in _TRANSFERS for busy in units.get(unit, [])]
    for name, parts in (
        ("Slice units busy", units.get(Unit.SLICE, [])),
        ("CSS busy", _joined(units.get(Unit.CSS, []))),
        ("DMA busy", _joined(transfers)),
        ("NPU busy", _joined(units.get(Unit.NSS, []))),
    ):
        if parts and work.window:
            tick, value = work.shares(parts)
            yield Counter(process, f"{name} · {work.window_text}", "%", tick, value)
    moved = {
        unit: flow
        for unit in _TRANSFERS
        if unit in of_unit and (flow := work.flow(of_unit[unit])) is not None
    }
    for unit, flow in moved.items():
        name = f"{_TRANSFERS[unit]} bandwidth"
        yield Counter(process, name, "GB/s", *flow.rate(), per_tick=True, note=flow.note)
    for unit, flow in moved.items():
        yield Counter(process, f"{_TRANSFERS[unit]} bytes", "B", *flow.size(), note=flow.note)


def _joined(parts: Sequence[intervals.Intervals]) -> list[intervals.Intervals]:
    """Return the union of several sets of time as a list of one; empty for none."""
    if len(parts) < 2:
        return list(parts)
    return [intervals.union(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))]


def _as_one(trace: Trace, of_unit: Mapping[Unit, Sequence[int]]) -> str:
    """Return a note if one track combines all slice units, as in early profiles."""
    named = [trace.tracks[track].thread for track in of_unit.get(Unit.SLICE, [])]
    are_separate = all(thread[-1:].isdigit() for thread in named)
    return "" if are_separate else "the file does not distinguish slice units: they count as one"


class _Work:
    """The activity of one trace's units, by track, and its time windows."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        rows = trace.slices.row_track
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], np.arange(len(trace.tracks) + 1))
        self._rows = [order[a:b] for a, b in pairwise(bounds.tolist())]
        start, end = trace.start, trace.end
        self.window = nice_step(-(-(end - start) // MOST_WINDOWS))[0] if end > start else 0
        steps = -(-(end - start) // self.window) if self.window else 0
        self._edges = np.array([*(start + k * self.window for k in range(steps)), end], np.int64)

    @property
    def window_text(self) -> str:
        """The window length: "per 500 cycles", "per 20k cycles", "per 20 µs"."""
        unit = self.trace.clock.unit
        if unit not in _NS:
            count, times = next((c for c in _THOUSANDS if self.window >= c[0]), (1, ""))
            number = f"{group_digits(self.window // count)}{times}"
            return f"per {number} {unit}{'' if self.window == 1 else 's'}"
        ns = self.window * _NS[unit]
        name, factor = unit_for(ns)
        return f"per {format_in(ns, factor, 0)}{NARROW_SPACE}{name}"

    def slices(self, track: int) -> NDArray[Any]:
        """Return the numbers of the slices on a track, row by row."""
        ptr = self.trace.slices.row_ptr
        parts = [np.arange(ptr[row], ptr[row + 1]) for row in self._rows[track].tolist()]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def busy(self, track: int) -> intervals.Intervals:
        """Return the intervals in which a track is active."""
        index = self.slices(track)
        return intervals.union(self.trace.slices.start[index], self.trace.slices.end[index])

    def shares(self, parts: Sequence[intervals.Intervals]) -> tuple[Ints, Floats]:
        """Return the mean share of every window covered by these sets of time, in percent."""
        edges = self._edges
        covered = np.zeros(len(edges) - 1)
        for part in parts:
            covered += np.diff(intervals.covered_until(part, edges)).astype(np.float64)
        whole = intervals.durations(edges[:-1], edges[1:]).astype(np.float64) * len(parts)
        return changes(edges, np.append(100 * covered / whole, 0.0))

    def flow(self, tracks: Sequence[int]) -> _Flow | None:
        """Return the transfers of some tracks that have bytes and a duration; None if none has."""
        column = self.trace.slices.columns.get(BYTES)
        if column is None or column.strings is not None or column.values.dtype.kind not in "iu":
            return None
        index = np.concatenate([self.slices(track) for track in tracks])
        start, end = self.trace.slices.start[index], self.trace.slices.end[index]
        has_bytes = np.ones(len(index), np.bool_) if column.valid is None else column.valid[index]
        is_counted = has_bytes & (end > start)
        if not is_counted.any():
            return None
        left_out = {
            "without a length": int((has_bytes & ~is_counted).sum()),
            "without bytes": int((~has_bytes).sum()),
        }
        return _Flow(
            start[is_counted],
            end[is_counted],
            column.values[index[is_counted]],
            _not_in_it(left_out),
        )


class _Flow:
    """Transfers, each with a number of bytes and a duration."""

    def __init__(self, start: Ints, end: Ints, size: NDArray[Any], note: str) -> None:
        self.note = note
        self._size = size.astype(np.int64)
        if float(np.abs(size.astype(np.float64)).sum()) >= 2.0**63:
            self._size = size.astype(np.float64)
        self._rate = size.astype(np.float64) / intervals.durations(start, end).astype(np.float64)
        times = np.concatenate([start, end])
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        self._of = order % len(start)
        self._sign = np.where(order < len(start), 1, -1)
        under_way = np.cumsum(self._sign)
        # With exactly one active transfer, the sum of started minus ended numbers is its number.
        number = np.cumsum(self._sign * self._of)
        self._alone = under_way == 1
        self._only = number[self._alone]
        self._exact = np.maximum.accumulate(np.where(under_way <= 1, np.arange(len(times)), 0))

    def rate(self) -> tuple[Ints, NDArray[Any]]:
        """Return the bytes per tick of all active transfers over time."""
        return self._summed(self._rate)

    def size(self) -> tuple[Ints, NDArray[Any]]:
        """Return the bytes of all active transfers over time."""
        return self._summed(self._size)

    def _summed(self, amount: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
        total = np.cumsum(self._sign * amount[self._of])
        if total.dtype.kind == "f":
            # Rounding errors must not accumulate over a million transfers, so the sum restarts from
            # every point at which it is known exactly.
            exact = np.zeros(len(total))
            exact[self._alone] = amount[self._only]
            total = exact[self._exact] + (total - total[self._exact])
        return changes(self._times, total)


def _edges(parts: Sequence[intervals.Intervals]) -> tuple[Ints, Ints]:
    """Return all starts (+1) and ends (-1) of some sets of time, sorted by time."""
    times = np.concatenate([ends for part in parts for ends in part])
    step = np.concatenate(
        [np.full(len(ends), 1 - 2 * i) for part in parts for i, ends in enumerate(part)]
    )
    order = np.argsort(times, kind="stable")
    return times[order], step[order]


def _not_in_it(left_out: Mapping[str, int]) -> str:
    """Return "2 transfers without bytes are not in it", or ""."""
    parts = [f"{counted(count, 'transfer')} {what}" for what, count in left_out.items() if count]
    is_single = sum(left_out.values()) == 1
    return f"{' and '.join(parts)} {'is' if is_single else 'are'} not included" if parts else ""
