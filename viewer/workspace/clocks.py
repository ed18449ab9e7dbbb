"""The tick lengths of open traces, and which of them are on one axis. No Qt.

Nothing but the traces of one clock domain is put on one axis silently. The user states that files
share a clock, or asks to place files by the time of day that they state. A recording states which
system trace it made meanwhile. Two files share a system clock if both state its time at their tick
0 (`Clock.zeros`). A file that states none is taken to count the steady clock of the other one, as
runtimes do, else from the same zero as that. Shifts are exact: ns as Python integers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from viewer.analysis.torq.measured_actions import ASSUMED_CYCLES, is_compiled
from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass, field, replace
from viewer.model.intervals import fits, sum_of_durations
from viewer.model.text import display_name
from viewer.model.times import (
    ClockRate,
    RateOrigin,
    format_rate,
    format_time,
    plain_spaces,
    tick_to_ns,
)
from viewer.model.timing import BOOT, STEADY, TIME_OF_DAY
from viewer.model.trace import ClockZero, Trace
from viewer.program.program import Program
from viewer.workspace.open_paths import OpenFile

FARTHEST = 1 << 62  # ns from start to end of an axis, so that int64 holds its times
_YEAR_NS = 31_557_600 * 10**9
_HOUR_NS = 3_600 * 10**9
# The time of day is set by seconds at times; two boots differ by more.
_ONE_BOOT_NS = 10 * 10**9
STATED = "stated"  # instead of files: all that state the time of day
AS_STATED, RECORDED = "same clock, as you stated", "recorded together"
NsPerTick = Callable[[Trace], Fraction]


@dataclass(frozen=True, slots=True)
class SameClock:
    """The user's statement that files share a clock, by their paths; two at least.

    by_date: they are placed by the time of day that they state, and may be of several devices.
    is_recorded: it is the statement of a recording that made both.
    """

    paths: tuple[str, ...]
    by_date: bool = False
    is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class ClockPlace:
    """Where a trace is on its axis.

    key: equal for the traces of one axis: the domain of the clock of the first one, else its path.
    shift_ns: what to add to its times so that those of one axis can be compared; 0 for the first.
    reason: why it is on one axis with others; "" if that needs no statement.
    """

    key: str
    shift_ns: int = 0
    reason: str = ""


class NotOneClock(ValueError):
    """Two traces cannot be on one axis; the message says why."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A moment of two traces that is the same, in ns of each, and why it is."""

    at: int
    at_other: int
    reason: str
    most_apart: int = FARTHEST


