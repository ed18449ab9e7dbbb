"""Profiles that open from kept columns are equal to those that are read, or they are read again."""

import dataclasses
import gc
import os
import shutil
import signal
import subprocess
import sys
import weakref
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import viewer.formats
from tests.builders.equal_traces import differences
from tests.builders.workspaces import export
from tests.paths import DATA, ROOT, SAMPLES
from tests.reliability.fuzz.kinds import KINDS
from tests.reliability.fuzz.values import Dice
from viewer.codecs.column_file import ColumnFile, DamagedFile, Packer, write_columns
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, column_cache, head_of, open_file
from viewer.formats.column_cache import CACHE, trace_in
from viewer.model.trace import Trace
from viewer.model.trace_checks import require_fitting_values
from viewer.workspace.exports import NothingToExport, of_whole_columns, prepare
from viewer.workspace.workspace import Workspace

FILES = sorted(
    path
    for folder in (DATA, SAMPLES)
    for path in folder.rglob("*")
    if path.is_file() and path.stat().st_size < 4 << 20
)
CHROME = DATA / "chrome_json" / "kineto_cpu.json"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The cache in a new folder, for files of any size and age."""
    monkeypatch.setattr(column_cache, "LARGE", 0)
    monkeypatch.setattr(column_cache, "_SETTLED_NS", 0)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "cache" / "columns"))
    return CACHE


@pytest.fixture
def path(tmp_path):
    place = str(tmp_path / "a.json")
    shutil.copyfile(CHROME, place)
    return place


def kept(path: str) -> Trace:
    """Read a profile and keep its columns; returns it."""
    trace = open_file(path)
    assert isinstance(trace, Trace)
    assert CACHE.keep(trace.slices)
    return trace


def traces() -> list[tuple[Path, bool]]:
    """All files of the tests that are profiles, and whether the window keeps their kind."""
    profiles = []
    for path in FILES:
        try:
            chosen = choose(head_of(str(path)), str(path))
        except UnreadableFile:
            continue
        if chosen.kind == "trace":
            profiles.append((path, chosen.is_kept))
    return profiles


@pytest.mark.slow
def test_every_profile_of_the_tests_comes_back_equal(tmp_path):
    kinds = set()
    for path, is_kept in traces():
        try:
            trace = open_file(str(path))
        except UnreadableFile:
            continue
        packer = Packer()
        place = str(tmp_path / "a.columns")
        write_columns(place, {}, {"trace": packer.pack(trace, Trace)}, packer.columns)
        again = trace_in(ColumnFile(place))
        require_fitting_values(again)
        assert list(differences(trace, again)) == [], path
        kinds.add((trace.format, is_kept))
    assert {name for name, is_kept in kinds if is_kept} >= {
        "Perfetto trace", "Chrome trace", "Profile CSV", "Plain CSV", "Sampled profile",
        "Torq host profile", "Torq runtime profile", "Inspector table",
    }  # fmt: skip
    assert len(kinds) > 12  # those of other kinds could be kept too


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perfetto", "chrome", "table", "torq_host", "perf_samples"])
def test_any_profile_comes_back_equal(name, tmp_path):
    """Profiles of the fuzzer's grammar, with unusual names, numbers, arguments and flows."""
    kind, dice, count = KINDS[name], Dice(11), 0
    path, place = tmp_path / f"a{kind.suffix}", str(tmp_path / "a.columns")
    for _ in range(60):
        path.write_bytes(kind.made(dice))
        try:
            trace = open_file(str(path))
        except UnreadableFile:
            continue
        packer = Packer()
        write_columns(place, {}, {"trace": packer.pack(trace, Trace)}, packer.columns)
        file = ColumnFile(place)
        again = trace_in(file)
        require_fitting_values(again)
        assert list(differences(trace, again)) == []
        assert file.damage() == ""
        count += 1
    assert count > 20


@pytest.mark.slow
def test_exports_of_both_are_equal_byte_by_byte(cache, tmp_path, reads):
    count = 0
    for path, is_kept in traces():
        if not is_kept or path.parent.name == "regress":
            continue
        outputs = []
        try:
            kept(str(path))
        except (UnreadableFile, AssertionError):
            continue
        reads.clear()
        for folder, reader in ((CACHE.folder, 0), ("", 1)):
            cache.folder = folder
            workspace = Workspace()
            workspace.open(str(path))
            assert len(reads) == reader, path
            for suffix in (".pftrace", ".csv"):
                name = str(tmp_path / f"out{reader}{suffix}")
                export(workspace, name)
                outputs.append(Path(name).read_bytes())
            cache.folder = str(tmp_path / "cache" / "columns")
        assert outputs[:2] == outputs[2:], path
        count += 1
    assert count > 40


