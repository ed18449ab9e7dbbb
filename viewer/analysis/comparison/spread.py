"""What sessions of one program take: the median over sessions, and how far these are apart.

Each session counts once, by the median of its inferences: sessions differ by more than their
inferences do, so all inferences in one median would state a spread that is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.comparison.arms import Arm, level_without_calls, median_of_sessions
from viewer.analysis.comparison.rollups import AND, OUTERMOST
from viewer.analysis.comparison.sessions import Part
from viewer.analysis.links.labels import set_label
from viewer.arrays import Floats
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
    for column, (name, median) in enumerate(zip(names, middle.tolist(), strict=True)):
        of_sessions = times[:, column]
        ran = of_sessions[np.isfinite(of_sessions)]
        if len(ran):
            rows.append(
                Spread(
                    name,
                    median,
                    float(ran.min()),
                    float(ran.max()),
                    tuple(of_sessions.tolist()),
                    operators[column] if operators else (),
                )
            )
    return tuple(rows)
