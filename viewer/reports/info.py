"""The output of `opscope info`: the open files and their links as plain data and as text.

The data is a stable contract for scripts; the text is derived from it. No Qt.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer import SCHEMA, __version__
from viewer.analysis.links.coverage import coverage_facts, coverage_of
from viewer.analysis.links.labels import run_label, run_number
from viewer.analysis.links.link_table import REASONS, LinkState, LinkTable
from viewer.analysis.links.match import UNCHECKABLE, Match, mean_match
from viewer.analysis.links.pairing import Candidate
from viewer.analysis.sequence.wall_time import gaps_of
from viewer.dataclasses import dataclass
from viewer.model.queries import unattributed_time
from viewer.model.text import bytes_text, distinct_names, one_line
from viewer.model.times import (
    ClockRate,
    RateOrigin,
    format_rate,
    format_time,
    plain_spaces,
    tick_to_ns,
)
from viewer.model.trace import Problem, Run, RunKind, Trace, UntimedKind
from viewer.model.untimed import counts_text
from viewer.program.executables import Delegate, Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Program
from viewer.tables.command_rows import INFERENCES, PROBLEMS
from viewer.workspace.session_sets import SessionSet, session_sets
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Spread


Facts = dict[str, Any]

_MOST_TOLD = 10  # delegates of a method, and types of nodes, that the text lists


def executable_facts(executable: Executable) -> Facts:
    """Return what is known of a program file only; sizes are in bytes.

    methods: name -> instruction counts by kind, `planned_bytes` with each memory by its id, and
    delegates with their nodes; `debug_handle` is None for a node that XNNPACK inserted. sizes:
    bytes by kind of part.
    """
    return {
        "size": executable.size,
        "methods": {method.name: _method(method) for method in executable.methods},
        "sizes": {str(kind): size for kind, size in executable.part_sizes().items()},
        "parts": [
            {"kind": str(part.kind), "name": part.name, "size": part.size}
            for part in executable.parts
        ],
    }


def _method(method: ExecutableMethod) -> Facts:
    return {
        "instructions": {kind.name.lower(): n for kind, n in _counts(method).items()},
        "tensors": len(method.tensors),
        "planned_bytes": method.planned_bytes,
        "memories": list(method.buffer_sizes),
        "delegates": [_delegate(delegate) for delegate in method.delegates],
    }


def _delegate(delegate: Delegate) -> Facts:
    return {
        "backend": delegate.backend,
        "size": delegate.size,
        "nodes": [
            {"type": n.type, "debug_handle": None if n.is_inserted else n.debug_handle}
            for n in delegate.nodes
        ],
        "unread": delegate.unread,
    }


def executable_lines(executable: Executable) -> list[str]:
    """Return the facts about one program file for people, a line each."""
    lines = []
    for method in executable.methods:
        counts = ", ".join(
            plain_count(n, kind.name.lower().replace("_", " "))
            for kind, n in _counts(method).items()
        )
        lines += [
            f"  {one_line(method.name)}: {plain_count(len(method.instructions), 'instruction')}"
            + (f" ({counts})" if counts else ""),
            f"    planned memory: {bytes_text(method.planned_bytes)} for "
            f"{plain_count(len(method.tensors), 'tensor')}",
        ]
        delegates = method.delegates[:_MOST_TOLD]
        lines += [f"    delegate {i}: {delegate_text(each)}" for i, each in enumerate(delegates)]
        rest = len(method.delegates) - len(delegates)
        lines += [f"    and {plain_count(rest, 'delegate')} more"] if rest else []
    sizes = ", ".join(f"{k} {bytes_text(n)}" for k, n in executable.part_sizes().items())
    lines.append(f"  {bytes_text(executable.size)}: {sizes}")
    return [plain_spaces(line) for line in lines]


def delegate_text(delegate: Delegate) -> str:
    """Return "XnnpackBackend, 1.2 kB, 3 nodes: 2 XNNConv2d, XNNAdd"."""
    text = f"{one_line(delegate.backend)}, {bytes_text(delegate.size)}"
    if delegate.unread:
        return f"{text}, nodes could not be read: {delegate.unread}"
    if not delegate.nodes:
        return text
    types = Counter(node.type for node in delegate.nodes).most_common()
    type_texts = [name if n == 1 else f"{n} {name}" for name, n in types[:_MOST_TOLD]]
    more = [f"{len(types) - _MOST_TOLD} more types"] if len(types) > _MOST_TOLD else []
    return f"{text}, {plain_count(len(delegate.nodes), 'node')}: {', '.join([*type_texts, *more])}"


def _counts(method: ExecutableMethod) -> dict[InstructionKind, int]:
    """How many instructions there are of each kind that occurs."""
    kind_counts = Counter(instruction.kind for instruction in method.instructions)
    return {kind: kind_counts[kind] for kind in InstructionKind if kind_counts[kind]}


def plain_count(count: int, thing: str) -> str:
    """Return a count with its noun, without separators: "1234 slices"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


