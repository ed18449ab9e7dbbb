"""Flows between a host and its NPU: from the action that starts an NSS job over it to its wait.

A job is no event of a file: its reader makes it from the begin of the start to the end of the wait.
So the start is the one action of its process that begins with the job, and the wait the one that
ends with it, to the tick. Where there are two of either, none is taken.
"""

from __future__ import annotations

import numpy as np

from viewer.model.torq_names import NSS_START, NSS_WAIT, START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Trace, Unit

_STARTS, _WAITS = (NSS_START, START_PROGRAM), (NSS_WAIT, WAIT_PROGRAM)


class JobFlows:
    """The actions and jobs of one trace; each question is a search in the rows of one track."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rows: dict[tuple[str, Unit], list[int]] = {}
        for row, track in enumerate(trace.slices.row_track.tolist()):
            of = trace.tracks[track]
            if of.unit in (Unit.HOST, Unit.NSS):
                self._rows.setdefault((of.process, of.unit), []).append(row)

    def is_job(self, i: int) -> bool:
        """Whether slice i is a job that was made of its start and its wait."""
        derived = self._trace.slices.derived
        track = self._trace.tracks[self._trace.slices.track(i)]
        return track.unit is Unit.NSS and derived is not None and bool(derived[i])

    def next_to(self, i: int, *, forward: bool) -> int | None:
        """The job that slice i starts, the wait for the job that it is; or, backwards, the start of
        the job that it is, the job that it waits for. None where there is no such."""
        if not self._rows:
            return None
        trace = self._trace
        track = trace.tracks[trace.slices.track(i)]
        if self.is_job(i):
            words = _WAITS if forward else _STARTS
            return self._alone(track.process, Unit.HOST, i, at_end=forward, words=words)
        if track.unit is Unit.HOST and trace.name(i) in (_STARTS if forward else _WAITS):
            return self._alone(track.process, Unit.NSS, i, at_end=not forward, words=())
        return None

    def _alone(
        self, process: str, unit: Unit, i: int, *, at_end: bool, words: tuple[str, ...]
    ) -> int | None:
        """The only slice of a unit that begins, or ends, with slice i; words: its possible names,
        none for a job."""
        slices = self._trace.slices
        times = slices.end if at_end else slices.start
        found: list[int] = []
        for row in self._rows.get((process, unit), ()):
            # Slices of one row follow one another, so their ends are in order too.
            lo, hi = int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])
            first, last = (
                lo + int(np.searchsorted(times[lo:hi], times[i], side))
                for side in ("left", "right")
            )
            found += [
                j
                for j in range(first, min(last, first + 8))
                if (self._trace.name(j) in words if words else self.is_job(j))
            ]
        return found[0] if len(found) == 1 else None
