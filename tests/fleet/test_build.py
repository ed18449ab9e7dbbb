"""A build: what it writes, what it keeps, and what is left when it is killed at any point."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.builders.fleet_dumps import RECORDED, Template
from tests.builders.lakes import (
    HELD,
    POISON,
    SMALL_BATCHES,
    built,
    check_whole,
    command,
    environment,
    files_on_disk,
    outdated,
    rows,
    sources_of,
    work_with_poison,
)
from tests.paths import DATA
from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import FileTooLarge, UnreadableFile
from viewer.fleet.build import compact
from viewer.fleet.engine import LocalProcesses
from viewer.fleet.lake import Lake, LakeSession, UnusableLake
from viewer.fleet.manifest import FileWriter
from viewer.fleet.manifest_lines import DONE, FAILED, KEPT, REFUSED
from viewer.fleet.query import connect
from viewer.fleet.schemas import TABLES
from viewer.fleet.sources import NoSource
from viewer.formats import open_file
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.slow


def test_a_fleet_becomes_tables(expected):
    files = expected["files"]
    assert len(files) == 24
    assert {row[1:4] for row in files} >= {("device0", "build0", "model0")}
    names = [column.name for column in TABLES["files"].columns]
    both = names.index("linked"), names.index("linkable")
    linked = {row[3]: tuple(row[i] for i in both) for row in files}
    assert all(linked > 0 for linked, _ in linked.values())
    assert len(expected["operators"]) > 100
    assert len(expected["inferences"]) > len(files)


def test_processes_write_the_same_rows_as_one(fleet, expected, tmp_path, small_batches):
    progress = built(tmp_path / "lake", fleet, engine=lambda _: LocalProcesses(2))
    assert progress.states == {DONE: 24}
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


def test_a_second_build_keeps_everything_and_writes_no_rows(copied, tmp_path):
    lake = tmp_path / "lake"
    built(lake, copied)
    before = {p: p.stat().st_mtime_ns for p in lake.glob("table=*/**/*.parquet")}
    assert built(lake, copied).states == {KEPT: 4}
    assert {p: p.stat().st_mtime_ns for p in lake.glob("table=*/**/*.parquet")} == before


def test_profiles_are_read_before_the_last_ones_are_listed(
    fleet, expected, tmp_path, monkeypatch, small_batches
):
    monkeypatch.setattr("viewer.fleet.build.MOST_LISTED", 5)
    totals = []
    progress = built(
        tmp_path / "lake",
        fleet,
        engine=lambda _: LocalProcesses(2),
        told=lambda progress, outcome: totals.append(progress.total),
    )
    assert progress.states == {DONE: 24}
    assert 5 <= totals[0] < 10
    assert totals[-1] == 24
    assert rows(tmp_path / "lake") == expected
    check_whole(tmp_path / "lake", 24)


def test_more_tables_are_added_to_a_lake(copied, tmp_path):
    lake = tmp_path / "lake"
    built(lake, copied, tables=("operators",))
    assert built(lake, copied).states == {DONE: 4}
    built(tmp_path / "whole", copied)
    assert rows(lake) == rows(tmp_path / "whole")
    check_whole(lake, 4)


def test_each_profile_finds_its_record_among_many(tmp_path):
    records, runs = tmp_path / "records", tmp_path / "runs"
    records.mkdir()
    runs.mkdir()
    for path in (DATA / "etrecord").glob("*.etrecord"):
        shutil.copy(path, records)
    (records / "torn.etrecord").write_bytes((records / "demo_str.etrecord").read_bytes()[:2000])
    for dump, _ in RECORDED:
        shutil.copy(DATA / "etdump" / f"{dump}.etdp", runs / f"run_{dump}.etdp")
    lake = tmp_path / "lake"
    assert built(lake, runs, records=str(records)).states == {DONE: len(RECORDED)}
    with connect(Lake(str(lake))) as connection:
        linked = connection.execute("SELECT source, record FROM files").fetchall()
        torn = connection.execute("SELECT count(*) FROM problems WHERE file LIKE '%torn.etrecord'")
        assert torn.fetchone() == (len(RECORDED),)
    assert {Path(source).name: record and Path(record).name for source, record in linked} == {
        f"run_{dump}.etdp": what_links(runs / f"run_{dump}.etdp", records) for dump, _ in RECORDED
    }
    assert sum(record is not None for _, record in linked) >= 2  # three models have equal records


def test_a_record_that_memory_was_short_for_is_tried_again(tmp_path, monkeypatch):
    records, runs = tmp_path / "records", tmp_path / "runs"
    records.mkdir()
    runs.mkdir()
    for number, path in enumerate(sorted((DATA / "etrecord").glob("[abdgl]*.etrecord"))):
        shutil.copy(path, records / f"{number}_{path.name}")
    template = Template.of("demo_str_x4")
    for number, name in enumerate(("first", "second")):
        (runs / f"{name}.etdp").write_bytes(template.variant(1, number))
    refused = []

    def open_with_little_memory(path):
        if path.endswith("demo_str.etrecord") and not refused:
            refused.append(path)
            raise FileTooLarge(path, "too large", remedy="Wait", part=Fraction(0))
        return open_file(path)

    monkeypatch.setattr("viewer.fleet.unit.open_file", open_with_little_memory)
    built(tmp_path / "lake", runs, records=str(records))
    with connect(Lake(str(tmp_path / "lake"))) as connection:
        rows = connection.execute("SELECT record FROM files ORDER BY source").fetchall()
    assert [bool(record) for (record,) in rows] == [False, True]


def what_links(dump, records):
    """The name of the record that a profile is linked with where all are open."""
    space = Workspace()
    for path in sorted(records.glob("*.etrecord")):
        with contextlib.suppress(UnreadableFile):
            space.open(str(path))
    trace = space.open(str(dump))
    program = space.links(trace).program
    return program and Path(program.path).name


@pytest.fixture
def copied(fleet, tmp_path):
    """A fleet of four profiles to change."""
    folder = tmp_path / "copied"
    shutil.copytree(fleet / "build0" / "device0", folder / "build0" / "device0")
    return folder


def test_a_touched_file_is_kept_by_its_content(copied, tmp_path):
    lake = tmp_path / "lake"
    built(lake, copied)
    for path in copied.rglob("*.etdp"):
        os.utime(path, (1, 1))
    assert built(lake, copied).states == {KEPT: 4}
    assert built(lake, copied).states == {KEPT: 4}
    check_whole(lake, 4)


def test_a_copy_of_a_profile_has_no_rows_of_its_own(copied, tmp_path, small_batches):
    lake = tmp_path / "lake"
    first = next(copied.rglob("*.etdp"))
    shutil.copy(first, first.with_name("copy.etdp"))
    assert built(lake, copied).states == {DONE: 4, KEPT: 1}
    assert built(lake, copied).states == {KEPT: 5}
    check_whole(lake, 4)


def test_a_changed_profile_replaces_its_old_rows(copied, tmp_path):
    lake = tmp_path / "lake"
    built(lake, copied)
    (changed,) = (copied / "build0" / "device0" / "model0").glob("*.etdp")
    changed.write_bytes(Template.of(RECORDED[0][0]).variant(3.0, 9))
    assert built(lake, copied).states == {KEPT: 3, DONE: 1}
    assert len(rows(lake)["files"]) == 4
    assert len(outdated(lake)) == 1


def test_a_broken_file_is_tried_again_but_not_with_resume(copied, tmp_path):
    lake = tmp_path / "lake"
    shutil.copy(DATA / "etdump" / "BAD_truncated.etdp", copied / "broken.etdp")
    (copied / "empty.etdp").touch()
    failures = []
    progress = built(lake, copied, told=lambda _, outcome: failures.append(outcome))
    assert progress.states == {DONE: 4, FAILED: 2}
    reasons = [one.reason for one in failures if one and one.reason]
    assert any("broken.etdp (byte" in reason for reason in reasons)
    failures.clear()
    built(lake, copied, resume=True, told=lambda _, outcome: failures.append(outcome))
    assert failures == [None]
    again = built(lake, copied)
    assert again.states == {KEPT: 4, FAILED: 2}
    shutil.copy(next(copied.rglob("run*.etdp")), copied / "empty.etdp")
    assert built(lake, copied, resume=True).states == {KEPT: 4, FAILED: 1, DONE: 1}


def test_a_file_that_ends_its_process_is_set_aside_alone(copied, tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.fleet.build.work", work_with_poison)
    first = next(copied.rglob("*.etdp"))
    shutil.copy(first, first.with_name(f"{POISON}.etdp"))
    told = []
    progress = built(
        tmp_path / "lake",
        copied,
        engine=lambda _: LocalProcesses(2),
        told=lambda _, outcome: told.append(outcome),
    )
    assert progress.states == {DONE: 4, REFUSED: 1}
    (refused,) = [one for one in told if one and one.state == REFUSED]
    assert refused.source.endswith(f"{POISON}.etdp")
    assert "it crashed its worker twice" in refused.reason
    check_whole(tmp_path / "lake", 4)


def test_a_profile_that_does_not_fit_the_memory_is_refused_alone(copied, tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.codecs.memory_budget.ALWAYS", 1)
    monkeypatch.setattr(BUDGET, "_limit", 1)
    lines = "".join(f"p,t,name,{i},1\n" for i in range(200_000))
    (copied / "large.csv").write_text("process,thread,name,start_ns,dur_ns\n" + lines)
    told = []
    built(tmp_path / "lake", copied, told=lambda _, outcome: told.append(outcome))
    (refused,) = [one for one in told if one and one.source.endswith("large.csv")]
    assert refused.state == REFUSED
    assert "of memory" in refused.reason
    # The ETRecord did not fit either. When it does, it is read.
    monkeypatch.setattr(BUDGET, "_limit", None)
    built(tmp_path / "later", copied)
    assert rows(tmp_path / "later")["operators"]


def test_a_lost_file_is_written_again(fleet, expected, tmp_path, small_batches):
    lake = tmp_path / "lake"
    built(lake, fleet)
    sorted(lake.glob("table=operators/**/*.parquet"))[3].unlink()
    sorted(lake.glob("table=files/**/*.parquet"))[5].unlink()
    assert built(lake, fleet).states == {KEPT: 20, DONE: 4}
    assert rows(lake) == expected
    assert built(lake, fleet).states == {KEPT: 24}


def test_a_folder_with_other_files_is_not_taken_for_a_lake(fleet, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UnusableLake, match="has other files"):
        built(tmp_path, fleet)


# -- killed at any point ---------------------------------------------------------------------------


class Killed(BaseException):
    """As SIGKILL: nothing that follows happens."""


# A build of two batches with four tables each changes the disk so often: for each batch the
# manifest and the files, and its end.
CHANGES = 2 * (1 + 4) + 1


def _killed_at(monkeypatch, point: int) -> None:
    """Kill a driver at one of its changes of the disk: in the middle of a write, before others."""
    left = [point]

    def is_now() -> bool:
        left[0] -= 1
        return left[0] == 0

    write, rename = FileWriter.append, os.replace

    def torn(self, lines):
        if is_now():
            data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            os.write(self._descriptor, data[: len(data) // 2])
            raise Killed
        write(self, lines)

    def never(*paths, **folders):
        if is_now():
            raise Killed
        rename(*paths, **folders)

    monkeypatch.setattr(FileWriter, "append", torn)
    monkeypatch.setattr("viewer.fleet.lake.os.replace", never)
    monkeypatch.setattr(LakeSession, "close", lambda self: self._owner.release())


@pytest.mark.parametrize("point", range(1, CHANGES + 1))
def test_nothing_is_lost_or_doubled_wherever_the_driver_is_killed(
    copied, tmp_path, monkeypatch, point, small_batches
):
    lake = tmp_path / "lake"
    with monkeypatch.context() as patched:
        _killed_at(patched, point)
        with pytest.raises(Killed):
            built(lake, copied)
    built(lake, copied)
    whole = tmp_path / "whole"
    built(whole, copied)
    assert rows(lake) == rows(whole)
    check_whole(lake, 4)
    assert built(lake, copied).states == {KEPT: 4}


def build_command(fleet, lake, *more, code=SMALL_BATCHES):
    pattern = "{build}/{device}/{model}/{name}.etdp"
    return command(
        *("fleet", "build", fleet, "-o", lake, "--jobs", 1, "--from-path", pattern, *more),
        code=code,
    )


def test_ctrl_c_ends_a_build_that_goes_on_later(fleet, expected, tmp_path):
    lake = tmp_path / "lake"
    stopped = subprocess.Popen(
        build_command(fleet, lake, "--json-progress", code=HELD),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert stopped.stderr is not None
    for line in stopped.stderr:
        if '"done": 0' not in line:
            stopped.send_signal(signal.SIGINT)
            break
    _, err = stopped.communicate(timeout=30)
    assert stopped.returncode == 1
    assert "interrupted; build" in err
    listed = {file.path for file in Lake(str(lake)).read().live_files()}
    assert files_on_disk(lake) == listed
    assert 0 < len(rows(lake)["files"]) < 24
    built(lake, fleet, resume=True)
    assert rows(lake) == expected
    check_whole(lake, 24)


@pytest.mark.nightly
def test_a_killed_process_and_two_builds_at_once(fleet, expected, tmp_path):
    lake = tmp_path / "lake"
    killed = subprocess.Popen(
        build_command(fleet, lake, "--json-progress", code=HELD),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert killed.stderr is not None
    for line in killed.stderr:
        if '"done": 0' not in line and '"done"' in line:
            killed.send_signal(signal.SIGKILL)
            break
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    arguments = build_command(fleet, lake)
    two = [subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment()) for _ in "ab"]
    out = [one.communicate(timeout=60)[0].decode() for one in two]
    assert [one.returncode for one in two] == [0, 0], out
    assert rows(lake) == expected
    check_whole(lake, 24)
    assert sources_of(lake) == sorted(path.name for path in fleet.rglob("*.etdp"))


@pytest.mark.parametrize("column", ["build", "device", "model"])
def test_partitions_have_folders_and_the_same_rows(fleet, expected, tmp_path, column):
    lake = tmp_path / "lake"
    assert built(lake, fleet, partition=column).states == {DONE: 24}
    assert rows(lake) == expected
    check_whole(lake, 24)
    values = {row[1 + ("device", "build", "model").index(column)] for row in expected["files"]}
    for table in ("files", "operators"):
        paths = [path for path in files_on_disk(lake) if path.startswith(f"table={table}/")]
        assert {path.split("/")[2] for path in paths} == {f"{column}={value}" for value in values}
        for path in paths:
            only = parquet.read_table(lake / path).column(column).to_pylist()
            assert {f"{column}={value}" for value in only} == {path.split("/")[2]}
    assert built(lake, fleet, partition=column).states == {KEPT: 24}
    built(lake, fleet, partition=column, tables=("slices",))
    before = len(files_on_disk(lake))
    assert compact(Lake(str(lake)), lambda *_: None) == before - 5 * len(values)
    assert len(files_on_disk(lake)) == 5 * len(values)
    check_whole(lake, 24)


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("7", "build=7"), (None, "build=__HIVE_DEFAULT_PARTITION__"), ("..", "build=.."),
        ("a/../b", "build=a%2F..%2Fb"), ("~25~", "build=~25~"), ("%25", "build=%2525"),
        ("ä b\\\n", "build=%C3%A4%20b%5C%0A"), ("a" * 201, None),
        ("/" * 256, None),
    ],
)  # fmt: skip
def test_a_partition_of_any_value_is_a_folder_of_one_lake(tmp_path, value, folder):
    profiles_in(tmp_path / "in", "a.etdp")
    labels = {} if value is None else {"a.etdp": {"build": value}}
    lake = tmp_path / "lake"
    progress = built(lake, tmp_path / "in", pattern=None, labels=labels, partition="build")
    assert progress.states == {DONE: 1}
    check_whole(lake, 1)
    (path,) = [path for path in files_on_disk(lake) if path.startswith("table=files/")]
    assert path.count("/") == 3
    assert folder in (None, path.split("/")[2])
    assert labeled(lake) == [(None, value)]


@pytest.mark.parametrize(
    ("run", "date"),
    [
        (None, "2025-02-27"),
        ({"started": "2024-02-29T23:30:00-02:00"}, "2024-03-01"),
        ({"started": "then"}, "2025-02-27"),
        ({"started": "2024-02-29T23:30:00-02:00", "schema": "another"}, "2025-02-27"),
    ],
)
def test_a_profile_has_the_date_of_its_recording_or_of_its_file(tmp_path, run, date):
    profiles_in(tmp_path / "in", "a.etdp")
    os.utime(tmp_path / "in" / "a.etdp", (0, 1740700799))
    if run is not None:
        facts = {"schema": "opscope-run/1", **run}
        (tmp_path / "in" / "a.run.json").write_text(json.dumps(facts))
    built(lake := tmp_path / "lake", tmp_path / "in", pattern=None)
    with connect(Lake(str(lake))) as connection:
        assert connection.execute("SELECT date FROM files").fetchall() == [(date,)]


def profiles_in(folder, *names):
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / "etdump" / "demo_portable_x3.etdp", place)
    return folder


def labeled(lake):
    with connect(Lake(str(lake))) as connection:
        return connection.execute("SELECT device, build FROM files ORDER BY ALL").fetchall()


@pytest.mark.parametrize("source", ["", "phone", "phone/7"])
def test_a_pattern_is_for_the_end_of_the_full_path(source, tmp_path):
    profiles_in(tmp_path / "in", "phone/7/a.etdp")
    lake = tmp_path / "lake"
    progress = built(lake, tmp_path / "in" / source, pattern="{device}/{build}/{name}.etdp")
    assert labeled(lake) == [("phone", "7")]
    assert progress.unlabeled == ()


def test_profiles_that_a_pattern_does_not_match_are_named(tmp_path):
    profiles_in(tmp_path / "in", "d-phone/7/a.etdp", "other/b.etdp")
    lake = tmp_path / "lake"
    progress = built(lake, tmp_path / "in", pattern="d-{device}/{build}/{name}.etdp")
    assert labeled(lake) == [("phone", "7"), (None, None)]
    assert progress.unlabeled == (str(tmp_path / "in/other/b.etdp"),)


def test_a_pattern_that_matches_nothing_writes_nothing(tmp_path):
    profiles_in(tmp_path / "in", "a.etdp")
    with pytest.raises(NoSource, match=r"matches no profile, such as .*a\.etdp"):
        built(tmp_path / "lake", tmp_path / "in", pattern="d-{device}/{name}.etdp")
    assert not (tmp_path / "lake").exists()


def test_a_source_that_cannot_be_listed_leaves_no_lake(tmp_path):
    with pytest.raises(NoSource, match="cannot be listed"):
        built(tmp_path / "lake", "nowhere://bucket")
    assert not (tmp_path / "lake").exists()
