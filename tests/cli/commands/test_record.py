"""`opscope record`: options, what it prints, exit codes, Ctrl+C, and kills."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.builders.fake_devices import DUMP, fake_device
from tests.paths import DATA, ROOT
from viewer.formats.folders import look_through

PTE = str(DATA / "pte/et_keys.pte")
COPY = f'run:sh -c \'cp "{DUMP}" "$1"\' x {{etdump}} {{pte}}'
pytestmark = pytest.mark.slow


@pytest.fixture
def two(tmp_path):
    """Two programs of different contents."""
    other = tmp_path / "other.pte"
    other.write_bytes(Path(PTE).read_bytes() + b"x")
    return PTE, str(other)


def test_two_programs_become_a_comparison(two, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ("--on", COPY, "--sessions", "2", "--inferences", "30")
    code, out, err = run(capsys, "record", two[0], "--with", two[1], *options)
    assert code == 0
    assert f"2 + 2 sessions: {tmp_path}/et_keys-recording" in out
    assert "Session 4 is whole (4 of 4" in err
    assert "needs at least 3 sessions" in err
    assert "are the same recording" in err or "A: 2 sessions" in out  # the dump is a copy


def test_one_program_opens_as_it_is(tmp_path, capsys):
    folder = str(tmp_path / "r")
    assert run(capsys, "record", PTE, "--on", COPY, "--sessions", "1", "-o", folder)[0] == 0
    code, out, _ = run(capsys, "info", f"{folder}/a/001.etdp", f"{folder}/a/et_keys.pte")
    assert code == 0
    assert "001.etdp" in out


def test_a_fleet_reads_the_folder_as_it_is(two, tmp_path, capsys):
    folder, lake = str(tmp_path / "r"), str(tmp_path / "lake")
    options = ("--on", COPY, "--sessions", "1", "-o", folder)
    assert run(capsys, "record", two[0], "--with", two[1], *options)[0] == 0
    code, out, err = run(capsys, "fleet", "build", folder, "-o", lake, "--jobs", "1")
    assert code == 0
    assert "2 of 2 profiles added" in out + err
    meant = [file.name for file in look_through(folder).files if file.is_meant]
    assert meant == ["a/001.etdp", "a/et_keys.etrecord", "a/et_keys.pte", "b/002.etdp",
                     "b/other.pte"]  # fmt: skip


def test_a_dry_run_needs_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    for on in ("adb", "ssh:me@board", "local", COPY):
        options = ("--dry-run", "--sessions", "1", "--on", on)
        code, out, _ = run(capsys, "record", PTE, *options)
        assert code == 0
        commands = [shlex.split(line) for line in out.splitlines()]
        assert all(commands)
    assert os.listdir() == []


def test_a_check_names_the_cure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, _ = run(capsys, "record", "--check", "--on", "adb")
    assert code == 5
    assert "missing there is no program adb" in out
    assert "apt install adb" in out
    code, out, _ = run(capsys, "record", "--check", "--on", f"run:{sys.executable} {{etdump}}")
    assert (code, out[:3]) == (0, "ok ")


def test_a_check_of_a_device(tmp_path, monkeypatch, capsys):
    device = fake_device(tmp_path / "device", monkeypatch)
    options = ("--on", "adb", "--runner", str(device.runner()))
    code, out, _ = run(capsys, "record", PTE, "--check", *options)
    assert code == 0
    assert [line[:7].strip() for line in out.splitlines()] == ["ok"] * 4
    assert run(capsys, "record", PTE, "--check", *options, "--method", "backward")[0] == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "local"], "name a program"),
        ([PTE, "--on", "phone"], "is no target"),
        ([PTE, "--on", "local", "--sessions", "0"], "no number from 1"),
        ([PTE, "--on", "local", "--inferences", "x"], "no number from 1"),
        ([PTE, "--on", "local", "--cool", "soon"], "write 20s"),
        ([PTE, "--on", "local", "--cool-to", "hot"], "write 35C"),
        ([PTE, "--on", "local", "--env", "A"], "write NAME=VALUE"),
        ([PTE, "--on", "local", "--inputs", "random:x"], "random:1"),
        ([PTE, "--on", "local", "--inputs", "no.bin"], "no.bin: No such file"),
        ([PTE, "--on", "local", "--push", PTE], "--push is of adb and ssh"),
        ([PTE, "--on", "adb", "--inputs", "random:1"], "needs --on local"),
        (["none.pte", "--on", "local"], "none.pte: No such file"),
        ([PTE], "--on"),
    ],
)
def test_wrong_usage_is_one_line(arguments, words, capsys):
    code, _, err = run(capsys, "record", *arguments)
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_folder_with_other_files_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("x")
    code, _, err = run(capsys, "record", PTE, "--on", COPY, "-o", str(tmp_path))
    assert code == 5
    assert "it has other files" in err
    assert os.listdir(tmp_path) == ["mine.txt"] or sorted(os.listdir(tmp_path)) == ["mine.txt"]


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    code, _, err = run(capsys, "record", PTE, "--on", COPY, "-o", str(tmp_path / "file/r"))
    assert code == 5
    assert "it cannot be written" in err


def started(folder, on, *options):
    command = [sys.executable, "-m", "viewer", "record", PTE, "--on", on, "-o", str(folder)]
    return subprocess.Popen([*command, *options], cwd=ROOT, stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)  # fmt: skip


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def more_than(least, folder):
    return len(list(folder.glob("a/*.etdp"))) > least


def is_running(pid):
    asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, timeout=60)
    return asked.stdout.strip()[:1] not in (b"", b"Z")


def test_an_interrupt_keeps_whole_sessions(tmp_path):
    """The third session hangs; Ctrl+C ends it, and the two before it stay."""
    alive = tmp_path / "alive"
    on = (
        f'run:sh -c \'case $1 in *003*) echo $$ >"{alive}"; exec sleep 100;; esac; '
        f'cp "{DUMP}" "$1"\' x {{etdump}}'
    )
    process = started(tmp_path / "r", on, "--sessions", "4")
    until(lambda: alive.exists() and alive.read_text().strip())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "stopping; whole sessions stay" in err
    assert "2 sessions; 2 sessions missing" in out
    assert "--resume" in err
    assert sorted(os.listdir(tmp_path / "r/a")) == [
        "001.etdp", "001.run.json", "002.etdp", "002.run.json", "et_keys.etrecord", "et_keys.pte",
    ]  # fmt: skip
    assert not is_running(alive.read_text().strip())


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_kill_at_any_moment_loses_no_whole_session(tmp_path, monkeypatch, capsys, count):
    device = fake_device(tmp_path / "device", monkeypatch)
    random.seed(count)
    options = ("--sessions", "1000", "--runner", str(device.runner()))
    folder, whole = tmp_path / "r", set()
    for number in range(count):
        more = ("--resume",) if number else ()
        process = started(folder, "adb", *options, *more)
        if number % 10 == 0:
            until(partial(more_than, len(whole), folder))
        time.sleep(random.random())
        process.kill()
        process.communicate(timeout=60)
        found = {path.name for path in folder.glob("a/*.etdp")}
        assert whole <= found
        whole = found
        for path in folder.glob("a/*.etdp"):
            assert path.read_bytes() == DUMP.read_bytes()
            assert json.loads(path.with_suffix(".run.json").read_text())["exit"] == 0
    wanted = str(len(whole) + 2)
    code, out, _ = run(capsys, "record", PTE, "--on", "adb", "-o", str(folder), "--resume",
                       "--sessions", wanted, *options[2:])  # fmt: skip
    assert code == 0
    assert f"{wanted} sessions" in out
    hidden = {path.name for path in folder.rglob(".*")}
    assert {name for name in hidden if not name.startswith(".opscope-")} == {".recording.json"}
