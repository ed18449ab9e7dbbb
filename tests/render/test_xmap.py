"""The mapping of times to columns, exact at any size."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.render.time_axis import Axis, XMap

EPOCH = 1_700_000_000_000_000_000
HOUR = 3_600_000_000_000


@pytest.mark.slow
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


@given(
    t0=st.integers(-(10**18), 10**18),
    span=st.integers(1, 10**13),
    width=st.integers(1, 4000),
    share=st.integers(-20, 120),
)
def test_the_column_of_one_time_is_that_of_many(t0, span, width, share):
    xmap, time = XMap(t0, t0 + span, width), t0 + span * share // 100
    assert [xmap.column_of(time)] == xmap.pixel_of(np.array([time])).tolist()


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


@pytest.mark.parametrize("t0", [0, -(2**60) - 1])
def test_columns_are_exact_where_floats_are_not(t0):
    """Ticks that differ by one at column borders, in a view whose ticks need 61 bits."""
    xmap = XMap(t0, t0 + 2**61 - 1, 1920)
    borders = xmap.edges[1:-1]
    assert xmap.pixel_of(borders).tolist() == list(range(1, 1920))
    assert xmap.pixel_of(borders - 1).tolist() == list(range(1919))


@pytest.mark.slow
@given(
    t0=st.integers(-(10**12), 10**12),
    span=st.integers(1, 10**9),
    width=st.integers(1, 60),
    ratio=st.fractions(Fraction(1, 50), 50),
    zero=st.fractions(-(10**6), 10**6, max_denominator=999),
    data=st.data(),
)
def test_a_part_of_the_columns_has_the_edges_that_they_have_in_the_view(
    t0, span, width, ratio, zero, data
):
    """Also for a file whose tick 0 is between two nanoseconds."""
    first = data.draw(st.integers(0, width - 1))
    last = data.draw(st.integers(first + 1, width))
    part = XMap(t0, t0 + span, width).part(first, last, ratio, zero)
    edges = [ceil((t0 + Fraction(p * span, width) - zero) / ratio) for p in range(first, last + 1)]
    assert part.edges.tolist() == edges
