"""The tree of slices, self time and charging against counting single ticks."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model import queries
from viewer.model.building.builder import TraceBuilder
from viewer.model.charging import (
    charge,
    charge_slices,
    event_positions,
    sum_per_key,
    total_charged,
    wall_of_slices,
)
from viewer.model.queries import foreign, numbers, preorder, self_time, self_times, tree
from viewer.model.trace import Clock, Column, KeyKind, Trace

slices = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 20), st.integers(0, 4)),
    max_size=14,
)
KEYS = 5
GROUPS = 3
groups = st.lists(st.integers(-1, GROUPS - 1), min_size=KEYS, max_size=KEYS)


def trace_of(items, native=()) -> Trace:
    """(track, start, length, key) each; `native` are the numbers of slices on a foreign clock."""
    builder = TraceBuilder("t", "test", "", Clock())
    for t in range(3):
        builder.track("p", f"t{t}")
    for k in range(KEYS):
        builder.key(KeyKind.PLAIN, f"k{k}")
    table = np.array(items, np.int64).reshape(-1, 4)
    own = np.isin(np.arange(len(table)), list(native))
    builder.add(
        track=table[:, 0].astype(np.uint32), start=table[:, 1], end=table[:, 1] + table[:, 2],
        name=builder.intern("x"), key=table[:, 3].astype(np.uint32),
        columns={"native_dur": Column(np.zeros(len(table), np.int64), own)} if native else None,
    )  # fmt: skip
    return builder.build()


def test_numbers_are_those_that_are_known_and_fit_64_bits():
    builder = TraceBuilder("t", "test", "", Clock())
    builder.track("p", "t")
    key = builder.key(KeyKind.PLAIN, "k")
    values = np.array([3.5, -1.0, 1e38, np.nan, np.inf, 2.0**62, 7.0])
    count = len(values)
    known = np.arange(count) != count - 1
    builder.add(
        track=np.zeros(count, np.uint32), start=np.arange(count), end=np.arange(count) + 1,
        name=builder.intern("x"), key=np.full(count, key, np.uint32),
        columns={"number": Column(values, known)},
    )  # fmt: skip
    trace = builder.build()
    at, found = numbers(trace, "number")
    assert (at.tolist(), found.tolist()) == ([0, 5], [3, 2**62])
    assert len(numbers(trace, "other")[0]) == 0


def parents(trace: Trace) -> dict[int, int]:
    """The parent of each slice, found by going through a lane and keeping the open ones."""
    s, found = trace.slices, {}
    rows = s.rows()
    open_at: dict[tuple[int, int], list[int]] = {}
    for i in preorder(s).tolist():
        row = int(rows[i])
        stack = open_at.setdefault((int(s.row_track[row]), int(s.row_lane[row])), [])
        del stack[int(s.row_depth[row]) :]
        found[i] = stack[-1] if stack else -1
        stack.append(i)
    return found


@pytest.mark.slow
@given(slices)
def test_the_tree_is_the_nesting_of_each_lane(items):
    trace = trace_of(items)
    shape, expected = tree(trace.slices), parents(trace)
    for position, i in enumerate(shape.index.tolist()):
        above = int(shape.parent[position])
        assert (int(shape.index[above]) if above >= 0 else -1) == expected[i]
        if above >= 0:
            parent = expected[i]
            assert trace.slices.start[parent] <= trace.slices.start[i]
            assert trace.slices.end[i] <= trace.slices.end[parent]


@pytest.mark.slow
@given(slices)
def test_events_are_a_bracket_sequence(items):
    shape = tree(trace_of(items).slices)
    begin, end = event_positions(shape)
    sequence: list[tuple[str, int]] = [("", -1)] * (2 * len(begin))
    for i, (b, e) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        sequence[b], sequence[e] = ("begin", i), ("end", i)
    stack: list[int] = []
    for what, i in sequence:
        if what == "begin":
            assert (stack[-1] if stack else -1) == shape.parent[i]
            stack.append(i)
        else:
            assert what == "end"
            assert stack.pop() == i
    assert not stack


@pytest.mark.slow
@given(slices)
def test_events_of_a_lane_are_in_time_order(items):
    trace = trace_of(items)
    shape = tree(trace.slices)
    begin, end = event_positions(shape)
    rows = trace.slices.rows()[shape.index]
    time = np.empty(2 * len(begin), np.int64)
    lane = np.empty(2 * len(begin), np.int64)
    time[begin], time[end] = trace.slices.start[shape.index], trace.slices.end[shape.index]
    lane[begin] = lane[end] = trace.slices.row_track[rows] * 100 + trace.slices.row_lane[rows]
    same = lane[1:] == lane[:-1]
    assert (time[1:][same] >= time[:-1][same]).all()


@pytest.mark.slow
@given(slices, st.sets(st.integers(0, 13), max_size=3))
def test_self_time_is_the_length_less_that_of_the_children(items, native):
    trace = trace_of(items, native)
    s = trace.slices
    outside = set(foreign(s).tolist())
    expected = (s.end - s.start).tolist()
    for i, parent in parents(trace).items():
        if parent >= 0 and i not in outside:
            expected[parent] -= int(s.end[i] - s.start[i])
    assert self_time(s).tolist() == expected
    assert (self_time(s) >= 0).all()


# Rows of any kind: deep and shallow ones, slices without a duration, parents that start or end with
# their children, and async slices that overlap on their track, so that it has lanes.
tracks_of_slices = st.lists(
    st.tuples(st.sampled_from((0, 1, 5, 40)), st.integers(1, 60), st.integers(0, 2**32)),
    min_size=1,
    max_size=4,
)


def drawn_slices(tracks) -> list[tuple[int, int, int, int]]:
    """Slices of tracks, each given by its longest duration, its span, and a seed."""
    items = []
    for track, (longest, span, seed) in enumerate(tracks):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(0, 120))
        items += zip(
            [track % 3] * count, rng.integers(0, span, count).tolist(),
            rng.integers(0, longest + 1, count).tolist(), rng.integers(0, KEYS, count).tolist(),
            strict=True,
        )  # fmt: skip
    return items


@pytest.mark.slow
@given(tracks_of_slices, st.booleans(), st.sets(st.integers(0, 13), max_size=3))
def test_self_time_is_equal_by_rows_and_by_the_tree(tracks, is_foreign, native):
    trace = trace_of(drawn_slices(tracks), native if is_foreign else ())
    found = []
    for fewest in (0, 1 << 40):  # slices of a row
        with patch.object(queries, "_MANY_IN_ROW", fewest), patch.object(queries, "BLOCK", 1):
            found.append(self_time(trace.slices).tolist())
    expected = (trace.slices.end - trace.slices.start).tolist()
    outside = set(foreign(trace.slices).tolist())
    for i, parent in parents(trace).items():
        if parent >= 0 and i not in outside:
            expected[parent] -= int(trace.slices.end[i] - trace.slices.start[i])
    assert found == [expected, expected]
    assert self_times(trace).tolist() == expected
    assert self_times(trace) is self_times(trace)


@pytest.mark.slow
@given(
    tracks_of_slices,
    st.sets(st.integers(0, 30), max_size=4),
    st.sets(st.integers(0, 30), max_size=4),
    st.sets(st.integers(0, 13), max_size=2),
)
def test_the_wall_time_of_slices_is_that_of_their_segments(tracks, without, scopes, native):
    trace = trace_of(drawn_slices(tracks), native)
    count = len(trace.slices)
    counts = ~np.isin(np.arange(count), list(without))
    own = np.array(sorted(one for one in scopes if one < count), np.int64)
    charged = charge_slices(trace, counts, own).of_threads
    expected = np.zeros(count, np.int64)
    np.add.at(expected, charged.group, charged.end - charged.start)
    with patch.object(queries, "BLOCK", 1):
        assert wall_of_slices(trace, counts, own, warm_up=True).tolist() == expected.tolist()


def test_a_changed_copy_of_kept_self_times_leaves_them_as_they_are():
    trace = trace_of([(0, 0, 9, 0), (0, 2, 3, 1)])
    with pytest.raises(ValueError, match="read-only"):
        self_times(trace)[0] = 1
    assert self_times(trace).tolist() == [6, 3]


def charged_ticks(trace: Trace, group_of_key, scopes=()) -> tuple[list, list]:
    """(group, tick) of the innermost slice with a group: in every lane, and once in every thread.

    Of lanes, the slice that started last; of those, the shortest.
    """
    s = trace.slices
    rows, outside = s.rows(), set(foreign(s).tolist())
    inner: dict[tuple[int, int, int], tuple[int, int]] = {}
    without: dict[tuple[int, int, int], tuple[int, int]] = {}
    for i in range(len(s)):
        row = int(rows[i])
        if i in outside or group_of_key[int(s.key[i])] < 0:
            continue
        for tick in range(int(s.start[i]), int(s.end[i])):
            place = (int(s.row_track[row]), int(s.row_lane[row]), tick)
            inner[place] = max(inner.get(place, (-1, -1)), (int(s.row_depth[row]), i))
            if i not in scopes:
                without[place] = max(without.get(place, (-1, -1)), (int(s.row_depth[row]), i))
    last: dict[tuple[int, int], tuple[int, int, int]] = {}
    for (track, _, tick), (_, i) in without.items():
        rank = int(s.start[i]), -int(s.end[i]), group_of_key[int(s.key[i])]
        last[track, tick] = max(last.get((track, tick), rank), rank, key=lambda one: one[:2])
    of_lanes = [(group_of_key[int(s.key[i])], tick) for (_, _, tick), (_, i) in inner.items()]
    return of_lanes, [(group, tick) for (_, tick), (_, _, group) in last.items()]


@pytest.mark.slow
@given(
    slices, groups, st.sets(st.integers(0, 13), max_size=3),
    st.sets(st.integers(0, 13), max_size=3), st.integers(0, 45), st.integers(0, 45),
)  # fmt: skip
def test_charging_against_single_ticks(items, group_of_key, native, enclosing, first, last):
    trace = trace_of(items, native)
    scopes = np.flatnonzero([number in enclosing for number in range(len(trace.slices))])
    expected = charged_ticks(trace, group_of_key, scopes.tolist())
    charged = charge(trace, np.array(group_of_key, np.int64), scopes)
    for one in (charged.of_lanes, charged.of_threads):
        assert np.all(np.lexsort((one.start, one.track)) == np.arange(len(one.track)))
    whole = total_charged(trace, np.array(group_of_key, np.int64), GROUPS, scopes, warm_up=True)
    for span in ((None, None), (first, last)):
        lo, hi = (0, 1 << 30) if span[0] is None else span
        found = charged.per_group(GROUPS, *span)
        inside = [[group for group, tick in one if lo <= tick < hi] for one in expected]
        assert found[0].tolist() == [inside[0].count(group) for group in range(GROUPS)]
        assert int(found[1].sum()) == len(inside[1])
        if is_unequal(trace):
            assert found[1].tolist() == [inside[1].count(group) for group in range(GROUPS)]
        if span[0] is None:
            assert [one.tolist() for one in whole] == [one.tolist() for one in found]


def is_unequal(trace: Trace) -> bool:
    """Whether no two slices of a thread have the same times, so that one of them started last."""
    s = trace.slices
    track = s.row_track[s.rows()].tolist()
    times = list(zip(track, s.start.tolist(), s.end.tolist(), strict=True))
    return len(set(times)) == len(times)


@pytest.mark.slow
@given(slices, st.integers(0, 20), st.integers(0, 20))
def test_sums_per_key_count_slices_that_begin_inside(items, first, last):
    trace = trace_of(items)
    count, total = sum_per_key(trace, first, last)
    for key in range(KEYS):
        own = [(s, s + n) for _, s, n, k in items if k == key]
        # What begins where the trace or a range without a length ends is in it.
        closed = last >= trace.end or first == last
        assert count[key] == sum(
            first <= s < last or (closed and s == last >= first) for s, _ in own
        )
        inside = (len(set(range(s, e)) & set(range(first, last))) for s, e in own)
        assert total[key] == sum(inside)


def test_no_slices_at_all():
    trace = trace_of([])
    assert len(tree(trace.slices).index) == len(self_time(trace.slices)) == 0
    own, wall = charge(trace, np.zeros(KEYS, np.int64)).per_group(1)
    assert own.tolist() == wall.tolist() == [0]
