"""The files of a lake as DuckDB reads them: by many threads at once, and never to write."""

import contextlib
import threading

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from viewer.fleet.lake_folder import LakeFolder
from viewer.fleet.read_only_files import ReadOnlyFiles


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "other").write_bytes(b"other")
    return ReadOnlyFiles(LakeFolder(str(tmp_path)), ["a", "gone"])


def test_only_files_of_the_lake_are_opened_and_only_to_read(files, tmp_path):
    assert files.open("opscope://a").read(3) == b"\0\1\2"
    assert files.info("a")["size"] == 25_600
    for name in ("other", "../x", str(tmp_path / "a"), ""):
        with pytest.raises(PermissionError, match="no file of the lake"):
            files.open(name)
    for mode in ("wb", "ab", "r+b", "xb", "w"):
        with pytest.raises(PermissionError, match="only read"):
            files.open("a", mode)
    assert not files.is_gone
    with pytest.raises(FileNotFoundError):
        files.open("gone")
    assert files.is_gone


@pytest.mark.parametrize("change", ["rm", "mv", "copy", "mkdir", "touch", "pipe_file", "rmdir"])
def test_no_method_changes_a_file(files, tmp_path, change):
    with contextlib.suppress(NotImplementedError, OSError, TypeError):
        getattr(files, change)(*["opscope://a"] * (2 if change in ("mv", "copy") else 1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "other"]
    assert (tmp_path / "a").stat().st_size == 25_600


def test_each_thread_has_a_position_of_its_own(files):
    opened = files.open("a")
    opened.seek(10)
    found = []

    def read_elsewhere():
        opened.seek(200)
        found.append((opened.read(1), opened.tell()))

    thread = threading.Thread(target=read_elsewhere)
    thread.start()
    thread.join(timeout=60)
    assert found == [(b"\xc8", 201)]
    assert (opened.tell(), opened.read(2), opened.tell()) == (10, b"\x0a\x0b", 12)
    assert opened.seek(0, 2) == 25_600
    opened.close()


@pytest.mark.slow
def test_many_threads_read_one_file(tmp_path):
    numbers = np.random.default_rng(1).integers(0, 10**9, 400_000)
    table = pa.table({"ns": numbers, "other": numbers[::-1]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=4000)
    files = ReadOnlyFiles(LakeFolder(str(tmp_path)), ["a.parquet"])
    with duckdb.connect() as connection:
        connection.execute("SET threads = 8")
        connection.register_filesystem(files)
        for _ in range(5):
            sums = f"SELECT sum(ns), sum(other) FROM read_parquet('{files.name('a.parquet')}')"
            assert connection.execute(sums).fetchone() == (int(numbers.sum()),) * 2
