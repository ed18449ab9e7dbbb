"""Which moments of clock groups are anchors, and the view that has them at one place on screen."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.clocked_traces import groups_of
from tests.builders.inference_trace import inference_trace
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import plain_spaces
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.view.alignment import (
    BY_HAND,
    Anchor,
    aligned,
    alignment_text,
    at_same_scale,
    following_run,
    mark_anchors,
    run_anchors,
    run_of_view,
    shifted,
    slice_anchors,
    with_zooms_locked,
)
from viewer.view.clock_groups import Tie, aligned_keys
from viewer.view.state import Bookmark, SliceRef, StripView, ViewState
from viewer.view.visible_ranges import limited_range, opened, tied

CONV = [("conv", 50), ("add", 30), ("conv", 20)]
# Three inferences of 100 ns, 1000 ns apart, after a load of 500 ns; the axis begins with the load.
A = inference_trace("a", [(1000 * n, CONV) for n in (1, 2, 3)], load=500)
# Two slower inferences; the second has one conv less. The axis begins at 40.
B = inference_trace(
    "b", [(40, [("add", 10), ("conv", 390), ("conv", 200)]), (940, [("conv", 590), ("end", 10)])]
)
NO_RUNS = inference_trace("c", [], load=70)


def state_of(groups, traces):
    return opened(ViewState(), groups, traces)


def starts(anchors):
    return {key: anchor.at_ns for key, anchor in anchors.items()}


def slice_of(shown, label, start):
    return next(
        i for i in range(len(shown.trace.slices))
        if shown.label(i) == label and shown.span_ns(i)[0] == start
    )  # fmt: skip


# -- inferences ------------------------------------------------------------------------------------


def test_inferences_of_one_number_are_anchors():
    groups, traces = groups_of(A, B, NO_RUNS)
    anchors = run_anchors(groups, traces, 0, 2)  # the load is run 0
    assert starts(anchors) == {"a": 2000, "b": 900}
    assert anchors["b"] == Anchor(900, "start of run 2", 600)
    assert starts(run_anchors(groups, traces, 0, 3)) == {"a": 3000}
    assert starts(run_anchors(groups, traces, 1, 0)) == {"a": 1000, "b": 0}


def test_inferences_of_one_method_are_preferred():
    methods = [
        inference_trace("b", [(0, CONV)], domain="boot", method="encode"),
        inference_trace("c", [(700, CONV)], domain="boot", method="decode"),
    ]
    decode = inference_trace("a", [(5, CONV)], method="decode")
    assert starts(run_anchors(*groups_of(decode, *methods), 0, 0)) == {"a": 0, "boot": 700}
    other = inference_trace("a", [(5, CONV)], method="forward")
    assert starts(run_anchors(*groups_of(other, *methods), 0, 0)) == {"a": 0, "boot": 0}


def test_an_inference_that_did_not_finish_is_an_anchor():
    builder = TraceBuilder("cut", "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("forward")
    for start in (10, 500):
        builder.add(
            track=track, start=np.array([start]), end=np.array([start + 9]),
            name=builder.intern("conv"), key=builder.key(KeyKind.PLAIN, "conv"),
        )  # fmt: skip
        builder.run(
            RunKind.INFERENCE, "forward", track, scope, start, start + 9, finished=start == 10
        )
    assert starts(run_anchors(*groups_of(A, builder.build()), 0, 2)) == {"a": 2000, "cut": 490}


def test_the_inference_is_the_picked_one_or_that_in_view_or_the_first_that_does_not_warm_up():
    warm = inference_trace("a", [(1000 * n, CONV) for n in range(1, 9)], load=500)
    groups, traces = groups_of(warm, B)
    assert [run.warms_up for run in warm.runs[:4]] == [False, True, True, False]
    state = replace(state_of(groups, traces), t0=-10, t1=9000)
    assert run_of_view(state, groups, traces) == (0, 3)
    assert run_of_view(replace(state, t0=1990, t1=2110), groups, traces) == (0, 2)
    assert run_of_view(replace(state, t0=1990, t1=2110, run=(1, 1)), groups, traces) == (1, 1)
    in_b = replace(state.on("b"), t0=880, t1=1510)
    assert run_of_view(in_b, groups, traces) == (1, 1)


def test_without_inferences_in_the_active_group_it_is_one_of_another_or_none():
    groups, traces = groups_of(NO_RUNS, B)
    assert run_of_view(state_of(groups, traces), groups, traces) == (1, 0)
    groups, traces = groups_of(NO_RUNS)
    assert run_of_view(state_of(groups, traces), groups, traces) is None


# -- operators -------------------------------------------------------------------------------------


def test_the_slice_of_an_operator_is_at_the_same_place_in_the_same_inference():
    groups, traces = groups_of(A, B, NO_RUNS)
    second = slice_of(traces[0], "conv", 1080)
    anchors = slice_anchors(groups, traces, SliceRef(0, second))
    assert starts(anchors) == {"a": 1080, "b": 400}
    assert {anchor.reason for anchor in anchors.values()} == {"start of “conv”"}
    first_of_second_run = slice_of(traces[0], "conv", 2000)
    assert starts(slice_anchors(groups, traces, SliceRef(0, first_of_second_run))) == {
        "a": 2000,
        "b": 900,
    }


@pytest.mark.parametrize(("label", "start"), [("conv", 2080), ("conv", 3000), ("init", 0)])
def test_a_slice_that_is_not_in_the_other_inference_has_no_anchor_there(label, start):
    """The second conv of run 2, run 3, and what ran in no inference."""
    groups, traces = groups_of(A, B)
    at = slice_of(traces[0], label, start)
    assert starts(slice_anchors(groups, traces, SliceRef(0, at))) == {"a": start}


def test_the_slice_of_an_inference_matches_that_of_the_same_number():
    whole = inference_trace("whole", [(0, [("forward", 90)]), (500, [("forward", 80)])])
    groups, traces = groups_of(A, whole)
    assert traces[1].label(1) == "forward · run 2 of 2"
    anchors = slice_anchors(groups, traces, SliceRef(1, 1))
    assert starts(anchors) == {"a": 2000, "whole": 500}
    assert anchors["a"].reason == "start of run 2"


def test_without_inferences_it_is_the_first_one():
    plain = inference_trace("plain", [(0, [("add", 5), ("conv", 5), ("conv", 5)])])
    plain = replace(plain, runs=())
    groups, traces = groups_of(A, plain)
    at = slice_of(traces[0], "conv", 2080)
    assert starts(slice_anchors(groups, traces, SliceRef(0, at)))["plain"] == 5
    back = slice_of(traces[1], "conv", 10)
    assert starts(slice_anchors(groups, traces, SliceRef(1, back)))["a"] == 1000


def test_a_kernel_with_the_label_of_its_call_is_not_counted_as_a_call():
    """In the first file, every call has a kernel of its name in it; in the second, none has."""

    def trace(path, kernels):
        builder = TraceBuilder(path, "test", "", Clock())
        track, scope = builder.track("p", "t"), builder.scope("forward")
        for start in (0, 100):
            for kind, inside in ((KeyKind.OPERATOR_CALL, 0), (KeyKind.KERNEL, 5))[: 1 + kernels]:
                builder.add(
                    track=track, start=np.array([start + inside]), end=np.array([start + 90]),
                    name=builder.intern("conv"), key=builder.key(kind, "conv"),
                )  # fmt: skip
        builder.run(RunKind.INFERENCE, "forward", track, scope, 0, 200)
        return builder.build()

    groups, traces = groups_of(trace("a", True), trace("b", False))
    second = slice_of(traces[0], "conv", 100)
    assert starts(slice_anchors(groups, traces, SliceRef(0, second))) == {"a": 100, "b": 100}
    back = slice_of(traces[1], "conv", 100)
    assert starts(slice_anchors(groups, traces, SliceRef(1, back))) == {"a": 100, "b": 100}
    kernel = slice_of(traces[0], "conv", 105)
    assert starts(slice_anchors(groups, traces, SliceRef(0, kernel))) == {"a": 105, "b": 100}


# -- bookmarks -------------------------------------------------------------------------------------


def test_bookmarks_are_the_current_one_those_of_its_name_and_else_the_last():
    groups, _ = groups_of(A, B, NO_RUNS)
    marks = (
        Bookmark(10, 20, "x", clock="a"), Bookmark(30, 30, "y", clock="a"),
        Bookmark(50, 60, "y", clock="b"), Bookmark(70, 70, "", clock="b"),
        Bookmark(5, 5, "y", clock="closed"),
    )  # fmt: skip
    state = ViewState(clock="a", bookmarks=marks)
    assert starts(mark_anchors(groups, state)) == {"a": 30, "b": 70}
    assert starts(mark_anchors(groups, replace(state, mark=1))) == {"a": 30, "b": 50}
    by_name = mark_anchors(groups, replace(state, mark=0))
    assert starts(by_name) == {"a": 10, "b": 70}
    assert [anchor.reason for anchor in by_name.values()] == ["bookmark “x”", "bookmark"]
    assert starts(mark_anchors(groups, replace(state, mark=4))) == {"a": 30, "b": 50}


# -- views -----------------------------------------------------------------------------------------


def test_aligned_inferences_all_fit():
    groups, traces = groups_of(A, B, NO_RUNS)
    state = state_of(groups, traces)
    before = state.range_of("c")
    shown = aligned(state, groups, run_anchors(groups, traces, 0, 2))
    assert (shown.t0, shown.t1) == (1988, 2612), "as long as the slower one"
    assert shown.range_of("b") == (888, 1512)
    assert shown.range_of("c") == before
    assert set(shown.ties) == {"a", "b"}


def test_an_anchor_in_view_does_not_move_the_active_group():
    groups, traces = groups_of(A, B)
    state = replace(state_of(groups, traces), t0=1000, t1=1300)
    anchors = {"a": Anchor(1080, "x"), "b": Anchor(400, "x")}
    shown = aligned(state, groups, anchors)
    assert shown.all_ranges == {"a": (1000, 1300), "b": (320, 620)}
    shown = aligned(replace(state, t0=2000, t1=2301), groups, anchors)
    assert shown.all_ranges == {"a": (930, 1231), "b": (250, 551)}


def test_the_groups_are_placed_by_an_aligned_one_if_the_active_one_is_not():
    groups, traces = groups_of(NO_RUNS, A, B)
    state = state_of(groups, traces)
    shown = aligned(state, groups, run_anchors(groups, traces, 1, 1))
    assert (shown.clock, shown.t0, shown.t1) == ("c", state.t0, state.t1)
    assert shown.ranges == {"a": (988, 1612), "b": (-12, 612)}


def test_an_alignment_follows_to_another_inference():
    groups, traces = groups_of(A, B)
    state = aligned(state_of(groups, traces), groups, run_anchors(groups, traces, 0, 1))
    after = replace(state, t0=1988, t1=2612, run=(0, 2))
    followed = following_run(state, after, groups, traces, (0, 2))
    assert followed.all_ranges == {"a": (1988, 2612), "b": (888, 1512)}
    assert {tie.reason for tie in followed.ties.values()} == {"start of run 2"}
    last = replace(followed, t0=2988, t1=3612, run=(0, 3))
    third = following_run(followed, last, groups, traces, (0, 3))
    assert third.ties["a"] == Tie(anchor=3000, reason="start of run 3")
    assert third.ties["b"] == followed.ties["b"], "it has no run 3"
    assert third.range_of("b") == (888, 1512)


def test_another_alignment_does_not_follow():
    groups, traces = groups_of(A, B)
    anchors = {"a": Anchor(0, "start of run 1"), "b": Anchor(0, "start of “run 1”")}
    state = aligned(state_of(groups, traces), groups, anchors)
    after = replace(state, t0=1988, t1=2612)
    assert following_run(state, after, groups, traces, (0, 2)) is after
    free = replace(after, ties={})
    assert following_run(state, free, groups, traces, (0, 2)) is free


def test_the_same_scale_keeps_centers():
    groups, traces = groups_of(A, B)
    state = replace(state_of(groups, traces), t0=0, t1=100, ranges={"b": (500, 540)})
    shown = at_same_scale(state, groups)
    assert shown.all_ranges == {"a": (0, 100), "b": (470, 570)}
    assert shown.ties == {"a": Tie(), "b": Tie()}


def test_locking_zooms_moves_nothing_and_keeps_only_a_whole_alignment():
    groups, traces = groups_of(A, B, NO_RUNS)
    state = aligned(state_of(groups, traces), groups, run_anchors(groups, traces, 0, 1))
    locked = with_zooms_locked(state, groups)
    assert locked.all_ranges == state.all_ranges
    spans = {key: t1 - t0 for key, (t0, t1) in state.all_ranges.items()}
    assert locked.ties == {key: Tie(Fraction(span)) for key, span in spans.items()}
    pair = [group for group in groups if group.key != "c"]
    assert with_zooms_locked(state, pair) is state


# -- by hand ---------------------------------------------------------------------------------------


def test_by_hand_a_group_is_aligned_as_it_is_on_screen_and_moved():
    groups, traces = groups_of(A, B)
    state = replace(state_of(groups, traces), t0=1000, t1=1200, ranges={"b": (100, 200)})
    shown = shifted(state, groups, "b", 7)
    assert shown.all_ranges == {"a": (1000, 1200), "b": (107, 207)}
    assert shown.ties == {
        "a": Tie(Fraction(200), 1100, BY_HAND),
        "b": Tie(Fraction(100), 157, BY_HAND),
    }
    again = shifted(shown, groups, "b", -20)
    assert again.range_of("b") == (87, 187)
    assert again.ties["b"].anchor == 137
    moved = tied(again, replace(again, t0=1100, t1=1200))
    assert moved.range_of("b") == (137, 187)


def test_the_active_group_is_moved_against_the_topmost_other_one():
    groups, traces = groups_of(A, B, NO_RUNS)
    state = replace(state_of(groups, traces), strips=StripView(order=("c", "b")))
    shown = shifted(state, groups, "a", 5)
    assert set(shown.ties) == {"a", "c"}
    assert (shown.t0, shown.t1) == (state.t0 + 5, state.t1 + 5)
    other = shifted(state, groups, "b", 5)
    assert set(other.ties) == {"a", "b"}, "with the active one"


def test_a_third_group_joins_an_alignment_without_moving_it():
    groups, traces = groups_of(A, B, inference_trace("c", [(0, CONV), (100, CONV)]))
    state = aligned(state_of(groups, traces), groups[:2], run_anchors(groups[:2], traces, 0, 2))
    shown = shifted(state, groups, "c", 3)
    assert {key: shown.ties[key] for key in "ab"} == state.ties
    assert shown.ties["c"].reason == BY_HAND
    assert aligned_keys(shown.ties) == ["a", "b", "c"]
    t0, t1 = state.range_of("c")
    assert shown.range_of("c") == (t0 + 3, t1 + 3)
    # Its anchor, before it was moved, is where those of the others are on screen.
    on_screen = Fraction(state.ties["a"].anchor - state.t0, state.t1 - state.t0)
    assert abs(shown.ties["c"].anchor - 3 - (t0 + on_screen * (t1 - t0))) <= Fraction(1, 2)


def test_an_alignment_of_two_that_was_shifted_is_by_hand_and_one_of_three_stays_for_two():
    groups, traces = groups_of(A, B, inference_trace("c", [(0, CONV), (100, CONV)]))
    three = aligned(state_of(groups, traces), groups, run_anchors(groups, traces, 0, 2))
    shown = shifted(three, groups, "b", 9)
    reasons = {key: tie.reason for key, tie in shown.ties.items()}
    assert reasons == {"a": "start of run 2", "b": BY_HAND, "c": "start of run 2"}
    pair = aligned(state_of(groups, traces), groups, run_anchors(groups[:2], traces, 0, 2))
    assert {tie.reason for tie in shifted(pair, groups, "b", 9).ties.values()} == {BY_HAND}


def test_locked_zooms_stay_in_proportion_when_a_group_is_moved_by_hand():
    groups, traces = groups_of(A, B, NO_RUNS)
    locked = with_zooms_locked(state_of(groups, traces), groups)
    shown = shifted(locked, groups, "b", 9)
    scales = {key: tie.scale for key, tie in shown.ties.items()}
    assert scales == {key: tie.scale for key, tie in locked.ties.items()}
    assert aligned_keys(shown.ties) == ["a", "b"]


def test_nothing_to_move_against():
    groups, traces = groups_of(A)
    state = state_of(groups, traces)
    assert shifted(state, groups, "a", 5) is state
    groups, traces = groups_of(A, B)
    assert shifted(state, groups, "closed", 5) is state


RANGES = st.tuples(st.integers(-200, 3000), st.integers(1, 3000))
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(-2000, 2000)),
    min_size=1, max_size=15,
)  # fmt: skip


@pytest.fixture(scope="module")
def three():
    return groups_of(A, B, inference_trace("c", [(0, CONV), (100, CONV)]))


@pytest.mark.slow
@given(STEPS)
def test_the_anchors_stay_at_one_place_whatever_is_moved(three, steps):
    """Groups are activated and panned, or moved by hand."""
    groups, traces = three
    state = state_of(groups, traces)
    for key, by_hand, by in steps:
        if by_hand:
            state = shifted(state, groups, key, by)
        else:
            on = state.on(key)
            t0, t1 = limited_range(on, groups, key, (on.t0 + by, on.t1 + by))
            state = tied(on, replace(on, t0=t0, t1=t1))
        known = aligned_keys(state.ties)
        active = state.ties.get(state.clock)
        for other in known if state.clock in known else []:
            tie, (t0, _) = state.ties[other], state.range_of(other)
            factor = tie.scale / active.scale
            exact = tie.anchor + (state.t0 - active.anchor) * factor
            # Half a ns for each of two roundings, and one of the anchor when it was aligned.
            assert abs(t0 - exact) <= 1 + factor, (key, other)


# -- texts -----------------------------------------------------------------------------------------


def text(state, groups, clock):
    return plain_spaces(alignment_text(state, groups, clock))


def test_a_header_shows_how_its_group_is_tied():
    groups, traces = groups_of(A, B, NO_RUNS)
    state = state_of(groups, traces)
    assert text(state, groups, "a") == ""
    shown = aligned(state, groups, run_anchors(groups, traces, 0, 2))
    assert text(shown, groups, "a") == "aligned: start of run 2"
    assert text(shown, groups, "b") == "aligned: start of run 2, +1.100 µs"
    assert text(shown, groups, "c") == ""
    turned = replace(shown, strips=StripView(order=("c", "b", "a")))
    assert text(turned, groups, "b") == "aligned: start of run 2"
    assert text(turned, groups, "a") == "aligned: start of run 2, −1.100 µs"
    assert text(at_same_scale(state, groups), groups, "c") == "same scale"
    assert text(with_zooms_locked(state, groups), groups, "c") == "zoom locked"


def test_an_offset_at_another_scale_is_not_shown():
    groups, _ = groups_of(A, B)
    ties = {"a": Tie(Fraction(2), 10, BY_HAND), "b": Tie(Fraction(1), 90, BY_HAND)}
    assert text(ViewState(clock="a", ties=ties), groups, "b") == "aligned: by hand"
