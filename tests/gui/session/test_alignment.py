"""Clock groups are aligned on request: one undo step, and a sentence on what was left out."""

import shutil
from dataclasses import replace

import pytest

from tests.builders.clocked_traces import HOST, NS, clocked_trace
from tests.builders.inference_trace import inference_trace
from viewer.gui.session import navigation
from viewer.gui.session.bookmarks import keep, measure
from viewer.gui.session.choices import toggle_strip
from viewer.gui.session.clocks import (
    align_at_bookmarks,
    align_at_operator,
    align_at_run,
    alignment_text,
    are_zooms_locked,
    bookmark_obstacle,
    lock_zooms,
    operator_obstacle,
    release_obstacle,
    release_ties,
    run_obstacle,
    shift_by_hand,
    use_same_scale,
)
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.times import plain_spaces
from viewer.resources import SAMPLES
from viewer.view.clock_groups import Tie
from viewer.view.state import Bookmark, SliceRef

CONV = [("conv", 50), ("add", 30), ("conv", 20)]
SLOW = [("add", 100), ("conv", 300), ("conv", 200)]


@pytest.fixture
def session(qapp):
    """Three inferences of 100 ns; two of 600 ns; and a file without inferences."""
    made = Session()
    made.add(
        [
            inference_trace("x/a.csv", [(1000 * n, CONV) for n in (1, 2, 3)], load=500),
            inference_trace("b.csv", [(40, SLOW), (940, SLOW)]),
            inference_trace("c.csv", [], load=70),
        ]
    )
    return made


@pytest.fixture
def alone(qapp):
    made = Session()
    made.add([inference_trace("a.csv", [(0, CONV)])])
    return made


def ranges(session):
    return session.state.all_ranges


def bookmark(session, clock, at):
    session.activate(clock)
    session.clear_selection()
    keep(session, at)


def reverted(session, before):
    """Whether one undo step brings a state back."""
    session.undo()
    return session.state == before


def test_alignment_at_an_inference_is_one_step_and_states_who_is_left_out(session):
    before = session.state
    pick_run(session, (0, 2))
    session.undo()
    session.set_range(1990, 2110)
    before = session.state
    said = align_at_run(session)
    assert said == "Aligned at start of run 2: a.csv, b.csv · no run 2 in c.csv"
    assert ranges(session)["x/a.csv"] == (1988, 2612)
    assert ranges(session)["b.csv"] == (888, 1512)
    assert plain_spaces(alignment_text(session, "b.csv")) == "aligned: start of run 2, +1.100 µs"
    assert alignment_text(session, "c.csv") == ""
    assert reverted(session, before)


def test_aligned_groups_pan_and_zoom_together(session):
    align_at_run(session)
    a, b = ranges(session)["x/a.csv"], ranges(session)["b.csv"]
    navigation.pan(session, 50)
    assert ranges(session)["b.csv"] == (b[0] + 50, b[1] + 50)
    session.activate("b.csv")
    navigation.pan(session, -50)
    assert ranges(session)["x/a.csv"] == a
    navigation.zoom(session, 0.5, 0)
    spans = {t1 - t0 for t0, t1 in (ranges(session)["x/a.csv"], ranges(session)["b.csv"])}
    assert len(spans) == 1


def test_an_inference_that_only_one_group_has_is_not_aligned(session):
    pick_run(session, (0, 3))
    before = session.state
    assert align_at_run(session) == "Not aligned: no run 3 in b.csv, c.csv"
    assert session.state == before


def test_stepping_to_another_inference_takes_the_alignment_along_in_one_step(session):
    pick_run(session, (0, 1))
    align_at_run(session)
    jumps = []
    session.range_jumped.connect(jumps.append)
    before = session.state
    navigation.step_run(session, 1)
    assert session.state.ties["x/a.csv"] == Tie(anchor=2000, reason="start of run 2")
    assert session.state.ties["b.csv"] == Tie(anchor=900, reason="start of run 2")
    assert ranges(session)["b.csv"] == (session.state.t0 - 1100, session.state.t1 - 1100)
    assert jumps == [before], "all groups jump together"
    step = session.state
    navigation.step_run(session, 1)
    assert session.state.ties["x/a.csv"].reason == "start of run 3"
    assert session.state.ties["b.csv"] == step.ties["b.csv"], "it has no run 3"
    assert ranges(session)["b.csv"] == (session.state.t0 - 2100, session.state.t1 - 2100)
    navigation.step_run(session, -1)
    assert session.state.ties == step.ties
    session.undo()
    session.undo()
    assert session.state == step
    assert reverted(session, before)


