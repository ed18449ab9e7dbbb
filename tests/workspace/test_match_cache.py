"""Matches are worked out once, by all copies of a workspace, and keep no file in memory."""

import gc
import weakref
from copy import copy

import pytest

from tests.builders.workspaces import EVENTS, STR, chosen, opened, read, with_torq
from viewer.workspace import matches as workspace_matches
from viewer.workspace.matches import MatchCache

DUMP = "demo_str_x4.etdp"


@pytest.fixture
def fits(monkeypatch):
    """The pairs that were compared, by path."""
    asked = []

    def count(trace, program, *rest):
        asked.append((trace.path, program.path))
        return fit(trace, program, *rest)

    fit = workspace_matches.match_trace
    monkeypatch.setattr(workspace_matches, "match_trace", count)
    return asked


def test_a_copy_knows_what_was_compared(fits):
    space = opened(DUMP, STR)
    assert chosen(space) == {DUMP: STR}
    other = copy(space)
    other.add(read("demo_generated_int.etrecord"))
    assert chosen(other) == {DUMP: STR}
    assert len(fits) == len(set(fits)) == 2
    # What the copy found out is known here too.
    space.add(other.programs[1])
    assert chosen(space) == {DUMP: STR}
    assert len(fits) == 2


def test_other_methods_are_another_match():
    trace = read("multi_forward_decode_xnnpack_x3.etdp")
    program = read("multi_forward_decode_teal_xnnpack.etrecord")
    matches = MatchCache()
    undecided = matches.match_trace(trace, program, {})
    assert matches.match_trace(trace, program, {}) is undecided
    assert matches.match_trace(trace, program, {0: "decode"}).methods[0] == "decode"
    assert matches.match_trace(trace, program, {}) == undecided


@pytest.mark.slow
def test_a_closed_file_is_freed_although_all_copies_shared_what_is_known_of_it():
    space = with_torq(EVENTS, STR)
    trace, program = space.traces[0], space.programs[0]
    copies = [copy(space) for _ in range(3)]
    for one in (space, *copies):
        assert one.links(trace).program is program
    held = [weakref.ref(one) for one in (trace, trace.slices.key, program)]
    path, text = trace.path, program.path
    del trace, program, one
    for one in (space, *copies):
        for name in (path, text):
            one.add(read(name))
        one.links(one.traces[0])
    gc.collect()
    assert [ref() for ref in held] == [None] * 3


@pytest.mark.slow
def test_what_only_a_cache_knows_is_forgotten_with_the_files():
    matches, trace, program = MatchCache(), read(DUMP), read(STR)
    matches.match_trace(trace, program, {})
    matches.columns(trace, program)
    held = weakref.ref(trace), weakref.ref(program)
    del trace
    gc.collect()
    assert held[0]() is None
    del program
    gc.collect()
    assert held[1]() is None
