"""Comparisons of a lake as text for a terminal, and as plain data for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewer.analysis.comparison.comparison import Compared
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.steps import CHANGED
from viewer.fleet.answers.arms import ArmChoice
from viewer.fleet.answers.comparison import GroupComparison
from viewer.model.times import counted, plain_spaces
from viewer.reports.compare import figure_facts, rate_facts
from viewer.reports.compare_text import median_text, rows_lines, sentence_of, wall_time

SCHEMA = "opscope-fleet-compare/1"
# Groups that are shown without a proven change, if there are no others.
_MOST = 5


def lake_comparison_text(
    a: ArmChoice,
    b: ArmChoice,
    group_comparisons: Sequence[GroupComparison],
    notes: Sequence[str],
    *,
    everything: bool = False,
) -> str:
    """Return comparisons as text: groups with proven changes, largest first, or all of them."""
    changed = sorted(
        (one for one in group_comparisons if one.largest_ns),
        key=lambda one: (-one.largest_ns, one.group.label),
    )
    others = [one for one in group_comparisons if not one.largest_ns]
    verb = "has" if len(group_comparisons) == 1 else "have"
    lines = [
        f"A: {a.text}",
        f"B: {b.text}",
        f"{len(changed)} of {counted(len(group_comparisons), 'group')} {verb} a proven change.",
    ]
    shown = [*changed, *(others if everything else others[: 0 if changed else _MOST])]
    for group_comparison in shown:
        lines += ["", *_group_lines(group_comparison, everything=everything)]
    left = len(group_comparisons) - len(shown)
    if left:
        lines += ["", f"{counted(left, 'more group')} without a proven change. --all shows them."]
    lines += [f"note: {note}" for note in notes]
    return plain_spaces("\n".join(lines))


def _group_lines(group: GroupComparison, *, everything: bool) -> list[str]:
    whole = group.inference
    times = ""
    if whole.a_ns is not None and whole.b_ns is not None:
        times = f" {median_text(whole.a_ns)} → {median_text(whole.b_ns)}."
    lines = [
        f"{group.group.label}: {group.sessions[0]} + {counted(group.sessions[1], 'session')}",
        sentence_of(whole, has_clock_option=False) + times,
        *wall_time(*group.rates),
        *([group.note] if group.note else []),
    ]
    proven = group.proven
    others = sorted(
        (e for e in zip(group.rows, group.compared, strict=True) if e[1].verdict not in CHANGED),
        key=lambda each: -abs(each[1].change_ns),
    )
    shown: list[tuple[Row, Compared]] = [*proven, *others] if everything else proven
    if shown:
        lines += rows_lines([(*each, None) for each in shown])
    if others and not everything:
        lines.append(f"{counted(len(others), 'more row')} without a proven change.")
    return lines


def lake_comparison_facts(
    a: ArmChoice, b: ArmChoice, group_comparisons: Sequence[GroupComparison], notes: Sequence[str]
) -> dict[str, Any]:
    """Return comparisons as plain data: every group with all of its rows."""
    return {
        "schema": SCHEMA,
        "a": dict(a.conditions),
        "b": dict(b.conditions),
        "groups": [_group_facts(group_comparison) for group_comparison in group_comparisons],
        "notes": list(notes),
    }


def _group_facts(group_comparison: GroupComparison) -> dict[str, Any]:
    rows = zip(group_comparison.rows, group_comparison.compared, strict=True)
    return {
        **{name: value or None for name, value in group_comparison.group.values},
        "profiles": [len(keys) for keys in group_comparison.group.keys],
        "sessions": list(group_comparison.sessions),
        "changed": bool(group_comparison.proven) or group_comparison.inference.verdict in CHANGED,
        "note": group_comparison.note or None,
        "inference": figure_facts(group_comparison.inference),
        "rates": {
            arm: rate_facts(rate) for arm, rate in zip("ab", group_comparison.rates, strict=True)
        },
        "rows": [
            {
                "level": row.level,
                "label": row.label,
                "grade": row.grade.value,
                "why": row.why,
                **figure_facts(figures),
            }
            for row, figures in rows
        ],
    }