def test_picking_another_inference_takes_the_alignment_along(session):
    align_at_run(session)
    before = session.state
    pick_run(session, (1, 1))
    assert session.state.clock == "b.csv"
    assert session.state.ties["x/a.csv"].reason == "start of run 2"
    assert ranges(session)["x/a.csv"] == (session.state.t0 + 1100, session.state.t1 + 1100)
    assert reverted(session, before)


def test_picking_an_inference_of_all_does_not_change_what_is_aligned(session):
    align_at_run(session)
    ties = session.state.ties
    pick_run(session, None)
    assert session.state.ties == ties


def test_alignment_at_an_operator(session):
    session.select_slice(SliceRef(0, 6))
    assert session.traces[0].span_ns(6) == (2080, 2100)
    before = session.state
    said = align_at_operator(session)
    assert said == "Aligned at start of “conv”: a.csv, b.csv · no “conv” of run 2 in c.csv"
    assert ranges(session)["b.csv"][0] - session.state.t0 == 1300 - 2080
    assert reverted(session, before)


def test_alignment_at_an_operator_activates_its_group(session):
    session.select_slice(SliceRef(1, 1))
    session.activate("x/a.csv")
    align_at_operator(session)
    assert session.state.clock == "b.csv"
    assert alignment_text(session, "x/a.csv") == "aligned: start of “conv”"


