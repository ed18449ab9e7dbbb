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

from viewer.api.sql_tables import SqlTables, names_charges, sql_tables
from viewer.dataclasses import dataclass
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
# In the names of functions that run a text or read a table of a name.
_COMPUTED = "query"
_NOT_READ = "a column is not in the plan of the query"
_MACROS = (
    "CREATE MACRO overlap(start_, dur_, first_, last_) AS "
    "greatest(0, least(start_ + dur_, last_) - greatest(start_, first_))",
)


@dataclass(frozen=True)
class Database:
    """The tables of open files, without rows, and the views: made once for one query after another.

    A query sees the columns that it reads as temporary views, which hide the tables.
    """

    tables: SqlTables
    memory: int
    connection: duckdb.DuckDBPyConnection


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
    # While a query runs, another one makes its own: each has its memory.
    database, profile.database = profile.database, None
    is_own = names_charges(select)  # it has tables that others do not have
    with as_wrong_query(limits):
        if is_own or not isinstance(database, Database) or database.memory != limits.memory:
            database = _database(sql_tables(profile, select), limits)
        needed, is_kept = _needed(database, select, parameters, limits)
        try:
            result = _run(database, needed, is_kept, select, limits, parameters, started)
        except duckdb.InvalidInputException as error:
            if _NOT_READ not in str(error):
                raise
            every = {table.name: list(table.columns) for table in database.tables.tables}
            result = _run(database, every, is_kept, select, limits, parameters, started)
    if is_kept and not is_own:
        profile.database = database  # an error could have left it unusable
    return result


def _database(tables: SqlTables, limits: Limits) -> Database:
    connection = package().connect()
    for table in tables.tables:
        listed = ", ".join(f"{named(column)} {kind}" for column, kind in table.columns.items())
        connection.execute(f"CREATE TABLE {named(table.name)} ({listed})")
    for statement in (*tables.views, *_MACROS):
        connection.execute(statement)
    # An empty table would be no part of the plan.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    lock(connection, limits)
    return Database(tables, limits.memory, connection)


def _run(
    database: Database,
    needed: Mapping[str, Sequence[str]],
    is_kept: bool,
    select: str,
    limits: Limits,
    parameters: Mapping[str, object] | None,
    started: Callable[[Callable[[], None]], None] | None,
) -> Result:
    """Run a query on tables with some columns.

    is_kept: the empty tables stay, hidden by temporary views. These hide no table from its full
    name, and EXPLAIN ANALYZE may change one.
    """
    with database.connection.cursor() as connection:
        connection.begin()  # and never committed
        for table in database.tables.tables:
            names = needed.get(table.name)
            if names is None:
                continue
            if table.takes > limits.memory:
                raise MemoryError
            rows = table.arrow(names or [next(iter(table.columns))])
            connection.register(f"{_ROWS}{table.name}", rows)
            if not is_kept:
                connection.execute(f"DROP TABLE {named(table.name)}")
            view = _view(table.name, table.columns, names)
            connection.execute(f"CREATE {'TEMP VIEW' if is_kept else 'VIEW'} {view}")
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
    database: Database, select: str, parameters: Mapping[str, object] | None, limits: Limits
) -> tuple[dict[str, list[str]], bool]:
    """Return the columns that a query reads, by base table: those in its plan on empty tables.

    And whether it is a SELECT that cannot have the full name of a base table.
    """
    duckdb = package()
    columns = {table.name: list(table.columns) for table in database.tables.tables}
    with database.connection.cursor() as connection:
        statement = only_statement(connection, select)
        if statement.type.name != "SELECT":
            return columns, False
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
    return needed, not any(name in select.lower() for name in (_COMPUTED, *columns))


def _scans(nodes: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Return the tables that a plan scans, each with the texts that name its columns."""
    for node in nodes:
        facts = node.get("extra_info") or {}
        if "Table" in facts:
            texts = (json.dumps(facts.get(part, ""), ensure_ascii=False)
                     for part in ("Projections", "Filters", "Dynamic Filters"))  # fmt: skip
            yield str(facts["Table"]).rpartition(".")[2].strip('"'), " ".join(texts)
        yield from _scans(node.get("children", ()))


def _view(name: str, columns: Mapping[str, str], needed: Sequence[str]) -> str:
    """Return a view of all columns of a base table; one that is not in the plan is an error."""
    listed = ", ".join(
        f"{named(column)}::{kind} AS {named(column)}"
        if column in needed
        else f"error('{_NOT_READ}')::{kind} AS {named(column)}"
        for column, kind in columns.items()
    )
    return f"{named(name)} AS SELECT {listed} FROM {named(f'{_ROWS}{name}')}"


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
    from viewer.api.frames import arrow_table, write_parquet

    write_parquet(arrow_table(frame_of_result(columns, rows)), path)


def _dtype(values: Sequence[object]) -> str:
    """The type of a column, so that a missing value makes no float of a whole number."""
    types = {type(value) for value in values if value is not None}
    if types == {int} and any(abs(v) >= 1 << 63 for v in values if isinstance(v, int)):
        return "object"  # a sum of DuckDB has 128 bits
    return _DTYPES.get(types.pop(), "object") if len(types) == 1 else "object"
