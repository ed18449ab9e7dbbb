"""`Profile.sql`: the rows of the tables, equal to plain loops, to `stats` and to Perfetto's own."""

import contextlib
import json
import math
import os
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import viewer
from tests.analysis.statistics.test_pivot import generated, value
from tests.builders.clocked_traces import space_of
from tests.builders.command_line import run
from tests.fleet.test_query import WRITES
from tests.paths import DATA, ROOT
from tests.peers.trace_processor import TraceProcessor
from viewer.api import sql, sql_tables
from viewer.api.profile import Profile
from viewer.api.sql import sql_result
from viewer.api.sql_tables import PERFETTO_VIEWS, schema
from viewer.gui.panels.query.panel import Answered, _Running, answer
from viewer.mcp_server.limits import OpenFiles
from viewer.mcp_server.tools import _plain, query
from viewer.model.queries import parent_of, self_time
from viewer.query.engine import Limits, WrongQuery
from viewer.tables.catalog import TABLES

pytestmark = pytest.mark.slow
SAMPLE = ROOT / "resources" / "samples" / "attention_xnnpack"
ATTENTION = [str(SAMPLE / "attn_xnnpack_x5.etdp"), str(SAMPLE / "attn_teal_xnnpack.etrecord")]
C3 = [str(DATA / "torq" / "compile_c3_taskid.csv"), str(DATA / "torq" / "tiny_cnn.mlir")]
KINETO, CSV = DATA / "chrome_json" / "kineto_cpu.json", DATA / "table_csv" / "two_threads.csv"


@pytest.fixture(scope="module")
def attention() -> Profile:
    return viewer.open(*ATTENTION)


def rows(profile: Profile, sql: str, **parameters: object) -> list[tuple]:
    return sql_result(profile, sql, Limits(30), parameters).rows


def plain(frame: pd.DataFrame) -> list[tuple]:
    """The rows of a table as Python's values."""
    return [
        tuple(None if not isinstance(v, list | dict) and pd.isna(v) else v for v in row)
        for row in frame.astype(object).itertuples(index=False, name=None)
    ]


@pytest.mark.parametrize("files", [ATTENTION, C3, [str(KINETO)], [str(CSV), C3[0]]])
def test_tables_have_the_rows_of_their_data_frames(files):
    profile = viewer.open(*files)
    more = "threads", "arguments", "charges('name')", "groups_of('name')"
    assert set(schema(profile)) == {*TABLES, *more}
    for name, columns in schema(profile).items():
        result = sql_result(profile, f"FROM {name}", Limits(30))
        assert result.columns == [column.name for column in columns]
        if name not in TABLES:
            continue
        frame = getattr(profile, name)
        places = [result.columns.index(column) for column in frame.columns]
        objects = {i for i, c in enumerate(frame.columns) if frame[c].dtype == object}
        for row, other in zip(result.rows, plain(frame), strict=True):
            for i, (place, b) in enumerate(zip(places, other, strict=True)):
                a = row[place]
                assert i in objects or a == b or (a is not None and math.isclose(a, b)), name


@pytest.mark.parametrize("seed", range(5))
def test_sums_and_joins_equal_loops(seed):
    trace = generated(seed)
    profile, slices = Profile(space_of([trace])), trace.slices
    total, most = Counter[str](), dict[str, int]()
    for i in range(len(slices)):
        ticks = int(slices.end[i] - slices.start[i])
        total[trace.name(i)] += ticks
        most[trace.name(i)] = max(most.get(trace.name(i), 0), ticks)
    found = rows(profile, "SELECT name, sum(dur_ns), max(dur_ns) FROM slices GROUP BY 1")
    assert {name: (s, m) for name, s, m in found} == {n: (total[n], most[n]) for n in total}
    parents = {i: parent_of(slices, i) for i in range(len(slices))}
    assert dict(rows(profile, "SELECT id, parent FROM slices")) == {
        i: None if parent < 0 else parent for i, parent in parents.items()
    }
    assert dict(rows(profile, "SELECT id, self_ns FROM slices")) == dict(
        enumerate(self_time(slices).tolist())
    )
    pairs = Counter(
        (trace.name(parent), trace.name(i)) for i, parent in parents.items() if parent >= 0
    )
    joined = "FROM slices a JOIN slices b ON b.parent = a.id GROUP BY 1, 2"
    assert {
        (a, b): n for a, b, n in rows(profile, f"SELECT a.name, b.name, count(*) {joined}")
    } == (pairs)
    by_value = Counter(value(trace, "arg:a", i) for i in range(len(slices)))
    del by_value[None]
    sql = "SELECT text, count(*) FROM arguments WHERE name = 'a' GROUP BY 1"
    assert dict(rows(profile, sql)) == by_value
    inside = "SELECT sum(overlap(start_ns, dur_ns, 100, 200)) FROM slices"
    assert rows(profile, inside) == [(
        sum(max(min(int(slices.end[i]), 200) - max(int(slices.start[i]), 100), 0)
            for i in range(len(slices))),
    )]  # fmt: skip