def test_alignment_at_the_operator_whose_slices_are_highlighted(opened, tmp_path):
    """The same profile twice: the slice nearest to the center of the view has its like."""
    dump, record = next(sample for sample in SAMPLES if sample.key == "attention_xnnpack").paths()
    session = opened(dump, record, shutil.copy(dump, tmp_path / "copy.etdp"))
    session.select_operators(0, (9,))
    assert session.state.slice is None
    assert align_at_operator(session).startswith("Aligned at start of “")
    (first, second), t0, t1 = session.state.ties.values(), session.state.t0, session.state.t1
    assert first == second
    slices = session.traces[0].slices_of((9,)).tolist()
    starts = [session.traces[0].span_ns(i)[0] for i in slices]
    assert first.anchor == min(starts, key=lambda at: abs(at - (t0 + t1) // 2))


def test_an_operator_that_nothing_else_has_is_not_aligned(session):
    session.select_slice(SliceRef(0, 8))
    before = session.state
    assert align_at_operator(session) == "Not aligned: no “add” of run 3 in b.csv, c.csv"
    assert session.state == before


def test_what_ran_in_a_load_is_aligned_with_the_first_of_its_name(session):
    session.select_slice(SliceRef(0, 0))
    said = align_at_operator(session)
    assert said == "Aligned at start of “init”: a.csv, c.csv · no “init” in b.csv"


def test_alignment_at_bookmarks(session):
    bookmark(session, "x/a.csv", 1500)
    assert bookmark_obstacle(session) == "No bookmark on another clock"
    bookmark(session, "b.csv", 200)
    assert bookmark_obstacle(session) == ""
    before = session.state
    said = align_at_bookmarks(session)
    assert said == (
        "Aligned at bookmark “Bookmark 1” and bookmark “Bookmark 2”: a.csv, b.csv"
        " · no bookmark in c.csv"
    )
    assert ranges(session)["x/a.csv"][0] - ranges(session)["b.csv"][0] == 1300
    assert plain_spaces(alignment_text(session, "b.csv")) == (
        "aligned: bookmark “Bookmark 2”, +1.300 µs"
    )
    assert reverted(session, before)


def test_a_drag_is_one_step_and_moves_only_its_group(session):
    session.set_range(1000, 1200)
    before = session.state
    others = {key: span for key, span in ranges(session).items() if key != "b.csv"}
    t0, t1 = ranges(session)["b.csv"]
    for number, by in enumerate((5, 7, -2)):
        said = shift_by_hand(session, "b.csv", by, joins=number > 0)
    assert said == "Aligned by hand: a.csv, b.csv"
    assert ranges(session) == {**others, "b.csv": (t0 + 10, t1 + 10)}
    assert alignment_text(session, "b.csv") == "aligned: by hand"
    assert reverted(session, before)


def test_at_one_scale_the_header_has_the_offset_that_a_drag_changes(session):
    use_same_scale(session)
    session.set_range(0, 700)
    shift_by_hand(session, "b.csv", 0)
    tie = session.state.ties
    offset = tie["x/a.csv"].anchor - tie["b.csv"].anchor
    shift_by_hand(session, "b.csv", -offset)
    shift_by_hand(session, "b.csv", -250)
    assert plain_spaces(alignment_text(session, "b.csv")) in (
        f"aligned: by hand, {2 * offset + 250:+} ns".replace("-", "−"),
        f"aligned: by hand, {(2 * offset + 250) / 1000:+.3f} µs".replace("-", "−"),
    )


def test_the_same_scale(session):
    session.set_range(1000, 1200)
    before = session.state
    assert use_same_scale(session) == "All clocks have the same scale and zoom together"
    assert {t1 - t0 for t0, t1 in ranges(session).values()} == {200}
    assert alignment_text(session, "c.csv") == "same scale"
    navigation.zoom(session, 0.5, 1100)
    assert {t1 - t0 for t0, t1 in ranges(session).values()} == {100}
    session.undo()
    assert reverted(session, before)


def test_locked_zooms(session):
    session.set_range(1000, 1200)
    before = ranges(session)
    assert not are_zooms_locked(session)
    assert lock_zooms(session) == "All clocks zoom together"
    assert are_zooms_locked(session)
    assert ranges(session) == before
    assert alignment_text(session, "x/a.csv") == "zoom locked"
    session.set_range(1050, 1150)
    t0, t1 = before["b.csv"]
    assert ranges(session)["b.csv"] == pytest.approx(((3 * t0 + t1) / 4, (t0 + 3 * t1) / 4), abs=1)
    # Panning moves nothing else.
    others = ranges(session)["b.csv"]
    navigation.pan(session, 30)
    assert ranges(session)["b.csv"] == others


def test_zooms_that_differ_too_much_are_not_locked(qapp):
    """To show all of the first clock, the second would have to show more ns than int64 holds."""
    session = Session()
    session.add([clocked_trace(f"{name}.csv", NS, (0, 10**11)) for name in "ab"])
    session.set_range(7, 8)
    before = session.state
    assert lock_zooms(session) == "Not locked: the zooms of the clocks differ too much"
    assert session.state == before
    # Nor are they aligned by hand at these scales.
    assert shift_by_hand(session, "b.csv", 10) == "Not aligned: the times are too far apart"
    assert session.state == before


def test_clocks_are_not_aligned_at_moments_too_far_apart(session):
    session.change(
        replace(
            session.state,
            bookmarks=(
                Bookmark(-(2**61), 0, clock="b.csv"),
                Bookmark(2**62 - 1, 2**62, clock="c.csv"),
            ),
        )
    )
    before = session.state
    assert align_at_bookmarks(session) == "Not aligned: the times are too far apart"
    assert session.state == before


def test_release(session):
    assert release_obstacle(session) == release_ties(session) == "No clocks are aligned or locked"
    lock_zooms(session)
    tied = session.state
    assert release_ties(session) == "Every clock zooms and pans independently"
    assert session.state.ties == {}
    assert ranges(session) == tied.all_ranges
    assert reverted(session, tied)


def test_one_clock_cannot_be_aligned(alone):
    why = "Open a second file with another clock first"
    bookmark(alone, "a.csv", 5)
    alone.select_slice(SliceRef(0, 0))
    before = alone.state
    for align in (align_at_run, align_at_operator, align_at_bookmarks, use_same_scale, lock_zooms):
        assert align(alone) == why
    assert shift_by_hand(alone, "a.csv", 5) == why
    assert alone.state == before
    assert not are_zooms_locked(alone)


def test_what_is_missing_for_each_alignment_is_stated(session):
    assert operator_obstacle(session) == "Select a slice first"
    assert bookmark_obstacle(session) == "No bookmark on another clock"
    assert run_obstacle(session) == ""
    session.select_operators(0, ())
    assert align_at_operator(session) == "The selected operator has no slice"


def test_a_file_without_inferences_has_none_to_align_at(qapp):
    session = Session()
    session.add(
        [inference_trace("a.csv", [(0, CONV)]), inference_trace("c.csv", [], load=70)],
    )
    assert align_at_run(session) == "No inferences on another clock"


def test_only_zooms_are_tied_unless_inferences_are_shown_as_they_ran(session):
    session.show_inferences(Inferences.TYPICAL)
    session.select_slice(SliceRef(0, 0))
    why = "Show inferences as they ran first"
    before = session.state
    assert {align_at_run(session), align_at_operator(session), align_at_bookmarks(session)} == {why}
    assert shift_by_hand(session, "b.csv", 5) == why
    assert session.state == before
    lock_zooms(session)
    assert are_zooms_locked(session)


def test_another_display_of_inferences_ends_an_alignment(session):
    align_at_run(session)
    session.show_inferences(Inferences.ALIGNED)
    assert session.state.ties == {}


def test_clocks_are_activated_in_order_of_their_strips(session):
    before = session.state
    keys = []
    for by in (1, 1, 1, -1, -1):
        navigation.step_clock(session, by)
        keys.append(session.state.clock)
    assert keys == ["b.csv", "c.csv", "x/a.csv", "c.csv", "b.csv"]
    assert ranges(session) == before.all_ranges
    assert not session.history.can_undo


def test_a_strip_is_collapsed_and_expanded(session):
    toggle_strip(session, "b.csv")
    assert session.state.strips.collapsed == {"b.csv"}
    toggle_strip(session, "b.csv")
    assert session.state.strips.collapsed == frozenset()
    session.undo()
    assert session.state.strips.collapsed == {"b.csv"}


def test_a_closed_group_ends_its_alignment(session):
    align_at_run(session)
    session.close_all()
    assert session.state.ties == {}
    assert alignment_text(session, "b.csv") == ""


def test_an_earlier_file_of_one_clock_moves_nothing_away_from_its_slices(qapp):
    """The axis of a clock starts with the earliest of its files, so it starts earlier now."""
    session = Session()
    session.add([clocked_trace("late.csv", HOST, (1000, 1100)), clocked_trace("c.csv", NS, (0, 9))])
    bookmark(session, "torq host", 100_000)  # the end of the slice
    bookmark(session, "c.csv", 9)
    session.select_slice(SliceRef(0, 0))
    measure(session, None)
    released = session.state
    align_at_bookmarks(session)
    before = session.state
    t0, t1 = before.range_of("torq host")
    session.add([clocked_trace("early.csv", HOST, (500, 600))])
    assert session.traces[0].span_ns(0) == (500_000, 600_000)
    now = session.state
    assert now.range_of("torq host") == (t0 + 500_000, t1 + 500_000)
    assert now.ties["torq host"].anchor == 600_000
    bookmarks = [(mark.clock, mark.t0) for mark in now.bookmarks]
    assert bookmarks == [("torq host", 600_000), ("c.csv", 9)]
    assert (now.measured_on, now.measured) == ("torq host", (500_000, 600_000))
    assert now.range_of("c.csv") == before.range_of("c.csv")
    assert now.ties["c.csv"] == before.ties["c.csv"]
    session.undo()
    t0, t1 = released.range_of("torq host")
    assert session.state.range_of("torq host") == (t0 + 500_000, t1 + 500_000)
    assert session.state.bookmarks == now.bookmarks
    session.redo()
    assert session.state == now


def test_a_later_file_of_one_clock_moves_nothing(qapp):
    session = Session()
    session.add([clocked_trace("early.csv", HOST, (500, 600))])
    bookmark(session, "torq host", 100_000)
    before = session.state
    session.add([clocked_trace("late.csv", HOST, (1000, 1100))])
    assert session.state == before
