"""The clock rates of traces, and the unit of the ruler."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction

from viewer.gui.session.session import Session
from viewer.view.clock_groups import ClockGroup, clock_groups
from viewer.view.open_trace import views_of
from viewer.view.state import RulerUnit
from viewer.view.visible_range import with_ticks_kept
from viewer.workspace.clocks import DEBUG_INFO, can_choose_clock

# Usual clock rates of NPUs, offered for clocks whose rate no file states.
CYCLE_RATES = ("800 MHz", "100 MHz")


def clock_trace(session: Session) -> int | None:
    """The trace whose clock rate can be chosen: the current one, else the first, else None."""
    adjustable = [
        i for i, open_trace in enumerate(session.traces) if can_choose_clock(open_trace.file)
    ]
    return _current_or_first(session, adjustable)


def set_clock(session: Session, trace: int | None, ns_per_tick: Fraction | None) -> None:
    """Choose how long a tick of a trace lasts; None restores the rate of its file.

    The visible range and the selected area stay at the same ticks of that trace. `trace` None sets
    the rate for cycles in debug info, which only plans of jobs use. Raises ValueError as
    `Workspace.set_clock` does.
    """
    inferences = session.state.inferences
    space = copy(session.workspace)
    if trace is None:
        space.set_clock(DEBUG_INFO, ns_per_tick)
        session.change(replace(session.state, clocks=space.choices.clocks))
        return
    space.set_clock(session.traces[trace].file.path, ns_per_tick)
    if space.choices.clocks == session.state.clocks:
        return
    views = views_of(space, {inferences}, session.views)
    traces = [views[t, inferences] for t in space.traces]
    axes = session.traces[trace].axis, traces[trace].axis
    group = next(group for group in clock_groups(traces) if trace in group.traces)
    state = with_ticks_kept(session.state, group, trace, *axes)
    session.change(replace(state, clocks=space.choices.clocks))


@dataclass(frozen=True, slots=True)
class DelegateClock:
    """A delegate's clock in an open trace; ns_per_tick: the rate that the user stated, or None."""

    trace: int
    name: str
    ns_per_tick: Fraction | None


def delegate_clocks(session: Session) -> list[DelegateClock]:
    """The clocks of delegates in all open traces, trace by trace."""
    rates = session.state.delegate_clocks
    return [
        DelegateClock(i, name, rates.get((open_trace.file.path, name)))
        for i, open_trace in enumerate(session.traces)
        for name in open_trace.facts.delegate_clocks
    ]


def set_delegate_clock(
    session: Session, trace: int, name: str, ns_per_tick: Fraction | None
) -> None:
    """State how long a cycle or tick of a delegate's clock lasts; None: unknown.

    Nothing moves. Raises ValueError as `Workspace.set_delegate_clock` does.
    """
    space = copy(session.workspace)
    space.set_delegate_clock(session.traces[trace].file.path, name, ns_per_tick)
    session.change(session.state.at_choices(space.choices))


def set_ruler(session: Session, unit: RulerUnit) -> None:
    """Choose the unit that the ruler shows."""
    session.change(replace(session.state, ruler=unit))


def cycle_trace(session: Session) -> int | None:
    """The trace whose cycles the ruler can show: the current one, else the first, None if none."""
    counted = [i for i, t in enumerate(session.traces) if t.trace.clock.unit == "cycle"]
    return _current_or_first(session, counted)


def cycle_trace_on(session: Session, group: ClockGroup) -> int | None:
    """The trace of a clock group whose cycles its ruler can show, None if none counts cycles."""
    counted = (i for i in group.traces if session.traces[i].trace.clock.unit == "cycle")
    chosen = cycle_trace(session)
    return chosen if chosen in group.traces else next(counted, None)


def _current_or_first(session: Session, traces: Sequence[int]) -> int | None:
    current = session.current_trace
    return current if current in traces else traces[0] if traces else None