def test_figures_are_those_of_stats(attention):
    stats = attention.stats("name").set_index("label")
    found = rows(
        attention,
        "SELECT name, sum(self_ns), count(*), median(dur_ns) FROM slices "
        "WHERE name NOT LIKE 'unattr%' GROUP BY 1",
    )
    for name, self_ns, count, median in found:
        assert stats.loc[name, "count"] == count
        assert stats.loc[name, "p50_ns"] == int(median)
        if name in ("Method::execute", "Program::load_method"):
            assert stats.loc[name, "self_ns"] == self_ns
    per_run = attention.stats(["operator", "inference"], inference=None)
    assert per_run["self_ns"].sum() == attention.stats("operator")["self_ns"].sum()


def test_times_of_cycles_are_rounded_as_in_tables():
    profile = viewer.open(*C3)
    (trace,) = profile.workspace.traces
    rate = Fraction(5, 4)
    expected = [int(end * rate // 1 - start * rate // 1)
                for start, end in zip(trace.slices.start.tolist(), trace.slices.end.tolist(),
                                      strict=True)]  # fmt: skip
    assert [dur for (dur,) in rows(profile, "SELECT dur_ns FROM slices ORDER BY id")] == expected


def test_parameters_and_dtypes(attention):
    frame = attention.sql(
        "SELECT name, count(*) AS n FROM slices WHERE inference = $i GROUP BY 1", {"i": 2}
    )
    assert [str(dtype) for dtype in frame.dtypes] == ["string", "Int64"]
    assert frame["n"].sum() == (attention.slices["inference"] == 2).sum()
    with pytest.raises(WrongQuery):
        attention.sql("SELECT $missing")


def test_tables_are_made_once_for_one_query_after_another(monkeypatch):
    profile, made = viewer.open(*ATTENTION), []
    monkeypatch.setattr(sql, "sql_tables", lambda *of: made.append(0) or sql_tables.sql_tables(*of))
    count = [(len(profile.slices),)]
    for _ in range(3):
        assert rows(profile, "SELECT count(*) FROM slices") == count
        assert rows(profile, "SELECT max(dur_ns) FROM slices") == [
            (profile.slices["dur_ns"].max(),)
        ]
    assert len(made) == 1
    with pytest.raises(WrongQuery):
        rows(profile, "SELECT nothing FROM slices")
    assert rows(profile, "SELECT count(*) FROM slices") == count
    assert len(made) == 2
    assert sql_result(profile, "SELECT count(*) FROM slices", Limits(30, 10**9)).rows == count
    assert len(made) == 3
    pieces = rows(profile, "SELECT count(*) FROM charges('name') WHERE figure = 'duration'")
    assert pieces == rows(profile, "SELECT count(*) FROM charges('name') WHERE figure = 'duration'")
    assert len(made) == 5  # tables of charges are those of one query
    assert rows(profile, "SELECT count(*) FROM slices") == count


def test_no_query_changes_what_the_next_one_sees(attention):
    count = [(len(attention.slices),)]
    changes = (
        "EXPLAIN ANALYZE DELETE FROM _operators",
        "EXPLAIN ANALYZE COMMIT",
        "EXPLAIN ANALYZE INSERT INTO _threads BY NAME SELECT 9 AS id",
        "WITH x AS (INSERT INTO _threads BY NAME SELECT 9 AS id RETURNING id) SELECT * FROM x",
        "SELECT * FROM query('SELECT 1')",
    )
    threads = rows(attention, "SELECT * FROM threads ORDER BY id")
    for sql_text in changes:
        with contextlib.suppress(WrongQuery):
            rows(attention, sql_text)
        assert rows(attention, "SELECT count(*) FROM slices") == count
        assert rows(attention, "SELECT * FROM threads ORDER BY id") == threads
        assert rows(attention, "SELECT count(*) FROM operators") == [(len(attention.operators),)]


@pytest.mark.parametrize("name", ["main._slices_0", "memory.main._SLICES_0", "slices",
                                  "query('FROM memory._sli' || 'ces_0')", "main.slices",
                                  "query_table('slices')"])  # fmt: skip
def test_a_table_has_its_rows_by_any_name(attention, name):
    rows(attention, "SELECT 1")  # the tables are there
    assert rows(attention, f"SELECT count(name) FROM {name}") == [
        (attention.slices["name"].count(),)
    ]


def resource_limits() -> object:
    """What this process may take of addresses, where that can be limited."""
    if sys.platform != "linux":
        return None
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)


