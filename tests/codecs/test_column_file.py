"""Files of columns come back as they were written, or are recognized as damaged."""

import json
import os
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from viewer.codecs import column_file
from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.column_file import ColumnFile, DamagedFile, is_storable, write_columns

FIRST = struct.Struct("<16sQQI")
COLUMNS = [
    np.arange(1000, dtype=np.int64),
    np.array([True, False, True]),
    np.array([], np.uint32),
    np.array([0.5, np.nan, np.inf], np.float64),
    np.arange(40_000, dtype=np.uint32),  # larger than what is checked at once
    np.arange(20, dtype=np.uint16)[::2],
]


@pytest.fixture
def path(tmp_path):
    place = str(tmp_path / "a.columns")
    write_columns(place, {"size": 3}, ["content", {"π": [1, 2**70]}], COLUMNS)
    return place


def all_of(path: str) -> list[bytes]:
    """Open a file and read all of it. Raises DamagedFile."""
    file = ColumnFile(path)
    if damage := file.damage():
        raise DamagedFile(damage)
    head = json.dumps([file.key, file.content]).encode()
    return [head, *(file.column(number).tobytes() for number in range(len(file)))]


def test_what_is_written_comes_back(path):
    file = ColumnFile(path)
    assert (file.key, file.content) == ({"size": 3}, ["content", {"π": [1, 2**70]}])
    assert len(file) == len(COLUMNS)
    assert file.damage() == ""
    assert file.size == os.path.getsize(path)
    for number, column in enumerate(COLUMNS):
        again = file.column(number)
        assert again.dtype == column.dtype
        assert again.tobytes() == column.tobytes()
        assert not again.flags.writeable
        assert again.ctypes.data % 64 == 0
    for number in (-1, len(COLUMNS), True, "0", None):
        with pytest.raises(DamagedFile, match="no column"):
            file.column(number)


def test_columns_stay_when_the_file_is_removed(path):
    column = ColumnFile(path).column(4)
    os.unlink(path)
    assert column[-1] == 39_999


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_file_is_private_and_one_of_others_is_refused(path):
    assert os.stat(path).st_mode & 0o777 == 0o600
    os.chmod(path, 0o640)
    with pytest.raises(DamagedFile, match="others may"):
        ColumnFile(path)
    os.chmod(path, 0o600)
    os.rename(path, f"{path}.real")
    os.symlink(f"{path}.real", path)
    with pytest.raises(OSError):
        ColumnFile(path)


def test_any_changed_byte_is_seen_or_is_of_no_column(path):
    data, truth = Path(path).read_bytes(), all_of(path)
    seen = 0
    for place in [*range(0, 900), *range(900, len(data), 997)]:
        changed = bytearray(data)
        changed[place] ^= 0x10
        with open(path, "wb") as file:
            file.write(changed)
        try:
            assert all_of(path) == truth, place  # between columns
        except DamagedFile:
            seen += 1
    assert seen > 900


def test_a_file_of_another_length_is_refused(path):
    data = Path(path).read_bytes()
    for size in [*range(0, 700, 7), len(data) // 2, len(data) - 64, len(data) - 1]:
        with open(path, "wb") as file:
            file.write(data[:size])
        with pytest.raises(DamagedFile):
            ColumnFile(path)
    with open(path, "wb") as file:
        file.write(data + bytes(64))
    with pytest.raises(DamagedFile, match="size"):
        ColumnFile(path)


def forged(path: str, change) -> None:
    """Change the head of a file, with sizes and CRC that fit again."""
    data = Path(path).read_bytes()
    mark, _, size, _ = FIRST.unpack(data[: FIRST.size])
    begin = -(-(FIRST.size + size) // 64) * 64
    head = json.loads(data[FIRST.size : FIRST.size + size])
    head = change(head)
    raw = head if isinstance(head, bytes) else json.dumps(head).encode()
    after = -(-(FIRST.size + len(raw)) // 64) * 64
    columns = data[begin:]
    with open(path, "wb") as file:
        file.write(FIRST.pack(mark, after + len(columns), len(raw), zlib.crc32(raw)) + raw)
        file.write(bytes(after - FIRST.size - len(raw)) + columns)


def with_row(number: int, place: int, value: object):
    def change(head):
        head["columns"][number][place] = value
        return head

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda head: b"[" * 100_000,
        lambda head: b"\xff",
        lambda head: [],
        lambda head: None,
        lambda head: {**head, "columns": None},
        lambda head: {**head, "columns": [[]]},
        lambda head: {**head, "columns": head["columns"][:-1]},
        lambda head: {**head, "columns": head["columns"] * 2},
        lambda head: {name: head[name] for name in ("columns", "content")},
        *(
            with_row(number, place, value)
            for number in (0, 4)
            for place in range(3)
            for value in (-1, 2**70, 1.5, None, "|O", ">i8", "<i2", "<U4", [], True, 64)
        ),
    ],
)
def test_a_head_that_does_not_fit_is_refused(path, change):
    forged(path, change)
    with pytest.raises(DamagedFile):
        ColumnFile(path)


def test_a_wrong_crc_of_a_small_column_is_seen_at_once_and_of_a_large_one_by_a_check(path):
    forged(path, with_row(0, 3, 1))
    with pytest.raises(DamagedFile, match="column 0"):
        ColumnFile(path).column(0)
    write_columns(path, {}, [], COLUMNS)
    forged(path, with_row(4, 3, 1))
    file = ColumnFile(path)
    assert len(file.column(4)) == 40_000
    with pytest.raises(DamagedFile):
        file.column(4, check=True)
    assert file.damage() == "column 4 has another CRC"


def test_a_canceled_or_failed_write_leaves_the_file_before(path, monkeypatch):
    truth = all_of(path)
    asked = iter([False] * len(COLUMNS) + [True])
    with pytest.raises(WriteCancelled):
        write_columns(path, {}, [], COLUMNS, lambda: next(asked))
    with pytest.raises(WriteCancelled):
        ColumnFile(path).damage(lambda: True)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(column_file.replacing.__wrapped__.__globals__["os"], "fsync", full)
    with pytest.raises(OSError):
        write_columns(path, {}, [], COLUMNS)
    monkeypatch.undo()
    assert all_of(path) == truth
    assert os.listdir(os.path.dirname(path)) == ["a.columns"]


def test_what_can_be_a_column():
    assert all(is_storable(column) for column in COLUMNS)
    for other in (
        np.array(["a"]), np.array([None]), np.zeros((2, 2)), np.array([1j]), np.zeros(2, ">i8"),
        np.zeros(2, "M8[ns]"),
    ):  # fmt: skip
        assert not is_storable(other)
