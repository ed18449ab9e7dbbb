"""Rows, lanes and depths as the builder lays them out, and what it does with odd data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.building.builder import TraceBuilder, _numbered_runs
from viewer.model.building.nesting import MAX_DEPTH, NESTING_LANES
from viewer.model.charging import event_positions
from viewer.model.queries import tree
from viewer.model.trace import Clock, Column, KeyKind, Run, RunKind, Trace

Interval = tuple[int, int]


def build(intervals: list[Interval], levels: list[int] | None = None) -> Trace:
    """A trace of one track; slice number i is named "s<i>"."""
    b = TraceBuilder("x", "test", "", Clock())
    b.add(
        track=b.track("p", "t"),
        start=np.array([s for s, _ in intervals], np.int64),
        end=np.array([e for _, e in intervals], np.int64),
        name=b.intern_all([f"s{i}" for i in range(len(intervals))]),
        key=b.key(KeyKind.PLAIN, "s"),
        levels=None if levels is None else np.array(levels, np.int32),
    )
    return b.build()


def places(trace: Trace) -> dict[str, tuple[int, int]]:
    """name -> (lane, depth)."""
    s = trace.slices
    return {trace.name(i): (int(s.row_lane[s.row_of(i)]), s.depth(i)) for i in range(len(s))}


def test_nested_slices_share_a_lane():
    trace = build([(0, 100), (10, 40), (20, 30), (50, 90)])
    assert places(trace) == {"s0": (0, 0), "s1": (0, 1), "s2": (0, 2), "s3": (0, 1)}


def test_touching_slices_are_siblings():
    assert places(build([(0, 10), (10, 20)])) == {"s0": (0, 0), "s1": (0, 0)}


def test_equal_intervals_nest_in_file_order():
    assert places(build([(0, 10), (0, 10)])) == {"s0": (0, 0), "s1": (0, 1)}


def test_overlap_opens_a_lane_and_bends_nothing():
    trace = build([(0, 100), (50, 150), (60, 70)])
    assert places(trace) == {"s0": (0, 0), "s1": (1, 0), "s2": (0, 1)}
    assert sorted((trace.slices.end - trace.slices.start).tolist()) == [10, 100, 100]


@pytest.mark.parametrize(
    ("at", "depth"),
    [(0, 0), (5, 1), (10, 0), (15, 1), (20, 0)],
    ids=["at the start", "inside", "between neighbours", "inside the second", "at the end"],
)
def test_a_point_is_a_leaf_of_the_slice_that_strictly_holds_it(at, depth):
    trace = build([(0, 10), (10, 20), (at, at)])
    assert places(trace)["s2"] == (0, depth)


def test_points_at_one_time_are_siblings():
    trace = build([(0, 10), (5, 5), (5, 5), (5, 5)])
    assert {places(trace)[f"s{i}"] for i in (1, 2, 3)} == {(0, 1)}


def test_levels_are_kept_where_geometry_could_not_tell():
    # A call of no length with its kernel of no length, then a call that begins at the same time.
    trace = build([(0, 9), (4, 4), (4, 4), (4, 8)], levels=[0, 1, 2, 1])
    assert places(trace) == {"s0": (0, 0), "s1": (0, 1), "s2": (0, 2), "s3": (0, 1)}
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("intervals", "levels"),
    [
        ([(0, 5), (3, 9)], [0, 1]),  # a child that outlives its parent
        ([(0, 5), (3, 9)], [0, 0]),  # siblings that overlap
        ([(0, 5), (3, 4)], [0, 2]),  # a level left out
        ([(5, 9), (0, 3)], [0, 0]),  # siblings out of order
        ([(0, 5)], [1]),  # no root
    ],
)
def test_levels_that_contradict_the_times_fall_back_to_time(intervals, levels):
    trace = build(intervals, levels)
    assert [p.kind for p in trace.problems] == [
        "levels contradict the times: nested by time instead"
    ]
    assert sorted(zip(trace.slices.start.tolist(), trace.slices.end.tolist(), strict=True)) == (
        sorted(intervals)
    )


def test_a_slice_that_ends_before_it_begins_is_counted_and_has_no_length():
    trace = build([(10, 3), (0, 5)])
    assert [(p.kind, p.count) for p in trace.problems] == [
        ("slice ends before it starts: drawn as an instant", 1)
    ]
    assert sorted((trace.slices.end - trace.slices.start).tolist()) == [0, 5]


def test_depth_beyond_the_limit_opens_a_lane():
    deep = [(i, 10_000 - i) for i in range(MAX_DEPTH + 5)]
    trace = build(deep)
    assert int(trace.slices.row_depth.max()) == MAX_DEPTH - 1
    assert int(trace.slices.row_lane.max()) == 1


def test_thousands_of_overlapping_slices_take_a_lane_each_in_no_time():
    n = 20_000
    trace = build([(i, 10 * n + i) for i in range(n)])
    assert len(trace.slices.row_ptr) - 1 == n


def test_flat_lanes_are_used_again_when_they_are_free():
    crowd = [(i, 1000 + i) for i in range(NESTING_LANES)]
    trace = build([*crowd, (100, 1500), (1600, 1700), (1650, 2600)])
    assert places(trace)[f"s{NESTING_LANES}"] == (NESTING_LANES, 0)
    assert int(trace.slices.row_lane.max()) == NESTING_LANES


def test_an_empty_trace_is_a_trace():
    trace = TraceBuilder("x", "test", "", Clock()).build()
    assert (len(trace.slices), trace.start, trace.end, trace.tracks) == (0, 0, 0, ())


def test_chunks_with_different_columns_are_joined_with_nulls():
    b = TraceBuilder("x", "test", "", Clock())
    track, key = b.track("p", "t"), b.key(KeyKind.PLAIN, "s")

    def add(start: int, **columns: Column) -> None:
        at = np.array([start], np.int64)
        b.add(track=track, start=at, end=at + 1, name=b.intern("s"), key=key, columns=columns)

    add(0, note=Column.of_texts(["a"]))
    add(2, note=Column.of_texts(["b"]), size=Column(np.array([7])))
    add(4)
    columns = b.build().slices.columns
    assert [columns["note"].value(i) for i in range(3)] == ["a", "b", None]
    assert [columns["size"].value(i) for i in range(3)] == [None, 7, None]


@pytest.mark.parametrize("texts", [["b", "a"], {"b": 0, "a": 1}, {"b": 1, "a": 0}])
def test_names_given_in_bulk_are_numbered_in_their_order(texts):
    b = TraceBuilder("x", "test", "", Clock())
    assert b.intern_all(texts).tolist() == [0, 1]
    assert b.intern_all({"c": 0, "a": 1}).tolist() == [2, 1]
    assert [b.intern(text) for text in "bac"] == [0, 1, 2]


def test_keys_given_in_bulk_stand_among_those_asked_for_one_by_one():
    b = TraceBuilder("x", "test", "", Clock())
    names = b.intern_all(["a", "b"])
    before = b.key(KeyKind.PLAIN, "x")
    bulk = b.distinct_keys(
        np.array([KeyKind.KERNEL, KeyKind.DELEGATE_EVENT], np.uint8), names,
        np.zeros(2, np.uint32), np.array([3, 4]), np.array([None, 7], object),
    )  # fmt: skip
    after = b.key(KeyKind.PLAIN, "y", location="loc")
    assert (before, bulk.tolist(), after) == (0, [1, 2], 3)
    assert b.key(KeyKind.PLAIN, "y", location="loc") == after
    trace = b.build()
    assert [trace.strings[n] for n in trace.keys.name] == ["x", "a", "b", "y"]
    assert trace.keys.instruction.tolist() == [-1, 3, 4, -1]
    assert trace.keys.identifier.tolist() == [None, None, 7, None]
    assert trace.keys.location.tolist() == [None, None, None, "loc"]


def test_the_result_is_frozen():
    trace = build([(0, 1)])
    with pytest.raises(ValueError, match="read-only"):
        trace.slices.start[0] = 5


INTERVALS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])),
    max_size=40,
)


@pytest.mark.slow
@given(INTERVALS)
def test_any_intervals_are_kept_and_nest_inside_their_lanes(intervals):
    """A stack machine that replays begins and ends must find every slice and depth again."""
    trace = build(intervals)
    slices, shape = trace.slices, tree(trace.slices)
    begin, end = event_positions(shape)
    n = len(intervals)
    assert sorted([*begin.tolist(), *end.tolist()]) == list(range(2 * n))
    events: list[tuple[int, int, bool]] = [(0, 0, False)] * (2 * n)
    for p in range(n):
        i = int(shape.index[p])
        events[int(begin[p])] = (int(slices.start[i]), p, True)
        events[int(end[p])] = (int(slices.end[i]), p, False)
    stacks: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    for time, p, begins in events:
        i = int(shape.index[p])
        lane = int(slices.row_lane[slices.row_of(i)])
        stack = stacks.setdefault(lane, [])
        assert time >= last.get(lane, time)
        last[lane] = time
        if begins:
            assert len(stack) == slices.depth(i)
            stack.append(p)
        else:
            assert stack.pop() == p
    assert sorted(zip(slices.start.tolist(), slices.end.tolist(), strict=True)) == sorted(intervals)


def test_flat_tracks_put_what_runs_at_once_beside_one_another():
    b = TraceBuilder("x", "test", "", Clock())
    intervals = [(0, 100), (10, 20), (15, 30), (20, 25), (100, 110), (50, 50)]
    b.add(
        track=b.track("p", "units", flat=True),
        start=np.array([s for s, _ in intervals]),
        end=np.array([e for _, e in intervals]),
        name=b.intern_all([f"s{i}" for i in range(len(intervals))]),
        key=b.key(KeyKind.PLAIN, "s"),
    )
    assert places(b.build()) == {
        "s0": (0, 0), "s1": (1, 0), "s2": (2, 0), "s3": (1, 0), "s4": (0, 0), "s5": (1, 0),
    }  # fmt: skip


def run(kind: RunKind, track: int, number: int = 0) -> Run:
    return Run(kind, number, "Execute", track, 0, 0, 1)


def test_inferences_are_counted_per_process_and_loads_are_not():
    kinds = [RunKind.LOAD, RunKind.INFERENCE, RunKind.INFERENCE]
    runs = [run(kind, track) for track in (0, 1) for kind in kinds]
    found = _numbered_runs(runs, ["a", "b"])
    assert [(r.number, r.total) for r in found] == [(0, 0), (1, 2), (2, 2)] * 2


def test_numbers_that_a_file_states_stay():
    runs = [run(RunKind.INFERENCE, 0, number) for number in (3, 5)]
    assert [(r.number, r.total) for r in _numbered_runs(runs, ["a"])] == [(3, 5), (5, 5)]
