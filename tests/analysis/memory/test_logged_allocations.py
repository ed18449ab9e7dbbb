"""Which slices logged allocations follow, and what is said about them."""

import pytest

from tests.builders.etdump_writer import Run, operator, write_dump
from viewer.analysis.memory.logged_allocations import allocation_text, logged_allocations
from viewer.formats import open_file

ALLOCATORS = ("method", "temporary")


@pytest.fixture
def trace(tmp_path):
    """Two calls: an allocation before the first, two after it, and one after the second."""
    events = [
        {"allocation": (1, 8)},
        operator("conv", 1, 10, 20),
        {"allocation": (1, 1000)},
        {"allocation": (2, 234)},
        operator("add", 2, 20, 30),
        {"allocation": (2, 16)},
    ]
    run = Run("Execute", events, allocators=ALLOCATORS)
    return open_file(str(write_dump(tmp_path / "a.etdp", (run,))))


def named(trace, index):
    return trace.name(int(index))


def test_allocations_are_added_up_by_the_slice_that_they_follow(trace):
    found = logged_allocations(trace)
    assert [named(trace, i) for i in found.slice] == ["conv", "add"]
    assert found.count.tolist() == [2, 1]
    assert found.size.tolist() == [1234, 16]


def test_a_slice_says_how_much_and_from_which_allocators(trace):
    conv, add = logged_allocations(trace).slice.tolist()
    assert allocation_text(trace, conv) == "1.2\u202fkB in 2 allocations: method, temporary"
    assert allocation_text(trace, add) == "16\u202fB in 1 allocation: temporary"


def test_without_allocations_nothing_is_said(tmp_path):
    plain = open_file(str(write_dump(tmp_path / "a.etdp", (Run("r", [operator("x", 1, 0, 5)]),))))
    assert len(logged_allocations(plain).slice) == 0
    assert allocation_text(plain, 0) == ""


def test_sizes_beyond_int64_are_kept(tmp_path):
    events = [
        operator("x", 1, 0, 5),
        {"allocation": (1, 2**64 - 1)},
        {"allocation": (1, 2**64 - 1)},
    ]
    path = write_dump(tmp_path / "a.etdp", (Run("r", events, allocators=ALLOCATORS),))
    trace = open_file(str(path))
    assert logged_allocations(trace).size.tolist() == [2.0**65]
    assert allocation_text(trace, int(logged_allocations(trace).slice[0])).startswith("36893488147")
