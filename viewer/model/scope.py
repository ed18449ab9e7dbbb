"""The time that figures cover: a whole trace, one run, or a range of ticks.

A run is on one track and excludes concurrent slices of other tracks; a range covers all tracks.
Both include everything in them. Figures of the whole trace leave out inferences that did not
finish.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.arrays import Ints
from viewer.model.queries import (
    counted_inferences,
    counted_slices,
    execute_keys,
    starts_between,
    starts_in_run,
)
from viewer.model.times import counted
from viewer.model.trace import Run, Trace

ScopeSpan = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class TimeScope:
    """A run, or the ticks from `ticks[0]` to `ticks[1]`; with neither, the whole trace.

    At most one of them is given.
    """

    run: Run | None = None
    ticks: tuple[int, int] | None = None

    @property
    def span(self) -> ScopeSpan:
        """First tick, last tick and track, as the queries take them; None means unlimited."""
        if self.run is not None:
            return self.run.start, self.run.end, self.run.track
        return (*self.ticks, None) if self.ticks is not None else (None, None, None)


WHOLE = TimeScope()


def starts_in(trace: Trace, scope: TimeScope, some: Ints) -> Ints:
    """The slices among `some` that start in the scope."""
    if scope.run is not None:
        return starts_in_run(trace, scope.run, some)
    if scope.ticks is None:
        return some
    first, last = scope.ticks
    inside: Ints = some[starts_between(trace, trace.slices.start[some], first, last)]
    return inside


def counted_in(trace: Trace, scope: TimeScope, some: Ints) -> Ints:
    """The slices among `some` that the figures of the scope count."""
    counts = counted_slices(trace) if scope == WHOLE else None
    return starts_in(trace, scope, some) if counts is None else some[counts[some]]


def left_out(trace: Trace, scope: TimeScope = WHOLE) -> int:
    """The number of inferences that the figures of the scope leave out: they did not finish."""
    if scope != WHOLE:
        return 0
    return sum(1 for _ in trace.inferences()) - len(counted_inferences(trace))


def whole_scope_text(trace: Trace) -> str:
    """Name what the figures of the whole trace cover: "all 5 runs", "2 of 3 runs".

    They cover only inferences if the runtime logs `Method::execute`.
    """
    count = sum(run.count for run in counted_inferences(trace))
    every = sum(run.count for run in trace.inferences())
    if not count or not execute_keys(trace).any():
        return "the whole trace"
    if count < every:
        return f"{count} of {every} runs"
    return "run 1" if count == 1 else f"all {count} runs"


def left_out_text(number: int) -> str:
    """Say that inferences are left out: "1 inference did not finish and is not counted"."""
    ending = "is not counted" if number == 1 else "are not counted"
    return f"{counted(number, 'inference')} did not finish and {ending}" if number else ""
