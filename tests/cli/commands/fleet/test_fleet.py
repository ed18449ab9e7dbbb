"""`opscope fleet`, as a user runs it."""

import csv
import io
import json
import shutil
import subprocess
import sys

import pytest

import viewer.cli.commands.fleet
import viewer.fleet
from tests.builders.command_line import run
from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.cli import main

pytestmark = pytest.mark.slow

SOURCE = DATA / "compare/02_module_renamed"


def opscope(capsys, *arguments):
    return run(capsys, "fleet", *map(str, arguments))


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


def test_status_counts_lines_of_the_manifest_that_cannot_be_read(fleet, tmp_path, capsys):
    folder = tmp_path / "l"
    opscope(capsys, "build", fleet, "-o", folder, "--jobs", 1)
    assert "manifest" not in opscope(capsys, "status", folder)[1]
    (folder / "_manifest" / "damaged.jsonl").write_text('{"kind": "un\n{}\n{"ki')
    # The last line is not complete: its process may still write it.
    text = "  2 lines of the manifest cannot be read: what they state does not count\n"
    assert text in opscope(capsys, "status", folder)[1]
    facts = json.loads(opscope(capsys, "status", folder, "--json")[1])
    assert (facts["unreadable_lines"], facts["profiles"]) == (2, {"done": 6})


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


def test_a_source_that_is_missing_leaves_no_lake(tmp_path, capsys):
    assert opscope(capsys, "build", tmp_path / "missing", "-o", tmp_path / "lake")[0] == 2
    assert not (tmp_path / "lake").exists()


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
        (["status", "IN"], "this is not a lake"),
        (["query", "IN", "SELECT 1"], "this is not a lake"),
        (["compact", "IN"], "this is not a lake"),
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
    for parent in (viewer, viewer.cli.commands):  # importing again puts other modules there
        monkeypatch.setattr(parent, "fleet", parent.fleet)
    monkeypatch.setitem(sys.modules, package, None)
    places = {"IN": fleet, "OUT": tmp_path / "o", "LAKE": lake}
    code, _, err = opscope(capsys, *(places.get(one, one) for one in arguments))
    assert (code, "opscope[fleet]" in err, err.count("\n")) == (2, True, 1)


def test_compare_and_report(lake, tmp_path, capsys):
    arms = ("--a", "device=device0", "--b", "device=device2")
    code, out, _ = opscope(capsys, "compare", lake, *arms)
    assert code == 0
    assert out.startswith("A: device=device0\nB: device=device2\n0 of 2 groups")
    code, out, _ = opscope(capsys, "compare", lake, *arms, "--json", "--by", "inference")
    assert [one["model"] for one in json.loads(out)["groups"]] == ["model0", "model1"]
    rule = ("--fail-if", "slower > 5%")
    assert opscope(capsys, "compare", lake, *arms, *rule)[0] == 0
    code, _, err = opscope(capsys, "compare", lake, *arms, *rule, "--fail-if-unknown")
    assert (code, "cannot be excluded" in err) == (4, True)
    page = tmp_path / "fleet.html"
    assert opscope(capsys, "report", lake, "-o", page, "--title", "Lab") == (0, "", "")
    assert "<h1>Lab</h1>" in page.read_text()


@pytest.mark.parametrize(("arguments", "error"), [
    (("--a", "build=9", "--b", "build=8"), "no profile of the lake is in A (build=9)"),
    (("--a", "color=red", "--b", "build=8"), "'color=red' is not an arm"),
    (("--a", "build=build0", "--b", "device=device1"), "share profiles"),
    (("--a", "build=9", "--b", "build=8", "--fail-if", "red"), "is not a rule"),
    (("--a", "build=9", "--b", "build=8", "--fail-if-unknown"), "needs --fail-if"),
])  # fmt: skip
def test_arms_that_cannot_be_compared_are_named(lake, capsys, arguments, error):
    code, out, err = opscope(capsys, "compare", lake, *arguments)
    assert (code, out, error in err) == (2, "", True)


def test_a_slower_build_fails_the_rule(tmp_path, capsys):
    for build, factor in (("1", 1.0), ("2", 2.0)):
        arm = write_arm(tmp_path, f"b{build}-", SOURCE, {"blocks.1.dw": factor})
        for number, path in enumerate(arm):
            place = tmp_path / "fleet" / build / f"{number}.etdp"
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        shutil.copy(SOURCE / "a.etrecord", place.parent)
    lake = tmp_path / "lake"
    build = ("build", tmp_path / "fleet", "-o", lake, "--jobs", 1)
    assert opscope(capsys, *build, "--from-path", "{build}/{name}.etdp")[0] == 0
    code, out, err = opscope(capsys, "compare", lake, "--a", "build=1", "--b", "build=2",
                             "--fail-if", "slower > 5%")  # fmt: skip
    assert code == 3
    assert "1 of 1 group has a proven change." in out
    assert "slower > 5%: all profiles: blocks.1.dw · convolution" in err


def test_a_report_is_html(lake, tmp_path, capsys):
    code, _, err = opscope(capsys, "report", lake, "-o", tmp_path / "report.pdf")
    assert (code, "must end in one of .html, .htm" in err) == (2, True)
    code, _, err = opscope(capsys, "report", tmp_path, "-o", tmp_path / "report.html")
    assert (code, "this is not a lake" in err) == (2, True)


@pytest.mark.parametrize(("arguments", "said"), [
    (("--max-seconds", "0"), "--max-seconds 0: it must be above 0"),
    (("--max-seconds", "nan"), "--max-seconds nan: it must be above 0"),
    (("--max-seconds", "x"), "invalid float value"),
    (("--max-memory", "x"), "--max-memory 'x' is not a size"),
    (("--max-seconds", "0.2"), "opscope: the query takes more than 0.2 s (--max-seconds)\n"),
])  # fmt: skip
def test_the_limits_of_a_query(lake, capsys, arguments, said):
    sql = "SELECT count(*) FROM range(100000000000)"
    code, out, err = opscope(capsys, "query", lake, sql, *arguments)
    assert (code, out, said in err) == (2, "", True)


def test_a_query_that_cannot_be_interrupted_ends_the_process(lake):
    """`overdue` is called in a thread, where no exception would end anything."""
    code = (
        "import sys, viewer.fleet.query as query; query._GRACE_S = -0.4;"
        "from viewer.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    sql = "SELECT count(*) FROM range(100000000000)"
    done = subprocess.run(
        [sys.executable, "-c", code, "fleet", "query", lake, sql, "--max-seconds", "0.5"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said = "opscope: the query takes more than 0.5 s (--max-seconds)\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
