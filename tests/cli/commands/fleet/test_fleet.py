"""`opscope fleet`, as a user runs it."""

import csv
import io
import json
import sys

import pytest

from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.paths import DATA
from viewer.cli import main


def opscope(capsys, *arguments):
    try:
        code = main(["fleet", *map(str, arguments)])
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, 6, models=2, devices=3, builds=1)
    return folder


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "lake"
    assert main(["fleet", "build", str(fleet), "-o", str(folder), "--jobs", "1",
                 "--from-path", PATTERN]) == 0  # fmt: skip
    return folder


def test_build_status_query_and_compact(fleet, lake, capsys):
    again = opscope(capsys, "build", fleet, "-o", lake, "--from-path", PATTERN, "--jobs", 2)
    assert again == (0, f"{lake}: 0 of 6 profiles added, 6 kept\n", "")
    code, out, _ = opscope(capsys, "status", lake)
    assert (code, "6 done" in out, "inference_operators" in out) == (0, True, True)
    sql = "SELECT device, count(*) AS profiles FROM files GROUP BY device ORDER BY device"
    assert opscope(capsys, "query", lake, sql)[1].splitlines() == [
        "device   profiles", "device0         2", "device1         2", "device2         2",
    ]  # fmt: skip
    assert json.loads(opscope(capsys, "query", lake, sql, "--json")[1])[0] == {
        "device": "device0", "profiles": 2,
    }  # fmt: skip
    assert list(csv.reader(io.StringIO(opscope(capsys, "query", lake, sql, "--csv")[1])))[1] == [
        "device0", "2",
    ]  # fmt: skip
    assert opscope(capsys, "query", lake, "SELECT 1 WHERE false")[1] == "1\n0 rows\n"
    assert opscope(capsys, "compact", lake)[0] == 0


def test_failures_are_one_line_each_and_exit_code_1(fleet, tmp_path, capsys):
    broken = DATA / "etdump" / "BAD_truncated.etdp"
    code, out, err = opscope(capsys, "build", fleet, broken, "-o", tmp_path / "l", "--jobs", 1)
    assert (code, out) == (1, f"{tmp_path / 'l'}: 6 of 7 profiles added, 1 failed\n")
    assert err.count("\n") == 1
    assert "BAD_truncated.etdp (byte" in err
    facts = json.loads(opscope(capsys, "status", tmp_path / "l", "--json")[1])
    assert facts["profiles"] == {"done": 6, "failed": 1}
    assert [one["state"] for one in facts["failures"]] == ["failed"]


def test_progress_as_json(fleet, tmp_path, capsys):
    _, _, err = opscope(capsys, "build", fleet, "-o", tmp_path / "l", "--jobs", 1,
                        "--json-progress")  # fmt: skip
    last = json.loads(err.splitlines()[-1])
    assert (last["total"], last["done"], last["kept"], last["failed"]) == (6, 6, 0, 0)
    assert last["bytes"] == sum(path.stat().st_size for path in fleet.rglob("*.etdp"))
    assert last["rate"] > 0


def test_urls_and_labels(fleet, tmp_path, capsys):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(f"{fleet}/", "/fleet/", recursive=True)
    names = sorted(path.name for path in fleet.rglob("*.etdp"))
    (tmp_path / "labels.csv").write_text(f"file,device,lab\n{names[0]},other,berlin\n")
    arguments = ("build", "memory://fleet", "-o", tmp_path / "l", "--from-path", PATTERN)
    assert opscope(capsys, *arguments, "--labels", tmp_path / "labels.csv")[0] == 0
    sql = "SELECT device, tags, linked > 0 AS linked FROM files ORDER BY source LIMIT 2"
    assert json.loads(opscope(capsys, "query", tmp_path / "l", sql, "--json")[1]) == [
        {"device": "other", "tags": '{"lab": "berlin"}', "linked": True},
        {"device": "device0", "tags": None, "linked": True},
    ]
    memory.rm("/fleet", recursive=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "IN"], "-o/--output"),
        (["build", "IN/missing", "-o", "OUT"], "no such file or folder"),
        (["build", "IN", "-o", "IN"], "has other files"),
        (["build", "IN", "-o", "OUT", "--tables", "operator"], "the tables are operators"),
        (["build", "IN", "-o", "OUT", "--jobs", "0"], "at least 1"),
        (["build", "IN", "-o", "OUT", "--from-path", "x"], "name different fields"),
        (["build", "IN", "-o", "OUT", "--labels", "IN/no.csv"], "cannot be read"),
        (["build", "IN", "-o", "OUT", "--worker-memory", "x"], "is not a size"),
        (["build", "IN", "-o", "OUT", "--scheduler", "tcp://a:1", "--workers", "1"], "together"),
        (["build", "nowhere://x", "-o", "OUT"], "cannot be listed"),
        (["status", "IN"], "this is no lake"),
        (["query", "IN", "SELECT 1"], "this is no lake"),
        (["compact", "IN"], "this is no lake"),
        (["unknown"], "invalid choice"),
    ],
)
def test_wrong_usage_is_exit_code_2(fleet, tmp_path, capsys, arguments, words):
    given = [a.replace("IN", str(fleet)).replace("OUT", str(tmp_path / "o")) for a in arguments]
    code, _, err = opscope(capsys, *given)
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("pyarrow", ("build", "IN", "-o", "OUT")),
        ("duckdb", ("query", "LAKE", "SELECT 1")),
        ("distributed", ("build", "IN", "-o", "OUT", "--workers", "1")),
        ("fsspec", ("build", "memory://x", "-o", "OUT")),
    ],
)
def test_a_missing_package_names_the_extra(
    fleet, lake, tmp_path, capsys, monkeypatch, package, arguments
):
    ours = ("viewer.fleet", "viewer.cli.commands.fleet")
    for name in [n for n in sys.modules if n.startswith((*ours, f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    places = {"IN": fleet, "OUT": tmp_path / "o", "LAKE": lake}
    code, _, err = opscope(capsys, *(places.get(one, one) for one in arguments))
    assert (code, "opscope[fleet]" in err, err.count("\n")) == (2, True, 1)