class Axes:
    """The axes of some traces; each statement joins those of its traces.

    problems: the statements that are not possible, which change nothing, each with the reason.
    """

    def __init__(
        self,
        traces: Sequence[Trace],
        ns_per_tick: NsPerTick,
        statements: Iterable[SameClock] = (),
    ) -> None:
        self._traces = {trace.path: trace for trace in traces}
        self._ns_per_tick = ns_per_tick
        self._key = {path: own_key(trace) for path, trace in self._traces.items()}
        self._shift = dict.fromkeys(self._traces, 0)
        self._reason = dict.fromkeys(self._traces, "")
        self._members = lists_by_key((key, path) for path, key in self._key.items())
        self.problems: list[str] = []
        for statement in statements:
            try:
                self.join(statement)
            except NotOneClock as error:
                self.problems.append(str(error))

    @property
    def places(self) -> dict[str, ClockPlace]:
        """The place of each trace, by its path."""
        return {
            path: ClockPlace(
                key, self._shift[path] - self._shift[self._members[key][0]], self._why(key)
            )
            for path, key in self._key.items()
        }

    def _why(self, key: str) -> str:
        return "; ".join(dict.fromkeys(r for p in self._members[key] if (r := self._reason[p])))

    def join(self, statement: SameClock) -> None:
        """Put the traces of a statement on one axis. Those that are not open are left out.

        Raises NotOneClock; then nothing has changed.
        """
        before = dict(self._key), dict(self._shift), dict(self._reason)
        members = {key: list(paths) for key, paths in self._members.items()}
        try:
            for a, b in pairwise(path for path in statement.paths if path in self._traces):
                self._join(self._traces[a], self._traces[b], statement)
        except NotOneClock:
            self._key, self._shift, self._reason = before
            self._members = members
            raise

    def _join(self, a: Trace, b: Trace, statement: SameClock) -> None:
        key, gone = self._key[a.path], self._key[b.path]
        if statement.by_date and key == gone:
            return  # by a steady clock, which is more exact
        why = RECORDED if statement.is_recorded else AS_STATED
        link = _date_link(a, b) if statement.by_date else _link(a, b, why)
        by = self._shift[a.path] + link.at - link.at_other - self._shift[b.path]
        names = f"{display_name(a.path)} and {display_name(b.path)}"
        if key == gone:
            if by:
                raise NotOneClock(
                    f"{names} are on one axis already, and {_text(by)} apart from where this would "
                    "put them"
                )
            self._reason[b.path] = self._reason[b.path] or link.reason
            return
        self._check_length(a, b, by, link)
        order = list(self._traces)
        both = sorted(self._members[key] + self._members[gone], key=order.index)
        for path in self._members[gone]:
            self._shift[path] += by
        del self._members[key], self._members[gone]
        key = own_key(self._traces[both[0]])
        self._members[key] = both
        self._key.update(dict.fromkeys(both, key))
        self._reason[b.path] = link.reason

    def _check_length(self, a: Trace, b: Trace, by: int, link: _Link) -> None:
        """Raise NotOneClock if the traces of two axes would be too far apart on one."""
        spans = [
            (start + shift, end + shift)
            for key, shift in ((self._key[a.path], 0), (self._key[b.path], by))
            for path in self._members[key]
            for start, end in [self._span(self._traces[path])]
        ]
        length = max(end for _, end in spans) - min(start for start, _ in spans)
        if length > link.most_apart:
            raise NotOneClock(
                f"{display_name(a.path)} and {display_name(b.path)} would be "
                f"{length // _YEAR_NS} years apart: they do not count from the same moment"
            )

    def _span(self, trace: Trace) -> tuple[int, int]:
        """Return the first and last ns of a trace on its axis."""
        rate, shift = self._ns_per_tick(trace), self._shift[trace.path]
        return tick_to_ns(trace.start, rate) + shift, tick_to_ns(trace.end, rate) + shift

    def doubts(self, statements: Iterable[SameClock]) -> list[str]:
        """Return sentences on traces that the user states to share a clock, but that are far apart.

        By the time of day, traces may be of any hour.
        """
        doubts = []
        for statement in statements:
            paths = [path for path in statement.paths if path in self._traces]
            for a, b in pairwise(paths) if not statement.by_date else ():
                if self._key[a] != self._key[b]:
                    continue
                spans = [(self._span(self._traces[path]), path) for path in (a, b)]
                ((_, end), early), ((start, _), late) = sorted(spans)
                if start - end > _HOUR_NS:
                    doubts.append(
                        f"{display_name(early)} ends {_text(start - end)} before "
                        f"{display_name(late)} starts. Do they count from the same moment? Many "
                        "runtimes count from the start of their program."
                    )
        return doubts


def own_key(trace: Trace) -> str:
    """Return the key of the axis of a trace without any statement."""
    return trace.clock.domain or trace.path


def recorded_together(
    traces: Sequence[Trace], files: Mapping[str, OpenFile]
) -> tuple[SameClock, ...]:
    """Return the statements of recordings on profiles and the system traces made meanwhile."""
    by_file = {
        (os.path.basename(trace.path), stamp.size): trace.path
        for trace in traces
        if (stamp := files[trace.path].stamp) is not None
    }
    return tuple(
        SameClock((trace.path, by_file[system.name, system.size]), is_recorded=True)
        for trace in traces
        if (system := files[trace.path].system_trace) is not None
        and (trace.clock.zeros or trace.clock.domain)
        and (system.name, system.size) in by_file
    )


def states_time_of_day(trace: Trace) -> bool:
    """Return whether a file states its time of day."""
    return TIME_OF_DAY in _zeros(trace)


def time_of_day_ns(trace: Trace, ns: int) -> int | None:
    """Return a time of a trace, in ns of its clock, as ns since the UNIX epoch; None if unknown."""
    zero = _zeros(trace).get(TIME_OF_DAY)
    return None if zero is None else ns + zero.ns


def _zeros(trace: Trace) -> Mapping[str, ClockZero]:
    return {zero.name: zero for zero in trace.clock.zeros}


