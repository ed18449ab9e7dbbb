"""A finding: one piece of advice that the data of a profile supports, and the rule behind it.

A family of findings checks one thing, such as copies or gaps, by a rule with a threshold. A family
without a finding says why: the profile passes, with the actual value, or the check does not apply.
Findings name numbers and what to do, never causes. They are ranked by the upper bound of the
possible savings, so a high one promises nothing: it is where to look first.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import Costs, CostTable, whole_slices
from viewer.analysis.links.labels import scope_name
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.figures import TimeScope, counted_in, typical_text, whole_scope_text
from viewer.model.inference_views import series_of
from viewer.model.queries import execute_keys
from viewer.model.text import listed
from viewer.model.times import NARROW_SPACE, counted, format_share, format_time, tick_to_ns
from viewer.model.trace import Run, RunKind, Trace, Unit
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.model.warm_up import counted_inferences

if TYPE_CHECKING:
    from viewer.analysis.cost.event_times import ThreadTime, WorkTime
    from viewer.analysis.torq.estimates import Estimates


# Without a quarter of the time, the whole is a third faster: more than most single changes bring.
HIGH_SHARE = Fraction(1, 4)
# Undisturbed runs of small models differ by up to 10%; less is hard to measure afterwards.
MEDIUM_SHARE = Fraction(1, 10)


class Severity(Enum):
    """The severity of a finding: a key for scripts, and the rule in words."""

    HIGH = ("high", f"at least {float(HIGH_SHARE):.0%} could be gained")
    MEDIUM = ("medium", f"at least {float(MEDIUM_SHARE):.0%} could be gained")
    LOW = ("low", f"less than {float(MEDIUM_SHARE):.0%} could be gained, or no time at all")

    def __init__(self, key: str, rule: str) -> None:
        self.key = key
        self.rule = rule

    @property
    def title(self) -> str:
        """The severity as a heading: "High"."""
        return self.key.capitalize()


def severity_of(ticks: int, whole: int) -> Severity:
    """Return the severity of a gain of some ticks out of a whole; low if the whole is 0."""
    if whole > 0 and ticks >= HIGH_SHARE * whole:
        return Severity.HIGH
    if whole > 0 and ticks >= MEDIUM_SHARE * whole:
        return Severity.MEDIUM
    return Severity.LOW


NAMED = 3  # a list in a sentence names this many items and counts the rest


class Family(Enum):
    """The families of findings: a key for scripts and a title for people."""

    LARGEST = ("largest", "Hot spots")
    COPIES = ("copies", "Copies")
    OUTSIDE = ("outside", "Not delegated")
    GAPS = ("gaps", "Gaps")
    NO_OPERATOR = ("no_operator", "No operator")
    DMA = ("dma", "DMA without compute")
    CHANGES = ("changes", "Change over time")
    BETWEEN = ("between", "Between inferences")
    WARM_UP = ("warm_up", "Warm-up")
    SLOW_RUNS = ("slow_runs", "Slow inferences")
    ESTIMATES = ("estimates", "Estimates")
    LINKS = ("links", "Links")
    FAR_TIMES = ("far_times", "Far times")

    def __init__(self, key: str, title: str) -> None:
        self.key = key
        self.title = title

    @classmethod
    def of_key(cls, key: str) -> Family:
        """Return the family with a key. Raises StopIteration if there is none."""
        return next(family for family in cls if family.key == key)


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
class TimeView:
    """The ticks [start, end) on all tracks: what to show, not what to select."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run, by its position in `Trace.runs`."""

    run: int


@dataclass(frozen=True, slots=True)
class PanelRef:
    """A panel that shows the full report, such as "delegation"."""

    name: str


FindingPlace = OperatorSets | SliceKeys | SliceNumbers | TimeSpan | TimeView | RunRef | PanelRef


@dataclass(frozen=True, slots=True)
class Gain:
    """The upper bound of what could be saved: 0 <= ticks <= whole.

    ticks: of all that the scope covers. whole: what `ticks` is a share of, 0 without a gain. per:
    how many inferences both cover, if the texts are per inference, else 1. time, base: both as
    text. of: what it is saved from: "per inference", "of inference 2", "of the busy time".
    """

    ticks: int = 0
    whole: int = 0
    per: int = 1
    time: str = ""
    base: str = ""
    of: str = ""

    @property
    def share(self) -> float | None:
        """`ticks` / `whole`, 0 to 1; None if it is no share."""
        return self.ticks / self.whole if self.whole > 0 else None

    @property
    def stated(self) -> Fraction:
        """What the texts state, in ticks: per inference, if they are."""
        return Fraction(self.ticks, self.per)

    @property
    def text(self) -> str:
        """The gain in words, next to what it is a part of; "" if there is none.

        "up to 19.232 µs of 64.973 µs (29.6 %) per inference", "up to 3 ms (2 % of the busy time)".
        """
        if not self.whole:
            return ""
        part = share_text(self.ticks, self.whole)
        if self.is_per_inference:
            return f"up to {self.time} of {self.base} ({part}) {self.of}"
        return f"up to {self.time} ({part} {self.of})"

    @property
    def is_per_inference(self) -> bool:
        """Whether the texts are per inference."""
        return self.of.startswith(PER_INFERENCE)


