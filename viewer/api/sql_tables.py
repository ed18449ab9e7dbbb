"""The tables of open files for SQL: those of `viewer.tables`, charges, views of Perfetto's names.

Columns are made when a query needs them. Times of slices are computed from their ticks, which
DuckDB reads where they are: a table of ten million slices with all columns would take 900 MB.
`charges(key)` has the pieces of the figures of a key, `groups_of(key)` the group of each slice: a
table for each key and scope, since one for all would be too large.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.labels import track_name
from viewer.analysis.statistics.charges import (
    FIGURES,
    OF_SLICES,
    PHASE,
    TRACE,
    Charges,
    charge_scopes,
    charges,
)
from viewer.analysis.statistics.group_keys import ARGUMENT, KEYS, argument_names, refusal
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import groups_around
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.model.queries import TrackBlock, in_blocks, self_times, tree
from viewer.model.times import tick_to_ns, ticks_to_ns
from viewer.model.trace import Column, Slices, Trace
from viewer.query.engine import WrongQuery, named, quoted
from viewer.query.statistics_sql import MACROS
from viewer.tables.catalog import TABLES
from viewer.tables.columns import ColumnSpec, TableSpec
from viewer.tables.slices import SLICES, SliceTable, SliceTableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from viewer.api.profile_tables import ProfileTables


_TYPES = {"int64": "BIGINT", "Int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class BaseTable:
    """Columns by name with their types in DuckDB, and what makes some of them for Arrow.

    takes: about how many bytes these take while they are made; 0 if they are few.
    """

    name: str
    columns: Mapping[str, str]
    arrow: Callable[[Sequence[str]], pa.Table]
    takes: int = 0


def duckdb_type(column: ColumnSpec) -> str:
    """Return the type of a column in DuckDB."""
    return _TYPES.get(column.dtype, "VARCHAR")


def duckdb_types(spec: TableSpec) -> dict[str, str]:
    """Return the types of the columns of a table in DuckDB, by name."""
    return {column.name: duckdb_type(column) for column in spec.columns}


def coded_texts(
    codes: NDArray[np.integer[Any]], strings: Sequence[str], null: Bools | None = None
) -> Any:
    """Return texts by codes as a column for Arrow, which has the codes as they are."""
    import pyarrow

    from viewer.export.table_files import storable

    texts = pyarrow.array([storable(text) for text in strings], pyarrow.string())
    every = pyarrow.array(np.ascontiguousarray(codes), mask=null)
    return pyarrow.DictionaryArray.from_arrays(every, texts)


CHARGES = TableSpec("charges", (
    ColumnSpec("file", "category", "Path of the profile"),
    ColumnSpec("group_id", "Int64", "Number of the group in its file; missing for time in none"),
    ColumnSpec("label", "category", "The group, as Statistics shows it"),
    ColumnSpec("figure", "category", "What it is a piece of: total, self, wall or duration"),
    ColumnSpec("slice_id", "Int64", "Slice that it is charged to: its `id` in `slices`"),
    ColumnSpec("inference_id", "Int64", "Which of the inferences that count the slice starts in"),
    ColumnSpec("start_ns", "int64", "Start of the piece", unit="ns"),
    ColumnSpec("dur_ns", "int64", "Duration of the piece", unit="ns"),
    ColumnSpec("start_ticks", "int64", "Start of the piece", unit="ticks"),
    ColumnSpec("end_ticks", "int64", "End of the piece", unit="ticks"),
    ColumnSpec("native_dur", "Int64", "Duration on a clock of its own"),
    ColumnSpec("native_unit", "category", "Unit of that duration"),
    ColumnSpec("clock", "category", "Clock of the group, if it is not that of the file"),
))  # fmt: skip
GROUPS = TableSpec("groups_of", (
    ColumnSpec("file", "category", "Path of the profile"),
    ColumnSpec("slice_id", "int64", "Slice: its `id` in `slices`"),
    ColumnSpec("group_id", "int64", "Number of its group, or of the group around it, in its file"),
    ColumnSpec("label", "category", "The group, as Statistics shows it"),
))  # fmt: skip
# By what a query calls them, here with the key that most profiles have.
PARAMETERS = {f"{spec.name}('name')": spec for spec in (CHARGES, GROUPS)}
MACROS_OF_CHARGES = (
    "CREATE MACRO charges(key, scope := 'trace') AS TABLE "
    "FROM query_table('charges of ' || scope || ' by ' || key)",
    "CREATE MACRO groups_of(key) AS TABLE FROM query_table('groups by ' || key)",
    *MACROS,
)
_KEY = re.compile(rf"\b(?:{CHARGES.name}|{GROUPS.name})\(\s*'((?:[^']|'')*)'", re.IGNORECASE)
_BYTES_OF_PIECES = 500  # for each slice, while pieces are made


def names_charges(select: str) -> bool:
    """Return whether a query names one of the tables."""
    text = select.casefold()
    return CHARGES.name in text or GROUPS.name in text


def charge_tables(profile: ProfileTables, select: str) -> Iterator[tuple[BaseTable, str]]:
    """Return the tables of keys and scopes in a query, each with the name of its view.

    With a parameter in the query, those of all. Raises WrongQuery for what is no key.
    """
    text, is_any = select.casefold(), "$" in select
    if not names_charges(select):
        return
    tables = [table.source.table for table in profile.sliced]
    arguments = [f"{ARGUMENT}{name}" for table in tables for name in argument_names(table.trace)]
    every = dict.fromkeys((*KEYS, PHASE, *arguments))
    for key in _KEY.findall(select):
        name = key.replace("''", "'").removesuffix(OF_SLICES)
        if name not in every:
            raise WrongQuery(
                refusal(name) or f"No slice has the argument {name.removeprefix(ARGUMENT)}"
            )
    keys = [key for key in every if is_any or key.casefold() in text]
    scopes = dict.fromkeys(scope for table in tables for scope in charge_scopes(table))
    scopes_in_text = [
        scope for scope in scopes if is_any or scope == TRACE or scope.casefold() in text
    ]
    takes = sum(len(table.trace.slices) for table in tables) * _BYTES_OF_PIECES
    number = 0
    for key in keys:
        makers = {f"groups by {key}": (GROUPS, partial(_groups, profile, key))} | {
            f"charges of {scope} by {of}": (CHARGES, partial(_charges, profile, of, scope))
            for of in (key, f"{key}{OF_SLICES}")
            for scope in scopes_in_text
        }
        for name, (spec, make) in makers.items():
            # A key can have any character, and a plan shows the names of tables.
            yield BaseTable(f"_{spec.name}_{number}", duckdb_types(spec), make, takes), name
            number += 1


def _charges(profile: ProfileTables, key: str, scope: str, names: Sequence[str]) -> pa.Table:
    """Return some columns of the pieces of all profiles that have a key and a scope."""
    parts, first = [_none_of(CHARGES, names)], 0
    for table in profile.sliced:
        source = table.source
        of_scope = charge_scopes(source.table).get(scope)
        pieces = None if of_scope is None else charges(of_scope, key, source.ns_per_tick)
        if pieces is not None:
            parts.append(_columns_of(pieces, source, first, names))
        first += len(table)
    return _joined(parts)


def _columns_of(
    pieces: Charges, source: SliceTableSource, first: int, names: Sequence[str]
) -> pa.Table:
    import pyarrow

    count, rate = len(pieces.figure), source.ns_per_tick
    clock = pieces.group if pieces.clocks else np.full(count, -1)
    by_name: dict[str, Callable[[], Any]] = {
        "file": lambda: _texts((source.table.trace.path,), np.zeros(count, np.int64)),
        "group_id": lambda: _whole_numbers(pieces.group, pieces.group < 0),
        "label": lambda: _texts(pieces.labels, pieces.group),
        "figure": lambda: _texts(FIGURES, pieces.figure),
        "slice_id": lambda: _whole_numbers(pieces.slice_index + first, pieces.slice_index < 0),
        "inference_id": lambda: _whole_numbers(pieces.inference, pieces.inference < 0),
        "start_ns": lambda: _whole_numbers(ticks_to_ns(pieces.start, rate) + source.offset_ns),
        "dur_ns": lambda: _whole_numbers(ticks_to_ns(pieces.end - pieces.start, rate)),
        "start_ticks": lambda: _whole_numbers(pieces.start),
        "end_ticks": lambda: _whole_numbers(pieces.end),
        "native_dur": lambda: _whole_numbers(pieces.native_dur, pieces.unit < 0),
        "native_unit": lambda: _texts(pieces.units, pieces.unit),
        "clock": lambda: _texts(pieces.clocks, clock),
    }
    return pyarrow.table({name: by_name[name]() for name in names})


def _groups(profile: ProfileTables, key: str, names: Sequence[str]) -> pa.Table:
    """Return some columns of the group of each slice by a key, or of the group around it."""
    import pyarrow

    parts, first = [_none_of(GROUPS, names)], 0
    for table in profile.sliced:
        source, trace = table.source, table.source.table.trace
        grouping = Grouping(source.table, source.ns_per_tick)
        if key != PHASE and not grouping.missing(key):
            labels, group = groups_around(grouping, trace.slices, key)
            index = np.flatnonzero(group >= 0)
            columns = {
                "file": _texts((trace.path,), np.zeros(len(index), np.int64)),
                "slice_id": _whole_numbers(index + first),
                "group_id": _whole_numbers(group[index]),
                "label": _texts(labels, group[index]),
            }
            parts.append(pyarrow.table({name: columns[name] for name in names}))
        first += len(table)
    return _joined(parts)


def _whole_numbers(values: Ints, is_missing: Bools | None = None) -> Any:
    import pyarrow

    return pyarrow.array(values, pyarrow.int64(), mask=is_missing)


def _texts(texts: Sequence[str], code: Ints) -> Any:
    """Return texts by their codes; -1 is missing."""
    return coded_texts(code.astype(np.int32), texts, code < 0)


def _joined(parts: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, the first of which has no rows."""
    import pyarrow

    return parts[1] if len(parts) == 2 else pyarrow.concat_tables(parts)


