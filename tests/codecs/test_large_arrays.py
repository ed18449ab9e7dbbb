"""Large arrays are in files without a name, or in memory wherever that is not possible."""

import gc
import os
import sys
import time

import numpy as np
import pytest

from viewer.codecs import large_arrays
from viewer.codecs.large_arrays import empty, let_go

COUNT = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems swap")


@pytest.fixture(autouse=True)
def large(monkeypatch, tmp_path):
    """The least size of a large array; its folder is one that is not in memory."""
    monkeypatch.setattr(large_arrays, "LARGE", COUNT)
    monkeypatch.setattr(large_arrays, "folder_of_temporary_files", lambda: str(tmp_path))
    monkeypatch.setattr(large_arrays, "_SECOND_FOLDER", str(tmp_path))
    monkeypatch.setattr(large_arrays, "kind_of_disk", lambda _path: "ext4")
    return tmp_path


def is_in_file(array: np.ndarray) -> bool:
    """Whether an array is in a file, which has no name."""
    address = array.ctypes.data
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= address < end:
                assert "(deleted)" in line or "/" not in line
                return "(deleted)" in line
    raise AssertionError("no memory has this address")


def test_only_a_large_array_is_in_a_file_which_has_no_name(large):
    array = empty(COUNT, np.int64)
    assert is_in_file(array)
    assert (array.shape, array.dtype, array.flags.writeable) == ((COUNT,), np.int64, True)
    assert os.listdir(large) == []
    assert not is_in_file(empty(COUNT - 1, np.int64))


def test_an_array_keeps_its_content_when_its_memory_returns_to_the_system(monkeypatch):
    array = empty(2 * COUNT, np.int64)
    array[:] = np.arange(len(array))
    filled = large_arrays._bytes_of_files()
    let_go()
    assert large_arrays._bytes_of_files() == pytest.approx(filled, rel=0.5)  # they are few
    monkeypatch.setattr(large_arrays, "_MOST_PAGES", 0)
    let_go()
    assert filled - large_arrays._bytes_of_files() > array.nbytes // 2
    assert (array == np.arange(len(array))).all()


def test_the_file_goes_with_its_array():
    free = len(large_arrays._maps)
    array = empty(COUNT, np.uint8)
    part = array[5:9]
    assert len(large_arrays._maps) == free + 1
    del array
    gc.collect()
    assert len(large_arrays._maps) == free + 1  # a part of it is all of it
    del part
    gc.collect()
    assert len(large_arrays._maps) == free


def test_space_of_the_disk_is_reserved_before_anything_is_written(large):
    before = os.statvfs(large)
    array = empty(64 * COUNT, np.int8)
    after = os.statvfs(large)
    assert (before.f_bfree - after.f_bfree) * before.f_frsize > array.nbytes // 2


def test_on_a_full_disk_it_is_in_memory(monkeypatch):
    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert not is_in_file(empty(COUNT, np.int64))


def test_with_little_space_left_it_is_in_memory(monkeypatch, large):
    disk = os.statvfs(large)
    monkeypatch.setattr(large_arrays, "_FREE", disk.f_bavail * disk.f_frsize)
    assert not is_in_file(empty(COUNT, np.int64))
    assert not large_arrays.are_possible(COUNT, COUNT)


@pytest.mark.parametrize("kind", ["tmpfs", "nfs4", "zfs", "fuse.sshfs", ""])
def test_where_a_file_takes_memory_or_may_fail_it_is_in_memory(monkeypatch, kind):
    monkeypatch.setattr(large_arrays, "kind_of_disk", lambda _path: kind)
    assert not is_in_file(empty(COUNT, np.int64))


def test_the_second_folder_takes_what_the_first_one_cannot(monkeypatch, large):
    monkeypatch.setattr(large_arrays, "folder_of_temporary_files", lambda: str(large / "none"))
    assert is_in_file(empty(COUNT, np.int64))


def test_without_files_that_have_no_name_it_is_in_memory(monkeypatch):
    def refuses(*_arguments):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "open", refuses)
    array = empty(COUNT, np.int64)
    monkeypatch.undo()
    assert not is_in_file(array)


def test_it_is_possible_for_large_arrays_only():
    assert large_arrays.are_possible(COUNT, 8 * COUNT)
    assert not large_arrays.are_possible(COUNT - 1, 8 * COUNT)


def test_a_thread_returns_memory_while_there_are_large_arrays(monkeypatch):
    before = large_arrays._bytes_of_files()
    array = empty(2 * COUNT, np.int64)
    array[:] = 7
    assert large_arrays._bytes_of_files() > before + array.nbytes // 2
    (watcher,) = large_arrays._watchers
    monkeypatch.setattr(large_arrays, "_MOST_PAGES", 0)
    until = time.monotonic() + 20
    while large_arrays._bytes_of_files() > before + array.nbytes // 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert (array == 7).all()
    del array
    gc.collect()
    watcher.join(20)
    assert large_arrays._watchers == []
