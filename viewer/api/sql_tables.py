"""The tables of open files for SQL: those of `viewer.tables`, and views with Perfetto's names.

A table is a *base table* whose columns are made when a query needs them, and a view with its name.
Times of slices are computed from their ticks, which DuckDB reads where they are: a table of ten
million slices with all columns would take 900 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.links.labels import track_name
from viewer.api.base_table import BaseTable, coded_texts, duckdb_type, duckdb_types
from viewer.api.charge_tables import MACROS_OF_CHARGES, PARAMETERS, charge_tables
from viewer.arrays import Ints
from viewer.model.queries import self_times, tree
from viewer.model.times import tick_to_ns, ticks_to_ns
from viewer.model.trace import Column, Slices, Trace
from viewer.model.track_blocks import TrackBlock, in_blocks
from viewer.query.engine import named, quoted
from viewer.tables.catalog import TABLES
from viewer.tables.slices import SLICES, SliceTable
from viewer.tables.spec import ColumnSpec, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from viewer.api.profile_tables import ProfileTables

_KINDS = {"f": "DOUBLE", "b": "BOOLEAN", "i": "BIGINT", "u": "BIGINT"}

THREADS = TableSpec("threads", (
    ColumnSpec("id", "int64", "Number of the thread"),
    ColumnSpec("file", "category", "Path of the profile"),
    ColumnSpec("process", "category", "Process, as displayed"),
    ColumnSpec("thread", "category", "Thread, as displayed"),
    ColumnSpec("unit", "category", "Part of an NPU that works on it"),
))  # fmt: skip
ARGUMENTS = TableSpec("arguments", (
    ColumnSpec("slice_id", "int64", "Slice that has it: its `id` in `slices`"),
    ColumnSpec("name", "category", "Name of the argument"),
    ColumnSpec("text", "category", "Its value as a text"),
    ColumnSpec("number", "float64", "Its value, if it is a number"),
    ColumnSpec("whole", "Int64", "Its value, if it is a whole number"),
))  # fmt: skip
# Columns of `slices` in front of those of `profile.slices`.
OF_SLICES = (
    ColumnSpec("id", "int64", "Number of the slice: its row in `profile.slices`"),
    ColumnSpec("parent", "Int64", "`id` of the slice around it"),
    ColumnSpec("file", "category", "Path of the profile"),
    ColumnSpec("thread_id", "int64", "Its `id` in `threads`"),
    ColumnSpec("self_ns", "Int64", "Duration without the slices inside", unit="ns"),
)
PERFETTO_VIEWS = (
    "slice", "process", "thread", "thread_track", "track", "thread_slice", "counter_track",
    "counter", "args",
)  # fmt: skip
_START, _END = "_start", "_end"


@dataclass(frozen=True, slots=True)
class SqlTables:
    """The base tables of open files, and the statements that make views of them, in order."""

    tables: tuple[BaseTable, ...]
    views: tuple[str, ...]


def sql_tables(profile: ProfileTables, select: str) -> SqlTables:
    """Return the tables of open files; those that have a parameter, only if a query names it."""
    sliced = [*_slice_tables(profile)]
    others = [_whole(spec, partial(getattr, profile, name)) for name, spec in TABLES.items()
              if name != "slices"]  # fmt: skip
    threads = _whole(THREADS, partial(_threads, profile))
    arguments = BaseTable("_arguments", duckdb_types(ARGUMENTS), partial(_arguments, profile))
    slices = " UNION ALL BY NAME ".join(view for _, view in sliced)
    empty = ", ".join(
        f"NULL::{duckdb_type(c)} AS {named(c.name)}" for c in (*OF_SLICES, *SLICES.columns)
    )
    views = [f"CREATE VIEW slices AS {slices or f'SELECT {empty} WHERE false'}"]
    whole = (*others, threads, arguments)
    views += [f"CREATE VIEW {named(t.name[1:])} AS FROM {named(t.name)}" for t in whole]
    charged = list(charge_tables(profile, select))
    views += [f"CREATE VIEW {named(name)} AS FROM {named(table.name)}" for table, name in charged]
    views += [*_perfetto_views(profile), *(MACROS_OF_CHARGES if charged else ())]
    every = (*(base for base, _ in sliced), *whole, *(table for table, _ in charged))
    return SqlTables(every, tuple(views))


def schema(profile: ProfileTables) -> dict[str, tuple[ColumnSpec, ...]]:
    """Return the columns of all tables; those that only files have are without a meaning."""
    stated = dict.fromkeys(
        name for table in profile.sliced for name in table.names if name not in SLICES.names
    )
    of_files = (ColumnSpec(name, "object", "Argument of the file") for name in stated)
    tables = {"slices": (*OF_SLICES, *SLICES.columns, *of_files)}
    tables |= {name: spec.columns for name, spec in TABLES.items() if name != "slices"}
    tables |= {spec.name: spec.columns for spec in (THREADS, ARGUMENTS)}
    return tables | {name: spec.columns for name, spec in PARAMETERS.items()}


def _whole(spec: TableSpec, frame: Callable[[], Any]) -> BaseTable:
    """Return a table that is made as a whole when a query names it."""

    def arrow(names: Sequence[str]) -> pa.Table:
        from viewer.api.arrow import arrow_table

        return arrow_table(frame()[list(names)])

    return BaseTable(f"_{spec.name}", duckdb_types(spec), arrow)


# -- slices ----------------------------------------------------------------------------------------


def _slice_tables(profile: ProfileTables) -> Iterator[tuple[BaseTable, str]]:
    """Return for each profile its base table, and the statement that selects its slices."""
    first = thread = 0
    for number, table in enumerate(profile.sliced):
        trace, source = table.source.table.trace, table.source
        rate, offset = source.ns_per_tick, source.offset_ns
        columns = {_START: "BIGINT", _END: "BIGINT", **{c.name: duckdb_type(c) for c in OF_SLICES}}
        columns |= {name: _type_of(table, name) for name in table.names}
        del columns["file"]
        chosen = {name: named(name) for name in columns if name not in (_START, _END)}
        chosen["file"] = f"{quoted(trace.path)}"
        if rate.denominator == 1:
            ns = rate.numerator
            chosen["start_ns"] = f"{_START} * {ns} + {offset}" if (ns, offset) != (1, 0) else _START
            chosen["dur_ns"] = f"({_END} - {_START}) * {ns}" if ns != 1 else f"{_END} - {_START}"
        base = BaseTable(f"_slices_{number}", columns, partial(_slices_arrow, table, first, thread))
        order = [*(c.name for c in OF_SLICES), *table.names]
        listed = ", ".join(f"{chosen[name]} AS {named(name)}" for name in order)
        yield base, f"SELECT {listed} FROM {named(base.name)}"
        first, thread = first + len(table), thread + len(trace.tracks)


def _type_of(table: SliceTable, name: str) -> str:
    """Return the type of a column of slices in DuckDB, without making the column."""
    if name in SLICES.names:
        return duckdb_type(SLICES[name])
    stated = table.source.table.trace.slices.columns
    bare = name
    while bare not in stated and bare.startswith("column "):
        bare = bare.removeprefix("column ")
    column = stated.get(bare)
    if column is None or (column.strings is None and column.values.dtype.kind == "u"):
        column = table.column(name)[1]
    return "VARCHAR" if column.strings is not None else _KINDS[column.values.dtype.kind]


def _slices_arrow(table: SliceTable, first: int, thread: int, names: Sequence[str]) -> pa.Table:
    """Return some columns of the slices of one profile.

    first, thread: the numbers of its first slice and thread among those of all profiles.
    """
    import pyarrow

    from viewer.api.arrow import arrow_table
    from viewer.api.frames import frame_of_slices

    trace = table.source.table.trace
    slices = trace.slices
    by_name: dict[str, Callable[[], Any]] = {
        _START: lambda: pyarrow.array(np.ascontiguousarray(slices.start)),
        _END: lambda: pyarrow.array(np.ascontiguousarray(slices.end)),
        "id": lambda: pyarrow.array(
            np.arange(first, first + len(slices), dtype=_least(first, slices))
        ),
        "depth": lambda: _depths(trace),
        "parent": lambda: _parents(trace, first),
        "thread_id": lambda: pyarrow.array(
            slices.row_track[slices.rows()].astype(np.int64) + thread
        ),
        "self_ns": lambda: pyarrow.array(ticks_to_ns(self_times(trace), table.source.ns_per_tick)),
        "name": lambda: _names(trace),
    }
    listed = [name for name in names if name not in by_name]
    frame = arrow_table(frame_of_slices([table], listed)) if listed else None
    arrays = [by_name[name]() if name in by_name else frame[name] for name in names]  # type: ignore[index]
    return pyarrow.Table.from_arrays(arrays, names=list(names))


def _names(trace: Trace) -> Any:
    """Return the names of slices as a dictionary over the codes of the trace."""
    codes, strings = trace.slices.name, trace.strings
    return coded_texts(codes, strings, codes == strings.index("") if "" in strings else None)


def _least(first: int, slices: Slices) -> type[np.unsignedinteger[Any]]:
    """Return the shortest type of numbers of slices: DuckDB widens them as it reads."""
    return np.uint32 if first + len(slices) < np.iinfo(np.uint32).max else np.uint64


def _parents(trace: Trace, first: int) -> Any:
    """Return the `id` of the slice around each, block by block: whole trees take 24 B a slice."""
    import pyarrow

    slices = trace.slices
    none = np.iinfo(_least(first, slices)).max
    parent = np.full(len(slices), none, _least(first, slices))

    def fill(block: TrackBlock) -> None:
        shape, start = tree(block.slices), block.span.start
        inside = np.flatnonzero(shape.parent >= 0)
        around = shape.index[shape.parent[inside]]
        parent[shape.index[inside] + start] = around + (start + first)

    in_blocks(fill, slices)
    return pyarrow.array(parent, mask=parent == none)


def _depths(trace: Trace) -> Any:
    """Return the level of each slice in its lane, which is that of its row."""
    import pyarrow

    slices = trace.slices
    return pyarrow.array(np.repeat(slices.row_depth.astype(np.uint32), np.diff(slices.row_ptr)))


# -- threads and arguments -------------------------------------------------------------------------


def _threads(profile: ProfileTables) -> Any:
    from viewer.api.frames import frame_of_columns

    rows = [
        (table.source.table.trace.path, table.source.processes[i],
         track_name(table.source.table, i), track.unit.name.lower())
        for table in profile.sliced
        for i, track in enumerate(table.source.table.trace.tracks)
    ]  # fmt: skip
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    of_row = (range(len(rows)), *columns)
    return frame_of_columns(dict(zip(THREADS.names, map(list, of_row), strict=True)), THREADS)


def _arguments(profile: ProfileTables, names: Sequence[str]) -> pa.Table:
    """Return the arguments of all slices, one after another, each text once per argument."""
    import pyarrow

    types = {"slice_id": pyarrow.int64(), "number": pyarrow.float64(), "whole": pyarrow.int64()}
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    chunks: dict[str, list[Any]] = {name: [] for name in names}
    first = 0
    for table in profile.sliced:
        slices = table.source.table.trace.slices
        for name, column in slices.columns.items():
            index = np.arange(len(slices)) if column.valid is None else np.flatnonzero(column.valid)
            makers = _argument(column.taken(index), name, index + first)
            for chosen, arrays in chunks.items():
                arrays.append(makers[chosen]())
        first += len(slices)
    columns = [pyarrow.chunked_array(arrays, types.get(name, text))
               for name, arrays in chunks.items()]  # fmt: skip
    return pyarrow.Table.from_arrays(columns, names=list(names))


def _argument(column: Column, name: str, slice_id: Ints) -> dict[str, Callable[[], Any]]:
    """Return what makes the columns of one argument; column: of the slices that have it."""
    import pyarrow

    values, strings, rows = column.values, column.strings, len(slice_id)
    kind = values.dtype.kind

    def texts() -> Any:
        if strings is not None:
            return coded_texts(values.astype(np.int32), strings)
        distinct, code = np.unique(values, return_inverse=True)
        return coded_texts(code.astype(np.int32), list(map(str, distinct.tolist())))

    def number() -> Any:
        if strings is not None:
            return pyarrow.nulls(rows, pyarrow.float64())
        numbers = values.astype(np.float64)
        return pyarrow.array(numbers, mask=np.isnan(numbers))

    def whole() -> Any:
        is_whole = kind in "iu" and strings is None
        if not is_whole or (values > np.iinfo(np.int64).max).any():
            return pyarrow.nulls(rows, pyarrow.int64())
        return pyarrow.array(values.astype(np.int64))

    return {
        "slice_id": lambda: pyarrow.array(slice_id),
        "name": lambda: coded_texts(np.zeros(rows, np.int32), [name]),
        "text": texts,
        "number": number,
        "whole": whole,
    }


# -- Perfetto's names ------------------------------------------------------------------------------


def _perfetto_views(profile: ProfileTables) -> tuple[str, ...]:
    """Return views with the names and columns of Perfetto, so that its simple queries run.

    Times count from the earliest one, as in an exported trace. With unrelated clocks there is none.
    """
    traces = profile.linked
    is_one = len({linked.place.key for linked in traces}) <= 1
    starts = [
        tick_to_ns(linked.trace.start, linked.rate.ns_per_tick) + table.source.offset_ns
        for linked, table in zip(traces, profile.sliced, strict=True)
        if len(linked.trace.slices)
    ]  # fmt: skip
    ts = f"start_ns - {min(starts, default=0)}" if is_one else "NULL::BIGINT"
    columns = {name for table in profile.sliced for name in table.names}
    category = "category" if "category" in columns else "NULL::VARCHAR"
    counters = "file, process, name, unit"
    same = " AND ".join(f"c.{name} IS NOT DISTINCT FROM t.{name}" for name in counters.split(", "))
    return (
        f"CREATE VIEW slice AS SELECT id, {ts} AS ts, dur_ns AS dur, thread_id AS track_id, "
        f"{category} AS category, name, depth, parent AS parent_id, id AS arg_set_id FROM slices",
        "CREATE VIEW process AS SELECT row_number() OVER (ORDER BY min(id)) - 1 AS upid, "
        "row_number() OVER (ORDER BY min(id)) - 1 AS id, NULL::BIGINT AS pid, process AS name "
        "FROM threads GROUP BY file, process",
        "CREATE VIEW thread AS SELECT t.id AS utid, t.id AS id, NULL::BIGINT AS tid, "
        "t.thread AS name, p.upid AS upid, NULL::BOOLEAN AS is_main_thread FROM threads t "
        "JOIN (SELECT file, process, row_number() OVER (ORDER BY min(id)) - 1 AS upid "
        "FROM threads GROUP BY file, process) p "
        "ON t.file = p.file AND t.process IS NOT DISTINCT FROM p.process",
        "CREATE VIEW thread_track AS SELECT id, NULL::VARCHAR AS name, id AS utid, "
        "NULL::BIGINT AS parent_id FROM threads",
        "CREATE VIEW track AS SELECT id, NULL::VARCHAR AS name, 'thread_execution' AS type "
        "FROM threads",
        "CREATE VIEW thread_slice AS SELECT s.*, t.name AS thread_name, t.utid, t.tid, "
        "p.name AS process_name, p.upid, p.pid FROM slice s JOIN thread t ON s.track_id = t.utid "
        "JOIN process p USING (upid)",
        f"CREATE VIEW counter_track AS SELECT row_number() OVER (ORDER BY {counters}) - 1 AS id, * "
        f"FROM (SELECT DISTINCT {counters} FROM counters)",
        f"CREATE VIEW counter AS SELECT row_number() OVER (ORDER BY c.start_ns) - 1 AS id, "
        f"{ts} AS ts, c.value AS value, t.id AS track_id FROM counters c "
        f"JOIN counter_track t ON {same}",
        "CREATE VIEW args AS SELECT slice_id AS arg_set_id, 'debug.' || name AS flat_key, "
        "'debug.' || name AS key, "
        "whole AS int_value, CASE WHEN number IS NULL THEN text END AS string_value, "
        "CASE WHEN whole IS NULL THEN number END AS real_value, text AS display_value "
        "FROM arguments",
    )
