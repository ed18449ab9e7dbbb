"""A name shows a whole file or what it showed before."""

import os
import stat

import pytest

from viewer.codecs.atomic_file import replacing


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


@pytest.mark.skipif(os.name == "nt", reason="file modes and links of POSIX")
class TestOnPosix:
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
