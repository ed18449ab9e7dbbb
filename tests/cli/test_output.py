"""What commands print of files with control characters in their names."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import viewer
from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli.output import ProgressLine, visible_output
from viewer.resources import SAMPLES

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


TORQ = DATA / "torq"
COMMANDS = [
    ["info"],
    *(["stats", "--by", by] for by in ("name", "thread")),
    ["calls"],
    ["calls", "--bottom-up"],
    ["delegation"],
    ["findings"],
    ["estimates", str(TORQ / "compile_c1_css_cdma.csv"), str(TORQ / "runtime_r0_nss.csv")],
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """The time of `ProgressLine`, as a list of one number of seconds."""
    seconds = [100.0]
    monkeypatch.setattr("viewer.cli.output.time.monotonic", lambda: seconds[0])
    return seconds


def test_progress_overwrites_a_line_of_a_terminal(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with visible_output():
        line = ProgressLine()
        line.show("1 of 3\x1b")
        line.show("2 of 3")  # too soon
    clock[0] += 0.25
    line.show("3 of 3")
    line.end("3 of 3, done")
    line.end()
    assert sys.stderr.getvalue() == "\r1 of 3\\x1b\r3 of 3\r3 of 3, done\n"


def test_progress_without_a_terminal_is_a_line_every_30_s(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = ProgressLine()
    for second in range(70):
        clock[0] = 100.0 + second
        line.show(f"{second} of 70")
    line.end("70 of 70")
    assert sys.stderr.getvalue() == "opscope: 30 of 70\nopscope: 60 of 70\n"


def test_short_work_without_a_terminal_prints_no_progress(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    line = ProgressLine()
    line.show("1 of 2")
    line.end("2 of 2")
    assert sys.stderr.getvalue() == ""


def test_a_program_without_a_console_shows_no_progress(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", None)
    line = ProgressLine()
    clock[0] += 31
    line.show("1 of 2")
    line.end()


ATTENTION = SAMPLES[0].paths()[0]
# Every command, and what is printed without one.
PRINTS = [
    ["info", ATTENTION],
    ["info", ATTENTION, "--json"],
    ["stats", "--by", "name", ATTENTION],
    ["stats", "--by", "name", ATTENTION, "--json"],
    ["calls", ATTENTION],
    ["calls", ATTENTION, "--folded"],
    ["delegation", ATTENTION],
    ["findings", ATTENTION],
    ["estimates", str(TORQ / "compile_c1_css_cdma.csv"), str(TORQ / "runtime_r0_nss.csv")],
    ["inspect", "--etdump_path", ATTENTION],
    ["inspect", "--etdump_path", ATTENTION, "--compat"],
    ["export", "--help"],
    ["--help"],
    ["--version"],
]
CLOSED = "nothing was printed, because the standard output is closed"
FULL = "the standard output cannot be written (No space left on device)"
POSIX = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")


def in_shell(command, redirected, folder, *, buffered=True):
    """Run a command with its output redirected; returns the exit code and stderr."""
    environment = {**os.environ, "PYTHONPATH": str(Path(viewer.__file__).parent.parent)}
    environment.pop("PYTHONUNBUFFERED", None)
    if not buffered:
        environment["PYTHONUNBUFFERED"] = "1"
    words = shlex.join([sys.executable, "-m", "viewer", *map(str, command)])
    done = subprocess.run(
        ["bash", "-c", f"{words} {redirected}"],
        capture_output=True, text=True, timeout=60, cwd=folder, env=environment,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("command", PRINTS, ids=lambda words: " ".join(map(str, words[:1])))
def test_a_full_output_is_one_line_and_an_exit_code(tmp_path, command):
    assert in_shell(command, "> /dev/full", tmp_path) == (1, f"opscope: {FULL}\n")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("command", [["info", ATTENTION], ["--version"], ["calls", ATTENTION]])
def test_a_closed_output_is_one_line_and_an_exit_code(tmp_path, command):
    assert in_shell(command, ">&-", tmp_path) == (1, f"opscope: {CLOSED}\n")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("command", [["--help"], ["info", ATTENTION]])
def test_an_unbuffered_output_fails_in_the_same_way(tmp_path, command):
    found = in_shell(command, "> /dev/full", tmp_path, buffered=False)
    assert found == (1, f"opscope: {FULL}\n")


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("buffered", [False, True])
def test_a_reader_that_has_ended_is_no_line_on_stderr(tmp_path, buffered):
    command = ["info", ATTENTION]
    # The reader has certainly ended when the command starts.
    redirected = "> >(exec true); exit $?"
    code, err = in_shell(command, redirected, tmp_path, buffered=buffered)
    assert code in (0, 1), "0 if the pipe was not closed yet"
    assert err == ""


@pytest.mark.slow
@POSIX
def test_without_stderr_the_complaints_do_not_get_into_the_output(tmp_path):
    code, _ = in_shell(["info", "gone.csv", ATTENTION], "2>&- > out.txt", tmp_path)
    out = (tmp_path / "out.txt").read_text()
    assert code == 1
    assert "gone.csv" not in out
    assert "attn_xnnpack_x5" in out


@pytest.mark.slow
@POSIX
def test_a_full_stderr_changes_no_exit_code(tmp_path):
    assert in_shell(["info", ATTENTION], "2> /dev/full", tmp_path)[0] == 0
    assert in_shell(["info", "--unknown"], "2> /dev/full", tmp_path)[0] == 2
    assert in_shell(["info", ATTENTION], "> /dev/full 2> /dev/full", tmp_path)[0] == 1


@POSIX
def test_closed_descriptors_are_not_those_of_files(tmp_path):
    """A file that is read as descriptor 1 would be written by the first thing that prints."""
    code = (
        "import os, sys\n"
        "from viewer.cli.output import with_output\n"
        "with_output(lambda: sys.exit(3 + os.open('/dev/null', os.O_RDONLY)))\n"
    )
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join([sys.executable, '-c', code])} <&- >&- 2>&-"],
        timeout=60, cwd=Path(viewer.__file__).parent.parent,
    )  # fmt: skip
    assert done.returncode >= 6


def test_an_error_of_opscope_is_one_line(monkeypatch, capsys):
    def failing(command, arguments):
        raise KeyError("a\x1bb")

    monkeypatch.setattr(sys.modules["viewer.cli.command_line"], "run", failing)
    code, out, err = run(capsys, "info", "x.csv")
    assert (code, out) == (1, "")
    assert err.startswith("opscope: opscope info failed because of an error in Opscope")
    assert err.count("\n") == 1
    assert not CONTROL.search(err)


def test_the_messages_of_the_window_have_no_control_characters(capsys):
    code, out, err = run(capsys, "--theme", "\x1b[2J", "a\x1b.csv")
    assert (code, out) == (2, "")
    assert r"\x1b[2J" in err
    assert not CONTROL.search(err)
