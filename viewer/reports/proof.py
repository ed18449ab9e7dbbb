"""The output of `opscope prove`: the figures of reports next to those that `viewer.prove` derives.

Reports have the figures, analyses say what each slice is, and the prover derives the rest again. Of
`opscope stats`, it checks all keys, pairs, ranges, phases and means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from viewer.analysis.calls.call_tree import KEYS as CALL_KEYS
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import CALLS, DELEGATE, INFERENCE, LEVELS_OF_CALLS
from viewer.analysis.comparison.sessions import Session
from viewer.analysis.cost.event_times import WorkTime, thread_time_of
from viewer.analysis.delegates.delegation import Delegation, DelegationReport
from viewer.analysis.delegates.handle_maps import HandleMaps
from viewer.analysis.links.labels import run_label, scope_name, series_names, set_label, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.sequence.wall_time import are_starts_measured
from viewer.analysis.statistics.group_keys import (
    ARGUMENT,
    KEYS,
    PLACES,
    GroupKeys,
    argument_names,
    keys_text,
)
from viewer.analysis.statistics.pivot import inference_of_slices
from viewer.dataclasses import dataclass, replace
from viewer.model.figures import STEADY
from viewer.model.inference_views import only_inferences, series_of
from viewer.model.queries import foreign
from viewer.model.times import plain_spaces
from viewer.model.trace import KeyKind, Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences
from viewer.prove import raw as charge
from viewer.prove import statistics
from viewer.prove.compare import OTHER_LEVEL, ArmOf, Part, SessionOf, check_compare
from viewer.prove.raw import MOST_SLICES, TOO_MANY, Derived, Raw, Verdict, Window, figures_in
from viewer.prove.statistics import LEVELS, CallNames, check_calls
from viewer.prove.summary import (
    Identities,
    SummaryNames,
    check_delegation,
    check_summary,
    check_totals,
)
from viewer.reports.calls import CallOptions, calls
from viewer.reports.compare import compare_facts, compared
from viewer.reports.delegation import delegation_facts
from viewer.reports.info import HEAD, Facts
from viewer.reports.parts import NoSuchRun, linked_phase, numbered_inferences, phase_names
from viewer.reports.stats import PHASE, NoSuchGroups, stats
from viewer.reports.summary import summary_facts
from viewer.workspace.workspace import Workspace

_IN_ORDER = ("thread", "inference", PHASE)  # the rows of others are by their time
_MOST_ARGUMENTS = 8  # of which statistics are checked
_SAME_LABEL = "several inferences have its label"
_Groups = tuple[Sequence[str], dict[int, Derived], int | None]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What figures cover, as `opscope stats` is told; with none of them, the whole trace."""

    span: tuple[int, int] | None = None
    inference: int | None = None
    phase: str = ""
    per_inference: bool = False

    @property
    def text(self) -> str:
        """Return the options for a figure's name."""
        words = [
            "" if self.span is None else f" in {self.span[0]}:{self.span[1]} ns",
            "" if self.inference is None else f" of inference {self.inference}",
            f" of {self.phase}" if self.phase else "",
            " per inference" if self.per_inference else "",
        ]
        return "".join(words)


@dataclass(frozen=True, slots=True)
class _View:
    """A profile as figures of a scope see it. divisor: how many they are the mean of, or 0."""

    raw: Raw
    table: LinkTable
    counts: str = "counts"
    window: Window | None = None
    divisor: int = 0


def check_statistics(verdict: Verdict, workspace: Workspace, raws: Mapping[Trace, Raw]) -> None:
    """Check the statistics of all profiles: by keys, by pairs of them, and of parts of profiles."""
    arguments = dict.fromkeys(
        f"{ARGUMENT}{name}"
        for trace in raws
        for name in argument_names(trace)[:_MOST_ARGUMENTS]
        if name  # else it is no key
    )
    keys, checks = (*KEYS, PHASE), _Checks(verdict, workspace, raws)
    for key in (*keys, *arguments):
        checks.check((key,), _Scope())
    for scope in _scopes(workspace):
        for key in keys:
            checks.check((key,), scope)
    every = [*KEYS, *list(arguments)[:1]]
    every = [key for key in every if any(not GroupKeys(t).missing(key) for t in checks.tables)]
    for pair in zip(every, [*every[1:], *every[:1]], strict=True):
        if len(every) > 1:
            checks.check(pair, _Scope())


