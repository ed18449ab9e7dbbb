"""The tick lengths of open traces, and where they start on the axes of their clocks. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from viewer.analysis.torq.compiled import ASSUMED_CYCLES, is_compiled
from viewer.model.building.durations import fits, sum_of_durations
from viewer.model.times import ClockRate, RateOrigin, format_rate, tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.workspace.shared_clocks import (
    Axes,
    ClockPlace,
    SameClock,
    own_key,
    states_time_of_day,
)

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
