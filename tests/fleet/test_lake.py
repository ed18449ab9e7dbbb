"""Temporary folders of builds, into which workers without a scheduler may still write."""

import contextlib
import os
from pathlib import Path

import pytest

from viewer.codecs.atomic_file import OwnedLock
from viewer.fleet.lake import Lake, UnusableLake, session_of


def write_late(folder):
    """Write a file as a worker does that does not know that its build ended."""
    with contextlib.suppress(FileNotFoundError):
        Path(folder, "late.parquet").write_bytes(b"late")


def test_a_worker_that_still_writes_leaves_nothing(tmp_path, monkeypatch):
    session = session_of(Lake.create(str(tmp_path / "lake")))
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
    session = session_of(lake)

    def refuse(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        patched.setattr(os, "rmdir", refuse)
        session.close()
    assert sorted(os.listdir(tmp_path / "lake" / "_tmp")) == [session.id, f"{session.id}.lock"]
    session_of(lake).close()
    assert os.listdir(tmp_path / "lake" / "_tmp") == []


def test_a_session_whose_lock_another_build_took_first_has_another_name(tmp_path, monkeypatch):
    """Another build that clears up takes a file without a lock for that of a dead one."""
    lake, take, taken = Lake.create(str(tmp_path / "lake")), OwnedLock.take, []

    def second(path):
        taken.append(path)
        return take(path) if len(taken) > 1 else None

    monkeypatch.setattr(OwnedLock, "take", second)
    session = session_of(lake)
    monkeypatch.undo()
    assert taken[0] != taken[1] == f"{session.folder}.lock"
    session.close()
    assert os.listdir(tmp_path / "lake" / "_tmp") == []


@pytest.mark.parametrize("use", [Lake, Lake.create])
@pytest.mark.parametrize("url", ["ftp://farm/lake", "http://farm/lake", "memory://lake", "xy://z"])
def test_a_url_of_another_kind_names_no_folder_of_this_machine(use, url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnusableLake, match=f"{url}: a lake is in a folder of this machine, or in"):
        use(url)
    assert list(tmp_path.iterdir()) == []
