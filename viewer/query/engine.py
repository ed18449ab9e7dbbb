"""Runs one query on a connection of DuckDB, and has the values of its result as texts and a chart.

A query is read-only, in bounded time and memory. Needs duckdb.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass
from viewer.extras import how_to_install
from viewer.model.text import bytes_text, one_line
from viewer.model.times import format_time, group_digits

if TYPE_CHECKING:
    import duckdb


READ_ONLY = ("SELECT", "EXPLAIN", "RELATION")
# A function that DuckDB cannot interrupt gets so much longer.
GRACE_S = 5.0
_ROWS_AT_ONCE = 10_000
# Of addresses, for what DuckDB does not count: single large values, and what each thread reserves.
_UNCOUNTED, _OF_THREAD = 512 << 20, 128 << 20


class NoDuckDB(Exception):
    """duckdb is not installed; the message says how to install it."""


class WrongQuery(Exception):
    """DuckDB does not accept a query, or a query is not allowed; the message is its own.

    place: the line of the query that is wrong and a mark below it, "" if that is not known.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a query may take, in seconds, and how much memory, in bytes.

    overdue: called in a thread if DuckDB does not stop then. rows: at most so many are returned.
    """

    seconds: float = 60.0
    memory: int = 2_000_000_000
    overdue: Callable[[], None] | None = None
    rows: int | None = None

    @property
    def too_slow(self) -> str:
        """What is said of a query that takes too long."""
        return f"the query takes more than {self.seconds:g} s (--max-seconds)"

    @property
    def too_large(self) -> str:
        """What is said of a query that needs too much memory."""
        return f"the query needs more than {bytes_text(self.memory)} of memory (--max-memory)"


@dataclass(frozen=True, slots=True)
class Result:
    """The columns of a query, their types in DuckDB, and its rows; count: how many there are."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    count: int


def why_missing() -> str:
    """Return how to get duckdb if it is not installed, or ""."""
    if importlib.util.find_spec("duckdb") is not None:
        return ""
    return _hint()


def _hint() -> str:
    return how_to_install("queries need duckdb", "query")


def package(hint: str = "") -> Any:
    """Return duckdb, in the place of an import at the top. Raises NoDuckDB."""
    try:
        import duckdb
    except ImportError as error:
        raise NoDuckDB(hint or _hint()) from error
    return duckdb


def lock(
    connection: duckdb.DuckDBPyConnection, limits: Limits | None, paths: Collection[str] = ()
) -> None:
    """Close a connection to all files but `paths`, and to changes of its settings.

    limits: bounds its memory, without files for what exceeds it.
    """
    connection.execute("SET enable_progress_bar = false")
    if limits is not None:
        connection.execute(f"SET memory_limit = '{limits.memory}B'")
        connection.execute("SET temp_directory = ''")
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, paths))}]")
    connection.execute("SET enable_external_access = false")
    # No variables of this program are tables, for cursors of the connection neither.
    connection.execute("SET GLOBAL python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")


def only_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Return the statement of a query. Raises WrongQuery for several, or one that changes."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type.name not in READ_ONLY:
        raise WrongQuery("a query is one SELECT, such as SELECT * FROM slices LIMIT 10")
    return statements[0]


def run(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    limits: Limits,
    parameters: Mapping[str, object] | None = None,
    grace_s: float = GRACE_S,
) -> Result:
    """Return the columns and rows of one query. Raises WrongQuery, MemoryError, DuckDB's errors."""
    statement = only_statement(connection, sql)
    rows: list[tuple[Any, ...]] = []
    size = count = 0
    with limited(connection, limits, grace_s):
        answer = connection.execute(statement, dict(parameters) if parameters else None)
        while part := answer.fetchmany(_ROWS_AT_ONCE):
            count += len(part)
            rows += part if limits.rows is None else part[: max(limits.rows - len(rows), 0)]
            size += sum(sys.getsizeof(value) for row in part for value in row)
            if size > limits.memory:
                raise MemoryError
        described = answer.description or ()
        return Result(
            _distinct(str(column[0]) for column in described),
            [str(column[1]) for column in described],
            rows,
            count,
        )


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names of columns, with a number after those that others before them have.

    As `SELECT a.name, b.name`: an object of JSON, or a Parquet file, has only one of each.
    """
    distinct: dict[str, None] = {}
    for name in names:
        numbered, number = name, 0
        while numbered in distinct:
            number += 1
            numbered = f"{name}_{number}"
        distinct[numbered] = None
    return list(distinct)


@contextlib.contextmanager
def as_wrong_query(limits: Limits) -> Iterator[None]:
    """Raise errors of DuckDB, and of memory, as WrongQuery."""
    errors = package()
    try:
        yield
    except errors.InterruptException as error:
        raise WrongQuery(limits.too_slow) from error
    except (errors.OutOfMemoryException, MemoryError) as error:
        raise WrongQuery(limits.too_large) from error
    except errors.Error as error:
        raise WrongQuery(line_of(error), place_of(error)) from error


@contextlib.contextmanager
def limited(
    connection: duckdb.DuckDBPyConnection, limits: Limits, grace_s: float = GRACE_S
) -> Iterator[None]:
    """Interrupt what runs too long, and leave it no more memory than allowed."""
    timers = [threading.Timer(limits.seconds, connection.interrupt)]
    if limits.overdue is not None:
        timers.append(threading.Timer(limits.seconds + grace_s, limits.overdue))
    started: list[threading.Timer] = []
    try:
        for timer in timers:
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError as error:  # no memory, or too many threads
                raise MemoryError(str(error)) from error
            started.append(timer)
        threads = os.cpu_count() or 1
        with _bounded(2 * limits.memory + _UNCOUNTED + threads * _OF_THREAD):
            yield
    finally:
        for timer in started:
            timer.cancel()
        for timer in started:
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
        most = int(file.read().split()[0]) * resource.getpagesize() + more
    with _bounds_lock:
        if not _bounds:
            _unbounded[:] = resource.getrlimit(resource.RLIMIT_AS)
        _bounds.append(most)
        _set_bound()
    try:
        yield
    finally:
        with _bounds_lock:
            _bounds.remove(most)
            _set_bound()


# Of queries that run at the same time; and the limits without them.
_bounds: list[int] = []
_unbounded: list[int] = []
_bounds_lock = threading.Lock()


def _set_bound() -> None:
    """Allow what the query with most may take, or what was allowed before the first."""
    import resource

    soft, hard = _unbounded
    most = max(_bounds, default=soft)
    resource.setrlimit(
        resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard)
    )


def line_of(error: Exception) -> str:
    """Return the line of a message of DuckDB that says what is wrong."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1 if "Traceback (most recent call last)" in lines[0] else 0]


