"""Temporary folders of builds, into which workers without a scheduler may still write."""

import contextlib
import os
from pathlib import Path

from viewer.fleet.lake import Lake


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
