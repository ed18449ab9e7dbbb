"""Flows between a host and its NPU: action that starts an NSS job -> job -> action that waits.

The file has no event for a job: the reader derives it, from the start of the start action to the
end of the wait action. So the start is the only action of its process that starts with the job, and
the wait the only one that ends with it, to the tick. If there are two candidates, none is used.
"""

from __future__ import annotations

import numpy as np

from viewer.model.names.torq import NSS_START, NSS_WAIT, START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Trace, Unit

_STARTS, _WAITS = (NSS_START, START_PROGRAM), (NSS_WAIT, WAIT_PROGRAM)


class JobFlows:
    """The actions and jobs of one trace; each query searches the rows of one process."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._rows: dict[tuple[str, Unit], list[int]] = {}
        for row, track in enumerate(trace.slices.row_track.tolist()):
            place = trace.tracks[track]
            if place.unit in (Unit.HOST, Unit.NSS):
                self._rows.setdefault((place.process, place.unit), []).append(row)

    def is_job(self, i: int) -> bool:
        """Return whether slice i is a job derived from its start and wait actions."""
        derived = self._trace.slices.derived
        track = self._trace.tracks[self._trace.slices.track(i)]
        return track.unit is Unit.NSS and derived is not None and bool(derived[i])

    def next_to(self, i: int, *, forward: bool) -> int | None:
        """Return the neighbor of slice i in the flow of a job, or None.

        Forward: the job that it starts, or the wait for the job that it is. Backward: the start of
        the job that it is, or the job that it waits for.
        """
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
        """Return the only slice of a unit that starts (or ends) with slice i, else None.

        words: the names that it may have; empty for a job.
        """
        slices = self._trace.slices
        times = slices.end if at_end else slices.start
        found: list[int] = []
        for row in self._rows.get((process, unit), ()):
            # Slices of one row do not overlap, so their ends are sorted too.
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
