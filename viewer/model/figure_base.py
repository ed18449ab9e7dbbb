"""What the times of a scope are per: the base that figures next to each other have in common.

Of several inferences of one phase, figures are the mean per inference, so that rows add up; of
several phases they are sums, as no inference has the time of both. Every face that shows a figure
of a row takes its time and its title from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from viewer.model.inferences.logged_methods import series_of
from viewer.model.scope import TimeScope
from viewer.model.times import format_bounded, format_time, group_digits, tick_to_ns
from viewer.model.timing import ROUNDING_TICKS
from viewer.model.trace import Trace
from viewer.model.warm_up import counted_inferences
from viewer.model.work_unit import INFERENCE, WorkUnit

MEAN, SUM, MEDIAN = "mean", "sum", "Median"


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
        name = f"{MEAN if self.is_mean else SUM} of {group_digits(self.count)}"
        return f"{name} {self.phase}" if self.phase else name

    def titled(self, title: str) -> str:
        """Return the title of a figure with this base: "Self, mean of 4"."""
        return f"{title}, {self.name}" if self.name else title

    def summed(self, title: str) -> str:
        """Return the title of a sum that stands next to means: "Self, sum"."""
        return f"{title}, {SUM}" if self.is_mean else title

    @property
    def median_title(self) -> str:
        """The title of a median per inference: "Median of 4"."""
        return f"{MEDIAN} of {group_digits(self.count)}" if self.is_of_several else MEDIAN

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
