"""Bytes of a file that others write to: those of the state that was opened, or an error."""

import os

import numpy as np
import pytest

from viewer.codecs import file_bytes
from viewer.codecs.file_bytes import FileBytes, LazyBytes
from viewer.codecs.reading import UnreadableFile

CONTENT = bytes(range(256)) * 1024


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(file_bytes, "_SMALL", 0)
    (tmp_path / "a.bin").write_bytes(CONTENT)
    return tmp_path / "a.bin"


def truncated(path):
    os.truncate(path, 1000)


def emptied(path):
    path.write_bytes(b"")


def longer(path):
    with open(path, "ab") as file:
        file.write(b"x")


def written_again(path):
    path.write_bytes(CONTENT[::-1])
    os.utime(path, ns=(1, 1))


def replaced(path):
    path.with_suffix(".new").write_bytes(CONTENT)
    os.replace(path.with_suffix(".new"), path)


def removed(path):
    path.unlink()


def a_folder(path):
    path.unlink()
    path.mkdir()


def test_bytes_are_read_when_they_are_asked_for(path):
    file = FileBytes(str(path))
    assert len(file) == len(CONTENT)
    assert file.read(0, len(CONTENT)).tobytes() == CONTENT
    assert file.read(700, 1003).tobytes() == CONTENT[700:1003]
    assert file.read(5, 5).tobytes() == b""


@pytest.mark.parametrize(
    "change", [truncated, emptied, longer, written_again, replaced, removed, a_folder]
)
def test_a_changed_file_is_an_error_that_says_so(path, change):
    file, lazy = FileBytes(str(path)), LazyBytes(FileBytes(str(path)))
    assert lazy.raw(0, 3) == CONTENT[:3]
    change(path)
    for read in (lambda: file.read(100, 200), lambda: lazy.raw(100_000, 100_010)):
        with pytest.raises(UnreadableFile, match=r"has changed since|cannot be read anymore"):
            read()
    assert lazy.raw(0, 3) == CONTENT[:3]  # loaded before


def test_an_empty_file_and_one_that_is_not_there(tmp_path):
    (tmp_path / "a.bin").touch()
    assert LazyBytes(FileBytes(str(tmp_path / "a.bin"))).raw(0, 10) == b""
    with pytest.raises(OSError):
        FileBytes(str(tmp_path / "gone.bin"))


def test_only_the_blocks_of_loaded_ranges_are_read(path, monkeypatch):
    lazy = LazyBytes(FileBytes(str(path)))
    read = []
    read_into = FileBytes.read_into
    monkeypatch.setattr(
        FileBytes, "read_into", lambda self, *at: (read.append(at[1]), read_into(self, *at))
    )
    part = lazy.part(1000, 200_000).part(500, 190_000)
    assert part.raw(10, 20) == CONTENT[1510:1520]
    part.load(np.array([10, 100_000]), np.array([1, 40_000]))
    assert part.memory[100_000:140_000].tobytes() == CONTENT[101_500:141_500]
    part.load(np.array([11, 120_000]), 4)
    assert read == [0, 101_500 >> 14 << 14]


def test_random_ranges_are_those_of_the_file(path):
    random = np.random.default_rng(2)
    for _ in range(30):
        lazy = LazyBytes(FileBytes(str(path)))
        at = random.integers(0, len(CONTENT), 20)
        width = np.minimum(random.integers(0, 30_000, 20), len(CONTENT) - at)
        lazy.load(at, width)
        for start, size in zip(at.tolist(), width.tolist(), strict=True):
            assert lazy.memory[start : start + size].tobytes() == CONTENT[start : start + size]


def test_a_small_file_is_loaded_whole(path, monkeypatch):
    monkeypatch.setattr(file_bytes, "_SMALL", len(CONTENT))
    lazy = LazyBytes(FileBytes(str(path)))
    emptied(path)
    assert lazy.part(5, 100_000).raw(7, 9000) == CONTENT[12:9005]
