"""The wall time around a model: time between inferences, rates, and where the time is spent.

What the host does between inferences (sampling, copies, waiting) is in no slice. Time between them
is known only where a file states when they started; what a file states of sampling is part of its
inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np

from viewer.dataclasses import dataclass
from viewer.model.inference_views import Series, series_of
from viewer.model.quantiles import exact_median
from viewer.model.times import counted, format_share, format_time, tick_to_ns
from viewer.model.timing import Timing
from viewer.model.trace import Run, RunKind, Trace


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


LOAD, BEFORE, FIRST, SAMPLING = "Load", "Before the first inference", "First inference", "Sampling"
BETWEEN, INFERENCES = "Between inferences", "Inferences"
_OF_SEVERAL = "Inferences of several methods"
_MOST = 6  # methods and phases with a part of their own


@dataclass(frozen=True, slots=True)
class WallPart:
    """A part of the wall time, in ticks. is_idle: whether nothing that the file has runs in it."""

    name: str
    ticks: int
    is_idle: bool = False


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What a file states of the tokens of a phase. ticks: what its inferences with tokens take."""

    tokens: int
    ticks: int

    def per_second(self, rate: Fraction) -> float | None:
        """Return tokens per second of their inferences; rate: ns per tick."""
        return float(self.tokens * 10**9 / (self.ticks * rate)) if self.ticks else None


def wall_time(trace: Trace, names: Mapping[Series, str]) -> tuple[WallPart, ...]:
    """Return the parts of the wall time in the order in which they begin; empty ones are left out.

    names: of each method and phase, "" for the only one. The inferences of each are a part, unless
    there are many; the first inference is, if it warms up.
    """
    loads = [run for run in trace.runs if run.kind is RunKind.LOAD and not run.is_apart]
    runs = sorted(trace.inferences(), key=lambda run: run.start)
    ticks: dict[str, int] = {}
    series = [series_of(trace, run) for run in runs]
    unit = trace.unit
    is_sampled = {sampled for sampled, run in zip(series, runs, strict=True) if run.sampling}
    are_many = len(set(series)) > _MOST
    for index, (run_series, run) in enumerate(zip(series, runs, strict=True)):
        name = unit.worded(_OF_SEVERAL) if are_many else names.get(run_series, "")
        name = unit.worded(FIRST) if not index and run.warms_up else name or unit.worded(INFERENCES)
        name += " without sampling" if run_series in is_sampled else ""
        ticks[name] = ticks.get(name, 0) + run.end - run.start - run.sampling
    parts = [
        WallPart(LOAD, sum(run.end - run.start for run in loads)),
        WallPart(unit.worded(BEFORE), _before(trace, loads, runs), is_idle=True),
        *(WallPart(name, part_ticks) for name, part_ticks in ticks.items()),
        WallPart(SAMPLING, sum(run.sampling for run in runs)),
        WallPart(unit.worded(BETWEEN), sum(filter(None, gaps_of(trace))), is_idle=True),
    ]
    return tuple(part for part in parts if part.ticks)


def tokens_of(runs: Sequence[Run]) -> TokenCount | None:
    """Return the tokens that a file states of some inferences, None if it states none."""
    stated = [run for run in runs if run.tokens]
    if not stated:
        return None
    return TokenCount(sum(run.tokens for run in stated), sum(run.end - run.start for run in stated))


def tokens_text(name: str, tokens: TokenCount | None, ns_per_tick: Fraction) -> str:
    """Return "prefill: 480 tokens, 50 per second (20.00 ms each)"; "" if no file states them."""
    if tokens is None:
        return ""
    text = counted(tokens.tokens, "token")
    if per_second := tokens.per_second(ns_per_tick):
        each = format_time(tick_to_ns(Fraction(tokens.ticks, tokens.tokens), ns_per_tick))
        text += f", {per_second:,.4g} per second ({each} each)"
    return f"{name}: {text}" if name else text


def _before(trace: Trace, loads: list[Run], runs: list[Run]) -> int:
    """Return the ticks between the last load before the first inference, and that inference."""
    if not runs or not are_starts_measured(trace):
        return 0
    process = trace.tracks[runs[0].track].process
    ends = [
        load.end
        for load in loads
        if trace.tracks[load.track].process == process and load.end <= runs[0].start
    ]
    return runs[0].start - max(ends) if ends else 0