# What every answer starts with.
HEAD: Facts = {"opscope": __version__, "schema": SCHEMA}

MOST_TOLD = 10  # inferences that the text lists

# The generations of the schema, by the ExecuTorch releases that write them.
_ETDUMPS = {
    "G1": "ExecuTorch 0.1",
    "G2/G3": "ExecuTorch 0.2 and later",
    "G3": "ExecuTorch 0.4 and later",
}


def info(workspace: Workspace) -> Facts:
    """Return all files and all links, as `opscope info --json` prints them."""
    return {
        **HEAD,
        "files": [
            *(trace_facts(workspace, t) for t in workspace.traces),
            *(program_facts(workspace, p) for p in workspace.programs),
            *(
                {**_without_slices(e, "executable"), **executable_facts(e)}
                for e in workspace.executables
            ),
        ],
        "links": [entry for t in workspace.traces for entry in link_facts(workspace, t)],
        "identifier_columns": [e for t in workspace.traces for e in column_facts(workspace, t)],
        "session_sets": [set_facts(sessions) for sessions in session_sets(workspace)],
    }


def set_facts(sessions: SessionSet) -> Facts:
    """Return the sessions of one program: what their inferences and operators take, in ns.

    `median_ns` is that of the medians of sessions, from `least_ns` to `most_ns`; `of_sessions` has
    each, null for a session that did not run it.
    """
    return {
        "sessions": [
            {"path": session.table.trace.path, "inferences": len(session.runs)}
            for session in sessions.arm.sessions
        ],
        "inferences": [_spread_facts(row) for row in sessions.inferences],
        "operators": [_spread_facts(row) for row in sessions.operators],
    }


def _spread_facts(row: Spread) -> Facts:
    return {
        "name": row.name,
        "median_ns": row.median,
        "least_ns": row.least,
        "most_ns": row.most,
        "of_sessions": [ns if isfinite(ns) else None for ns in row.of_sessions],
    }


def trace_facts(workspace: Workspace, trace: Trace) -> Facts:
    """Return one trace; `slices` counts the intervals in the file, `derived` the computed ones.

    `untimed`: how many events without a time there are of each kind. `clock`: the length of a tick,
    the same as a rate, and whether it is stated in the file, assumed, or chosen by the user.
    """
    derived = trace.slices.derived_count
    part, whole = unattributed_time(trace)
    return {
        "path": trace.path,
        "format": trace.format,
        "generation": trace.generation,
        "kind": "trace",
        "tracks": len(trace.tracks),
        "slices": len(trace.slices) - derived,
        "derived": derived,
        "unattributed": {"ticks": part, "of_ticks": whole},
        "untimed": {k.name.lower(): trace.untimed.count(k) for k in UntimedKind},
        "origin": trace.start,
        "clock": clock_facts(workspace, trace),
        "unit": trace.unit.noun,
        "inferences": inference_facts(workspace, trace),
        "stated": {name: plain_spaces(text) for name, text in trace.stated.items()},
        "problems": _problems(trace.problems),
    }


@dataclass(frozen=True, slots=True)
class _InferenceRow:
    run: Run
    label: str
    method: str | None
    methods: list[str]
    start_ns: int
    end_ns: int
    gap_ns: int | None


