"""The main figures of a trace in one scope, or of a model without a profile.

No figure is defined here: they are those of costs, delegation, findings and inference views.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.cost.costs import CostTable
from viewer.analysis.cost.source_costs import lines_text, module_costs, place_of
from viewer.analysis.delegates.delegation import (
    Delegation,
    DelegationReport,
    lowering_counts,
    recorded,
)
from viewer.analysis.findings.finding import FindingContext, FindingLevel
from viewer.analysis.findings.findings import Findings, FindingsAnalysis
from viewer.analysis.links.labels import series_names, set_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.wall_time import (
    Rate,
    TokenCount,
    WallPart,
    rate_of,
    sequences,
    tokens_of,
    wall_time,
)
from viewer.dataclasses import dataclass, field
from viewer.model.figures import EVERY_PHASE, FigureBase, TimeScope, figure_base
from viewer.model.inference_views import series_of, times_of_methods
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences
from viewer.program.executables import Executable
from viewer.program.module_tree import ModuleKind, module_tree
from viewer.program.program import Program

if TYPE_CHECKING:
    from viewer.analysis.findings.inferences import Outliers, SlowestInference
    from viewer.analysis.torq.estimates import Estimates


@dataclass(frozen=True, slots=True)
class MedianInference:
    """How long inferences of a method take.

    ticks: the median of the durations of `runs` inferences. run: the position of the typical one,
    the nearest to it; typical_ticks: its own duration. total: all durations together. name: of the
    method and phase, "" if the trace has one. levels: if durations shift, their levels in order of
    time, of all inferences after warm-up. rate: how they fill the wall time, None if that is not
    known. tokens: what the file states of tokens, or None.
    """

    run: int
    ticks: Fraction
    typical_ticks: int
    runs: int
    total: int
    name: str = ""
    levels: tuple[FindingLevel, ...] = ()
    rate: Rate | None = None
    tokens: TokenCount | None = None


def levels_of(findings: Findings) -> dict[str, tuple[FindingLevel, ...]]:
    """Return the levels of each phase that has several."""
    return {finding.phase: finding.levels for finding in findings.found if finding.levels}


def medians_of(
    table: LinkTable,
    picked: Run | None,
    levels: Mapping[str, tuple[FindingLevel, ...]],
    *,
    warm_up: bool,
) -> tuple[MedianInference | None, tuple[MedianInference, ...]]:
    """Return the median of the one method, or that of the picked inference, and those of several.

    Where it is open which methods inferences ran, several have no figures.
    """

    trace = table.trace
    position = {id(run): i for i, run in enumerate(trace.runs)}
    times = times_of_methods(trace, warm_up=warm_up)
    names = series_names(table, times)
    runs = counted_inferences(trace, warm_up=warm_up)
    rates = {
        series_of(trace, trace.runs[sequence[0]]): rate_of(trace, sequence)
        for sequence in sequences(trace)
    }
    medians = {
        series: MedianInference(
            position[id(method_time.typical)],
            method_time.median,
            method_time.typical.end - method_time.typical.start,
            method_time.runs,
            method_time.total,
            names[series],
            levels.get(names[series], ()),
            rates.get(series),
            tokens_of([run for run in runs if series_of(trace, run) == series]),
        )
        for series, method_time in times.items()
    }
    wanted = [series_of(trace, picked)] if picked is not None else list(medians)
    median = medians.get(wanted[0]) if len(wanted) == 1 else None
    is_open = any(part < 0 for _, _, part, _ in medians)
    methods = (
        ()
        if is_open or len(medians) < 2
        else sorted(medians.values(), key=lambda inference: -inference.total)
    )
    return median if median is not None and median.runs > 1 else None, tuple(methods)


def wall_of(table: LinkTable) -> tuple[WallPart, ...]:
    """Return where the wall time of a trace is spent, with the names of its methods and phases."""
    trace = table.trace
    series = {series_of(trace, run): None for run in trace.inferences()}
    return wall_time(trace, series_names(table, list(series)))


MOST_MODULES = 3


@dataclass(frozen=True, slots=True)
class HotModule:
    """A module, in ticks of its own operators, without those of modules in it.

    path: "Net_0.Linear_0". ticks: forward and backward; wall: what its share is of. keys: those of
    its slices.
    """

    path: str
    ticks: int
    wall: int
    backward: int
    keys: tuple[int, ...]

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def forward(self) -> int:
        """The ticks of the forward pass."""
        return self.ticks - self.backward


@dataclass(frozen=True, slots=True)
class Directions:
    """Wall time in ticks: of all modules forward and backward, and the rest of the whole."""

    forward: int
    backward: int
    other: int


def hot_modules(
    table: LinkTable, costs: CostTable
) -> tuple[tuple[HotModule, ...], Directions | None]:
    """Return the modules whose own operators take most, and the directions.

    None without a program that has both, or modules that are called forward.
    """
    program = table.program
    if program is None or not program.directions:
        return (), None
    tree = module_tree(program, joined=True)
    of_modules = module_costs(tree, costs)
    walls = dict.fromkeys((*program.directions, "")[:2], 0)
    own_wall = [0] * len(tree.modules)
    for row in costs.by_nodes:
        method = program.operators[row.operators[0]].method
        if method in program.directions:
            walls[method] += row.wall
        own_wall[int(tree.of_operator[row.operators[0]])] += row.wall
    forward, backward = walls.values()
    ranked = sorted(
        (
            number
            for number, module in enumerate(tree.modules)
            if module.kind is ModuleKind.MODULE and of_modules.self_ticks[number]
        ),
        key=lambda number: -int(of_modules.self_ticks[number]),
    )
    hottest = []
    for number in ranked[:MOST_MODULES]:
        module = tree.modules[number]
        in_children = sum(int(of_modules.backward[child]) for child in module.children)
        members = set(module.operators)
        keys = tuple(
            key for key, link in enumerate(table.links) if not members.isdisjoint(link.operators)
        )
        own_backward = int(of_modules.backward[number]) - in_children
        ticks = int(of_modules.self_ticks[number])
        hottest.append(HotModule(module.path, ticks, own_wall[number], own_backward, keys))
    return tuple(hottest), Directions(forward, backward, costs.whole - forward - backward)


@dataclass(frozen=True, slots=True)
class HeldCount:
    """How many of something a file holds. panel: the id of the panel that lists them."""

    count: int
    noun: str
    panel: str


def program_contents(program: Program) -> tuple[HeldCount, ...]:
    """Return what an ETRecord, a debug handle map or an MLIR text holds, without what it lacks."""
    lowered = lowering_counts(recorded(program))
    files = {op.source.path for op in program.operators if op.source}
    operators = sum(not op.is_function for op in program.operators)
    counts = (
        HeldCount(len(program.methods), "method", "model"),
        HeldCount(operators, "operator", "operators"),
        HeldCount(lowered.delegated, "operator delegated", "delegation"),
        HeldCount(lowered.partly, "operator partly delegated", "delegation"),
        HeldCount(
            lowered.not_delegated if lowered.calls else 0, "operator not delegated", "delegation"
        ),
        HeldCount(lowered.backends, "backend", "delegation"),
        HeldCount(lowered.calls, "delegate call", "delegation"),
        HeldCount(len(files), "source file", "source"),
    )
    return tuple(held_count for held_count in counts if held_count.count)


def executable_contents(executable: Executable) -> tuple[HeldCount, ...]:
    """Return what a program file holds, without what it lacks."""
    methods = executable.methods
    counts = (
        HeldCount(len(methods), "method", "program"),
        HeldCount(
            sum(len(executable_method.instructions) for executable_method in methods),
            "instruction",
            "program",
        ),
        HeldCount(
            sum(len(executable_method.delegates) for executable_method in methods),
            "delegate",
            "program",
        ),
    )
    return tuple(held_count for held_count in counts if held_count.count)


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
    from viewer.analysis.findings.inferences import slowest_inference

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
