"""What commands print of files with control characters in their names."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli.output import overwrite_line, visible_output

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NAMES = ["\x1b[31mred", "\x9b2J", "\u202eevil\u2066", "two\nlines", "bell\x07\r", "del\x7f", "a\tb"]

PROFILE = "odd\x1b[2J\u202e.csv"


@pytest.fixture
def profile(tmp_path, monkeypatch) -> str:
    """A plain CSV profile in the working folder; its name and texts have control characters."""
    monkeypatch.chdir(tmp_path)
    with open(PROFILE, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(
            [
                "process",
                "thread",
                "name",
                "start_ns",
                "dur_ns",
                "method",
                "instruction_id",
                "timing",
            ]
        )
        for i, name in enumerate(NAMES):
            writer.writerow([name, name, "Method::execute", 100 * i, 90, name, "", ""])
            writer.writerow([name, name, name, 100 * i, 50, name, i, ""])
            writer.writerow([name, name, name, "never\x1b", 50, name, "x\x1b\n", ""])
    return PROFILE


COMMANDS = [
    ["info"],
    *(["stats", "--by", by] for by in ("name", "thread")),
    ["calls"],
    ["calls", "--bottom-up"],
    ["delegation"],
    ["findings"],
    ["estimates"],
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_control_character_is_printed(profile, capsys, command, options):
    code, out, err = run(capsys, *command, profile, "gone\x1b[2J.csv", *options)
    assert code == 1  # of the file that does not exist
    assert out
    assert "gone\\x1b[2J.csv" in err
    assert not CONTROL.search(out + err)


def test_names_are_visible_and_on_one_line(profile, capsys):
    out = run(capsys, "stats", "--by", "name", profile)[1]
    shown = {line.split("  ")[-1].strip() for line in out.splitlines()}
    assert {r"\x1b[31mred", r"\x9b2J", r"\u202eevil\u2066", r"two\nlines"} <= shown
    out = run(capsys, "info", profile)[1]
    assert r"never\x1b" in out
    assert "\nlines" not in out


def test_names_in_json_are_those_of_the_file(profile, capsys):
    rows = json.loads(run(capsys, "stats", "--by", "name", profile, "--json")[1])["rows"]
    assert set(NAMES) <= {row["label"] for row in rows}


def test_stacks_have_no_line_ends_in_names_and_no_control_characters(profile, capsys, tmp_path):
    out = run(capsys, "calls", profile, "--folded")[1]
    run(capsys, "calls", profile, "--folded", "-o", "run.folded")
    assert Path("run.folded").read_text(encoding="utf-8") == out
    assert not CONTROL.search(out)
    lines = out.splitlines()
    assert "two lines;two lines;Method::execute;two lines 50" in lines
    assert r"a\tb;a\tb;Method::execute;a\tb 50" in lines
    assert all(re.fullmatch(r"[^;]+;[^;]+;[^;]+(;[^;]+)? \d+", line) for line in lines)


def test_messages_of_wrong_usage_have_none(profile, capsys):
    for arguments in (
        ["stats", "--by", "\x1b[2J"],
        ["export", "-o", "a\x1b.x"],
        ["info", "--\x9b"],
    ):
        code, out, err = run(capsys, *arguments, profile)
        assert code == 2
        assert not CONTROL.search(out + err)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_inspect_has_none(tmp_path, monkeypatch, capsys, options):
    dump = (DATA / "etdump" / "demo_str_x4.etdp").read_bytes()
    assert b"Fancy Fusion" in dump
    monkeypatch.chdir(tmp_path)
    Path("odd.etdp").write_bytes(dump.replace(b"Fancy Fusion", b"Fanc\x1b[2J\x7fion"))
    code, out, err = run(capsys, "inspect", "--etdump_path", "odd.etdp", *options)
    assert (code, err) == (0, "")
    assert "2J" in out
    assert not CONTROL.search(out)


def test_output_of_another_tool_is_exact(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with visible_output(exact=True):
        print("a\x1bb")
    assert sys.stdout.getvalue() == "a\x1bb\n"


def test_streams_are_restored(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit), visible_output():
        sys.exit(print("a\x1bb"))
    assert sys.stdout is out
    assert out.getvalue() == "a\\x1bb\n"


def test_a_program_without_a_console_prints_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with visible_output():
        print("nothing")


def test_a_line_is_overwritten(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with visible_output():
        overwrite_line("1 of 2\x1b")
    overwrite_line("2 of 2")
    assert sys.stderr.getvalue() == "\r1 of 2\\x1b\r2 of 2"
