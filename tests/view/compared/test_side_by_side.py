"""The view of a comparison: two strips, aligned at the start of a typical inference."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.session.comparison import compare, compare_inferences
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.tracks import shown_clocks
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


def test_two_inferences_of_one_file_are_both_in_view(opened, tmp_path):
    path = write_arms(tmp_path)[0][0]
    session = opened(path)
    ComparisonFeed.of(session)
    compare_inferences(session, path, 2, (9,))
    shown = session.traces[0]
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