def test_queries_at_the_same_time_have_their_own_tables(attention):
    expected = rows(attention, "SELECT name, sum(dur_ns) FROM slices GROUP BY 1 ORDER BY 1")
    before = resource_limits()
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(
            lambda _: rows(attention, "SELECT name, sum(dur_ns) FROM slices GROUP BY 1 ORDER BY 1"),
            range(12),
        )
        assert all(answer == expected for answer in answers)
    assert resource_limits() == before


def test_variables_of_the_program_are_no_tables(attention):
    frame = attention.slices  # noqa: F841
    rows(attention, "SELECT 1")
    with pytest.raises(WrongQuery, match="frame"):
        rows(attention, "SELECT * FROM frame")


def test_a_profile_without_slices_and_one_without_a_profile():
    record = viewer.open(ATTENTION[1])
    assert rows(record, "SELECT count(*) FROM slices") == [(0,)]
    assert rows(record, "SELECT count(*) FROM slice JOIN thread ON true") == [(0,)]
    assert rows(record, "SELECT count(*) FROM nodes")[0][0] > 0


def test_only_the_columns_of_the_plan_are_made(attention, monkeypatch):
    made = []
    original = sql_tables._slices_arrow
    monkeypatch.setattr(
        sql_tables, "_slices_arrow", lambda *args: made.append(args[-1]) or original(*args)
    )
    rows(attention, "SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY 1")
    rows(attention, "SELECT count(*) FROM slices WHERE module LIKE 'blocks%'")
    assert [sorted(names) for names in made] == [["_end", "_start", "name"], ["module"]]


HOSTILE = (
        *WRITES, "CREATE TABLE x AS SELECT 1", "DROP VIEW slices", "SET threads = 9",
        "SELECT 1; SELECT 2",
        "INSTALL httpfs", "LOAD httpfs", "SELECT getenv('HOME')", "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_csv('{0}')",
        "SELECT * FROM glob('/etc/*')", "PRAGMA database_list", "CALL pragma_version()",
        "SELECT * FROM read_parquet('https://example.com/x')", "DELETE FROM _slices_0",
        "UPDATE _slices_0 SET _start = 1", "INSERT INTO _slices_0 VALUES (1)", "VACUUM",
        "CHECKPOINT", "BEGIN", "RESET memory_limit", "SET memory_limit = '9GB'", "USE memory",
        "ALTER TABLE _slices_0 RENAME TO x", "IMPORT DATABASE '{0}'", "PREPARE x AS SELECT 1",
        "EXECUTE x", "DETACH memory", "SELECT * FROM sniff_csv('{0}')", "", ";", "--", "SELECT",
        "COMMENT ON TABLE _slices_0 IS 'x'", "SELECT * FROM read_blob('{0}')",
        "SELECT * FROM parquet_schema('{0}')",
        "FROM charges('nothing')", "FROM charges((SELECT 'name'))", "FROM groups_of('{0}')",
        "FROM charges('name', 'nothing')", "FROM query_table('{0}')",
        "FROM charges('name; DROP VIEW slices')",
)  # fmt: skip


