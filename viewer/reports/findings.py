"""The output of `opscope findings`: the findings of every profile with their rules. No Qt.

The data is a stable contract for scripts; the text is derived from it. Every profile is reported in
ticks of its own clock, and in nanoseconds (rounded down, at the workspace's rate).
"""

from __future__ import annotations

import os

from viewer import SCHEMA, __version__
from viewer.analysis.findings.finding import (
    Finding,
    FindingPlace,
    NotReported,
    OperatorSets,
    PanelRef,
    RunRef,
    SliceKeys,
    SliceNumbers,
    TimeSpan,
)
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.torq.estimates import Estimates
from viewer.model.text import one_line
from viewer.model.times import plain_spaces, tick_to_ns
from viewer.model.trace import Run, Trace
from viewer.reports.info import Facts, clock_facts
from viewer.workspace.estimates import of_workspace
from viewer.workspace.workspace import Workspace

NOTHING = "nothing open has slices"


class NoSuchRun(ValueError):
    """No open profile has an inference of that number; the message lists the existing ones."""


def findings_facts(workspace: Workspace, number: int | None = None) -> Facts:
    """Return the findings of all profiles, as `--json` prints them.

    number: only inferences with this number, in each profile that has one. Raises `NoSuchRun` if
    none has.
    """
    of_all_files = of_workspace(workspace)
    answers = []
    for trace in workspace.traces:
        runs: list[Run | None] = [None]
        if number is not None:
            runs = [run for run in trace.inferences() if run.number == number]
        findings = FindingsAnalysis(workspace.links(trace))
        answers += [_facts(workspace, trace, findings, run, of_all_files) for run in runs]
    if number is not None and not answers:
        numbers = [run.number for trace in workspace.traces for run in trace.inferences()]
        most = max(numbers, default=0)
        existing = f"the inferences are numbered 1 to {most}" if most else "no file has inferences"
        raise NoSuchRun(f"there is no run {number}: {existing}")
    return {"opscope": __version__, "schema": SCHEMA, "files": answers}


def _facts(
    workspace: Workspace, trace: Trace, findings: FindingsAnalysis, run: Run | None, made: Estimates
) -> Facts:
    rate = workspace.clocks.ns_per_tick(trace)
    answer = findings.of(run, rate, made)
    table = workspace.links(trace)
    return {
        "path": trace.path,
        "program": table.program.path if table.program else None,
        "clock": clock_facts(workspace, trace),
        "run": run.number if run else None,
        "scope": plain_spaces(answer.scope),
        "findings": [
            {
                "kind": one.family.key,
                "title": plain_spaces(one.title),
                "detail": plain_spaces(one.detail),
                "threshold": plain_spaces(one.threshold),
                "compares_all_inferences": one.across,
                "ticks": one.ticks,
                "ns": tick_to_ns(one.ticks, rate),
                "share": None if one.share is None else round(one.share, 6),
                "place": _place_facts(one, table, findings, run),
            }
            for one in answer.found
        ],
        "left_out": answer.left_out,
        "not_told": [_not_reported_facts(one) for one in answer.not_reported],
    }


def _not_reported_facts(one: NotReported) -> Facts:
    return {"kind": one.family.key, "rule_asked": one.applicable, "why": plain_spaces(one.why)}


def _place_facts(
    finding: Finding, table: LinkTable, findings: FindingsAnalysis, run: Run | None
) -> Facts:
    """Return where a finding is: ticks and tracks, a run, a command, or a number of slices."""
    place: FindingPlace = finding.place
    if isinstance(place, TimeSpan):
        tracks = [table.trace.tracks[i].thread for i in place.tracks]
        return {"start_ticks": place.start, "end_ticks": place.end, "threads": tracks}
    if isinstance(place, RunRef):
        return {"run": table.trace.runs[place.run].number}
    if isinstance(place, PanelRef):
        return {"command": place.name}
    facts: Facts = {"slices": len(findings.slices_of(finding, run))}
    if isinstance(place, OperatorSets) and table.program is not None:
        operators = table.program.operators
        facts["operators"] = [[operators[i].label for i in own] for own in place.sets]
    elif isinstance(place, SliceKeys):
        keys = table.trace.keys
        names = (table.trace.strings[int(keys.name[key])] for key in place.keys)
        facts["names"] = list(dict.fromkeys(names))
    elif isinstance(place, SliceNumbers):
        facts["source_rows"] = table.trace.slices.source_row[list(place.numbers)].tolist()
    return facts


# -- text ------------------------------------------------------------------------------------------


def findings_text(facts: Facts) -> str:
    """Format the facts for people."""
    if not facts["files"]:
        return NOTHING
    return "\n\n".join("\n".join(_file_lines(file)) for file in facts["files"])


def _file_lines(file: Facts) -> list[str]:
    record = f" -> {os.path.basename(file['program'])}" if file["program"] else ""
    lines = [f"{os.path.basename(file['path'])}{record}: {file['scope']}"]
    for number, one in enumerate(file["findings"], 1):
        lines += _finding_lines(number, one)
    if not file["findings"]:
        lines.append("  no finding: every rule was looked at, and none was met")
    if file["left_out"]:
        lines.append(f"  and {file['left_out']} more")
    for title, asked in (("rules that were not met", True), ("rules that do not apply", False)):
        families = [one for one in file["not_told"] if one["rule_asked"] is asked]
        if families:
            lines += ["", f"  {title}"]
            lines += [f"    {one['kind']}: {one_line(one['why'])}" for one in families]
    return lines


def _finding_lines(number: int, one: Facts) -> list[str]:
    return [
        "",
        f"  {number}. {one_line(one['title'])}",
        f"     {one_line(one['detail'])}",
        f"     {one_line(one['threshold'])}",
    ]
