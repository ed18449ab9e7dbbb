"""A finding: one sentence about a profile that its data proves, with the rule that made it one.

A family of findings looks at one thing, as copies or gaps. Each has a threshold that is shown with
what it tells. A family that tells nothing says why: either its rule was not met, with the figure
that came short, or it could not be asked at all. No finding names a cause; it names numbers.

`ticks` is what could at most be gained by what the finding is about, in ticks of the trace; it is
what findings are ranked by.
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

NAMED = 3  # of a list in a sentence so many are named, and the others counted


class Family(Enum):
    """What findings look at: a name for scripts and one for people."""

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
    """The slices of some sets of operators, as `CostRow.operators` has them."""

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
class Stretch:
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
    """A report of its own, that has all of it: "delegation"."""

    name: str


FindingPlace = OperatorSets | SliceKeys | SliceNumbers | Stretch | RunRef | PanelRef


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the data proves.

    title: a plain sentence with its main number. detail: the other numbers. threshold: the rule,
    "Told when …". ticks: what could at most be gained; whole: what that is a share of, 0 where it
    is no share of anything. place: where to look. across: it compares all inferences, whichever is
    picked.
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
        """`ticks` of `whole`, 0 to 1; None where it is no share."""
        return min(self.ticks / self.whole, 1.0) if self.whole > 0 else None


@dataclass(frozen=True, slots=True)
class NotReported:
    """A family that tells nothing, and why. asked: whether its rule could be asked at all."""

    family: Family
    why: str
    asked: bool


# What a family answers: findings, or why there are none.
FamilyAnswer = Sequence[Finding] | NotReported


@dataclass(frozen=True, eq=False)
class FindingContext:
    """What findings are asked of: a linked trace, one run of it or all, and the words for that.

    table, ticks: what sets of operators cost there, and the groups of `work`; whole_ticks: what
    both are shares of. rate: ns per tick. estimates: of all that is open, None where nothing is
    compared.
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
        """First and last tick and the track that figures are of; None for all."""
        run = self.run
        return (None, None, None) if run is None else (run.start, run.end, run.track)

    @property
    def scope(self) -> str:
        """ "run 2", "all 5 inferences", "the whole trace"."""
        return scope_text(self.links, self.run)

    @property
    def whole(self) -> str:
        """What shares are shares of, in words: of inferences their time, else the busy time."""
        timed = execute_keys(self.trace).any()
        return f"{'the time' if timed else 'the busy time'} of {self.scope}"

    def time(self, ticks: float) -> str:
        """A length: "1.643 µs"."""
        return format_time(tick_to_ns(round(ticks), self.rate))

    def listed(self, items: Sequence[tuple[str, int]]) -> str:
        """ "conv 3 µs, relu 1 µs and 4 more" of names with their ticks."""
        named = [f"{name} {self.time(ticks)}" for name, ticks in items[:NAMED]]
        return joined(named, len(items))


def scope_text(table: LinkTable, run: Run | None) -> str:
    """What figures are of: "run 2", "all 5 inferences", "the whole trace"."""
    trace = table.trace
    if run is not None and run.kind is RunKind.LOAD:
        return "the load"
    if run is not None:
        several = len({one.scope for one in trace.inferences()}) > 1
        return f"run {run.number}{f' of {scope_name(table, run.scope)}' if several else ''}"
    # Only where the runtime times them are figures of inferences alone.
    return inferences_text(trace) if execute_keys(trace).any() else "the whole trace"


def inferences_text(trace: Trace) -> str:
    """ "all 5 inferences"."""
    count = sum(1 for _ in trace.inferences())
    return "the one inference" if count == 1 else f"all {counted(count, 'inference')}"


def scope_name(table: LinkTable, scope: int) -> str:
    """What the inferences of a scope ran: "forward", else what the file calls them."""
    return table.method_of_scope(scope) or table.trace.scopes[scope].name


def joined(texts: Sequence[str], count: int | None = None) -> str:
    """The first texts in a row, and how many more there are; of `count`, or of all these."""
    named, more = list(texts[:NAMED]), (len(texts) if count is None else count) - NAMED
    if more > 0:
        return f"{', '.join(named)} and {more} more"
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


def share_text(part: float, whole: float) -> str:
    """ "62.0 %"; "0 %" of nothing."""
    return format_share(part, whole) if whole else f"0{NARROW_SPACE}%"


def percent(share: Fraction) -> str:
    """A threshold as it is shown: "5 %"."""
    return f"{float(share * 100):g}{NARROW_SPACE}%"


def times_text(part: float, whole: float) -> str:
    """How many times as long: "2.1 times"."""
    ratio = part / whole
    return f"{ratio:.1f} times" if ratio < 100 else f"{counted(round(ratio), 'time')}"


def plural(count: int, one: str, several: str) -> str:
    """The form of a word that a number takes."""
    return one if count == 1 else several
