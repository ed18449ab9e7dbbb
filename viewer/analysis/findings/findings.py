"""Findings of a profile: a short ranked list, each with its numbers and its rule.

Every family of `viewer.analysis.findings.finding.Family` is evaluated. Numbers cover one scope: the
selected run or the whole trace. Findings that compare inferences cover all of them, and rank after
the others if one run is selected. The ranking is by possible savings. Families without a finding
are listed with the reason, so an empty list is a result too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.work_time import WorkTime
from viewer.analysis.findings import operators as of_operators
from viewer.analysis.findings.estimates import estimates as off_estimates
from viewer.analysis.findings.finding import (
    FamilyAnswer,
    Finding,
    FindingContext,
    NotReported,
    OperatorSets,
    SliceKeys,
    SliceNumbers,
    scope_text,
)
from viewer.analysis.findings.gaps import dma, gaps
from viewer.analysis.findings.inferences import slow_runs, warm_up
from viewer.analysis.links.coverage import starts_within
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.analysis.torq.estimates import Estimates
from viewer.arrays import Ints
from viewer.model.scope import TimeScope
from viewer.model.trace import Run

# More would not be read; a file with many methods could have one or two for each of them.
MOST = 12


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a scope, largest possible savings first, and the families without one.

    not_reported: the families without a finding. left_out: how many more findings there are.
    scope: "run 2", "all 5 inferences".
    """

    scope: str
    found: tuple[Finding, ...]
    not_reported: tuple[NotReported, ...]
    left_out: int


class FindingsAnalysis:
    """Computes the findings of one linked trace; everything run-independent is cached."""

    def __init__(self, table: LinkTable, costs: Costs | None = None) -> None:
        """costs: the `Costs` of this table, if the caller already has them."""
        self.table = table
        self._costs = costs or Costs(table)
        self._work = WorkTime(table)

    @cached_property
    def _overview(self) -> UnitOverview:
        return UnitOverview(self.table.trace)

    def of(self, run: Run | None, rate: Fraction, estimates: Estimates | None = None) -> Findings:
        """Return the findings of one run, or of the whole trace.

        rate: ns per tick, for the texts. estimates: the comparison across all open files.
        """
        cost = self._costs.of_run(run) if run is not None else self._costs.table()
        context = FindingContext(
            self._costs,
            self._work,
            run,
            rate,
            estimates,
            cost,
            self._work.ticks(TimeScope(run)),
            cost.whole,
        )
        families: tuple[Callable[[], FamilyAnswer], ...] = (
            lambda: of_operators.largest(context),
            lambda: of_operators.copies(context),
            lambda: of_operators.outside(context),
            lambda: gaps(context, self._overview),
            lambda: of_operators.no_operator(context),
            lambda: dma(context, self._overview),
            lambda: warm_up(context),
            lambda: slow_runs(context),
            lambda: off_estimates(context),
            lambda: of_operators.links(context),
        )
        found: list[Finding] = []
        not_reported: list[NotReported] = []
        for family in families:
            answer = family()
            if isinstance(answer, NotReported):
                not_reported.append(answer)
            else:
                found += answer
        found.sort(key=lambda one: (run is not None and one.across, not one.ticks, -one.ticks))
        scope = scope_text(self.table, run)
        return Findings(scope, tuple(found[:MOST]), tuple(not_reported), max(len(found) - MOST, 0))

    def slices_of(self, finding: Finding, run: Run | None) -> Ints:
        """Return the slices that a finding is about, ascending, in a run or in the whole trace.

        Empty if the finding is about a time range, a run or a report.
        """
        place = finding.place
        if isinstance(place, SliceNumbers):
            return np.array(place.numbers, np.int64)
        if isinstance(place, OperatorSets):
            return self._costs.slices_of(place.sets, TimeScope(run))
        if not isinstance(place, SliceKeys):
            return np.empty(0, np.int64)
        trace = self.table.trace
        selected = np.zeros(len(trace.keys), np.bool_)
        selected[list(place.keys)] = True
        inside = selected[trace.slices.key]
        inside &= starts_within(trace, TimeScope(run))
        return np.flatnonzero(inside)
