"""The view of a comparison: two strips, aligned at the start of a typical inference."""

from dataclasses import replace

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.analysis.comparison.hand_pairs import keys_of_parts
from viewer.analysis.comparison.levels import CALLS
from viewer.formats import open_file
from viewer.gui.session.choices import shown_clocks
from viewer.gui.session.clocks import align_at_run, release_ties, shift_by_hand, use_same_scale
from viewer.gui.session.comparison import (
    ComparisonFeed,
    compare,
    compare_inferences,
    stretch,
    stretch_obstacle,
)
from viewer.view.sessions.saved_view import kept_view, shown_view
from viewer.view.state import SliceRef


@pytest.fixture
def compared(opened, tmp_path):
    a, b = write_arms(tmp_path)
    session = opened(*a, *b)
    feed = ComparisonFeed.of(session)
    compare(session, arms_of(a, b))
    assert feed.answer is not None
    return session, feed.answer


def test_only_the_typical_profiles_have_strips_and_a_is_above_b(compared):
    session, found = compared
    keys = session.state.strips.shown(session.groups.keys)
    assert keys == [found.typical(side)[0] for side in (0, 1)]


def test_both_show_the_start_of_their_inference_at_one_scale(compared):
    session, found = compared
    spans = []
    for side in (0, 1):
        path, run = found.typical(side)
        shown = next(t for t in session.traces if t.file.path == path)
        t0, t1 = session.state.range_of(path)
        start = shown.axis.to_ns(run.start)
        assert t0 < start < shown.axis.to_ns(run.end) <= t1
        spans.append((t1 - t0, start - t0))
    assert spans[0] == spans[1]


def test_ending_it_shows_all_strips_again_and_removes_the_alignment(compared):
    session, _ = compared
    compare(session, None)
    assert session.state.compared is None
    assert session.state.strips.shown(session.groups.keys) == session.groups.keys
    assert session.state.ties == {}


def test_one_undo_takes_the_whole_comparison_back(compared):
    session, _ = compared
    session.undo()
    assert session.state.compared is None
    assert session.state.strips.only == ()
    assert session.state.ties == {}
    session.redo()
    assert session.state.compared is not None


