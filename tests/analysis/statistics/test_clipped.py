"""Slices cut at the edges of a range, against counting single ticks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_queries import parents, slices, trace_of
from viewer.analysis.statistics.occurrences import clipped, cut_count, outermost, self_time_within

ranges = st.none() | st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted)
numbers = st.sets(st.integers(0, 13))


def ticks_of(s, i, within):
    """The ticks of a slice inside a range, one by one."""
    lo, hi = within or (-1000, 1000)
    return {t for t in range(int(s.start[i]), int(s.end[i])) if lo <= t < hi}


@pytest.mark.slow
@given(slices, numbers, ranges)
def test_lengths_are_the_ticks_inside(items, chosen, within):
    s = trace_of(items).slices
    index = np.array(sorted(i for i in chosen if i < len(s)), np.int64)
    start, end = clipped(s, index, *(within or (None, None)))
    assert (end - start).tolist() == [len(ticks_of(s, i, within)) for i in index.tolist()]
    lo, hi = within or (-1000, 1000)
    over = [i for i in index.tolist() if s.start[i] < lo or s.end[i] > hi]
    assert cut_count(s, index, *(within or (None, None))) == len(over)


@pytest.mark.slow
@given(slices, numbers, ranges, st.booleans())
def test_self_time_is_what_no_child_covers(items, chosen, within, native):
    trace = trace_of(items, native=[0, 3] if native else ())
    s, parent = trace.slices, parents(trace)
    column = s.columns.get("native_dur")
    foreign = set(np.flatnonzero(column.valid).tolist()) if column is not None else set()
    index = np.array(sorted(i for i in chosen if i < len(s)), np.int64)
    wanted = []
    for i in index.tolist():
        own = ticks_of(s, i, within)
        for child in (c for c, p in parent.items() if p == i and c not in foreign):
            own -= ticks_of(s, child, within)
        wanted.append(len(own))
    found = self_time_within(s, index, *(within or (None, None)))
    assert found.tolist() == wanted


@pytest.mark.slow
@given(slices, numbers, st.lists(st.integers(0, 2), min_size=14, max_size=14))
def test_outermost_are_those_around_which_no_other_of_the_group_lies(items, chosen, groups):
    trace = trace_of(items)
    s, parent = trace.slices, parents(trace)
    index = np.array(sorted(i for i in chosen if i < len(s)), np.int64)
    group = dict(zip(index.tolist(), groups, strict=False))
    found = outermost(s, index, np.array([group[i] for i in index.tolist()], np.int64))
    for i, outer in zip(index.tolist(), found.tolist(), strict=True):
        if s.start[i] == s.end[i]:
            continue  # a moment at the edge of another may be in it or beside it
        above = []
        at = parent[i]
        while at >= 0:
            above.append(at)
            at = parent[at]
        around = [a for a in above if group.get(a) == group[i]]
        assert outer == (not around)


def test_a_moment_inside_another_of_its_group_is_a_part_of_it():
    s = trace_of([(0, 0, 10, 0), (0, 4, 0, 0), (0, 12, 0, 0)]).slices
    index = np.arange(3)
    outer = {int(s.start[i]): bool(x) for i, x in enumerate(outermost(s, index, index * 0))}
    assert outer == {0: True, 4: False, 12: True}


def test_times_at_both_ends_of_int64_are_no_fault():
    """Such a span cannot be lifted above another one: ranks decide."""
    far = 1 << 61
    s = trace_of([(0, -far, 2 * far, 0), (0, 0, 10, 0), (1, -far, 5, 0), (1, far, 5, 0)]).slices
    index = np.arange(4)
    found = outermost(s, index, np.zeros(4, np.int64))
    assert sorted(zip(s.start.tolist(), found.tolist(), strict=True)) == [
        (-far, True), (-far, True), (0, False), (far, True)
    ]  # fmt: skip


@pytest.mark.parametrize("edge", [-(1 << 70), 1 << 70])
def test_a_range_beyond_all_numbers_is_no_fault(edge):
    s = trace_of([(0, 0, 10, 0)]).slices
    start, end = clipped(s, np.array([0]), edge, edge)
    assert (end - start).tolist() == [0]
