"""What a report contains, the limits that keep it small, and the profiles that it is about.

The profiles that it shows in detail have their analyses. Everything is computed from a workspace as
in the window and in the commands, and once.
"""

from __future__ import annotations

import copy
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.cost.costs import CostTable
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.summaries import Summary, summary_of
from viewer.dataclasses import dataclass
from viewer.model.figures import STEADY, WHOLE
from viewer.model.inference_views import Inferences
from viewer.model.trace import Trace
from viewer.query.engine import Result
from viewer.reports.parts import linked_phase, phase_names
from viewer.view.clock_groups import ClockGroup, clock_groups
from viewer.view.derived_tracks import ChartKind
from viewer.view.open_trace import OpenTrace, views_of
from viewer.workspace.snapshot import estimates_of_workspace
from viewer.workspace.workspace import Workspace

MOST_BYTES = 5_000_000
PAGE_SUFFIXES = ".html", ".htm"


@dataclass(frozen=True, slots=True)
class ComparedReport:
    """The comparison in a report.

    comparison: its result. other: the open files of arm B, if they are not among those of the
    report. problems: what the reader should know about the comparison.
    """

    comparison: Comparison
    other: Workspace | None = None
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QueryRows:
    """The rows of a query that a session keeps.

    result: None if there are none; `complaint` says why. trace: its slices and counters if it is
    drawn as tracks, in ns of the axis of a clock, which is `span_ns` long. chart: how it is drawn
    if not as tracks.
    """

    name: str
    sql: str
    result: Result | None = None
    complaint: str = ""
    trace: Trace | None = None
    span_ns: int = 1
    chart: ChartKind | None = None

    @property
    def title(self) -> str:
        """What it is."""
        return f"Derived by query {self.name}" if self.chart is None else f"Chart {self.name}"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report contains.

    title: by default the name of the model or file. source: whether the text of the model's source
    is included. compared: a comparison, if there is one. queries: that are drawn.
    """

    title: str = ""
    source: bool = True
    compared: ComparedReport | None = None
    queries: Sequence[QueryRows] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of everything a report shows.

    profiles: that are shown in detail. slices: that are exact. groups: of the other slices.
    bands: rows of each timeline. svg_boxes: of each static picture. rows: of each table.
    source_lines: of all files together. letters: of each name.
    """

    profiles: int = 4
    slices: int = 40_000
    groups: int = 24_000
    bands: int = 2000
    svg_boxes: int = 1500
    rows: int = 150
    source_lines: int = 400
    letters: int = 300

    def halved(self) -> Limits:
        """Return half of it, at least 1 of everything."""
        names = self.__slots__
        return Limits(**{name: max(getattr(self, name) // 2, 1) for name in names})


_SEPARATORS = re.compile(r"[\\/]+")


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for every path: "run.etdp", or "b/run.etdp" if there are several.

    Folders that do not tell paths apart are left out: they may name a person or a machine.
    """
    parts = {path: [part for part in _SEPARATORS.split(path) if part] or [path] for path in paths}
    sizes = dict.fromkeys(parts, 1)
    while True:
        names = {path: "/".join(folders[-sizes[path] :]) for path, folders in parts.items()}
        often = Counter(names.values())
        same = [path for path in parts if often[names[path]] > 1 and sizes[path] < len(parts[path])]
        if not same:
            return names
        for path in same:
            sizes[path] += 1


@dataclass(frozen=True, eq=False)
class Profile:
    """One profile that is shown in detail.

    number: among those of the report. workspace: that of the report, with these profiles alone.
    name: its file, unique among them. arm: "A" or "B" in a comparison of two workspaces, else "".
    """

    number: int
    workspace: Workspace
    shown: OpenTrace
    name: str
    arm: str = ""

    @cached_property
    def title(self) -> str:
        """Its file, with its arm: "A · run.etdp"."""
        return f"{self.arm} · {self.name}" if self.arm else self.name

    @cached_property
    def summary(self) -> Summary:
        """Its main figures, without the warm-up."""
        open_trace = self.shown
        return summary_of(
            self.findings,
            open_trace.delegation,
            STEADY,
            open_trace.axis.ns_per_tick,
            estimates_of_workspace(self.workspace),
        )

    @property
    def findings(self) -> FindingsAnalysis:
        """Its findings."""
        return self.shown.findings

    @cached_property
    def costs(self) -> CostTable:
        """The costs of operators in the whole trace, as in `opscope stats`."""
        return self.shown.costs.table(WHOLE)

    @cached_property
    def phases(self) -> Sequence[str]:
        """What its tables are of: its phases, each in a table of its own, or "" for the trace."""
        trace = self.shown.file
        has_phases = any(run.phase for run in trace.runs)
        return phase_names(self.workspace.links(trace)) if has_phases else [""]

    def groups(self, key: str, phase: str = "") -> GroupTable | None:
        """Return the statistics by a key in a phase, None if the trace has no such groups."""
        if (key, phase) not in self._groups:
            grouping = self._grouping(phase)
            self._groups[key, phase] = None if grouping.missing(key) else grouping.by(key)
        return self._groups[key, phase]

    def _grouping(self, phase: str) -> Grouping:
        if not phase:
            return self.shown.grouping
        table = linked_phase(self.workspace, self.shown.file, phase)
        return Grouping(table, self.shown.axis.ns_per_tick)

    @cached_property
    def _groups(self) -> dict[tuple[str, str], GroupTable | None]:
        return {}

    @cached_property
    def key(self) -> str:
        """What its time is listed by: operators, or names if no slice has an operator."""
        return "name" if self.shown.grouping.missing("operator") else "operator"


@dataclass(frozen=True, eq=False)
class Axes:
    """The profiles of one clock: all shown traces of their workspace, and the group of these."""

    traces: Sequence[OpenTrace]
    group: ClockGroup
    profiles: Sequence[Profile]


@dataclass(frozen=True, eq=False)
class Contents:
    """Everything that a report is made of.

    profiles: those shown in detail; others: how many are not. axes: their clocks.
    """

    workspace: Workspace
    options: ReportOptions
    limits: Limits
    profiles: Sequence[Profile]
    others: int
    axes: Sequence[Axes]

    @property
    def workspaces(self) -> Sequence[Workspace]:
        """All workspaces of the report: one, or that of each arm."""
        other = self.options.compared.other if self.options.compared else None
        return [self.workspace] if other is None else [self.workspace, other]

    @property
    def title(self) -> str:
        """The title of the report."""
        if self.options.title:
            return self.options.title
        names = [profile.name for profile in self.profiles]
        names = names or [os.path.basename(path) for path in self.workspace.paths]
        more = f" and {len(names) + self.others - 1} more" if len(names) + self.others > 1 else ""
        if self.options.compared is not None and len(names) > 1:
            return f"{names[0]} → {names[-1]}"
        return f"{names[0]}{more}" if names else "Report"


def contents_of(workspace: Workspace, options: ReportOptions, limits: Limits) -> Contents:
    """Return the contents of a report of a workspace, and of the other arm of a comparison."""
    other = options.compared.other if options.compared else None
    spaces = [workspace] if other is None else [workspace, other]
    each = limits.profiles if other is None else max(limits.profiles // 2, 1)
    if other is not None:
        each = 1
    profiles: list[Profile] = []
    axes: list[Axes] = []
    for space, arm in zip(spaces, ("A", "B") if other is not None else ("",), strict=True):
        fewer = _only(space, each)
        open_traces = list(views_of(fewer, {Inferences.AS_RUN}, {}).values())
        names = short_paths(open_trace.file.path for open_trace in open_traces)
        arm_profiles = [
            Profile(len(profiles) + i, fewer, open_trace, names[open_trace.file.path], arm)
            for i, open_trace in enumerate(open_traces)
        ]
        profiles += arm_profiles
        axes += [
            Axes(open_traces, group, [arm_profiles[i] for i in group.traces])
            for group in clock_groups(open_traces)
            if group.traces
        ]
    count = sum(len(space.traces) for space in spaces)
    return Contents(workspace, options, limits, profiles, count - len(profiles), axes)


def _only(space: Workspace, most: int) -> Workspace:
    """Return a workspace with its first profiles; its links and choices stay."""
    if len(space.traces) <= most:
        return space
    fewer = copy.copy(space)
    fewer.traces = space.traces[:most]
    return fewer
