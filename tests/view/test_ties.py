"""Tied groups zoom together, aligned ones pan together, and nothing drifts apart."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.view.clock_groups import (
    Tie,
    aligned_keys,
    are_in_reach,
    bounds,
    moved_together,
    offset_ns,
    same_place,
    without,
)

SECOND = 10**9
RANGES = st.tuples(st.integers(-SECOND, SECOND), st.integers(1, SECOND)).map(
    lambda given: (given[0], given[0] + given[1])
)
SCALES = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)
MOVES = st.lists(st.tuples(st.sampled_from("abc"), RANGES), min_size=1, max_size=20)


def after(ties, ranges, moved, span):
    """The ranges after one group was given another range."""
    return moved_together(ties, {**ranges, moved: span}, moved, ranges[moved])


def place(tie, span):
    """Where the anchor of a group is on screen, as a share of its span."""
    return Fraction(tie.anchor - span[0], span[1] - span[0])


# -- examples --------------------------------------------------------------------------------------


def test_what_is_not_tied_stays():
    ranges = {"a": (0, 100), "b": (5, 6), "c": (7, 9)}
    assert after({}, ranges, "a", (50, 60)) == {**ranges, "a": (50, 60)}
    tied = {"a": Tie(), "b": Tie()}
    assert after(tied, ranges, "c", (50, 60)) == {**ranges, "c": (50, 60)}
    assert after(tied, ranges, "a", (0, 10))["c"] == (7, 9)


def test_aligned_groups_pan_and_zoom_together():
    ties = {"a": Tie(anchor=1000, reason="by hand"), "b": Tie(anchor=50, reason="by hand")}
    ranges = {"a": (900, 1100), "b": (-50, 150)}
    assert after(ties, ranges, "a", (1000, 1200)) == {"a": (1000, 1200), "b": (50, 250)}
    assert after(ties, ranges, "b", (0, 10)) == {"a": (950, 960), "b": (0, 10)}


def test_an_aligned_group_at_another_scale_has_its_anchor_at_the_same_place():
    ties = {"a": Tie(Fraction(2), 1000), "b": Tie(Fraction(1), 50)}
    moved = after(ties, {"a": (0, 2), "b": (0, 1)}, "a", (800, 1600))
    assert moved["b"] == (-50, 350)
    assert place(ties["a"], moved["a"]) == place(ties["b"], moved["b"]) == Fraction(1, 4)


def test_a_locked_zoom_keeps_the_place_around_which_the_other_was_zoomed():
    ties = {"a": Tie(Fraction(100)), "b": Tie(Fraction(10))}
    ranges = {"a": (0, 100), "b": (500, 510)}
    assert after(ties, ranges, "a", (0, 50))["b"] == (500, 505), "around the left edge"
    assert after(ties, ranges, "a", (50, 100))["b"] == (505, 510), "around the right edge"
    assert after(ties, ranges, "a", (25, 75))["b"] == (502, 507), "around the center"


def test_a_locked_zoom_does_not_pan():
    ties = {"a": Tie(Fraction(100)), "b": Tie(Fraction(10))}
    ranges = {"a": (0, 100), "b": (500, 510)}
    assert after(ties, ranges, "a", (70, 170)) == {"a": (70, 170), "b": (500, 510)}


def test_a_span_that_another_scale_makes_shorter_than_1_ns_is_1_ns():
    ties = {"a": Tie(Fraction(1000)), "b": Tie(Fraction(1))}
    t0, t1 = after(ties, {"a": (0, 1000), "b": (0, 1)}, "a", (0, 10))["b"]
    assert t1 - t0 == 1


def test_a_closed_group_is_ignored():
    ties = {"a": Tie(anchor=0), "b": Tie(anchor=0), "gone": Tie(anchor=5)}
    assert after(ties, {"a": (0, 9), "b": (0, 9)}, "a", (1, 2)) == {"a": (1, 2), "b": (1, 2)}


def test_the_offset_brings_one_anchor_to_the_other():
    ties = {"a": Tie(anchor=1000), "b": Tie(anchor=50), "c": Tie()}
    assert offset_ns(ties, "a", "b") == 950
    assert offset_ns(ties, "b", "a") == -950
    assert offset_ns(ties, "a", "a") == 0
    assert offset_ns(ties, "a", "c") is offset_ns(ties, "a", "d") is None


def test_moments_of_aligned_groups_are_at_the_same_place():
    ties = {"a": Tie(anchor=10), "b": Tie(Fraction(5, 2), 100), "c": Tie()}
    assert same_place(ties, "a", 14, "b") == 110
    assert same_place(ties, "b", 110, "a") == 14
    assert same_place(ties, "a", 14, "c") is None
    assert same_place(ties, "a", 14, "d") is None


def test_one_anchor_is_no_alignment():
    assert aligned_keys({"a": Tie(anchor=0), "b": Tie()}) == []
    assert aligned_keys({"a": Tie(anchor=0), "b": Tie(), "c": Tie(anchor=0)}) == ["a", "c"]


def test_a_single_tie_that_would_remain_is_dropped():
    ties = {"a": Tie(), "b": Tie(), "c": Tie()}
    assert without(ties, {"b"}) == {"a": Tie(), "c": Tie()}
    assert without(ties, {"b", "c"}) == {}
    assert without(ties, set()) == ties


def test_a_single_anchor_that_would_remain_is_dropped_and_the_zoom_stays_tied():
    ties = {"a": Tie(Fraction(2), 7, "by hand"), "b": Tie(Fraction(3), 9, "by hand"), "c": Tie()}
    assert without(ties, {"b"}) == {"a": Tie(Fraction(2)), "c": Tie()}
    assert without(ties, {"c"}) == {"a": ties["a"], "b": ties["b"]}


def test_bounds_cover_what_is_aligned():
    spans = {"a": 1000, "b": 100, "c": 5000}
    assert bounds({}, spans, "a") == (0, 1000)
    ties = {"a": Tie(anchor=10), "b": Tie(anchor=60)}
    assert bounds(ties, spans, "a") == (-50, 1000)
    assert bounds(ties, spans, "b") == (0, 1050)
    assert bounds(ties, spans, "c") == (0, 5000)
    at_half = {"a": Tie(Fraction(1), 0), "b": Tie(Fraction(1, 2), 50)}
    assert bounds(at_half, spans, "a") == (-100, 1000)


def test_a_locked_group_can_be_as_wide_as_the_others():
    spans = {"a": 1000, "b": 100}
    assert bounds({"a": Tie(), "b": Tie()}, spans, "b") == (0, 1000)
    assert bounds({"a": Tie(Fraction(10)), "b": Tie()}, spans, "b") == (0, 100)


def test_ties_are_in_reach_as_long_as_int64_holds_what_they_move():
    spans = {"a": 10, "b": 10}
    far = 2**62 - 10
    assert are_in_reach({"a": Tie(anchor=far), "b": Tie(anchor=0)}, spans)
    assert not are_in_reach({"a": Tie(anchor=far + 1), "b": Tie(anchor=0)}, spans)
    assert not are_in_reach({"a": Tie(), "b": Tie(Fraction(2**62))}, spans)
    assert are_in_reach({}, spans)
    # A closed group moves nothing.
    assert are_in_reach({"closed": Tie(Fraction(2**62)), "b": Tie()}, spans)


def test_the_order_of_ties_does_not_matter_for_bounds():
    spans = {"a": 1000, "b": 100, "c": 1200}
    ties = {"a": Tie(anchor=0), "b": Tie(anchor=60), "c": Tie()}
    turned = dict(reversed(ties.items()))
    assert bounds(ties, spans, "a") == bounds(turned, spans, "a")


# -- properties ------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.fixed_dictionaries({key: st.integers(-SECOND, SECOND) for key in "abc"}),
    st.fixed_dictionaries(dict.fromkeys("abc", SCALES)),
    st.fixed_dictionaries(dict.fromkeys("abc", RANGES)),
    MOVES,
)
def test_aligned_groups_stay_aligned(anchors, scales, ranges, moves):
    """The start is right to 1 ns, which panning back and forth does not add up."""
    ties = {key: Tie(scales[key], anchors[key], "by hand") for key in "abc"}
    for moved, span in moves:
        ranges = after(ties, ranges, moved, span)
        assert ranges[moved] == span
        for key, (t0, t1) in ranges.items():
            factor = scales[key] / scales[moved]
            exact = anchors[key] + (span[0] - anchors[moved]) * factor
            assert abs(t0 - exact) <= Fraction(1, 2), (moved, key)
            length = (span[1] - span[0]) * factor
            assert abs((t1 - t0) - length) <= (Fraction(1, 2) if length >= 1 else 1)


@pytest.mark.slow
@given(
    st.fixed_dictionaries({key: st.integers(-SECOND, SECOND) for key in "ab"}),
    RANGES,
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(-SECOND, SECOND)), max_size=30),
)
def test_panning_at_one_scale_is_exact_and_does_not_drift(anchors, span, pans):
    ties = {key: Tie(anchor=at) for key, at in anchors.items()}
    ranges = after(ties, {"a": span, "b": (0, 1)}, "a", span)
    first = dict(ranges)
    for moved, by in pans:
        t0, t1 = ranges[moved]
        ranges = after(ties, ranges, moved, (t0 + by, t1 + by))
    total = sum(by for _, by in pans)
    assert ranges == {key: (t0 + total, t1 + total) for key, (t0, t1) in first.items()}


@pytest.mark.slow
@given(
    st.fixed_dictionaries(dict.fromkeys("abc", SCALES)),
    st.fixed_dictionaries(dict.fromkeys("abc", RANGES)),
    MOVES,
)
def test_spans_of_locked_zooms_stay_in_proportion(scales, ranges, moves):
    ties = {key: Tie(scale) for key, scale in scales.items()}
    for moved, span in moves:
        ranges = after(ties, ranges, moved, span)
        for key, (t0, t1) in ranges.items():
            length = (span[1] - span[0]) * scales[key] / scales[moved]
            assert abs((t1 - t0) - length) <= (Fraction(1, 2) if length >= 1 else 1)


@given(RANGES, RANGES, st.integers(0, 1000), st.sampled_from([Fraction(1, 3), Fraction(5, 2)]))
def test_a_locked_zoom_keeps_its_moment_to_1_ns(own, other, place_of_zoom, factor):
    """Zoomed around one place, in permille of the width, the other keeps its moment there."""
    t0, t1 = own
    span = t1 - t0
    if span % 1000 or span < 1000:
        t1 = t0 + span * 1000
        span = t1 - t0
    fixed = t0 + span // 1000 * place_of_zoom
    wide = span * factor
    zoomed = fixed - round(wide * place_of_zoom / 1000)
    ties = {"a": Tie(Fraction(span)), "b": Tie(Fraction(other[1] - other[0]))}
    moved = after(ties, {"a": (t0, t1), "b": other}, "a", (zoomed, zoomed + round(wide)))
    share = Fraction(place_of_zoom, 1000)
    before = other[0] + share * (other[1] - other[0])
    now = moved["b"][0] + share * (moved["b"][1] - moved["b"][0])
    # One rounding of the given range, in proportion, and one of the result.
    rounding = 1 + 2 * Fraction(other[1] - other[0], span) / abs(1 - factor)
    assert abs(now - before) <= rounding


@pytest.mark.parametrize("anchor", [None, 7])
def test_a_range_that_does_not_change_moves_nothing(anchor):
    ties = {key: Tie(Fraction(3), anchor) for key in "ab"}
    ranges = {"a": (0, 30), "b": (0, 30)}
    assert after(ties, ranges, "a", (0, 30)) == ranges