def test_a_profile_is_read_once(cache, path, reads):
    trace = kept(path)
    again = open_file(path)
    assert reads == [path]
    assert list(differences(trace, again)) == []
    assert not cache.is_damaged(again.slices)
    assert not cache.is_damaged(trace.slices)
    assert not cache.keep(again.slices)  # it is


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes")
def test_a_profile_whose_name_is_no_text(cache, path, reads):
    odd = os.fsdecode(os.fsencode(os.path.dirname(path)) + b"/\xff\xed\xa0\x80\xc3\xa4.json")
    os.rename(path, odd)
    trace = kept(odd)
    assert list(differences(trace, open_file(odd))) == []
    assert reads == [odd]


def test_nothing_is_kept_without_a_folder_or_of_small_files(tmp_path, path, monkeypatch, reads):
    assert CACHE.folder == ""
    trace = open_file(path)
    assert not CACHE.keep(trace.slices)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "columns"))
    trace = open_file(path)
    assert not CACHE.keep(trace.slices)
    monkeypatch.setattr(column_cache, "SLOW_S", 0)
    monkeypatch.setattr(column_cache, "_SETTLED_NS", 0)
    kept(path)
    open_file(path)
    assert len(reads) == 3


def test_a_file_that_changed_just_now_is_not_kept(cache, path, monkeypatch):
    monkeypatch.setattr(column_cache, "_SETTLED_NS", 60 * 10**9)
    trace = open_file(path)
    assert not cache.keep(trace.slices)


