"""Lanes and depths beside the plain way to find them: a stack a lane, the first that fits."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.model.building.nesting import place_by_time

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


@settings(max_examples=400, deadline=None)
@given(SPANS)
def test_lanes_are_filled_first_fit(spans):
    start, end = (np.array([s[k] for s in spans], np.int64) for k in (0, 1))
    placed = place_by_time(start, end)
    found = zip(
        start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
        placed.depth.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(found) == sorted(first_fit(spans))


def test_many_overlapping_slices_are_placed_as_a_few_are():
    """Long enough for the way that goes lane by lane."""
    random = np.random.default_rng(7)
    start = np.sort(random.integers(0, 20_000, 5_000))
    end = start + random.integers(1, 90, 5_000)
    placed = place_by_time(start, end)
    expected = first_fit(list(zip(start.tolist(), end.tolist(), strict=True)))
    found = zip(
        start[placed.index].tolist(), end[placed.index].tolist(), placed.lane.tolist(),
        placed.depth.tolist(), strict=True,
    )  # fmt: skip
    assert sorted(found) == sorted(expected)
    assert max(lane for _, _, lane, _ in expected) > 5
