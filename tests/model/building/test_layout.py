"""Rows of a trace with many small tracks, as if each track were a trace of its own."""

import numpy as np
import pytest

from viewer.model.building.builder import TraceBuilder
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
    by_order = np.argsort(s.order)
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
