"""The time that figures cover: a whole trace, one run, or a range of ticks.

A run is on one track and excludes concurrent slices of other tracks, unless it covers all tracks
(`Run.all_tracks`); a range covers all tracks. Both include everything in them. Figures of the whole
trace leave out inferences that did not finish, and those of one inference also the warm-up
(`viewer.model.warm_up`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints
from viewer.model.queries import (
    counted_slices,
    execute_keys,
    starts_between,
    starts_in_run,
    unfinished,
)
from viewer.model.times import counted
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences
from viewer.model.work_unit import INFERENCE, WorkUnit

EVERY_PHASE = "*"
ScopeSpan = tuple[int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class TimeScope:
    """A run, or the ticks from `ticks[0]` to `ticks[1]`; with neither, the whole trace.

    At most one of them is given. warm_up: whether figures of the whole trace cover the inferences
    that warm up. typical_of: of how many inferences the run is shown as the typical one, else 0.
    phase: of several methods or phases, the one that figures per inference are of; "" for that with
    the largest total, `EVERY_PHASE` for all of them, added up.
    """

    run: Run | None = None
    ticks: tuple[int, int] | None = None
    warm_up: bool = True
    typical_of: int = 0
    phase: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole trace."""
        return self.run is None and self.ticks is None

    @property
    def span(self) -> ScopeSpan:
        """First tick, last tick and track, as the queries take them; None means unlimited."""
        if self.run is not None:
            track = None if self.run.all_tracks else self.run.track
            return self.run.start, self.run.end, track
        return (*self.ticks, None) if self.ticks is not None else (None, None, None)


WHOLE = TimeScope()
# The scope of figures per inference, unless the user includes the warm-up.
STEADY = TimeScope(warm_up=False)


def starts_in(trace: Trace, scope: TimeScope, index: Ints) -> Ints:
    """The slices among `index` that start in the scope."""
    if scope.run is not None:
        return starts_in_run(trace, scope.run, index)
    if scope.ticks is None:
        return index
    first, last = scope.ticks
    inside: Ints = index[starts_between(trace, trace.slices.start[index], first, last)]
    return inside


def counted_in(trace: Trace, scope: TimeScope, index: Ints) -> Ints:
    """The slices among `index` that the figures of the scope count."""
    if not scope.is_whole:
        return starts_in(trace, scope, index)
    counts = counted_slices(trace, warm_up=scope.warm_up)
    return index if counts is None else index[counts[index]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the figures of a scope leave out: inferences for each reason, loads, and open slices.

    outside: whether what ran outside inferences is left out, where the runtime does not time them,
    so that it could count. unit: what the file calls its inferences.
    """

    unfinished: int = 0
    warm_up: int = 0
    loads: int = 0
    open_slices: int = 0
    outside: bool = False
    unit: WorkUnit = INFERENCE

    @property
    def text(self) -> str:
        """Say it: "Not counted: 1 warm-up inference, 2 unfinished"; "" if none is left out."""
        parts = []
        if self.warm_up:
            parts.append(counted(self.warm_up, f"warm-up {self.unit.noun}"))
        if self.unfinished:
            noun = f"unfinished {self.unit.noun}"
            parts.append(
                f"{self.unfinished} unfinished" if parts else counted(self.unfinished, noun)
            )
        if self.loads:
            parts.append("initialization")
        if self.open_slices:
            parts.append(f"{counted(self.open_slices, 'slice')} without an end")
        if self.outside:
            parts.append(self.unit.worded("what ran outside inferences"))
        return f"Not counted: {', '.join(parts)}" if parts else ""


def left_out(trace: Trace, scope: TimeScope = WHOLE) -> LeftOut:
    """What the figures of the scope leave out."""
    if not scope.is_whole:
        return LeftOut()
    finished = len(counted_inferences(trace))
    is_open = unfinished(trace.slices)
    return LeftOut(
        sum(run.counts for run in trace.inferences()) - finished,
        finished - len(counted_inferences(trace, warm_up=scope.warm_up)),
        sum(run.is_apart for run in trace.runs),
        0 if is_open is None else int(is_open.sum()),
        trace.only_inferences and not timed_by(trace),
        trace.unit,
    )


def timed_by(trace: Trace) -> str:
    """The name of the scope by which the runtime times whole inferences, "" if it does not."""
    timed = np.flatnonzero(execute_keys(trace))
    return trace.strings[int(trace.keys.name[timed[0]])] if len(timed) else ""


def whole_scope_text(trace: Trace, scope: TimeScope = WHOLE, *, loads: bool = False) -> str:
    """Name what the figures of the whole trace cover: "all 5 inferences", "2 of 3 inferences".

    They cover only inferences if the runtime times them (`execute_keys`); otherwise they also cover
    what ran between them: "the whole trace". If only a part of the file is open: "the open part".
    loads: whether they cover the loads of methods too, as those of all slices do.
    """
    with_loads = loads and any(run.kind is RunKind.LOAD for run in trace.runs)
    if with_loads or not any(trace.inferences()) or not timed_by(trace):
        without = ", without the warm-up" if left_out(trace, scope).warm_up else ""
        return f"{'the open part' if trace.is_part else 'the whole trace'}{without}"
    return inferences_text(trace, scope)


def typical_text(count: int, unit: WorkUnit) -> str:
    """Name the typical one of some inferences as a scope."""
    return f"the typical one of {unit.counted(count)}"


def inferences_text(trace: Trace, scope: TimeScope = WHOLE) -> str:
    """Return which inferences count.

    "all 5 inferences", "the inference", "4 inferences after warm-up"; "2 of 3 inferences" if some
    did not finish.
    """
    count = sum(run.count for run in counted_inferences(trace, warm_up=scope.warm_up))
    every = sum(run.count for run in trace.inferences() if run.counts)
    if left_out(trace, scope).warm_up:
        return f"{trace.unit.counted(count)} after warm-up"
    if count < every:
        return f"{count} of {trace.unit.counted(every)}"
    return f"the {trace.unit.noun}" if count == 1 else f"all {trace.unit.counted(count)}"
