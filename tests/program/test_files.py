"""Source files for recorded paths: where they are looked for, and what is never opened."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from viewer.program import source_files as source_code
from viewer.program.source_files import (
    MAX_SOURCE,
    SourceFile,
    Substitution,
    find_around,
    find_source,
    local_paths,
    read_source,
    substitution_between,
)


def write(path, text="import torch\nx = 1\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return str(path)


def test_the_recorded_path_comes_first(tmp_path):
    recorded = write(tmp_path / "a" / "model.py", "one\n")
    write(tmp_path / "b" / "model.py", "two\n")
    found = find_source(recorded, [str(tmp_path / "b")])
    assert found is not None
    assert (found.shown, found.is_elsewhere, found.line(1)) == (recorded, False, "one")


def test_else_the_longest_suffix_beside_the_opened_files(tmp_path):
    write(tmp_path / "model.py", "short\n")
    longest = write(tmp_path / "nn" / "model.py", "long\n")
    found = find_source("/nowhere/nn/model.py", [str(tmp_path)])
    assert found is not None
    assert (found.recorded_path, found.shown) == ("/nowhere/nn/model.py", longest)
    assert found.is_elsewhere


@pytest.mark.parametrize("recorded", ["C:\\work\\nn\\model.py", "\\\\server\\nn\\model.py"])
def test_windows_paths_are_found_by_their_suffix(tmp_path, recorded):
    shown = write(tmp_path / "nn" / "model.py")
    found = find_source(recorded, [str(tmp_path)])
    assert found is not None
    assert found.shown == shown


def test_a_path_cannot_leave_the_folder_it_is_looked_for_in(tmp_path):
    write(tmp_path / "secret.py")
    (tmp_path / "open").mkdir()
    assert find_source("../secret.py", [str(tmp_path / "open")]) is None


@pytest.mark.parametrize(
    "recorded", ["", "<string>", "/dev/zero", "/dev/stdin", "/proc/self/environ", "a\0b", "."]
)
def test_what_is_no_plain_file_is_never_opened(tmp_path, recorded):
    assert find_source(recorded, [str(tmp_path)]) is None


def test_pipes_links_to_devices_binaries_and_huge_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("/dev/zero")
    (tmp_path / "binary.py").write_bytes(b"\0" * 10)
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(MAX_SOURCE + 1)
    (tmp_path / "folder.py").mkdir()
    for name in ("pipe.py", "link.py", "binary.py", "huge.py", "folder.py"):
        assert find_source(str(tmp_path / name), []) is None


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="a folder of Linux")
def test_a_folder_in_memory_has_files_like_any_other():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = write(Path(folder) / "net.py")
        assert read_source(path) == ("import torch", "x = 1")
        assert find_source(path, []).shown == path
    for path in ("/dev/shm/../zero", "/dev/shmem/a.py", "/run/user/a.py"):
        assert read_source(path) is None


@pytest.mark.parametrize("recorded", ["/net/host/a.py", "net/host/a.py", "C:\\net\\host\\a.py"])
def test_no_other_machine_is_asked_for_a_file_below_the_root(monkeypatch, recorded):
    """An automounter asks one as soon as it is looked whether there is anything."""
    asked = []

    def told(real):
        def call(path, *others, **named):
            asked.append(str(path))
            return real(path, *others, **named)

        return call

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, told(getattr(os, name)))
    assert find_source(recorded, ["/"]) is None
    assert find_around(recorded, ["/home/user"], lambda file: True) is None
    assert not [path for path in asked if path.startswith("/net")]


def test_a_path_of_very_many_folders_is_looked_for_in_no_time(tmp_path):
    recorded = "a/" * 20_000 + "nn/model.py"
    shown = write(tmp_path / "nn" / "model.py")
    begun = time.monotonic()
    found = find_source(recorded, [str(tmp_path)])
    assert find_around(recorded, [str(tmp_path / "x")], lambda file: False) is None
    assert time.monotonic() - begun < 2
    assert found is not None
    assert found.shown == shown


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "m.py")
    monkeypatch.setattr(source_code, "is_plain_file", lambda path, most: True)
    assert read_source(str(tmp_path / "m.py")) is None


def test_lines_are_counted_from_one(tmp_path):
    found = find_source(write(tmp_path / "m.py", "a\r\nb\nc"), [])
    assert found is not None
    assert [found.line(n) for n in (0, 1, 2, 3, 4)] == [None, "a", "b", "c", None]


def test_text_that_is_not_utf8_is_shown_as_far_as_it_is(tmp_path):
    (tmp_path / "m.py").write_bytes(b"# caf\xe9\nx = 1\n")
    found = find_source(str(tmp_path / "m.py"), [])
    assert found is not None
    assert found.line(2) == "x = 1"


@pytest.mark.parametrize("text", ["a\n\x0cb\nc\n", 'a\nb = "\u2028"\nc\n', "a\nb\x1c\nc\n"])
def test_lines_end_where_python_ends_them(tmp_path, text):
    found = find_source(write(tmp_path / "m.py", text), [])
    assert found is not None
    assert found.line(3) == "c"


# -- where recorded folders lie here ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "local", "expected"),
    [
        ("/home/user/models/nn/a.py", "/data/models/nn/a.py", ("/home/user", "/data")),
        ("/home/user/a.py", "/data/a.py", ("/home/user", "/data")),
        ("/build/old.py", "/data/new.py", ("/build/old.py", "/data/new.py")),
        ("C:\\work\\nn\\a.py", "/data/nn/a.py", ("C:/work", "/data")),
        ("nn/a.py", "/data/nn/a.py", ("", "/data")),
        ("/nn/a.py", "/data/nn/a.py", ("/", "/data")),
        ("/data/nn/a.py", "/nn/a.py", ("/data", "/")),
    ],
)
def test_two_paths_of_one_file_say_which_folder_is_which(recorded, local, expected):
    made = substitution_between(recorded, local)
    assert (made.recorded_path, made.local) == expected
    assert made.applied(recorded) == local


def test_a_substitution_is_of_all_paths_below_and_of_no_other():
    made = Substitution("/home/user", "/data")
    assert made.applied("/home/user/x/y.py") == "/data/x/y.py"
    assert made.applied("/home/username/y.py") is None
    assert made.applied("home/user/y.py") is None
    assert made.applied("//home/user/y.py") is None
    assert Substitution("", "/data").applied("/y.py") is None


def test_no_path_leads_out_of_the_folder_that_was_said():
    made = Substitution("/home", "/data/models")
    for hostile in ("/home/../../etc/passwd", "/home/a/../../b", "/home/a\0b"):
        assert made.applied(hostile) is None


@pytest.mark.parametrize(
    "local", ["", "models", "../x", "/a/../b", "//server/share", "/dev/shm", "/proc/1", "/a\0"]
)
def test_only_plain_local_places_are_taken(local):
    with pytest.raises(ValueError, match="is not the absolute path of a local"):
        Substitution("/home", local)


def test_the_substitution_that_says_most_comes_first():
    two = (Substitution("/home", "/all"), Substitution("/home/user", "/mine"))
    for order in (two, two[::-1]):
        assert local_paths("/home/user/a.py", order) == ["/mine/a.py", "/all/user/a.py"]


def test_around_the_opened_files_only_the_file_that_is_asked_for_counts(tmp_path):
    """One folder up there may be any model.py: the caller says which is the recorded one."""
    runs = tmp_path / "project/out/runs"
    runs.mkdir(parents=True)
    wrong, right = tmp_path / "project/out/model.py", tmp_path / "project/model.py"
    wrong.write_text("other")
    right.write_text("it")
    asked: list[str] = []

    def is_it(file: SourceFile) -> bool:
        asked.append(file.shown)
        return file.lines == ("it",)

    recorded = "/home/other/project/model.py"
    assert find_source(recorded, [str(runs)]) is None
    found = find_around(recorded, [str(runs)], is_it)
    assert found == SourceFile(recorded, str(right), ("it",))
    assert asked == [str(wrong), str(right)]  # nearest first
    deep = tmp_path / "project/a/b/c/d"
    deep.mkdir(parents=True)
    assert find_around(recorded, [str(deep)], lambda _: True) is None
    for folder in ("//server/share/a/b", "\\\\server\\share\\a", "/proc/self/fd", "relative/a"):
        assert find_around(recorded, [folder], lambda _: True) is None
