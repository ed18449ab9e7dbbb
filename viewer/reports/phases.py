"""What each phase and method of a profile takes, and how it changes, as text and as data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.rates import rate_of, rate_text, sequences
from viewer.analysis.sequence.wall_time import tokens_of, tokens_text
from viewer.model.inferences.logged_methods import (
    Series,
    of_series,
    series_of,
    times_of_methods,
)
from viewer.model.times import counted, format_time, plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.reports.inferences import NoSuchRun
from viewer.workspace.workspace import Workspace


def phase_names(table: LinkTable) -> list[str]:
    """Return what the methods and phases of a trace are called; empty if there is only one."""
    return list(filter(None, _named(table).values()))


def linked_phase(workspace: Workspace, trace: Trace, phase: str) -> LinkTable:
    """Return the links of a trace, with "" for all of it, else of the view of one phase.

    phase: as in `phase_names`. Raises NoSuchRun if there is none of that name.
    """
    table = workspace.links(trace)
    if not phase:
        return table
    series = [phase_series for phase_series, name in _named(table).items() if name == phase]
    if not series:
        names = ", ".join(phase_names(table)) or "none"
        raise NoSuchRun(f"{trace.path} has no phase {phase!r}; it has {names}")
    return replace(table, trace=of_series(trace, series[0]))


def _named(table: LinkTable) -> dict[Series, str]:
    trace = table.trace
    series = dict.fromkeys(series_of(trace, run) for run in trace.inferences() if run.part >= 0)
    return series_names(table, series)


def phase_lines(workspace: Workspace, trace: Trace) -> list[str]:
    """Return a line for each phase or method with its median and rate, and the evidence.

    Of one phase, only its rate.
    """
    rate, table = workspace.clocks.ns_per_tick(trace), workspace.links(trace)
    every = {series_of(trace, trace.runs[sequence[0]]): sequence for sequence in sequences(trace)}
    names = series_names(table, every)
    medians = times_of_methods(trace)
    lines = []
    for series, sequence in every.items():
        tokens = tokens_of([trace.runs[run_index] for run_index in sequence])
        noun = (trace.unit.in_phase(names[series]) if tokens is None else trace.unit).noun
        parts: list[str] = []
        if names[series] and series in medians:
            median = tick_to_ns(medians[series].median, rate)
            parts.append(f"{counted(len(sequence), noun)}, median {format_time(median)}")
        if own_rate := rate_of(trace, sequence):
            parts.append(rate_text(own_rate, Fraction(rate), noun))
        parts.append(tokens_text("", tokens, Fraction(rate)))
        head = f"{names[series]}: " if names[series] else ""
        text = "; ".join(filter(None, parts))
        lines += [plain_spaces(f"{head}{text}")] if text else []
    return lines + [f"phases: {text}" for text in workspace.phase_evidence(trace)]
