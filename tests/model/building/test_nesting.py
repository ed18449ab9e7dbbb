"""Lanes and depths beside the plain way to find them: a stack a lane, the first that fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.building import nesting
from viewer.model.building.nesting import NESTING_LANES, place_by_time, place_tracks

# Few times, so that many are equal; lengths above 0, as those without are leaves by rules of their
# own (tests/model/building/test_builder.py).
SPANS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 12)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=120,
)


def first_fit(spans):
    """(start, end, lane, depth) of each, longer ones first among those that begin together."""
    lanes, found = [], []
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        for number, stack in enumerate([*lanes, []]):
            if number == len(lanes):
                lanes.append(stack)
            while stack and stack[-1] <= start:
                stack.pop()
            if not stack or end <= stack[-1]:
                found.append((start, end, number, len(stack)))
                stack.append(end)
                break
    return found


@pytest.mark.slow
@given(SPANS)
def test_lanes_are_filled_first_fit(spans):
    start, end = (np.array([s[k] for s in spans], np.int64) for k in (0, 1))
    placed = place_by_time(start, end)
    found = zip(
        start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
        placed.depth.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(found) == sorted(first_fit(spans))


def placed_as_first_fit(start: np.ndarray, end: np.ndarray) -> list[tuple[int, ...]]:
    """Check that slices are placed as one by one; (start, end, lane, depth) of each."""
    placed = place_by_time(start, end)
    expected = first_fit(list(zip(start.tolist(), end.tolist(), strict=True)))
    found = zip(
        start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
        placed.depth.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(found) == sorted(expected)
    return expected


def test_many_overlapping_slices_are_placed_as_a_few_are():
    """Long enough for the way that goes lane by lane."""
    random = np.random.default_rng(7)
    start = np.sort(random.integers(0, 20_000, 5_000))
    end = start + random.integers(1, 90, 5_000)
    expected = placed_as_first_fit(start, end)
    assert max(lane for _, _, lane, _ in expected) > 5


@pytest.mark.slow
@given(SPANS.filter(bool), st.integers(0, 10), st.integers(1, 5), st.integers(1, 6))
def test_all_ways_into_a_lane_are_the_same(spans, long, few, depth):
    """In step, by what crosses, and one by one; also when slices nest too deep."""
    spans.sort(key=lambda s: (s[0], -s[1]))
    start, end = (np.array([s[k] for s in spans], np.int64) for k in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_LONG": long, "_FEW": few, "_MANY_CROSS": 0}.items():
            patch.setattr(nesting, name, value)
        for most in (depth, nesting.MAX_DEPTH):
            patch.setattr(nesting, "MAX_DEPTH", most)
            expected = nesting._nested_one_by_one(start, end, []).tolist()
            assert nesting._nested_in_one(start, end).tolist() == expected


def test_a_long_call_around_slices_that_overlap_now_and_then():
    """One segment, far too long for a step a slice."""
    random = np.random.default_rng(11)
    start = np.append(0, 10 * np.arange(20_000) + 1)
    end = start + np.append(10**6, np.where(random.random(20_000) < 0.02, 35, 9))
    placed_as_first_fit(start, end)


def placed_one_by_one(tracks):
    """(start, end, lane, depth) of the slices of each track, placed alone, in preorder."""
    found = []
    for spans in tracks:
        start, end = (np.array([s[k] for s in spans], np.int64) for k in (0, 1))
        placed = place_by_time(start, end)
        found += zip(
            start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
            placed.depth.tolist(), strict=True,
        )  # fmt: skip
    return found


def placed_together(tracks):
    """The same, placed at once."""
    spans = [span for track in tracks for span in track]
    start, end = (np.array([s[k] for s in spans], np.int64) for k in (0, 1))
    ptr = np.cumsum([0, *map(len, tracks)])
    placed = place_tracks(start, end, ptr)
    return list(zip(
        start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
        placed.depth.tolist(), strict=True,
    ))  # fmt: skip


# Lengths of 0 too, and times as far apart as int64 allows.
TRACKS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lambda s: (s[0], s[0] + s[1])),
        max_size=12,
    ),
    max_size=8,
)


@pytest.mark.slow
@given(TRACKS)
def test_tracks_placed_together_are_as_each_alone(tracks):
    assert placed_together(tracks) == placed_one_by_one(tracks)


def test_tracks_with_more_lanes_than_are_searched_and_times_far_apart():
    crowded = [(-(2**62) + i, 2**62 + i) for i in range(100)]
    tracks = [crowded, [(0, 5), (2, 7)], [], crowded, [(1, 1), (0, 2)]]
    assert placed_together(tracks) == placed_one_by_one(tracks)
    assert max(lane for _, _, lane, _ in placed_together(tracks)) > NESTING_LANES