PER_INFERENCE = "per inference"
NO_GAIN = Gain()


@dataclass(frozen=True, slots=True)
class FindingLevel:
    """Inferences of one level of a change over time.

    first: the number of the first one, from 1. ticks: their median. factor: to the first level.
    """

    first: int
    ticks: Fraction
    factor: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of advice that the data supports.

    action: what to do, as a short command. gain: the most that it saves. detail: the numbers behind
    it. rule: when it is reported. place: where to look. across: it compares all inferences,
    whichever is selected. phase: the phase or method that it is about, "" if there is only one.
    levels: of a change over time. advice: what to do, or what is known about the cause; "" if the
    action says it all.
    """

    family: Family
    action: str
    gain: Gain
    detail: str
    rule: str
    place: FindingPlace
    across: bool = False
    phase: str = ""
    levels: tuple[FindingLevel, ...] = ()
    advice: str = ""

    @property
    def title(self) -> str:
        """The action with its gain: "Delegate 8 operators …: up to 19.2 µs (29.6 %) …"."""
        return f"{self.action}: {self.gain.text}" if self.gain.text else self.action

    @property
    def ticks(self) -> int:
        """The upper bound of the savings, in ticks of the trace."""
        return self.gain.ticks

    @property
    def whole(self) -> int:
        """What `ticks` is a share of, 0 if it is no share."""
        return self.gain.whole

    @property
    def share(self) -> float | None:
        """`ticks` / `whole`, 0 to 1; None if it is no share."""
        return self.gain.share

    @property
    def severity(self) -> Severity:
        """How much it matters, by its share."""
        return severity_of(self.ticks, self.whole)


@dataclass(frozen=True, slots=True)
class NotReported:
    """A family without a finding, why, and its rule. applicable: the trace passes the check.

    unit: what the file calls its inferences.
    """

    family: Family
    why: str
    rule: str
    applicable: bool
    unit: WorkUnit = INFERENCE

    @property
    def title(self) -> str:
        """The title of the family."""
        return self.unit.worded(self.family.title)


def checks_text(count: int, is_passed: bool) -> str:
    """Return "2 checks passed", or "7 checks do not apply to this trace"."""
    checks = counted(count, "check")
    if is_passed:
        return f"{checks} passed"
    return f"{checks} {plural(count, 'does', 'do')} not apply to this trace"


# The result of a family: findings, or why there are none.
FamilyAnswer = Sequence[Finding] | NotReported


@dataclass(frozen=True, eq=False)
class FindingContext:
    """The input of a family: a linked trace, a run or all of it, and how to describe that in text.

    table: the cost of operator sets there. ticks: wall time of the groups of `work` there.
    whole_ticks: the total that both are shares of. rate: ns per tick. estimates: of all open files,
    None if nothing is compared. threads: how busy threads add up, for a plain profile. phase: the
    phase or method that it covers, "" if there is only one.
    """

    costs: Costs
    work: WorkTime
    within: TimeScope
    rate: Fraction
    estimates: Estimates | None
    table: CostTable
    ticks: Ints
    whole_ticks: int
    threads: ThreadTime | None
    phase: str = ""

    @property
    def links(self) -> LinkTable:
        return self.work.table

    @property
    def trace(self) -> Trace:
        return self.work.table.trace

    @property
    def run(self) -> Run | None:
        """The run that the numbers cover, None for all."""
        return self.within.run

    @property
    def scope(self) -> str:
        """The scope in words: "inference 2", "all 5 inferences", "the whole trace"."""
        return f"{scope_text(self.links, self.within)}{self._of_phase}"

    @property
    def _of_phase(self) -> str:
        return f" of {self.phase}" if self.phase else ""

    @cached_property
    def is_timed(self) -> bool:
        """Whether the runtime timed its inferences, so that they are the whole behind shares."""
        return bool(execute_keys(self.trace).any())

    @property
    def whole(self) -> str:
        """The total behind all shares in words: "all 5 inferences", "the busy time of …"."""
        if self.is_timed:
            return self.scope
        if self.run is not None or self._busy_tracks <= 1:
            return f"the busy time of {self.scope}"
        return f"the {self.busy[0].lower()}{self.busy[1:]}"

    @property
    def busy(self) -> str:
        """What the busy time is the sum of: "Busy time", "Busy time of 6 tracks, added up"."""
        if self._busy_tracks <= 1:
            return "Busy time"
        what = "track" if self.threads is None else "thread"
        return f"Busy time of {counted(self._busy_tracks, what)}, added up"

    @cached_property
    def _busy_tracks(self) -> int:
        """How many tracks the busy time of the scope adds up."""
        if self.threads is not None:
            return self.threads.threads(self.within)
        if self.run is not None and not self.run.all_tracks:
            return 1
        whole = counted_in(self.trace, self.within, np.flatnonzero(whole_slices(self.trace)))
        tracks = np.unique(self.trace.slices.tracks_of(whole))
        units = [self.trace.tracks[i].unit for i in tracks.tolist()]
        # A HAL track is of the host's thread, and counts only where the host's track is idle.
        return len(units) - (units.count(Unit.HAL) if Unit.HOST in units else 0)

    @cached_property
    def per(self) -> int:
        """How many inferences figures are divided by: all of them if they run one method, else 1.

        1 for one inference too, and if the figures do not cover inferences alone.
        """
        if self.run is not None or not self.is_timed:
            return 1
        # The number of inferences that figures cover, 1 if they run several methods.
        runs = counted_inferences(self.trace, warm_up=self.within.warm_up)
        alike = len({series_of(self.trace, run) for run in runs}) == 1 and all(
            run.count == 1 for run in runs
        )
        return len(runs) if alike else 1

    def gain(self, ticks: int, whole: int | None = None) -> Gain:
        """Return a gain in the scope of the context.

        whole: the time of its inferences that it is a share of, if it is not the context's whole.
        """
        whole = self.whole_ticks if whole is None else whole
        if self.per > 1:
            return self.gain_per(ticks, whole, self.per)
        busy = "the busy time" if self.run is None else f"the busy time of {self.scope}"
        return self._bounded(ticks, whole, 1, f"of {self.scope if self.is_timed else busy}")

    def gain_of(self, ticks: int, whole: int, what: str) -> Gain:
        """Return a gain out of another whole than the context's, per inference if others are."""
        if self.per > 1:
            return self.gain_per(ticks, whole, self.per, f"of {what}")
        return self._bounded(ticks, whole, 1, f"of {what}")

    def gain_per(self, ticks: int, whole: int, per: int, of: str = "") -> Gain:
        """Return a gain per inference. per: of how many; of: which ones, if it is not the scope."""
        each = f"{PER_INFERENCE}{self._of_phase}"
        return self._bounded(ticks, whole, per, f"{each}{f', {of}' if of else ''}")

    def _bounded(self, ticks: int, whole: int, per: int, of: str) -> Gain:
        if whole <= 0:
            return NO_GAIN
        ticks = min(max(ticks, 0), whole)
        return Gain(ticks, whole, per, self._divided(ticks, per), self._divided(whole, per), of)

    def time(self, ticks: int | Fraction) -> str:
        """Format a duration in ticks: "1.643 µs"."""
        return format_time(tick_to_ns(ticks, self.rate))

    def time_per(self, ticks: int) -> str:
        """Format a duration in ticks, per inference if figures are: see `per`."""
        return self._divided(ticks, self.per)

    def _divided(self, ticks: int, per: int) -> str:
        if per == 1:
            return self.time(ticks)
        mean = ticks * self.rate / per
        return format_time(round(mean) or float(mean))

    def listed(self, items: Sequence[tuple[str, int]], with_share: bool = False) -> str:
        """Format names with their ticks: "conv 3 µs (12 %), relu 1 µs (4 %) and 4 more"."""
        named = [
            f"{name} {self.time_per(ticks)}"
            + (f" ({share_text(ticks, self.whole_ticks)})" if with_share else "")
            for name, ticks in items[:NAMED]
        ]
        return joined(named, len(items))