def _date_link(a: Trace, b: Trace) -> _Link:
    zero, other = _zeros(a).get(TIME_OF_DAY), _zeros(b).get(TIME_OF_DAY)
    if zero is None or other is None:
        lacking = a if zero is None else b
        raise NotOneClock(f"{display_name(lacking.path)} does not state the time of day")
    # The moment at which the clock shows 0.
    sources = " and ".join(dict.fromkeys((zero.source, other.source)))
    return _Link(-zero.ns, -other.ns, f"both state the time of day: {sources}")


def _link(a: Trace, b: Trace, why: str) -> _Link:
    """Return how two traces share a clock, as somebody states. Raises NotOneClock."""
    zeros, others = _zeros(a), _zeros(b)
    if zeros and others:
        for name in (BOOT, STEADY):
            if name in zeros and name in others:
                _check_boot(a, b, name)
                reason = f"{why}: {name}{_error_text(name, a, b)}"
                return _Link(-zeros[name].ns, -others[name].ns, reason)
        return _date_link(a, b)
    if STEADY in zeros or STEADY in others:
        steady, at_other = (clocks[STEADY].ns if clocks else 0 for clocks in (zeros, others))
        reason = f"{why}: {STEADY}{_error_text(STEADY, a, b)}"
        return _Link(-steady, -at_other, reason, _YEAR_NS)
    return _Link(0, 0, why, _YEAR_NS)


def _error_text(name: str, a: Trace, b: Trace) -> str:
    """Return how far from each other the traces may be displaced, such as " ±27 µs".

    And whether that interval is longer than the shortest slice of the trace that is less certain.
    "" if nothing says how far.
    """
    errors = [(zero.error_ns if (zero := _zeros(trace).get(name)) else 0) for trace in (a, b)]
    if not any(errors):
        return ""
    text = f" ±{_text(sum(errors))}"
    shortest = _shortest_ns(a if errors[0] >= errors[1] else b)
    if 2 * sum(errors) > shortest:
        text += f", longer than the shortest slice ({_text(shortest)})"
    return text


def _shortest_ns(trace: Trace) -> int:
    """Return the duration of the shortest slice that has one, in ns."""
    durations = trace.slices.end - trace.slices.start
    durations = durations[durations > 0]
    ticks = int(durations.min()) if len(durations) else FARTHEST
    return tick_to_ns(ticks, trace.clock.ns_per_tick)


def _check_boot(a: Trace, b: Trace, name: str) -> None:
    """Raise NotOneClock if a clock that counts from the boot is of two boots."""
    zeros, others = _zeros(a), _zeros(b)
    if TIME_OF_DAY not in zeros or TIME_OF_DAY not in others:
        return
    boot, other = (clocks[TIME_OF_DAY].ns - clocks[name].ns for clocks in (zeros, others))
    if abs(boot - other) > _ONE_BOOT_NS:
        raise NotOneClock(
            f"{display_name(a.path)} and {display_name(b.path)} state the time of two boots, "
            f"{_text(boot - other)} apart. Place them by the time of day"
        )


def _text(ns: int) -> str:
    return plain_spaces(format_time(abs(ns)))


