"""Counters as pixels, against looking at every tick of every column."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.trace_attributes import Counter
from viewer.render.frame import CounterColors, CounterRaster, stamp
from viewer.render.time_axis import Axis, XMap

AREA, PEAK, LINE, GROUND = 1, 2, 3, 4
COLORS = CounterColors(AREA, PEAK, LINE, GROUND)


def raster_of(*steps):
    """A counter from (tick, value)."""
    tick = np.array([t for t, _ in steps], np.int64)
    value = np.array([v for _, v in steps], np.float64)
    return CounterRaster.of(Counter("p", "c", "", tick, value))


def picture(raster, xmap, height=8, *, lines=8, y=0):
    image = np.zeros((lines, xmap.width), np.uint32)
    stamp(image, y, height, raster, xmap, COLORS)
    return image


def seen(steps, xmap):
    """(greatest, mean) of each column by definition: of the whole ticks in it, of its left edge if
    there are none."""

    def value(tick):
        return next((v for t, v in reversed(steps) if t <= tick), 0)

    columns = []
    left = Fraction(xmap.t0 - xmap.axis.offset_ns) / xmap.axis.ns_per_tick
    for p in range(xmap.width):
        first, last = (-(-(left + q * xmap.ticks_per_pixel) // 1) for q in (p, p + 1))
        values = [value(t) for t in range(int(first), int(last))] or [value(int(first) - 1)]
        columns.append((max(values), sum(map(Fraction, values)) / len(values)))
    return columns


@pytest.mark.slow
@given(
    changes=st.dictionaries(st.integers(-60, 120), st.integers(-9, 9), max_size=40),
    t0=st.integers(-80, 80),
    span=st.integers(1, 200),
    width=st.integers(1, 50),
    ratio=st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(1, 3), Fraction(20)]),
)
def test_every_column_has_its_greatest_value_and_its_mean(changes, t0, span, width, ratio):
    steps = sorted(changes.items())
    xmap = XMap(t0, t0 + span, width, Axis(ratio))
    raster = raster_of(*steps)
    greatest, mean = raster.columns(xmap)
    expected = seen(steps, xmap)
    assert greatest.tolist() == [g for g, _ in expected]
    assert mean == pytest.approx([float(m) for _, m in expected])
    for x in range(width):
        assert raster.at(x, xmap) == (greatest[x], mean[x])
    assert raster.at(-1, xmap) == raster.at(width, xmap) == (0, 0)


def test_a_tick_of_a_long_trace_is_seen_at_any_zoom():
    """One spike of one tick among a hundred thousand changes."""
    n = 100_000
    tick = np.arange(n, dtype=np.int64) * 1000
    value = np.arange(n) % 3 + 1.0
    spike = 54_321_500
    at = int(np.searchsorted(tick, spike))
    tick = np.insert(tick, at, [spike, spike + 1])
    value = np.insert(value, at, [90.0, 1.0])
    raster = CounterRaster.of(Counter("p", "c", "", tick, value))
    for span in (10**8, 10**6, 1000, 7):
        xmap = XMap(spike - span // 2, spike - span // 2 + span, 500)
        greatest, mean = raster.columns(xmap)
        (column,) = xmap.pixel_of(np.array([spike]))
        assert greatest[column] == 90
        assert (greatest == 90).sum() == max(500 // span, 1)
        assert (mean <= greatest).all()


def test_an_area_stands_on_the_ground_and_has_a_line_around_it():
    raster = raster_of((2, 4), (5, 8), (6, 0))
    assert picture(raster, XMap(0, 8, 8)).tolist() == [
        [0, 0, 0, 0, 0, 3, 0, 0],
        [0, 0, 0, 0, 0, 3, 0, 0],
        [0, 0, 0, 0, 0, 3, 0, 0],
        [0, 0, 0, 0, 0, 3, 0, 0],
        [0, 0, 3, 3, 3, 3, 0, 0],
        [0, 0, 3, 1, 1, 3, 0, 0],
        [0, 0, 3, 1, 1, 3, 0, 0],
        [4, 4, 3, 1, 1, 3, 4, 4],
    ]


def test_where_values_mix_the_mean_is_darker_below_the_greatest():
    """Of ten ticks a column one has 8: a spike of which the mean is a tenth."""
    raster = raster_of(*((t, 8.0 if t % 10 == 0 else 0.0) for t in range(50) if t % 10 < 2))
    column = picture(raster, XMap(0, 50, 5))[:, 2].tolist()
    assert column == [LINE, PEAK, PEAK, PEAK, PEAK, PEAK, PEAK, AREA]


def test_whatever_is_above_nothing_has_a_line_of_pixels():
    image = picture(raster_of((0, 1), (1, 1e9), (2, 1e-9), (3, 0)), XMap(0, 4, 4))
    assert (image != 0).sum(axis=0).tolist() == [1, 8, 1, 1]
    assert image[-1].tolist() == [LINE, AREA, LINE, GROUND]


@pytest.mark.parametrize("y", [-20, -9, -8, -7, -3, 3, 6, 7, 8, 20])
def test_what_lies_outside_of_the_image_is_cut_off(y):
    raster, xmap = raster_of((2, 4), (5, 8), (6, 0)), XMap(0, 8, 8)
    whole = np.zeros((60, 8), np.uint32)
    stamp(whole, 20 + y, 8, raster, xmap, COLORS)
    assert picture(raster, xmap, lines=10, y=y).tolist() == whole[20:30].tolist()


def test_a_counter_without_a_value_is_its_ground():
    for raster in (raster_of(), raster_of((3, 0))):
        assert raster.top == 0
        assert set(picture(raster, XMap(0, 8, 8))[-1].tolist()) == {GROUND}
        assert not picture(raster, XMap(0, 8, 8))[:-1].any()
        assert raster.at(3, XMap(0, 8, 8)) == (0, 0)


def test_far_ticks_do_not_overflow():
    far = 2**63 - 1
    raster = raster_of((-far, 2), (0, 4), (far, 0))
    greatest, mean = raster.columns(XMap(-far - 1, far, 2))
    assert greatest.tolist() == [2, 4]
    assert mean == pytest.approx([2, 4])


def test_values_below_0_stand_on_the_least_of_them():
    raster, xmap = raster_of((1, -4), (2, 4), (3, -2), (4, 0)), XMap(0, 5, 5)
    assert (raster.bottom, raster.top) == (-4, 4)
    assert raster.columns(xmap)[0].tolist() == [0, -4, 4, -2, 0]
    assert (picture(raster, xmap) != 0).sum(axis=0).tolist() == [4, 1, 8, 2, 4]
