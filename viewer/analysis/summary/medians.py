"""How long the inferences of each method and phase take, their levels, rates and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from viewer.analysis.findings.finding import FindingLevel
from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.rates import Rate, rate_of
from viewer.analysis.sequence.wall_time import TokenCount, WallPart, tokens_of, wall_time
from viewer.model.inferences.logged_methods import series_of, times_of_methods
from viewer.model.trace import Run
from viewer.model.warm_up import counted_inferences

if TYPE_CHECKING:
    from viewer.analysis.findings.findings import Findings


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
    from viewer.analysis.sequence.rates import sequences

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
