"""Gaps in an axis: places on screen and back, against a definition tick by tick."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.render.time_axis import NO_GAPS, Axis, Gaps, XMap, columns_of_span, gaps_of


@st.composite
def some_gaps(draw):
    at = sorted(draw(st.sets(st.integers(0, 60), max_size=6)))
    sizes = [draw(st.integers(1, 9)) for _ in at]
    return Gaps(np.array(at, np.int64), np.cumsum(sizes, dtype=np.int64))


def place(gaps, time, *, is_end=False):
    """The definition: a time and the lengths of the gaps before it."""
    sizes = np.diff(gaps.added, prepend=0)
    before = gaps.at < time if is_end else gaps.at <= time
    return time + int(sizes[before].sum())


TIMES = np.arange(-5, 70)


@pytest.mark.slow
@given(some_gaps())
def test_what_begins_at_a_gap_is_after_it_and_what_ends_there_before_it(gaps):
    starts = [place(gaps, time) for time in TIMES.tolist()]
    ends = [place(gaps, time, is_end=True) for time in TIMES.tolist()]
    assert gaps.places(TIMES).tolist() == [gaps.place(t) for t in TIMES.tolist()] == starts
    assert gaps.end_places(TIMES).tolist() == [gaps.end_place(t) for t in TIMES.tolist()] == ends


@pytest.mark.slow
@given(some_gaps())
def test_each_place_has_a_first_and_a_last_time(gaps):
    wide = np.arange(-200, 200)
    starts, ends = gaps.places(wide), gaps.end_places(wide)
    for where in range(-5, 120):
        places = np.array([where])
        assert gaps.first_at(places).tolist() == [wide[starts >= where].min()]
        assert gaps.last_at(where) == wide[starts <= where].max()
        assert gaps.first_end_at(places).tolist() == [wide[ends >= where].min()]
        assert gaps.last_end_at(where) == wide[ends <= where].max()


@pytest.mark.slow
@given(
    some_gaps(),
    st.integers(-20, 60),
    st.integers(1, 200),
    st.integers(1, 50),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(5, 2)]),
)
def test_columns_are_those_of_the_places_on_screen(gaps, t0, span, width, rate):
    axis = Axis(rate, 3)
    xmap = XMap(t0, t0 + span, width, gaps=gaps).on(axis)
    own = gaps.on(axis, rate, 3)
    flat = XMap(t0, t0 + span, width).on(axis)
    assert xmap.pixel_of(TIMES).tolist() == flat.pixel_of(own.places(TIMES)).tolist()
    assert xmap.end_pixel_of(TIMES).tolist() == flat.pixel_of(own.end_places(TIMES)).tolist()
    assert xmap.x_of(TIMES).tolist() == flat.x_of(own.places(TIMES)).tolist()
    assert xmap.end_x_of(TIMES).tolist() == flat.x_of(own.end_places(TIMES)).tolist()
    both = [xmap.pixel_of(TIMES).tolist(), xmap.end_pixel_of(TIMES).tolist()]
    assert xmap.span_pixel_of(TIMES, TIMES).tolist() == both
    many = np.resize(TIMES, 4000)
    assert np.array_equal(xmap.span_pixel_of(many, many)[:, : len(TIMES)], both)
    x = [xmap.x_of(TIMES).tolist(), xmap.end_x_of(TIMES).tolist()]
    assert xmap.span_x_of(TIMES, TIMES).tolist() == x
    for column, (edge, end_edge) in enumerate(zip(xmap.edges, xmap.end_edges, strict=True)):
        assert (own.places(np.array([edge - 1, edge])) < flat.edges[column]).tolist() == [
            True,
            False,
        ]
        ends = own.end_places(np.array([end_edge - 1, end_edge]))
        assert (ends < flat.edges[column]).tolist() == [True, False]


def test_a_view_without_gaps_is_as_before():
    plain, same = XMap(10, 90, 40), XMap(10, 90, 40, gaps=NO_GAPS)
    assert same.edges.tolist() == plain.edges.tolist() == same.end_edges.tolist()
    assert same.times == (10, 90)
    assert same.last_end == 90


def test_a_file_of_another_rate_has_gaps_of_whole_ticks_at_its_next_tick():
    gaps = Gaps(np.array([10, 25]), np.array([9, 14]))
    own = gaps.on("file", Fraction(4), 2)
    assert own.at.tolist() == [2, 6]  # (10 - 2) / 4, and (25 - 2) / 4 rounded up
    assert own.added.tolist() == [2, 3]
    assert gaps.on("file", Fraction(4), 2) is own


def test_gaps_at_one_time_are_one_gap_and_empty_ones_are_none():
    gaps = gaps_of(np.array([5, 5, 8, 9]), np.array([2, 3, 3, 4]))
    assert (gaps.at.tolist(), gaps.added.tolist()) == ([5, 9], [3, 4])
    assert len(gaps_of(np.empty(0, np.int64), np.empty(0, np.int64))) == 0


def test_a_part_of_the_columns_begins_after_the_gaps_before_it():
    """A plan of 100 ticks, drawn from the start of its job at 100 ns, behind a gap of 50 ns."""
    xmap = XMap(150, 250, 100, gaps=Gaps(np.array([100]), np.array([50])))
    part = xmap.part(0, 100, Fraction(1), Fraction(100) + xmap.gap_before(100))
    assert part.pixel_of(np.array([0, 50, 99])).tolist() == [0, 50, 99]


def test_what_is_dragged_from_a_gap_begins_after_it():
    xmap = XMap(0, 100, 100, gaps=Gaps(np.array([40]), np.array([20])))
    assert (xmap.t_of(50), xmap.t_from(50)) == (39, 40)
    assert (xmap.t_of(70), xmap.t_from(70)) == (50, 50)
    assert columns_of_span(xmap, (30, 40)) == (30, 40)
    assert columns_of_span(xmap, (40, 40)) == (60, 60)
