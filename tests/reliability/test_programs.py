"""Which ends of a process are findings."""

import os

import pytest

from tests.reliability.programs import Ended, environment, parts_in, run

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("ended", "fault"),
    [
        (Ended(0, "an answer", ""), ""),
        (Ended(1, "", "opscope: a.csv: there is no such file\n"), ""),
        (Ended(1, "", "Fontconfig warning\nopscope: one line\n"), ""),
        (Ended(1, "", ""), "exit code 1 with 0 lines of error"),
        (Ended(1, "", "opscope: one\nopscope: two\n"), "exit code 1 with 2 lines of error"),
        (Ended(120, "", ""), "exit code 120"),
        (Ended(-11, "", ""), "ended by signal 11"),
        (Ended(None, "", ""), "no end after 60 s"),
        (
            Ended(0, "", "Traceback (most recent call last):\nOSError: x\n"),
            "traceback: ['OSError: x']",
        ),
    ],
)
def test_an_end_is_an_answer_or_one_line(ended, fault):
    assert ended.fault == fault


def test_a_folder_without_permission_is_read_only_for_root_too(tmp_path):
    tmp_path.chmod(0o500)
    ended = run(("/bin/sh", "-c", f"echo > {tmp_path}/file"), os.environ)
    assert ended.code != 0
    tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_hangs_is_killed():
    assert run(("/bin/sh", "-c", "exec sleep 60"), os.environ, seconds=0.1).code is None


def test_an_environment_has_its_folders_and_nothing_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/of/the/user")
    given = environment(tmp_path)
    assert "XDG_CONFIG_HOME" not in given
    assert all(given[name].startswith(str(tmp_path)) for name in ("HOME", "TMPDIR"))


def test_parts_are_found_in_all_folders(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in (".a.part", "inner/.b.part", "whole.part"):
        (tmp_path / name).touch()
    assert parts_in(tmp_path) == [".a.part", "inner/.b.part"]
