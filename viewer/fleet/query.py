"""Queries a lake with DuckDB: every table is a view with its name. Needs duckdb and fsspec.

The views read the files that the manifest lists, so a query counts every row once, also while the
lake is built or compacted, and after a process was killed. DuckDB has no file of this machine to
read or to write, except through `read_only_files`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from viewer.extras import how_to_install
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.manifest import Manifest
from viewer.fleet.schemas import FLOAT, INT, TABLES, TEXT, LakeTable, lake_type
from viewer.query.engine import (
    GRACE_S,
    Limits,
    NoDuckDB,
    WrongQuery,
    as_wrong_query,
    line_of,
    lock,
    named,
    package,
    quoted,
    run,
)

if TYPE_CHECKING:
    import duckdb

    from viewer.fleet.read_only_files import ReadOnlyFiles

T = TypeVar("T")
__all__ = ["Limits", "NoDuckDB", "WrongQuery", "connect", "query", "with_connection"]

_NEEDS = "queries of a lake need duckdb and fsspec"
_TYPES = {TEXT: "VARCHAR", INT: "BIGINT", FLOAT: "DOUBLE"}
# A compaction can remove files between the moment they are listed and the moment they are read.
_ATTEMPTS = 3
_GRACE_S = GRACE_S


@contextlib.contextmanager
def connect(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a view for every table of a lake. Raises NoDuckDB, UnusableLake.

    It cannot write files, and reads none but those of the lake. Profiles whose files or labels
    changed since are left out, and so is what `Lake.losses` then has.
    """
    with _connected(lake) as (connection, _):
        yield connection


@contextlib.contextmanager
def _connected(
    lake: Lake, limits: Limits | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, ReadOnlyFiles]]:
    """As `connect`, with the files. Also raises _Gone, and errors of DuckDB."""
    duckdb = _duckdb()
    from viewer.fleet.read_only_files import ReadOnlyFiles

    faults = lake.refuse_damage()
    # Read once, so that all tables are of one moment.
    listed: dict[str, list[str]] = {table: [] for table in TABLES}
    for file in lake.manifest.live_files():
        if file.path not in faults:
            listed[file.table].append(lake.places.get(file.path, file.path))
    outdated = sorted(lake.answer(Manifest.outdated))
    files = ReadOnlyFiles(lake.folder, [path for paths in listed.values() for path in paths])
    with duckdb.connect() as connection:
        connection.register_filesystem(files)
        connection.execute("CREATE TABLE opscope_outdated (key VARCHAR)")
        if outdated:
            connection.execute("INSERT INTO opscope_outdated SELECT unnest(?)", [outdated])
        with _named(lake, files):
            for table in TABLES.values():
                names = [files.name(path) for path in listed[table.name]]
                connection.execute(_view(table, names, bool(outdated)))
        lock(connection, limits, [files.name(path) for path in files.paths])
        yield connection, files


def _duckdb() -> Any:
    """The package, in the place of an import at the top. Raises NoDuckDB."""
    duckdb = package(how_to_install(_NEEDS, "fleet"))
    try:
        import fsspec  # noqa: F401
    except ImportError as error:
        raise NoDuckDB(how_to_install(_NEEDS, "fleet")) from error
    return duckdb


class _Gone(Exception):
    """A file of the lake was removed since it was listed."""


@contextlib.contextmanager
def _named(lake: Lake, files: ReadOnlyFiles) -> Iterator[None]:
    """Name the file that causes an error of DuckDB. Raises _Gone, UnusableLake, or the error."""
    duckdb = _duckdb()
    try:
        yield
    except (
        duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException,
        duckdb.PermissionException, duckdb.InterruptException, duckdb.OutOfMemoryException,
    ):  # fmt: skip
        raise  # of the query, not of a file
    except duckdb.Error as error:
        if files.is_gone:
            raise _Gone(line_of(error)) from error
        for file in lake.manifest.live_files():
            if file.path in files.paths and (reason := lake.checks.damage(file)):
                raise UnusableLake(lake.damage(file.path, reason)) from error
        raise


def _answer(
    lake: Lake, work: Callable[[duckdb.DuckDBPyConnection], T], limits: Limits | None = None
) -> T:
    """Return what `work` makes of a connection. Also raises errors of DuckDB.

    It is done again if a file of the lake is gone because of a compaction.
    """
    for attempt in range(_ATTEMPTS):
        try:
            with _connected(lake, limits) as (connection, files), _named(lake, files):
                return work(connection)
        except _Gone as error:
            if attempt == _ATTEMPTS - 1:
                raise UnusableLake(f"{lake.path}: a file cannot be read ({error})") from error
    raise AssertionError("unreachable")


def with_connection(lake: Lake, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
    """Return what `work` makes of a connection. Raises NoDuckDB, UnusableLake."""
    duckdb = _duckdb()
    try:
        return _answer(lake, work)
    except duckdb.Error as error:
        raise UnusableLake(f"{lake.path}: its values have no answer ({line_of(error)})") from error


def query(
    lake: Lake, sql: str, limits: Limits | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of one query. Raises WrongQuery, NoDuckDB, UnusableLake."""
    _duckdb()
    most = limits or Limits()
    with as_wrong_query(most):
        result = _answer(lake, lambda connection: run(connection, sql, most, None, _GRACE_S), most)
    return result.columns, result.rows


def _view(table: LakeTable, files: list[str], has_outdated: bool) -> str:
    columns = ", ".join(
        f"NULL::{_TYPES.get(lake_type(column), 'BOOLEAN')} AS {named(column.name)}"
        for column in table.columns
    )
    rows = f"SELECT {columns} WHERE false"
    if files:
        listed = ", ".join(map(quoted, files))
        rows += (
            " UNION ALL BY NAME SELECT * FROM "
            f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
        )
    renamed = ", ".join(
        f"coalesce({named(column.name)}, {named(column.former)}) AS {named(column.name)}"
        for column in table.columns
        if column.former
    )
    chosen = f"* REPLACE ({renamed})" if renamed else "*"
    where = " WHERE key NOT IN (SELECT key FROM opscope_outdated)" if has_outdated else ""
    return f"CREATE VIEW {named(table.name)} AS SELECT {chosen} FROM ({rows}){where}"
