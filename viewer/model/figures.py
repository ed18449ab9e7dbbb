"""Figures: the time that they cover, what they are per, and the words for them.

A run is on one track and excludes concurrent slices of other tracks, unless it covers all tracks
(`Run.all_tracks`); a range covers all tracks. Figures of the whole trace leave out inferences that
did not finish. Of several inferences of one phase, figures are the mean per inference, so that rows
add up; of several phases they are sums, as no inference has the time of both. All tables and
reports take titles and meanings from here, so that a title means the same everywhere.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.inference_views import series_of
from viewer.model.queries import (
    counted_slices,
    execute_keys,
    starts_between,
    starts_in_run,
    unfinished,
)
from viewer.model.recorded_names import EXECUTE, MODEL_RUN
from viewer.model.times import counted, format_bounded, format_time, group_digits, tick_to_ns
from viewer.model.timing import ROUNDING_TICKS
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.model.warm_up import counted_inferences

EVERY_PHASE = "*"
ScopeSpan = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class TimeScope:
    """A run, or the ticks from `ticks[0]` to `ticks[1]`; with neither, the whole trace.

    At most one of them is given. warm_up: whether figures of the whole trace cover the inferences
    that warm up. typical_of: of how many inferences the run is shown as the typical one, else 0.
    phase: of several methods or phases, the one that figures per inference are of; "" for that with
    the largest total, `EVERY_PHASE` for all of them, added up.
    """

    run: Run | None = None
    ticks: tuple[int, int] | None = None
    warm_up: bool = True
    typical_of: int = 0
    phase: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole trace."""
        return self.run is None and self.ticks is None

    @property
    def span(self) -> ScopeSpan:
        """First tick, last tick and track, as the queries take them; None means unlimited."""
        if self.run is not None:
            track = None if self.run.all_tracks else self.run.track
            return self.run.start, self.run.end, track
        return (*self.ticks, None) if self.ticks is not None else (None, None, None)


WHOLE = TimeScope()
# The scope of figures per inference, unless the user includes the warm-up.
STEADY = TimeScope(warm_up=False)


def starts_in(trace: Trace, scope: TimeScope, index: Ints) -> Ints:
    """The slices among `index` that start in the scope."""
    if scope.run is not None:
        return starts_in_run(trace, scope.run, index)
    if scope.ticks is None:
        return index
    first, last = scope.ticks
    inside: Ints = index[starts_between(trace, trace.slices.start[index], first, last)]
    return inside