def place_of(error: Exception) -> str:
    """Return the lines of a message of DuckDB that show where a query is wrong, or ""."""
    lines = str(error).splitlines()
    marked = next((i for i, line in enumerate(lines) if line.startswith("LINE ")), len(lines))
    return "\n".join(lines[marked:])


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def named(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


MISSING = "–"
# Columns whose values are the `id` of a slice.
SLICE_IDS = ("id", "slice_id", "slice", "arg_set_id", "parent", "parent_id", "producer", "consumer")
_STARTS = ("start_ns", "ts")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
          "UINTEGER", "UBIGINT", "UHUGEINT")  # fmt: skip
_NUMBERS = (*_WHOLE, "DOUBLE", "FLOAT", "DECIMAL")


def is_number(type_name: str) -> bool:
    """Return whether a type of DuckDB is one of numbers."""
    return type_name.partition("(")[0] in _NUMBERS


def is_time(name: str, type_name: str) -> bool:
    """Return whether a column has times in ns."""
    return type_name in _WHOLE and (name.endswith("_ns") or name in ("dur", "ts"))


def value_text(name: str, type_name: str, value: Any) -> str:
    if value is None:
        return MISSING
    if is_time(name, type_name):
        return format_time(value)
    if is_number(type_name) and name not in SLICE_IDS:
        return group_digits(value) if isinstance(value, int) else f"{value:.6g}"
    return one_line(str(value))


def cell_text(result: Result, row: int, column: int) -> str:
    return value_text(result.columns[column], result.types[column], result.rows[row][column])


@dataclass(frozen=True, slots=True, eq=False)
class Plotted:
    """Rows of a result that have a number.

    rows: their numbers. values: finite. places: of a dimension of numbers, None for texts.
    dimension, measure: the columns.
    """

    rows: Ints
    values: Floats
    places: Floats | None
    dimension: int
    measure: int


def plotted(result: Result) -> Plotted | str:
    """Return what a chart of a result shows, or why there is none.

    The dimension is the first text that differs in all rows, else the first text, or else the
    first column; the measure the next number, one that is no `id` and no start if there is another.
    """
    has_numbers = [is_number(type_name) for type_name in result.types]
    texts = [i for i, each in enumerate(has_numbers) if not each]
    apart = (i for i in texts if len({str(row[i]) for row in result.rows}) == len(result.rows))
    dimension = next(apart, texts[0] if texts else 0)
    numbers = [i for i, each in enumerate(has_numbers) if each and i != dimension]
    if not numbers:
        return "A chart needs a column to compare by and a column of numbers"
    amounts = [i for i in numbers if result.columns[i] not in (*SLICE_IDS, *_STARTS)] or numbers
    measure = next((i for i in amounts if i > dimension), amounts[0])
    values = _floats(result, measure)
    drawn = np.isfinite(values)
    places = _floats(result, dimension) if has_numbers[dimension] else None
    if places is not None:
        drawn &= np.isfinite(places)
    rows = np.flatnonzero(drawn)
    if not len(rows):
        return f"No row has a number in {result.columns[measure]}"
    return Plotted(rows, values[rows], None if places is None else places[rows], dimension, measure)


def _floats(result: Result, column: int) -> Floats:
    values = (row[column] for row in result.rows)
    return np.array([np.nan if v is None else float(v) for v in values], np.float64)
