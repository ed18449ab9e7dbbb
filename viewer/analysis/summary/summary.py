"""The main figures of one trace in one scope: a selection of what other analyses compute.

No figure is defined here. Costs are those of `viewer.analysis.cost.costs`, the delegated share is
that of `viewer.analysis.delegates`, names without operators and findings are those of
`viewer.analysis.findings`, and medians are those of `viewer.model.inferences.logged_methods`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.cost.lines import lines_text, place_of
from viewer.analysis.findings.finding import FindingContext
from viewer.analysis.findings.findings import Findings, FindingsAnalysis
from viewer.analysis.links.labels import set_label
from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summary.medians import MedianInference, levels_of, medians_of, wall_of
from viewer.model.figure_base import FigureBase, figure_base
from viewer.model.scope import EVERY_PHASE, TimeScope
from viewer.model.trace import Run

if TYPE_CHECKING:
    from viewer.analysis.delegates.delegation import Delegation, DelegationReport
    from viewer.analysis.findings.inferences import Outliers, SlowestInference
    from viewer.analysis.summary.hot_modules import Directions, HotModule
    from viewer.analysis.torq.estimates import Estimates


MOST_EXPENSIVE = 3


@dataclass(frozen=True, slots=True)
class Expensive:
    """One of the most expensive operators, sets of operators that share time, or event names.

    ticks: self time; wall: what its share is of. operators: indexes into `Program.operators`, empty
    for an event name; keys: those of an event name. place: recorded path and first line; lines: all
    lines in that file, "49–50, 52". zeros: how many of its slices the file cuts to 0.
    """

    label: str
    ticks: int
    wall: int
    operators: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    place: tuple[str, int] | None = None
    lines: str = ""
    zeros: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether the file cuts all of its time to 0, so that it has no share."""
        return self.zeros > 0 and not self.ticks


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The main figures of a trace.

    scope: an inference, or all. inference: that of the scope, or None. median: of the inferences
    that count, with the method of `inference`; None with fewer than two, or of several methods.
    methods: of several methods, what their inferences take, the largest total first; () if which
    methods they ran is open.
    span: from the first to the last slice. whole: the total behind all shares, named by `of`;
    busy: what the busy time is the sum of, "" if inferences are timed. threads: with any busy time,
    0 if unknown. costs: empty without a program. delegation: None unless the runtime calls
    delegates. expensive: shares are of `expensive_whole`; is_linked: whether they are operators;
    without_shared: whether calls that several operators share are left out. outliers: the slow
    inferences that distort figures of all inferences, or None. phase: of several methods or phases,
    the one with the largest total, which whole, costs, delegation and expensive are of; else "".
    wall: where the wall time is spent. base: what the ticks of costs, delegation, expensive and
    modules are per. modules: of a PyTorch profile, those whose own operators take most; directions:
    how its time divides into forward, backward and the rest, None without modules.
    """

    scope: TimeScope
    inference: Run | None
    median: MedianInference | None
    methods: tuple[MedianInference, ...]
    span: int
    whole: int
    of: str
    busy: str
    threads: int
    costs: CostTable
    delegation: DelegationReport | None
    expensive: tuple[Expensive, ...]
    expensive_whole: int
    is_linked: bool
    without_shared: bool
    slowest: SlowestInference | None
    outliers: Outliers | None
    findings: Findings
    phase: str = ""
    wall: tuple[WallPart, ...] = ()
    base: FigureBase = field(default_factory=lambda: FigureBase(Fraction(1)))
    modules: tuple[HotModule, ...] = ()
    directions: Directions | None = None


def summary_of(
    findings: FindingsAnalysis,
    delegation: Delegation,
    scope: TimeScope,
    rate: Fraction,
    estimates: Estimates | None = None,
    *,
    warm_up: bool = False,
    only_inferences: bool = False,
) -> Summary:
    """Return the main figures of a trace in a scope.

    findings, delegation: the analyses of its links. rate: ns per tick. estimates: the comparison
    across all open files. warm_up: whether inferences that warm up count in the median.
    only_inferences: whether figures that are a mean per inference cover nothing but inferences.
    """
    from viewer.analysis.delegates.delegation import Delegation
    from viewer.analysis.findings.inferences import slowest_inference
    from viewer.analysis.summary.hot_modules import hot_modules

    trace = findings.table.trace
    whole = context = findings.context(scope, rate, estimates)
    base = figure_base(trace, scope, rate)
    phases = findings.phases_of(context, only_inferences=only_inferences)
    report = delegation.report(scope)
    if phases and scope.phase != EVERY_PHASE:
        context = next((one for one in phases if one.phase == scope.phase), phases[0])
        report = Delegation(context.links).report(scope)
        base = figure_base(context.trace, scope, rate)
    elif only_inferences and base.divisor > 1 and findings.of_inferences is not findings:
        context = findings.of_inferences.context(scope, rate, estimates)
        report = Delegation(context.links).report(scope)
    # Without figures of each phase, there is no list: the wall time has their totals.
    of_phases = {run.phase for run in trace.inferences() if run.phase}
    mixes = not phases and scope.run is None and len(of_phases) > 1
    modules, directions = hot_modules(context.links, context.table)
    expensive, without_shared = ((), False) if mixes else _operators(context)
    is_linked = bool(expensive)
    # The view of the typical inference leaves them out.
    warm_up = warm_up and not scope.typical_of
    found = findings.found_in(whole)
    levels = levels_of(found)
    median, methods = medians_of(findings.table, scope.run, levels, warm_up=warm_up)
    return Summary(
        scope=scope,
        inference=scope.run,
        median=median,
        methods=methods,
        span=trace.end - trace.start,
        whole=context.whole_ticks,
        of=context.whole,
        busy="" if context.is_timed else context.busy,
        threads=0 if context.threads is None else context.threads.threads(scope),
        costs=context.table,
        delegation=report if report.has_calls and report.whole else None,
        expensive=expensive if is_linked or mixes else _events(context),
        expensive_whole=context.whole_ticks,
        is_linked=is_linked,
        without_shared=without_shared,
        slowest=slowest_inference(whole),
        outliers=findings.outliers,
        findings=found,
        phase=context.phase,
        wall=wall_of(findings.table),
        base=base,
        modules=() if mixes else modules,
        directions=None if mixes else directions,
    )


def _operators(context: FindingContext) -> tuple[tuple[Expensive, ...], bool]:
    """Return the most expensive operators, and whether shared calls are left out.

    Time that several operators share is left out, unless it is more than that of any operator. A
    function is only the caller of the operations in it.
    """
    program = context.links.program
    if program is None or program.is_nested:
        return (), False
    rows = [
        row
        for row in context.table.rows
        if row.ticks and not all(program.operators[i].is_function for i in row.operators)
    ]
    alone = [row for row in rows if not row.is_shared]
    without_shared = bool(alone) and alone[0] is rows[0] and len(alone) < len(rows)
    found = []
    for row in (alone if without_shared else rows)[:MOST_EXPENSIVE]:
        places = sorted({at for i in row.operators if (at := place_of(program.operators[i]))})
        first = places[0] if places else None
        lines = lines_text(line for path, line in places if first and path == first[0])
        label = set_label(context.links, row.operators)
        found.append(
            Expensive(label, row.ticks, row.wall, row.operators, (), first, lines, row.zeros)
        )
    return tuple(found), without_shared


def _events(context: FindingContext) -> tuple[Expensive, ...]:
    work = context.work
    named = work.by_thing(np.asarray(context.ticks))[:MOST_EXPENSIVE]
    own = dict(work.by_thing(work.self_ticks(context.within)))
    return tuple(
        Expensive(name, own[name], wall, keys=work.keys_named({name})) for name, wall in named
    )
