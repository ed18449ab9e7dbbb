"""A lake in a bucket of a server that speaks the protocol of S3: as one on a disk.

Drivers are killed at each of their requests that write; two builds run at once; one is suspended.
"""

import io
import json
import os
import signal
import subprocess

import pytest

from tests.builders.bucket_server import new_bucket, s3_server
from tests.builders.command_line import run
from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.builders.lakes import HELD, SMALL_BATCHES, built, command, environment, rows
from viewer.fleet import lake as lake_session
from viewer.fleet import lake_folder
from viewer.fleet.build import compact
from viewer.fleet.engine import EngineLost
from viewer.fleet.lake import Lake, UnusableLake, session_of
from viewer.fleet.lake_folder import BucketFolder
from viewer.fleet.manifest import ObjectWriter
from viewer.fleet.manifest_lines import DONE, KEPT

pytest.importorskip("moto")
pytest.importorskip("s3fs")
pytestmark = [
    pytest.mark.slow,
    # Of the clients, and of the event loop that they leave to the end of the process.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


def at_night(points, daily):
    return [
        point if point in daily else pytest.param(point, marks=pytest.mark.nightly)
        for point in points
    ]


@pytest.fixture(scope="module", autouse=True)
def server():
    with s3_server() as variables, pytest.MonkeyPatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        yield variables


@pytest.fixture
def bucket():
    return new_bucket()


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """A fleet of four profiles."""
    folder = tmp_path_factory.mktemp("four")
    write_fleet(folder, 4, models=1, devices=1, builds=4)
    return folder


@pytest.fixture(scope="module")
def right(four, tmp_path_factory):
    """The rows of its lake on a disk."""
    lake = tmp_path_factory.mktemp("right") / "lake"
    built(lake, four)
    return rows(lake)


def objects(url):
    return dict(BucketFolder(url.rpartition("/")[0]).files_below(url.rpartition("/")[2]))


def check_whole(url, profiles):
    """No profile is lost or doubled, and the manifest lists exactly the objects of tables."""
    lake = Lake(url)
    listed = {f"lake/{file.path}" for file in lake.read().live_files()}
    every = objects(url)
    assert {path for path in every if "/table=" in path} == listed
    assert not [path for path in every if "/_tmp/" in path]
    keys = [row[0] for row in rows(url)["files"]]
    assert (len(keys), len(set(keys))) == (profiles, profiles)


def test_all_commands_answer_as_for_a_lake_on_a_disk(four, tmp_path, bucket, small_batches, capsys):
    url, lake = f"{bucket}/lake", tmp_path / "lake"
    built(lake, four)
    assert built(url, four).states == {DONE: 4}
    assert rows(url) == rows(lake)
    check_whole(url, 4)
    assert built(url, four).states == {KEPT: 4}
    for is_compacted in (False, True):
        for words in (
            ("status", "--json"),
            ("query", "SELECT build, sum(self_ns) FROM inference_operators GROUP BY 1 ORDER BY 1"),
            ("compare", "--a", "build=build0", "--b", "build=build3", "--json"),
        ):
            answers = []
            for place in (str(lake), url):
                code, out, err = run(capsys, "fleet", words[0], place, *words[1:])
                answers.append((code, err, out.replace(json.dumps(place), '"LAKE"')))
            assert answers[0] == answers[1]
            assert answers[0][:2] == (0, "")
        for place in (lake, url):
            assert compact(Lake(str(place)), lambda *_: None) == (0 if is_compacted else 4)
    assert rows(url) == rows(lake)
    check_whole(url, 4)


def test_python_and_the_report_read_it(four, bucket, tmp_path, capsys):
    import viewer

    url = f"{bucket}/lake"
    built(url, four)
    assert viewer.lake(url).sql("SELECT count(*) AS n FROM files").n.tolist() == [4]
    assert run(capsys, "fleet", "report", url, "-o", str(tmp_path / "page.html"))[0] == 0


class Killed(BaseException):
    """As SIGKILL: nothing that follows happens."""


def killed_at(patched, point):
    """Kill a driver at one of its requests that write: before it, or after it is done."""
    left = [point]

    def counted(function):
        def changed(*values, **names):
            left[0] -= 1
            if left[0] == 0:
                if point % 2:
                    function(*values, **names)
                raise Killed
            return function(*values, **names)

        return changed

    patched.setattr(ObjectWriter, "append", counted(ObjectWriter.append))
    patched.setattr(BucketFolder, "rename", counted(BucketFolder.rename))
    patched.setattr(BucketFolder, "remove", counted(BucketFolder.remove))
    patched.setattr(lake_session.LakeSession, "close", lambda self: self._owner.release())


@pytest.mark.parametrize("point", at_night(range(1, 19), (2, 9)))
def test_nothing_is_lost_or_doubled_wherever_a_driver_is_killed(
    four, right, bucket, monkeypatch, small_batches, point
):
    """A build of two batches of four tables: lines, and then copies and removals."""
    url = f"{bucket}/lake"
    with monkeypatch.context() as patched:
        killed_at(patched, point)
        with pytest.raises(Killed):
            built(url, four)
    if Lake.exists(url):
        assert len(rows(url)["files"]) in (0, 2, 4), "readers, before anything is finished"
    built(url, four)
    assert rows(url) == right
    check_whole(url, 4)


@pytest.mark.parametrize("point", at_night(range(1, 26), (8, 13)))
def test_a_killed_compaction_loses_and_doubles_nothing(
    four, right, bucket, monkeypatch, small_batches, point
):
    url = f"{bucket}/lake"
    built(url, four)
    with monkeypatch.context() as patched:
        killed_at(patched, point)
        with pytest.raises(Killed):
            compact(Lake(url), lambda *_: None)
    assert rows(url) == right
    compact(Lake(url), lambda *_: None)
    assert rows(url) == right
    check_whole(url, 4)


def build_command(fleet, url, *more, code=SMALL_BATCHES):
    words = ("fleet", "build", fleet, "-o", url, "--jobs", 1, "--from-path", PATTERN, *more)
    return command(*words, code=code)


def kill_at_work(fleet, url, server, code=HELD):
    """Start a build, and kill it once it has read something."""
    killed = subprocess.Popen(
        build_command(fleet, url, "--json-progress", code=code),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**server),
    )
    for line in killed.stderr:
        if '"done": 0' not in line and '"done"' in line:
            killed.send_signal(signal.SIGKILL)
            break
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.nightly
def test_a_killed_process_and_two_builds_at_once(fleet, expected, bucket, server):
    url = f"{bucket}/lake"
    kill_at_work(fleet, url, server)
    words = build_command(fleet, url)
    two = [subprocess.Popen(words, stdout=subprocess.PIPE, env=environment(**server)) for _ in "ab"]
    out = [process.communicate(timeout=120)[0].decode() for process in two]
    assert [process.returncode for process in two] == [0, 0], out
    assert rows(url) == expected
    built(url, fleet)
    check_whole(url, 24)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_three_thousand_dumps_are_row_for_row_those_of_a_lake_on_a_disk(tmp_path, bucket, server):
    """Build, kill, resume, query, compare, compact. `OPSCOPE_BUCKET_DUMPS` for another number."""
    count = int(os.environ.get("OPSCOPE_BUCKET_DUMPS", "3000"))
    write_fleet(tmp_path / "fleet", count, models=5, devices=2, builds=4)
    url, lake = f"{bucket}/lake", tmp_path / "lake"
    large = HELD.replace("build.MOST_UNITS, command", "_, command")
    kill_at_work(tmp_path / "fleet", url, server, large)
    large = SMALL_BATCHES.replace("= 2", "= 64")
    for place in (url, lake):
        words = ("--resume", "--jobs", "2")
        done = subprocess.run(
            build_command(tmp_path / "fleet", place, *words, code=large),
            env=environment(**server), capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for is_compacted in (False, True):
        assert rows(url) == rows(lake)
        arms = ("--a", "build=build0", "--b", "build=build3", "--json")
        said = [
            subprocess.run(
                command("fleet", "compare", place, *arms),
                env=environment(**server), capture_output=True, text=True, timeout=600,
            )
            for place in (url, lake)
        ]  # fmt: skip
        assert (said[0].returncode, said[0].stdout) == (0, said[1].stdout), said[0].stderr
        if not is_compacted:
            for place in (url, lake):
                compact(Lake(str(place)), lambda *_: None)
    check_whole(url, count)


def test_two_builds_that_meet_at_every_line(four, right, bucket, monkeypatch, small_batches):
    """Before each of the first lines of one, the other has written some."""
    url, left = f"{bucket}/lake", [1, 0, 1, 1]
    write = BucketFolder.create_only

    def late(self, path, data):
        if "_manifest" in path and left and left.pop():
            built(url, four)
        return write(self, path, data)

    monkeypatch.setattr(BucketFolder, "create_only", late)
    built(url, four)
    monkeypatch.undo()
    assert rows(url) == right
    check_whole(url, 4)


def test_a_build_that_was_taken_for_dead_publishes_nothing_more(
    four, right, bucket, monkeypatch, small_batches
):
    url = f"{bucket}/lake"

    def suspended(progress, outcome):
        if outcome is None:
            monkeypatch.setattr(lake_folder, "machine", lambda: "another")
            monkeypatch.setattr(lake_folder, "LEASE_S", -1.0)
            session_of(Lake.create(url)).close()

    with pytest.raises(UnusableLake, match="took it for dead"):
        built(url, four, told=suspended)
    monkeypatch.undo()
    built(url, four)
    assert rows(url) == right
    check_whole(url, 4)


def test_a_live_build_on_another_machine_is_left_alone(bucket, monkeypatch):
    lake = Lake.create(f"{bucket}/lake")
    session = session_of(lake)
    monkeypatch.setattr(lake_folder, "machine", lambda: "another")
    other = session_of(Lake.create(f"{bucket}/lake"))
    assert other.has_company
    other.close()
    assert [path for path in objects(f"{bucket}/lake") if session.id in path]
    session.close()
    assert objects(f"{bucket}/lake") == {}


def test_a_store_that_overwrites_is_refused(bucket, monkeypatch):
    monkeypatch.setattr(BucketFolder, "create_only", lambda *_: True)
    with pytest.raises(UnusableLake, match="overwrites objects although"):
        session_of(Lake.create(f"{bucket}/lake"))


def test_a_write_that_was_done_and_then_failed_counts_once(bucket, monkeypatch):
    """A client repeats a request whose answer it lost, and then sees its own object."""
    import s3fs

    write = s3fs.S3FileSystem.pipe_file

    def twice(self, *values, **names):
        write(self, *values, **names)
        return write(self, *values, **names)

    monkeypatch.setattr(s3fs.S3FileSystem, "pipe_file", twice)
    folder = BucketFolder(bucket)
    assert folder.create_only("a", b"x")
    assert not folder.create_only("a", b"y")
    assert folder.read("a").read() == b"x"


class FailingEngine:
    def __init__(self, batches):
        raise EngineLost("no scheduler")


def test_a_failed_build_leaves_nothing(four, tmp_path, bucket):
    for place in (tmp_path / "lake", f"{bucket}/lake"):
        with pytest.raises(EngineLost):
            built(place, four, engine=FailingEngine)
    assert objects(f"{bucket}/lake") == {}
    assert not (tmp_path / "lake").exists()
    (tmp_path / "lake").mkdir()
    built(tmp_path / "lake", four)
    with pytest.raises(EngineLost):
        built(tmp_path / "lake", four, engine=FailingEngine, tables=("slices",))
    assert len(rows(tmp_path / "lake")["files"]) == 4


def test_what_is_no_lake_is_one_sentence(four, bucket, capsys, monkeypatch):
    folder = BucketFolder(bucket)
    folder.create_only("other/notes.txt", b"mine")
    for words, said in (
        (("status", f"{bucket}/none"), "this is not a lake; `opscope fleet build SOURCE -o s3://"),
        (("build", four, "-o", f"{bucket}/other"), "this folder has other files"),
        (("build", four, "-o", "s3://no-bucket-here/lake"), "no-bucket-here"),
        (("build", four, "-o", "ftp://host/lake"), "or in a bucket (s3:// or gs://)"),
        (("status", "http://host/lake"), "or in a bucket (s3:// or gs://)"),
    ):
        code, out, err = run(capsys, "fleet", *map(str, words))
        assert (code, out, err.count("\n"), said in err) == (2, "", 1, True), err


@pytest.mark.parametrize("snapshots", at_night([(), (0,), (1,), (0, 1)], [(1,)]))
def test_a_lake_can_be_copied_from_a_disk_to_a_bucket_and_back(
    four, bucket, tmp_path, small_batches, snapshots
):
    """Each build adds a table; after some of them, there is a snapshot."""
    import s3fs

    system = s3fs.S3FileSystem()
    lake, url = tmp_path / "lake", f"{bucket}/lake"
    tables = ["operators", "inferences", "slices"]
    places = [lake, url, lake]
    for number, (place, table) in enumerate(zip(places, tables, strict=True)):
        assert built(place, four, tables=(table,)).states == {DONE: 4}
        if number in snapshots:
            session = session_of(Lake(str(place)))
            session.end(least=1)
            session.close()
        right = rows(place)
        if place is lake:
            system.put(f"{lake}/", f"{url}/", recursive=True)
        else:
            system.get(f"{url}/", f"{lake}/", recursive=True)
        for both in (lake, url):
            assert rows(both) == right
            assert built(both, four, tables=(table,)).states == {KEPT: 4}
            opened = Lake(str(both))
            opened.check()
            assert opened.losses.sentences == []
    assert all(right[table] for table in ("files", "operators", "slices"))


def test_the_sources_of_a_bucket_are_not_its_own_lake(four, bucket, tmp_path):
    import s3fs

    s3fs.S3FileSystem().put(f"{four}/", f"{bucket}/", recursive=True)
    for _ in range(2):
        progress = built(f"{bucket}/lake", bucket)
    assert (progress.states, progress.others) == ({KEPT: 4}, 0)


def test_large_objects_are_read_in_parts(bucket, monkeypatch):
    monkeypatch.setattr(lake_folder, "_SMALL", 10)
    data = bytes(range(256)) * 4000
    folder = BucketFolder(bucket)
    with folder.create("a") as file:
        file.write(data)
        file.seek(0)
        assert file.read() == data
    with BucketFolder(bucket).read("a") as file:
        assert isinstance(file, io.BufferedReader)
        for start, whence, size in (
            (5, 0, 10),
            (-8, 2, 8),
            (100, 0, 700_000),
            (3, 1, 5),
            (0, 2, 9),
        ):
            place = file.seek(start, whence)
            assert file.read(size) == data[place : place + size]
