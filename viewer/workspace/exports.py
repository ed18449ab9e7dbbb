"""Exports of the workspace: traces and their links, as a Perfetto trace or a table. No Qt."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.delegates.handle_maps import HandleMaps, recorded_rows
from viewer.analysis.links.labels import HOW_TO_LOG
from viewer.analysis.statistics.grouping import Grouping
from viewer.codecs.atomic_file import NothingToExport as NothingToExport
from viewer.codecs.reading import Cancelled, Progress
from viewer.dataclasses import dataclass, replace
from viewer.export.table_files import write_table
from viewer.formats.column_cache import CACHE
from viewer.model.trace import Column
from viewer.tables.columns import SharedColumn, joined_shared
from viewer.tables.operators import costed_operator_columns, handle_map_columns, operator_columns
from viewer.tables.slices import SliceTable, SliceTableSource, shared_slice_columns, untimed_columns
from viewer.tables.statistics import statistics_columns
from viewer.workspace.snapshot import NO_TIMES, LinkedTrace, Snapshot
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.workspace.perfetto_export import DerivedSource

# The Perfetto exporter loads the official protos, so it is imported late for a fast startup.
PERFETTO_SUFFIXES = (".pftrace", ".pftrace.gz", ".pb", ".pb.gz")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
EXPORT_SUFFIXES = PERFETTO_SUFFIXES + TABLE_SUFFIXES
TABLES = ("slices", "operators", "statistics", "untimed", "handle_map")
_NOT_ALIGNED: Mapping[int, tuple[int, str]] = MappingProxyType({})

ExportJob = Callable[[Progress, Cancelled], int]


@dataclass(frozen=True, slots=True)
class _Target:
    """The file that a table is written to, and whether texts are written as they are."""

    path: str
    raw: bool


def prepare(
    workspace: Workspace,
    path: str,
    table: str = "slices",
    by: str | None = None,
    ns_range: tuple[int, int] | None = None,
    raw: bool = False,
    shifts: Mapping[int, tuple[int, str]] = _NOT_ALIGNED,
    *,
    own_names: bool = False,
    derived: Sequence[DerivedSource] = (),
) -> ExportJob:
    """Collect all that an export to `path` needs as frozen data, in the format of its suffix.

    The job writes the file, completely or not at all, and returns the slices or rows written. It
    may run on another thread: later changes of the workspace do not affect it. table: the kind of
    table (one of TABLES) for a suffix in TABLE_SUFFIXES. by: the key of statistics, one of
    `viewer.analysis.statistics.group_keys.KEYS`. ns_range: only slices in this part of the axis of
    every clock, in ns from its start; slices that cross its edges are exported in full. raw: write
    texts to .csv and .tsv as they are, also those that a spreadsheet takes for formulas. shifts,
    own_names, derived: of a Perfetto file, as in `PerfettoOptions`. Raises NothingToExport, and
    ValueError for a suffix that is not in EXPORT_SUFFIXES; the job NothingToExport, OSError and
    WriteCancelled.
    """
    name = path.lower()
    if name.endswith(PERFETTO_SUFFIXES):
        from viewer.workspace.perfetto_export import RANGE, WHOLE, PerfettoJob, PerfettoOptions

        what = WHOLE if ns_range is None else RANGE
        options = PerfettoOptions(
            what, ns_range, shifts=shifts, own_names=own_names, derived=tuple(derived)
        )
        job = PerfettoJob(Snapshot.of(workspace), options)
        return lambda progress, cancelled: job.write(path, progress, cancelled)
    if not name.endswith(TABLE_SUFFIXES):
        raise ValueError(f"{path}: the name must end in one of {', '.join(EXPORT_SUFFIXES)}")
    opened = Snapshot.of(workspace)
    if opened.only_executables:
        raise NothingToExport(NO_TIMES)
    target = _Target(path, raw)
    if table == "operators":
        return _prepare_operators(opened, target)
    if table == "untimed":
        return _prepare_untimed(opened, target)
    if table == "handle_map":
        return _prepare_handle_map(opened, target)
    if table == "statistics":
        return _prepare_statistics(opened, target, by)
    if opened.traces:
        return _prepare_slices(opened.traces, target, ns_range)
    return _prepare_operators(opened, target)


def of_whole_columns(workspace: Workspace, job: ExportJob) -> ExportJob:
    """Return a job that raises NothingToExport if kept columns of an open profile are damaged."""
    profiles = [(trace.slices, trace.path) for trace in workspace.traces]

    def checked(progress: Progress, cancelled: Cancelled) -> int:
        for slices, path in profiles:
            if CACHE.is_damaged(slices, cancelled):
                raise NothingToExport(
                    f"kept columns of {os.path.basename(path)} are damaged. The file is read "
                    "again; export it after that"
                )
        return job(progress, cancelled)

    return checked


def _prepare_slices(
    traces: Sequence[LinkedTrace], target: _Target, ns_range: tuple[int, int] | None
) -> ExportJob:
    linked = _slice_sources(traces)
    if ns_range is not None:
        linked = [
            replace(
                slice_table_source, ns_range=(ns_range[0] - t.offset_ns, ns_range[1] - t.offset_ns)
            )
            for slice_table_source, t in zip(linked, traces, strict=True)
        ]
    return lambda progress, cancelled: _write_slices(target, linked, progress, cancelled)


def slice_tables(traces: Sequence[LinkedTrace]) -> list[SliceTable]:
    """Return the slices of profiles as tables, with the times that an export has."""
    return [SliceTable(source) for source in _slice_sources(traces)]


def common_offsets(traces: Sequence[LinkedTrace]) -> list[int]:
    """Return the ns to add to the times of each profile in one table.

    Unrelated clocks have no common zero, so every file counts from its own start, as in the window.
    So do files on one axis that count from different moments, from the start of the first one. A
    single file keeps its own times.
    """
    aligned = len({(t.place.key, t.place.shift_ns) for t in traces}) > 1
    return [t.offset_ns if aligned else 0 for t in traces]


def _slice_sources(traces: Sequence[LinkedTrace]) -> list[SliceTableSource]:
    return [
        SliceTableSource(t.table, t.rate.ns_per_tick, offset, t.processes)
        for t, offset in zip(traces, common_offsets(traces), strict=True)
    ]


def _prepare_operators(opened: Snapshot, target: _Target) -> ExportJob:
    """Export the operators of every profile's ETRecord with their cost; else of ETRecords alone."""
    costed = [(t.table, t.rate.ns_per_tick) for t in opened.traces if t.table.program is not None]
    if opened.traces and not costed:
        raise NothingToExport("No open ETRecord or source matches a profile")
    programs = () if opened.traces else opened.programs

    def write(progress: Progress, cancelled: Cancelled) -> int:
        tables = [costed_operator_columns(table, rate) for table, rate in costed]
        tables += [operator_columns(program) for program in programs]
        return _write_joined(target, tables, progress, cancelled)

    return write


