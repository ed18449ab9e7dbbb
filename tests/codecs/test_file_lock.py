"""A lock is held by one owner at a time, and released by the system when that owner dies."""

import os
import subprocess
import sys

import pytest

from viewer.codecs import atomic_file
from viewer.codecs.atomic_file import OwnedLock, locked

HOLD = """
import sys
from viewer.codecs.atomic_file import OwnedLock
held = OwnedLock.take(sys.argv[1])
print(held is not None, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a.lock")


def test_one_owner_at_a_time(path):
    first = OwnedLock.take(path)
    assert OwnedLock.take(path) is None
    first.release()
    second = OwnedLock.take(path)
    second.remove()
    assert not os.path.exists(path)


def test_two_threads_may_release_one_lock(path, monkeypatch):
    lock, closed, close = OwnedLock.take(path), [], os.close

    def close_while_another_thread_releases(descriptor):
        closed.append(descriptor)
        if len(closed) < 5:
            lock.release()
        close(descriptor)

    monkeypatch.setattr(atomic_file.os, "close", close_while_another_thread_releases)
    lock.release()
    assert len(closed) == 1


def test_a_killed_owner_releases_it(path):
    command = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout.readline() == "True\n"
        assert OwnedLock.take(path) is None
        owner.kill()
        owner.wait(timeout=60)
    assert OwnedLock.take(path) is not None


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted")
def test_a_lock_on_a_deleted_file_does_not_count(path, monkeypatch):
    def lock_after_another_deleted_it(descriptor):
        os.unlink(path)
        return True

    monkeypatch.setattr(atomic_file, "try_lock", lock_after_another_deleted_it)
    assert OwnedLock.take(path) is None


def test_a_block_waits_for_the_lock_and_gives_up(path):
    with locked(path, 0):
        with pytest.raises(TimeoutError, match="another Opscope"), locked(path, 0.01):
            raise AssertionError("two at once")
        entered = False
    with locked(path, 0):
        entered = True
    assert entered


def test_a_block_runs_where_the_file_system_has_no_locks(path, monkeypatch):
    def none(descriptor):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(atomic_file, "try_lock", none)
    entered = False
    with locked(path, 0):
        entered = True
    assert entered