def _scopes(workspace: Workspace) -> list[_Scope]:
    """Return a range, an inference, the mean, and each phase."""
    traces = [trace for trace in workspace.traces if len(trace.slices)]
    phases = (phase for trace in traces for phase in phase_names(workspace.links(trace)))
    scopes = [_Scope(per_inference=True), *(_Scope(phase=phase) for phase in dict.fromkeys(phases))]
    if traces:
        rate, offset = (
            workspace.clocks.ns_per_tick(traces[0]), workspace.clocks.offset_ns(traces[0])
        )  # fmt: skip
        first, last = (int(tick * rate) + offset for tick in (traces[0].start, traces[0].end))
        scopes.append(_Scope((first + (last - first) // 3, last - (last - first) // 4)))
    return [*scopes, *(_Scope(inference=number) for number in _numbers(workspace)[:1])]


def _numbers(workspace: Workspace) -> list[int]:
    """Return the numbers of inferences, the last one whose rows have labels of their own first."""
    labels: dict[int, list[tuple[str, str]]] = {}
    for trace in workspace.traces:
        for run in trace.inferences() if len(trace.slices) else ():
            label = run_label(workspace.links(trace), run)
            labels.setdefault(run.number, []).append((trace.path, label))
    return sorted(labels, key=lambda n: (len(labels[n]) > len(set(labels[n])), -n))


class _Checks:
    def __init__(self, verdict: Verdict, workspace: Workspace, raws: Mapping[Trace, Raw]) -> None:
        self._verdict, self._workspace, self._raws = verdict, workspace, raws
        self.tables = [workspace.links(trace) for trace in raws]
        self._views: dict[tuple[Trace, str, bool], _View] = {}

    def check(self, keys: tuple[str, ...], scope: _Scope) -> None:
        """Check the statistics of all profiles by a key, or by two."""
        text = keys[0] if keys == (PHASE,) else keys_text(keys)
        try:
            facts = stats(
                self._workspace, text, scope.span, scope.inference, scope.phase,
                per_inference=scope.per_inference,
            )  # fmt: skip
        except (NoSuchGroups, NoSuchRun):
            return
        traces: Sequence[tuple[Trace, Run | None]]
        traces = [(trace, None) for trace in self._workspace.traces]
        if scope.inference is not None:
            traces = [*numbered_inferences(self._workspace.traces, scope.inference)]
        for (trace, run), file in zip(traces, facts["files"], strict=True):
            if file["missing"] is None:
                self._check_file(keys, scope, trace, run, facts, file)

    def _check_file(
        self, keys: tuple[str, ...], scope: _Scope, trace: Trace, run: Run | None, facts: Facts,
        file: Facts,
    ) -> None:  # fmt: skip
        name = f"{trace.path}: stats by {keys_text(keys)}{scope.text}"
        rows, totals = (
            [row for row in facts.get(part, ())
             if row["file"] == trace.path and row.get("inference") == file.get("inference")]
            for part in ("rows", "totals")
        )  # fmt: skip
        if trace not in self._raws:
            self._verdict.skip(name, TOO_MANY, figures_in([rows, totals]))
            return
        same = [each["path"] == trace.path and each.get("inference") == file.get("inference")
                for each in facts["files"]]  # fmt: skip
        if sum(same) > 1:
            self._verdict.skip(name, _SAME_LABEL, figures_in(rows) // sum(same))
            return
        view = self._view(trace, scope)
        if scope.span is not None or run is not None:
            window = _window(self._workspace, trace, scope.span, run)
            view = replace(view, window=window, counts="everything")
            ticks = [window.first, window.last]
            self._verdict.same(f"{name}: range_ticks", file["range_ticks"], ticks)
        if len(keys) == 1:
            self._check_rows(keys[0], name, {"rows": rows, "file": file}, view)
            return
        self._check_rows(keys[0], name, {"rows": totals, "file": file}, view)
        cells, whole = _cells(view, (keys[0], keys[1]))
        statistics.check_cells(self._verdict, view.raw, name, rows, cells, whole)

    def _check_rows(self, key: str, name: str, facts: Facts, view: _View) -> None:
        if key == "unit" and not GroupKeys(view.table).is_stated(key):
            statistics.check_units(self._verdict, view.raw, name, facts, view.window)
            return
        labels, derived, rest = _groups(view, key)
        statistics.check_rows(
            self._verdict, view.raw, name, facts, labels, derived, rest,
            in_order=key in _IN_ORDER, divisor=view.divisor,
        )  # fmt: skip

    def _view(self, trace: Trace, scope: _Scope) -> _View:
        part = trace, scope.phase, scope.per_inference
        if not scope.phase and not scope.per_inference:
            return _View(self._raws[trace], self._workspace.links(trace))
        if part not in self._views:
            table = linked_phase(self._workspace, trace, scope.phase)
            if scope.per_inference:
                table = replace(table, trace=only_inferences(table.trace))
            raw = Raw(table.trace, self._raws[trace].rate)
            view = _View(raw, table)
            if scope.per_inference:
                inference, count = inference_of_slices(table.trace, warm_up=False)
                inside = np.flatnonzero(inference < count)
                raw.register("in_inference", {"id": inside, "n": inference[inside]})
                divisor = len(counted_inferences(table.trace, warm_up=False))
                view = replace(view, counts="steady", divisor=divisor)
            self._views[part] = view
        return self._views[part]


def _window(
    workspace: Workspace, trace: Trace, span: tuple[int, int] | None, run: Run | None
) -> Window:
    """Return the ticks of a span of ns, or of an inference."""
    if run is not None or span is None:
        assert run is not None
        first, last = run.start, run.end
    else:
        rate, offset = workspace.clocks.ns_per_tick(trace), workspace.clocks.offset_ns(trace)
        first, last = (-int((offset - ns) / Fraction(rate) // 1) for ns in span)
        first = max(trace.start, min(first, trace.end + 1))
        last = max(first, min(last, trace.end))
    return Window(first, last, last >= trace.end or first == last)


# -- what slices are -------------------------------------------------------------------------------


def _groups(view: _View, key: str) -> _Groups:
    """Return the labels of the groups of a key, and the derived figures."""
    trace, table, raw = view.table.trace, view.table, view.raw
    if key == PHASE:
        return _phases(view)
    if key == "inference":
        runs = list(trace.inferences())
        labels = [run_label(table, run) for run in runs]
        return labels, statistics.inferences(raw, range(len(runs)), view.window), 0
    if key == "thread":
        _give_scopes(view)
        labels = [
            f"{track.process} > {track_name(table, i)}" for i, track in enumerate(trace.tracks)
        ]
        return labels, statistics.threads(raw, view.counts, view.window, view.divisor), 0
    return (_labels(view, key), *charge.derive(raw, _give(view, key)))


def _give_scopes(view: _View) -> bool:
    """Make the table of slices without wall time; False if there are none."""
    threads = thread_time_of(view.table)
    scopes = np.empty(0, np.int64) if threads is None else threads.not_counted
    view.raw.register("scope", {"id": scopes.astype(np.int64)})
    return len(scopes) > 0


def _give(view: _View, key: str) -> charge.Grouping:
    """Make the tables of the groups of slices, and return how their time is charged."""
    table, groups = view.table, GroupKeys(view.table)
    has_scopes = _give_scopes(view)
    parts, of_operators = groups.of(key), groups.is_of_operators(key)
    view.raw.give(parts.of(table.trace.slices, np.arange(len(table.trace.slices))))
    is_nested = table.program is not None and table.program.is_nested
    return charge.Grouping(
        per_slice=parts.of_slice is not None,
        of_calls=of_operators or key == "delegate",
        each=key in ("name", "location"),
        scopes=not of_operators and has_scopes,
        by_innermost=of_operators and is_nested and thread_time_of(table) is not None,
        counts=view.counts,
        window=view.window,
        inferences=view.divisor,
    )


def _labels(view: _View, key: str) -> list[str]:
    """Return the labels of groups; those on another clock name it."""
    trace, parts = view.table.trace, GroupKeys(view.table).of(key)
    labels = list(parts.labels)
    if parts.clocks:
        native = foreign(trace.slices)
        for number in np.unique(parts.of(trace.slices, native)).tolist():
            if number >= 0:
                labels[number] = statistics.label_on(labels[number], parts.clocks[number])
    return labels


def _phases(view: _View) -> _Groups:
    table = view.table
    series = [series_of(table.trace, run) for run in table.trace.inferences()]
    distinct = list(dict.fromkeys(series))
    names = series_names(table, distinct)
    labels = [names[each] or scope_name(table, each[1]) for each in distinct]
    group = [distinct.index(each) for each in series]
    return labels, statistics.inferences(view.raw, group, view.window), 0


# -- two keys --------------------------------------------------------------------------------------


def _cells(
    view: _View, keys: tuple[str, str]
) -> tuple[dict[tuple[str, str], list[Derived]], int | None]:
    """Return the derived figures by the labels of both keys, and the whole of the first one."""
    key, then = keys
    groups, raw = GroupKeys(view.table), view.raw
    slices = view.table.trace.slices
    of_place = [each in PLACES and not groups.is_stated(each) for each in keys]
    by_place = of_place[0] and not of_place[1]
    owner, other = (then, key) if by_place else keys
    grouping = _give(view, owner)
    part = groups.of(other).of(slices, np.arange(len(slices))).astype(np.int64)
    listed = np.flatnonzero((part >= 0) | of_place[1 - by_place])
    raw.register("part_of", {"id": listed, "p": part[listed]})
    labels, parts = _labels(view, owner), list(groups.of(other).labels)
    derived, _ = charge.derive(raw, replace(grouping, parts=len(parts)))
    none = f"(no {then.removeprefix(ARGUMENT)})"
    names = [*parts, none]
    cells: dict[tuple[str, str], list[Derived]] = {}
    of_key: dict[int, list[Derived]] = {}
    for cell, figures in derived.items():
        group, number = divmod(cell, len(names))
        pair = (names[number], labels[group]) if by_place else (labels[group], names[number])
        if not (by_place and number == len(parts)):
            cells.setdefault(pair, []).append(figures)
            of_key.setdefault(number if by_place else group, []).append(figures)
    first_labels, rows, rest = _groups(view, key)
    walls = [each.wall for each in rows.values()]
    whole = None if rest is None or None in walls else rest + sum(wall or 0 for wall in walls)
    if of_place[0]:
        for number, figures in rows.items():
            pair = first_labels[number], none
            left = _rest(figures, of_key.get(number, []))
            if figures.total or figures.self_ticks or figures.count:
                cells.setdefault(pair, []).append(left)
    return cells, whole


def _rest(row: Derived, cells: Sequence[Derived]) -> Derived:
    """Return what the cells of a place lack of its times."""
    walls = [each.wall for each in (row, *cells)]
    wall = None if None in walls else (row.wall or 0) - sum(each.wall or 0 for each in cells)
    total = max(row.total - sum(each.total for each in cells), 0)
    return Derived(total, row.self_ticks - sum(each.self_ticks for each in cells), wall)


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
