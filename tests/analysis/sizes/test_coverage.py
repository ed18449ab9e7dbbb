"""Every byte of a file belongs to one range, or to none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.sizes.coverage import assigned_bytes


def assigned(ranges, total):
    starts, sizes, priorities = zip(*ranges, strict=True) if ranges else ((), (), ())
    own, rest = assigned_bytes(
        np.array(starts, np.int64), np.array(sizes, np.int64), priorities, total
    )
    return own.tolist(), rest


@pytest.mark.parametrize(
    ("ranges", "own", "rest"),
    [
        ([], [], 10),
        ([(0, 4, 0), (6, 2, 0)], [4, 2], 4),
        ([(0, 10, 0), (2, 3, 1), (6, 2, 1)], [5, 3, 2], 0),  # inside another one
        ([(0, 6, 0), (4, 6, 0)], [6, 4], 0),  # the first one of equal ones
        ([(2, 4, 0), (2, 4, 0)], [4, 0], 6),
        ([(8, 100, 0), (90, 5, 1), (-3, 2, 1)], [2, 0, 0], 8),  # outside of the file
    ],
)
def test_a_byte_belongs_to_the_range_with_the_highest_priority(ranges, own, rest):
    assert assigned(ranges, 10) == (own, rest)


@given(
    st.lists(st.tuples(st.integers(-5, 40), st.integers(-2, 40), st.integers(0, 3)), max_size=12)
)
def test_it_equals_coloring_byte_by_byte(ranges):
    owner = [-1] * 30
    for number, (start, size, priority) in enumerate(ranges):
        for byte in range(max(start, 0), min(start + size, 30)):
            if owner[byte] < 0 or ranges[owner[byte]][2] < priority:
                owner[byte] = number
    own, rest = assigned(ranges, 30)
    assert own == [owner.count(number) for number in range(len(ranges))]
    assert rest == owner.count(-1)
