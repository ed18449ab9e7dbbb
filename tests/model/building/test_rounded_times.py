"""Slices of rounded times are drawn without the lanes of rounding, and figures stay exact."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.analysis.cost.event_times import ThreadTime
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.layout import resolution_of, rows_to_draw, without_rounding
from viewer.model.queries import tree
from viewer.model.trace import Clock, KeyKind, Slices, Trace
from viewer.render.lod import DrawnSlices

Call = tuple[int, int, int]  # start, end and depth in exact ticks


@st.composite
def programs(draw: st.DrawFn, step: int) -> list[Call]:
    """Calls of one thread in exact times: neighbors follow at once or later, and callers nest.

    All are longer than two steps: shorter ones may round to nothing.
    """
    calls: list[Call] = []

    def fill(start: int, end: int, depth: int) -> None:
        now = start
        while now + 4 * step <= end and len(calls) < 60:
            now += draw(st.sampled_from([0, 0, 1, step]))
            length = draw(st.integers(3 * step, 12 * step))
            last = end if now + length > end - 3 * step else now + length
            calls.append((now, last, depth))
            if depth < 3 and draw(st.booleans()):
                fill(now, last, depth + 1)
            now = last

    fill(draw(st.integers(0, 5 * step)), 200 * step, 0)
    return calls


def rounded(calls: list[Call], step: int) -> tuple[np.ndarray, np.ndarray]:
    """What a file states: each start and each duration to the nearest multiple of a step."""
    start, end = (np.array([call[k] for call in calls], np.int64) for k in (0, 1))
    begin, length = ((value + step // 2) // step * step for value in (start, end - start))
    return begin, begin + length


def built(start: np.ndarray, end: np.ndarray, *, is_rounded: bool = True, flat=False) -> Trace:
    builder = TraceBuilder("a.json", "test", "", Clock(), rounds_durations=is_rounded)
    track = builder.track("process", "thread", flat=flat)
    name = builder.intern("a")
    key = builder.key(KeyKind.PLAIN, "a")
    builder.add(track=track, start=start, end=end, name=name, key=key)
    return builder.build()


def rows_of(slices: Slices) -> list[list[int]]:
    ptr = slices.rows_drawn.row_ptr.tolist()
    return [slices.drawn_between(a, b).tolist() for a, b in pairwise(ptr)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from([10, 1000]).flatmap(lambda step: st.tuples(st.just(step), programs(step))))
def test_a_rounded_program_has_one_lane(case):
    step, calls = case
    start, end = rounded(calls, step)
    slices = built(start, end).slices
    assert not slices.rows_drawn.row_lane.any()
    # Each call is in the row of its depth, unless rounding made its caller as short as itself.
    depth = {(s, e): d for (s, e), (_, _, d) in zip(zip(start.tolist(), end.tolist()), calls)}  # noqa: B905
    for i in range(len(slices)):
        span = int(slices.start[i]), int(slices.end[i])
        row = slices.drawn_row_of(i)
        assert int(slices.rows_drawn.row_depth[row]) <= depth[span] + 1


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 14)), min_size=1, max_size=80),
    st.sampled_from([1, 10]),
)
def test_what_overlaps_by_more_is_in_rows_of_its_own(spans, step):
    start = np.array([s for s, _ in spans], np.int64) * step
    end = start + np.array([length for _, length in spans], np.int64) * step
    exact, trace = built(start, end, is_rounded=False), built(start, end)
    slices = trace.slices
    resolution = resolution_of(slices)
    assert resolution % step == 0
    assert exact.slices.drawn_rows is None
    for name in ("start", "end", "row_ptr", "row_lane", "row_depth", "source_row"):
        assert np.array_equal(getattr(exact.slices, name), getattr(slices, name))
    rows = rows_of(slices)
    assert sorted(i for row in rows for i in row) == list(range(len(slices)))
    for number, row in enumerate(rows):
        for i in row:
            assert slices.drawn_row_of(i) == number
        for i, j in combinations(row, 2):
            assert slices.start[i] <= slices.start[j]
            assert slices.end[i] - slices.start[j] <= resolution
    drawn = DrawnSlices.of(slices)
    for first, last in zip(drawn.row_ptr.tolist(), drawn.row_ptr[1:].tolist(), strict=False):
        assert (drawn.end[first:last] > drawn.start[first:last]).all()
        assert (drawn.end[first : last - 1] <= drawn.start[first + 1 : last]).all()
    assert np.array_equal(tree(slices).parent, tree(exact.slices).parent)
    busy = [np.sort(ThreadTime(t).of_slices.end).tolist() for t in (exact, trace)]
    assert busy[0] == busy[1]


def test_an_overlap_of_the_resolution_is_none_and_a_longer_one_is_real():
    # ns of a file in µs: the second begins 1 µs before the end of the first, the third 2 µs.
    start = np.array([0, 9, 17], np.int64) * 1000
    end = np.array([10, 19, 30], np.int64) * 1000
    slices = built(start, end).slices
    assert slices.row_lane.tolist() == [0, 1]
    second = int(np.argmax(slices.start == 9000))
    assert slices.drawn_row_of(0) == slices.drawn_row_of(second)
    third = int(np.argmax(slices.start == 17000))
    assert slices.rows_drawn.row_lane[slices.drawn_row_of(third)] == 1


def test_a_call_that_ends_with_its_caller_is_below_it():
    slices = built(np.array([0, 50, 100]), np.array([100, 101, 120])).slices
    inner = int(np.argmax(slices.start == 50))
    row = slices.drawn_row_of(inner)
    assert (slices.rows_drawn.row_lane[row], slices.rows_drawn.row_depth[row]) == (0, 1)
    assert slices.row_lane.tolist() == [0, 1], "the exact rows are those of the times"


def test_flat_tracks_stay_flat():
    slices = built(np.array([0, 9, 10]), np.array([10, 20, 12]), flat=True).slices
    assert not slices.rows_drawn.row_depth.any()
    assert slices.rows_drawn.row_lane.tolist() == [0, 1]


def test_many_slices_in_one_resolution_take_a_limited_time():
    count = 2000
    start = np.append(0, 900_000 + np.arange(count))
    end = np.append(1_000_000, start[1:] + 1)
    assert np.array_equal(without_rounding(start, end, 10**6), end)


def test_resolution_is_the_largest_power_of_ten_of_all_times():
    slices = built(np.array([1000, 2000]), np.array([1500, 2600])).slices
    assert resolution_of(slices) == 100
    assert resolution_of(replace(slices, end=slices.end + 1)) == 1
    assert rows_to_draw(slices) is None
