"""Rows of a trace with many small tracks, as if each track were a trace of its own."""

import numpy as np
import pytest

from viewer.analysis.statistics.occurrences import outermost, self_time_within
from viewer.model.building import layout
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import by_lane, children_of, parent_of, preorder, ranks, tree
from viewer.model.trace import Clock, KeyKind


def built(tracks, *, levels=False):
    """A trace of tracks, each a list of (start, end, level); in order of tracks."""
    builder = TraceBuilder("/t/x.csv", "Profile CSV", "", Clock("ns"))
    key = builder.key(KeyKind.PLAIN, "op")
    for number, spans in enumerate(tracks):
        track = builder.track("app", f"thread {number}")
        start, end, level = (np.array([s[k] for s in spans], np.int64) for k in (0, 1, 2))
        builder.add(
            track=track, start=start, end=end, name=builder.intern("op"), key=key,
            levels=level.astype(np.int32) if levels else None,
        )  # fmt: skip
    return builder.build()


def rows(trace, track):
    """(lane, depth, [(start, end)]) of each row of a track."""
    s = trace.slices
    return [
        (int(s.row_lane[r]), int(s.row_depth[r]), list(zip(
            s.start[s.row_ptr[r] : s.row_ptr[r + 1]].tolist(),
            s.end[s.row_ptr[r] : s.row_ptr[r + 1]].tolist(), strict=True,
        )))
        for r in np.flatnonzero(s.row_track == track).tolist()
    ]  # fmt: skip


def some_tracks(count):
    """Small tracks of all shapes, and two that are too large to be laid out with others."""
    random = np.random.default_rng(3)
    shapes = []
    for number in range(count):
        size = 2_000 if number in (5, 6) else int(random.integers(0, 9))
        start = random.integers(0, 4 * size + 1, size)
        shapes.append([(s, s + int(random.integers(0, 9)), 0) for s in start.tolist()])
    return shapes


@pytest.mark.parametrize("count", [1, 12, 40])
def test_each_track_has_the_rows_that_it_has_alone(count):
    tracks = some_tracks(count)
    trace = built(tracks)
    for number, spans in enumerate(tracks):
        assert rows(trace, number) == rows(built([spans]), 0)


def test_the_order_of_slices_is_preorder_track_by_track():
    tracks = [[(0, 10, 0), (1, 2, 0), (3, 4, 0)], [(0, 5, 0)], [(2, 9, 0), (2, 3, 0)]]
    trace = built(tracks)
    s = trace.slices
    by_order = preorder(s)
    assert s.start[by_order].tolist() == [0, 1, 3, 0, 2, 2]
    assert s.rows()[by_order].tolist() == [0, 1, 1, 2, 3, 4]


def test_levels_of_many_tracks_are_used_and_wrong_ones_are_counted():
    right = [(0, 10, 0), (0, 10, 1), (10, 10, 0)]
    wrong = [(0, 10, 0), (10, 20, 1)]  # the second starts after the one it should be in
    trace = built([right, wrong, right, [], wrong], levels=True)
    assert rows(trace, 0) == [(0, 0, [(0, 10), (10, 10)]), (0, 1, [(0, 10)])]
    assert rows(trace, 2) == rows(trace, 0)
    assert rows(trace, 1) == [(0, 0, [(0, 10), (10, 20)])]
    assert [(p.kind, p.count, p.first) for p in trace.problems] == [
        ("levels contradict the times: nested by time instead", 2, "app > thread 1, slice 1")
    ]
    assert built([right, [], right], levels=True).problems == ()


def test_levels_of_times_that_are_more_than_half_of_int64_apart_are_used():
    """The difference of two such starts does not fit int64."""
    far = (1 << 62) + 9
    trace = built([[(-far, -far + 5, 0), (far, far + 9, 0), (far, far, 1)]], levels=True)
    assert trace.problems == ()
    assert rows(trace, 0) == [(0, 0, [(-far, -far + 5), (far, far + 9)]), (0, 1, [(far, far)])]


def with_and_without_order(build, monkeypatch):
    """Slices whose order is not held, and the same ones with it."""
    without = build().slices
    with monkeypatch.context() as patch:
        patch.setattr(layout, "is_by_start", lambda *_: False)
        return without, build().slices


@pytest.mark.parametrize("seed", range(8))
def test_what_is_derived_from_the_times_is_the_order_that_else_is_held(seed, monkeypatch):
    random = np.random.default_rng(seed)
    size = [1, 3, 30, 200][seed % 4]
    tracks = [
        [
            (s, s + int(random.integers(0, 9)), 0)
            for s in random.integers(0, 2 * size, size).tolist()
        ]
        for _ in range(1 + 40 // size)
    ]
    derived, held = with_and_without_order(lambda: built(tracks), monkeypatch)
    assert derived.order is None
    assert held.order is not None
    assert ranks(derived).tolist() == held.order.tolist()
    for part in ("index", "depth", "parent"):
        assert getattr(tree(derived), part).tolist() == getattr(tree(held), part).tolist()
    index = np.flatnonzero(random.random(len(held)) < 0.8)
    group = random.integers(0, 3, len(index))
    assert outermost(derived, index, group).tolist() == outermost(held, index, group).tolist()
    own, expected = (self_time_within(s, index, 2, size) for s in (derived, held))
    assert own.tolist() == expected.tolist()
    for i in range(0, len(held), 7):
        assert parent_of(derived, i) == parent_of(held, i)
        assert children_of(derived, i).tolist() == children_of(held, i).tolist()


def test_times_that_are_too_far_apart_for_one_number_are_sorted_by_lane():
    far = (1 << 62) - 9
    start = np.array([far, -far, far - 2, far, -far])
    lane = np.array([0, 0, 1, 1, 1])
    assert by_lane(start, lane).tolist() == np.lexsort((start, lane)).tolist() == [1, 0, 4, 2, 3]
    near = start >> 1
    assert by_lane(near, lane).tolist() == [1, 0, 4, 2, 3]


# Inside of the first one, at its end, is a slice without a length; the next one starts there.
AT_THE_END = [(0, 5, 0), (5, 5, 1), (5, 9, 0), (6, 7, 1)]


@pytest.mark.parametrize("spans", [
    AT_THE_END,
    [(0, 0, 0), (0, 0, 1), (0, 9, 0), (1, 2, 1)],
    [(0, 9, 0), (3, 3, 1), (3, 3, 2), (3, 4, 1)],
])  # fmt: skip
def test_the_order_is_held_where_times_do_not_state_it(spans):
    slices = built([[(1, 4, 0)], spans, [(2, 3, 0)] * 600], levels=True).slices
    assert slices.order is not None
    own = preorder(slices)[1 : 1 + len(spans)]
    depth = slices.row_depth[slices.rows()][own]
    assert [*zip(slices.start[own], slices.end[own], depth, strict=True)] == spans


def test_parents_and_children_at_one_time():
    slices = built([AT_THE_END], levels=True).slices
    first, second, inner, later = range(4)
    assert [parent_of(slices, i) for i in range(4)] == [-1, -1, first, second]
    assert children_of(slices, first).tolist() == [inner]
    assert children_of(slices, second).tolist() == [later]
