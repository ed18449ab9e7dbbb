"""The time that figures cover: a whole trace, one run, or a range of ticks.

A run is on one track and excludes concurrent slices of other tracks; a range covers all tracks.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.arrays import Ints
from viewer.model.queries import starts_between, starts_in_run
from viewer.model.trace import Run, Trace

ScopeSpan = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class TimeScope:
    """A run, or the ticks from `ticks[0]` to `ticks[1]`; with neither, the whole trace.

    At most one of them is given. The whole trace includes all its runs.
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
    """The slices among `some` that start in the scope, as its figures count them."""
    if scope.run is not None:
        return starts_in_run(trace, scope.run, some)
    if scope.ticks is None:
        return some
    first, last = scope.ticks
    inside: Ints = some[starts_between(trace, trace.slices.start[some], first, last)]
    return inside
