"""What sessions of one program take: the median over them, its spread, and inferences per second.

Each session counts once, by the median of its inferences: sessions differ by more than their
inferences do. Rates are of wall time, as what the host does between inferences is in no inference.
A session of several methods or phases has no rate, because they share the wall time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import numpy as np

from viewer.analysis.comparison.arms import Arm, level_without_calls, median_of_sessions
from viewer.analysis.comparison.rollups import AND, OUTERMOST
from viewer.analysis.comparison.sessions import Part, Session
from viewer.analysis.links.labels import set_label
from viewer.analysis.sequence.wall_time import rate_of
from viewer.arrays import Floats
from viewer.model.inference_views import series_of
from viewer.model.times import NARROW_SPACE, counted, format_time


@dataclass(frozen=True, slots=True)
class Spread:
    """A time over sessions, in ns. name: of the method or operator, "" if there is one only.

    median: of the medians of sessions, of which least and most are the smallest and the largest.
    of_sessions: these medians, NaN for a session that did not run it. operators: indexes into
    `Program.operators`.
    """

    name: str
    median: float
    least: float
    most: float
    of_sessions: tuple[float, ...]
    operators: tuple[int, ...] = ()

    @property
    def sessions(self) -> int:
        """How many sessions ran it."""
        return sum(ns == ns for ns in self.of_sessions)

    @property
    def share(self) -> float | None:
        """From the smallest to the largest, as a share of the median; None if that is 0."""
        return (self.most - self.least) / self.median if self.median > 0 else None

    @property
    def range_text(self) -> str:
        """From the smallest to the largest: "11.951 µs to 13.084 µs (9.1 %)"."""
        ends = " to ".join(format_time(round(ns)) for ns in (self.least, self.most))
        share = self.share
        return ends if share is None else f"{ends} ({100 * share:.1f}{NARROW_SPACE}%)"


def inference_spread(arm: Arm) -> tuple[Spread, ...]:
    """Return what an inference of each method takes, in the order in which they first ran.

    Of files without inferences, what all of each takes.
    """
    every = [name for names in arm.methods for name in names]
    if not every:
        return _spread([""], arm.inference[:, None])
    columns = np.stack([arm.inference_of([name]) for name in every], axis=1)
    return _spread([name if len(every) > 1 else "" for name in every], columns)


def operator_spread(arm: Arm) -> tuple[Spread, ...]:
    """Return what each operator takes in an inference, or each name without a model; dearest first.

    Time that several operators share is a row of its own.
    """
    rolled = arm.by(level_without_calls(arm, arm))
    if not rolled.parts:
        return ()
    times = rolled.medians([[number] for number in range(len(rolled.parts))])
    rows = _spread(
        [_name_of(part, arm) for part in rolled.parts],
        times,
        [part.operators for part in rolled.parts],
    )
    return tuple(sorted(rows, key=lambda row: -row.median))


def set_text(arm: Arm) -> str:
    """Name sessions as one: "7 sessions, 154 inferences"."""
    text = counted(len(arm.sessions), "session")
    if all(session.is_whole for session in arm.sessions):
        return text
    return f"{text}, {counted(sum(len(session.runs) for session in arm.sessions), 'inference')}"


def _name_of(part: Part, arm: Arm) -> str:
    if len(part.id.group) > 1 and part.operators:
        return set_label(arm.sessions[0].table, part.operators)
    return AND.join(part.id.group).removeprefix(f"{OUTERMOST} · ") or part.name


def _spread(
    names: list[str], times: Floats, operators: list[tuple[int, ...]] | None = None
) -> tuple[Spread, ...]:
    """Return a row per column of the times of sessions."""
    middle = median_of_sessions(times)
    rows = []
    for column, (name, of_sessions_median) in enumerate(zip(names, middle.tolist(), strict=True)):
        of_sessions = times[:, column]
        ran = of_sessions[np.isfinite(of_sessions)]
        if len(ran):
            rows.append(
                Spread(
                    name,
                    of_sessions_median,
                    float(ran.min()),
                    float(ran.max()),
                    tuple(of_sessions.tolist()),
                    operators[column] if operators else (),
                )
            )
    return tuple(rows)


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
