"""Queries a lake with DuckDB: every table is a view with its name. Needs duckdb.

The views read the files that the manifest lists, so a query counts every row once, also while the
lake is built or compacted, and after a process was killed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.schemas import FLOAT, INT, TABLES, TEXT, LakeTable

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
HOW_TO_INSTALL = 'queries of a lake need duckdb: pip install "opscope[fleet]"'
_TYPES = {TEXT: "VARCHAR", INT: "BIGINT", FLOAT: "DOUBLE"}
# A compaction can remove files between the moment they are listed and the moment they are read.
_ATTEMPTS = 3


class NoDuckDB(Exception):
    """duckdb is not installed; the message says how to install it."""


class WrongQuery(Exception):
    """DuckDB does not accept a query, or a query is not allowed; the message is its own."""


def _files_of(lake: Lake, table: str) -> list[str]:
    """The paths of the files with the rows of a table, as of the last `read`."""
    found = [lake.place(file) for file in lake.manifest.live_files(table)]
    return [path for path in found if path is not None]


def connect(lake: Lake) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view for every table of a lake. Raises NoDuckDB, UnusableLake.

    It cannot write files, and reads none but those of the lake. Profiles whose files or labels
    changed since are left out.
    """
    try:
        import duckdb
    except ImportError as error:
        raise NoDuckDB(HOW_TO_INSTALL) from error
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    # Read once, so that all tables are of one moment.
    outdated = sorted(lake.read().outdated)
    connection.execute("CREATE TABLE opscope_outdated (key VARCHAR)")
    if outdated:
        connection.execute("INSERT INTO opscope_outdated SELECT unnest(?)", [outdated])
    try:
        for table in TABLES.values():
            connection.execute(_view(table, _files_of(lake, table.name), bool(outdated)))
    except duckdb.IOException as error:
        raise UnusableLake(f"{lake.path}: a file cannot be read ({error})") from error
    connection.execute(f"SET allowed_directories = [{_quoted(lake.path)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _view(table: LakeTable, files: list[str], has_outdated: bool) -> str:
    columns = ", ".join(
        f"NULL::{_TYPES.get(column.type, 'BOOLEAN')} AS {_name(column.name)}"
        for column in table.columns
    )
    rows = f"SELECT {columns} WHERE false"
    if files:
        listed = ", ".join(map(_quoted, files))
        rows += (
            " UNION ALL BY NAME SELECT * FROM "
            f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
        )
    renamed = ", ".join(
        f"coalesce({_name(column.name)}, {_name(column.former)}) AS {_name(column.name)}"
        for column in table.columns
        if column.former
    )
    chosen = f"* REPLACE ({renamed})" if renamed else "*"
    where = " WHERE key NOT IN (SELECT key FROM opscope_outdated)" if has_outdated else ""
    return f"CREATE VIEW {_name(table.name)} AS SELECT {chosen} FROM ({rows}){where}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def with_connection(lake: Lake, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """Return what `work` makes of a connection. Raises NoDuckDB, UnusableLake.

    It is done again if a file of the lake is gone because of a compaction.
    """
    for attempt in range(_ATTEMPTS):
        with connect(lake) as connection:
            import duckdb

            try:
                return work(connection)
            except duckdb.IOException as error:
                if attempt == _ATTEMPTS - 1:
                    raise UnusableLake(f"{lake.path}: a file cannot be read ({error})") from error
    raise AssertionError("unreachable")


def query(lake: Lake, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of one query. Raises WrongQuery, NoDuckDB, UnusableLake."""

    def made(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[Any, ...]]]:
        import duckdb

        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type.name not in _READ_ONLY:
                raise WrongQuery("a query is one SELECT, such as SELECT * FROM files LIMIT 10")
            result = connection.execute(statements[0])
            return [str(column[0]) for column in result.description or ()], result.fetchall()
        except duckdb.IOException:
            raise
        except duckdb.Error as error:
            raise WrongQuery(str(error).partition("\n")[0]) from error

    return with_connection(lake, made)


_READ_ONLY = ("SELECT", "EXPLAIN", "RELATION")
