"""What compilers planned next to what ran: `opscope delegation` and `opscope estimates`. No Qt.

For ETRecords alone, where nothing ran, every time is null. The data is a stable contract for
scripts. Every profile is reported in ticks of its own clock, and in nanoseconds (rounded down).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from viewer.analysis.delegates.delegation import (
    Delegation,
    DelegationReport,
    recorded,
)
from viewer.analysis.delegates.handle_maps import (
    NO_MAP,
    HandleMaps,
    IdentifierStatus,
    MapRow,
    recorded_rows,
)
from viewer.analysis.delegates.why_outside import NOT_KNOWN
from viewer.analysis.findings.finding import joined
from viewer.analysis.links.link_table import LinkState
from viewer.analysis.torq.estimates import ActionRow, ComparedAction, Estimates
from viewer.model.figures import LeftOut, TimeScope, left_out
from viewer.model.text import one_line
from viewer.model.times import (
    counted,
    format_rate,
    format_time,
    group_digits,
    plain_spaces,
    tick_to_ns,
)
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.reports.info import HEAD, Facts, clock_facts, clock_text
from viewer.reports.parts import linked_phase, phase_names, row_lines
from viewer.workspace.workspace import Workspace

UPPER_BOUND = "upper bound on savings: delegates take time, too"
PARTS = (("delegates", "delegated"), ("not delegated", "outside"), ("no operator", "neither"))
_MOST_PHASES = 8  # with totals of their own, each of which reads the whole profile
NOTHING = "no open file has slices, or operators that could be delegated"


def delegation_facts(workspace: Workspace, phase: str = "", *, warm_up: bool = False) -> Facts:
    """Return all profiles, or all ETRecords if there is no profile, as `--json` prints them.

    phase: only inferences of this method or phase; "" for all, which each file lists with their own
    totals. warm_up: whether the figures include inferences that warm up. Raises `NoSuchRun` of
    `viewer.reports.parts` for a phase that a profile does not have.
    """
    scope = TimeScope(warm_up=warm_up)
    files = [_trace_facts(workspace, trace, scope, phase) for trace in workspace.traces]
    if not workspace.traces:
        records = (one for one in workspace.programs if one.methods and not one.is_mlir)
        files = [
            {
                "path": program.path,
                "program": program.path,
                "kind": program.noun,
                "clock": None,
                "unfinished": 0,
                "warm_up": 0,
                "phase": None,
                "of_phases": [],
                **_report_facts(recorded(program, workspace.rejected(program)), program, None),
                "handle_map": _map_facts(recorded_rows(program), program, None),
            }
            for program in records
        ]
    return {**HEAD, "files": files}


def _trace_facts(workspace: Workspace, trace: Trace, scope: TimeScope, phase: str) -> Facts:
    rate, excluded = workspace.clocks.ns_per_tick(trace), left_out(trace, scope)
    table = linked_phase(workspace, trace, phase)
    report = Delegation(table).report(scope)
    names = [] if phase or not report.has_calls else phase_names(table)
    views = (linked_phase(workspace, trace, name) for name in names[:_MOST_PHASES])
    totals = [Delegation(view).report(scope) for view in views]
    return {
        "path": trace.path,
        "program": table.program_path,
        "kind": "profile",
        "clock": clock_facts(workspace, trace),
        "unfinished": excluded.unfinished,
        "warm_up": excluded.warm_up,
        "phase": phase or None,
        "of_phases": [
            {"phase": name, **_totals(own, None if own is None else own.whole, rate)}
            for name, own in zip_longest(names, totals)
        ],
        **_report_facts(report, table.program, rate),
        "handle_map": _map_facts(HandleMaps(table).rows(), table.program, rate),
    }


def _report_facts(
    report: DelegationReport, program: Program | None, rate: Fraction | None
) -> Facts:
    """Return a report as data; whole = delegated + outside + neither, `share` is of the whole."""
    coverage, whole = report.coverage, report.whole  # a property that sums all rows: read it once
    return {
        "has_delegate_calls": report.has_calls,
        **_totals(report, whole, rate),
        "delegates": [
            {
                "label": row.label,
                "method": row.method,
                "instruction_id": row.instruction if row.instruction >= 0 else None,
                "backend": row.backend or None,
                "operators": None if row.why else _labels(row.operators, program),
                "operators_unknown": row.why or None,
                "calls": row.calls,
                "events": row.events,
                **_time("time", row.ticks, rate),
                "share": _ratio(row.ticks, whole),
                **_time("unattributed", row.unattributed, rate),
                "unattributed_unknown": row.why_not_attributed or None,
            }
            for row in report.instances
        ],
        "stayed_outside": [
            {
                "label": outside.label,
                "operators": _labels(outside.operators, program),
                "slices": outside.slices,
                **_time("time", outside.ticks, rate),
                "share": _ratio(outside.ticks, whole),
                "why": outside.why or None,
                "why_is_logged": outside.is_logged,
            }
            for outside in report.not_delegated_rows
        ],
        "coverage": {
            "linkable": coverage.linkable,
            "linked": coverage.linked,
            "of_slices": _ratio(coverage.linked, coverage.linkable),
            "of_time": _ratio(coverage.linked_ticks, coverage.linkable_ticks),
        },
        "unlinked": [
            {
                "reason": unlinked.reason.text,
                "linkable": unlinked.reason.state is LinkState.UNLINKED,
                "backend": unlinked.backend or None,
                "slices": unlinked.slices,
                **_time("time", unlinked.ticks, rate),
                "detail": unlinked.detail,
                "what_to_do": unlinked.remedy,
            }
            for unlinked in report.unlinked
        ],
    }


def _totals(report: DelegationReport | None, whole: int | None, rate: Fraction | None) -> Facts:
    """Return a total and its parts; null without a report."""
    return {
        **_time("whole", whole, rate),
        **_time("delegated", report.delegated if report else None, rate),
        **_time("outside", report.not_delegated if report else None, rate),
        **_time("neither", report.no_operator if report else None, rate),
    }


def _map_facts(
    rows: Sequence[MapRow], program: Program | None, rate: Fraction | None
) -> list[Facts]:
    return [
        {
            "method": row.method,
            "instruction_id": row.instruction if row.instruction >= 0 else None,
            "backend": row.backend or None,
            "identifier": row.identifier or None,
            "standing": row.status.value,
            "debug_handles": list(row.handles),
            "operators": _labels(row.operators, program),
            "slices": row.slices,
            "on_own_clock": row.foreign,
            **_time("time", row.ticks if row.has_time else None, rate),
            "note": row.detail or None,
        }
        for row in rows
    ]


def _labels(operators: Sequence[int], program: Program | None) -> list[str]:
    return [program.operators[i].label for i in operators] if program else []


def _time(name: str, ticks: int | None, rate: Fraction | None) -> Facts:
    """Return a time in ticks and, rounded down, in ns; null if it is unknown or nothing ran."""
    if ticks is None or rate is None:
        return {f"{name}_ticks": None, f"{name}_ns": None}
    return {f"{name}_ticks": ticks, f"{name}_ns": tick_to_ns(ticks, rate)}


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


# -- text ------------------------------------------------------------------------------------------


def delegation_text(facts: Facts) -> str:
    """Format the facts for people: most expensive first, with reasons for what is unknown."""
    if not facts["files"]:
        return NOTHING
    text = "\n\n".join("\n".join(_file_lines(file)) for file in facts["files"])
    return plain_spaces(text)


def _file_lines(file: Facts) -> list[str]:
    record = f" -> {os.path.basename(file['program'])}" if file["program"] else ""
    ran = file["clock"] is not None
    head = f"{os.path.basename(file['path'])}{record if ran else ''}"
    lines = [head if ran else f"{head}: no profile"]
    if not file["has_delegate_calls"]:
        lines.append("  not applicable: no delegate calls, and no operators of such a runtime")
    elif ran:
        lines += _total_lines(file)
    if note := LeftOut(file["unfinished"], file["warm_up"]).text:
        lines.append(f"  {note}")
    if file["delegates"]:
        rows = [_DELEGATE, *map(_instance_cells, file["delegates"])]
        lines += ["", "delegates", *row_lines(rows, left=2)]
    if file["delegates"] and ran:
        columns = ("operators", "unattributed")
        unknown = [(of, row[f"{of}_unknown"]) for of in columns for row in file["delegates"]]
        lines += [f"  {of} unknown: {why}" for of, why in dict.fromkeys(unknown) if why]
    if file["stayed_outside"] and file["has_delegate_calls"]:
        note = f" ({UPPER_BOUND})" if ran else ""
        rows = [_NOT_DELEGATED, *map(_not_delegated_cells, file["stayed_outside"])]
        is_known = any(row["why"] for row in file["stayed_outside"])
        rows = rows if is_known else [row[:-1] for row in rows]
        lines += ["", f"not delegated{note}", *row_lines(rows, 1, ends_with_text=is_known)]
        lines += [] if is_known else [f"  {NOT_KNOWN}"]
    if ran:
        lines += ["", *_link_lines(file)]
    if file["handle_map"]:
        lines += ["", *_map_lines(file["handle_map"])]
    return lines


def _total_lines(file: Facts) -> list[str]:
    """Return the totals, which name what they cover, and those of each phase."""
    of = f" of {one_line(file['phase'])}" if file["phase"] else ""
    of = " of all methods and phases" if file["of_phases"] else of
    lines = [f"  total{of} {_ns(file['whole_ns'])}"]
    lines += [f"  {name} {_ns(file[f'{key}_ns'])}{_share(file, key)}" for name, key in PARTS]
    if not file["of_phases"]:
        return lines
    names = joined([own["phase"] for own in file["of_phases"]])
    lines.append(f"  covers {one_line(names)}; --phase shows one")
    rows = [
        (
            one_line(own["phase"]),
            _ns(own["whole_ns"]),
            *(f"{_ns(own[f'{key}_ns'])}{_share(own, key)}" for _, key in PARTS),
        )
        for own in file["of_phases"]
    ]
    return [
        *lines,
        "",
        *row_lines([("phase", "total", *(name for name, _ in PARTS)), *rows], left=1),
    ]


def _map_lines(rows: Sequence[Facts]) -> list[str]:
    """List the problems in the handle maps; backends without a map only get a row count."""
    without_map = Counter(row["note"] for row in rows if (row["note"] or "").endswith(NO_MAP))
    lines = [f"  {note} ({count} logged identifiers)" for note, count in without_map.items()]
    mapped = [row for row in rows if row["note"] not in without_map]
    if not mapped:
        return ["handle map: none", *lines]
    see = "--json and opscope export --table handle_map show all"
    lines = [f"handle map: {counted(len(rows), 'row')}; {see}", *lines]
    unexpected = [
        row for row in mapped if row["standing"] != IdentifierStatus.LOGGED.value or row["note"]
    ]
    if unexpected:
        lines += row_lines([_IDENTIFIER, *map(_map_cells, unexpected)], left=5)
    else:
        lines.append("  every identifier is registered and logged")
    return lines


_DELEGATE = ("delegate", "method", "instruction", "operators", "time", "share", "unattributed")
_NOT_DELEGATED = ("operators", "slices", "time", "share", "why not")
_IDENTIFIER = ("identifier", "status", "instruction", "handles", "note")


def _not_delegated_cells(row: Facts) -> tuple[str, ...]:
    return (
        one_line(row["label"]),
        str(row["slices"]),
        _ns(row["time_ns"]),
        _part(row["share"]),
        one_line(row["why"] or "-"),
    )


def _map_cells(row: Facts) -> tuple[str, ...]:
    return (
        one_line(row["identifier"] or "-"),
        IdentifierStatus(row["standing"]).title,
        _number(row["instruction_id"]),
        ", ".join(map(str, row["debug_handles"])) or "-",
        one_line(row["note"] or ""),
    )


def _link_lines(file: Facts) -> list[str]:
    found = file["coverage"]
    lines = ["links: no slice is linkable"]
    if found["linkable"]:
        lines = [
            f"links: {found['linked']} of {found['linkable']} linkable slices "
            f"({_part(found['of_slices'])}), {_part(found['of_time'])} of linkable time"
        ]
    for row in file["unlinked"]:
        mark = "" if row["linkable"] else " (not linkable)"
        lines.append(f"  {row['slices']} x {row['reason']}{mark}")
        if row["linkable"]:
            lines.append(f"    {one_line(row['what_to_do'])}")
    return lines


def _instance_cells(row: Facts) -> tuple[str, ...]:
    operators = row["operators"]
    return (
        one_line(row["label"]),
        one_line(row["method"]),
        _number(row["instruction_id"]),
        "-" if operators is None else str(len(operators)),
        _ns(row["time_ns"]),
        _part(row["share"]),
        _ns(row["unattributed_ns"]),
    )


def _ns(ns: float | None) -> str:
    return "-" if ns is None else format_time(ns)


def _part(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _share(file: Facts, key: str) -> str:
    whole: Any = file["whole_ticks"]
    return f" ({file[f'{key}_ticks'] / whole:.1%})" if whole else ""


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


_COLUMNS = ("estimate", "measured", "p50", "min", "max", "runs", "ratio")
_MEASURED = ("mean", "p50", "min", "max")
NO_ESTIMATES = (
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
        "actions": [
            {
                "dispatch": action.dispatch or None,
                "start_action": action.start_action,
                "action": action.action,
                "job": action.job,
                "operation": action.operation,
                **_compared_facts(estimates, action),
            }
            for action in estimates.actions
        ],
        "operators": [
            {"actions": row.actions, **_compared_facts(estimates, row)}
            for row in estimates.operators
        ],
    }


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
        return "\n".join([NO_ESTIMATES, *estimates.notes])
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
                _number(row.job),
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
        _ns(row.estimate_ns),
        *(_ns(getattr(measured, name, None)) for name in _MEASURED),
        group_digits(measured.runs) if measured else "-",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
    )
