"""The main figures of every profile and what every model holds, as data. No Qt.

They are those of the Summary panel (`viewer.analysis.summary`). Times are whole ns, rounded down.
`ns` of whole, delegation, most expensive, modules and directions are what `ns_is` says: a sum, if
several inferences are in scope. Next to it is the mean, as the panel shows it, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from viewer.analysis.delegates.delegation import Delegation, DelegationReport
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.summary.contents import HeldCount, executable_contents, program_contents
from viewer.analysis.summary.hot_modules import Directions
from viewer.analysis.summary.medians import MedianInference
from viewer.analysis.summary.summary import Expensive, Summary, summary_of
from viewer.analysis.torq.estimates import Estimates
from viewer.model.figure_base import FigureBase
from viewer.model.scope import TimeScope
from viewer.model.times import plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.reports.course import course_facts, wall_facts
from viewer.reports.inferences import numbered_inferences
from viewer.reports.info import HEAD, Facts, clock_facts
from viewer.workspace.estimates import of_workspace
from viewer.workspace.workspace import Workspace


def summary_facts(
    workspace: Workspace, number: int | None = None, *, warm_up: bool = False
) -> Facts:
    """Return the main figures of all profiles, and the contents of all model files.

    number: only inferences with this number, in each profile that has one. warm_up: whether figures
    over all inferences include those that warm up. Raises `NoSuchRun` of
    `viewer.reports.inferences` if no profile has the number.
    """
    scopes = [(trace, TimeScope(warm_up=warm_up)) for trace in workspace.traces]
    if number is not None:
        runs = numbered_inferences(workspace.traces, number)
        scopes = [(trace, TimeScope(run)) for trace, run in runs]
    estimates = of_workspace(workspace)
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
