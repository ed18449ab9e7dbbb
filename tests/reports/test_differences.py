"""What `opscope sizes A --with B` says, as data and as text."""

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.reports.program_files import difference_facts, difference_problem, difference_text

FILES = DATA / "pte"


def opened(*names):
    return workspace_of(*(FILES / name for name in names))


@pytest.fixture(scope="module")
def facts():
    return difference_facts(
        opened("part_x.pte", "part_x.etrecord"), opened("mobile_x.pte", "mobile_x.etrecord")
    )


def test_rows_have_both_numbers_and_their_difference(facts):
    assert (facts["a"]["bytes"], facts["b"]["bytes"]) == (10640, 19988)
    assert facts["paired_by"] == "etrecords"
    assert facts["kinds"][0] == {
        "label": "named data", "label_b": None, "a": 1568, "b": 7572, "change": 6004
    }  # fmt: skip


def test_the_text_lists_what_differs_and_what_one_file_alone_has(facts):
    lines = difference_text(facts).splitlines()
    assert lines[:2] == [
        "A  part_x.pte: 11 kB (10 640 B)",
        "B  mobile_x.pte: 20 kB (19 988 B), +9 348 B",
    ]
    assert lines[3].split() == ["bytes", "by", "kind", "A", "B", "B", "-", "A"]
    assert lines[4].split() == ["named", "data", "1", "568", "7", "572", "+6", "004"]
    assert any(line.split() == ["XNNSin", "1", "−1", "only", "in", "A"] for line in lines)
    assert any(line.split()[-3:] == ["only", "in", "B"] for line in lines)
    assert "  and 1 row equal" in lines


def test_equal_files_are_said_to_be_equal():
    text = difference_text(difference_facts(opened("part_x.pte"), opened("part_x.pte")))
    assert text.splitlines()[-1].startswith("equal: bytes by kind, ")
    assert "paired by the order of calls" in text


def test_each_side_needs_one_program_file():
    assert difference_problem(opened("part_x.pte")) == ""
    assert difference_problem(opened("part_x.etrecord")) == (
        "needs one program file (.pte), but has 0"
    )