@pytest.mark.parametrize("sql", HOSTILE)
def test_hostile_statements_touch_nothing(attention, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    for place in (str(tmp_path / "new"), "new") if "{0}" in sql else ("",):
        with pytest.raises(WrongQuery) as error:
            rows(attention, sql.replace("{0}", place))
        assert "\n" not in str(error.value)
    assert os.listdir(tmp_path) == []


ENDLESS = (
    "SELECT count(*) FROM slices a, slices b, slices c, slices d",
    "SELECT count(*) FROM charges('name') a, charges('name') b, charges('name') c, slices",
    "WITH RECURSIVE t AS (SELECT 1 n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "SELECT repeat('x', 1000000000) || repeat('y', 1000000000)",
    "SELECT list(range) FROM range(1000000000)",
    "SELECT * FROM range(1000000000)",
)


@pytest.mark.parametrize("sql", ENDLESS)
def test_endless_queries_end(attention, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WrongQuery) as error:
        sql_result(attention, sql, Limits(1.0, 100_000_000))
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path) == []


def test_there_are_fifty_hostile_statements():
    assert len({*HOSTILE, *ENDLESS}) >= 50


def test_pieces_that_take_too_much_memory_are_one_sentence(attention):
    with pytest.raises(WrongQuery, match=r"more than 1\.0.MB of memory"):
        sql_result(attention, "FROM charges('name')", Limits(30, 1_000_000))


def test_a_query_can_be_stopped(attention):
    def stop_soon(stop):
        threading.Timer(0.2, stop).start()

    with pytest.raises(WrongQuery):
        sql_result(
            attention, "SELECT count(*) FROM range(100000000000)", Limits(60), None, stop_soon
        )


# -- Perfetto --------------------------------------------------------------------------------------

QUERIES = (
    "SELECT ts, dur, name FROM slice",
    "SELECT ts, dur, depth FROM slice WHERE depth = 0",
    "SELECT count(*) FROM slice",
    "SELECT name, count(*) FROM slice GROUP BY name",
    "SELECT name, sum(dur) FROM slice GROUP BY name",
    "SELECT name, min(dur), max(dur), avg(dur) FROM slice GROUP BY name",
    "SELECT name, dur FROM slice WHERE dur > 1000",
    "SELECT name FROM slice WHERE name LIKE '%o%'",
    "SELECT name FROM slice WHERE name GLOB '*e'",
    "SELECT DISTINCT name FROM slice",
    "SELECT max(ts + dur) - min(ts) FROM slice",
    "SELECT name, dur FROM slice ORDER BY dur DESC, name LIMIT 3",
    "SELECT parent.name, child.name FROM slice child "
    "JOIN slice parent ON child.parent_id = parent.id",
    "SELECT name FROM slice WHERE parent_id IS NULL",
    "SELECT depth, count(*) FROM slice GROUP BY depth",
    "SELECT s.name, t.name FROM slice s JOIN thread_track tt ON s.track_id = tt.id "
    "JOIN thread t USING (utid)",
    "SELECT t.name, sum(s.dur) FROM slice s JOIN thread_track tt ON s.track_id = tt.id "
    "JOIN thread t USING (utid) WHERE s.depth = 0 GROUP BY t.name",
    "SELECT p.name, t.name, s.name, s.dur FROM slice s JOIN thread_track tt ON s.track_id = tt.id "
    "JOIN thread t USING (utid) JOIN process p USING (upid)",
    "SELECT thread.name, process.name FROM thread JOIN process USING (upid) WHERE upid > -1 "
    "AND process.name IS NOT NULL",
    "SELECT name, cast(dur / 1e6 AS DOUBLE) FROM slice",
    "SELECT count(DISTINCT track_id) FROM slice",
    "SELECT slice.name, args.flat_key, args.int_value FROM slice JOIN args USING (arg_set_id) "
    "WHERE flat_key LIKE 'debug.%' AND int_value IS NOT NULL AND name NOT LIKE 'Opscope%'",
    "SELECT slice.name, args.string_value FROM slice JOIN args USING (arg_set_id) "
    "WHERE flat_key = 'debug.note'",
    "SELECT count(*) FROM slice WHERE ts BETWEEN 0 AND 5000000",
    "SELECT name, ts, lead(ts) OVER (PARTITION BY track_id ORDER BY ts, id) - ts FROM slice "
    "WHERE depth = 0",
    "WITH long AS (SELECT * FROM slice WHERE dur > 100) SELECT name, count(*) FROM long GROUP BY 1",
    "SELECT CASE WHEN dur > 1000 THEN 'long' ELSE 'short' END, count(*) FROM slice GROUP BY 1",
    "SELECT thread_name, name, dur FROM thread_slice",
    "SELECT process_name, sum(dur) FROM thread_slice WHERE depth = 0 GROUP BY 1",
    "SELECT name FROM slice EXCEPT SELECT name FROM slice WHERE depth > 0",
)


