"""Which END closes which BEGIN, beside a stack a track that takes the events one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.formats import event_pairs as perfetto_pairs
from viewer.formats.event_pairs import (
    BEGIN,
    COMPLETE,
    END,
    POINT,
    paired,
    paired_by_name,
    slices_of,
    taken,
)

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 20), st.sampled_from((BEGIN, END, POINT, COMPLETE))
    ),
    max_size=80,
)


def by_stack(events):
    """Begin, end and level of every slice, by track, time and place; and the lone ENDs."""
    slices, stacks, lone = {}, {}, 0
    for place in sorted(range(len(events)), key=lambda i: (*events[i][:2], i)):
        track, _, kind = events[place]
        stack = stacks.setdefault(track, [])
        if kind == END:
            if stack:
                slices[stack.pop()][0] = place
            else:
                lone += 1
            continue
        slices[place] = [-1 if kind == BEGIN else place, len(stack)]
        if kind == BEGIN:
            stack.append(place)
    return [(begin, *rest) for begin, rest in slices.items()], lone


@pytest.mark.slow
@given(EVENTS, st.sampled_from((1, 2, 5, 1 << 15)), st.sampled_from((0, 1, 7, 1 << 15)))
def test_pairs_are_those_of_a_stack_in_parts_of_any_size(events, at_once, sorted_at_once):
    track, time, kind = (np.array([e[i] for e in events]) for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(perfetto_pairs, "AT_ONCE", at_once)
        patch.setattr(perfetto_pairs, "_SORTED", sorted_at_once)
        pairs = paired(track.astype(np.uint32), time.astype(np.int64), kind.astype(np.uint8))
        found = list(
            zip(pairs.begin.tolist(), pairs.end.tolist(), pairs.level.tolist(), strict=True)
        )
        expected, lone = by_stack(events)
        assert found == expected
        assert pairs.lone_ends == lone
        of = {}
        for number, (begin, end, _) in enumerate(expected):
            of |= {begin: number} | ({end: number} if end >= 0 else {})
        assert slices_of(pairs, len(events)).tolist() == [of.get(i, -1) for i in range(len(events))]
        assert taken(track, pairs.begin).tolist() == [events[begin][0] for begin, *_ in expected]


def test_many_slices_that_never_end_cost_no_more_than_others():
    """What is open is carried from part to part, and parts grow with it."""
    count = 400_000
    zeros = np.zeros(count, np.uint32)
    pairs = paired(zeros, np.arange(count), np.full(count, BEGIN, np.uint8))
    assert (pairs.end == -1).all()
    assert pairs.level[-1] == count - 1


def test_numbers_of_tracks_that_are_few_and_large_are_sorted_at_once(monkeypatch):
    """Counting the events of each number would take memory for all of them."""
    monkeypatch.setattr(perfetto_pairs, "_SORTED", 2)
    track = np.array([1 << 50, -(1 << 50), 1 << 50, -(1 << 50)])
    pairs = paired(track, np.arange(4), np.array([BEGIN, BEGIN, END, END], np.uint8))
    assert (pairs.begin.tolist(), pairs.end.tolist()) == ([1, 0], [3, 2])


NAMELESS = 0
NAMED_EVENTS = st.lists(
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
@given(NAMED_EVENTS)
def test_ends_with_names_close_the_innermost_begin_of_that_name(events):
    assert vectorized(events) == one_by_one(events)


@pytest.mark.slow
@given(NAMED_EVENTS)
def test_ends_without_names_close_the_innermost_begin(events):
    events = [(s, t, is_end, NAMELESS if is_end else n) for s, t, is_end, n in events]
    assert vectorized(events) == one_by_one(events)
