"""The time between inferences, and how many there are per second of wall time.

The runtime measures an inference; what the host does before the next one (sampling, copies,
waiting) is in no slice. Times between inferences are known only where a file states when they
started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np

from viewer.model.inferences.logged_methods import series_of
from viewer.model.quantiles import exact_median
from viewer.model.times import format_share, format_time, tick_to_ns
from viewer.model.timing import Timing
from viewer.model.trace import RunKind, Trace


@dataclass(frozen=True, slots=True)
class Rate:
    """How the inferences of a phase fill the wall time.

    count: how many. ticks: all durations. gaps: the idle ticks before each of them that another one
    preceded. longest: the position in `Trace.runs` of the one after the longest gap.
    """

    count: int
    ticks: int
    gaps: tuple[int, ...]
    longest: int

    @property
    def idle(self) -> int:
        """The idle ticks together."""
        return sum(self.gaps)

    @property
    def wall(self) -> int:
        """The ticks of the inferences and of the gaps before them."""
        return self.ticks + self.idle

    @property
    def share(self) -> float:
        """The part of the wall time between inferences, 0 to 1."""
        return self.idle / self.wall if self.wall else 0.0

    def per_second(self, rate: Fraction) -> float | None:
        """Return inferences per second of wall time; rate: ns per tick. None without any time."""
        return float(self.count * 10**9 / (self.wall * rate)) if self.wall else None


_gaps: WeakKeyDictionary[Trace, list[int | None]] = WeakKeyDictionary()


def gaps_of(trace: Trace) -> list[int | None]:
    """Return per run the idle ticks since the inference before it in its process.

    None for loads, for the first inference, and if its start is not measured. What a load takes in
    between is not idle.
    """
    if trace not in _gaps:
        _gaps[trace] = _computed(trace)
    return _gaps[trace]


def _computed(trace: Trace) -> list[int | None]:
    gaps: list[int | None] = [None] * len(trace.runs)
    if not are_starts_measured(trace):
        return gaps
    busy_until: dict[str, int] = {}
    has_inference: set[str] = set()
    loaded: dict[str, int] = {}
    for index in sorted(range(len(trace.runs)), key=lambda run_index: trace.runs[run_index].start):
        run = trace.runs[index]
        process = trace.tracks[run.track].process
        before = busy_until.get(process, run.start)
        if run.kind is RunKind.LOAD:
            loaded[process] = loaded.get(process, 0) + max(run.end - max(run.start, before), 0)
            continue
        if process in has_inference:
            idle = run.start - before - loaded.get(process, 0)
            gaps[index] = max(idle, 0)
        has_inference.add(process)
        loaded.pop(process, None)
        busy_until[process] = max(before, run.end)
    return gaps


def rate_of(trace: Trace, runs: Sequence[int]) -> Rate | None:
    """Return the rate of some inferences of one phase; None if no gap is known.

    Also where a file states tokens: then each is a generation, and its rate is that of tokens.
    """
    if any(trace.runs[run].tokens for run in runs):
        return None
    gaps = gaps_of(trace)
    gaps_and_runs = [(gap, run) for run in runs if (gap := gaps[run]) is not None]
    if not gaps_and_runs:
        return None
    ticks = sum(trace.runs[run].end - trace.runs[run].start for run in runs)
    return Rate(len(runs), ticks, tuple(gap for gap, _ in gaps_and_runs), max(gaps_and_runs)[1])


def sequences(trace: Trace) -> list[tuple[int, ...]]:
    """Return the finished inferences of every phase, in order of time; not of an open method."""
    series: dict[tuple[object, ...], list[int]] = {}
    for index in sorted(range(len(trace.runs)), key=lambda run_index: trace.runs[run_index].start):
        run = trace.runs[index]
        is_one = run.kind is RunKind.INFERENCE and run.finished and run.count == 1
        if is_one and run.part >= 0 and run.end > run.start:
            series.setdefault(series_of(trace, run), []).append(index)
    return [tuple(value) for value in series.values()]


def are_starts_measured(trace: Trace) -> bool:
    """Return whether a file states when its inferences started."""
    timing = trace.slices.timing
    if timing is None or not len(timing):
        return True
    starts = np.isin(trace.slices.start, [run.start for run in trace.runs])
    invented = Timing.PLACED | Timing.DERIVED
    return not bool((timing[starts] & invented).all()) if starts.any() else True


def rate_text(rate: Rate, ns_per_tick: Fraction, noun: str) -> str:
    """Return "145.6 steps per second of wall time, 1.500 ms between steps (21.8 %)"."""
    per_second = rate.per_second(ns_per_tick)
    if per_second is None:
        return ""
    gap = format_time(tick_to_ns(exact_median(rate.gaps), ns_per_tick))
    amount = f"{per_second:,.4g}" if per_second < 10_000 else f"{per_second:,.0f}"
    return (
        f"{amount} {noun}s per second of wall time; {gap} between {noun}s "
        f"({format_share(rate.idle, rate.wall)} of the wall time)"
    )