def scope_text(table: LinkTable, scope: TimeScope) -> str:
    """Return the scope in words: "inference 2", "all 5 inferences", "the whole trace"."""
    trace, run = table.trace, scope.run
    if run is None:
        return whole_scope_text(trace, scope)
    if scope.typical_of:
        return typical_text(scope.typical_of, trace.unit)
    if run.kind is RunKind.LOAD:
        return "the load"
    several = len({run.scope for run in trace.inferences()}) > 1
    return f"{run.unit.noun} {run.number}{f' of {scope_name(table, run.scope)}' if several else ''}"


def joined(texts: Sequence[str], count: int | None = None) -> str:
    """Join the first `NAMED` texts and count the rest of `count` (default: of the texts)."""
    return listed(texts, most=NAMED, count=count)


def share_text(part: float, whole: float) -> str:
    """Format a share: "62.0 %", or "0 %" if the total is 0."""
    return format_share(part, whole) if whole else f"0{NARROW_SPACE}%"


def percent(share: Fraction) -> str:
    """Format a threshold: "5 %"."""
    return f"{float(share * 100):g}{NARROW_SPACE}%"


def times_text(part: float, whole: float | Fraction) -> str:
    """Format a ratio: "2.1 times"."""
    ratio = float(part / whole)
    return f"{ratio:.1f} times" if ratio < 100 else f"{counted(round(ratio), 'time')}"


def plural(count: int, singular: str, several: str) -> str:
    """Return the singular or plural form of a word for a count."""
    return singular if count == 1 else several
