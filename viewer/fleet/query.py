"""Queries a lake with DuckDB: every table is a view with its name. Needs duckdb and fsspec.

The views read the files that the manifest lists, so a query counts every row once, also while the
lake is built or compacted, and after a process was killed. DuckDB has no file of this machine to
read or to write, except through `read_only_files`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.schemas import FLOAT, INT, TABLES, TEXT, LakeTable, lake_type
from viewer.model.text import bytes_text

if TYPE_CHECKING:
    import duckdb

    from viewer.fleet.read_only_files import ReadOnlyFiles

T = TypeVar("T")
HOW_TO_INSTALL = 'queries of a lake need duckdb and fsspec: pip install "opscope[fleet]"'
_TYPES = {TEXT: "VARCHAR", INT: "BIGINT", FLOAT: "DOUBLE"}
# A compaction can remove files between the moment they are listed and the moment they are read.
_ATTEMPTS = 3
_READ_ONLY = ("SELECT", "EXPLAIN", "RELATION")
_ROWS_AT_ONCE = 10_000
# Of addresses, for what DuckDB does not count: single large values, and what each thread reserves.
_UNCOUNTED, _OF_THREAD = 512 << 20, 128 << 20
# A function that DuckDB cannot interrupt gets so much longer.
_GRACE_S = 5.0


class NoDuckDB(Exception):
    """duckdb is not installed; the message says how to install it."""


class WrongQuery(Exception):
    """DuckDB does not accept a query, or a query is not allowed; the message is its own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may take, in seconds, and how much memory, in bytes.

    overdue: called in a thread if DuckDB does not stop then.
    """

    seconds: float = 60.0
    memory: int = 2_000_000_000
    overdue: Callable[[], None] | None = None

    @property
    def too_slow(self) -> str:
        """What is said of a query that takes too long."""
        return f"the query takes more than {self.seconds:g} s (--max-seconds)"


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
            listed[file.table].append(lake.place(file) or file.path)
    outdated = sorted(lake.manifest.outdated)
    files = ReadOnlyFiles(lake.folder, [path for paths in listed.values() for path in paths])
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.register_filesystem(files)
        connection.execute("CREATE TABLE opscope_outdated (key VARCHAR)")
        if outdated:
            connection.execute("INSERT INTO opscope_outdated SELECT unnest(?)", [outdated])
        with _named(lake, files):
            for table in TABLES.values():
                names = [files.name(path) for path in listed[table.name]]
                connection.execute(_view(table, names, bool(outdated)))
        if limits is not None:
            connection.execute(f"SET memory_limit = '{limits.memory}B'")
            connection.execute("SET temp_directory = ''")
        allowed = ", ".join(_quoted(files.name(path)) for path in files.paths)
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield connection, files


def _duckdb() -> Any:
    """The package, in the place of an import at the top. Raises NoDuckDB."""
    try:
        import duckdb
        import fsspec  # noqa: F401
    except ImportError as error:
        raise NoDuckDB(HOW_TO_INSTALL) from error
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
            raise _Gone(_line(error)) from error
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
        raise UnusableLake(f"{lake.path}: its values have no answer ({_line(error)})") from error


def query(
    lake: Lake, sql: str, limits: Limits | None = None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of one query. Raises WrongQuery, NoDuckDB, UnusableLake."""
    errors, most = _duckdb(), limits or Limits()

    def made(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[Any, ...]]]:
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type.name not in _READ_ONLY:
            raise WrongQuery("a query is one SELECT, such as SELECT * FROM files LIMIT 10")
        with _limited(connection, most):
            result = connection.execute(statements[0])
            rows: list[tuple[Any, ...]] = []
            size = 0
            while part := result.fetchmany(_ROWS_AT_ONCE):
                rows += part
                size += sum(sys.getsizeof(value) for row in part for value in row)
                if size > most.memory:
                    raise MemoryError
            return [str(column[0]) for column in result.description or ()], rows

    try:
        return _answer(lake, made, most)
    except errors.InterruptException as error:
        raise WrongQuery(most.too_slow) from error
    except (errors.OutOfMemoryException, MemoryError) as error:
        raise WrongQuery(
            f"the query needs more than {bytes_text(most.memory)} of memory (--max-memory)"
        ) from error
    except errors.Error as error:
        raise WrongQuery(_line(error)) from error


@contextlib.contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, limits: Limits) -> Iterator[None]:
    """Interrupt what runs too long, and leave it no more memory than allowed."""
    timers = [threading.Timer(limits.seconds, connection.interrupt)]
    if limits.overdue is not None:
        timers.append(threading.Timer(limits.seconds + _GRACE_S, limits.overdue))
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        threads = os.cpu_count() or 1
        with _bounded(2 * limits.memory + _UNCOUNTED + threads * _OF_THREAD):
            yield
    finally:
        for timer in timers:
            timer.cancel()
        for timer in timers:
            timer.join()  # none outlives its query: a cancelled timer wakes and ends at once


@contextlib.contextmanager
def _bounded(more: int) -> Iterator[None]:
    """Let this process take so many bytes more of addresses, where the system can limit them.

    DuckDB does not count a single large value, such as that of repeat('x', 1000000000).
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = used + more if soft == resource.RLIM_INFINITY else min(used + more, soft)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _line(error: Exception) -> str:
    """The line of a message that says what is wrong."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1 if "Traceback (most recent call last)" in lines[0] else 0]


def _view(table: LakeTable, files: list[str], has_outdated: bool) -> str:
    columns = ", ".join(
        f"NULL::{_TYPES.get(lake_type(column), 'BOOLEAN')} AS {_name(column.name)}"
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