def inference_facts(workspace: Workspace, trace: Trace) -> list[Facts]:
    """Return when each inference ran, in ns of its clock's axis, as for `opscope stats --range`.

    `methods`: those that it may have run while its method is open. `index`: its number in its
    scope, from 1, as for `--method`. `finished`: False if it failed or
    was cut short. `warm_up`: whether figures per inference leave it out. `phase`: "decode", null if
    its method has one. `gap_ns`: idle time since the inference before, null for the first.
    """
    rate, offset = workspace.clocks.ns_per_tick(trace), workspace.clocks.offset_ns(trace)
    table = workspace.links(trace)
    gaps = gaps_of(trace)
    facts = []
    for run, gap in zip(trace.runs, gaps, strict=True):
        if run.kind is not RunKind.INFERENCE:
            continue
        start, end = (tick_to_ns(tick, rate) + offset for tick in (run.start, run.end))
        method = table.method_of_scope(run.scope)
        methods = [] if method else list(table.methods_of_scope(run.scope))
        idle = None if gap is None else tick_to_ns(gap, rate)
        label = run_label(table, run)
        row = INFERENCES.row(_InferenceRow(run, label, method, methods, start, end, idle))
        # Names in the order of JSON.
        facts.append({name: row[name] for name in ("label", "method", "methods", *row)})
    return facts


def range_text(workspace: Workspace, trace: Trace, first: int, last: int) -> str:
    """Return the ticks of a trace as a value of `--range`: "2299000ns:3417000ns"."""
    rate, offset = workspace.clocks.ns_per_tick(trace), workspace.clocks.offset_ns(trace)
    start, end = (tick_to_ns(tick, rate) + offset for tick in (first, last))
    return f"{start}ns:{end}ns"


def clock_facts(workspace: Workspace, trace: Trace) -> Facts:
    """Return the length of a trace's tick, and its origin.

    `zeros`: what system clocks show at tick 0, in ns, as the file or its recording states it.
    `zero_errors`: how far that may be from the truth, in ns; without those that files state
    themselves. `shared`: why it is on one axis with other files; "" if it is not, or needs no
    statement.
    """
    clock = workspace.clocks.rate(trace)
    ratio = clock.ns_per_tick
    return {
        "unit": clock.unit,
        "ns_per_tick": ratio.numerator if ratio.denominator == 1 else float(ratio),
        "rate": plain_spaces(format_rate(ratio)),
        "origin": str(clock.origin),
        "assumed": clock.origin is RateOrigin.ASSUMED,
        "domain": trace.clock.domain,
        "zeros": {zero.name: zero.ns for zero in trace.clock.zeros},
        "zero_errors": {zero.name: zero.error_ns for zero in trace.clock.zeros if zero.error_ns},
        "shared": workspace.clocks.place(trace).reason,
    }


def program_facts(workspace: Workspace, program: Program) -> Facts:
    """Return one program: no tracks, slices or clock, but methods with their operator counts.

    `graphs`: the additional graphs with their node counts. `dispatches`: the Torq debug info in a
    text. `found_for`: the trace for which the program was opened automatically, None otherwise.
    """
    return {
        **_without_slices(program, "program"),
        "found_for": workspace.files[program.path].found_for,
        "methods": {m.name: len(m.operators) for m in program.methods},
        "graphs": {g.name: len(g.nodes) for g in program.graphs},
        "dispatches": {
            d.name: {"actions": len(d.actions), "jobs": len(d.jobs), "tasks": len(d.tasks)}
            for d in program.dispatches
        },
    }


def link_facts(workspace: Workspace, trace: Trace) -> list[Facts]:
    """Return one entry per method of the program that the trace is linked to.

    An unlinked trace has an entry for every candidate program instead, which shows its match.
    `reason`: "match" or "chosen" for a linked trace, else why it is not linked. `warnings`: why a
    program that is linked may be a wrong one. `program_file`: the open program file that ran and so
    decided the match, None without one.
    """
    table, ran = workspace.links(trace), workspace.what_ran(trace)
    if table.program is not None:
        entries = _per_method(table)
        reason = "chosen" if workspace.is_explicit(trace) else "match"
        doubts = workspace.doubts(trace)
        entries = [{**entry, "reason": reason, "warnings": doubts} for entry in entries]
    else:
        why = " ".join(workspace.warnings(trace))
        found = [_considered(table, candidate) for candidate in workspace.candidates(trace)]
        entries = [{**entry, "reason": why, "warnings": []} for entry in found]
    return [{**entry, "program_file": None if ran is None else ran.path} for entry in entries]


def _without_slices(file: Program | Executable, kind: str) -> Facts:
    """Return what every file has, for one without slices or a clock."""
    return {
        "path": file.path,
        "format": file.format,
        "generation": file.generation,
        "kind": kind,
        "tracks": 0,
        "slices": 0,
        "derived": 0,
        "unattributed": {"ticks": 0, "of_ticks": 0},
        "untimed": {k.name.lower(): 0 for k in UntimedKind},
        "origin": None,
        "clock": None,
        "unit": None,
        "inferences": [],
        "stated": {},
        "problems": _problems(file.problems),
    }


