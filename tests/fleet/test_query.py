"""Queries of a lake: every table is a view, nothing is written, nothing else is read."""

import resource
import threading
import time
from pathlib import Path

import pytest

from tests.builders.lakes import built
from tests.reliability.lakes.sound import tree
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import Limits, WrongQuery, query

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("query") / "lake"
    built(folder, fleet)
    return Lake(str(folder))


def test_tables_are_views(lake):
    columns, rows = query(lake, "SELECT device, count(*) AS n FROM files GROUP BY 1 ORDER BY 1")
    assert columns == ["device", "n"]
    assert rows == [("device0", 8), ("device1", 8), ("device2", 8)]
    assert query(lake, "SELECT * FROM slices")[1] == []
    assert query(lake, "SELECT sum(self_ns) > 0 FROM inference_operators JOIN files USING (key)")[
        1
    ] == [(True,)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY files TO '/tmp/opscope-x.csv'",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW files",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2",
        "",
        "SELECT nothing FROM files",
    ],
)
def test_what_is_no_query_is_an_error_of_one_line(lake, sql):
    with pytest.raises(WrongQuery) as error:
        query(lake, sql)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_no_lake(tmp_path):
    with pytest.raises(UnusableLake, match="this is not a lake"):
        Lake(str(tmp_path))


@pytest.fixture
def inside(lake):
    """The name of a file of the lake, as DuckDB knows it."""
    (path,) = {file.path for file in lake.read().live_files("files")}
    return f"opscope://{path}"


WRITES = (
    "COPY (SELECT 1) TO '{0}'",
    "COPY (SELECT 1) TO '{0}' (FORMAT parquet, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}' (FORMAT parquet, USE_TMP_FILE false)",
    "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '{0}' (FORMAT csv, USE_TMP_FILE false)",
    "WITH x AS (COPY (SELECT 1) TO '{0}' (FORMAT parquet, USE_TMP_FILE false)) SELECT * FROM x",
    "EXPLAIN ANALYZE ATTACH '{0}' AS y",
    "EXPLAIN ANALYZE EXPORT DATABASE '{0}'",
    "ATTACH '{0}' AS y",
    "EXPORT DATABASE '{0}'",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = '{0}')",
    "SELECT * FROM enable_profiling(save_location = '{0}')",
    "CALL enable_logging(storage = 'file', storage_path = '{0}')",
    "PRAGMA enable_profiling = 'json'",
    "SELECT * FROM query('COPY files TO ''{0}''')",
)


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_is_written_anywhere(lake, inside, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    before = tree(Path(lake.path), tmp_path / "none")
    for place in (tmp_path / "new", f"{lake.path}/_manifest/zz.jsonl", inside,
                  f"{lake.path}/{inside[10:]}", f"{inside[:-3]}x", "new"):  # fmt: skip
        with pytest.raises(WrongQuery) as error:
            query(lake, sql.format(place))
        assert "\n" not in str(error.value)
    assert tree(Path(lake.path), tmp_path / "none") == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sql", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT count(*) FROM files",
                                 "DESCRIBE files", "FROM files LIMIT 1"])  # fmt: skip
def test_what_only_reads_is_answered(lake, sql):
    assert query(lake, sql)[1]


def test_a_query_reads_no_file_of_the_lake_but_its_tables(lake):
    for name in ("_lock", "_manifest/zz.jsonl", "../x"):
        for form in ("opscope://", f"{lake.path}/"):
            with pytest.raises(WrongQuery):
                query(lake, f"SELECT * FROM read_text('{form}{name}')")


def test_a_query_that_takes_too_long_ends(lake):
    began = time.process_time()
    with pytest.raises(WrongQuery, match=r"more than 0\.5 s \(--max-seconds\)"):
        query(lake, "SELECT count(*) FROM range(100000000000)", Limits(0.5))
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT * FROM range(1000000000)",
        "SELECT * FROM range(300000000) ORDER BY hash(range)",
    ],
)
def test_a_query_that_needs_too_much_memory_ends(lake, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongQuery, match=r"more than 100.MB of memory \(--max-memory\)"):
        query(lake, sql, Limits(memory=100_000_000))
    assert list(tmp_path.iterdir()) == []  # DuckDB would write .tmp here


def test_the_limits_of_the_process_are_as_before(lake):
    before = resource.getrlimit(resource.RLIMIT_AS)
    query(lake, "SELECT 1")
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert not [one for one in threading.enumerate() if isinstance(one, threading.Timer)]


def test_what_duckdb_does_not_interrupt_is_told(lake, monkeypatch):
    monkeypatch.setattr("viewer.fleet.query._GRACE_S", -0.4)
    called = threading.Event()
    with pytest.raises(WrongQuery):
        query(lake, "SELECT count(*) FROM range(100000000000)", Limits(0.5, overdue=called.set))
    assert called.is_set()
