"""`opscope query`: its forms, its parameters, and what is wrong with a query."""

import csv
import io
import json
import sys

import pyarrow.parquet as pq
import pytest

import viewer
from tests.builders.command_line import run
from tests.paths import DATA
from viewer.tables.catalog import TABLES

pytestmark = pytest.mark.slow
DUMP = str(DATA / "etdump" / "demo_portable_x3.etdp")
SQL = "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM slices GROUP BY ALL ORDER BY 3 DESC, 1"


@pytest.fixture(scope="module")
def expected() -> list[dict]:
    frame = viewer.open(DUMP).slices.groupby("name", observed=True)["dur_ns"].agg(["size", "sum"])
    rows = [{"name": name, "n": int(n), "ns": int(ns)} for name, n, ns in frame.itertuples()]
    return sorted(rows, key=lambda row: (-row["ns"], row["name"]))


def test_every_form_has_the_same_rows(capsys, tmp_path, expected):
    code, out, err = run(capsys, "query", DUMP, SQL, "--json")
    assert (code, err, json.loads(out)) == (0, "", expected)
    _, out, _ = run(capsys, "query", DUMP, SQL, "--csv")
    assert [{**row, "n": int(row["n"]), "ns": int(row["ns"])}
            for row in csv.DictReader(io.StringIO(out))] == expected  # fmt: skip
    path = tmp_path / "out.parquet"
    assert run(capsys, "query", DUMP, SQL, "--parquet", str(path)) == (0, "", "")
    assert pq.read_table(path).to_pylist() == expected
    _, out, _ = run(capsys, "query", DUMP, SQL)
    head, first, *_ = out.splitlines()
    assert head.split() == ["name", "n", "ns"]
    assert first.split()[-1] == str(expected[0]["ns"])


def test_a_query_from_a_file_with_parameters(capsys, tmp_path):
    path = tmp_path / "q.sql"
    path.write_text("SELECT count(*) n FROM slices\nWHERE inference = $i AND name <> $name")
    arguments = ("--file", str(path), "--param", "i=2", "--param", "name=x", "--json")
    code, out, _ = run(capsys, "query", DUMP, *arguments)
    slices = viewer.open(DUMP).slices
    assert (code, json.loads(out)) == (0, [{"n": int((slices["inference"] == 2).sum())}])


def test_the_place_of_a_mistake_is_shown(capsys):
    code, out, err = run(capsys, "query", DUMP, "SELECT name, nothing FROM slices")
    assert (code, out) == (2, "")
    message, line, mark = err.splitlines()[:3]
    assert message.startswith('opscope: Binder Error: Referenced column "nothing" not found')
    assert line == "LINE 1: SELECT name, nothing FROM slices"
    assert line[mark.index("^") :].startswith("nothing")


def test_the_schema_has_all_tables(capsys):
    code, out, _ = run(capsys, "query", DUMP, "--schema", "--json")
    assert code == 0
    more = "threads", "arguments", "charges('name')", "groups_of('name')"
    assert {row["table"] for row in json.loads(out)} == {*TABLES, *more}


def test_an_unknown_key_of_charges_names_the_most_similar_one(capsys):
    code, out, err = run(capsys, "query", DUMP, "FROM charges('lien')")
    assert (code, out) == (2, "")
    assert "'lien' is not a key; line is similar: use one of" in err
    for sql in ("FROM charges('arg:it''s')", "FROM groups_of( 'arg:it''s')"):
        assert "No slice has the argument it's" in run(capsys, "query", DUMP, sql)[2]


def test_without_duckdb_one_sentence_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    code, out, err = run(capsys, "query", DUMP, SQL)
    assert (code, out) == (2, "")
    assert err == 'opscope: queries need duckdb: pip install "opscope[query]"\n'
