"""A Perfetto export of a workspace: its options, its size, and writing it. No Qt.

`PerfettoOptions` is the user's request, in the window or on the command line. `PerfettoJob` holds
all data of that moment, so that it can be measured and written on other threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from viewer.analysis.links.delegate_clocks import with_native_ns
from viewer.analysis.links.labels import set_label, slice_labels, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.torq.measured_actions import jobs_of_keys
from viewer.arrays import Ints
from viewer.codecs.atomic_file import NothingToExport
from viewer.codecs.file_stamps import hash_facts
from viewer.codecs.reading import Cancelled, Progress
from viewer.export.perfetto.flows import flows_among
from viewer.export.perfetto.metadata import inputs_of
from viewer.export.perfetto.source import (
    ExportTrack,
    FlowEdges,
    KeyFacts,
    PerfettoBookmark,
    PerfettoSource,
    TimesTooFarApart,
    TraceExtras,
)
from viewer.export.perfetto.writer import FileSize, export_perfetto, size_of_perfetto
from viewer.export.tables.slices import operator_names, source_places
from viewer.model.provenance import is_of_one_file
from viewer.model.trace import Trace
from viewer.workspace.estimates import of_snapshot
from viewer.workspace.snapshot import NO_TIMES, Snapshot

WHOLE, RANGE, SELECTION = "whole trace", "range", "selection"
EDGES_WHOLE = "slices that cross the range boundary are exported in full"
_NO_HASH = {"sha256": "0" * 64}  # a placeholder of the same length, to measure the file size


@dataclass(frozen=True, slots=True)
class PerfettoOptions:
    """What to write of the open files, and with which extras.

    what: WHOLE, RANGE or SELECTION. ns_range: on the common axis, which starts at 0; for a
    selection, the range of counters and bookmarks. only: for a selection, the ascending slices of
    each trace, by its number among the open ones; a trace without an entry has none. order: (trace,
    track) pairs in display order.
    """

    what: str = WHOLE
    ns_range: tuple[int, int] | None = None
    only: Mapping[int, Ints] | None = None
    order: tuple[tuple[int, int], ...] = ()
    marks: tuple[PerfettoBookmark, ...] = ()
    flows: bool = True
    counters: bool = True
    annotations: bool = True


class ExportFlows:
    """The flows of open traces, cached for the last 8 choices of slices."""

    def __init__(self) -> None:
        self._known: list[tuple[LinkTable, Ints | None, FlowEdges]] = []

    def of(self, table: LinkTable) -> Callable[[Ints | None], FlowEdges]:
        """Return the function that gives the exporter the flows of one trace."""

        def found(only: Ints | None) -> FlowEdges:
            for known, chosen, edges in self._known:
                if known is table and (
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
        self, opened: Snapshot, wish: PerfettoOptions, flows: ExportFlows | None = None
    ) -> None:
        if opened.only_executables:
            raise NothingToExport(NO_TIMES)
        if not opened.traces:
            raise NothingToExport(
                "This file has no timing data. Also open a profile, or export its operators as .csv"
            )
        self._opened, self._wish = opened, wish
        self._flows = flows or ExportFlows()
        self._kept = [
            number
            for number in range(len(opened.traces))
            if wish.only is None or number in wish.only
        ]
        place = {number: at for at, number in enumerate(self._kept)}
        facts: dict[str, int | str] = {"range": wish.what}
        if wish.ns_range is not None:
            facts |= {
                "range_start_ns": wish.ns_range[0],
                "range_end_ns": wish.ns_range[1],
                "range_edges": EDGES_WHOLE,
            }
        self._beside = TraceExtras(
            tuple((place[trace], track) for trace, track in wish.order if trace in place),
            wish.marks,
            facts,
        )
        # Numbered after the inputs that an imported trace was made with.
        alone = opened.traces[self._kept[0]] if len(self._kept) == 1 else None
        known = inputs_of(alone.trace) if alone is not None else 0
        self._inputs = [
            (f"input{known + n}", program.path) for n, program in enumerate(opened.programs, 1)
        ]

    @cached_property
    def _sources(self) -> list[PerfettoSource]:
        """The profiles to write, as sources for the exporter."""
        opened, user_options = self._opened, self._wish
        return [
            replace(
                perfetto_source(opened, number),
                counters=user_options.counters,
                annotations=user_options.annotations,
                only=None if user_options.only is None else user_options.only[number],
                flows=self._flows.of(opened.traces[number].table) if user_options.flows else None,
            )
            for number in self._kept
        ]

    def size(self) -> FileSize:
        """Estimate the contents and size of the file. Raises NothingToExport."""
        sources, extras = self._with_hashes(lambda path: _NO_HASH)
        try:
            return size_of_perfetto(sources, ns_range=self._wish.ns_range, beside=extras)
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
                ns_range=self._wish.ns_range,
                beside=extras,
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
        facts = dict(self._beside.facts)
        for name, path in self._inputs:
            facts[f"{name}.file"] = os.path.basename(path)
            facts |= {f"{name}.{key}": value for key, value in hashed(path).items()}
        return sources, replace(self._beside, facts=facts)


def perfetto_source(opened: Snapshot, number: int) -> PerfettoSource:
    """Return one open trace as a source for the exporter: names, labels, facts per key."""
    one = opened.traces[number]
    table = one.table
    labels, strings = slice_labels(table)
    return PerfettoSource(
        trace=with_native_ns(table),
        ns_per_tick=one.rate.ns_per_tick,
        tracks=[
            ExportTrack(process, track_name(table, i)) for i, process in enumerate(one.processes)
        ],
        offset_ns=one.offset_ns,
        rate_origin=one.rate.origin,
        labels=labels,
        label_strings=strings,
        facts=_key_facts(table, job_estimates(opened, one.trace)),
        counters=True,
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
        for row in of_snapshot(opened).actions
        if row.estimate is not None and row.estimate_ns is not None
    }
    return {key: expected[job] for key, job in jobs.items() if job in expected}


def _key_facts(table: LinkTable, expected: Mapping[int, tuple[int, float]]) -> KeyFacts:
    keys = range(len(table.trace.keys))
    operators = [table.operators(k) for k in keys]
    return KeyFacts(
        correlation=[_correlation(table, k) for k in keys],
        debug_handles=[link.handles for link in table.links],
        operators=[tuple(operator_names(found)) for found in operators],
        modules=[
            set_label(table, link.operators) if link.operators else None for link in table.links
        ],
        sources=["; ".join(source_places(found)) or None for found in operators],
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
