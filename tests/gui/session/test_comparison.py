"""Choosing arms, and selecting a row in both of them."""

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.session.comparison import (
    compare,
    compare_files,
    compare_with_others,
    other_inferences,
    row_of_selection,
    select_row,
)
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.inferences import pick_run
from viewer.model.trace import RunKind
from viewer.view.state import SliceRef


@pytest.fixture
def arms(tmp_path):
    return write_arms(tmp_path)


def test_the_given_files_are_b_and_the_other_profiles_a(opened, arms):
    session = opened(*arms[0], *arms[1])
    assert compare_files(session, arms[1]) == ""
    assert session.state.compared == arms_of(*arms)


def test_files_without_a_profile_or_all_of_them_are_no_arm(opened, arms):
    session = opened(*arms[0])
    assert "None of these files is a profile" in compare_files(session, ["model.etrecord"])
    assert "nothing to compare" in compare_files(session, arms[0])
    assert session.state.compared is None


def test_a_row_selects_its_slices_in_both_arms_and_a_slice_its_row(opened, arms):
    session = opened(*arms[0], *arms[1])
    compare(session, arms_of(*arms))
    found = ComparisonFeed.of(session).answer
    row = next(i for i, (row, _) in enumerate(found.rows) if row.label == "add.out")
    select_row(session, found, row)
    paths = {session.traces[ref.trace].file.path for ref in session.state.slices}
    assert paths == {found.typical(0)[0], found.typical(1)[0]}
    assert row_of_selection(session, found) == row
    last = len(session.traces[0].trace.slices) - 1
    session.select_slice(SliceRef(0, last))
    assert row_of_selection(session, found) == int(found.rows_of_slices(arms[0][0])[last])
    session.clear_selection()
    assert row_of_selection(session, found) == -1


def test_an_inference_is_compared_with_the_others_that_count(opened, arms):
    session = opened(arms[0][0])
    runs = session.traces[0].file.runs
    first = next(i for i, run in enumerate(runs) if run.kind is RunKind.INFERENCE)
    pick_run(session, (0, first))
    assert other_inferences(session) == tuple(range(4, 13))  # 3 of 12 warm up
    compare_with_others(session)
    assert session.state.compared.a.numbers == (1,)
    assert session.state.compared.b.numbers == tuple(range(4, 13))


def test_without_a_picked_inference_there_are_no_others(opened, arms):
    session = opened(arms[0][0])
    pick_run(session, None)
    assert other_inferences(session) == ()
