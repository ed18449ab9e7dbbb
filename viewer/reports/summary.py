"""The main figures of every profile, how its phases change over time, and its findings. No Qt.

The data is a stable contract for scripts. Times are whole ns, rounded down; findings also have
ticks of the profile's clock. `ns` of whole, delegation, most expensive, modules and directions are
what `ns_is` says: a sum, if several inferences are in scope. Next to it is the mean, if the panel
shows one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction

from viewer.analysis.delegates.delegation import Delegation, DelegationReport
from viewer.analysis.findings.finding import (
    Family,
    Finding,
    FindingPlace,
    OperatorSets,
    PanelRef,
    RunRef,
    SliceKeys,
    SliceNumbers,
    TimeSpan,
    TimeView,
    checks_text,
)
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summaries import (
    Directions,
    Expensive,
    HeldCount,
    MedianInference,
    Summary,
    executable_contents,
    levels_of,
    medians_of,
    program_contents,
    summary_of,
    wall_of,
)
from viewer.analysis.torq.estimates import Estimates
from viewer.dataclasses import dataclass
from viewer.model.figures import FigureBase, TimeScope
from viewer.model.text import one_line
from viewer.model.times import counted, format_time, plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.reports.info import HEAD, Facts, clock_facts, range_text
from viewer.reports.parts import numbered_inferences
from viewer.tables.command_rows import FINDINGS
from viewer.workspace.snapshot import estimates_of_workspace
from viewer.workspace.workspace import Workspace


def course_facts(median: MedianInference, rate: Fraction) -> Facts:
    """How the inferences of a phase change over time, and how they fill the wall time."""
    own_rate, tokens = median.rate, median.tokens

    def ns(ticks: int | Fraction) -> int:
        return tick_to_ns(ticks, rate)

    return {
        "phase": plain_spaces(median.name) or None,
        "inferences": median.runs,
        "p50_ns": ns(median.ticks),
        "levels": [
            {
                "first_inference": finding_level.first,
                "p50_ns": ns(finding_level.ticks),
                "factor": round(finding_level.factor, 4),
            }
            for finding_level in median.levels
        ],
        "per_second": None if own_rate is None else own_rate.per_second(rate),
        "idle_ns": None if own_rate is None else ns(own_rate.idle),
        "idle_share": None if own_rate is None else round(own_rate.share, 6),
        "tokens": None if tokens is None else tokens.tokens,
        "tokens_per_second": None if tokens is None else tokens.per_second(rate),
    }


def wall_facts(wall: Sequence[WallPart], rate: Fraction) -> list[Facts]:
    """Return the parts of the wall time; they do not overlap. idle: nothing in the file runs."""
    return [
        {
            "part": plain_spaces(wall_part.name),
            "ns": tick_to_ns(wall_part.ticks, rate),
            "idle": wall_part.is_idle,
        }
        for wall_part in wall
    ]


def wall_text(wall: Sequence[WallPart], rate: Fraction) -> str:
    """Return "Wall time: Load 7.120 s, Prefill 9.600 s"; "" with fewer than two parts."""
    parts = [
        f"{wall_part.name} {format_time(tick_to_ns(wall_part.ticks, rate))}" for wall_part in wall
    ]
    return f"Wall time: {', '.join(parts)}." if len(parts) > 1 else ""


def course_lines(file: Facts) -> list[str]:
    """Return the tokens of each phase and the wall time as lines; [] if no file states tokens."""
    lines = []
    for phase in file["phases"]:
        if phase["tokens"]:
            rate = phase["tokens_per_second"]
            per_second = "" if rate is None else f", {rate:,.4g} per second"
            of = f"{phase['phase'] or 'inferences'}: {format_time(phase['p50_ns'])}"
            of += " median" if phase["inferences"] > 1 else ""
            lines.append(f"{of}, {counted(phase['tokens'], 'token')}{per_second}")
    if not lines:
        return []
    parts = [
        f"{wall_part['part']} {format_time(wall_part['ns'])}" for wall_part in file["wall_time"]
    ]
    return [plain_spaces(line) for line in (*lines, f"wall time: {', '.join(parts)}")]


def summary_facts(
    workspace: Workspace, number: int | None = None, *, warm_up: bool = False
) -> Facts:
    """Return the main figures of all profiles, and the contents of all model files.

    number: only inferences with this number, in each profile that has one. warm_up: whether figures
    over all inferences include those that warm up. Raises `NoSuchRun` of
    `viewer.reports.parts` if no profile has the number.
    """
    scopes = [(trace, TimeScope(warm_up=warm_up)) for trace in workspace.traces]
    if number is not None:
        runs = numbered_inferences(workspace.traces, number)
        scopes = [(trace, TimeScope(run)) for trace, run in runs]
    estimates = estimates_of_workspace(workspace)
    return {
        **HEAD,
        "files": [_trace_facts(workspace, trace, scope, estimates) for trace, scope in scopes],
        "models": [
            *(
                _held_facts(program.path, program_contents(program))
                for program in workspace.programs
            ),
            *(_held_facts(file.path, executable_contents(file)) for file in workspace.executables),
        ],
    }


def _trace_facts(
    workspace: Workspace, trace: Trace, scope: TimeScope, estimates: Estimates
) -> Facts:
    table, rate = workspace.links(trace), workspace.clocks.ns_per_tick(trace)
    summary = summary_of(
        FindingsAnalysis(table), Delegation(table), scope, rate, estimates, warm_up=scope.warm_up
    )

    def ns(ticks: int | Fraction) -> int:
        return tick_to_ns(ticks, rate)

    median, slowest = summary.median, summary.slowest
    return {
        "path": trace.path,
        "program": table.program_path,
        "clock": clock_facts(workspace, trace),
        "unit": trace.unit.noun,
        "inference": scope.run.number if scope.run else None,
        "scope": plain_spaces(summary.findings.scope),
        "span_ns": ns(summary.span),
        "whole_ns": ns(summary.whole),
        "whole_is": plain_spaces(summary.of),
        **_base_facts(summary.base),
        **_mean_facts("whole_", summary.whole, summary.base),
        "busy_time_is": plain_spaces(summary.busy) or None,
        "threads": summary.threads or None,
        "median": None if median is None else _median_facts(trace, median, ns),
        "methods": [
            {
                "method": plain_spaces(median_inference.name),
                **_median_facts(trace, median_inference, ns),
            }
            for median_inference in summary.methods
        ],
        "phase": plain_spaces(summary.phase) or None,
        "phases": [
            course_facts(median_inference, rate)
            for median_inference in summary.methods or tuple(filter(None, [summary.median]))
        ],
        "wall_time": wall_facts(summary.wall, rate),
        "slowest": None
        if slowest is None
        else {
            "inference": slowest.number,
            "ns": ns(slowest.ticks),
            "median_ns": ns(slowest.median),
            "text": plain_spaces(slowest.text),
            "why": plain_spaces(slowest.why) or None,
        },
        "slow_inferences": None
        if summary.outliers is None
        else plain_spaces(summary.outliers.text),
        "delegation": _delegation_facts(summary.delegation, ns),
        "most_expensive": {
            "are_operators": summary.is_linked,
            "without_shared_calls": summary.without_shared,
            "rows": [_expensive_facts(summary, expensive, ns) for expensive in summary.expensive],
        },
        "modules": [
            {
                "path": plain_spaces(hot.path),
                "ns": ns(hot.ticks),
                **_mean_facts("", hot.ticks, summary.base),
                "forward_ns": ns(hot.forward),
                "backward_ns": ns(hot.backward),
                "share": round(hot.wall / summary.expensive_whole, 6),
            }
            for hot in summary.modules
        ],
        "directions": _direction_facts(summary.directions, ns),
        "findings": [
            {
                "title": plain_spaces(finding.title),
                "severity": finding.severity.key,
                "ns": ns(finding.ticks),
                "gain_ns": ns(finding.gain.stated),
            }
            for finding in summary.findings.found
        ],
    }


def _base_facts(base: FigureBase) -> Facts:
    """What sums are of, and how many inferences a mean is of, None without one."""
    return {
        "ns_is": f"sum of {plain_spaces(base.unit.counted(base.count))}" if base.count else None,
        "per_inferences": base.count if base.is_mean else None,
    }


def _mean_facts(name: str, ticks: int, base: FigureBase) -> Facts:
    """The mean per inference of ticks of all of them, {} if no mean is shown."""
    if not base.is_mean:
        return {}
    return {f"{name}per_inference_ns": tick_to_ns(ticks, base.rate / base.divisor)}


def _median_facts(
    trace: Trace, median: MedianInference, ns: Callable[[int | Fraction], int]
) -> Facts:
    """The median of some inferences, and which one is typical, with its own time."""
    return {
        "inference": trace.runs[median.run].number,
        "ns": ns(median.ticks),
        "typical_ns": ns(median.typical_ticks),
        "inferences": median.runs,
    }


def _delegation_facts(report: DelegationReport | None, ns: Callable[[int], int]) -> Facts | None:
    if report is None:
        return None
    return {
        "whole_ns": ns(report.whole),
        "delegated_ns": ns(report.delegated),
        "not_delegated_ns": ns(report.not_delegated),
        "no_operator_ns": ns(report.no_operator),
        "delegated_share": round(report.delegated / report.whole, 6),
    }


def _direction_facts(directions: Directions | None, ns: Callable[[int], int]) -> Facts | None:
    if directions is None:
        return None
    return {
        "forward_ns": ns(directions.forward),
        "backward_ns": ns(directions.backward),
        "other_ns": ns(directions.other),
    }


def _expensive_facts(summary: Summary, expensive: Expensive, ns: Callable[[int], int]) -> Facts:
    whole = summary.expensive_whole
    return {
        "label": plain_spaces(expensive.label),
        "ns": ns(expensive.ticks),
        **_mean_facts("", expensive.ticks, summary.base),
        "share": round(expensive.wall / whole, 6) if whole else None,
        "source": None
        if expensive.place is None
        else {"file": expensive.place[0], "lines": expensive.lines},
    }


def _held_facts(path: str, contents: Sequence[HeldCount]) -> Facts:
    return {
        "path": path,
        "contents": [
            {"what": held_count.noun, "count": held_count.count} for held_count in contents
        ],
    }


NOTHING = "nothing open has slices"


def findings_facts(
    workspace: Workspace, number: int | None = None, *, warm_up: bool = False
) -> Facts:
    """Return the findings of all profiles, as `--json` prints them.

    number: only inferences with this number, in each profile that has one. warm_up: whether figures
    over all inferences include those that warm up. Raises `NoSuchRun` if none has the number.
    """
    of_all_files = estimates_of_workspace(workspace)
    scopes = [(trace, TimeScope(warm_up=warm_up)) for trace in workspace.traces]
    if number is not None:
        runs = numbered_inferences(workspace.traces, number)
        scopes = [(trace, TimeScope(run)) for trace, run in runs]
    findings = {trace: FindingsAnalysis(workspace.links(trace)) for trace, _ in scopes}
    answers = [
        _facts(workspace, trace, findings[trace], scope, of_all_files) for trace, scope in scopes
    ]
    return {**HEAD, "files": answers}


def _facts(
    workspace: Workspace,
    trace: Trace,
    findings: FindingsAnalysis,
    scope: TimeScope,
    estimates: Estimates,
) -> Facts:
    rate = workspace.clocks.ns_per_tick(trace)
    answer = findings.of(scope, rate, estimates)
    table = workspace.links(trace)
    levels = levels_of(answer)
    median, methods = medians_of(table, scope.run, levels, warm_up=scope.warm_up)
    medians = methods or tuple(filter(None, [median]))
    return {
        "path": trace.path,
        "program": table.program_path,
        "clock": clock_facts(workspace, trace),
        "run": scope.run.number if scope.run else None,
        "scope": plain_spaces(answer.scope),
        "phases": [course_facts(median_inference, rate) for median_inference in medians],
        "wall_time": wall_facts(wall_of(table), rate),
        "findings": [
            FINDINGS.row(
                _FindingRow(finding, rate, _place_facts(workspace, finding, table, findings, scope))
            )
            for finding in answer.found
        ],
        "left_out": answer.left_out,
        "not_told": [
            {
                "kind": not_reported.family.key,
                "rule_asked": not_reported.applicable,
                "why": plain_spaces(not_reported.why),
                "threshold": plain_spaces(not_reported.rule),
            }
            for not_reported in answer.not_reported
        ],
    }


@dataclass(frozen=True, slots=True)
class _FindingRow:
    finding: Finding
    rate: Fraction
    place: Facts

    @property
    def levels(self) -> list[Facts]:
        """The levels of a change over time, with times in ns."""
        return [
            {
                "first_inference": finding_level.first,
                "p50_ns": tick_to_ns(finding_level.ticks, self.rate),
                "factor": round(finding_level.factor, 4),
            }
            for finding_level in self.finding.levels
        ]


def _place_facts(
    workspace: Workspace,
    finding: Finding,
    table: LinkTable,
    findings: FindingsAnalysis,
    scope: TimeScope,
) -> Facts:
    """Return where a finding is: ticks and tracks, a run, a command, or a number of slices."""
    place: FindingPlace = finding.place
    if isinstance(place, TimeView):
        return {
            "start_ticks": place.start,
            "end_ticks": place.end,
            "range": range_text(workspace, table.trace, place.start, place.end),
        }
    if isinstance(place, TimeSpan):
        tracks = [table.trace.tracks[i].thread for i in place.tracks]
        return {"start_ticks": place.start, "end_ticks": place.end, "threads": tracks}
    if isinstance(place, RunRef):
        return {"run": table.trace.runs[place.run].number}
    if isinstance(place, PanelRef):
        return {"command": place.name}
    facts: Facts = {"slices": len(findings.slices_of(finding, scope))}
    if isinstance(place, OperatorSets) and table.program is not None:
        operators = table.program.operators
        facts["operators"] = [
            [operators[i].label for i in operator_numbers] for operator_numbers in place.sets
        ]
    elif isinstance(place, SliceKeys):
        keys = table.trace.keys
        names = (table.trace.strings[int(keys.name[key])] for key in place.keys)
        facts["names"] = list(dict.fromkeys(names))
    elif isinstance(place, SliceNumbers):
        facts["source_rows"] = table.trace.slices.source_row[list(place.numbers)].tolist()
    return facts


# -- text ------------------------------------------------------------------------------------------


_INDENT = " " * 11  # of the lines below a title: as wide as "  1 medium "


def findings_text(facts: Facts, with_rules: bool = False) -> str:
    """Format the facts for people. with_rules: with rules, and the checks without a finding."""
    if not facts["files"]:
        return NOTHING
    files = ("\n".join(_file_lines(file, with_rules)) for file in facts["files"])
    return "\n\n".join(files)


def _file_lines(file: Facts, with_rules: bool) -> list[str]:
    record = f" -> {os.path.basename(file['program'])}" if file["program"] else ""
    lines = [f"{os.path.basename(file['path'])}{record}: {file['scope']}"]
    lines += [f"  {one_line(text)}" for text in course_lines(file)]
    for number, finding_facts in enumerate(file["findings"], 1):
        lines += [
            "",
            f"{number:3} {finding_facts['severity']:6} {one_line(finding_facts['title'])}",
        ]
        lines.append(f"{_INDENT}{one_line(finding_facts['detail'])}")
        if finding_facts["advice"]:
            lines.append(f"{_INDENT}{one_line(finding_facts['advice'])}")
        if "range" in finding_facts["place"]:
            lines.append(f"{_INDENT}--range {finding_facts['place']['range']}")
        if with_rules:
            lines.append(f"{_INDENT}Rule: {one_line(finding_facts['threshold'])}")
    if not file["findings"]:
        lines += ["", "  No findings."]
    if file["left_out"]:
        lines += ["", f"  {counted(file['left_out'], 'more finding')} with a smaller gain"]
    lines.append("")
    for is_passed in (True, False):
        checks = [check for check in file["not_told"] if check["rule_asked"] is is_passed]
        if checks:
            lines.append(f"  {checks_text(len(checks), is_passed)}{':' if with_rules else ''}")
        for check in checks if with_rules else ():
            lines.append(f"    {Family.of_key(check['kind']).title}: {one_line(check['why'])}")
            lines.append(f"      Rule: {one_line(check['threshold'])}")
    return lines
