"""A finding: one sentence about a profile that its data proves, and the rule behind it.

A family of findings checks one thing, such as copies or gaps. Each has a threshold that is shown
with its result. A family without a finding says why: either it is below the threshold, with the
actual value, or it does not apply to this trace. Findings name numbers, never causes.

`ticks` is the upper bound of the possible savings, in ticks of the trace; findings are ranked by
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from viewer.analysis.cost.costs import Costs, CostTable
from viewer.analysis.cost.work_time import WorkTime
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.torq.estimates import Estimates
from viewer.arrays import Ints
from viewer.model.queries import execute_keys
from viewer.model.times import NARROW_SPACE, counted, format_share, format_time, tick_to_ns
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences

NAMED = 3  # a list in a sentence names this many items and counts the rest


class Family(Enum):
    """The families of findings: a key for scripts and a title for people."""

    LARGEST = ("largest", "Dearest")
    COPIES = ("copies", "Copies")
    OUTSIDE = ("outside", "Outside delegates")
    GAPS = ("gaps", "Gaps")
    NO_OPERATOR = ("no_operator", "No operator")
    DMA = ("dma", "Only DMA")
    WARM_UP = ("warm_up", "First inference")
    SLOW_RUNS = ("slow_runs", "Slow inferences")
    ESTIMATES = ("estimates", "Estimates")
    LINKS = ("links", "Links")

    def __init__(self, key: str, title: str) -> None:
        self.key = key
        self.title = title


@dataclass(frozen=True, slots=True)
class OperatorSets:
    """The slices of some operator sets, in the form of `CostRow.operators`."""

    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class SliceKeys:
    """The slices of some keys."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SliceNumbers:
    """Some slices, by number, ascending."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The ticks [start, end) on some tracks."""

    start: int
    end: int
    tracks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run, by its position in `Trace.runs`."""

    run: int


@dataclass(frozen=True, slots=True)
class PanelRef:
    """A panel that shows the full report, such as "delegation"."""

    name: str


FindingPlace = OperatorSets | SliceKeys | SliceNumbers | TimeSpan | RunRef | PanelRef


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact that the data proves.

    title: a plain sentence with the main number. detail: the other numbers. threshold: the rule
    that it meets. ticks: upper bound of the savings; whole: what `ticks` is a share of, 0 if it is
    no share. place: where to look. across: it compares all inferences, whichever is selected.
    """

    family: Family
    title: str
    detail: str
    threshold: str
    ticks: int
    whole: int
    place: FindingPlace
    across: bool = False

    @property
    def share(self) -> float | None:
        """`ticks` / `whole`, 0 to 1; None if it is no share."""
        return min(self.ticks / self.whole, 1.0) if self.whole > 0 else None


@dataclass(frozen=True, slots=True)
class NotReported:
    """A family without a finding, and why. asked: whether its rule applies to this trace."""

    family: Family
    why: str
    applicable: bool


# The result of a family: findings, or why there are none.
FamilyAnswer = Sequence[Finding] | NotReported


@dataclass(frozen=True, eq=False)
class FindingContext:
    """The input of a family: a linked trace, one run or all, and how to describe that in text.

    table, ticks: the cost of operator sets there, and of the groups of `work`. whole_ticks: the
    total that both are shares of. rate: ns per tick. estimates: of all open files, None if nothing
    is compared.
    """

    costs: Costs
    work: WorkTime
    run: Run | None
    rate: Fraction
    estimates: Estimates | None
    table: CostTable
    ticks: Ints
    whole_ticks: int

    @property
    def links(self) -> LinkTable:
        """The links of the trace."""
        return self.work.table

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.work.table.trace

    @property
    def span(self) -> tuple[int | None, int | None, int | None]:
        """First tick, last tick and track that the numbers cover; None for all."""
        run = self.run
        return (None, None, None) if run is None else (run.start, run.end, run.track)

    @property
    def scope(self) -> str:
        """The scope in words: "run 2", "all 5 inferences", "the whole trace"."""
        return scope_text(self.links, self.run)

    @property
    def whole(self) -> str:
        """The total behind all shares in words: the inferences' time, else the busy time."""
        timed = execute_keys(self.trace).any()
        return f"{'the time' if timed else 'the busy time'} of {self.scope}"

    def time(self, ticks: float) -> str:
        """Format a duration in ticks: "1.643 µs"."""
        return format_time(tick_to_ns(round(ticks), self.rate))

    def listed(self, items: Sequence[tuple[str, int]]) -> str:
        """Format names with their ticks: "conv 3 µs, relu 1 µs and 4 more"."""
        named = [f"{name} {self.time(ticks)}" for name, ticks in items[:NAMED]]
        return joined(named, len(items))


def scope_text(table: LinkTable, run: Run | None) -> str:
    """Return the scope in words: "run 2", "all 5 inferences", "the whole trace"."""
    trace = table.trace
    if run is not None and run.kind is RunKind.LOAD:
        return "the load"
    if run is not None:
        several = len({one.scope for one in trace.inferences()}) > 1
        return f"run {run.number}{f' of {scope_name(table, run.scope)}' if several else ''}"
    # Numbers cover inferences alone only if the runtime timed `Method::execute`.
    return inferences_text(trace) if execute_keys(trace).any() else "the whole trace"


def inferences_text(trace: Trace) -> str:
    """Return "all 5 inferences", "the one inference", or "2 of 3 inferences" if one is left out."""
    count, every = len(counted_inferences(trace)), sum(1 for _ in trace.inferences())
    if count < every:
        return f"{count} of {counted(every, 'inference')}"
    return "the one inference" if count == 1 else f"all {counted(count, 'inference')}"


def scope_name(table: LinkTable, scope: int) -> str:
    """Return the method of a scope ("forward"), else the file's name for the scope."""
    return table.method_of_scope(scope) or table.trace.scopes[scope].name


def joined(texts: Sequence[str], count: int | None = None) -> str:
    """Join the first `NAMED` texts and count the rest of `count` (default: of the texts)."""
    named, more = list(texts[:NAMED]), (len(texts) if count is None else count) - NAMED
    if more > 0:
        return f"{', '.join(named)} and {more} more"
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


def share_text(part: float, whole: float) -> str:
    """Format a share: "62.0 %", or "0 %" if the total is 0."""
    return format_share(part, whole) if whole else f"0{NARROW_SPACE}%"


def percent(share: Fraction) -> str:
    """Format a threshold: "5 %"."""
    return f"{float(share * 100):g}{NARROW_SPACE}%"


def times_text(part: float, whole: float) -> str:
    """Format a ratio: "2.1 times"."""
    ratio = part / whole
    return f"{ratio:.1f} times" if ratio < 100 else f"{counted(round(ratio), 'time')}"


def plural(count: int, one: str, several: str) -> str:
    """Return the singular or plural form of a word for a count."""
    return one if count == 1 else several