ClockRates = Mapping[str, Fraction]  # path of a trace -> the ns per tick chosen for it
# Path of a trace and name of a delegate's clock -> the ns per cycle or tick chosen for it.
DelegateRates = Mapping[tuple[str, str], Fraction]
# Instead of a path: the cycles of Torq debug info, which have a clock but no trace.
DEBUG_INFO = ""


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
    """The clocks of the files open at one moment; immutable.

    traces: in the order of opening. chosen: the rates that the user chose, and statements: which of
    them share a clock, possibly of traces that are closed by now.
    """

    traces: Sequence[Trace] = ()
    programs: Sequence[Program] = ()
    chosen: ClockRates = field(default_factory=dict)
    statements: tuple[SameClock, ...] = ()
    _axes: Axes = field(init=False)
    _places: Mapping[str, ClockPlace] = field(init=False)

    def __post_init__(self) -> None:
        axes = Axes(self.traces, self.ns_per_tick, self.statements)
        object.__setattr__(self, "_axes", axes)
        object.__setattr__(self, "_places", axes.places)

    def rate(self, trace: Trace) -> ClockRate:
        """Return the length of a trace's tick, and whether it is stated, assumed or chosen."""
        clock = trace.clock
        chosen = self.chosen.get(trace.path)
        if chosen is not None and can_choose_clock(trace):
            return ClockRate(clock.unit, chosen, RateOrigin.CHOSEN)
        origin = RateOrigin.ASSUMED if clock.assumed else RateOrigin.STATED
        return ClockRate(clock.unit, clock.ns_per_tick, origin)

    def ns_per_tick(self, trace: Trace) -> Fraction:
        """Return the length of a trace's tick in ns."""
        return self.rate(trace).ns_per_tick

    @property
    def cycle_rate(self) -> ClockRate | None:
        """The length of a cycle in open debug info.

        None if there are no such cycles, or if a compile profile is open, whose clock they share.
        """
        dispatches = (dispatch for program in self.programs for dispatch in program.dispatches)
        counted = any(job.end is not None for d in dispatches for job in d.jobs.values())
        if not counted or any(is_compiled(trace) for trace in self.traces):
            return None
        chosen = self.chosen.get(DEBUG_INFO)
        if chosen is None:
            return ASSUMED_CYCLES
        return replace(ASSUMED_CYCLES, ns_per_tick=chosen, origin=RateOrigin.CHOSEN)

    def offset_ns(self, trace: Trace) -> int:
        """Return what to add to a trace's times so that its clock domain starts at 0."""
        # A trace without slices has no start: its 0 could move the others hours away.
        group = [t for t in self.same_clock(trace) if len(t.slices)] or [trace]
        start = min(
            tick_to_ns(t.start, self.ns_per_tick(t)) + self.place(t).shift_ns for t in group
        )
        return self.place(trace).shift_ns - start

    def place(self, trace: Trace) -> ClockPlace:
        """Return on which axis a trace is, and what its times are shifted by there."""
        return self._places.get(trace.path) or ClockPlace(own_key(trace))

    def same_clock(self, trace: Trace) -> list[Trace]:
        """Return the open traces with the same clock, including this one, in order of opening."""
        key = self.place(trace).key
        return [t for t in self.traces if t is trace or self.place(t).key == key]

    def joined(self, statement: SameClock) -> bool:
        """Return whether a statement would change anything. Raises NotOneClock."""
        axes = Axes(self.traces, self.ns_per_tick, self.statements)
        before = axes.places
        axes.join(statement)
        return axes.places != before

    @property
    def apart_by_date(self) -> tuple[str, ...]:
        """The paths of the files that state the time of day, if not all are on one axis; or ()."""
        dated = [trace for trace in self.traces if states_time_of_day(trace)]
        apart = len({self.place(trace).key for trace in dated}) > 1
        return tuple(trace.path for trace in dated) if apart else ()

    @property
    def doubts(self) -> list[str]:
        """Sentences on files that share a clock, as the user states, but are far apart."""
        return self._axes.doubts(self.statements)

    def check_rate(self, trace: Trace, ns_per_tick: Fraction, name: str) -> None:
        """Raise ValueError for a trace that states its rate, and for an invalid rate.

        name: the name of the trace in the error.
        """
        if not can_choose_clock(trace):
            stated = self.rate(trace).tick_text
            raise ValueError(f"{name} states its clock rate ({stated})")
        check_length(ns_per_tick)
        if max(abs(trace.start), abs(trace.end)) * ns_per_tick >= 2**63:
            raise ValueError(
                f"at {format_rate(ns_per_tick)} {name} would be more than 292 years long"
            )
        if not fits(sum_of_durations(trace.slices.start, trace.slices.end), ns_per_tick):
            raise ValueError(
                f"at {format_rate(ns_per_tick)} the durations in {name} would add up to more than "
                "146 years"
            )

    def check_cycle_rate(self, ns_per_tick: Fraction | None) -> None:
        """Raise ValueError if `cycle_rate` is None, and for an invalid rate."""
        if self.cycle_rate is None:
            raise ValueError("no open debug info has a separate clock")
        if ns_per_tick is not None and ns_per_tick <= 0:
            raise ValueError(f"a cycle cannot last {ns_per_tick} ns")


def check_length(ns_per_tick: Fraction) -> None:
    """Raise ValueError if a tick cannot be that long."""
    ratio = ns_per_tick.as_integer_ratio()
    if ns_per_tick <= 0 or ratio[0] * ratio[1] >= 2**63:
        raise ValueError(f"a tick cannot last {ns_per_tick} ns")


def can_choose_clock(trace: Trace) -> bool:
    """Return whether a trace's clock rate may be chosen: it is assumed, or counts cycles."""
    return trace.clock.assumed or trace.clock.unit == "cycle"