def column_facts(workspace: Workspace, trace: Trace) -> list[Facts]:
    """Return one entry per column whose values are identifiers of an open ETRecord, best first.

    in_force: whether slices are linked through it; by: who selected it. A selected column without
    such a value has an entry without a program.
    """
    chosen = workspace.identifiers.column(trace)
    entries = [
        {
            "trace": trace.path,
            "program": program.path,
            "column": match.column,
            "in_force": match.column == chosen.column,
            "by": chosen.by.value if match.column == chosen.column else None,
            "values": match.values,
            "known": match.known,
            "identifiers": match.identifiers,
            "met": match.met,
            "words": match.words,
            "of_slices": round(match.of_slices, 4),
            "of_time": round(match.of_time, 4),
        }
        for program, match in workspace.identifiers.candidates(
            trace, workspace.links(trace).program
        )
    ]
    if chosen.column is not None and not any(entry["in_force"] for entry in entries):
        entries.append(
            {
                "trace": trace.path,
                "program": None,
                "column": chosen.column,
                "in_force": True,
                "by": chosen.by.value,
            }
        )
    return entries


def _problems(problems: tuple[Problem, ...]) -> list[Facts]:
    return [PROBLEMS.row(problem) for problem in problems]


def _considered(table: LinkTable, candidate: Candidate) -> Facts:
    known = [m for m in candidate.trace_match.methods if m]
    match = candidate.trace_match.match
    return {
        "trace": table.trace.path,
        "program": candidate.program.path,
        "method": known[0] if len(set(known)) == 1 else None,
        **coverage_of(table),
        **_match_facts(match),
    }


def _match_facts(match: Match | None) -> Facts:
    """Return `match`, null without evidence, and `agreement`, its former name."""
    value = None if match is None else round(match.value, 4)
    evidence = 0 if match is None else match.evidence
    return {"match": value if evidence else None, "agreement": value, "evidence": evidence}


def _per_method(table: LinkTable) -> list[Facts]:
    assert table.program is not None
    if table.trace_match is None:  # the profile itself records its operators
        every = np.arange(len(table.trace.scopes))
        facts: Facts = {"trace": table.trace.path, "program": None, "method": None}
        return [{**facts, **coverage_facts(table, every), **_match_facts(None)}]
    scopes: dict[str | None, list[int]] = {m.name: [] for m in table.program.methods}
    if table.program.text_lines:
        scopes = {}
    for scope in range(len(table.trace.scopes)):
        scopes.setdefault(table.method_of_scope(scope), []).append(scope)
    used = [name for name in scopes if name and scopes[name]]
    if len(used) == 1 and None in scopes:
        # Loads belong to the only method that ran.
        scopes[used[0]] += scopes.pop(None)
    entries = []
    for method, members in scopes.items():
        matches = [a for s in members if (a := table.trace_match.by_scope[s]) is not None]
        match = mean_match(matches)
        entries.append(
            {
                "trace": table.trace.path,
                "program": table.program.path,
                "method": method,
                **coverage_facts(table, np.array(members, np.int64)),
                **_match_facts(match if matches else None),
            }
        )
    return entries


# -- text -----------------------------------------------------------------------------------------


def info_text(workspace: Workspace) -> str:
    """Format the facts for people."""
    blocks = [_trace_text(workspace, t) for t in workspace.traces]
    blocks += [_program_text(workspace, p) for p in workspace.programs]
    blocks += [_executable_text(e) for e in workspace.executables]
    for trace in workspace.traces:
        columns = [_column_text(entry) for entry in column_facts(workspace, trace)]
        blocks += ["\n".join(columns)] if columns else []
        blocks += [link_text(entry) for entry in link_facts(workspace, trace)]
    blocks += [_set_text(sessions) for sessions in session_sets(workspace)]
    return "\n\n".join(blocks)


