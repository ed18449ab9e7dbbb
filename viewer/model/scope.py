"""What figures are of: a whole trace, one run of it, or a range of its ticks.

A run is one of a track, and what goes on beside it is not of it; a range is of all tracks.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.arrays import Ints
from viewer.model.queries import begin_in_run, begins
from viewer.model.trace import Run, Trace

ScopeSpan = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class TimeScope:
    """A run, or the ticks from `ticks[0]` to `ticks[1]`; neither: the whole trace, all its runs.

    At most one of them is given.
    """

    run: Run | None = None
    ticks: tuple[int, int] | None = None

    @property
    def span(self) -> ScopeSpan:
        """First and last tick and the track, as the functions that count in a range take them;
        None: no bound, all tracks."""
        if self.run is not None:
            return self.run.start, self.run.end, self.run.track
        return (*self.ticks, None) if self.ticks is not None else (None, None, None)


WHOLE = TimeScope()


def begin_in(trace: Trace, scope: TimeScope, some: Ints) -> Ints:
    """Of some slices those that begin in the scope, as its figures count them."""
    if scope.run is not None:
        return begin_in_run(trace, scope.run, some)
    if scope.ticks is None:
        return some
    first, last = scope.ticks
    inside: Ints = some[begins(trace, trace.slices.start[some], first, last)]
    return inside
