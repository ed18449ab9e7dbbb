"""How many inferences per second of wall time the sessions of an arm have, and what is idle.

A comparison of inferences does not see what the host does between them. A session of several
methods or phases has no rate, because they share the wall time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.sessions import Session
from viewer.analysis.sequence.rates import rate_of
from viewer.model.inferences.logged_methods import series_of


@dataclass(frozen=True, slots=True)
class WallRate:
    """Medians over the sessions of an arm that have a rate.

    per_second: inferences per second of wall time. gap_ns: median time between inferences.
    idle_share: the part of the wall time between them, 0 to 1.
    """

    per_second: float
    gap_ns: float
    idle_share: float


def wall_rate(arm: Arm) -> WallRate | None:
    """Return the rate of an arm, None if the files do not show when inferences started."""
    return rate_of_sessions([rate for each in arm.sessions if (rate := _of(each)) is not None])


def rate_of_sessions(sessions: Sequence[WallRate]) -> WallRate | None:
    """Return the medians over the sessions of an arm, None without any."""
    if not sessions:
        return None
    return WallRate(
        median(each.per_second for each in sessions),
        median(each.gap_ns for each in sessions),
        median(each.idle_share for each in sessions),
    )


def _of(session: Session) -> WallRate | None:
    trace = session.table.trace
    if session.is_whole or len({series_of(trace, run) for run in session.runs}) != 1:
        return None
    position = {id(run): at for at, run in enumerate(trace.runs)}
    runs = [position[id(run)] for run in session.runs if id(run) in position]
    rate = rate_of(trace, runs)
    per_second = None if rate is None else rate.per_second(Fraction(session.ns_per_tick))
    if rate is None or per_second is None:
        return None
    return WallRate(per_second, median(rate.gaps) * session.ns_per_tick, rate.share)
