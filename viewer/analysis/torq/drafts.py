"""One row of the comparison of estimates and measurements, while its sources are collected."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewer.analysis.torq.measured_actions import MeasurementSource
from viewer.analysis.torq.plans import Executions, PlannedJob, ProfileSlices, profile_slices
from viewer.arrays import Floats, Ints
from viewer.model.names.torq import job_name
from viewer.model.times import ClockRate
from viewer.model.trace import Trace


@dataclass(slots=True)
class Draft:
    """A row under construction.

    measured: the times in ns per kind of file. executions: the slices of a job in each of them.
    source: the file of the estimate. profiles: the slices of a job in compile profiles, as (trace,
    its position among the compared ones, rate, slices).
    """

    dispatch: str
    job: int | None
    action: int | None
    start_action: int | None = None
    operation: str = ""
    location: str = ""
    operators: tuple[int, ...] = ()
    estimate: int | None = None
    estimate_ns: float | None = None
    measured: dict[MeasurementSource, list[Floats]] = field(default_factory=dict)
    executions: list[Executions] = field(default_factory=list)
    source: str = ""
    rate: ClockRate | None = None
    profiles: list[tuple[Trace, int, ClockRate, Ints]] = field(default_factory=list)

    def expect(self, ticks: int, rate: ClockRate, source: str) -> bool:
        """Set the estimate, unless a better source already has; return whether it was set."""
        if self.estimate is not None:
            return False
        self.estimate, self.estimate_ns = ticks, float(ticks * rate.ns_per_tick)
        self.rate, self.source = rate, source
        return True

    def expect_slices(self, trace: Trace, number: int, rate: ClockRate, at: Ints) -> bool:
        """Set the estimate to the span of slices of a compile profile, as `expect` does."""
        if self.job is not None:
            self.profiles.append((trace, number, rate, at))
        return self.expect(span_of(trace, at), rate, trace.path)

    def values(self) -> Floats:
        """Return the measured times from the best kind of file."""
        parts = self.measured[min(self.measured)] if self.measured else []
        return np.concatenate(parts) if parts else np.empty(0)

    def place(self) -> tuple[int, bool]:
        """Return the sort key among the rows of its dispatch."""
        known = (self.start_action, self.action, self.job)
        return next(number for number in known if number is not None), self.job is None

    def plan(self, label: str) -> PlannedJob | None:
        """Return the plan of a measured job with an estimate above 0, else None."""
        if self.job is None or not self.estimate or not self.executions:
            return None
        assert self.rate is not None
        assert self.estimate_ns is not None
        return PlannedJob(
            self.dispatch,
            job_name(self.job),
            label,
            self.estimate,
            self.estimate_ns,
            self.rate,
            self.source,
            self._profile(self.rate),
            tuple(self.executions),
        )

    def _profile(self, rate: ClockRate) -> ProfileSlices | None:
        """Return the slices of the first compile profile whose estimate is the one in effect."""
        for trace, number, own_rate, at in self.profiles:
            same = own_rate.ns_per_tick == rate.ns_per_tick
            if same and span_of(trace, at) == self.estimate:
                found = profile_slices(trace, number, at)
                if found is not None:
                    return found
        return None


def span_of(trace: Trace, at: Ints) -> int:
    """Return the ticks from the first start to the last end of some slices."""
    return int(trace.slices.end[at].max() - trace.slices.start[at].min())
