"""What each phase and method of a profile takes, and how it changes, as text and as data."""

from __future__ import annotations

from fractions import Fraction

from viewer.analysis.findings.finding import series_names
from viewer.analysis.findings.sequence import noun_of, rate_text
from viewer.analysis.sequence.changes import sequences
from viewer.analysis.sequence.rates import rate_of
from viewer.model.inferences.logged_methods import series_of, times_of_methods
from viewer.model.times import counted, format_time, plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.workspace.workspace import Workspace


def phase_lines(workspace: Workspace, trace: Trace) -> list[str]:
    """Return a line for each phase or method with its median and rate, and the evidence.

    Of one phase, only its rate.
    """
    rate, table = workspace.clocks.ns_per_tick(trace), workspace.links(trace)
    every = {series_of(trace, trace.runs[own[0]]): own for own in sequences(trace)}
    names = series_names(table, every)
    medians = times_of_methods(trace)
    lines = []
    for series, own in every.items():
        noun, parts = noun_of(names[series]), []
        if names[series] and series in medians:
            median = tick_to_ns(medians[series].median, rate)
            parts.append(f"{counted(len(own), noun)}, median {format_time(median)}")
        if own_rate := rate_of(trace, own):
            parts.append(rate_text(own_rate, Fraction(rate), noun))
        head = f"{names[series]}: " if names[series] else ""
        lines += [plain_spaces(f"{head}{'; '.join(filter(None, parts))}")] if parts else []
    return lines + [f"phases: {text}" for text in workspace.phase_evidence(trace)]
