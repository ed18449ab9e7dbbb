"""What a report is about: key figures, warnings, findings, a comparison, and their sources.

The provenance has files, hashes, clocks, and what is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from viewer import __version__
from viewer.analysis.comparison.comparison import CHANGED, Compared, Comparison
from viewer.analysis.findings.finding import Finding, share_text
from viewer.analysis.summaries import MedianInference
from viewer.arrays import lists_by_key
from viewer.codecs.file_bytes import hash_facts
from viewer.codecs.reading import Cancelled
from viewer.html_report.contents import Contents, Profile, short_paths
from viewer.html_report.html import (
    Cell,
    Row,
    definitions,
    details,
    figures,
    paragraph,
    rest_note,
    section,
    table,
    text,
)
from viewer.model.figures import STEADY, left_out
from viewer.model.text import bytes_text
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.model.timing import Timing, timing_text, timings
from viewer.model.trace import Trace
from viewer.model.trace_attributes import WorkUnit
from viewer.reports.compare import compare_facts
from viewer.reports.compare_text import (
    RELATIVE,
    change_text,
    difference_text,
    explanation,
    headline,
    interval_text,
    median_text,
    verdict_cell,
    whole_inference,
    whole_name,
)
from viewer.reports.info import format_words, info
from viewer.reports.summary import wall_text
from viewer.workspace.workspace import Workspace

_MOST_FINDINGS = 8
_MOST_METHODS = 4


def overview(contents: Contents) -> str:
    """Return the key figures and the findings of every profile shown in detail."""
    several = len(contents.profiles) > 1
    parts = [_profile(contents, profile, named=several) for profile in contents.profiles]
    if contents.others:
        parts.append(
            paragraph(
                f"{counted(contents.others, 'more profile')} listed below without details.", "note"
            )
        )
    compared = contents.options.compared
    answer = "" if compared is None else paragraph(headline(compared.comparison), "answer")
    return section("summary", "Summary and findings", answer, *parts)


def key_figures(profile: Profile) -> list[tuple[str, str]]:
    """Return the main figures of a profile, as (value, meaning)."""
    summary, open_trace = profile.summary, profile.shown
    rate = open_trace.axis.ns_per_tick
    pairs: list[tuple[str, str]] = []
    unit = open_trace.file.unit
    median = summary.median
    if median is not None:
        what = f"median of {unit.counted(median.runs)}"
        pairs += _median_figures(median, what, rate, unit)
    elif summary.methods:
        for median in summary.methods[:_MOST_METHODS]:
            what = f"median of {unit.counted(median.runs)} of {median.name}"
            what = what if median.runs > 1 else f"the {unit.noun} of {median.name}"
            pairs += _median_figures(median, what, rate, unit)
        if len(summary.methods) > _MOST_METHODS:
            more = counted(len(summary.methods) - _MOST_METHODS, "more method")
            pairs.append((more, "with less time"))
    elif any(open_trace.file.inferences()):
        pairs.append((format_time(tick_to_ns(summary.whole, rate)), f"all {unit.plural}"))
    else:
        pairs.append((format_time(tick_to_ns(summary.span, rate)), "duration"))
        pairs.append((format_time(tick_to_ns(summary.whole, rate)), summary.busy or "busy time"))
    if summary.slowest is not None:
        pairs.append((format_time(tick_to_ns(summary.slowest.ticks, rate)), f"slowest {unit.noun}"))
    if summary.delegation is not None:
        report = summary.delegation
        where = f"delegated in {summary.phase}" if summary.phase else "delegated"
        pairs.append((share_text(report.delegated, report.whole), where))
    slices = len(open_trace.file.slices) - open_trace.file.slices.derived_count
    pairs.append(
        (group_digits(slices), f"slices on {counted(len(open_trace.file.tracks), 'track')}")
    )
    return pairs


def _median_figures(
    median: MedianInference, what: str, rate: Fraction, unit: WorkUnit
) -> list[tuple[str, str]]:
    """Return a median, or the first and the last level if durations shift, and the rate."""
    noun = unit.in_phase(median.name).noun
    of = f" of {median.name}" if median.name else ""
    pairs = [(format_time(tick_to_ns(median.ticks, rate)), what)]
    if median.levels:
        first, last = median.levels[0], median.levels[-1]
        pairs = [
            (
                f"{format_time(tick_to_ns(first.ticks, rate))} → "
                f"{format_time(tick_to_ns(last.ticks, rate))}",
                f"median{of}, first and last of {len(median.levels)} levels: from {unit.noun} "
                f"{group_digits(last.first)} on {last.factor:.2g} times",
            )
        ]
    if median.rate is not None and (per_second := median.rate.per_second(rate)):
        pairs.append((f"{per_second:,.4g}", f"{noun}s{of} per second of wall time"))
    tokens = median.tokens
    if tokens is not None and (per_second := tokens.per_second(rate)):
        what = f"tokens{of} per second, of {counted(tokens.tokens, 'token')}"
        pairs.append((f"{per_second:,.4g}", what))
    return pairs


def findings_of(profile: Profile) -> tuple[Finding, ...]:
    """Return the findings of a profile that a report lists, the largest gain first."""
    return tuple(profile.summary.findings.found[:_MOST_FINDINGS])


def _profile(contents: Contents, profile: Profile, *, named: bool) -> str:
    heading = f"<h3>{text(profile.title)}</h3>" if named else ""
    trace = profile.shown.file
    warnings = [paragraph(warning, "warning") for warning in profile.workspace.warnings(trace)]
    outliers = profile.summary.outliers
    if outliers is not None:
        warnings.append(
            paragraph(
                f"{outliers.text}, which skews the figures of all {trace.unit.plural}.", "warning"
            )
        )
    note = left_out(trace, STEADY).text
    return "\n".join(
        [
            heading,
            *warnings,
            figures(key_figures(profile)),
            paragraph(note, "note"),
            paragraph(wall_text(profile.summary.wall, profile.shown.axis.ns_per_tick), "note"),
            _findings(profile),
        ]
    )


def _findings(profile: Profile) -> str:
    findings = profile.summary.findings
    items = "\n".join(
        f'<li class="{text(finding.severity.key)}"><strong>{text(finding.title)}</strong> '
        f'<span class="severity">{text(finding.severity.key)}</span>'
        f"{paragraph(finding.detail)}{paragraph(finding.advice)}"
        f"{paragraph(f'Rule: {finding.rule}', 'rule')}</li>"
        for finding in findings_of(profile)
    )
    listed = f'<ol class="findings">{items}</ol>' if items else paragraph("No findings.", "note")
    passed = sum(not_reported.applicable for not_reported in findings.not_reported)
    rest = len(findings.found) - len(findings_of(profile)) + findings.left_out
    more = [f"{counted(rest, 'more finding')} with a smaller gain"] if rest else []
    more += [f"{counted(passed, 'check')} passed"] if passed else []
    checks = "".join(
        f"<li>{text(not_reported.title)}: {text(not_reported.why, 500)}</li>"
        for not_reported in findings.not_reported
    )
    return listed + details(
        ", ".join(more) or "Checks without a finding", f"<ul>{checks}</ul>" if checks else ""
    )


_WIDTH, _BAR, _STEP, _LABELS = 640, 16, 24, 150


def comparison(contents: Contents) -> str:
    """Return the comparison; "" if there is none."""
    compared = contents.options.compared
    if compared is None:
        return ""
    comparison_of_files = compared.comparison
    facts = compare_facts(comparison_of_files, compared.problems)
    verdict, figure = whole_inference(
        comparison_of_files.inference, comparison_of_files.inference_drift
    )
    arms = [(_arm(facts["arms"][name]), name.upper()) for name in ("a", "b")]
    notes = [RELATIVE] if comparison_of_files.is_relative else []
    notes += list(compared.problems)
    return section(
        "comparison",
        "Comparison",
        f'<p class="answer">{text(headline(comparison_of_files), 1000)}</p>',
        paragraph(explanation(comparison_of_files)),
        figures([(verdict, f"B, {whole_name(comparison_of_files)}"), *arms]),
        paragraph(figure),
        _waterfall(facts["waterfall"]),
        rows_table(comparison_of_files, contents.limits.rows),
        *(paragraph(note, "note") for note in notes),
    )


def _arm(arm: dict[str, Any]) -> str:
    runs, sessions = sum(arm["runs"]), arm["sessions"]
    return f"{counted(sessions, 'session')}, {counted(runs, 'inference')}"


def _waterfall(fall: dict[str, Any] | None) -> str:
    """Return the way from the time of A to that of B: what each kind of row adds."""
    if fall is None:
        return ""
    steps = [
        ("common factor", fall["common_ns"]),
        ("pairs", fall["pairs_ns"]),
        ("only in A", fall["only_a_ns"]),
        ("only in B", fall["only_b_ns"]),
        ("in no row", fall["rest_ns"]),
    ]
    bars = [("A", 0, fall["a_ns"], median_text(fall["a_ns"]), "whole")]
    level = fall["a_ns"]
    for name, ns in steps:
        if ns:
            kind = "slower" if ns > 0 else "faster"
            bars.append((name, level, level + ns, difference_text(ns), kind))
        level += ns
    bars.append(("B", 0, fall["b_ns"], median_text(fall["b_ns"]), "whole"))
    ends = [end for bar in bars for end in bar[1:3]]
    low, high = min(0, *ends), max(1, *ends)
    scale = (_WIDTH - 2 * _LABELS) / (high - low)
    height = _STEP * len(bars)
    lines = [
        f'<svg class="waterfall" viewBox="0 0 {_WIDTH} {height}" role="img">'
        "<title>From the time of A to that of B</title>"
    ]
    for number, (name, start, end, amount, kind) in enumerate(bars):
        y = number * _STEP + 4
        x = _LABELS + (min(start, end) - low) * scale
        wide = max(abs(end - start) * scale, 1)
        lines.append(
            f'<text x="{_LABELS - 8}" y="{y + 12}" text-anchor="end">{text(name)}</text>'
            f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{_BAR}"/>'
            f'<text x="{x + wide + 6:.1f}" y="{y + 12}">{text(amount)}</text>'
        )
    return "\n".join([*lines, "</svg>"])


_TITLES = ("Δ", "Change", "95 % interval", "A", "B", "Verdict", "Pair", "What")


def rows_table(compared: Comparison, most: int) -> str:
    """Return the rows of a comparison, at most some: proven changes first."""
    every = sorted(
        zip(compared.rows, compared.compared, compared.drifts, strict=True),
        key=lambda each: (each[1].verdict not in CHANGED, -abs(each[1].change_ns)),
    )
    rows = [
        Row(
            [
                *change_cells(figures),
                Cell(verdict_cell(figures, drift)),
                Cell(row.grade.value.replace("_", " ")),
                Cell(row.label),
            ],
            {"verdict": figures.verdict.value},
        )
        for row, figures, drift in every[:most]
    ]
    html = table("Rows of A and B, proven changes first", _TITLES, rows, left=3)
    return html + rest_note(len(every) - most, "more row")


def change_cells(compared: Compared) -> list[Cell]:
    """Return the change of a row, its interval, and the medians of both arms."""
    return [
        Cell(difference_text(compared.change_ns) if compared.change_ns else "", compared.change_ns),
        Cell(change_text(compared), compared.change),
        Cell(interval_text(compared)),
        Cell(median_text(compared.a_ns), compared.a_ns),
        Cell(median_text(compared.b_ns), compared.b_ns),
    ]


_MOST_PROBLEMS = 40


def provenance(contents: Contents, cancelled: Cancelled) -> str:
    """Return the files of a report. Raises WriteCancelled."""
    workspace_facts = [(space, info(space)) for space in contents.workspaces]
    paths = dict.fromkeys(path for space, _ in workspace_facts for path in space.paths)
    names = short_paths(paths)
    files: dict[str, Row] = {}
    notes: dict[str, list[str]] = {}
    for space, facts in workspace_facts:
        for file in facts["files"]:
            path = file["path"]
            if path in files:
                continue
            files[path] = Row(_cells(space, file, names[path], cancelled))
            notes[names[path]] = _notes(space, file)
    titles = ("Size", "File", "Format", "Contents", "Clock", "SHA-256")
    rows = list(files.values())[: contents.limits.rows]
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    alike = lists_by_key((tuple(own), name) for name, own in notes.items() if own)
    lists = "".join(_note_list(named, file_names) for file_names, named in alike.items())
    return section(
        "provenance",
        "Where it comes from",
        table("Files", titles, rows, left=5, sortable=False),
        lists,
        definitions([("Written", f"{written} by Opscope {__version__}")]),
    )


def _note_list(names: Sequence[str], notes: Sequence[str]) -> str:
    """Return the notes of some files that have the same ones."""
    more = f" and {counted(len(names) - 1, 'more file')}" if len(names) > 1 else ""
    items = "".join(f"<li>{text(note, 1000)}</li>" for note in notes)
    return f"<h3>{text(names[0])}{more}</h3><ul>{items}</ul>"


def _cells(
    space: Workspace, file: dict[str, Any], name: str, cancelled: Cancelled
) -> Sequence[Cell]:
    path = file["path"]
    stamp, hashed = space.stamp(path), hash_facts(path, space.stamp(path), cancelled)
    digest = hashed.get("sha256") or f"unknown: {hashed['sha256_missing']}"
    kind = file["kind"]
    if kind == "trace":
        what = (
            f"{counted(file['slices'], 'slice')}, {counted(len(file['inferences']), file['unit'])}"
        )
    elif kind == "program":
        operators = sum(file["methods"].values())
        what = f"{counted(operators, 'operator')}"
    else:
        what = "program file"
    clock = file["clock"]
    rate = "" if clock is None else f"{clock['rate']} ({clock['origin']})"
    if clock is not None and clock["unit"] != "cycle":
        rate = f"1 tick = {clock['ns_per_tick']:g} ns ({clock['origin']})"
    return [
        Cell(
            "" if stamp is None else bytes_text(stamp.size), None if stamp is None else stamp.size
        ),
        Cell(name),
        Cell(format_words(file["format"], file["generation"])),
        Cell(what),
        Cell(rate),
        Cell(digest),
    ]


def _notes(space: Workspace, file: dict[str, Any]) -> list[str]:
    """Return what is assumed, estimated or unexpected in a file."""
    notes = []
    clock = file["clock"]
    if clock is not None and clock["assumed"]:
        notes.append("The file does not state the rate of its clock; it is assumed.")
    trace = next((t for t in space.traces if t.path == file["path"]), None)
    if trace is not None:
        notes += _timing_notes(trace)
    warm_up = sum(inference["warm_up"] for inference in file["inferences"])
    if warm_up:
        notes.append(f"{counted(warm_up, file['unit'])} as warm-up: not in medians and findings.")
    problems = [
        f"{problem['kind']}: {group_digits(problem['count'])}"
        for problem in file["problems"][:_MOST_PROBLEMS]
    ]
    return [*notes, *problems]


def _timing_notes(trace: Trace) -> list[str]:
    """Return how many slices have times that are not measured."""
    timing_bits = timings(trace.slices)
    return [
        f"{counted(count, 'slice')} with times that are {timing_text(int(kind))}"
        for kind in np.unique(timing_bits[timing_bits != Timing.MEASURED])
        if (count := int((timing_bits == kind).sum()))
    ]