# Slices with arguments daily; a plain table, whose rows are of the same queries, by night.
@pytest.fixture(
    scope="module", params=[pytest.param("csv", marks=pytest.mark.nightly), "generated"]
)
def exported(request, tmp_path_factory) -> tuple[Profile, Path]:
    profile = viewer.open(str(CSV))
    if request.param == "generated":
        profile = Profile(space_of([replace(generated(4), runs=())]))
    path = tmp_path_factory.mktemp("sql") / "out.pftrace"
    profile.to_perfetto(path)
    return profile, path


def test_simple_queries_of_perfetto_give_the_rows_of_trace_processor(exported):
    profile, path = exported
    with TraceProcessor(str(path)) as peer:
        for sql in QUERIES:
            theirs = sql
            if "thread_slice" in sql or "FROM thread_slice" in sql:
                theirs = f"INCLUDE PERFETTO MODULE slices.with_context; {sql}"
            assert by_text(rows(profile, sql)) == by_text(peer.rows(theirs)), sql
    assert len(QUERIES) == 30
    for view in PERFETTO_VIEWS:
        assert sql_result(profile, f"FROM {view}", Limits(30)).columns


def by_text(found: list[tuple]) -> list[str]:
    """Rows in an order of their own: without ORDER BY, a query has none."""
    return sorted(str(tuple(float(v) if isinstance(v, int | np.integer) else v for v in row))
                  for row in found)  # fmt: skip


def recipes() -> list[str]:
    """The queries of the help page, in the order of its table."""
    text = (ROOT / "resources" / "help" / "sql.md").read_text(encoding="utf-8")
    table = text[text.index("## Examples") :]
    return [line.split(" | ")[1].strip(" |`") for line in table.splitlines() if "`SELECT" in line]


def test_the_recipes_of_the_help_are_right(attention):
    """Every one runs; those about slices and inferences equal figures of numpy."""
    found = [rows(attention, sql) for sql in recipes()]
    assert len(found) == 20
    slices, inferences = attention.slices, attention.inferences
    (trace,) = attention.workspace.traces
    name, dur = slices["name"].astype(str), slices["dur_ns"].to_numpy()
    own = pd.Series(self_time(trace.slices))
    assert dict(found[0]) == own.groupby(name.to_numpy()).sum().to_dict()
    assert found[1] == list(zip(inferences["label"], inferences["dur_ns"], strict=True))
    slowest = inferences.loc[inferences["dur_ns"].idxmax()]
    assert found[2] == [(slowest["label"], slowest["dur_ns"])]
    steady = inferences.loc[~inferences["warm_up"], "dur_ns"]
    assert found[3] == [(np.median(steady), pytest.approx(np.quantile(steady, 0.9)))]
    first = set(name[slices["inference"] == 1]) - set(name[slices["inference"] > 1])
    assert {value for (value,) in found[4]} == first
    assert {(i, n, d) for i, n, d in found[6]} == {
        (i, name[i], dur[i]) for i in np.flatnonzero(dur > 1_000_000).tolist()
    }
    pairs = Counter(
        (name[parent], name[i])
        for i in range(len(slices))
        if (parent := parent_of(trace.slices, i)) >= 0
    )
    assert {(a, b): n for a, b, n in found[7]} == pairs
    outer = slices["depth"] == 0
    assert dict(found[17]) == {"forward": dur[outer.to_numpy(bool)].sum()}
    reasons = slices.groupby("link_reason", observed=True)["dur_ns"].agg(["size", "sum"])
    assert {r: (n, ns) for r, n, ns in found[14]} == {
        r: (n, ns) for r, n, ns in reasons.itertuples()
    }


