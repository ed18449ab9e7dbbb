"""Wrong inputs of all commands: an exit code, one line that says what is wrong, and no output."""

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli import COMMANDS

DUMP = str(DATA / "etdump" / "demo_portable_x3.etdp")
MISSING = "missing.etdp"
# Of every command that reads files.
READERS = [
    name
    for name in COMMANDS
    if name not in ("completion", "record", "fleet", "mcp", "inspect", "compare")
]
NEEDED = {
    "stats": ["--by", "name"], "export": ["-o", "x.csv"], "report": ["-o", "x.html"],
    "screenshot": ["-o", "x.png"], "query": ["SELECT 1"],
}  # fmt: skip

USAGE = [
    *([name, DUMP, "--bogus", *NEEDED.get(name, ())] for name in READERS),
    *([name, DUMP, "--max-memory", "x", *NEEDED.get(name, ())] for name in READERS),
    ["stats", DUMP],
    ["stats", DUMP, "--by", "nothing"],
    ["stats", DUMP, "--by", "name", "--range", "2ms"],
    ["stats", DUMP, "--by", "name", "--range", "2ms:1ms"],
    ["stats", DUMP, "--by", "name", "--inference", "x"],
    ["stats", DUMP, "--by", "name", "--inference", "99"],
    ["stats", DUMP, "--by", "name", "--unit", "h"],
    ["calls", DUMP, "--depth", "0"],
    ["calls", DUMP, "--min", "101"],
    ["calls", DUMP, "--svg", "x.png"],
    ["calls", DUMP, "--inference", "0"],
    ["findings", DUMP, "--inference", "99"],
    ["export", DUMP, "-o", "x.docx"],
    ["export", DUMP, "-o", "s3://bucket/x.csv"],
    ["export", DUMP],
    ["export", DUMP, "-o", "x.csv", "--table", "nothing"],
    ["export", DUMP, "-o", DUMP],
    ["report", DUMP],
    ["report", DUMP, "-o", "x.pdf"],
    ["compare"],
    ["compare", DUMP],
    ["compare", DUMP, "--with", DUMP, "--fail-if", "quick"],
    ["compare", DUMP, "--with", DUMP, "--by", "nothing"],
    ["compare", DUMP, "--with", DUMP, "--fail-if-unknown"],
    ["screenshot", DUMP, "-o", "x.gif"],
    ["screenshot", DUMP, "-o", "x.png", "--size", "big"],
    ["query"],
    ["query", DUMP],
    ["query", DUMP, "SELECT 1; SELECT 2"],
    ["query", DUMP, "COPY slices TO 'x.csv'"],
    ["query", DUMP, "SELECT 1", "--param", "x"],
    ["query", DUMP, "SELECT 1", "--parquet", "x.csv"],
    ["query", DUMP, "SELECT 1", "--max-seconds", "0"],
    ["query", DUMP, "--file", "missing.sql"],
    ["info", DUMP, "--clock", "fast"],
    ["info", DUMP, "--pair", "a"],
    ["info", DUMP, "--columns", "x"],
    ["fleet"],
    ["fleet", "bild"],
    ["fleet", "build"],
    ["fleet", "build", MISSING, "-o", "lake"],
    ["fleet", "build", ".", "-o", "gs://bucket/lake"],
    ["fleet", "query", ".", "select 1"],
    ["fleet", "status", "nowhere"],
    ["fleet", "compare", "."],
    ["infos", DUMP],
    ["--bogus"],
]  # fmt: skip
NOTHING = [
    *([name, MISSING, *NEEDED.get(name, ())] for name in READERS if name != "screenshot"),
    ["compare", MISSING, "--with", DUMP],
    ["memory", DUMP],
    ["sizes", DUMP],
    ["numbers", DUMP],
    ["estimates", DUMP],
    ["stats", DUMP, "--by", "module"],
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, elsewhere, capsys):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("opscope")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("arguments", NOTHING, ids=" ".join)
def test_nothing_to_answer_is_exit_code_1(arguments, elsewhere, capsys):
    code, out, err = run(capsys, *arguments)
    assert code == 1
    assert len(err.splitlines()) == 1
    assert err.startswith("opscope")
    assert "Traceback" not in err
    assert out == ""
    assert list(elsewhere.iterdir()) == []
