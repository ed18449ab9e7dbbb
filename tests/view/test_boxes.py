"""Boxes: the longest slices exactly, groups of others with exact figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.view.timeline_drawing import GROUP, Boxes, boxes_of


def boxes(spans, rows=None, **limits):
    """The boxes of (start, end) on one row, or on the given ones; colors are 0, 1, 2 ...."""
    start, end = (np.array(part, np.int64) for part in zip(*spans, strict=True))
    row = np.zeros(len(start), np.int64) if rows is None else np.array(rows, np.int64)
    number = np.arange(len(start))
    color = (number % 64).astype(np.uint8)
    return boxes_of((start, end), row, number, color, **limits)


def seen(found: Boxes):
    return list(zip(found.start.tolist(), found.end.tolist(), found.count.tolist(), strict=True))


def test_few_slices_are_all_exact():
    found = boxes([(0, 5), (5, 6), (8, 9)], most=3, most_groups=1)
    assert found.slice.tolist() == [0, 1, 2]
    assert found.busy.tolist() == [5, 1, 1]


def test_the_longest_are_exact_and_their_neighbors_are_groups():
    spans = [(0, 2), (3, 4), (10, 90), (91, 92), (95, 97)]
    found = boxes(spans, most=1, most_groups=2)
    assert seen(found) == [(0, 4, 2), (10, 90, 1), (91, 97, 2)]
    assert found.slice.tolist() == [GROUP, 2, GROUP]
    assert found.busy.tolist() == [3, 80, 3]
    assert found.color.tolist() == [0, 2, 4]  # of the longest slice in each
    assert found.exact_count == 1
    assert found.slice_count == 5


def test_a_slice_alone_in_its_cell_is_exact():
    found = boxes([(0, 1), (1000, 1001), (5000, 9000)], most=1, most_groups=10)
    assert found.slice.tolist() == [0, 1, 2]


def test_of_equally_long_slices_the_exact_ones_are_spread_evenly():
    found = boxes([(10 * i, 10 * i + 5) for i in range(100)], most=10, most_groups=10)
    exact = found.slice[found.slice != GROUP]
    assert exact.tolist() == list(range(0, 100, 10))


def test_groups_stay_on_their_row():
    found = boxes([(0, 1), (2, 3), (0, 1), (2, 3)], [0, 0, 1, 1], most=0, most_groups=1)
    assert found.row.tolist() == [0, 1]
    assert found.count.tolist() == [2, 2]


def test_slices_without_a_duration_are_grouped_too():
    found = boxes([(7, 7), (7, 7), (9, 9)], most=0, most_groups=1)
    assert seen(found) == [(7, 9, 3)]


def test_times_at_the_limits_of_int64():
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    found = boxes([(least, 0), (1, 2), (3, most)], most=1, most_groups=1)
    assert found.busy.tolist()[-1] == most - 3 or found.slice_count == 3
    assert found.slice_count == 3


def test_no_slices():
    none = np.empty(0, np.int64)
    found = boxes_of((none, none), none, none, none.astype(np.uint8), most=1, most_groups=1)
    assert len(found) == 0


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 9)), min_size=1),
    st.integers(0, 5),
    st.integers(1, 8),
)
def test_every_slice_is_in_one_box_with_its_time(steps, most, most_groups):
    spans, rows, at = [], [], dict.fromkeys(range(4), 0)
    for row, gap, length in sorted(steps, key=lambda step: step[0]):
        start = at[row] + gap
        at[row] = start + length
        spans.append((start, at[row]))
        rows.append(row)
    found = boxes(spans, rows, most=most, most_groups=most_groups)
    assert found.slice_count == len(spans)
    assert int(found.busy.sum()) == sum(end - start for start, end in spans)
    at = 0
    for box in range(len(found)):
        own = spans[at : at + int(found.count[box])]
        assert set(rows[at : at + len(own)]) == {int(found.row[box])}
        assert (own[0][0], own[-1][1]) == (int(found.start[box]), int(found.end[box]))
        assert (found.slice[box] == GROUP) == (len(own) > 1)
        at += len(own)
    exact = found.slice[found.slice != GROUP]
    shortest = min((spans[i][1] - spans[i][0] for i in exact.tolist()), default=0)
    assert len(exact) >= min(most, len(spans)), shortest


@pytest.mark.parametrize("count", [1000, 20_000])
def test_the_number_of_boxes_is_limited(count):
    spans = [(3 * i, 3 * i + 1 + i % 2) for i in range(count)]
    found = boxes(spans, most=50, most_groups=100)
    assert len(found) <= 50 + 100 + 1
    assert found.slice_count == count


def test_more_slices_are_exact_in_the_focus():
    spans = [(10 * i, 10 * i + 1 + i % 3) for i in range(300)]
    focus = np.zeros(300, np.bool_)
    focus[100:110] = True
    found = boxes(spans, most=40, most_groups=20, focus=focus)
    assert set(range(100, 110)) <= set(found.slice.tolist())
