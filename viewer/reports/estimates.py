"""The output of `opscope estimates`: estimates and measurements as plain data and as text. No Qt.

The data is a stable contract for scripts; the text is derived from it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from viewer.analysis.torq.estimates import ActionRow, ComparedAction, Estimates, OperatorRow
from viewer.model.text import one_line
from viewer.model.times import format_rate, format_time, group_digits, plain_spaces
from viewer.reports.columns import row_lines
from viewer.reports.info import HEAD, Facts, clock_text

_COLUMNS = ("estimate", "measured", "p50", "min", "max", "runs", "ratio")
_MEASURED = ("mean", "p50", "min", "max")
NOTHING = (
    "No open file has actions or jobs of a Torq dispatch: open a runtime profile together with its "
    "compile profile or its debug info"
)


def estimate_facts(estimates: Estimates) -> Facts:
    """Return all rows, as `opscope estimates --json` prints them; times in ns, null if unknown."""
    return {
        **HEAD,
        "ns_per_cycle": float(estimates.cycles.ns_per_tick),
        "rate": plain_spaces(format_rate(estimates.cycles.ns_per_tick)),
        "rate_origin": str(estimates.cycles.origin),
        "sources": [{"path": path, "gives": gives} for path, gives in estimates.sources],
        "notes": list(estimates.notes),
        "actions": [_action_facts(estimates, row) for row in estimates.actions],
        "operators": [_operator_facts(estimates, row) for row in estimates.operators],
    }


def _action_facts(estimates: Estimates, row: ActionRow) -> Facts:
    return {
        "dispatch": row.dispatch or None,
        "start_action": row.start_action,
        "action": row.action,
        "job": row.job,
        "operation": row.operation,
        **_compared_facts(estimates, row),
    }


def _operator_facts(estimates: Estimates, row: OperatorRow) -> Facts:
    return {"actions": row.actions, **_compared_facts(estimates, row)}


def _compared_facts(estimates: Estimates, row: ComparedAction) -> Facts:
    measured = row.measured
    return {
        "operators": operator_places(estimates, row.operators),
        "on_npu": row.on_npu,
        "estimate_cycles": row.estimate,
        "estimate_ns": row.estimate_ns,
        "runs": measured.runs if measured else 0,
        **{f"{name}_ns": getattr(measured, name, None) for name in _MEASURED},
        "ratio": None if row.ratio is None else round(row.ratio, 4),
        "reason": row.reason or None,
    }


def operator_places(estimates: Estimates, operators: Sequence[int]) -> list[str]:
    """Return "tosa.conv2d@L11" for every operator, in text order."""
    program = estimates.table.program if estimates.table else None
    return [] if program is None else [program.operators[i].label for i in sorted(operators)]


def estimate_text(estimates: Estimates) -> str:
    """Format the rows for people as aligned columns, followed by the reasons for missing values."""
    if not estimates.actions and not estimates.operators:
        return "\n".join([NOTHING, *estimates.notes])
    blocks = [f"clock: {clock_text(estimates.cycles)}"]
    blocks += [f"{gives}: {os.path.basename(path)}" for path, gives in estimates.sources]
    blocks += [f"note: {note}" for note in estimates.notes]
    dispatches = dict.fromkeys(row.dispatch for row in estimates.actions)
    for dispatch in dispatches:
        rows = [row for row in estimates.actions if row.dispatch == dispatch]
        table: list[tuple[str, ...]] = [("actions", "job", "operation", "operators", *_COLUMNS)]
        table += [
            (
                _action_text(row),
                _text(row.job),
                one_line(row.operation),
                " + ".join(operator_places(estimates, row.operators)),
                *_compared_text(row),
            )
            for row in rows
        ]
        blocks += ["", one_line(dispatch or "dispatch not named"), *row_lines(table, left=4)]
    if estimates.operators:
        table = [("operators", "on", "actions", *_COLUMNS)]
        table += [
            (
                " + ".join(operator_places(estimates, row.operators)),
                "NPU" if row.on_npu else "host",
                str(row.actions),
                *_compared_text(row),
            )
            for row in estimates.operators
        ]
        blocks += ["", "operators", *row_lines(table, left=2)]
    everything: list[ComparedAction] = [*estimates.actions, *estimates.operators]
    reasons = Counter(row.reason for row in everything if row.reason)
    if reasons:
        blocks += [
            "",
            *(
                f"{count} without an estimate and a measurement: {why}"
                for why, count in reasons.items()
            ),
        ]
    return "\n".join(blocks)


def _action_text(row: ActionRow) -> str:
    """Return "3 .. 4" for a job, "2" for another action."""
    actions = [a for a in (row.start_action, row.action) if a is not None]
    return " .. ".join(map(str, actions)) or "-"


def _compared_text(row: ComparedAction) -> tuple[str, ...]:
    measured = row.measured
    return (
        _time(row.estimate_ns),
        *(_time(getattr(measured, name, None)) for name in _MEASURED),
        group_digits(measured.runs) if measured else "-",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
    )


def _time(ns: float | None) -> str:
    return "-" if ns is None else format_time(ns)


def _text(value: int | None) -> str:
    return "-" if value is None else str(value)