def _prepare_untimed(opened: Snapshot, target: _Target) -> ExportJob:
    linked = [(t.table, t.name) for t in opened.traces if len(t.trace.untimed)]
    if not linked:
        raise NothingToExport(f"No open file has events without a time. {HOW_TO_LOG}")
    return lambda progress, cancelled: _write_joined(
        target, [untimed_columns(*pair) for pair in linked], progress, cancelled
    )


def _prepare_handle_map(opened: Snapshot, target: _Target) -> ExportJob:
    """Export the maps of every profile, or of ETRecords if no profile is open."""
    tables = [
        handle_map_columns(
            HandleMaps(t.table).rows(), t.table.program, t.trace.path, t.rate.ns_per_tick
        )
        for t in opened.traces
    ]
    if not tables:
        tables = [handle_map_columns(recorded_rows(p), p, p.path, None) for p in opened.programs]
    if not any(len(table["file"]) for table in tables):
        raise NothingToExport(
            "No delegate logged an identifier, and no linked ETRecord has a delegate"
        )
    return lambda progress, cancelled: _write_joined(target, tables, progress, cancelled)


def _prepare_statistics(opened: Snapshot, target: _Target, by: str | None) -> ExportJob:
    """Export every profile that has groups by the key; by default by operator, else by name."""
    if not opened.traces:
        raise NothingToExport("No profile is open")
    groupings = [Grouping(t.table, t.rate.ns_per_tick) for t in opened.traces]
    key = by
    if key is None:
        key = "name" if all(g.missing("operator") for g in groupings) else "operator"
    missing = [grouping.missing(key) for grouping in groupings]
    if all(missing):
        raise NothingToExport(f"No statistics by {key}: {'; '.join(dict.fromkeys(missing))}")
    tables = [
        statistics_columns(t.trace.path, t.rate.ns_per_tick, group_table, group_table.groups)
        for t, grouping, why in zip(opened.traces, groupings, missing, strict=True)
        if not why and (group_table := grouping.by(key))
    ]
    return lambda progress, cancelled: _write_joined(target, tables, progress, cancelled)


def table_job(
    path: str,
    names: Sequence[str],
    columns: Mapping[str, Sequence[Any] | Column | SharedColumn],
    *,
    raw: bool = False,
) -> ExportJob:
    """Return a job that writes the named columns as a table, raw as in `write_table`."""
    chosen = [columns[name] for name in names]
    return lambda progress, cancelled: write_table(
        path, names, chosen, raw=raw, progress=progress, cancelled=cancelled
    )


def _write_slices(
    target: _Target, linked: list[SliceTableSource], progress: Progress, cancelled: Cancelled
) -> int:
    try:
        columns = joined_shared([shared_slice_columns(source) for source in linked])
    except OverflowError as error:
        raise NothingToExport(
            "The times are more than 292 years apart. Export the files one by one"
        ) from error
    job = table_job(target.path, tuple(columns), columns, raw=target.raw)
    return job(progress, cancelled)


def _write_joined(
    target: _Target,
    tables: list[dict[str, Any]],
    progress: Progress,
    cancelled: Cancelled,
) -> int:
    """Write several tables as one; a column that one of them lacks is empty there."""
    names = list(dict.fromkeys(name for table in tables for name in table))
    columns = [
        np.concatenate([_column(table, name) for table in tables])
        if len(tables) > 1
        else _column(tables[0], name)
        for name in names
    ]
    return write_table(
        target.path, names, columns, raw=target.raw, progress=progress, cancelled=cancelled
    )


def _column(table: dict[str, Any], name: str) -> Any:
    if name in table:
        return table[name]
    size = len(next(iter(table.values()), ()))
    empty = np.empty(size, object)
    empty[:] = ""
    return empty
