"""Every clock group has a range of its own: at first, after files changed, and tied to others."""

from dataclasses import replace

import pytest

from tests.builders.clocked_traces import HOST, clocked_trace, groups_of
from tests.builders.inference_trace import inference_trace
from viewer.model.inference_views import Inferences
from viewer.view.clock_groups import Tie
from viewer.view.state import Area, Bookmark, SliceRef, StripView, ViewState
from viewer.view.visible_ranges import (
    adapted,
    axis_moves,
    everything,
    first_views,
    limited_range,
    marks_on,
    opened,
    reset,
    restored,
    revealed,
    tied,
    with_axes_moved,
    with_ranges,
)

CONV = [("conv", 50), ("add", 50)]
A = inference_trace("a", [(0, CONV), (100, CONV), (200, CONV)])
B = inference_trace("b", [(7, [("conv", 400)]), (407, [("conv", 600)])])
# An inference of 100 ns after a load of 900 ns.
LOADED = inference_trace("loaded", [(900, CONV)], load=900)


@pytest.fixture
def two():
    return groups_of(A, B)


def test_each_group_has_its_first_view():
    groups, traces = groups_of(A, LOADED)
    views = first_views(groups, traces)
    assert (views["a"].t0, views["a"].t1, views["a"].run) == (-6, 306, None)
    assert (views["loaded"].t0, views["loaded"].t1) == (898, 1002)
    assert views["loaded"].note == "Showing run 1 (skipping load)"


def test_a_reset_activates_the_first_group_and_releases_all(two):
    state = ViewState(clock="b", ties={"a": Tie(), "b": Tie()}, run=(1, 0))
    shown, note = reset(state, *two)
    assert (shown.clock, shown.t0, shown.t1, shown.run) == ("a", -6, 306, None)
    assert (shown.ranges, shown.ties, note) == ({"b": (-20, 1020)}, {}, "")


def test_a_reset_states_why_the_first_group_is_not_shown_from_start_to_end():
    shown, note = reset(ViewState(), *groups_of(LOADED, A))
    assert (shown.clock, shown.run, note) == ("loaded", (0, 1), "Showing run 1 (skipping load)")


def test_an_opened_group_gets_its_first_view_and_the_others_stay(two):
    state = ViewState(5, 6, "a")
    shown = opened(state, *two)
    assert shown.all_ranges == {"a": (5, 6), "b": (-20, 1020)}
    assert shown.clock == "a"


def test_a_closed_group_takes_its_range_and_ties_with_it_but_not_its_bookmarks():
    mark = Bookmark(3, 4, clock="b")
    ties = {"a": Tie(anchor=1), "b": Tie(anchor=2)}
    state = ViewState(5, 6, "b", {"a": (1, 2)}, ties, bookmarks=(mark,))
    shown = opened(state, *groups_of(A))
    assert (shown.clock, shown.all_ranges, shown.ties) == ("a", {"a": (1, 2)}, {})
    assert shown.bookmarks == (mark,)


def test_everything_shows_every_axis_from_start_to_end(two):
    groups, _ = two
    state = ViewState(5, 6, "b", {"a": (1, 2)}, {"a": Tie(), "b": Tie()})
    shown = everything(state, groups)
    assert shown.all_ranges == {"a": (-6, 306), "b": (-20, 1020)}
    assert (shown.clock, shown.ties) == ("b", {})


def test_a_range_is_limited_to_the_axis_of_its_group(two):
    groups, _ = two
    state = ViewState(0, 10, "a", {"b": (0, 10)})
    assert limited_range(state, groups, "a", (-500, -400)) == (-30, 70)
    assert limited_range(state, groups, "b", (-500, -400)) == (-100, 0)
    assert limited_range(state, groups, "a", (-5000, 5000)) == (-30, 330)


def test_an_aligned_group_can_show_what_it_is_aligned_with(two):
    groups, _ = two
    state = ViewState(0, 10, "a", {"b": (0, 10)}, {"a": Tie(anchor=0), "b": Tie(anchor=400)})
    # The other axis goes from -400 to 600 here, plus a tenth.
    assert limited_range(state, groups, "a", (-5000, 5000)) == (-500, 700)
    assert limited_range(state, groups, "b", (-5000, 5000)) == (-100, 1100)


def test_a_saved_view_is_limited(two):
    state = ViewState(-9000, 9000, "b", {"a": (900, 950), "gone": (0, 1)})
    shown = restored(state, *two)
    assert shown.all_ranges == {"b": (-100, 1100), "a": (280, 330)}


