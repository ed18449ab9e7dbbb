"""`opscope report` and `opscope export` of session files: their queries run as in the window."""

import re
from pathlib import Path

import numpy as np
import pytest

import viewer
from tests.paths import DATA
from viewer.api import session_queries
from viewer.cli import main
from viewer.codecs.file_bytes import stamp_of
from viewer.formats import open_file
from viewer.query import engine
from viewer.view.sessions.session_file import (
    SavedChart,
    SavedDerived,
    SavedSession,
    SavedView,
    encoded,
    input_of,
)

DUMP = DATA / "etdump/demo_portable_x3.etdp"
OTHER = DATA / "table_csv/two_threads.csv"
OUTER = SavedDerived("outer", "SELECT name, start_ns, dur_ns FROM slices WHERE depth = 0", 0)
BY_NAME = SavedChart(
    "by name", "SELECT name, sum(self_ns) AS self_ns FROM slices GROUP BY 1 ORDER BY 2 DESC", "bars"
)


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def session_of(tmp_path):
    """Writes a session of a dump and another file, with queries."""

    def write(*derived: SavedDerived, charts: tuple[SavedChart, ...] = ()) -> Path:
        inputs = tuple(
            input_of(str(path), stamp_of(str(path)), str(tmp_path)) for path in (DUMP, OTHER)
        )
        path = tmp_path / "work.opscope"
        view = SavedView(derived=derived, charts=charts)
        path.write_bytes(encoded(SavedSession(1, inputs, view=view)))
        return path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("clock", [None, 0, 1])
def test_a_perfetto_file_has_the_tracks_on_their_clock(session_of, tmp_path, capsys, clock):
    sql = "SELECT name, start_ns, dur_ns FROM slices WHERE file LIKE '%{}' AND dur_ns > 0"
    name = OTHER.name if clock else DUMP.name
    path = session_of(SavedDerived("mine", sql.format(name), clock), charts=(BY_NAME,))
    out = tmp_path / "out.pftrace"
    assert run("export", path, "-o", out) == 0
    assert capsys.readouterr().err == ""
    trace = open_file(str(out))
    owner = np.repeat(trace.slices.row_track, np.diff(trace.slices.row_ptr))
    process = np.array([track.process for track in trace.tracks])[owner]
    is_derived = process == "Derived by query mine"
    is_dump = np.array([DUMP.name in each for each in process])
    of_file = ~is_derived & (is_dump if clock != 1 else ~is_dump)
    spans = [
        set(zip(trace.slices.start[m].tolist(), trace.slices.end[m].tolist(), strict=True))
        for m in (is_derived, of_file & (trace.slices.end > trace.slices.start))
    ]
    assert spans[0] == spans[1] != set()


@pytest.mark.slow
def test_totals_of_a_file_that_is_opened_again_leave_out_its_tracks(session_of, tmp_path):
    with_tracks, without = tmp_path / "with.pftrace", tmp_path / "without.pftrace"
    assert run("export", session_of(OUTER), "-o", with_tracks) == 0
    assert run("export", DUMP, OTHER, "-o", without) == 0
    stated, plain = open_file(str(with_tracks)).slices, open_file(str(without)).slices
    outer = len(viewer.open([DUMP, OTHER]).sql(OUTER.sql))
    assert len(stated) == len(plain) + outer
    assert stated.derived_count == plain.derived_count + outer
    for key in ("name", "process"):
        a, b = (viewer.open(path).stats(key) for path in (with_tracks, without))
        assert a.self_ns.sum() == b.self_ns.sum() > 0


@pytest.mark.slow
def test_a_report_has_tracks_and_charts(session_of, tmp_path, capsys):
    path, page = session_of(OUTER, charts=(BY_NAME,)), tmp_path / "out.html"
    assert run("report", path, "-o", page) == 0
    assert capsys.readouterr().err == ""
    text = page.read_text(encoding="utf-8")
    assert "Derived by query outer" in text
    section = text[text.index("Chart by name") :]
    names = viewer.open(path).sql(BY_NAME.sql)
    assert len(re.findall("<rect", section[: section.index("</svg>")])) == len(names)
    assert run("report", path, "--markdown") == 0
    printed = capsys.readouterr().out
    assert "### Chart by name" in printed
    assert "### Derived by query outer" in printed


@pytest.mark.slow
def test_wrong_queries_are_counted_and_the_rest_is_written(session_of, tmp_path, capsys):
    wrong = SavedDerived("bad", "SELECT nothing FROM slices", 0)
    no_times = SavedDerived("no times", "SELECT name FROM slices", 0)
    change = SavedChart("change", "DROP TABLE slices", "bars")
    path = session_of(wrong, OUTER, no_times, charts=(change, BY_NAME))
    page, out = tmp_path / "out.html", tmp_path / "out.pftrace"
    assert run("report", path, "-o", page) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("opscope: 3 queries are not drawn (bad, no times, change): ")
    text = page.read_text(encoding="utf-8")
    assert "a query is one SELECT" in text
    assert "<svg" in text[text.index("Chart by name") :]
    assert run("export", path, "-o", out) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("opscope: 2 queries are not drawn (bad, no times): ")
    processes = {track.process for track in open_file(str(out)).tracks}
    assert "Derived by query outer" in processes
    assert run("export", path, "-o", tmp_path / "table.csv") == 0


def test_without_duckdb_it_is_one_sentence(session_of, tmp_path, capsys, monkeypatch):
    def missing(hint: str = "") -> None:
        raise engine.NoDuckDB("queries need duckdb: pip install x")

    monkeypatch.setattr("viewer.api.sql.package", missing)
    path = session_of(OUTER, charts=(BY_NAME,))
    assert run("export", path, "-o", tmp_path / "out.pftrace") == 1
    assert capsys.readouterr().err == (
        "opscope: 1 query is not drawn (outer): queries need duckdb: pip install x\n"
    )
    assert run("report", path, "-o", tmp_path / "out.html") == 1
    assert capsys.readouterr().err == (
        "opscope: 2 queries are not drawn (outer, by name): queries need duckdb: pip install x\n"
    )
    assert (tmp_path / "out.pftrace").exists()
    assert (tmp_path / "out.html").exists()


@pytest.mark.slow
def test_endless_queries_of_a_stranger_end(session_of, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(session_queries, "SECONDS", 0.3)
    monkeypatch.setattr(session_queries, "TOGETHER_S", 0.8)
    endless = "SELECT count(*) AS n, 'a' AS name FROM range(1000000000000) t{}"
    charts = tuple(SavedChart(f"c{n}", endless.format(n), "bars") for n in range(60))
    path = session_of(charts=charts)
    assert run("report", path, "-o", tmp_path / "out.html") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "50 queries are not drawn (c0, c1, c2, …): the query takes more than 0.3 s" in line
    assert "not run, as the queries before it took 0.8 s" in line
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "range(1000000000000) t0" in text  # the reader sees what ran


@pytest.mark.parametrize("number", [-1, -2, 2, 2**40])
def test_clocks_that_are_not_there_have_no_tracks(session_of, tmp_path, number):
    path = session_of(SavedDerived("outer", OUTER.sql, number))
    out = tmp_path / "out.pftrace"
    assert run("export", path, "-o", out) == 0
    assert not any("Derived" in track.process for track in open_file(str(out)).tracks)
