"""How long the ticks of open traces last, and where each of them lies on the common axis. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from viewer.analysis.torq.estimates import ASSUMED_CYCLES, is_compiled
from viewer.model.times import ClockRate, RateOrigin, format_rate, tick_to_ns
from viewer.model.trace import Trace
from viewer.program.program import Program

ClockRates = Mapping[str, Fraction]  # path of a trace -> the ns per tick that was chosen for it
# In place of the path: the cycles of Torq debug info, which counts without being a trace.
DEBUG_INFO = ""


@dataclass(frozen=True, slots=True, eq=False)
class Clocks:
    """The clocks of what is open at one moment; nothing in it changes.

    traces: in the order of opening. chosen: the rates that the user chose, of traces that may be
    closed by now too.
    """

    traces: Sequence[Trace] = ()
    programs: Sequence[Program] = ()
    chosen: ClockRates = field(default_factory=dict)

    def rate(self, trace: Trace) -> ClockRate:
        """How long a tick of a trace lasts, and whether the file, a guess or the user says so."""
        clock = trace.clock
        chosen = self.chosen.get(trace.path)
        if chosen is not None and can_choose_clock(trace):
            return ClockRate(clock.unit, chosen, RateOrigin.CHOSEN)
        origin = RateOrigin.ASSUMED if clock.assumed else RateOrigin.STATED
        return ClockRate(clock.unit, clock.ns_per_tick, origin)

    def ns_per_tick(self, trace: Trace) -> Fraction:
        """How long a tick of a trace lasts."""
        return self.rate(trace).ns_per_tick

    @property
    def cycle_rate(self) -> ClockRate | None:
        """How long a cycle in open debug info lasts; None where there are no such cycles, or a
        compile profile is open, whose clock is theirs."""
        dispatches = (dispatch for program in self.programs for dispatch in program.dispatches)
        counted = any(job.end is not None for d in dispatches for job in d.jobs.values())
        if not counted or any(is_compiled(trace) for trace in self.traces):
            return None
        chosen = self.chosen.get(DEBUG_INFO)
        if chosen is None:
            return ASSUMED_CYCLES
        return replace(ASSUMED_CYCLES, ns_per_tick=chosen, origin=RateOrigin.CHOSEN)

    def offset_ns(self, trace: Trace) -> int:
        """What to add to a trace's times so that it starts at 0 with all of its clock domain."""
        # A trace without slices starts nowhere: its 0 would set the others hours apart from it.
        group = [t for t in self.same_clock(trace) if len(t.slices)] or [trace]
        return -min(tick_to_ns(t.start, self.ns_per_tick(t)) for t in group)

    def same_clock(self, trace: Trace) -> list[Trace]:
        """The open traces that one clock stamped, this one among them, in the order of opening."""
        domain = trace.clock.domain
        return [t for t in self.traces if t is trace or (domain and t.clock.domain == domain)]

    def span_ns(self) -> int:
        """The length of the common axis: the latest end of any trace, in ns from the start."""
        ends = (tick_to_ns(t.end, self.ns_per_tick(t)) + self.offset_ns(t) for t in self.traces)
        return max(ends, default=0)

    def check_rate(self, trace: Trace, ns_per_tick: Fraction, name: str) -> None:
        """Raise ValueError for a trace that states its rate, and for a rate that gives no times.

        name: what the error calls the trace.
        """
        if not can_choose_clock(trace):
            stated = self.rate(trace).tick_text
            raise ValueError(f"{name} states the rate of its clock ({stated})")
        ratio = ns_per_tick.as_integer_ratio()
        if ns_per_tick <= 0 or ratio[0] * ratio[1] >= 2**63:
            raise ValueError(f"a tick cannot last {ns_per_tick} ns")
        if max(abs(trace.start), abs(trace.end)) * ns_per_tick >= 2**63:
            raise ValueError(
                f"at {format_rate(ns_per_tick)} {name} would be more than 292 years long"
            )

    def check_cycle_rate(self, ns_per_tick: Fraction | None) -> None:
        """Raise ValueError where `cycle_rate` is None, and for a rate that is none."""
        if self.cycle_rate is None:
            raise ValueError("no debug info with a clock of its own is open")
        if ns_per_tick is not None and ns_per_tick <= 0:
            raise ValueError(f"a cycle cannot last {ns_per_tick} ns")


def can_choose_clock(trace: Trace) -> bool:
    """Whether the rate of a trace's clock may be chosen: nothing states it, or it counts cycles."""
    return trace.clock.assumed or trace.clock.unit == "cycle"
