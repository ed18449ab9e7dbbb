"""Collapsed stacks with names of any kind, and with the counts of two profiles."""

import pytest

from viewer.formats import open_file

STACKS = {
    "main;load": 5, "main;operator new": 3, "[unknown];std::map<int, a b>::at(int) const": 2,
    "main;step 3;x": 7,
}  # fmt: skip


def self_samples(path):
    trace = open_file(str(path))
    s = trace.slices
    return {trace.name(i): int(s.end[i] - s.start[i]) for i in range(len(s))}, trace


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("first", [None, 4])
def test_frames_and_counts_are_those_of_the_stacks(end, first, tmp_path):
    path = tmp_path / "a.folded"
    before = "" if first is None else f" {first}"
    lines = [f"{stack}{before} {count}" for stack, count in STACKS.items()]
    path.write_text(end.join([*lines, ""]), newline="")
    found, trace = self_samples(path)
    assert {name: found[name] for name in ("load", "operator new", "x")} == {
        "load": 5, "operator new": 3, "x": 7
    }  # fmt: skip
    assert set(found) == {frame for stack in STACKS for frame in stack.split(";")}
    assert ("Counts" in trace.stated) == (first is not None)


def test_a_name_that_ends_with_a_number_stays(tmp_path):
    path = tmp_path / "a.folded"
    path.write_text("main;step 3 7\nmain;load 5\n")
    found, trace = self_samples(path)
    assert (found["step 3"], found["load"]) == (7, 5)
    assert "Counts" not in trace.stated
