"""Handles of files and slices: short, stable, and accepted by later calls."""

import json
import shutil

import pytest

from tests.builders.open_files import DUMP, OTHER, RECORD, answered, open_files, refused
from viewer.mcp_server.limits import MOST_CHARACTERS, WrongArgument, slice_of_handle, with_handles

PROFILES = 30
NO_HANDLES = ["p1", "p1:", ":3", "p1:-3", "p1:x", "p1:\u0663", "p1:99999999999"]


@pytest.fixture(scope="module")
def thirty(tmp_path_factory):
    """Thirty profiles with long paths, and their ETRecord."""
    folder = tmp_path_factory.mktemp("nightly").joinpath(*(f"part-{n:030}" for n in range(2)))
    folder.mkdir(parents=True)
    paths = [folder / f"device-{number:02}.etdp" for number in range(PROFILES)]
    for path in paths:
        shutil.copy(DUMP, path)
    return open_files(*paths, RECORD)


def test_profiles_and_other_files_are_numbered_in_their_order():
    opened = open_files(DUMP, RECORD, OTHER)
    assert opened.handles == {DUMP: "p1", OTHER: "p2", RECORD: "f1"}
    facts = answered(opened, "files")
    assert facts["handles"] == {handle: path for path, handle in opened.handles.items()}
    assert {file["path"] for file in facts["files"]} == {"p1", "p2", "f1"}


def test_a_path_is_in_an_answer_once_and_ticks_are_left_out_where_ns_are_there():
    row = {"file": "/long/a", "slice": 0, "dur_ticks": 5, "dur_ns": 5, "alone_ticks": 7}
    facts = with_handles({"rows": [row, row], "note": "see /long/a"}, {"/long/a": "p1"})
    short = {"handle": "p1:0", "file": "p1", "slice": 0, "dur_ns": 5, "alone_ticks": 7}
    assert facts == {"handles": {"p1": "/long/a"}, "rows": [short, short], "note": "see /long/a"}


def test_a_row_without_a_slice_has_no_handle():
    facts = with_handles({"rows": [{"file": "/a", "slice": None}]}, {"/a": "p1"})
    assert facts["rows"] == [{"file": "p1"}]


@pytest.mark.parametrize("handle", NO_HANDLES)
def test_what_is_no_handle_of_a_slice_is_refused(handle):
    with pytest.raises(WrongArgument, match="such as p1:123"):
        slice_of_handle(handle)


def test_a_handle_of_another_profile_or_slice_is_refused():
    opened = open_files(OTHER)
    assert "p2 is not an open profile" in refused(opened, "slice", slice="p2:0")
    assert "has no slice 9999" in refused(opened, "slice", slice="p1:9999")
    assert "leave these out" in refused(opened, "slice", slice="p1:0", profile="p1")
    assert "slice is missing" in refused(opened, "slice")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("files", {}), ("summary", {}), ("findings", {"limit": 100}),
     ("stats", {"by": "operator", "limit": 60}), ("search", {"query": "dur >= 0ns", "limit": 60})],
)  # fmt: skip
def test_thirty_profiles_are_all_in_an_answer_that_fits(thirty, tool, arguments):
    facts = answered(thirty, tool, **arguments)
    rows = facts["rows"] if "rows" in facts else facts["files"]
    named = {row.get("file", row.get("path")) for row in rows}
    assert named >= {f"p{number}" for number in range(1, PROFILES + 1)}
    text = json.dumps(facts, separators=(",", ":"))
    assert len(text) <= MOST_CHARACTERS
    assert text.count(f"{0:030}/part-") == PROFILES, "each path is there once"
