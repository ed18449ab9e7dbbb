"""Open sessions on the disk: each has an owner, and one whose owner died is taken once."""

import os
import subprocess
import sys

import pytest

from tests.view.sessions.test_recent_sessions import names, session
from viewer.view.sessions.autosaved_sessions import AutosavedSession, take_left
from viewer.view.sessions.recent_sessions import RecentSessions
from viewer.view.sessions.session_file import read

OWNER = """
import os
import sys
import time
from msgspec.structs import replace
from tests.view.sessions.test_recent_sessions import session
from viewer.view.sessions.autosaved_sessions import AutosavedSession
from viewer.view.sessions.session_file import SavedInput
owned = [AutosavedSession(sys.argv[1]) for _ in sys.argv[2:]]
for age, one, name in zip(range(len(owned), 0, -1), owned, sys.argv[2:]):
    one.write(replace(session(name, 5), inputs=(SavedInput(name, absolute=name),)), 1)
    # They are sorted by time, which a file system may round.
    os.utime(one.path, (time.time() - age,) * 2)
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "settings")


def crash(folder, *files):
    """A program that autosaves sessions, one per window, and is killed."""
    with start(folder, *files) as program:
        program.kill()


def start(folder, *files):
    program = subprocess.Popen(
        [sys.executable, "-c", OWNER, folder, *files],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout.readline() == "written\n"
    return program


def taken(folder):
    return [one.saved.inputs[0].path for one in take_left(folder)]


@pytest.mark.slow
def test_what_a_crash_left_is_taken_once_and_becomes_recent(folder):
    crash(folder, "a", "b")
    assert taken(folder) == ["a", "b"]
    assert taken(folder) == []
    assert names(RecentSessions(folder)) == ["b", "a"]
    assert not [name for name in os.listdir(folder) if name.startswith("autosave")]


@pytest.mark.slow
def test_a_living_program_keeps_what_it_has(folder):
    with start(folder, "a") as program:
        assert taken(folder) == []
        program.kill()
    assert taken(folder) == ["a"]


@pytest.mark.slow
def test_one_program_alone_takes_it(folder):
    crash(folder, "a", "b", "c")
    code = """
import sys
from tests.view.sessions.test_autosaved_sessions import taken
print(*taken(sys.argv[1]))
"""
    programs = [
        subprocess.Popen([sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    got = [name for program in programs for name in program.communicate(timeout=60)[0].split()]
    assert sorted(got) == ["a", "b", "c"]
    assert sorted(names(RecentSessions(folder))) == ["a", "b", "c"]


def test_windows_have_files_of_their_own(folder):
    one, other = AutosavedSession(folder), AutosavedSession(folder)
    one.write(session("a"), 1)
    other.write(session("b"), 1)
    assert [read(each.path).inputs[0].path for each in (one, other)] == ["a", "b"]
    one.remove(2)
    assert one.path == ""
    assert sorted(os.listdir(folder)) == sorted(
        os.path.basename(other.path).replace(".opscope", end) for end in (".lock", ".opscope")
    )
    other.remove(2)
    assert os.listdir(folder) == []


def test_it_is_written_only_if_it_changed_and_never_by_an_older_snapshot(folder):
    one = AutosavedSession(folder)
    assert one.write(session("a", 1), 2)
    assert not one.write(session("a", 1), 3)
    assert not one.write(session("a"), 1)
    assert len(read(one.path).view.marks) == 1
    one.remove(5)
    assert not one.write(session("a"), 4)
    assert os.listdir(folder) == []
    assert one.write(session("a", 1), 6)


@pytest.mark.slow
def test_one_that_a_later_version_wrote_stays_for_it(folder):
    crash(folder, "a")
    (name,) = [name for name in os.listdir(folder) if name.endswith(".opscope")]
    with open(os.path.join(folder, name), "w") as file:
        file.write('{"opscope_session": 99}')
    assert taken(folder) == []
    assert name in os.listdir(folder)


@pytest.mark.slow
def test_one_without_its_lock_file_is_taken_too(folder):
    crash(folder, "a")
    (lock,) = [name for name in os.listdir(folder) if name.endswith(".lock")]
    os.unlink(os.path.join(folder, lock))
    assert taken(folder) == ["a"]


@pytest.mark.slow
def test_on_a_full_disk_it_is_taken_at_the_next_start_too(folder, monkeypatch):
    crash(folder, "a")

    def full(path, data, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.view.sessions.recent_sessions.write_whole", full)
    assert taken(folder) == ["a"]
    monkeypatch.undo()
    assert taken(folder) == ["a"]
    assert taken(folder) == []


def test_a_crash_before_the_first_byte_leaves_nothing_to_offer(folder):
    one = AutosavedSession(folder)
    one._claim()
    one._owned.release()
    assert taken(folder) == []
    assert os.listdir(folder) == []
