"""The output of `opscope prove`: the figures of reports next to those that `viewer.prove` derives.

Reports have the figures, analyses say what each slice is, and the prover derives the rest again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viewer.analysis.calls.call_tree import KEYS as CALL_KEYS
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import CALLS, DELEGATE, INFERENCE, LEVELS_OF_CALLS
from viewer.analysis.comparison.sessions import Session
from viewer.analysis.cost.thread_time import thread_time_of
from viewer.analysis.cost.work_time import WorkTime
from viewer.analysis.delegates.delegation import Delegation, DelegationReport
from viewer.analysis.delegates.handle_maps import HandleMaps
from viewer.analysis.links.labels import (
    series_names,
    set_label,
    track_name,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.rates import are_starts_measured
from viewer.analysis.statistics.group_keys import GroupKeys
from viewer.model.inferences.logged_methods import series_of
from viewer.model.scope import STEADY
from viewer.model.times import plain_spaces
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.prove.calls import LEVELS, CallNames, check_calls
from viewer.prove.compare import OTHER_LEVEL, ArmOf, Part, SessionOf, check_compare
from viewer.prove.delegation import Identities, check_delegation, check_totals
from viewer.prove.raw import MOST_SLICES, TOO_MANY, Raw
from viewer.prove.summary import SummaryNames, check_summary
from viewer.prove.verdict import Verdict, figures_in
from viewer.reports.calls import CallOptions, calls
from viewer.reports.compare import compare_facts, compared
from viewer.reports.delegation import delegation_facts
from viewer.reports.info import HEAD, Facts
from viewer.reports.phases import linked_phase, phase_names
from viewer.reports.profiles.summary import summary_facts
from viewer.reports.proved_statistics import check_statistics
from viewer.reports.stats import NoSuchGroups
from viewer.workspace.workspace import Workspace


def proof(*arms: Workspace) -> Facts:
    """Return what was checked of the figures of all profiles, as `opscope prove --json` prints it.

    arms: of two, the comparison is checked as well. Raises NoDuckDB of `viewer.query.engine`, and
    `NoComparison` of `viewer.reports.compare`.
    """
    verdict = Verdict()
    for workspace in arms:
        _check_profiles(verdict, workspace)
    if len(arms) == 2:
        check_arms(verdict, *arms)
    return {**HEAD, **verdict.facts()}


def _check_profiles(verdict: Verdict, workspace: Workspace) -> None:
    raws = {
        trace: Raw(trace, workspace.clocks.ns_per_tick(trace))
        for trace in workspace.traces
        if 0 < len(trace.slices) <= MOST_SLICES
    }
    check_statistics(verdict, workspace, raws)
    for key in CALL_KEYS:
        _check_calls(verdict, workspace, raws, key)
    for trace, file in zip(workspace.traces, delegation_facts(workspace)["files"], strict=True):
        _check_delegation(verdict, workspace, raws.get(trace), trace, file)
    for trace, file in zip(workspace.traces, summary_facts(workspace)["files"], strict=True):
        _check_summary(verdict, workspace, raws.get(trace), trace, file)


# -- calls -----------------------------------------------------------------------------------------


def _check_calls(
    verdict: Verdict, workspace: Workspace, raws: Mapping[Trace, Raw], key: str
) -> None:
    """Check the call trees of all profiles by one key, in both directions."""
    try:
        both = [
            calls(workspace, CallOptions(key)),
            calls(workspace, CallOptions(key, inverted=True, depth=LEVELS)),
        ]
    except NoSuchGroups:
        return
    first = [0, 0]
    for number, trace in enumerate(workspace.traces):
        of_file: list[Facts] = []
        for i, facts in enumerate(both):
            file = facts["files"][number]
            rows = facts["rows"][first[i] : first[i] + file["row_count"]]
            first[i] += file["row_count"]
            of_file.append({"file": file, "rows": rows})
        name = f"{trace.path}: calls by {key}"
        if of_file[0]["file"]["missing"]:
            continue
        if trace not in raws:
            verdict.skip(name, TOO_MANY, sum(figures_in(facts["rows"]) for facts in of_file))
            continue
        names = _call_names(workspace.links(trace), key)
        check_calls(verdict, raws[trace], name, names, *of_file)


def _call_names(table: LinkTable, key: str) -> CallNames:
    trace, groups, number = table.trace, GroupKeys(table), dict[str, int]()
    parts = groups.of(key)
    of_group = [number.setdefault(text, len(number)) for text in parts.labels]
    of_name = [number.setdefault(text, len(number)) for text in trace.strings]
    group = parts.of(trace.slices, np.arange(len(trace.slices)))
    return CallNames(
        group=np.array([*of_group, -1], np.int64)[group],
        text=np.array(of_name, np.int64)[trace.keys.name[trace.slices.key]],
        texts=tuple(number),
        merges=key != "name",
        left_out=CallTree(table, key, groups).left_out,
        threads=[track_name(table, i) for i in range(len(trace.tracks))],
    )


# -- delegation ------------------------------------------------------------------------------------


def _check_delegation(
    verdict: Verdict, workspace: Workspace, raw: Raw | None, trace: Trace, file: Facts
) -> None:
    """Check what is delegated of a profile, and of each of its methods and phases."""
    name, table = f"{trace.path}: delegation", workspace.links(trace)
    if raw is None:
        verdict.skip(name, TOO_MANY, figures_in(file) if len(trace.slices) else 0)
        return
    report = Delegation(table).report(STEADY)
    maps = [row.keys for row in HandleMaps(table).rows()]
    unlinked = [row.keys for row in report.unlinked]
    check_delegation(verdict, raw, name, file, _identities(table, report, unlinked, maps))
    for totals in file["of_phases"]:
        if totals["whole_ticks"] is not None:
            view = linked_phase(workspace, trace, totals["phase"])
            of_phase = _identities(view, Delegation(view).report(STEADY))
            check_totals(
                verdict, Raw(view.trace, raw.rate), f"{name}: {totals['phase']}", totals, of_phase
            )


def _identities(
    table: LinkTable,
    report: DelegationReport,
    unlinked: Sequence[Sequence[int]] = (),
    maps: Sequence[Sequence[int]] = (),
) -> Identities:
    kind = table.trace.keys.kind
    delegates = [
        (
            [key for key in instance.keys if kind[key] == KeyKind.DELEGATE_CALL],
            [key for key in instance.keys if kind[key] != KeyKind.DELEGATE_CALL],
        )
        for instance in report.instances
    ]
    outside = [row.keys for row in report.not_delegated_rows]
    return Identities(delegates, outside, unlinked, maps, np.asarray(table.states, np.int64))


# -- summary ---------------------------------------------------------------------------------------


def _check_summary(
    verdict: Verdict, workspace: Workspace, raw: Raw | None, trace: Trace, file: Facts
) -> None:
    name = f"{trace.path}: summary"
    if raw is None:
        verdict.skip(name, TOO_MANY, figures_in(file) if len(trace.slices) else 0)
        return
    table, view = workspace.links(trace), raw
    for phase in phase_names(table) if file["phase"] else ():
        if plain_spaces(phase) == file["phase"]:
            table = linked_phase(workspace, trace, phase)
            view = Raw(table.trace, raw.rate)
    check_summary(verdict, raw, view, name, file, _summary_names(workspace.links(trace), table))


def _summary_names(table: LinkTable, view: LinkTable) -> SummaryNames:
    """Return what the figures of a summary are of; view: of the phase that its work is of."""
    trace = table.trace
    key, nothing = trace.slices.key, np.empty(0, np.int64)
    inferences = [run for run in trace.runs if run.kind is RunKind.INFERENCE]
    series = dict.fromkeys(series_of(trace, run) for run in inferences)
    number = {each: i for i, each in enumerate(series)}
    names = series_names(table, list(series))
    threads, work = thread_time_of(view), WorkTime(view)
    report = Delegation(view).report(STEADY)
    group = work.group_of_key
    thing = np.append(work.thing_of_group, -1)[group] if len(work.groups) else group
    return SummaryNames(
        series=[
            number[series_of(trace, run)] if run.kind is RunKind.INFERENCE else -1
            for run in trace.runs
        ],
        names=[plain_spaces(names[each]) for each in series],
        is_open=any(run.part < 0 for run in inferences),
        starts_known=are_starts_measured(trace),
        threads=threads is not None,
        sets=view.set_of_key[key],
        labels=[plain_spaces(set_label(view, operators)) for operators in view.sets],
        work=thing[key],
        events=[plain_spaces(label) for label in work.things],
        spans=nothing if threads is None else threads.whole_spans,
        scopes=nothing if threads is None else threads.not_counted,
        delegation=_identities(view, report) if report.has_calls else None,
    )


# -- comparison ------------------------------------------------------------------------------------


def check_arms(verdict: Verdict, a: Workspace, b: Workspace) -> None:
    """Check the comparison of two workspaces by call, by delegate, and of the whole inference.

    Raises `NoComparison` of `viewer.reports.compare`.
    """
    raws: dict[Trace, Raw] = {}
    for level in (CALLS, DELEGATE, INFERENCE):
        comparison, _ = compared(a, b, level)
        facts, name = compare_facts(comparison), f"compare by {level}"
        figures = figures_in([facts[part] for part in ("rows", "inference", "waterfall")])
        sessions = (*comparison.a.sessions, *comparison.b.sessions)
        if comparison.a.level not in LEVELS_OF_CALLS:
            verdict.skip(f"compare by {comparison.a.level}", OTHER_LEVEL, figures)
            return
        if any(len(session.table.trace.slices) > MOST_SLICES for session in sessions):
            verdict.skip(name, TOO_MANY, figures)
            return
        check_compare(verdict, name, facts, (_arm(comparison, 0, raws), _arm(comparison, 1, raws)))


def _arm(comparison: Comparison, side: int, raws: dict[Trace, Raw]) -> ArmOf:
    arm = comparison.b if side else comparison.a
    rows = [row.b if side else row.a for row in comparison.rows]
    grains = [float(sum(arm.grain_ns[list(row)])) for row in rows]
    sessions = [_session(each, raws) for each in arm.sessions]
    return ArmOf(sessions, [_parts(arm, row) for row in rows], grains)


def _parts(arm: Arm, numbers: Sequence[int]) -> list[Part]:
    identities = [arm.parts[number].id for number in numbers]
    return [(each.method, each.instruction, *(each.event or (None, None))) for each in identities]


def _session(session: Session, raws: dict[Trace, Raw]) -> SessionOf:
    trace = session.table.trace
    if trace not in raws:
        raws[trace] = Raw(trace, trace.clock.ns_per_tick)
    methods = [session.method_of(scope)[0] for scope in range(len(trace.scopes))]
    runs = [(methods[run.scope], run.end - run.start, run.start) for run in session.runs]
    place = {id(run): i for i, run in enumerate(trace.runs)}
    is_rated = not session.is_whole and are_starts_measured(trace)
    is_rated &= len({series_of(trace, run) for run in session.runs}) == 1
    places = [place[id(run)] for run in session.runs if id(run) in place] if is_rated else []
    return SessionOf(raws[trace], session.ns_per_tick, session.row_of_slices, methods, runs, places)