@pytest.mark.parametrize("collapsed", [0, 1])
def test_a_saved_view_keeps_its_ranges_and_strips(compared, collapsed):
    session, _ = compared
    t0, t1 = session.state.t0, session.state.t1
    session.set_range(t0 + (t1 - t0) // 4, t0 + (t1 - t0) // 2)
    if collapsed:
        strips = session.state.strips.toggled(session.state.strips.only[1])
        session.change(replace(session.state, strips=strips))
    before, paths = session.state, [t.file.path for t in session.traces]
    saved = kept_view(before, session.traces, paths)
    compare(session, None)
    session.set_range(t0, t1)
    shown, messages = shown_view(saved, session.state, session.traces, paths)
    session.restore_view(shown)
    assert messages == []
    assert session.state.compared == before.compared
    assert session.state.strips.shown(session.groups.keys) == list(before.strips.only)
    assert session.state.strips.collapsed == before.strips.collapsed
    assert all(session.state.range_of(key) == before.range_of(key) for key in before.strips.only)


def test_redo_brings_back_the_range_of_a_comparison(compared):
    session, _ = compared
    arranged = session.state.all_ranges
    session.undo()
    assert session.state.all_ranges != arranged
    session.redo()
    assert session.state.all_ranges == arranged


def test_two_inferences_of_one_file_are_both_in_view(opened, tmp_path):
    path = write_arms(tmp_path)[0][0]
    session = opened(path)
    ComparisonFeed.of(session)
    shown = session.traces[0]
    runs = {run.number: run for run in shown.file.inferences()}
    compare_inferences(session, shown.file, runs[2], (runs[9],))
    starts = {run.number: shown.axis.to_ns(run.start) for run in shown.file.inferences()}
    assert session.state.t0 < starts[2] < starts[9] < session.state.t1 <= starts[11]


def test_a_selected_slice_without_a_strip_gets_one(compared):
    """A search or a panel can select a slice of a session that is not shown."""
    session, found = compared
    hidden = next(
        i for i, t in enumerate(session.traces)
        if t.file.path not in {found.typical(side)[0] for side in (0, 1)}
    )  # fmt: skip
    assert len(shown_clocks(session)) == 2
    session.select_slice(SliceRef(hidden, 0))
    assert shown_clocks(session)[2] == session.groups.of(hidden).key
    session.clear_selection()
    session.activate(session.state.strips.only[0])
    assert len(shown_clocks(session)) == 2


# -- stretched by pair -----------------------------------------------------------------------------


def starts_of_calls(session, found, side):
    """Where on screen the calls of the shown inference begin, in ns from its start."""
    path, run = found.typical(side)
    shown = next(t for t in session.traces if t.file.path == path)
    own = found.slices_of_rows(path, range(len(found.rows)), run, CALLS)
    gaps = session.state.gaps_of(session.groups.of(session.number_of(shown)).key)
    starts = sorted(shown.span_ns(i)[0] for i in own.tolist())
    return [gaps.place(ns) - shown.axis.to_ns(run.start) for ns in starts]


def test_stretched_strips_begin_each_paired_call_at_one_place(compared):
    session, found = compared
    before = [starts_of_calls(session, found, side) for side in (0, 1)]
    assert before[0] != before[1]
    assert stretch_obstacle(session, found) == ""
    stretch(session, found, is_on=True)
    a, b = (starts_of_calls(session, found, side) for side in (0, 1))
    assert a == b
    assert a == sorted(max(pair) for pair in zip(a, b, strict=True))
    spans = [session.state.range_of(found.typical(side)[0]) for side in (0, 1)]
    assert spans[0][1] - spans[0][0] == spans[1][1] - spans[1][0]


def test_stretching_changes_no_time(compared):
    session, found = compared
    times = session.state.times
    durations = [shown.trace.slices.end - shown.trace.slices.start for shown in session.traces]
    stretch(session, found, is_on=True)
    first, last = session.state.times
    assert (first, last) == pytest.approx(times, abs=2)
    for shown, before in zip(session.traces, durations, strict=True):
        assert (shown.trace.slices.end - shown.trace.slices.start == before).all()


def test_stretching_is_one_step_of_the_history(compared):
    session, found = compared
    before = session.state
    stretch(session, found, is_on=True)
    stretched = session.state
    session.undo()
    assert session.state == before
    session.redo()
    assert session.state == stretched
    stretch(session, found, is_on=False)
    assert session.state.gaps == {}


@pytest.mark.parametrize(
    "other",
    [
        lambda session: compare(session, None),
        release_ties,
        align_at_run,
        use_same_scale,
        lambda session: shift_by_hand(session, session.groups.keys[0], 100),
    ],
    ids=["end", "release", "align", "scale", "shift"],
)
def test_gaps_end_with_the_alignment_that_they_are_for(compared, other):
    session, found = compared
    stretch(session, found, is_on=True)
    other(session)
    assert session.state.gaps == {}
    assert session.state.compared is None or not session.state.compared.stretched


def are_in_step(session):
    """Whether both strips show as much, with the starts of their inferences at one place."""
    state = session.state
    ends = [(state.range_of(key), state.ties[key].anchor) for key in session.state.strips.only]
    a, b = ((t0 - anchor, t1 - anchor) for (t0, t1), anchor in ends)
    return a == b


@pytest.mark.parametrize("active", [0, 1])
def test_both_strips_stay_in_step_whichever_is_active(compared, active):
    session, found = compared
    session.activate(found.typical(active)[0])
    session.set_range(session.state.t0 + 60_000, session.state.t1 + 20_000)
    for is_on in (True, False):
        stretch(session, found, is_on=is_on)
        assert bool(session.state.gaps) == is_on
        assert are_in_step(session)


def test_going_back_to_a_place_without_gaps_keeps_the_strips_in_step(compared):
    session, found = compared
    session.set_range(session.state.t0 + 9_000, session.state.t1 - 9_000)
    stretch(session, found, is_on=True)
    session.set_range(session.state.t0 + 5_000, session.state.t1)
    for step in (session.go_back, session.go_back, session.go_forward):
        step()
        assert are_in_step(session)


def test_after_files_were_opened_the_strips_are_stretched_again(compared, tmp_path):
    session, found = compared
    stretch(session, found, is_on=True)
    other = write_arms(tmp_path / "more", sessions=1)[0][0]
    session.add([open_file(other)])
    assert session.state.gaps
    assert are_in_step(session)
    session.undo()
    assert bool(session.state.gaps) == session.state.compared.stretched


def test_strips_aligned_in_another_way_are_aligned_at_their_inferences_first(compared):
    session, found = compared
    shift_by_hand(session, session.state.strips.only[1], 5_000)
    stretch(session, found, is_on=True)
    assert session.state.gaps
    assert starts_of_calls(session, found, 0) == starts_of_calls(session, found, 1)


def test_a_view_of_a_gap_alone_keeps_its_length(compared):
    session, found = compared
    stretch(session, found, is_on=True)
    key = next(iter(key for key, gaps in session.state.gaps.items() if len(gaps)))
    gaps = session.state.gaps[key]
    place = int(gaps.at[-1] + gaps.added[-1])
    session.activate(key)
    session.set_range(place - 40, place - 20)
    stretch(session, found, is_on=False)
    assert session.state.t1 - session.state.t0 == 20
    assert session.state.times[1] > session.state.times[0]


def test_the_gaps_follow_pairs_made_by_hand(compared):
    session, found = compared
    stretch(session, found, is_on=True)
    before = session.state.gaps
    row = next(i for i, (row, _) in enumerate(found.rows) if row.label == "add.out")
    a = keys_of_parts(found.calls.a, found.rows[row][0].a)
    b = keys_of_parts(found.calls.b, found.rows[row][0].b)
    chosen = session.state.compared
    compare(session, replace(chosen, by_hand=chosen.by_hand.with_cut(zip(a, b, strict=True))))
    assert session.state.gaps
    assert session.state.gaps is not before


def test_what_is_selected_comes_into_view_where_the_gaps_put_it(compared):
    session, found = compared
    stretch(session, found, is_on=True)
    path, run = found.typical(1)
    number = next(i for i, t in enumerate(session.traces) if t.file.path == path)
    last = int(found.slices_of_rows(path, range(len(found.rows)), run, CALLS)[-1])
    session.activate(session.groups.of(number).key)
    session.set_range(session.state.t0, session.state.t0 + 50)
    session.select_slice(SliceRef(number, last), reveal=True)
    place = session.state.on_screen(*session.traces[number].span_ns(last))
    assert session.state.t0 < place[1]
    assert place[0] < session.state.t1