def _set_text(sessions: SessionSet) -> str:
    """The median and the range of sessions, each session, and the most expensive operators."""
    arm, (main, *_) = sessions.arm, sessions.inferences
    lines = [f"{sessions.text} of one program, each by its median after the warm-up"]
    lines += [f"  {row.name or 'inference'}: {_spread_text(row)}" for row in sessions.inferences]
    names = distinct_names([session.table.trace.path for session in arm.sessions])
    for session, name, ns in zip(arm.sessions, names, main.of_sessions, strict=True):
        took = format_time(round(ns)) if isfinite(ns) else f"no {main.name}"
        count = "" if session.is_whole else f", {plain_count(len(session.runs), 'inference')}"
        lines.append(f"    {one_line(name)}: {took}{count}")
    dearest = sessions.operators[:MOST_TOLD]
    lines += [f"  {one_line(row.name)}: {_spread_text(row)}" for row in dearest]
    if len(sessions.operators) > len(dearest):
        lines.append(f"  and {len(sessions.operators) - len(dearest)} more")
    return plain_spaces("\n".join(lines))


def _spread_text(row: Spread) -> str:
    return f"median {format_time(round(row.median))}, {row.range_text}"


def format_words(format: str, generation: str) -> str:
    """Return a format and its generation for people: "Torq host profile H4", "ETDump, as of …"."""
    releases = _ETDUMPS.get(generation) if format == "ETDump" else None
    return f"{format}, {releases}" if releases else f"{format} {generation}".rstrip()


def _trace_text(workspace: Workspace, trace: Trace) -> str:
    from viewer.reports.parts import phase_lines

    clock = workspace.clocks.rate(trace)
    span = tick_to_ns(trace.end - trace.start, clock.ns_per_tick)
    lines = [
        one_line(trace.path),
        f"  {format_words(trace.format, trace.generation)}",
        f"  {plain_count(len(trace.slices) - trace.slices.derived_count, 'slice')} on "
        f"{plain_count(len(trace.tracks), 'track')}, {format_time(span)}",
        *_derived_lines(trace, clock),
        f"  clock: {clock_text(clock)}",
    ]
    lines += [f"  {one_line(name)}: {one_line(text)}" for name, text in trace.stated.items()]
    lines += [
        f"  starts at {zero.ns + tick_to_ns(trace.start, clock.ns_per_tick)} ns of "
        f"{zero.name} ±{plain_spaces(format_time(zero.error_ns))}"
        for zero in trace.clock.zeros
        if zero.error_ns
    ]
    if shared := workspace.clocks.place(trace).reason:
        lines.append(f"  one axis: {one_line(shared)}")
    runs = inference_facts(workspace, trace)
    if runs:
        lines.append(f"  {plain_count(len(runs), trace.unit.noun)}")
        table = workspace.links(trace)
        first = [
            f"    {_inference_text(facts, table, run)}"
            for run, facts in zip(islice(trace.inferences(), MOST_TOLD), runs, strict=False)
        ]
        rest = len(runs) - len(first)
        lines += first + ([f"    and {rest} more"] if rest else [])
        lines += [f"    {one_line(text)}" for text in phase_lines(workspace, trace)]
        lines += _open_method_lines(table, runs)
    bundled = [r.bundled_input for r in trace.runs if r.bundled_input >= 0]
    if bundled:
        lines.append(f"  bundled inputs: {', '.join(map(str, bundled))}")
    if len(trace.untimed):
        lines.append(f"  {counts_text(trace.untimed)}: in order, without times")
    return "\n".join([*lines, *_problem_lines(trace.problems)])


def _inference_text(facts: Facts, table: LinkTable, run: Run) -> str:
    """Return "forward · run 1 of 2: 1.118 ms, --range 2299000ns:3417000ns", an exact range.

    While its method is open: "Execute 1 · run 1 of 2: 1.118 ms, decode or prefill, ...".
    """
    first, length = facts["start_ns"], facts["dur_ns"]
    label, method = one_line(facts["label"]), ""
    if facts["methods"]:
        label = one_line(f"{table.trace.scopes[run.scope].name} · {run_number(run)}")
        method = f"{one_line(table.method_text(run.scope))}, "
    phase = f"{one_line(run.phase)}, " if run.phase else ""
    return f"{label}: {format_time(length)}, {method}{phase}--range {first}ns:{first + length}ns"


def _open_method_lines(table: LinkTable, runs: list[Facts]) -> list[str]:
    """Return how to choose the method of the first inference whose method is open."""
    for run, facts in zip(table.trace.inferences(), runs, strict=True):
        if facts["methods"]:
            name = one_line(table.trace.scopes[run.scope].name)
            choice = f"{name}:{run.number}={one_line(facts['methods'][0])}"
            return [f'    choose a method that is open: --method "{choice}"']
    return []