def test_the_other_recipes_equal_figures_of_pandas(attention):
    found = [rows(attention, sql) for sql in recipes()]
    slices, (trace,) = attention.slices, attention.workspace.traces
    own = pd.Series(self_time(trace.slices))
    keys = [slices["module"].astype(object), slices["inference"].astype(object)]
    sums = own.groupby(keys, dropna=False).sum()
    assert {(plain_value(m), plain_value(i)): ns for m, i, ns in found[5]} == {
        (plain_value(m), plain_value(i)): ns for (m, i), ns in sums.items()
    }
    operators = attention.operators
    idle = operators.loc[operators["self_ns"].fillna(0) == 0, "operator"]
    assert Counter(value for (value,) in found[8]) == Counter(idle)
    outer = slices[slices["depth"] == 0].sort_values("start_ns")
    gaps = np.diff(outer["start_ns"]) - outer["dur_ns"].to_numpy()[:-1]
    assert [gap for _, gap in found[11]] == [*gaps, None]
    start, dur = slices["start_ns"].to_numpy(), slices["dur_ns"].to_numpy()
    inside = np.flatnonzero((start < 1_000_000) & (start + dur > 0))
    assert len(found[12]) == len(inside)
    assert found[13] == []
    lines = attention.lines.sort_values("self_ns", ascending=False, kind="stable")[:10]
    assert [ns for *_, ns in found[15]] == lines["self_ns"].tolist()
    findings = attention.findings
    large = findings[findings["gain_ns"] > 1_000_000]
    assert Counter(found[16]) == Counter(zip(large["title"], large["gain_ns"], strict=True))
    grouped = slices.groupby(slices["name"].astype(str))["dur_ns"]
    many = grouped.size()[lambda sizes: sizes > 5].index
    assert len(found[18]) == len(many)
    for name, ratio in found[18]:
        durations = grouped.get_group(name)
        expected = durations.std() / durations.mean() if durations.mean() else None
        assert ratio is None or math.isnan(ratio) or ratio == pytest.approx(expected)
    flows, name = attention.flows, slices["name"].astype(str)
    assert Counter(found[19]) == Counter(
        (name[a], name[b]) for a, b in zip(flows["producer"], flows["consumer"], strict=True)
    )


def plain_value(value: object) -> object:
    return None if pd.isna(value) else value


@pytest.mark.parametrize("seed", range(3))
def test_the_recipes_of_arguments_equal_loops(seed):
    trace = generated(seed)
    profile, column = Profile(space_of([trace])), trace.slices.columns["a"]
    values, own = [column.value(i) for i in range(len(trace.slices))], self_time(trace.slices)
    counts, times = Counter[str](), Counter[str]()
    for value_of_slice, ticks in zip(values, own.tolist(), strict=True):
        if value_of_slice is not None:
            counts[str(value_of_slice)] += 1
            times[str(value_of_slice)] += ticks
    values_sql, times_sql = (sql.replace("'batch'", "'a'") for sql in recipes()[9:11])
    assert dict(rows(profile, values_sql)) == counts
    assert dict(rows(profile, times_sql)) == times


def test_questions_have_one_answer_in_command_python_assistants_and_window(attention, capsys):
    opened = OpenFiles(attention.workspace)
    for text in [*recipes(), "SELECT label, sum(dur_ns) FROM charges('line') GROUP BY ALL"]:
        expected = sql_result(attention, text, Limits(30)).rows
        wanted = Counter(map(str, expected))
        answered = answer(attention, _Running(text))
        assert isinstance(answered, Answered)
        assert Counter(map(str, answered.result.rows)) == wanted
        facts = query(opened, text, len(expected) + 1)
        assert facts["total"] == len(expected)
        assert Counter(str(tuple(row)) for row in facts["rows"]) == Counter(
            str(tuple(map(_plain, row))) for row in expected
        )
        code, out, _ = run(capsys, "query", *ATTENTION, text, "--json")
        assert code == 0
        assert Counter(str(list(row.values())) for row in json.loads(out)) == Counter(
            str(list(map(_plain, row))) for row in expected
        )
        frame = attention.sql(text)
        assert len(frame) == len(expected)


def test_a_query_that_is_stopped_before_it_begins_does_not_run(attention):
    endless = "SELECT count(*) FROM range(1000000000000)"
    with pytest.raises(WrongQuery, match="the query was stopped"):
        sql_result(attention, endless, Limits(30), None, lambda stop: stop())


def test_to_stop_a_query_that_ended_does_nothing(attention):
    stops = []
    assert sql_result(attention, "SELECT 1", Limits(), None, stops.append).rows == [(1,)]
    (stop,) = stops
    stop()
