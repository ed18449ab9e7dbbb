"""The engine: one SELECT, read-only, bounded, and what a wrong query says."""

import sys
import threading

import pandas as pd
import pytest

from viewer.query.engine import (
    Limits,
    NoDuckDB,
    WrongQuery,
    as_wrong_query,
    limited,
    lock,
    package,
    run,
)


def asked(sql: str, limits: Limits | None = None, **parameters):
    most = limits or Limits(10, 400_000_000)
    with as_wrong_query(most), package().connect() as connection:
        lock(connection, most)
        return run(connection, sql, most, parameters)


def test_a_result_has_columns_types_and_rows():
    result = asked("SELECT 1 AS n, 'x' AS text, $what AS what", what=2.5)
    assert (result.columns, result.rows, result.count) == (
        ["n", "text", "what"], [(1, "x", 2.5)], 1
    )  # fmt: skip
    assert result.types[:2] == ["INTEGER", "VARCHAR"]


def test_rows_beyond_the_limit_are_counted():
    result = asked("SELECT * FROM range(25000)", Limits(10, 400_000_000, rows=7))
    assert (len(result.rows), result.count) == (7, 25000)


def test_a_wrong_query_shows_its_place():
    with pytest.raises(WrongQuery) as error:
        asked("SELECT 1,\n  nothing")
    assert "nothing" in str(error.value)
    assert "\n" not in str(error.value)
    line, mark = error.value.place.splitlines()[:2]
    assert line.startswith("LINE 2:")
    assert line[mark.index("^") :].startswith("nothing")


def test_a_query_that_is_stopped_or_too_large_is_one_sentence():
    with pytest.raises(WrongQuery, match=r"takes more than 0\.3 s"):
        asked("SELECT count(*) FROM range(100000000000)", Limits(0.3))
    with pytest.raises(WrongQuery, match="needs more than"):
        asked("SELECT list(range) FROM range(1000000000)", Limits(20, 50_000_000))
    assert not [one for one in threading.enumerate() if isinstance(one, threading.Timer)]


def test_without_duckdb_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(NoDuckDB, match=r'pip install "opscope\[query\]"'):
        package()


def test_variables_of_the_program_are_no_tables():
    secret = pd.DataFrame({"a": [1]})
    with pytest.raises(WrongQuery, match="secret does not exist"):
        asked("SELECT * FROM secret")
    assert len(secret) == 1


def test_columns_of_one_name_are_told_apart():
    result = asked("SELECT 1 a, 2 a, 3 a_1, 4 a, 5 b")
    assert result.columns == ["a", "a_1", "a_1_1", "a_2", "b"]
    assert result.rows == [(1, 2, 3, 4, 5)]


def test_a_query_that_gets_no_thread_is_refused(monkeypatch):
    def start(timer):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", start)
    with (
        package().connect() as connection,
        pytest.raises(WrongQuery, match="memory"),
        as_wrong_query(limits := Limits(10, 400_000_000)),
        limited(connection, limits),
    ):
        raise AssertionError("it ran")
