"""Profiles that a compiler estimates, and the clock that is assumed without any."""

from __future__ import annotations

from fractions import Fraction

from viewer.model.names.torq import ACTION_ID, TASK_ID
from viewer.model.times import ClockRate, RateOrigin
from viewer.model.trace import Trace

# For debug info without a compile profile or a user's choice: 800 MHz.
ASSUMED_CYCLES = ClockRate("cycle", Fraction(5, 4), RateOrigin.ASSUMED)


def is_compiled(trace: Trace) -> bool:
    """Return whether a trace is a compiler estimate with action or task numbers."""
    columns = trace.slices.columns
    return trace.clock.unit == "cycle" and (ACTION_ID in columns or TASK_ID in columns)