def clock_text(clock: ClockRate) -> str:
    """Return "1 cycle = 1.25 ns, 800 MHz (assumed)"."""
    text = clock.tick_text
    if clock.unit == "cycle":
        text += f", {format_rate(clock.ns_per_tick)}"
    return plain_spaces(f"{text} ({clock.origin})")


def _derived_lines(trace: Trace, clock: ClockRate) -> list[str]:
    """Return how much of the delegate calls is not covered by any of their events."""
    part, whole = unattributed_time(trace)
    if not part:
        return []
    amount = format_time(tick_to_ns(part, clock.ns_per_tick))
    share = f"{part / whole:.1%} of the time of delegate calls that log events"
    return [f"  unattributed: {amount}, {share} (all {trace.unit.plural})"]


def _program_text(workspace: Workspace, program: Program) -> str:
    methods = ", ".join(
        f"{one_line(m.name)} ({plain_count(len(m.operators), 'operator')})" for m in program.methods
    )
    lines = [
        one_line(program.path),
        f"  {program.format} {program.generation}".rstrip(),
        *([f"  {methods}"] if methods else ()),
    ]
    if program.rejections:
        count = plain_count(len(program.rejections), "reason")
        lines.append(f"  {count} why nodes or operators were not delegated")
    found_for = workspace.files[program.path].found_for
    if found_for is not None:
        lines.append(f"  opened because {os.path.basename(found_for)} names it")
    if program.graphs:
        graphs = ", ".join(
            f"{one_line(g.name)} ({plain_count(len(g.nodes), 'node')})" for g in program.graphs
        )
        lines.append(f"  graphs before lowering: {graphs}")
    lines += [
        f"  debug info of {one_line(d.name)}: {len(d.actions)} actions, {len(d.jobs)} NSS jobs, "
        f"{len(d.tasks)} tasks"
        for d in program.dispatches
    ]
    return "\n".join([*lines, *_problem_lines(program.problems)])


def _executable_text(executable: Executable) -> str:
    lines = [one_line(executable.path), f"  {executable.format} {executable.generation}".rstrip()]
    lines += executable_lines(executable)
    return "\n".join([*lines, *_problem_lines(executable.problems)])


def _problem_lines(problems: tuple[Problem, ...]) -> list[str]:
    return [
        f"  problem: {p.count} x {p.kind}{f', first: {one_line(p.first)}' if p.first else ''}"
        for p in problems
    ]


def _column_text(entry: Facts) -> str:
    by = f" (by {entry['by']})" if entry["in_force"] else ", not used"
    file = os.path.basename(entry["trace"])
    head = one_line(f"{file}: identifiers in column {entry['column']}{by}")
    if entry["program"] is None:
        return f"{head}: no open ETRecord has any of its values"
    return (
        f"{head}: {entry['known']} of {entry['values']} values in the map of "
        f"{os.path.basename(entry['program'])}, {entry['met']} of its {entry['identifiers']} "
        f"identifiers, {entry['of_slices']:.1%} of slices, {entry['of_time']:.1%} of time"
    )


_STATE_TITLES = {
    LinkState.LINKED: "linked by",
    LinkState.UNLINKED: "not linked",
    LinkState.NOT_LINKABLE: "not linkable",
}


def link_text(entry: Facts) -> str:
    """Format one entry of the links for people."""
    names = os.path.basename(entry["trace"])
    if entry["program"] is not None:
        names += f" -> {os.path.basename(entry['program'])}"
    method = f" · {entry['method']}" if entry["method"] else ""
    lines = [one_line(f"{names}{method}")]
    if entry["linkable"]:
        lines.append(
            f"  linked: {entry['linked']} of {entry['linkable']} linkable slices "
            f"({entry['coverage']:.1%})"
        )
        if entry["covered_time"] is not None:
            lines[-1] += f", {entry['covered_time']:.1%} of linkable time"
    if entry["agreement"] is not None:
        checked = (
            f"{entry['agreement']:.2f}, {plain_count(entry['evidence'], 'name')} compared"
            if entry["evidence"]
            else UNCHECKABLE
        )
        if entry["program_file"] is not None:
            checked += f", by {os.path.basename(entry['program_file'])}"
        lines.append(f"  match: {checked}")
    for state, title in _STATE_TITLES.items():
        of_state = [
            f"{REASONS[reason].listed_text} ({count})"
            for reason, count in entry["by_reason"].items()
            if REASONS[reason].state is state
        ]
        lines += [f"  {title}: {'; '.join(of_state)}"] if of_state else []
    return "\n".join(lines)
