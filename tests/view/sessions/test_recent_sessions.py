"""The last sessions: newest first, none twice; of too many those go in which nothing was done."""

import os
import subprocess
import sys

import msgspec
import pytest

from viewer.view.sessions.recent_sessions import (
    MOST,
    AutosavedSession,
    RecentSessions,
    take_left,
    work_of,
)
from viewer.view.sessions.session_file import (
    VERSION,
    LinkChoice,
    SavedBookmark,
    SavedChoices,
    SavedInput,
    SavedPlace,
    SavedSession,
    SavedTracks,
    SavedView,
    SourcePath,
    read,
)


def session(name, *marks, **view):
    marked = tuple(SavedBookmark(at, at, f"mark {at}") for at in marks)
    return SavedSession(
        VERSION,
        (SavedInput(name, absolute=f"/data/{name}"),),
        view=SavedView(bookmarks=marked, **view),
    )


def names(kept):
    return [read(path).inputs[0].path for path in kept.paths()]


@pytest.fixture
def kept(tmp_path):
    return RecentSessions(str(tmp_path / "settings"))


def test_the_newest_is_the_first_and_none_is_lost(kept):
    for name in "abc":
        kept.keep(session(name))
    assert names(kept) == ["c", "b", "a"]
    assert kept.paths()[0] == kept.newest


def test_the_same_files_with_the_same_work_are_kept_once(kept):
    for name in ("a", "b", "a"):
        kept.keep(session(name, 5))
    assert names(kept) == ["a", "b"]
    kept.keep(session("a", 5, start_ns=10, end_ns=20))  # looked at elsewhere
    assert names(kept) == ["a", "b"]
    assert read(kept.newest).view.end_ns == 20


def test_the_same_files_opened_anew_do_not_replace_those_with_marks(kept):
    kept.keep(session("a", 5))
    kept.keep(session("a"))
    assert [len(read(path).view.bookmarks) for path in kept.paths()] == [0, 1]


def test_of_too_many_those_without_work_go_first_and_the_oldest_of_them(kept):
    kept.keep(session("marked", 5))
    for number in range(MOST + 3):
        kept.keep(session(f"idle {number}"))
    assert len(names(kept)) == MOST
    assert names(kept)[-1] == "marked"
    assert names(kept)[:2] == [f"idle {MOST + 2}", f"idle {MOST + 1}"]
    for number in range(MOST):
        kept.keep(session(f"busy {number}", 1))
    assert names(kept) == [f"busy {number}" for number in reversed(range(MOST))]


def test_a_damaged_one_and_a_gap_are_no_obstacle(kept):
    for name in "abcd":
        kept.keep(session(name, 1))
    os.unlink(kept.paths()[1])
    with open(kept.paths()[1], "w") as file:
        file.write('{"opscope_session": ')
    assert kept.work(kept.paths()[1]) is None
    kept.keep(session("e", 1))
    assert [kept.work(path) and kept.work(path).files for path in kept.paths()] == [
        ("/data/e",), ("/data/d",), None, ("/data/a",)
    ]  # fmt: skip


def test_a_folder_that_takes_nothing_keeps_what_it_has(kept, monkeypatch):
    kept.keep(session("a", 1))

    def full(path, data, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viewer.view.sessions.recent_sessions.write_whole", full)
    with pytest.raises(OSError, match="No space"):
        kept.keep(session("b", 1))
    assert names(kept) == ["a"]


# Keeps sessions of its own again and again, and says after each that it is kept.
HAMMER = """
import sys
from tests.view.sessions.test_recent_sessions import session
from viewer.view.sessions.recent_sessions import RecentSessions
folder, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
kept = RecentSessions(folder)
for number in range(rounds):
    kept.keep(session(f"{name}{number % 4}", number % 4))
    print(f"{name}{number % 4}", flush=True)
"""


def hammer(kept, name, rounds):
    command = [sys.executable, "-c", HAMMER, kept.folder, name, str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_programs_at_once_lose_nothing(kept):
    programs = [hammer(kept, name, 20) for name in "ab"]
    ended = [(program.communicate(timeout=60)[1], program.returncode) for program in programs]
    assert ended == [("", 0), ("", 0)]
    assert sorted(names(kept)) == [f"{name}{number}" for name in "ab" for number in range(4)]
    assert sorted(os.listdir(kept.folder)) == sorted(
        ["last.lock", *map(os.path.basename, kept.paths())]
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_program_killed_while_it_keeps_loses_nothing(kept, count):
    with hammer(kept, "a", 1000) as program:
        told = {program.stdout.readline().strip() for _ in range(count)}
        program.kill()
    kept.keep(session("next", 1))
    assert told <= set(names(kept))


def test_one_killed_before_it_renames_has_kept_its_session(kept, monkeypatch):
    kept.keep(session("a", 1))
    monkeypatch.setattr(RecentSessions, "_add_new", lambda self: None)
    kept.keep(session("b", 1))
    monkeypatch.undo()
    kept.keep(session("c", 1))
    assert names(kept) == ["c", "b", "a"]


def test_it_has_the_time_of_its_last_change(kept):
    kept.keep(session("a", 1), 1_000_000.0)
    assert os.path.getmtime(kept.newest) == 1_000_000.0


def test_a_session_is_recognized_after_it_was_renamed(kept):
    assert kept.owns(kept.newest)
    assert not kept.owns(os.path.join(kept.folder, "mine.opscope"))


PLACE = SavedPlace(0, "a")


@pytest.mark.parametrize(
    ("done", "is_work"),
    [
        (session("a"), False),
        (session("a", 1), True),
        (session("a", start_ns=1, end_ns=5, search="conv", color_by="name"), False),
        (session("a", tracks=SavedTracks(folded=(PLACE,), filter="x", order="by name")), False),
        (session("a", tracks=SavedTracks(pinned=(PLACE,))), True),
        (session("a", tracks=SavedTracks(hidden=(PLACE,))), True),
        (msgspec.structs.replace(
            session("a"), choices=SavedChoices(links=(LinkChoice(0, None),))), True),
        (msgspec.structs.replace(
            session("a"), choices=SavedChoices(source_paths=(SourcePath("/x", "/y"),))), False),
    ],
)  # fmt: skip
def test_work_is_what_opening_the_files_again_does_not_bring_back(done, is_work):
    assert work_of(done).is_any == is_work


OWNER = """
import os
import sys
import time
from msgspec.structs import replace
from tests.view.sessions.test_recent_sessions import session
from viewer.view.sessions.recent_sessions import AutosavedSession
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
from tests.view.sessions.test_recent_sessions import taken
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
    assert len(read(one.path).view.bookmarks) == 1
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
