"""Which tracks are blank, and what they have out of view, beside a walk over every slice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.render import off_screen as off
from viewer.render.arrangement import TrackView, table_of, track_list
from viewer.render.layout import COMPACT_ROW, ROW_HEIGHT
from viewer.render.off_screen import OffScreen, TracksInView, off_screen
from viewer.render.raster import RowRaster
from viewer.render.stacking import stack
from viewer.render.time_axis import Axis, XMap

Spans = list[tuple[int, int]]


def trace_of(*tracks: tuple[str, Spans]) -> Trace:
    """One track per process and list of (start, end)."""
    builder = TraceBuilder("t.csv", "test", "", Clock())
    for number, (process, spans) in enumerate(tracks):
        times = np.array(spans, np.int64).reshape(-1, 2)
        builder.add(
            track=builder.track(process, f"t{number}"),
            start=times[:, 0],
            end=times[:, 1],
            name=builder.intern("a"),
            key=np.full(len(times), builder.key(KeyKind.PLAIN, "a"), np.uint32),
        )
    return builder.build()


def tracks_of(trace: Trace):
    return track_list([table_of(trace, [track.thread for track in trace.tracks])])


def raster_of(trace: Trace) -> RowRaster:
    return RowRaster.of(trace.slices, np.zeros(len(trace.slices), np.uint8))


def sides_of(spans: Spans, t0: int, t1: int, width: int = 100):
    trace = trace_of(("p", spans))
    return off_screen(raster_of(trace), tracks_of(trace), (0, 0), XMap(t0, t1, width))


def blanks(trace: Trace, xmap: XMap, *, view=None, lines=(0, 1000), least=COMPACT_ROW):
    """The blank tracks of a trace as (track, whether there is room for a chip)."""
    view = view or TrackView()
    listed = tracks_of(trace)
    found = TracksInView(stack(listed, view), lines, least)
    traces = [(raster_of(trace), Axis())]
    first = list(found.blank(listed, traces, xmap))
    assert list(found.blank(listed, traces, xmap)) == first  # also with slices that it knows
    return [(one.track, one.band >= 0) for one in first]


def test_both_sides_of_a_blank_track_are_counted():
    """Nested slices and zero-length ones count too."""
    spans = [(0, 100), (10, 40), (60, 60), (150, 180), (900, 1000), (950, 960), (1200, 1200)]
    sides = sides_of(spans, 300, 800)
    assert (sides.before.count, sides.before.first, sides.before.last) == (4, 0, 180)
    assert (sides.after.count, sides.after.first, sides.after.last) == (3, 900, 1200)


@pytest.mark.parametrize(
    "spans",
    [[(0, 1000)], [(350, 360)], [(400, 400)], [(0, 301), (2, 3)], [(0, 10), (799, 900)], []],
    ids=["around", "inside", "zero-length", "its end", "its start", "no slices"],
)
def test_a_track_that_shows_something_or_has_nothing_is_not_blank(spans):
    assert sides_of(spans, 300, 800, width=500) is None


def test_what_ends_where_the_view_starts_and_starts_where_it_ends_is_out_of_view():
    sides = sides_of([(0, 300), (800, 900)], 300, 800, width=500)
    assert (sides.before.count, sides.after.count) == (1, 1)


@pytest.mark.slow
@given(
    spans=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), min_size=1, max_size=12),
    t0=st.integers(-5, 70),
    span=st.integers(1, 30),
)
def test_counts_and_extents_are_those_of_a_walk(spans, t0, span):
    slices = [(start, start + length) for start, length in spans]
    trace = trace_of(("p", slices))
    xmap = XMap(t0, t0 + span, span)
    raster = raster_of(trace)
    sides = off_screen(raster, tracks_of(trace), (0, 0), xmap)
    # A column is a tick wide: a slice is drawn in the columns of its ticks, or where it starts.
    rows = range(len(trace.slices.row_ptr) - 1)
    drawn = raster.draw(list(rows), xmap).any() or any(
        len(raster.zero_marks(r, xmap).x) for r in rows
    )
    assert (sides is None) == bool(drawn)
    if sides is None:
        return
    left = [one for one in slices if one[0] < t0]
    right = [one for one in slices if one[0] >= t0 + span]
    for side, own in ((sides.before, left), (sides.after, right)):
        if not own:
            assert side is None
            continue
        extent = min(start for start, _ in own), max(end for _, end in own)
        assert (side.count, (side.first, side.last)) == (len(own), extent)
        numbers = [i for begin, end in side.parts for i in range(begin, end)]
        found = sorted((int(trace.slices.start[i]), int(trace.slices.end[i])) for i in numbers)
        assert found == sorted(own)


def test_times_are_ticks_of_the_file():
    trace = trace_of(("p", [(0, 10)]))
    here = XMap(5000, 6000, 100).on(Axis(ns_per_tick=Axis().ns_per_tick * 100, offset_ns=1000))
    sides = off_screen(raster_of(trace), tracks_of(trace), (0, 0), here)
    assert sides.before == OffScreen(1, 0, 10, ((0, 1),))
    assert sides.after is None


def test_only_the_topmost_blank_track_of_each_process_is_named():
    here, away = [(50, 60)], [(0, 1)]
    trace = trace_of(("p", here), ("p", away), ("p", away), ("q", away), ("q", here), ("r", here))
    assert blanks(trace, XMap(40, 70, 100)) == [(1, True), (3, True)]


def test_without_room_for_a_chip_the_next_blank_track_has_it():
    """Marks alone are on a strip that is too low."""
    marks, away = [(0, 0)], [(0, 1)]
    trace = trace_of(("p", marks), ("p", away), ("p", away))
    assert blanks(trace, XMap(40, 70, 100)) == [(0, False), (1, True)]
    assert blanks(trace, XMap(40, 70, 100), least=ROW_HEIGHT + 1) == [
        (0, False), (1, False), (2, False)
    ]  # fmt: skip


def test_a_row_that_is_partly_scrolled_out_has_no_room():
    away = [(0, 1)]
    trace = trace_of(("p", away), ("p", away))
    layout = stack(tracks_of(trace), TrackView())
    top = int(layout.y[1])
    assert blanks(trace, XMap(40, 70, 100), lines=(top + 1, 1000)) == [(0, False), (1, True)]
    assert blanks(trace, XMap(40, 70, 100), lines=(0, top + ROW_HEIGHT - 1)) == [(0, False)]


def test_the_pinned_tracks_are_apart_and_cover_the_others():
    away = [(0, 1)]
    trace = trace_of(("p", away), ("p", away), ("p", away))
    view = TrackView(pinned=((0, 1),))
    assert blanks(trace, XMap(40, 70, 100), view=view) == [(1, True), (0, True)]
    layout = stack(tracks_of(trace), view)
    row = int(layout.y[layout.band_of(0, int(layout.row[layout.track == 0][0]))])
    scroll = row - layout.pinned_height + 5  # the first 5 px of that row are below the section
    traces = [(raster_of(trace), Axis())]

    def blank(scrolled):
        found = TracksInView(scrolled, (scroll, scroll + 1000), COMPACT_ROW)
        tracks = found.blank(tracks_of(trace), traces, XMap(40, 70, 100))
        return [(one.track, one.band >= 0) for one in tracks]

    without_header = layout.scrolled(scroll, has_header=False)
    assert blank(without_header) == [(1, True), (0, False), (2, True)]
    # The header of the process covers all of that row, and 1 px of the next one.
    assert blank(layout.scrolled(scroll)) == [(1, True), (2, False)]


def test_a_folded_track_is_blank_only_if_its_folded_rows_are():
    """Slices that overlap without nesting are on other rows."""
    trace = trace_of(("p", [(0, 30), (20, 60)]))
    assert off_screen(raster_of(trace), tracks_of(trace), (0, 0), XMap(35, 39, 4)) is None
    view = TrackView(collapsed=frozenset({(0, 0)}))
    assert blanks(trace, XMap(35, 39, 4), view=view) == []
    assert blanks(trace, XMap(65, 69, 4), view=view) == [(0, True)]


def test_a_known_slice_that_left_the_view_makes_a_track_blank():
    trace = trace_of(("p", [(50, 60), (500, 510)]))
    listed, traces = tracks_of(trace), [(raster_of(trace), Axis())]
    found = TracksInView(stack(listed, TrackView()), (0, 1000), COMPACT_ROW)
    seen = [
        len(list(found.blank(listed, traces, XMap(t0, t0 + 40, 40))))
        for t0 in (30, 45, 59, 60, 300, 490, 55, 20, 10)
    ]
    assert seen == [0, 0, 0, 1, 1, 0, 0, 0, 1]


@pytest.mark.slow
@given(
    spans=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 9)), min_size=1, max_size=6),
    views=st.lists(st.tuples(st.integers(-20, 330), st.integers(1, 60)), max_size=8),
)
def test_what_is_remembered_of_earlier_views_changes_nothing(spans, views):
    trace = trace_of(("p", [(start, start + length) for start, length in spans]))
    listed, traces = tracks_of(trace), [(raster_of(trace), Axis())]
    layout = stack(listed, TrackView())
    moved = TracksInView(layout, (0, 1000), COMPACT_ROW)
    for t0, span in views:
        xmap = XMap(t0, t0 + span, 10)
        fresh = TracksInView(layout, (0, 1000), COMPACT_ROW)
        assert list(moved.blank(listed, traces, xmap)) == list(fresh.blank(listed, traces, xmap))


def test_the_one_name_of_all_slices(monkeypatch):
    side = OffScreen(5, 0, 9, ((2, 4), (7, 10)))
    codes = np.array([0, 0, 6, 6, 1, 1, 1, 6, 6, 6], np.uint32)
    assert side.sole(codes) == 2
    codes[9] = 1
    assert side.sole(codes) is None
    codes[9] = 6
    monkeypatch.setattr(off, "MOST_COMPARED", 4)
    assert side.sole(codes) is None
