"""Parts of several reports: the inferences and phases that are reported, and columns of text.

A user gives an inference by its number, and a phase or method by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from viewer.analysis.links.labels import series_names
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.wall_time import rate_of, rate_text, sequences, tokens_of, tokens_text
from viewer.dataclasses import replace
from viewer.model.inference_views import Series, of_series, series_of, times_of_methods
from viewer.model.times import counted, format_time, plain_spaces, split_time, tick_to_ns
from viewer.model.trace import Run, Trace
from viewer.workspace.workspace import Workspace


def aligned_times(texts: Sequence[str]) -> list[str]:
    """Pad times of several units so that, right-aligned, their units begin in one column."""
    parts = [split_time(text) for text in texts]
    slot = max((len(unit) for _, unit in parts), default=0)
    return [f"{number} {unit.ljust(slot)}" if number and slot else number for number, unit in parts]


def column_lines(columns: Sequence[tuple[str, list[str]]], right: int) -> list[str]:
    """Return the rows below their titles; the first `right` columns are numbers."""
    return _lines([(title, *texts) for title, texts in columns], lambda i: i >= right)


def row_lines(
    table: Sequence[tuple[str, ...]], left: int, *, ends_with_text: bool = False
) -> list[str]:
    """Return rows, the titles among them, indented; the first `left` columns are texts."""
    columns = list(zip(*table, strict=True))
    last = len(columns) - 1 if ends_with_text else -1
    lines = _lines(columns, lambda i: i < left or i == last)
    return [f"  {line}".rstrip() for line in lines]


def _lines(columns: Sequence[tuple[str, ...]], is_text: Callable[[int], bool]) -> list[str]:
    padded = []
    for number, texts in enumerate(columns):
        pad, width = str.ljust if is_text(number) else str.rjust, max(map(len, texts))
        padded.append([pad(text, width) for text in texts])
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


class NoSuchRun(ValueError):
    """No open profile has an inference of that number; the message lists the existing ones."""


def numbered_inferences(traces: Sequence[Trace], number: int) -> list[tuple[Trace, Run]]:
    """Return the inferences of a number, with their traces; several methods can have one.

    Raises `NoSuchRun` if no trace has the number.
    """
    inferences = [(trace, run) for trace in traces for run in trace.inferences()]
    numbered = [(trace, run) for trace, run in inferences if run.number == number]
    if not numbered:
        most = max((run.number for _, run in inferences), default=0)
        existing = f"the inferences are numbered 1 to {most}" if most else "no file has inferences"
        raise NoSuchRun(f"there is no inference {number}: {existing}")
    return numbered


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
