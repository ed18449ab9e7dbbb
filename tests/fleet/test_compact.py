"""Compaction: fewer files, the same rows, wherever it is killed."""

import os
import shutil

import duckdb
import pytest

from tests.builders.fleet_dumps import RECORDED, Template
from tests.builders.lakes import built, check_whole, files_on_disk, outdated, rows
from viewer.fleet.build import compact
from viewer.fleet.lake import Lake, LakeSession
from viewer.fleet.manifest import FileWriter
from viewer.fleet.manifest_lines import DONE, KEPT

pytestmark = pytest.mark.slow


def compacted(lake):
    found = []
    compact(Lake(str(lake)), lambda table, count: found.append((table, count)))
    return found


@pytest.fixture(scope="module")
def batched(fleet, tmp_path_factory):
    """A lake of many small files, to copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("viewer.fleet.build.MOST_UNITS", 2)
        lake = tmp_path_factory.mktemp("batched") / "lake"
        built(lake, fleet)
    return lake


@pytest.fixture
def lake(batched, tmp_path):
    return shutil.copytree(batched, tmp_path / "lake")


def test_many_files_become_one_per_table(lake, fleet, expected):
    assert len(files_on_disk(lake)) == 4 * 12
    assert {count for _, count in compacted(lake)} == {12}
    assert len(files_on_disk(lake)) == 4
    assert rows(lake) == expected
    check_whole(lake, 24)
    assert built(lake, fleet).states == {KEPT: 24}
    assert compacted(lake) == []


def test_a_reader_that_lists_files_before_a_compaction_reads_again(lake, expected):
    opened = Lake(str(lake))
    opened.read()
    compacted(lake)
    assert rows(lake) == expected


def test_rows_of_changed_profiles_go_and_can_come_back(fleet, tmp_path):
    folder, lake = tmp_path / "copied", tmp_path / "lake"
    shutil.copytree(fleet / "build0" / "device0", folder / "build0" / "device0")
    built(lake, folder)
    before = rows(lake)
    (changed,) = (folder / "build0" / "device0" / "model0").glob("*.etdp")
    data = changed.read_bytes()
    changed.write_bytes(Template.of(RECORDED[0][0]).variant(3.0, 9))
    built(lake, folder)
    compacted(lake)
    assert outdated(lake) == set()
    files = [str(lake / path) for path in files_on_disk(lake) if "table=files" in path]
    assert duckdb.sql(f"SELECT count(*) FROM read_parquet({files})").fetchall() == [(4,)]
    changed.write_bytes(data)
    assert built(lake, folder).states == {KEPT: 3, DONE: 1}
    assert rows(lake) == before


def test_a_compaction_in_the_middle_of_a_build(fleet, expected, tmp_path, small_batches):
    made = tmp_path / "made"

    def told(progress, outcome):
        if outcome is not None and progress.ended in (8, 16):
            assert compacted(made)

    assert built(made, fleet, told=told).states == {DONE: 24}
    assert rows(made) == expected
    check_whole(made, 24)
    assert built(made, fleet).states == {KEPT: 24}


class Killed(BaseException):
    """As SIGKILL: nothing that follows happens."""


@pytest.mark.parametrize("point", range(1, 8))
def test_a_killed_compaction_loses_and_doubles_nothing(lake, expected, monkeypatch, point):
    """For each table: a line of the manifest, the removal of each old file, a renaming."""
    left = [point * 7]

    def counted(change):
        def changed(*given, **more):
            left[0] -= 1
            if not left[0]:
                raise Killed
            return change(*given, **more)

        return changed

    with monkeypatch.context() as patched:
        patched.setattr(FileWriter, "append", counted(FileWriter.append))
        patched.setattr("viewer.fleet.lake.os.replace", counted(os.replace))
        patched.setattr("viewer.fleet.lake.os.unlink", counted(os.unlink))
        patched.setattr(LakeSession, "close", lambda self: self._owner.release())
        with pytest.raises(Killed):
            compacted(lake)
    assert rows(lake) == expected, "readers, before anything is finished"
    for table in ("files", "operators"):
        on_disk = [str(lake / p) for p in files_on_disk(lake) if f"table={table}/" in p]
        if on_disk:
            (counts,) = duckdb.sql(f"SELECT count(*) FROM read_parquet({on_disk})").fetchall()
            assert counts[0] <= len(expected[table]), "no reader of the folder counts a row twice"
    compacted(lake)
    assert rows(lake) == expected
    check_whole(lake, 24)
