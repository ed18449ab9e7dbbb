"""A name shows a whole file or what it showed before."""

import os
import stat
import subprocess
import sys

import pytest

from viewer.codecs import atomic_file
from viewer.codecs.atomic_file import remove_left_parts, replacing, write_whole

KILLED = """
import os, signal, sys
from viewer.codecs.atomic_file import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_writer(path):
    """Leave what a process leaves that is killed while it writes a file."""
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60).returncode != 0
    (left,) = [name for name in os.listdir(path.parent) if name.endswith(".part")]
    return left


def test_the_name_appears_with_the_last_byte(tmp_path):
    path = tmp_path / "a.bin"
    with replacing(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" whole")
    assert path.read_bytes() == b"half whole"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_old_file_is_there_until_the_end(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_the_folder_as_it_was(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail():
        with replacing(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.read_bytes() == b"old"


def test_a_missing_folder_and_a_folder_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "none" / "a.bin"):
        pass
    with (
        pytest.raises(OSError),
        replacing(tmp_path),
    ):  # IsADirectoryError, PermissionError on Windows
        pass
    assert os.listdir(tmp_path) == []


def test_file_and_folder_are_on_the_disk_before_it_ends(tmp_path, monkeypatch):
    done = []

    def sync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("folder" if is_folder else os.fstat(descriptor).st_size)

    replace = os.replace
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("rename"), replace(*paths)))
    write_whole(tmp_path / "a.bin", b"four")
    assert done == [4, "rename", "folder"] if os.name != "nt" else [4, "rename"]


def test_a_disk_that_fails_at_the_sync_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_file_system_that_cannot_sync_is_written(tmp_path, monkeypatch):
    def unable(descriptor):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unable)
    write_whole(tmp_path / "a.bin", b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"


@pytest.mark.skipif(os.name == "nt", reason="file modes and links of POSIX")
class TestOnPosix:
    def test_what_a_killed_writer_left_is_removed_by_the_next_one(self, tmp_path):
        path = tmp_path / "a.bin"
        kill_a_writer(path)
        write_whole(path, b"whole")
        assert os.listdir(tmp_path) == ["a.bin"]

    def test_files_of_living_writers_and_of_others_stay(self, tmp_path):
        left = kill_a_writer(tmp_path / "a.bin")
        others = [".opscope-notes.part", "opscope-0123456789abcdef.part", ".x.part", "film.part"]
        for name in others:
            (tmp_path / name).touch()
        target = tmp_path / "target"
        target.touch()
        link = f".opscope-{'0' * 16}.part"
        (tmp_path / link).symlink_to(target)
        with replacing(tmp_path / "b.bin") as file:
            file.write(b"half")
            remove_left_parts(str(tmp_path))
            file.write(b" whole")
        assert (tmp_path / "b.bin").read_bytes() == b"half whole"
        remove_left_parts(str(tmp_path))
        assert set(os.listdir(tmp_path)) == {*others, link, "target", "b.bin"}
        assert left not in os.listdir(tmp_path)

    def test_a_new_file_that_another_process_removes_is_made_again(self, tmp_path, monkeypatch):
        """Between its creation and its lock, a new file looks like one that was left."""
        lock, removed = atomic_file.try_lock, []

        def remove_first(descriptor):
            if not removed:
                (name,) = os.listdir(tmp_path)
                removed.append(name)
                os.unlink(tmp_path / name)
            return lock(descriptor)

        monkeypatch.setattr(atomic_file, "try_lock", remove_first)
        write_whole(tmp_path / "a.bin", b"whole")
        assert removed
        assert (tmp_path / "a.bin").read_bytes() == b"whole"

    def test_mode_of_a_new_file_follows_the_umask(self, tmp_path):
        old = os.umask(0o027)
        try:
            with replacing(tmp_path / "a.bin"):
                pass
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == 0o640

    def test_mode_of_an_old_file_is_kept(self, tmp_path):
        path = tmp_path / "a.bin"
        path.touch()
        path.chmod(0o604)
        with replacing(path):
            pass
        assert stat.S_IMODE(path.stat().st_mode) == 0o604

    def test_a_link_stays_a_link(self, tmp_path):
        real, link = tmp_path / "real", tmp_path / "link"
        real.write_bytes(b"old")
        link.symlink_to("real")
        with replacing(link) as file:
            file.write(b"new")
        assert link.is_symlink()
        assert real.read_bytes() == b"new"

    def test_a_device_is_written_not_replaced(self):
        before = os.stat("/dev/null")
        with replacing("/dev/null") as file:
            file.write(b"gone")
        after = os.stat("/dev/null")
        assert stat.S_ISCHR(after.st_mode)
        assert after.st_ino == before.st_ino

    def test_the_longest_name_has_room(self, tmp_path):
        path = tmp_path / ("n" * 255)
        with replacing(path) as file:
            file.write(b"x")
        assert path.read_bytes() == b"x"

    @pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may write anything")
    def test_a_protected_file_and_folder_are_refused(self, tmp_path):
        path = tmp_path / "a.bin"
        path.write_bytes(b"old")
        path.chmod(0o444)
        with pytest.raises(PermissionError), replacing(path):
            pass
        tmp_path.chmod(0o555)
        try:
            with pytest.raises(PermissionError), replacing(tmp_path / "b.bin"):
                pass
        finally:
            tmp_path.chmod(0o755)
        assert path.read_bytes() == b"old"
