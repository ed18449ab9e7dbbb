"""SQL over open files: `Profile.sql`, `opscope query` and the tools of assistants. Needs duckdb.

A query is planned on empty tables first. The plan names the columns that it reads, and only these
are made.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from viewer.api.sql_tables import SqlTables, sql_tables
from viewer.query.engine import (
    GRACE_S,
    Limits,
    Result,
    WrongQuery,
    as_wrong_query,
    limited,
    lock,
    named,
    only_statement,
    package,
    run,
)

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

    from viewer.api.profile_tables import ProfileTables

_DTYPES = {int: "Int64", bool: "boolean", str: "string", float: "float64"}
# The name of the rows of a base table; its view adds the columns that are not read.
_ROWS = "rows of "
_NOT_READ = "a column is not in the plan of the query"
_MACROS = (
    "CREATE MACRO overlap(start_, dur_, first_, last_) AS "
    "greatest(0, least(start_ + dur_, last_) - greatest(start_, first_))",
)


def sql_result(
    profile: ProfileTables,
    select: str,
    limits: Limits,
    parameters: Mapping[str, object] | None = None,
    started: Callable[[Callable[[], None]], None] | None = None,
) -> Result:
    """Return the columns and rows of one query on open files.

    started: gets a function that stops the query. Raises WrongQuery, NoDuckDB.
    """
    duckdb = package()
    tables = sql_tables(profile)
    with as_wrong_query(limits):
        needed = _needed(tables, select, parameters, limits)
        try:
            return _run(tables, needed, select, limits, parameters, started)
        except duckdb.InvalidInputException as error:
            if _NOT_READ not in str(error):
                raise
        every = {table.name: list(table.columns) for table in tables.tables}
        return _run(tables, every, select, limits, parameters, started)


def _run(
    tables: SqlTables,
    needed: Mapping[str, Sequence[str]],
    select: str,
    limits: Limits,
    parameters: Mapping[str, object] | None,
    started: Callable[[Callable[[], None]], None] | None,
) -> Result:
    """Run a query on tables with some columns."""
    with package().connect() as connection:
        for table in tables.tables:
            names = needed.get(table.name)
            if names is None:
                connection.execute(_empty(table.name, table.columns))
                continue
            rows = table.arrow(names or [next(iter(table.columns))])
            connection.register(f"{_ROWS}{table.name}", rows)
            connection.execute(_view(table.name, table.columns, names))
        _make_views(connection, tables)
        lock(connection, limits)
        if started is not None:
            stopped = threading.Event()
            started(partial(_interrupt, connection, stopped))
            if stopped.is_set():  # DuckDB forgets an interrupt before the query begins
                raise WrongQuery("the query was stopped")
        return run(connection, select, limits, parameters, GRACE_S)


def _interrupt(connection: duckdb.DuckDBPyConnection, stopped: threading.Event) -> None:
    """Stop a query; one that just ended has no connection any more."""
    stopped.set()
    with contextlib.suppress(package().ConnectionException):
        connection.interrupt()


def _needed(
    tables: SqlTables, select: str, parameters: Mapping[str, object] | None, limits: Limits
) -> dict[str, list[str]]:
    """Return the columns that a query reads, by base table: those in its plan on empty tables."""
    duckdb = package()
    columns = {table.name: list(table.columns) for table in tables.tables}
    with duckdb.connect() as connection:
        for table in tables.tables:
            connection.execute(_empty(table.name, table.columns))
        _make_views(connection, tables)
        # An empty table would be no part of the plan.
        connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        lock(connection, limits)
        statement = only_statement(connection, select)
        if statement.type.name != "SELECT":
            return columns
        values = dict(parameters) if parameters else None
        with limited(connection, limits):
            try:
                text = f"EXPLAIN (FORMAT json) {statement.query}"
                plan = connection.execute(text, values).fetchall()
            except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
                connection.execute(statement, values)  # its error shows the place in the query
                raise
    needed: dict[str, list[str]] = {}
    for name, words in _scans(json.loads(plan[0][1])):
        read = [column for column in columns[name] if column in words]
        needed[name] = list(dict.fromkeys([*needed.get(name, ()), *read]))
    return needed


def _scans(nodes: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Return the tables that a plan scans, each with the texts that name its columns."""
    for node in nodes:
        facts = node.get("extra_info") or {}
        if "Table" in facts:
            texts = (json.dumps(facts.get(part, ""), ensure_ascii=False)
                     for part in ("Projections", "Filters", "Dynamic Filters"))  # fmt: skip
            yield str(facts["Table"]).rpartition(".")[2].strip('"'), " ".join(texts)
        yield from _scans(node.get("children", ()))


def _empty(name: str, columns: Mapping[str, str]) -> str:
    listed = ", ".join(f"{named(column)} {kind}" for column, kind in columns.items())
    return f"CREATE TABLE {named(name)} ({listed})"


def _view(name: str, columns: Mapping[str, str], needed: Sequence[str]) -> str:
    """Return a view with all columns of a base table; one that is not in the plan is an error."""
    listed = ", ".join(
        f"{named(column)}::{kind} AS {named(column)}"
        if column in needed
        else f"error('{_NOT_READ}')::{kind} AS {named(column)}"
        for column, kind in columns.items()
    )
    return f"CREATE VIEW {named(name)} AS SELECT {listed} FROM {named(f'{_ROWS}{name}')}"


def _make_views(connection: duckdb.DuckDBPyConnection, tables: SqlTables) -> None:
    for statement in (*tables.views, *_MACROS):
        connection.execute(statement)


def frame_of_result(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Return a result as a DataFrame, with pandas' types that can be missing."""
    import pandas as pd

    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    series = [pd.Series(each, dtype=_dtype(each)) for each in values]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index(columns)
    return frame


def write_result(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], path: str) -> None:
    """Write a result as a Parquet file. Raises OSError."""
    from viewer.api.arrow import arrow_table, write_parquet

    write_parquet(arrow_table(frame_of_result(columns, rows)), path)


def _dtype(values: Sequence[object]) -> str:
    """The type of a column, so that a missing value makes no float of a whole number."""
    types = {type(value) for value in values if value is not None}
    if types == {int} and any(abs(v) >= 1 << 63 for v in values if isinstance(v, int)):
        return "object"  # a sum of DuckDB has 128 bits
    return _DTYPES.get(types.pop(), "object") if len(types) == 1 else "object"
