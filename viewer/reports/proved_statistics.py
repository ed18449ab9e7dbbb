"""What `opscope prove` checks of `opscope stats`: all keys, pairs, ranges, phases and means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from viewer.analysis.cost.thread_time import thread_time_of
from viewer.analysis.links.labels import run_label, scope_name, series_names, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import KEYS, GroupKeys, keys_text
from viewer.analysis.statistics.run_medians import inference_of_slices
from viewer.analysis.statistics.slice_keys import ARGUMENT, PLACES, argument_names
from viewer.model.inferences.logged_methods import only_inferences, series_of
from viewer.model.queries import foreign
from viewer.model.trace import Run, Trace
from viewer.model.warm_up import counted_inferences
from viewer.prove import charge, statistics
from viewer.prove.charge import Derived, Window
from viewer.prove.raw import TOO_MANY, Raw
from viewer.prove.verdict import Verdict, figures_in
from viewer.reports.inferences import NoSuchRun, numbered_inferences
from viewer.reports.info import Facts
from viewer.reports.phases import linked_phase, phase_names
from viewer.reports.stats import PHASE, NoSuchGroups, stats
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
