"""The comparison in a report: the answer in a sentence, where the change comes from, and rows."""

from __future__ import annotations

from typing import Any

from viewer.analysis.comparison.comparison import Compared, Comparison
from viewer.analysis.comparison.joined import Row as ComparedRow
from viewer.analysis.comparison.steps import CHANGED
from viewer.html_report.contents import Contents
from viewer.html_report.html import Cell, Row, figures, paragraph, rest_note, section, table, text
from viewer.model.times import counted
from viewer.reports.compare import compare_facts
from viewer.reports.compare_sentences import explanation, headline, whole_inference, whole_name
from viewer.reports.compare_text import (
    RELATIVE,
    change_text,
    difference_text,
    interval_text,
    median_text,
    verdict_cell,
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
    rows = [_row(*each) for each in every[:most]]
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


def _row(row: ComparedRow, compared: Compared, drift: float | None) -> Row:
    return Row(
        [
            *change_cells(compared),
            Cell(verdict_cell(compared, drift)),
            Cell(row.grade.value.replace("_", " ")),
            Cell(row.label),
        ],
        {"verdict": compared.verdict.value},
    )