def counted_in(trace: Trace, scope: TimeScope, index: Ints) -> Ints:
    """The slices among `index` that the figures of the scope count."""
    if not scope.is_whole:
        return starts_in(trace, scope, index)
    counts = counted_slices(trace, warm_up=scope.warm_up)
    return index if counts is None else index[counts[index]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the figures of a scope leave out: inferences for each reason, loads, and open slices.

    outside: whether what ran outside inferences is left out, where the runtime does not time them,
    so that it could count. unit: what the file calls its inferences.
    """

    unfinished: int = 0
    warm_up: int = 0
    loads: int = 0
    open_slices: int = 0
    outside: bool = False
    unit: WorkUnit = INFERENCE

    @property
    def text(self) -> str:
        """Say it: "Not counted: 1 warm-up inference, 2 unfinished"; "" if none is left out."""
        parts = []
        if self.warm_up:
            parts.append(counted(self.warm_up, f"warm-up {self.unit.noun}"))
        if self.unfinished:
            noun = f"unfinished {self.unit.noun}"
            parts.append(
                f"{self.unfinished} unfinished" if parts else counted(self.unfinished, noun)
            )
        if self.loads:
            parts.append("initialization")
        if self.open_slices:
            parts.append(f"{counted(self.open_slices, 'slice')} without an end")
        if self.outside:
            parts.append(self.unit.worded("what ran outside inferences"))
        return f"Not counted: {', '.join(parts)}" if parts else ""


def left_out(trace: Trace, scope: TimeScope = WHOLE) -> LeftOut:
    """What the figures of the scope leave out."""
    if not scope.is_whole:
        return LeftOut()
    finished = len(counted_inferences(trace))
    is_open = unfinished(trace.slices)
    return LeftOut(
        sum(run.counts for run in trace.inferences()) - finished,
        finished - len(counted_inferences(trace, warm_up=scope.warm_up)),
        sum(run.is_apart for run in trace.runs),
        0 if is_open is None else int(is_open.sum()),
        trace.only_inferences and not timed_by(trace),
        trace.unit,
    )


def timed_by(trace: Trace) -> str:
    """The name of the scope by which the runtime times whole inferences, "" if it does not."""
    timed = np.flatnonzero(execute_keys(trace))
    return trace.strings[int(trace.keys.name[timed[0]])] if len(timed) else ""


def whole_scope_text(trace: Trace, scope: TimeScope = WHOLE, *, loads: bool = False) -> str:
    """Name what the figures of the whole trace cover: "all 5 inferences", "2 of 3 inferences".

    They cover only inferences if the runtime times them (`execute_keys`); otherwise they also cover
    what ran between them: "the whole trace". If only a part of the file is open: "the open part".
    loads: whether they cover the loads of methods too, as those of all slices do.
    """
    with_loads = loads and any(run.kind is RunKind.LOAD for run in trace.runs)
    if with_loads or not any(trace.inferences()) or not timed_by(trace):
        without = ", without the warm-up" if left_out(trace, scope).warm_up else ""
        return f"{'the open part' if trace.is_part else 'the whole trace'}{without}"
    return inferences_text(trace, scope)


def typical_text(count: int, unit: WorkUnit) -> str:
    """Name the typical one of some inferences as a scope."""
    return f"the typical one of {unit.counted(count)}"


def inferences_text(trace: Trace, scope: TimeScope = WHOLE) -> str:
    """Return which inferences count.

    "all 5 inferences", "the inference", "4 inferences after warm-up"; "2 of 3 inferences" if some
    did not finish.
    """
    count = sum(run.count for run in counted_inferences(trace, warm_up=scope.warm_up))
    every = sum(run.count for run in trace.inferences() if run.counts)
    if left_out(trace, scope).warm_up:
        return f"{trace.unit.counted(count)} after warm-up"
    if count < every:
        return f"{count} of {trace.unit.counted(every)}"
    return f"the {trace.unit.noun}" if count == 1 else f"all {trace.unit.counted(count)}"


MEAN_WORD, SUM_WORD, MEDIAN_WORD = "mean", "sum", "Median"


@dataclass(frozen=True, slots=True)
class FigureBase:
    """The base of the figures of a scope.

    rate: ns per tick. count: how many inferences the figures cover; 0 if they are of a range or of
    a file without inferences. divisor: what the
    ticks of all of them are divided by, 1 for a sum. is_mean: whether figures are a mean. phase: of
    several methods or phases, the one that they are of; else "". unit: what the file calls its
    inferences.
    """

    rate: Fraction
    count: int = 0
    divisor: int = 1
    is_mean: bool = False
    phase: str = ""
    unit: WorkUnit = INFERENCE

    @property
    def is_of_several(self) -> bool:
        """Whether the figures cover several inferences, so that titles say how."""
        return self.count > 1

    @property
    def name(self) -> str:
        """The base in words: "mean of 4", "sum of 12"; "" if there is only one of everything."""
        if not self.is_of_several:
            return ""
        name = f"{MEAN_WORD if self.is_mean else SUM_WORD} of {group_digits(self.count)}"
        return f"{name} {self.phase}" if self.phase else name

    def titled(self, title: str) -> str:
        """Return the title of a figure with this base: "Self, mean of 4"."""
        return f"{title}, {self.name}" if self.name else title

    def summed(self, title: str) -> str:
        """Return the title of a sum that stands next to means: "Self, sum"."""
        return f"{title}, {SUM_WORD}" if self.is_mean else title

    @property
    def median_title(self) -> str:
        """The title of a median per inference: "Median of 4"."""
        return f"{MEDIAN_WORD} of {group_digits(self.count)}" if self.is_of_several else MEDIAN_WORD

    @property
    def explanation(self) -> str:
        """One sentence for tooltips; "" if the figures are not per inference."""
        if not self.is_of_several:
            return ""
        count = self.unit.counted(self.count)
        if self.is_mean:
            return f"The mean of {count}, of which rows add up."
        return f"The sum of {count} of several methods or phases."

    @property
    def sum_explanation(self) -> str:
        """One sentence for the tooltip of a sum next to means, else ""."""
        return f"Of all {self.unit.counted(self.count)}." if self.is_mean else ""

    @property
    def cut_ns(self) -> Fraction:
        """What an event that the file cuts to 0 is shorter than, in ns."""
        return ROUNDING_TICKS * self.rate / self.divisor

    def ns(self, ticks: float) -> int | float:
        """Return the figure of some ticks in ns: whole ns, rounded down, unless it is a mean."""
        if self.divisor == 1 and isinstance(ticks, int):
            return tick_to_ns(ticks, self.rate)
        ns = Fraction(ticks) * self.rate / self.divisor
        return int(ns) if ns.denominator == 1 else float(ns)

    def ns_of_one(self, ticks: float) -> int | float:
        """Return ticks that are not divided, such as a sum or a median, in ns."""
        return FigureBase(self.rate).ns(ticks)

    def parts(self, *ticks: int) -> list[float]:
        """Return the figures of the parts of a whole, in ns; they add up to that of the whole.

        Where figures are whole ns, rounded down, the last one is the remainder.
        """
        parts = [self.ns(part) for part in ticks]
        if self.divisor == 1 and ticks:
            parts[-1] = self.ns(sum(ticks)) - sum(parts[:-1])
        return parts

    def text(self, ticks: float, zeros: int = 0) -> str:
        """Return the figure of some ticks: "120.190 µs"; "< 1 µs" for what the file cuts to 0.

        zeros: how many events of them are cut to 0.
        """
        return format_bounded(self.ns(ticks), zeros, float(self.cut_ns))

    def sum_text(self, ticks: int, zeros: int = 0) -> str:
        """Return the sum over all inferences."""
        return FigureBase(self.rate).text(ticks, zeros)

    def median_text(self, ticks: float) -> str:
        """Return a median of ticks per inference."""
        return format_time(self.ns_of_one(ticks))


def figure_base(trace: Trace, scope: TimeScope, rate: Fraction) -> FigureBase:
    """Return the base of the figures of a trace in a scope of figures per inference.

    rate: ns per tick.
    """
    if not scope.is_whole:
        count = 0 if scope.run is None else 1
        return FigureBase(rate, count, unit=trace.unit)
    runs = counted_inferences(trace, warm_up=scope.warm_up)
    count = sum(run.count for run in runs)
    is_one_phase = len({series_of(trace, run) for run in runs}) == 1
    # A run that stands for several is their mean already.
    is_plain = count == len(runs)
    is_mean = count > 1 and is_one_phase and (is_plain or len(runs) == 1)
    divisor = len(runs) if is_mean else 1
    return FigureBase(rate, count, divisor, is_mean, unit=trace.unit)


@dataclass(frozen=True, slots=True)
class FigureTerm:
    """The title of a figure, and one sentence that defines it."""

    title: str
    definition: str

    def explained(self, more: str = "") -> str:
        """Return the definition, and what is special about the figure in one table."""
        return f"{self.definition} {more}" if more else self.definition


TOTAL = FigureTerm(
    "Total", "Inclusive time: from start to end, with all that runs inside, nothing counted twice."
)
SELF = FigureTerm("Self", "Exclusive time: from start to end, without slices of other rows inside.")
WALL = FigureTerm(
    "Wall",
    "Each instant of a thread counts once: for the innermost slice, and where slices overlap, for "
    "the one that started last.",
)
SHARED = FigureTerm(
    "Shared",
    "Time that several operators or modules have in common: it is charged to all of them together, "
    "and never divided.",
)
COUNT = FigureTerm("Count", "How many slices are counted.")
SAMPLES = FigureTerm("Samples", "In how many samples the profiler saw it.")
MEAN = FigureTerm("Mean", "Average of the counted durations.")
MEDIAN = FigureTerm("Median", "Half of the counted durations are shorter.")
P10 = FigureTerm("p10", "One in ten of the counted durations is shorter.")
P90 = FigureTerm("p90", "Nine in ten of the counted durations are shorter.")
MIN = FigureTerm("Min", "The shortest of the counted durations.")
MAX = FigureTerm("Max", "The longest of the counted durations.")
SUM = FigureTerm("Sum", "All counted durations added up, also those inside one another.")
PER_INFERENCE = FigureTerm(
    "Per inference",
    "Median per inference: half of the counted inferences have less, and some may have 0.",
)
TERMS = (TOTAL, SELF, WALL, SHARED, COUNT, MEAN, MEDIAN, P10, P90, MIN, MAX, SUM, PER_INFERENCE)

BUSY_TIME, SELF_TIME = "busy time", "self time"
# What shares are of, as `GroupTable.share_of` has it: its short name, and what it is exactly.
_BASES = {
    EXECUTE: ("inference time", f"the time of {EXECUTE}"),
    MODEL_RUN: ("inference time", f"the time of {MODEL_RUN}"),
    "inferences": ("inference time", "the time of all inferences that are counted"),
    BUSY_TIME: (BUSY_TIME, "the time in which each thread was busy, added up"),
    SELF_TIME: (SELF_TIME, "the self time of all slices, added up"),
    "range": ("range", "the time from the earliest start to the latest end"),
}


def share(base: str, what: str = f"{WALL.title} time", of: FigureBase | None = None) -> FigureTerm:
    """Return the term for the percentage of a whole: "% of inference time", "% of step time".

    base: "Method::execute", "model_run", "inferences", "busy time", "self time" or "range". what:
    what is compared with it. of: the base of the figures, which says what they are of.
    """
    title, whole = _BASES[base]
    if of is not None:
        title, whole = of.unit.worded(title), of.unit.worded(whole)
    return FigureTerm(f"% of {title}", f"{what} as a percentage of {whole}.")
