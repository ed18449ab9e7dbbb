"""Passes of a GPU that all start at one tick, and whose logged lengths are cumulative."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.etdump_cases import READABLE, column, read, read_path, rows, slices_by_row
from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from viewer.formats.executorch.etdump.foreign_clocks import CUMULATIVE, PROBLEM
from viewer.model.timing import Timing, timing_of


def counted(trace):
    return Counter({p.kind: p.count for p in trace.problems})


def test_passes_that_start_at_one_tick_are_siblings_with_their_own_lengths(dump):
    events = [
        delegate("q", 0, 110, 130),
        delegate("k", 0, 110, 135),
        delegate("v", 0, 110, 170),
        operator("DELEGATE_CALL", 0, 100, 180),
        framework("Method::execute", 90, 200),
    ]
    trace = read_path(dump(("Execute", events)))
    assert rows(trace)[1:] == [
        ("DELEGATE_CALL", 1, 100, 180),
        ("unattributed", 2, 100, 110),
        ("q", 2, 110, 130),
        ("k", 2, 130, 135),
        ("v", 2, 135, 170),
        ("unattributed", 2, 170, 180),
    ]
    assert counted(trace) == {PROBLEM: 3}
    where = slices_by_row(trace)
    assert [column(trace, CUMULATIVE, where[i]) for i in range(4)] == [20, 25, 60, None]
    assert [timing_of(trace.slices, where[i]) for i in (0, 3)] == [
        Timing.DERIVED,
        Timing.MEASURED,
    ]


def test_the_order_of_the_log_does_not_matter(dump):
    events = [
        delegate("c", 0, 110, 170),
        delegate("a", 0, 110, 120),
        delegate("b", 0, 110, 150),
        operator("DELEGATE_CALL", 0, 100, 180),
    ]
    trace = read_path(dump(("Execute", events)))
    assert [row for row in rows(trace) if len(row[0]) == 1] == [
        ("a", 1, 110, 120),
        ("b", 1, 120, 150),
        ("c", 1, 150, 170),
    ]
    assert counted(trace) == {PROBLEM: 3}


def test_on_another_clock_the_native_lengths_are_those_of_each_pass(dump):
    shader = '{{{}_buffer_float, "dispatch_id": {}}}'
    events = [
        delegate(shader.format("a", 0), 0, 7_000_000, 7_000_010),
        delegate(shader.format("b", 1), 0, 7_000_000, 7_000_040),
        operator("DELEGATE_CALL", 0, 100, 180),
    ]
    trace = read_path(dump(("Execute", events)))
    where = slices_by_row(trace)
    names = "native_start", "native_dur", CUMULATIVE
    assert [[column(trace, name, where[i]) for name in names] for i in (0, 1)] == [
        [7_000_000, 10, 10],
        [7_000_010, 30, 40],
    ]
    assert [row[1:] for row in rows(trace)] == [(0, 100, 180), (1, 100, 110), (1, 110, 140)]


@pytest.mark.parametrize(
    "own",
    [
        [("scope", 110, 170), ("content", 110, 130)],  # two may be a scope and its content
        [("a", 110, 110), ("b", 110, 110), ("c", 110, 125), ("d", 125, 140)],  # instants
        [("a", 110, 130), ("b", 110, 150), ("c", 110, 170), ("inside", 120, 140)],
        [("a (us)", 0, 130), ("b (us)", 0, 150), ("c (us)", 0, 170)],  # QNN has no starts
        [("a", 110, 130), ("b", 110, 130), ("c", 110, 130)],  # one length
    ],
)
def test_other_events_that_start_together_keep_their_lengths(dump, own):
    events = [delegate(name, 0, start, end) for name, start, end in sorted(own, key=lambda e: e[2])]
    trace = read_path(dump(("Execute", [*events, operator("DELEGATE_CALL", 0, 100, 180)])))
    assert PROBLEM not in counted(trace)
    assert CUMULATIVE not in trace.slices.columns


@pytest.mark.slow
@pytest.mark.parametrize("name", READABLE)
def test_no_real_dump_has_such_passes(name):
    assert PROBLEM not in counted(read(name))


LENGTHS = st.lists(st.integers(0, 1000), min_size=3, max_size=8).filter(
    lambda lengths: sum(length > 0 for length in lengths) >= 3
)
CALLS = st.lists(st.tuples(LENGTHS, st.randoms(use_true_random=False)), min_size=1, max_size=5)


@pytest.mark.slow
@given(CALLS, st.sampled_from(["host", "gpu"]), st.booleans())
def test_every_pass_has_the_length_that_it_took(tmp_path_factory, calls, clock, in_order):
    """Any number of calls and passes, of any lengths, logged in any order."""
    events, took, at, row = [], {}, 1000, 0
    for lengths, random in calls:
        begin, done, own = at + 5, 0, []
        start = begin if clock == "host" else 10**12 + begin
        for number, length in enumerate(lengths):
            # Which of two passes with equal lengths in the log took no time is known by its order.
            length = length if in_order else length + 1
            done += length
            own.append((f"pass {number}", start, start + done, length))
        if not in_order:
            random.shuffle(own)
        for name, first, last, length in own:
            events.append(delegate(name, 0, first, last))
            took[row] = length, last - first
            row += 1
        events.append(operator("DELEGATE_CALL", 0, at, begin + done + 5))
        row, at = row + 1, begin + done + 10
    path = write_dump(
        tmp_path_factory.getbasetemp() / "passes.etdp",
        [Run("Execute", [*events, framework("Method::execute", 990, at)])],
    )
    trace = read_path(path)
    where, slices = slices_by_row(trace), trace.slices
    for number, (length, logged) in took.items():
        i = where[number]
        drawn = int(slices.end[i] - slices.start[i])
        native = column(trace, "native_dur", i)
        assert (drawn if native is None else native) == length
        assert drawn == length
        assert column(trace, CUMULATIVE, i) == logged
        assert slices.depth(i) == 2
    assert counted(trace)[PROBLEM] == len(took)
    assert not any("contradict" in kind for kind in counted(trace))