def as_other_content(path: str) -> None:
    """Change a byte in the middle, with the same size and time of modification."""
    status = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)
        file.seek(status.st_size // 2)
        file.write(byte)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def as_other_file(path: str) -> None:
    status = os.stat(path)
    shutil.copyfile(path, f"{path}.copy")
    os.utime(f"{path}.copy", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(f"{path}.copy", path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: Path(path).write_bytes(Path(path).read_bytes() + b"\n"),
        lambda path: os.utime(path, ns=(1, 1)),
        pytest.param(
            as_other_content,
            marks=pytest.mark.skipif(sys.platform == "win32", reason="no time of change"),
        ),
        as_other_file,
    ],
)
def test_a_changed_file_is_read_again_and_its_columns_replaced(cache, path, reads, change):
    kept(path)
    change(path)
    kept(path)
    open_file(path)
    assert len(reads) == 2
    assert len(os.listdir(cache.folder)) == 1


@pytest.mark.parametrize(
    "fact", ["size", "mtime_ns", "ctime_ns", "inode", "device", "ends", "readers", "real_path",
             "path", "part", "columns"]
)  # fmt: skip
def test_each_fact_of_the_key_counts(cache, path, reads, fact, monkeypatch):
    key_of = column_cache._key_of
    kept(path)
    monkeypatch.setattr(column_cache, "_key_of", lambda *of: {**key_of(*of), fact: "other"})
    open_file(path)
    assert len(reads) == 2


def test_other_options_have_other_columns(cache, path, reads, tmp_path):
    table = str(tmp_path / "b.csv")
    Path(table).write_text("a,b,c\nx,0,10\ny,10,20\nz,30,5\n")
    for columns in ("start=b,dur=c,unit=us,name=a", "start=b,dur=c,unit=ms,name=a"):
        trace = open_file(table, columns=columns)
        assert cache.keep(trace.slices)
    part = open_file(path, part=Fraction(1, 2))
    assert cache.keep(part.slices)
    whole = kept(path)
    reads.clear()
    again = open_file(path, part=Fraction(1, 2))
    assert list(differences(part, again)) == []
    assert again.is_part
    assert cache.part_of(again.slices) == "1/2"
    assert cache.part_of(part.slices) == "1"
    assert list(differences(whole, open_file(path))) == []
    for columns, end in (("us", 35_000), ("ms", 35_000_000)):
        assert open_file(table, columns=f"start=b,dur=c,unit={columns},name=a").end == end
    assert reads == []
    assert len(os.listdir(cache.folder)) == 4


def test_a_file_that_changes_while_it_is_read_is_not_kept(cache, path, monkeypatch):
    read = viewer.formats._read

    def changing(*arguments):
        item = read(*arguments)
        os.utime(path)
        return item

    monkeypatch.setattr(viewer.formats, "_read", changing)
    trace = open_file(path)
    assert not cache.keep(trace.slices)


def test_the_readers_are_part_of_the_key():
    column_cache.readers.cache_clear()
    root = Path(column_cache.__file__).parents[1]
    missing = [name for name in column_cache._SOURCES if not (root / name).exists()]
    assert missing == []
    assert len(column_cache.readers()) == 32


def test_another_source_of_the_readers_is_another_key(tmp_path, monkeypatch):
    root = tmp_path / "viewer" / "formats"
    root.mkdir(parents=True)
    monkeypatch.setattr(column_cache, "__file__", str(root / "column_cache.py"))
    digests = set()
    for text in ("a = 1\n", "a = 2\n", "a = 2\nb = 1\n"):
        (root / "reader.py").write_text(text)
        column_cache.readers.cache_clear()
        digests.add(column_cache.readers())
    (root / "reader.py").rename(root / "other.py")
    column_cache.readers.cache_clear()
    digests.add(column_cache.readers())
    (root / "other.py").unlink()  # as in a bundle, where the program is the key
    for name in ("a", "b"):
        (tmp_path / name).write_text(name * 5)
        os.utime(tmp_path / name, (ord(name), ord(name)))
        monkeypatch.setattr(sys, "executable", str(tmp_path / name))
        column_cache.readers.cache_clear()
        digests.add(column_cache.readers())
    column_cache.readers.cache_clear()
    assert len(digests) == 6


# -- damage ---------------------------------------------------------------------------------------


def the_file(cache) -> Path:
    (place,) = Path(cache.folder).iterdir()
    return place


@pytest.mark.parametrize("keep", [0, 10, 200, 0.5, -1])
def test_a_cut_file_is_dropped_and_the_profile_read(cache, path, reads, keep):
    trace = kept(path)
    place = the_file(cache)
    data = place.read_bytes()
    place.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    again = open_file(path)
    assert len(reads) == 2
    assert list(differences(trace, again)) == []
    assert not place.exists()
    assert cache.take_dropped([path]) == [path]
    assert cache.take_dropped([path]) == []


def test_a_wrong_number_is_seen_before_an_export_and_by_a_check(cache, path, tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.codecs.column_file.SMALL", 0)
    monkeypatch.setattr(column_cache, "_CHECKED_AT_ONCE", 0)
    trace = kept(path)
    place = the_file(cache)
    data = bytearray(place.read_bytes())
    where = data.index(trace.slices.source_row.tobytes())
    data[where] ^= 1
    place.write_bytes(data)
    workspace = Workspace()
    workspace.open(path)
    output = str(tmp_path / "out.csv")
    job = of_whole_columns(workspace, prepare(workspace, output))
    with pytest.raises(NothingToExport, match=r"columns of a\.json are damaged"):
        job(lambda *_: None, lambda: False)
    assert not os.path.exists(output)
    assert not place.exists()
    assert cache.is_damaged(workspace.traces[0].slices)
    assert cache.take_dropped([path]) == [path]
    workspace.open(path)
    of_whole_columns(workspace, prepare(workspace, output))(lambda *_: None, lambda: False)
    assert os.path.exists(output)


@pytest.mark.slow
def test_random_damage_gives_an_equal_trace_or_a_new_reading(cache, path, reads):
    rng = np.random.default_rng(3)
    trace = kept(path)
    place = the_file(cache)
    data = place.read_bytes()
    seen = 0
    for _ in range(60):
        changed = bytearray(data)
        for where in rng.integers(0, len(data), rng.integers(1, 4)).tolist():
            changed[where] = int(rng.integers(256))
        place.write_bytes(changed)
        os.chmod(place, 0o600)
        again = open_file(path)
        if cache.is_damaged(again.slices):
            again = open_file(path)
            seen += 1
        assert list(differences(trace, again)) == []
        cache.take_dropped([path])
    assert len(reads) + seen > 40


def test_forged_columns_are_refused_without_another_error(cache, path, monkeypatch):
    """CRCs are right, and columns are not."""
    trace = kept(path)
    place = the_file(cache)
    slices = trace.slices
    low = np.full_like(slices.name, 2**32 - 1)
    for wrong in (
        {"name": low}, {"key": low}, {"end": slices.end[:-1]}, {"row_ptr": slices.row_ptr[::-1]},
        {"row_track": np.full_like(slices.row_track, 99_999)}, {"row_ptr": slices.row_ptr[:0]},
        {"start": slices.start + 10**15},
        {"order": np.full(len(slices), 2**32 - 1, np.uint32)},
    ):  # fmt: skip
        forged = dataclasses.replace(trace, slices=dataclasses.replace(slices, **wrong))
        packer = Packer()
        key = ColumnFile(str(place)).key if place.exists() else key  # noqa: F821
        content = {"trace": packer.pack(forged, Trace)}
        write_columns(str(place), key, content, packer.columns)
        again = open_file(path)
        if again.slices.start is not None and cache.is_damaged(again.slices):
            again = open_file(path)
        assert list(differences(trace, again)) == [], wrong
        cache.take_dropped([path])


# -- the folder -----------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_folder_and_files_are_private_and_those_of_others_are_not_used(cache, path, reads):
    kept(path)
    assert os.stat(cache.folder).st_mode & 0o777 == 0o700
    assert the_file(cache).stat().st_mode & 0o777 == 0o600
    os.chmod(cache.folder, 0o777)
    trace = open_file(path)
    assert len(reads) == 2
    assert not cache.keep(trace.slices)


def test_the_file_that_was_used_longest_ago_goes_first(cache, tmp_path, monkeypatch):
    paths = []
    for name in "abc":
        paths.append(str(tmp_path / f"{name}.json"))
        shutil.copyfile(CHROME, paths[-1])
    places = {}
    for number, path in enumerate(paths[:2]):
        before = set(os.listdir(cache.folder)) if os.path.isdir(cache.folder) else set()
        kept(path)
        (name,) = set(os.listdir(cache.folder)) - before
        places[path] = os.path.join(cache.folder, name)
        os.utime(places[path], (number + 1, number + 1))
    size = os.path.getsize(places[paths[0]])
    monkeypatch.setattr(column_cache, "_MOST", int(2.5 * size))
    open_file(paths[0])  # now the other one was used longest ago
    kept(paths[2])
    assert os.path.exists(places[paths[0]])
    assert not os.path.exists(places[paths[1]])
    assert cache.size <= 2.5 * size
    cache.empty()
    assert cache.size == 0
    assert os.listdir(cache.folder) == []
    monkeypatch.setattr(column_cache, "_MOST", size // 2)
    trace = open_file(paths[0])
    assert not cache.keep(trace.slices)  # larger than all may be


def test_a_full_disk_leaves_no_file_and_no_error(cache, path, monkeypatch):
    usage = shutil.disk_usage(os.path.dirname(path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    assert not cache.keep(open_file(path).slices)
    monkeypatch.undo()


@pytest.mark.parametrize("name", ["fsync", "replace", "makedirs"])
def test_what_cannot_be_written_is_no_error(cache, path, monkeypatch, name):
    trace = open_file(path)

    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, fails)
    assert not cache.keep(trace.slices)
    monkeypatch.undo()
    folder = os.path.join(os.path.dirname(path), "cache", "columns")
    assert not os.path.isdir(folder) or os.listdir(folder) == []


def test_a_canceled_write_leaves_nothing(cache, path):
    trace = open_file(path)
    assert not cache.keep(trace.slices, dict, lambda: True)
    assert os.listdir(cache.folder) == []


def test_a_closed_profile_is_forgotten(cache, path):
    trace = kept(path)
    again = open_file(path)
    assert again.slices in cache._opened
    assert trace.slices not in cache._unsaved
    slices, file = weakref.ref(again.slices), weakref.ref(cache._opened[again.slices].file)
    del trace, again
    gc.collect()
    assert slices() is None
    assert file() is None


def test_other_kinds_of_files_are_read_each_time(cache, reads):
    dump = str(DATA / "etdump" / "demo_str_x4.etdp")
    for _ in range(2):
        trace = open_file(dump)
        assert not cache.keep(trace.slices)
    assert reads == [dump, dump]


def test_a_file_of_columns_is_opened_only_by_its_own_name(cache, path, tmp_path):
    kept(path)
    with pytest.raises((UnreadableFile, DamagedFile)):
        open_file(str(the_file(cache)))


KILLED = """
import os, signal, sys
from viewer.formats import column_cache, open_file
column_cache.LARGE = column_cache._SETTLED_NS = 0
column_cache.CACHE.folder = sys.argv[1]
trace = open_file(sys.argv[2])
asked = iter(range(10**6))
def killed():
    if next(asked) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return False
column_cache.CACHE.keep(trace.slices, dict, killed)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("moment", [3, 60, 75])
def test_a_killed_process_leaves_no_file_of_columns(cache, path, reads, moment):
    words = [sys.executable, "-c", KILLED, cache.folder, path, str(moment)]
    done = subprocess.run(words, cwd=ROOT, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert not [name for name in os.listdir(cache.folder) if name.endswith(".columns")]
    trace = kept(path)
    assert len(os.listdir(cache.folder)) == 1  # what the dead process left is gone, too
    assert list(differences(trace, open_file(path))) == []
    assert len(reads) == 1
