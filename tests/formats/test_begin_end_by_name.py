"""Begin and end events, paired as a stack machine would one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats.begin_end import paired_by_name

NAMELESS = 0
EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 6), st.booleans(), st.integers(0, 2)), max_size=14
)


def one_by_one(events):
    """(pairs, begins without an end, ends without a begin) of (stack, time, is_end, name)."""
    open_, pairs, lone = {}, [], []
    for i in sorted(range(len(events)), key=lambda i: (events[i][1], i)):
        stack, _, is_end, name = events[i]
        own = open_.setdefault(stack, [])
        if not is_end:
            own.append(i)
            continue
        fits = [k for k in own if name in (NAMELESS, events[k][3])]
        if fits:
            own.remove(fits[-1])
            pairs.append((fits[-1], i))
        else:
            lone.append(i)
    return sorted(pairs), sorted(i for own in open_.values() for i in own), sorted(lone)


def vectorized(events):
    columns = zip(*events, strict=True) if events else ((), (), (), ())
    stack, time, is_end, name = (np.array(column, np.int64) for column in columns)
    found = paired_by_name(stack, time, is_end.astype(np.bool_), name.astype(np.uint32), NAMELESS)
    pairs = zip(found.begin.tolist(), found.end.tolist(), strict=True)
    return sorted(pairs), sorted(found.lone_begin.tolist()), sorted(found.lone_end.tolist())


@pytest.mark.slow
@given(EVENTS)
def test_ends_with_names_close_the_innermost_begin_of_that_name(events):
    assert vectorized(events) == one_by_one(events)


@pytest.mark.slow
@given(EVENTS)
def test_ends_without_names_close_the_innermost_begin(events):
    events = [(s, t, is_end, NAMELESS if is_end else n) for s, t, is_end, n in events]
    assert vectorized(events) == one_by_one(events)
