"""Findings of a profile: a short list of advice, ranked by possible gain.

Numbers cover one scope: the selected run or the whole trace. Findings that compare inferences cover
all of them, and rank after the others if one run is selected; far times, which hide all others,
come first. Families without a finding are listed with the reason, so an empty list is a result too.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.event_times import GroupTime, ThreadTime, WorkTime
from viewer.analysis.findings.finding import (
    Family,
    FamilyAnswer,
    Finding,
    FindingContext,
    FindingPlace,
    NotReported,
    OperatorSets,
    SliceKeys,
    SliceNumbers,
    joined,
)
from viewer.analysis.findings.gaps import FarTimes, dma, far, far_times, gaps
from viewer.analysis.links.coverage import starts_within
from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.npu_units import UnitOverview
from viewer.arrays import Ints, flags_at
from viewer.dataclasses import dataclass, replace
from viewer.model.figures import TimeScope
from viewer.model.inference_views import Series, of_series, only_inferences, series_of
from viewer.model.warm_up import counted_inferences

if TYPE_CHECKING:
    from viewer.analysis.findings.inferences import Outliers
    from viewer.analysis.torq.estimates import Estimates


MOST_PHASES = 4  # with the largest total; others rarely matter
# More would not be read; a file with many methods could have one or two for each of them.
MOST = 12


_Rule = Callable[[FindingContext], FamilyAnswer]


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a scope, largest possible gain first, and the families without one.

    not_reported: the families without a finding. left_out: how many more findings there are.
    scope: "inference 2", "all 5 inferences".
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
        self._phases: dict[Series, FindingsAnalysis] = {}

    @property
    def threads(self) -> ThreadTime | None:
        """The busy time of the threads of a plain profile, None for a profile of another kind."""
        return self._costs.threads

    @cached_property
    def _thread_work(self) -> GroupTime | None:
        """The same for the groups of work; a span of a whole thread is nobody's work."""
        work, threads = self._work, self.threads
        return threads.of(work.group_of_key, len(work.groups), spans=False) if threads else None

    @cached_property
    def outliers(self) -> Outliers | None:
        """The slow inferences that distort figures of all inferences, None if there are none."""
        from viewer.analysis.findings.inferences import outliers

        return outliers(self.table)

    @cached_property
    def far_times(self) -> FarTimes | None:
        """The slices that are far from all others, None if there are none."""
        return far_times(self.table.trace)

    @cached_property
    def _overview(self) -> UnitOverview:
        return UnitOverview(self.table.trace)

    def of(self, scope: TimeScope, rate: Fraction, estimates: Estimates | None = None) -> Findings:
        """Return the findings of one run, or of the whole trace.

        rate: ns per tick, for the texts. estimates: the comparison across all open files.
        """
        return self.found_in(self.context(scope, rate, estimates))

    def context(
        self, scope: TimeScope, rate: Fraction, estimates: Estimates | None = None
    ) -> FindingContext:
        """Return what every family works on in a scope; the arguments are those of `of`."""
        cost = self._costs.table(scope)
        busy = self._thread_work
        ticks, whole = busy.ticks(scope) if busy else (self._work.ticks(scope), cost.whole)
        return FindingContext(
            self._costs, self._work, scope, rate, estimates, cost, ticks, whole, self.threads
        )

    def found_in(self, context: FindingContext) -> Findings:
        """Return the findings of a context; those per inference are per phase."""
        from viewer.analysis.findings import operators as of_operators
        from viewer.analysis.findings.accelerators import estimate_errors
        from viewer.analysis.findings.inferences import between, changes, slow_runs, warm_up

        phases = self.phases_of(context) or [context]
        whole: tuple[_Rule, ...] = (
            lambda of: dma(of, self._overview),
            changes,
            between,
            warm_up,
            slow_runs,
            estimate_errors,
            of_operators.links,
            lambda of: far(of, self.far_times),
        )
        answers = [[(phase, family(phase)) for phase in phases] for family in self._of_inferences]
        answers += [[(context, family(context))] for family in whole]
        findings: list[Finding] = []
        not_reported: list[NotReported] = []
        for of_phases in answers:
            reported = [
                (answer, of.phase)
                for of, answer in of_phases
                if not isinstance(answer, NotReported)
            ]
            # A family that goes by scope names the phase itself.
            findings += [
                finding if finding.phase else replace(finding, phase=name)
                for phase_findings, name in reported
                for finding in phase_findings
            ]
            if not reported:
                not_reported += [
                    answer for _, answer in of_phases if isinstance(answer, NotReported)
                ][:1]
        is_one = context.run is not None
        # Far times hide all others, so they come first.
        findings.sort(
            key=lambda finding: (
                finding.family is not Family.FAR_TIMES,
                is_one and finding.across,
                not finding.ticks,
                -finding.gain.stated,
            )
        )
        scope = joined([phase.scope for phase in phases])
        unit = self.table.trace.unit  # rules are Opscope's own texts, without names of the file
        return Findings(
            scope,
            tuple(replace(each, rule=unit.worded(each.rule)) for each in findings[:MOST]),
            tuple(replace(each, rule=unit.worded(each.rule), unit=unit) for each in not_reported),
            max(len(findings) - MOST, 0),
        )

    @property
    def _of_inferences(self) -> tuple[_Rule, ...]:
        """The families whose figures are per inference of one phase."""
        from viewer.analysis.findings import operators as of_operators
        from viewer.analysis.findings.accelerators import outside

        return (
            of_operators.largest,
            of_operators.copies,
            outside,
            lambda of: gaps(of, self._overview),
            of_operators.no_operator,
        )

    def phases_of(
        self, context: FindingContext, *, only_inferences: bool = False
    ) -> list[FindingContext]:
        """Return the context of each phase and method; empty for one of them, or if it is open.

        The largest total first. only_inferences: of nothing but inferences, also of a profile whose
        inferences the runtime does not time.
        """
        trace = self.table.trace
        is_timed = context.is_timed or only_inferences
        if context.run is not None or not is_timed or not context.within.is_whole:
            return []
        runs = counted_inferences(trace, warm_up=context.within.warm_up)
        total: dict[Series, int] = {}
        for run in runs:
            series = series_of(trace, run)
            total[series] = total.get(series, 0) + run.end - run.start
        if len(total) < 2 or any(run.part < 0 for run in runs):
            return []
        names = series_names(self.table, total)
        chosen = sorted(total, key=lambda series: -total[series])[:MOST_PHASES]
        within = context.within, context.rate, context.estimates

        def of_phase(series: Series) -> FindingContext:
            analysis = self._of_phase(series)
            analysis = analysis.of_inferences if only_inferences else analysis
            return replace(analysis.context(*within), phase=names[series])

        return [of_phase(series) for series in chosen]

    @cached_property
    def of_inferences(self) -> FindingsAnalysis:
        """The same of nothing but the inferences; itself if there is nothing else."""
        view = only_inferences(self.table.trace)
        is_same = view is self.table.trace
        return self if is_same else FindingsAnalysis(replace(self.table, trace=view))

    def _of_phase(self, series: Series) -> FindingsAnalysis:
        if series not in self._phases:
            view = of_series(self.table.trace, series)
            self._phases[series] = FindingsAnalysis(replace(self.table, trace=view))
        return self._phases[series]

    def slices_of(self, finding: Finding, scope: TimeScope) -> Ints:
        """Return the slices that a finding is about, ascending, in a scope.

        Empty if the finding is about a time range, a run or a report.
        """
        analysis = self
        for series, phase_analysis in self._phases.items():
            if finding.phase and series_names(self.table, self._phases)[series] == finding.phase:
                analysis = phase_analysis
        return analysis.slices_at(finding.place, scope)

    def slices_at(self, place: FindingPlace, scope: TimeScope) -> Ints:
        """Return the slices of a place, as `slices_of` does for that of a finding."""
        if isinstance(place, SliceNumbers):
            return np.array(place.numbers, np.int64)
        if isinstance(place, OperatorSets):
            return self._costs.slices_of(place.sets, scope)
        if not isinstance(place, SliceKeys):
            return np.empty(0, np.int64)
        trace = self.table.trace
        selected = flags_at(len(trace.keys), list(place.keys))
        inside = selected[trace.slices.key]
        inside &= starts_within(trace, scope)
        return np.flatnonzero(inside)
