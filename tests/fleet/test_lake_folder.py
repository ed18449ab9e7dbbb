"""The folder of a lake: nothing outside of it is read, written, moved or deleted."""

import os
import sys

import pytest

from viewer.fleet.lake_folder import LakeFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    for name in ("a", "inner/a"):
        (tmp_path / "outside" / name).write_text("witness")
    return tmp_path / "outside"


@pytest.fixture
def folder(tmp_path, outside):
    """A lake with a folder and a file, and links to a folder, to a file and to nothing."""
    place = tmp_path / "lake"
    (place / "own").mkdir(parents=True)
    (place / "own" / "a").write_text("own")
    (place / "link").symlink_to(outside)
    (place / "own" / "link").symlink_to(outside / "a")
    (place / "own" / "new").symlink_to(outside / "new")
    os.mkfifo(place / "own" / "pipe")
    return LakeFolder(str(place))


def tree(outside):
    return {path: path.is_file() and path.read_text() for path in outside.rglob("*")}


CHANGES = {
    "read a file behind a link": lambda f: f.read("link/a"),
    "read a link": lambda f: f.read("own/link"),
    "read a pipe": lambda f: f.read("own/pipe"),
    "create behind a link": lambda f: f.create("link/b"),
    "create over a link": lambda f: f.create("own/new"),
    "append over a link": lambda f: f.append("own/new"),
    "append behind a link": lambda f: f.append("link/b"),
    "make behind a link": lambda f: f.make("link/b"),
    "make over a link": lambda f: f.make("link"),
    "move into a link": lambda f: f.rename("own/a", "link/b"),
    "move into a folder of a link": lambda f: f.rename("own/a", "link/inner/b"),
    "move out of a link": lambda f: f.rename("link/a", "own/b"),
    "move a folder out of a link": lambda f: f.rename_folder("link/inner", "own/b"),
    "remove behind a link": lambda f: f.remove("link/a"),
    "remove a folder behind a link": lambda f: f.remove_folder("link/inner"),
    "list a link": lambda f: f.entries("link"),
    "lock behind a link": lambda f: f.take_lock("link/b"),
    "lock a link": lambda f: f.take_lock("own/new"),
    "hold a lock that is a link": lambda f: f.locked("own/new", 0).__enter__(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_follows_a_link_is_an_error(folder, outside, change):
    before = tree(outside)
    with pytest.raises(OSError, match=r"link|no regular file|symbolic"):
        change(folder)
    assert tree(outside) == before


def test_what_is_in_the_place_of_a_folder_to_remove_stays(folder, outside):
    assert not folder.remove_folder("link")
    assert (outside / "inner" / "a").read_text() == "witness"


def test_a_file_is_moved_over_a_link_and_not_through_it(folder, outside):
    folder.rename("own/a", "own/link")
    assert (outside / "a").read_text() == "witness"
    with folder.read("own/link") as file:
        assert file.read() == b"own"


def test_only_regular_files_have_a_status(folder):
    found = {
        name: folder.status(f"own/{name}") is not None for name in os.listdir(folder.path + "/own")
    }
    assert found == {"a": True, "link": False, "new": False, "pipe": False}
    assert folder.status("link/a") is None
    assert folder.entries("own") == {"a": 3, "link": None, "new": None, "pipe": None}


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "named").symlink_to(folder.path)
    with LakeFolder(str(tmp_path / "named")).read("own/a") as file:
        assert file.read() == b"own"


def test_files_are_made_moved_and_removed(folder):
    with folder.create("own/b") as file:
        file.write(b"xyz")
    folder.rename("own/b", "deep/er/b")
    assert folder.entries("deep/er") == {"b": 3}
    folder.remove("deep/er/b")
    assert folder.remove_folder("deep")
    with pytest.raises(FileExistsError):
        folder.create("own/a")
