"""Calls that change the disk are found in any form, and each module has a reason for its paths."""

from pathlib import Path

import pytest

from tests.reliability.campaign import Options
from tests.reliability.security.disk_changes import check, disk_changes


@pytest.mark.parametrize(
    "source",
    [
        "os.replace(a, b)",
        "os.rename(a, b, src_dir_fd=f)",
        "os.unlink(line['path'])",
        "shutil.rmtree(folder, ignore_errors=True)",
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('x')",
        "os.open(path, os.O_RDWR)",
        "os.open(path, flags | os.O_CREAT, 0o600)",
        "Path(a).unlink()",
        "path.replace(other)",
        "path.write_bytes(data)",
        "os.makedirs(folder, exist_ok=True)",
        "write_whole(path, data)",
        "parquet.ParquetWriter(path, schema)",
        "with replacing(path) as file: pass",
    ],
)
def test_a_change_is_found(source):
    assert list(disk_changes(f"def f():\n    {source}\n")) != []


@pytest.mark.parametrize(
    "source",
    [
        "open(path, 'rb')",
        "open(path)",
        "os.open(path, os.O_RDONLY)",
        "text.replace('a', 'b')",
        "dataclasses.replace(one, a=1)",
        "frame.rename(columns=names)",
        "os.stat(path)",
    ],
)
def test_what_only_reads_is_not(source):
    assert list(disk_changes(source)) == []


@pytest.mark.slow
def test_every_module_that_changes_the_disk_has_a_reason():
    assert check(Options(False, 0, Path())).findings == ()
