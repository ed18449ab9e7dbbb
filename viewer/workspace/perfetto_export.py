"""A Perfetto export of a workspace: its options, its size, and writing it. No Qt.

`PerfettoOptions` is the user's request, in the window or on the command line. `PerfettoJob` holds
all data of that moment, so that it can be measured and written on other threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from viewer.analysis.links.delegate_clocks import with_native_ns
from viewer.analysis.links.labels import node_texts, set_label, slice_labels, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.torq.measured_actions import jobs_of_keys
from viewer.arrays import Ints
from viewer.codecs.atomic_file import NothingToExport
from viewer.codecs.file_bytes import hash_facts
from viewer.codecs.reading import Cancelled, Progress
from viewer.dataclasses import dataclass, field, replace
from viewer.export.perfetto.source import (
    ExportTrack,
    FlowEdges,
    KeyFacts,
    PerfettoBookmark,
    PerfettoSource,
    TimesTooFarApart,
    TraceExtras,
    flows_among,
)
from viewer.export.perfetto.writer import FileSize, export_perfetto, inputs_of, size_of_perfetto
from viewer.model.trace import Trace
from viewer.model.trace_attributes import is_of_one_file
from viewer.tables.slices import operator_names
from viewer.workspace.snapshot import NO_TIMES, Snapshot, estimates_of_snapshot

WHOLE, RANGE, SELECTION = "whole trace", "range", "selection"
EDGES_WHOLE = "slices that cross the range boundary are exported in full"
_NO_HASH = {"sha256": "0" * 64}  # a placeholder of the same length, to measure the file size


@dataclass(frozen=True, slots=True)
class DerivedSource:
    """Tracks that a query derives, in ns of the axis of the clock of an open trace (`number`)."""

    number: int
    trace: Trace
    sql: str


@dataclass(frozen=True, slots=True)
class PerfettoOptions:
    """What to write of the open files, and with which extras.

    Traces are named by their numbers among the open ones, and a range is in ns of the axis of a
    clock, which starts at 0 with the earliest of its traces.

    what: WHOLE, RANGE or SELECTION. ns_range: the same range of every clock; ranges: the range of
    each trace instead, the same for all of a clock. For a selection they apply to counters and
    bookmarks. only: for a selection, the ascending slices of each trace; a trace without an entry
    has none. shifts: what to add to the ns of a trace so that clocks are aligned, and at what, such
    as "start of run 2"; missing for a clock that is not aligned. order: (trace, track) pairs in
    display order. bookmarks: in ns of the axis of their trace's clock. own_names: slices keep the
    names of their file, and operators are an argument. derived: tracks of queries, which become
    processes of their own; a selection has none.
    """

    what: str = WHOLE
    ns_range: tuple[int, int] | None = None
    only: Mapping[int, Ints] | None = None
    ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    shifts: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    order: tuple[tuple[int, int], ...] = ()
    bookmarks: tuple[PerfettoBookmark, ...] = ()
    flows: bool = True
    counters: bool = True
    annotations: bool = True
    own_names: bool = False
    derived: tuple[DerivedSource, ...] = ()


class ExportFlows:
    """The flows of open traces, cached for the last 8 choices of slices."""

    def __init__(self) -> None:
        self._known: list[tuple[LinkTable, Ints | None, FlowEdges]] = []

    def of(self, table: LinkTable) -> Callable[[Ints | None], FlowEdges]:
        """Return the function that gives the exporter the flows of one trace."""

        def found(only: Ints | None) -> FlowEdges:
            for link_table, chosen, edges in self._known:
                if link_table is table and (
                    chosen is only
                    if only is None or chosen is None
                    else len(chosen) == len(only) and bool((chosen == only).all())
                ):
                    return edges
            edges = flows_among(table, only)
            self._known = [*self._known[-7:], (table, only, edges)]
            return edges

        return found


class PerfettoJob:
    """One export, ready to be measured and written; immutable.

    opened: the data to export. Labels of slices take a while, so they are computed on the thread
    that measures or writes. flows: cached by an earlier job. Raises NothingToExport if no profile
    is open.
    """

    def __init__(
        self, opened: Snapshot, perfetto_options: PerfettoOptions, flows: ExportFlows | None = None
    ) -> None:
        if opened.only_executables:
            raise NothingToExport(NO_TIMES)
        if not opened.traces:
            raise NothingToExport(
                "This file has no timing data. Also open a profile, or export its operators as .csv"
            )
        self._opened, self._wish = opened, perfetto_options
        self._flows = flows or ExportFlows()
        self._kept = [
            number
            for number in range(len(opened.traces))
            if perfetto_options.only is None or number in perfetto_options.only
        ]
        place = {number: index for index, number in enumerate(self._kept)}
        self._place(opened)
        facts: dict[str, int | str] = {"range": perfetto_options.what}
        if self._ns_range is not None:
            facts |= {"range_start_ns": self._ns_range[0], "range_end_ns": self._ns_range[1]}
        if self._ns_range is not None or self._ranges:
            facts["range_edges"] = EDGES_WHOLE
        self._beside = TraceExtras(
            tuple(
                (place[trace], track) for trace, track in perfetto_options.order if trace in place
            ),
            tuple(self._marks(opened)),
            facts,
        )
        # Numbered after the inputs that an imported trace was made with.
        alone = opened.traces[self._kept[0]] if len(self._kept) == 1 else None
        inputs = inputs_of(alone.trace) if alone is not None else 0
        self._inputs = [
            (f"input{inputs + n}", program.path) for n, program in enumerate(opened.programs, 1)
        ]

    def _place(self, opened: Snapshot) -> None:
        """Decide where each trace is on the axis of the file, and which part of it is written.

        `_ns_range` is the range of the whole file if it has one, else `_ranges` are those of its
        traces; `_shifts` are empty unless several clocks of the file are aligned.
        """
        perfetto_options, numbers = self._wish, self._kept
        clock_of = [linked_trace.place.key for linked_trace in opened.traces]
        self._clocks = {clock_of[number] for number in numbers}
        aligned = {clock_of[number] for number in numbers if number in perfetto_options.shifts}
        self._shifts = perfetto_options.shifts if len(aligned) > 1 else {}
        self._ranges = perfetto_options.ranges
        self._ns_range = perfetto_options.ns_range
        if self._ranges and len(self._clocks) == 1:
            self._ns_range, self._ranges = self._ranges[numbers[0]], {}
        elif self._ns_range is not None and self._shifts:
            self._ranges, self._ns_range = dict.fromkeys(numbers, self._ns_range), None

    def _marks(self, opened: Snapshot) -> Iterator[PerfettoBookmark]:
        """Yield the bookmarks on the clocks of the file, on its axis."""
        clock_of = [linked_trace.place.key for linked_trace in opened.traces]
        range_of = {clock_of[number]: span for number, span in self._ranges.items()}
        for mark in self._wish.bookmarks:
            clock = clock_of[mark.trace]
            start, end = mark.start_ns, mark.end_ns
            first, last = range_of.get(clock, (start, end + 1))
            overlaps = start < last and (end > first or start == end >= first)
            if clock in self._clocks and overlaps:
                by = self._shifts.get(mark.trace, (0, ""))[0]
                yield replace(mark, start_ns=start + by, end_ns=end + by)

    def _placed(self, number: int) -> PerfettoSource:
        """Return a trace as a source, with its place in the file."""
        source = perfetto_source(self._opened, number)
        by, reason = self._shifts.get(number, (0, ""))
        facts: dict[str, int | str] = {}
        place = self._opened.traces[number].place
        if place.reason:
            facts |= {"same_clock": place.reason, "same_clock_shift_ns": place.shift_ns}
        if number in self._shifts:
            facts |= {"alignment": reason, "alignment_shift_ns": by}
        span = self._ranges.get(number)
        if span is not None:
            facts |= {"range_start_ns": span[0], "range_end_ns": span[1]}
            span = span[0] + by, span[1] + by
        offset = source.offset_ns + by
        return replace(source, offset_ns=offset, ns_range=span, placement=facts)

    @cached_property
    def _sources(self) -> list[PerfettoSource]:
        opened, user_options = self._opened, self._wish
        return [
            replace(
                self._placed(number),
                counters=user_options.counters,
                annotations=user_options.annotations,
                own_names=user_options.own_names,
                only=None if user_options.only is None else user_options.only[number],
                flows=self._flows.of(opened.traces[number].table) if user_options.flows else None,
            )
            for number in self._kept
        ]

    def _derived(self) -> Iterator[PerfettoSource]:
        """Yield the tracks of queries on the clocks of the file."""
        for derived in self._wish.derived if self._wish.only is None else ():
            by, _ = self._shifts.get(derived.number, (0, ""))
            span = self._ranges.get(derived.number)
            yield replace(
                PerfettoSource.of(derived.trace),
                offset_ns=by,
                counters=True,
                ns_range=None if span is None else (span[0] + by, span[1] + by),
                placement={"query": derived.sql},
            )

    def size(self) -> FileSize:
        """Estimate the contents and size of the file. Raises NothingToExport."""
        sources, extras = self._with_hashes(lambda path: _NO_HASH)
        try:
            return size_of_perfetto(sources, ns_range=self._ns_range, trace_extras=extras)
        except TimesTooFarApart as error:
            raise NothingToExport(f"{error}. Export the files one by one") from error

    def write(self, path: str, progress: Progress, cancelled: Cancelled) -> int:
        """Hash the inputs and write the file; returns the number of slices written.

        Raises NothingToExport, OSError, WriteCancelled.
        """
        sources, extras = self._with_hashes(
            lambda of: hash_facts(of, self._opened.stamps[of], cancelled)
        )
        try:
            return export_perfetto(
                sources,
                path,
                ns_range=self._ns_range,
                trace_extras=extras,
                progress=progress,
                cancelled=cancelled,
            )
        except TimesTooFarApart as error:
            raise NothingToExport(f"{error}. Export the files one by one") from error

    def _with_hashes(
        self, hashed: Callable[[str], Mapping[str, str]]
    ) -> tuple[list[PerfettoSource], TraceExtras]:
        """Return the sources and the extras, with the hashes of all input files."""
        sources = [
            # An import carries over the hash of its own input.
            s if is_of_one_file(s.trace.provenance) else replace(s, input=hashed(s.trace.path))
            for s in self._sources
        ]
        sources += self._derived()
        facts = dict(self._beside.facts)
        for name, path in self._inputs:
            facts[f"{name}.file"] = os.path.basename(path)
            facts |= {f"{name}.{key}": value for key, value in hashed(path).items()}
        return sources, replace(self._beside, facts=facts)


def perfetto_source(opened: Snapshot, number: int) -> PerfettoSource:
    """Return one open trace as a source for the exporter: names, labels, facts per key."""
    linked_trace = opened.traces[number]
    table = linked_trace.table
    labels, strings = slice_labels(table)
    return PerfettoSource(
        trace=with_native_ns(table),
        ns_per_tick=linked_trace.rate.ns_per_tick,
        tracks=[
            ExportTrack(process, track_name(table, i))
            for i, process in enumerate(linked_trace.processes)
        ],
        offset_ns=linked_trace.offset_ns,
        rate_origin=linked_trace.rate.origin,
        labels=labels,
        label_strings=strings,
        facts=_key_facts(table, job_estimates(opened, linked_trace.trace)),
        counters=True,
        ran=table.ran,
    )


def job_estimates(opened: Snapshot, trace: Trace) -> dict[int, tuple[int, float]]:
    """Map keys to the compiler's estimate for their NSS job: ticks of the compile clock, and ns.

    The ns are at the rate in effect. Empty without estimates.
    """
    jobs = jobs_of_keys(trace, opened.dispatches)
    if not jobs:
        return {}
    expected = {
        (row.dispatch, row.job): (row.estimate, row.estimate_ns)
        for row in estimates_of_snapshot(opened).actions
        if row.estimate is not None and row.estimate_ns is not None
    }
    return {key: expected[job] for key, job in jobs.items() if job in expected}


def _key_facts(table: LinkTable, expected: Mapping[int, tuple[int, float]]) -> KeyFacts:
    keys = range(len(table.trace.keys))
    operators, texts = [table.operators(k) for k in keys], node_texts(table)
    return KeyFacts(
        correlation=[_correlation(table, k) for k in keys],
        debug_handles=[link.handles for link in table.links],
        operators=[tuple(operator_names(operators)) for operators in operators],
        modules=[
            set_label(table, link.operators) if link.operators else None for link in table.links
        ],
        sources=["; ".join(node_texts.sources) or None for node_texts in texts],
        callers=["; ".join(node_texts.callers) or None for node_texts in texts],
        reasons=[link.reason.text for link in table.links],
        estimates=expected,
    )


def _correlation(table: LinkTable, key: int) -> str | None:
    """Return "forward/10": equal for all slices of one operator, so that they share a color."""
    operators = table.operators(key)
    if not operators:
        return None
    names = [str(o.debug_handle) if o.debug_handle >= 0 else f"{o.op}#{o.index}" for o in operators]
    return f"{operators[0].method}/{'+'.join(names)}"
