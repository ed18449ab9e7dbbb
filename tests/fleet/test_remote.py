"""Files at URLs, with a file system whose methods have the order of arguments of s3fs."""

import io
import os
from datetime import UTC, datetime

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from viewer.fleet.remote import list_url, local_copy, read_head
from viewer.fleet.sources import NoSource, find_profiles

RECORD = b"PK\x03\x04" + bytes(6000)


class NoCredentials(Exception):
    """What clients of clouds raise is no OSError."""


class Bucket(MemoryFileSystem):
    """A bucket: the second argument of `cat_file` is a version, that of `find` a depth."""

    protocol = "bucket"
    refuses = False

    def cat_file(self, path, version_id=None, start=None, end=None, **more):
        if self.refuses:
            raise NoCredentials("Unable to locate credentials")
        assert version_id is None
        return RECORD[start:end]

    def find(self, path, maxdepth=None, withdirs=None, detail=False, prefix="", **more):
        if self.refuses:
            raise NoCredentials("Unable to locate credentials")
        assert maxdepth is None
        name = f"{path.rstrip('/')}/a.etrecord"
        return {name: {"size": len(RECORD), "ETag": "1"}}

    def open(self, path, mode="rb", block_size=None, cache_options=None, **more):
        if self.refuses:
            raise NoCredentials("")
        return io.BytesIO(RECORD)


@pytest.fixture
def bucket(monkeypatch):
    fsspec.register_implementation("bucket", Bucket, clobber=True)
    return lambda refuses: monkeypatch.setattr(Bucket, "refuses", refuses)


def test_arguments_are_keywords(bucket):
    ((listed,),) = list_url("bucket://farm")
    url = "bucket://farm/a.etrecord"
    assert listed[:4] == (url, "a.etrecord", 6004, "1")
    assert read_head(url, 4096) == RECORD[:4096]
    with local_copy(url) as path:
        assert os.path.getsize(path) == len(RECORD)


TREES = (
    ("a.csv",), ("b/a.csv", "b/c.csv"), ("a/b/c/1.csv", "a/b/c/2.csv"), ("a/1.csv", "b/1.csv"),
    ("1.csv", "a/1.csv", "a/b/2.csv", "a.csv", "a/b.csv", "c/d/e/f.csv"), ("a/.hidden/x", "b/y"),
)  # fmt: skip


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("root", ["memory://listed", "memory://listed/"])
def test_files_are_listed_some_folders_at_a_time(tree, root):
    system = fsspec.filesystem("memory")
    for path in tree:
        system.pipe_file(f"/listed/{path}", b"xyz")
    try:
        parts = list(list_url(root))
    finally:
        system.rm("/listed", recursive=True)
    every = [file.relative for part in parts for file in part]
    assert sorted(every) == sorted(path for path in tree if "hidden" not in path)
    folders = [{file.url.rpartition("/")[0] for file in part} for part in parts]
    assert len(set().union(*folders)) == sum(map(len, folders)), "a folder is in two parts"
    tops = {path.partition("/")[0] for path in tree if "/" in path}
    assert (len(parts) > 1) == (len(tops) > 1)


@pytest.mark.parametrize(
    ("name", "value", "seconds"),
    [
        ("LastModified", datetime(2026, 11, 29, 1, tzinfo=UTC), 1795914000),
        ("updated", "2026-11-29T01:00:00.000Z", 1795914000),
        ("mtime", 1795914000.5, 1795914000.5),
        ("created", "then", None),
        ("updated", None, None),
    ],
)
def test_file_systems_state_when_a_file_changed_in_ways_of_their_own(
    bucket, monkeypatch, name, value, seconds
):
    facts = {"bucket://farm/a.csv": {"size": 5, name: value}}
    monkeypatch.setattr(Bucket, "find", lambda *_, **__: facts)
    ((listed,),) = list_url("bucket://farm")
    assert listed.modified == seconds


def test_any_error_of_a_client_is_one_sentence_with_the_url(bucket):
    bucket(True)
    with pytest.raises(NoSource, match=r"bucket://farm: .* \(Unable to locate credentials\)"):
        find_profiles(["bucket://farm"])
    with pytest.raises(OSError, match="Unable to locate credentials"):
        read_head("bucket://farm/a.etrecord", 10)
    with pytest.raises(OSError, match="NoCredentials"), local_copy("bucket://farm/a.etrecord"):
        pass
