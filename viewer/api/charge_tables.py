"""The tables of SQL that have a parameter: what each figure of statistics adds up, and groups.

`charges(key)` has the pieces of the figures of a key, `groups_of(key)` the group of each slice. One
table for all keys would be too large, so each key and scope is a table of its own, which is made
only if a query names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.statistics.charges import (
    FIGURES,
    OF_SLICES,
    PHASE,
    TRACE,
    Charges,
    charge_scopes,
    charges,
)
from viewer.analysis.statistics.group_keys import KEYS, refusal
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import groups_around
from viewer.analysis.statistics.slice_keys import ARGUMENT, argument_names
from viewer.api.base_table import BaseTable, coded_texts, duckdb_types
from viewer.arrays import Bools, Ints
from viewer.model.times import ticks_to_ns
from viewer.query.engine import WrongQuery
from viewer.query.statistics_sql import MACROS
from viewer.tables.slices import SliceTableSource
from viewer.tables.spec import ColumnSpec, TableSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from viewer.api.profile_tables import ProfileTables

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
        "group_id": lambda: _whole(pieces.group, pieces.group < 0),
        "label": lambda: _texts(pieces.labels, pieces.group),
        "figure": lambda: _texts(FIGURES, pieces.figure),
        "slice_id": lambda: _whole(pieces.slice_index + first, pieces.slice_index < 0),
        "inference_id": lambda: _whole(pieces.inference, pieces.inference < 0),
        "start_ns": lambda: _whole(ticks_to_ns(pieces.start, rate) + source.offset_ns),
        "dur_ns": lambda: _whole(ticks_to_ns(pieces.end - pieces.start, rate)),
        "start_ticks": lambda: _whole(pieces.start),
        "end_ticks": lambda: _whole(pieces.end),
        "native_dur": lambda: _whole(pieces.native_dur, pieces.unit < 0),
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
                "slice_id": _whole(index + first),
                "group_id": _whole(group[index]),
                "label": _texts(labels, group[index]),
            }
            parts.append(pyarrow.table({name: columns[name] for name in names}))
        first += len(table)
    return _joined(parts)


def _whole(values: Ints, is_missing: Bools | None = None) -> Any:
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
        name: _whole(none) if spec[name].dtype in ("int64", "Int64") else _texts((), none)
        for name in names
    }
    return pyarrow.table(columns)
