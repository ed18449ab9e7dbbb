"""Temporary folders of builds, into which workers without a scheduler may still write."""

import contextlib
import os
from pathlib import Path

import pytest

from viewer.codecs.file_lock import OwnedLock
from viewer.fleet.lake import Lake, UnusableLake


def write_late(folder):
    """Write a file as a worker does that does not know that its build ended."""
    with contextlib.suppress(FileNotFoundError):
        Path(folder, "late.parquet").write_bytes(b"late")


def test_a_worker_that_still_writes_leaves_nothing(tmp_path, monkeypatch):
    session = Lake.create(str(tmp_path / "lake")).session()
    remove = os.rmdir

    def beside_a_worker(path, **given):
        write_late(session.folder)
        remove(path, **given)

    monkeypatch.setattr(os, "rmdir", beside_a_worker)
    session.close()
    write_late(session.folder)
    assert os.listdir(tmp_path / "lake" / "_tmp") == []


def test_a_folder_that_cannot_be_removed_is_removed_by_the_next_session(tmp_path, monkeypatch):
    lake = Lake.create(str(tmp_path / "lake"))
    session = lake.session()

    def refuse(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        patched.setattr(os, "rmdir", refuse)
        session.close()
    assert sorted(os.listdir(tmp_path / "lake" / "_tmp")) == [session.id, f"{session.id}.lock"]
    lake.session().close()
    assert os.listdir(tmp_path / "lake" / "_tmp") == []


def test_a_session_whose_lock_another_build_took_first_has_another_name(tmp_path, monkeypatch):
    """Another build that clears up takes a file without a lock for that of a dead one."""
    lake, take, taken = Lake.create(str(tmp_path / "lake")), OwnedLock.take, []

    def second(path):
        taken.append(path)
        return take(path) if len(taken) > 1 else None

    monkeypatch.setattr(OwnedLock, "take", second)
    session = lake.session()
    monkeypatch.undo()
    assert taken[0] != taken[1] == f"{session.folder}.lock"
    session.close()
    assert os.listdir(tmp_path / "lake" / "_tmp") == []


@pytest.mark.parametrize("use", [Lake, Lake.create])
def test_a_url_names_no_folder_of_this_machine(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnusableLake, match="s3://farm/lake: a lake is a folder of this machine"):
        use("s3://farm/lake")
    assert list(tmp_path.iterdir()) == []
