"""Equal byte ranges of a file, and how much of it is read."""

import pytest

from viewer.codecs import file_bytes as module
from viewer.codecs.file_bytes import equal_ranges
from viewer.codecs.reading import ReadCancelled


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data"


def write(path, *blobs):
    path.write_bytes(b"".join(blobs))
    at, found = 0, []
    for blob in blobs:
        found.append((at, len(blob)))
        at += len(blob)
    return found


def test_ranges_of_equal_bytes_are_groups(path):
    ranges = write(path, b"abc", b"abd", b"abc", b"xy", b"xy", b"z")
    assert equal_ranges(str(path), ranges).groups == ((0, 2), (3, 4))


def test_long_ranges_that_differ_in_one_byte_between_the_samples_differ(path):
    one = bytes(100_000)
    other = bytearray(one)
    other[20_000] = 1
    assert equal_ranges(str(path), write(path, one, bytes(other), one)).groups == ((0, 2),)


def test_ranges_that_differ_at_their_ends_are_not_read(path, monkeypatch):
    ranges = write(path, *(bytes([i]) * 100_000 for i in range(20)))
    monkeypatch.setattr(
        module._Reader, "digest", lambda self, *range_: pytest.fail("all bytes are read")
    )
    assert equal_ranges(str(path), ranges).groups == ()


def test_no_more_than_twice_the_file_is_read(path):
    size = 50_000
    write(path, bytes(2 * size))
    found = equal_ranges(str(path), [(i, size) for i in range(20)])
    assert found.unread == 16
    assert found.groups == ((0, 1, 2, 3),)


def test_ranges_beyond_the_end_are_not_compared(path):
    write(path, b"ab")
    found = equal_ranges(str(path), [(0, 1), (1, 1), (5, 1), (1 << 50, 1)])
    assert (found.groups, found.unread) == ((), 2)


def test_no_file_is_opened_if_no_sizes_are_equal(path):
    assert equal_ranges(str(path), [(0, 1), (1, 2)]).groups == ()


def test_it_can_be_cancelled(path):
    ranges = write(path, b"a" * 10, b"a" * 10)
    with pytest.raises(ReadCancelled):
        equal_ranges(str(path), ranges, lambda: True)
