"""The standard input as a file to open, and the standard output as the file to write."""

import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from tests.paths import ROOT
from viewer.cli import main
from viewer.resources import SAMPLES

pytestmark = pytest.mark.slow
DUMP = next(sample for sample in SAMPLES if sample.key == "delegate_handle_map").paths()[0]
RUN = [sys.executable, "-m", "viewer"]


def run(*arguments, folder, **more):
    """The end of a command in an empty folder for temporary files; it leaves nothing there."""
    folder.mkdir(exist_ok=True)
    env = os.environ | {"TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*RUN, *arguments], env=env, cwd=folder, capture_output=True, timeout=60, **more
    )
    assert os.listdir(folder) == []
    return done


def test_a_profile_on_the_standard_input_opens(tmp_path):
    with open(DUMP, "rb") as file:
        data = file.read()
    piped = run("stats", "-", "--by", "name", "--json", folder=tmp_path / "a", input=data)
    named = run("stats", DUMP, "--by", "name", "--json", folder=tmp_path / "b")
    assert (piped.returncode, piped.stderr) == (0, named.stderr.replace(DUMP.encode(), b""))
    assert piped.stdout.count(b"self_ns") == named.stdout.count(b"self_ns") > 0


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no names of descriptors")
def test_a_pipe_of_a_shell_opens(tmp_path):
    command = f'{sys.executable} -m viewer info <(cat "{DUMP}") <(cat "{DUMP}")'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"ETDump") == 2


def test_an_empty_input_is_one_line(tmp_path):
    done = run("info", "-", folder=tmp_path / "a", input=b"")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.endswith(b"stdin: the file is empty. Record it again\n")
    assert done.stderr.count(b"\n") == 1


def test_a_terminal_is_no_profile(tmp_path):
    pty = pytest.importorskip("pty")
    primary, secondary = pty.openpty()
    done = run("info", "-", folder=tmp_path / "a", stdin=secondary)
    os.close(primary)
    os.close(secondary)
    assert done.returncode == 2
    assert b"a terminal is no profile" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        (["export", DUMP, "-o", "-"], b"\x0a"),
        (["export", DUMP, "-o", "-", "--to", ".csv"], b"process,"),
        (["export", DUMP, "-o", "-", "--table", "statistics"], b"file,by,"),
        (["report", DUMP, "-o", "-"], b"<!DOCTYPE html>"),
        (["report", DUMP, "-o", "-", "--markdown"], b"## demo_str"),
        (["calls", DUMP, "-o", "-", "--folded"], b"demo_str_x4.etdp;"),
        (["calls", DUMP, "--svg", "-"], b"<?xml"),
    ],
    ids=lambda value: " ".join(value[:1] + value[2:]) if isinstance(value, list) else "",
)
def test_the_standard_output_is_a_file_to_write(
    tmp_path, monkeypatch, capfdbinary, arguments, beginning
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(arguments) == 0
    assert capfdbinary.readouterr().out.startswith(beginning)
    assert os.listdir(tmp_path) == []


def test_a_folder_stands_for_the_files_in_it(tmp_path, capfdbinary):
    """In every command, as where a window asks."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    shutil.copy(DUMP, folder)
    path = folder / os.path.basename(DUMP)
    for arguments in (["export", "-o", "-"], ["info"], ["stats", "--by", "name"], ["findings"],
                      ["calls"]):  # fmt: skip
        answers = []
        for each in (path, folder):
            assert main([*arguments, str(each)]) == 0
            answers.append(capfdbinary.readouterr())
        assert answers[0] == answers[1], arguments
        assert answers[0].out
    (tmp_path / "empty").mkdir()
    assert main(["info", str(tmp_path / "empty")]) == 1
    done = capfdbinary.readouterr()
    assert done.out == b""
    assert b"no profile or ETRecord in this folder" in done.err


def test_a_picture_of_a_folder_is_that_of_the_files_in_it(tmp_path):
    folder = tmp_path / "profiles"
    folder.mkdir()
    shutil.copy(DUMP, folder)
    of_file, of_folder = (
        run("screenshot", "-o", "-", "--size", "640x480", path, folder=tmp_path / "a")
        for path in (folder / os.path.basename(DUMP), folder)
    )
    assert (of_folder.returncode, of_folder.stderr) == (0, of_file.stderr)
    assert of_folder.stdout[:4] == b"\x89PNG"
    assert of_folder.stdout == of_file.stdout


def test_nothing_is_printed_of_what_cannot_be_written(capfdbinary):
    with pytest.raises(SystemExit) as end:
        main(["export", DUMP, "-o", "-", "--to", ".pb", "--table", "untimed"])
    assert (end.value.code, capfdbinary.readouterr().out) == (2, b"")


def test_a_reader_that_ended_is_no_error(tmp_path):
    command = f'{sys.executable} -m viewer export "{DUMP}" -o - | head -c 4 | wc -c'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == (b"4", b"")