def test_a_slice_out_of_view_is_shown_in_its_group(two):
    state = ViewState(0, 20, "a", {"b": (7, 8)}, strips=StripView(collapsed=frozenset("ab")))
    seen = revealed(state, *two, SliceRef(0, 5))
    assert (seen.t0, seen.t1) == (245, 265), "its start, as it is longer than the view"
    wide = revealed(replace(state, t1=100), *two, SliceRef(0, 5))
    assert (wide.t0, wide.t1) == (225, 325), "around its center"
    assert seen.ranges == {"b": (7, 8)}
    assert seen.strips.collapsed == {"b"}
    visible = replace(state, t0=240, t1=260)
    assert (revealed(visible, *two, SliceRef(0, 5)).t0) == 240


def test_tied_groups_follow_the_active_one():
    ties = {"a": Tie(anchor=0), "b": Tie(anchor=100)}
    before = ViewState(0, 10, "a", {"b": (100, 110), "c": (5, 6)}, ties)
    after = tied(before, replace(before, t0=3, t1=23))
    assert after.all_ranges == {"a": (3, 23), "b": (103, 123), "c": (5, 6)}


def test_nothing_follows_an_untied_group_a_new_alignment_or_an_activation():
    ties = {"a": Tie(anchor=0), "b": Tie(anchor=100)}
    before = ViewState(0, 10, "a", {"b": (100, 110)}, ties)
    for after in (
        replace(before, ties={}, t0=3),
        before.on("b"),
        replace(before, query="conv"),
    ):
        assert tied(before, after) is after
    free = replace(before.on("c"), t0=5)
    assert tied(before, free) is free


def test_activating_a_group_and_moving_it_moves_the_tied_ones():
    before = ViewState(0, 10, "a", {"b": (100, 110)}, {"a": Tie(anchor=0), "b": Tie(anchor=100)})
    after = tied(before, replace(before.on("b"), t0=101, t1=111))
    assert after.all_ranges == {"a": (1, 11), "b": (101, 111)}


def test_ranges_are_given_by_key():
    state = ViewState(0, 10, "a", {"b": (1, 2)})
    assert with_ranges(state, {"b": (3, 4)}) == replace(state, ranges={"b": (3, 4)})
    assert with_ranges(state, {"a": (3, 4)}) == replace(state, t0=3, t1=4)


def test_bookmarks_of_a_group_are_found_by_number():
    marks = tuple(Bookmark(0, 0, clock=clock) for clock in "abca")
    assert marks_on(ViewState(bookmarks=marks), "a") == [0, 3]


# -- the start of an axis --------------------------------------------------------------------------

LATE, EARLY = clocked_trace("late", HOST, (10, 12)), clocked_trace("early", HOST, (4, 5))


def test_an_earlier_file_moves_the_times_of_its_clock():
    assert axis_moves(groups_of(LATE, A)[1], groups_of(LATE, A, EARLY)[1]) == {"torq host": 6000}
    assert axis_moves(groups_of(EARLY, A)[1], groups_of(EARLY, A, LATE)[1]) == {}
    # Nothing is known of a clock of which no file is left.
    assert axis_moves(groups_of(LATE)[1], groups_of(EARLY)[1]) == {}


def test_a_view_shows_and_marks_the_same_moments_of_a_moved_axis():
    groups, _ = groups_of(LATE, A, EARLY)
    state = ViewState(
        t0=10, t1=20, clock="a", ranges={"torq host": (0, 5)},
        ties={"a": Tie(anchor=1), "torq host": Tie(anchor=2, reason="by hand")},
        area=Area(1, 3, frozenset({(0, 0)})), measured=(1, 1), measured_on="torq host",
        bookmarks=(Bookmark(1, 2, clock="a"), Bookmark(1, 2, clock="torq host")),
    )  # fmt: skip
    moved = with_axes_moved(state, groups, {"torq host": 100})
    assert moved == replace(
        state, ranges={"torq host": (100, 105)},
        ties={"a": Tie(anchor=1), "torq host": Tie(anchor=102, reason="by hand")},
        area=Area(101, 103, frozenset({(0, 0)})), measured=(101, 101),
        bookmarks=(Bookmark(1, 2, clock="a"), Bookmark(101, 102, clock="torq host")),
    )  # fmt: skip
    # Aligned inferences start at 0 on every axis, but bookmarks are of those as they ran.
    aligned = replace(state, inferences=Inferences.ALIGNED)
    moved = with_axes_moved(aligned, groups, {"torq host": 100})
    assert (moved.all_ranges, moved.area) == (aligned.all_ranges, aligned.area)
    assert moved.bookmarks[1].t0 == 101


def test_an_earlier_view_gets_the_ranges_of_groups_that_came_later(two):
    past = ViewState(t0=3, t1=4, clock="a")
    now = ViewState(t0=5, t1=6, clock="b", ranges={"a": (0, 1)})
    assert adapted(past, now, two[0], {}) == replace(past, ranges={"b": (5, 6)})