def _none_of(spec: TableSpec, names: Sequence[str]) -> pa.Table:
    import pyarrow

    none = np.empty(0, np.int64)
    columns = {
        name: _whole_numbers(none) if spec[name].dtype in ("int64", "Int64") else _texts((), none)
        for name in names
    }
    return pyarrow.table(columns)


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
KEYS_OF_SLICES = (
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
    others = [_whole_table(spec, partial(getattr, profile, name)) for name, spec in TABLES.items()
              if name != "slices"]  # fmt: skip
    threads = _whole_table(THREADS, partial(_threads, profile))
    arguments = BaseTable("_arguments", duckdb_types(ARGUMENTS), partial(_arguments, profile))
    slices = " UNION ALL BY NAME ".join(view for _, view in sliced)
    empty = ", ".join(
        f"NULL::{duckdb_type(c)} AS {named(c.name)}" for c in (*KEYS_OF_SLICES, *SLICES.columns)
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
    tables = {"slices": (*KEYS_OF_SLICES, *SLICES.columns, *of_files)}
    tables |= {name: spec.columns for name, spec in TABLES.items() if name != "slices"}
    tables |= {spec.name: spec.columns for spec in (THREADS, ARGUMENTS)}
    return tables | {name: spec.columns for name, spec in PARAMETERS.items()}


def _whole_table(spec: TableSpec, frame: Callable[[], Any]) -> BaseTable:
    """Return a table that is made as a whole when a query names it."""

    def arrow(names: Sequence[str]) -> pa.Table:
        from viewer.api.frames import arrow_table

        return arrow_table(frame()[list(names)])

    return BaseTable(f"_{spec.name}", duckdb_types(spec), arrow)


# -- slices ----------------------------------------------------------------------------------------


def _slice_tables(profile: ProfileTables) -> Iterator[tuple[BaseTable, str]]:
    """Return for each profile its base table, and the statement that selects its slices."""
    first = thread = 0
    for number, table in enumerate(profile.sliced):
        trace, source = table.source.table.trace, table.source
        rate, offset = source.ns_per_tick, source.offset_ns
        columns = {
            _START: "BIGINT",
            _END: "BIGINT",
            **{c.name: duckdb_type(c) for c in KEYS_OF_SLICES},
        }
        columns |= {name: _type_of(table, name) for name in table.names}
        del columns["file"]
        chosen = {name: named(name) for name in columns if name not in (_START, _END)}
        chosen["file"] = f"{quoted(trace.path)}"
        if rate.denominator == 1:
            ns = rate.numerator
            chosen["start_ns"] = f"{_START} * {ns} + {offset}" if (ns, offset) != (1, 0) else _START
            chosen["dur_ns"] = f"({_END} - {_START}) * {ns}" if ns != 1 else f"{_END} - {_START}"
        base = BaseTable(f"_slices_{number}", columns, partial(_slices_arrow, table, first, thread))
        order = [*(c.name for c in KEYS_OF_SLICES), *table.names]
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

    from viewer.api.frames import arrow_table, frame_of_slices

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
