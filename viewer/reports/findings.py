"""The output of `opscope findings`: the findings of every profile, ranked. No Qt.

The data is a stable contract for scripts; the text is derived from it. Every profile is reported in
ticks of its own clock, and in nanoseconds (rounded down, at the workspace's rate).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction

from viewer.analysis.findings.finding import (
    Family,
    Finding,
    FindingPlace,
    NotReported,
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
from viewer.analysis.summary.medians import levels_of, medians_of, wall_of
from viewer.analysis.torq.estimates import Estimates
from viewer.model.scope import TimeScope
from viewer.model.text import one_line
from viewer.model.times import counted, plain_spaces, tick_to_ns
from viewer.model.trace import Trace
from viewer.reports.course import course_facts, course_lines, wall_facts
from viewer.reports.inferences import numbered_inferences
from viewer.reports.info import HEAD, Facts, clock_facts, range_text
from viewer.tables.command_rows import FINDINGS
from viewer.workspace.estimates import of_workspace
from viewer.workspace.workspace import Workspace

NOTHING = "nothing open has slices"


def findings_facts(
    workspace: Workspace, number: int | None = None, *, warm_up: bool = False
) -> Facts:
    """Return the findings of all profiles, as `--json` prints them.

    number: only inferences with this number, in each profile that has one. warm_up: whether figures
    over all inferences include those that warm up. Raises `NoSuchRun` if none has the number.
    """
    of_all_files = of_workspace(workspace)
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
        "not_told": [_not_reported_facts(not_reported) for not_reported in answer.not_reported],
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


def _not_reported_facts(not_reported: NotReported) -> Facts:
    return {
        "kind": not_reported.family.key,
        "rule_asked": not_reported.applicable,
        "why": plain_spaces(not_reported.why),
        "threshold": plain_spaces(not_reported.rule),
    }


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
