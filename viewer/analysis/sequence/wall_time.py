"""Where the wall time is spent around a model: loads, inferences, sampling, and what is idle.

The parts do not overlap, so that a bar can show them. Time between inferences is known only where a
file states when they started; what a file states of sampling is part of its inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from viewer.analysis.sequence.rates import are_starts_measured, gaps_of
from viewer.model.inferences.logged_methods import Series, series_of
from viewer.model.times import counted, format_time, tick_to_ns
from viewer.model.trace import Run, RunKind, Trace

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
