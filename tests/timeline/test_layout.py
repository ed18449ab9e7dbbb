"""The mapping of times to columns, exact at any size, and the stacking of rows."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.model.builder import TraceBuilder
from viewer.model.counters import Counter
from viewer.model.trace import Clock, KeyKind
from viewer.timeline.layout import (
    COUNTER_HEIGHT,
    HEADER_HEIGHT,
    KERNEL_HEIGHT,
    PROCESS_GAP,
    ROW_HEIGHT,
    STRIP_HEIGHT,
    Axis,
    BandKind,
    ProcessSpec,
    RowSpec,
    TrackSpec,
    XMap,
    build,
    specs_of,
)

EPOCH = 1_700_000_000_000_000_000
HOUR = 3_600_000_000_000


@settings(max_examples=200, deadline=None)
@given(
    t0=st.integers(-(2**62), 2**62),
    span=st.integers(1, 5000) | st.integers(1, 2**62),
    width=st.integers(1, 400),
    ratio=st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(625, 12), Fraction(10**9, 999983)])
    | st.fractions(Fraction(1, 10**12), 10**12),
    offset=st.sampled_from([0, -EPOCH, 2**70]),
    data=st.data(),
)
def test_columns_are_the_exact_floor_of_x(t0, span, width, ratio, offset, data):
    xmap = XMap(t0, t0 + span, width, Axis(ratio, offset))

    def exact(tick):
        return Fraction(tick * ratio + offset - t0) * width / span

    near = [xmap.t_of(data.draw(st.integers(0, width))) + d for d in (-1, 0, 1)]
    ticks = [t for t in near if -(2**63) <= t < 2**63]
    expected = [min(max(floor(exact(t)), 0), width) for t in ticks]
    edges = xmap.edges
    if edges[0] > -(2**62) and edges[-1] < 2**62:
        assert xmap.pixel_of(np.array(ticks, np.int64)).tolist() == expected
        for p in (0, width // 2, width):
            assert edges[p] == ceil((Fraction(p * span, width) + t0 - offset) / ratio)


@pytest.mark.parametrize("span", [1, 2, 7, 1000, HOUR])
def test_a_window_at_unix_time_loses_nothing(span):
    xmap = XMap(EPOCH + 13, EPOCH + 13 + span, 1920)
    ticks = np.array([EPOCH + 13, EPOCH + 13 + span], np.int64)
    assert xmap.x_of(ticks).tolist() == [0.0, 1920.0]
    assert xmap.pixel_of(ticks).tolist() == [0, 1920]
    assert xmap.t_of(0) == EPOCH + 13
    assert xmap.t_of(1919.999) == EPOCH + 13 + span - (1 if span < 10**6 else span // 1920000)


def test_zooming_out_and_in_again_does_not_drift():
    tick = EPOCH + 123_456_789
    for span in (HOUR, 10**9, 10**6, 1000, 10, 1):
        xmap = XMap(tick - span // 2, tick - span // 2 + span, 1001)
        (x,) = xmap.pixel_of(np.array([tick]))
        assert x == (span // 2) * 1001 // span


def test_an_axis_places_cycles_on_the_shared_axis():
    axis = Axis(Fraction(5, 4), 1000)
    assert [axis.to_ns(t) for t in (0, 1, 4, -1)] == [1000, 1001, 1005, 998]
    assert [axis.to_ticks_floor(ns) for ns in (1000, 1001, 1005, 999)] == [0, 0, 4, -1]
    xmap = XMap(1000, 1010, 80).on(axis)
    assert xmap.x_of(np.array([0, 4, 8])).tolist() == [0.0, 40.0, 80.0]
    assert xmap.t_of(40) == 4


def test_far_times_keep_their_side_of_the_view():
    xmap = XMap(EPOCH, EPOCH + 1, 100)
    left, right = xmap.x_of(np.array([-(2**63), 2**63 - 1]))
    assert left < 0
    assert right > 100


@pytest.mark.parametrize("bad", [(5, 5, 10), (6, 5, 10), (0, 5, 0)])
def test_an_empty_view_is_refused(bad):
    with pytest.raises(ValueError, match="no view"):
        XMap(*bad)


def test_a_tick_without_length_is_refused():
    with pytest.raises(ValueError, match="cannot last"):
        Axis(Fraction(0))


PROCESSES = [
    ProcessSpec(
        0,
        "a.etdp",
        (
            TrackSpec(0, (RowSpec(0), RowSpec(1), RowSpec(2, KERNEL_HEIGHT, has_zeros=True))),
            TrackSpec(1, (RowSpec(3, has_lengths=False, has_zeros=True),)),
        ),
    ),
    ProcessSpec(1, "b.etdp", (TrackSpec(0, (RowSpec(0),)),)),
]


def stack(layout):
    return [
        (BandKind(int(k)).name, int(t), int(r))
        for k, t, r in zip(layout.kind, layout.trace, layout.row, strict=True)
    ]


def test_bands_follow_each_other_without_holes():
    layout = build(PROCESSES)
    assert stack(layout) == [
        ("PROCESS", 0, -1),
        ("ROW", 0, 0),
        ("ROW", 0, 1),
        ("ROW", 0, 2),
        ("STRIP", 0, 2),
        ("STRIP", 0, 3),
        ("GAP", -1, -1),
        ("PROCESS", 1, -1),
        ("ROW", 1, 0),
    ]
    assert (np.diff(layout.y) == layout.height[:-1]).all()
    expected = 2 * HEADER_HEIGHT + 4 * ROW_HEIGHT + 2 * STRIP_HEIGHT + PROCESS_GAP
    assert layout.total_height == expected
    assert layout.slice_height[3] == KERNEL_HEIGHT


def test_every_line_belongs_to_one_band():
    layout = build(PROCESSES)
    for y in range(layout.total_height):
        band = layout.band_at(y)
        assert layout.y[band] <= y < layout.y[band] + layout.height[band]
    assert layout.band_at(-1) == layout.band_at(layout.total_height) == -1


@pytest.mark.parametrize(
    ("y0", "y1", "bands"),
    [(0, 1, [0]), (25, 27, [0, 1]), (-50, 0, []), (-50, 1, [0]), (900, 999, []), (26, 26, [])],
)
def test_the_bands_of_a_frame_are_those_that_touch_it(y0, y1, bands):
    assert list(build(PROCESSES).bands_between(y0, y1)) == bands


def test_collapsed_parts_keep_a_header_or_the_first_row():
    layout = build(PROCESSES, {(0, 0), (1, "b.etdp"), (9, "gone")})
    assert stack(layout) == [
        ("PROCESS", 0, -1),
        ("ROW", 0, 0),
        ("STRIP", 0, 3),
        ("GAP", -1, -1),
        ("PROCESS", 1, -1),
    ]
    assert layout.band_of(0, 0) == 1
    assert layout.band_of(0, 3, BandKind.STRIP) == 2
    assert layout.band_of(0, 2) == -1


def test_pinned_tracks_come_first_in_their_order():
    layout = build(PROCESSES, pinned=[(1, 0), (0, 1), (7, 7)])
    assert stack(layout)[:3] == [("PROCESS", -1, -1), ("ROW", 1, 0), ("STRIP", 0, 3)]
    assert layout.process[:3].tolist() == [-1, -1, -1]
    assert stack(layout).count(("ROW", 1, 0)) == 1


def test_no_processes_have_no_height():
    layout = build([])
    assert layout.total_height == 0
    assert list(layout.bands_between(0, 100)) == []
    assert layout.band_at(0) == -1


def test_the_rows_of_a_trace_tell_kernels_and_zero_lengths():
    builder = TraceBuilder("a.etdp", "etdump", "", Clock())
    call = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL")
    kernel = builder.key(KeyKind.KERNEL, "native_call_add")
    event = builder.key(KeyKind.DELEGATE_EVENT, "0")
    track = builder.track("a", "forward")
    builder.add(
        track=track,
        start=np.array([0, 1, 10, 15]),
        end=np.array([9, 8, 20, 15]),
        name=0,
        key=np.array([call, kernel, call, event], np.uint32),
        levels=np.array([0, 1, 0, 1], np.int32),
    )
    builder.track("a", "empty")
    (process,) = specs_of(builder.build(), 4)
    assert (process.trace, process.name) == (4, "a")
    assert process.tracks == (
        TrackSpec(0, (RowSpec(0), RowSpec(1, KERNEL_HEIGHT, has_zeros=True))),
        TrackSpec(1, ()),
    )


@pytest.mark.parametrize("t0", [0, -(2**60) - 1])
def test_columns_are_exact_where_floats_are_not(t0):
    """Ticks that differ by one at column borders, in a view whose ticks need 61 bits."""
    xmap = XMap(t0, t0 + 2**61 - 1, 1920)
    borders = xmap.edges[1:-1]
    assert xmap.pixel_of(borders).tolist() == list(range(1, 1920))
    assert xmap.pixel_of(borders - 1).tolist() == list(range(1919))


def test_counters_lie_below_the_tracks_of_their_process_and_fold_with_it():
    nothing = np.empty(0, np.int64)
    counters = [Counter(p, "busy", "%", nothing, nothing) for p in ("b", "a", "gone", "b")]
    builder = TraceBuilder("in.csv", "test", "", Clock())
    for process in ("a", "b"):
        builder.add(
            track=builder.track(process, "t"), start=np.array([0]), end=np.array([9]), name=0,
            key=builder.key(KeyKind.PLAIN, ""),
        )  # fmt: skip
    specs = specs_of(builder.build(), 3, counters)
    assert [spec.counters for spec in specs] == [(1,), (0, 3)]
    layout = build(specs)
    assert [(BandKind(int(k)).name, int(c)) for k, c in zip(
        layout.kind, layout.counter, strict=True)] == [
        ("PROCESS", -1), ("ROW", -1), ("COUNTER", 1), ("GAP", -1),
        ("PROCESS", -1), ("ROW", -1), ("COUNTER", 0), ("COUNTER", 3),
    ]  # fmt: skip
    shown = layout.kind == BandKind.COUNTER
    assert (layout.height[shown] == COUNTER_HEIGHT).all()
    assert (layout.row[shown] == -1).all()
    assert (layout.track[shown] == -1).all()
    assert layout.process[shown].tolist() == [0, 1, 1]
    folded = build(specs, {(3, "b")})
    assert (folded.kind == BandKind.COUNTER).sum() == 1
    pinned = build(specs, pinned=[(3, 1)])
    assert pinned.process[pinned.kind == BandKind.COUNTER].tolist() == [0, 1, 1]
