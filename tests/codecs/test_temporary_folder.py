"""Temporary folders disappear with their process, and those of killed ones at the next start."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from viewer.codecs import temporary_folder
from viewer.codecs.atomic_file import OwnedLock
from viewer.codecs.temporary_folder import TemporaryFolder, remove_left_folders

KILLED = """
import os, signal
from viewer.codecs.temporary_folder import TemporaryFolder
made = TemporaryFolder()
open(os.path.join(made.path, "trace"), "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run(code, folder):
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=environment, timeout=60).returncode


def test_it_disappears_when_it_is_removed_and_at_the_exit(scratch):
    with TemporaryFolder() as path:
        assert os.path.isdir(path)
    assert run(KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", ""), scratch) == 0
    assert os.listdir(scratch) == []


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_only_the_folders_of_dead_processes_are_removed(scratch):
    assert run(KILLED, scratch) != 0
    (left,) = os.listdir(scratch)
    with TemporaryFolder() as own:
        others = ["opscope-1000", "opscope-folder-abcdefgh", "opscope-folder-of-mine"]
        for name in others:  # of another name, or without a lock
            (scratch / name).mkdir()
        remove_left_folders()
        assert sorted(os.listdir(scratch)) == sorted([*others, os.path.basename(own)])
        assert left not in os.listdir(scratch)


def test_an_old_folder_without_a_lock_is_removed_where_there_are_locks(scratch, monkeypatch):
    old, new = scratch / "opscope-folder-0123abcd", scratch / "opscope-folder-4567cdef"
    for folder in (old, new):
        folder.mkdir()
        (folder / "settings.ini").touch()
    os.utime(old, (1_700_000_000, 1_700_000_000))

    def no_locks(descriptor):
        raise OSError("no locks")

    with monkeypatch.context() as patch:
        patch.setattr("viewer.codecs.atomic_file.try_lock", no_locks)
        remove_left_folders()
        assert old.exists(), "its owner may live"
    os.utime(old, (1_700_000_000, 1_700_000_000))
    remove_left_folders()
    assert not old.exists()
    assert new.exists(), "its owner is about to lock it"


@pytest.mark.parametrize("is_locked", [True, False])
def test_one_that_another_start_removes_before_it_is_locked_is_made_again(
    scratch, monkeypatch, is_locked
):
    take = OwnedLock.take
    removed = []

    def removed_first(path):
        if not removed:
            removed.append(os.path.dirname(path))
            Path(path).touch()
            lock = take(path)
            if is_locked:
                assert take(path) is None
            temporary_folder._remove(removed[0], lock)
            if is_locked:
                return None
        return take(path)

    monkeypatch.setattr(temporary_folder.OwnedLock, "take", removed_first)
    with TemporaryFolder() as path:
        assert removed != [path]
        assert os.listdir(scratch) == [os.path.basename(path)]
        assert take(os.path.join(path, ".lock")) is None


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_is_left_alone(scratch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / ".lock").touch()
    (scratch / "opscope-folder-abcdefgh").symlink_to(elsewhere)
    remove_left_folders()
    assert (elsewhere / ".lock").exists()
