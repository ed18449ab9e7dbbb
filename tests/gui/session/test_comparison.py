"""Choosing arms, and selecting a row in both of them."""

from dataclasses import replace

import pytest

from tests.builders.compare_sessions import write_sessions
from tests.builders.compared_windows import arms_of, write_arms
from viewer.analysis.comparison.arms import CALLS
from viewer.gui.session.comparison import (
    ComparisonFeed,
    compare,
    compare_files,
    compare_inferences,
    compare_with_others,
    joined_clocks,
    letter_of,
    other_inferences,
    pair_selected,
    row_of_selection,
    select_row,
    separate_selected,
)
from viewer.gui.session.navigation import pick_run
from viewer.model.inference_views import Inferences
from viewer.model.trace import RunKind
from viewer.view.state import SliceRef, SliceSet

METHODS = "compare/16_methods_swapped"


@pytest.fixture
def arms(tmp_path):
    return write_arms(tmp_path)


def test_the_given_files_are_b_and_the_other_profiles_a(opened, arms):
    session = opened(*arms[0], *arms[1])
    assert compare_files(session, arms[1]) == ""
    assert session.state.compared == arms_of(*arms)


@pytest.mark.parametrize("inferences", [Inferences.MEAN, Inferences.TYPICAL])
def test_inferences_are_compared_as_they_ran(opened, arms, inferences):
    session = opened(*arms[0], *arms[1])
    session.show_inferences(inferences)
    before = session.state
    compare_files(session, arms[1])
    assert session.state.inferences is Inferences.AS_RUN
    session.undo()
    assert session.state == before


def test_other_files_replace_b_and_a_stays(opened, arms):
    session = opened(*arms[0], *arms[1])
    compare(session, arms_of(arms[0], arms[1][:2]))
    assert compare_files(session, arms[1][2:]) == ""
    assert session.state.compared == arms_of(arms[0], arms[1][2:])
    assert compare_files(session, arms[0]) == ""  # all of A: the other profiles are A
    assert session.state.compared == arms_of(arms[1], arms[0])


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
    # 3 of 12 warm up.
    assert [run.number for run in other_inferences(session)] == list(range(4, 13))
    compare_with_others(session)
    assert session.state.compared.a.numbers == (1,)
    assert session.state.compared.b.numbers == tuple(range(4, 13))


def inferences(file, a, *b):
    """An inference of a file by its number, and some others."""
    runs = {run.number: run for run in file.inferences()}
    return runs[a], [runs[number] for number in b]


def test_inferences_of_two_methods_with_one_number_are_compared(opened, data):
    """Every method counts its inferences from 1."""
    session = opened(
        *(data / "compare/16_methods_swapped" / f"a.{x}" for x in ("etdp", "etrecord"))
    )
    feed, file = ComparisonFeed.of(session), session.traces[0].file
    a, b = [run for run in file.inferences() if run.number == 2]
    compare_inferences(session, file, a, [b])
    assert [one.sessions[0].runs for one in feed.answer.arms] == [(a,), (b,)]
    assert feed.answer.subtitle == "inference 2 of encode → inference 2 of decode"
    assert any(row.a and row.b for row, _ in feed.answer.rows)


def test_the_others_of_an_inference_are_of_its_method(opened, data):
    session = opened(
        *(data / "compare/16_methods_swapped" / f"a.{x}" for x in ("etdp", "etrecord"))
    )
    runs = session.traces[0].file.runs
    pick_run(session, (0, next(i for i, run in enumerate(runs) if run.number == 5)))
    picked = runs[session.state.run[1]]
    others = other_inferences(session)
    assert [run.number for run in others] == [2, 3, 4]  # the first of 5 warms up
    assert {run.scope for run in others} == {picked.scope}


def test_without_a_picked_inference_there_are_no_others(opened, arms):
    session = opened(arms[0][0])
    pick_run(session, None)
    assert other_inferences(session) == ()


def first_slice(session, found, side, label):
    """The first slice of A or B of a row that only this arm has."""
    row = next(i for i, (row, _) in enumerate(found.rows) if row.label == label)
    path, run = found.typical(side)
    number = next(i for i, shown in enumerate(session.traces) if shown.file.path == path)
    return SliceRef(number, int(found.slices_of_rows(path, (row,), run, CALLS)[0]))


def test_slices_of_both_arms_are_paired_by_hand_and_separated(opened, tmp_path):
    a, b = (
        [str(path) for path in write_sessions(tmp_path, name, {"conv.out": 9_000, kernel: 5_000})]
        for name, kernel in (("a", "old.out"), ("b", "new.out"))
    )
    session = opened(*a, *b)
    feed = ComparisonFeed.of(session)
    compare(session, arms_of(a, b))
    one, other = (
        first_slice(session, feed.answer, side, label)
        for side, label in ((0, "old.out"), (1, "new.out"))
    )
    session.select_slice(one)
    assert pair_selected(session, feed.answer).startswith("Select a slice of A")
    session.select_slices(SliceSet.of_refs([one, other]), one)
    assert pair_selected(session, feed.answer) == "Paired old.out with new.out"
    labels = [row.label for row, _ in feed.answer.rows]
    assert sorted(labels) == ["conv.out", "old.out"]
    assert separate_selected(session, feed.answer) == "old.out is no longer paired"
    assert len(feed.answer.rows) == 3
    assert separate_selected(session, feed.answer) == "Select the slices of one row first"
    session.undo()
    assert len(feed.answer.rows) == 2


def test_a_clock_group_has_the_letter_of_its_arm(opened, arms):
    session = opened(*arms[0], *arms[1])
    assert letter_of(session, session.groups[0]) == ""
    compare(session, arms_of(*arms))
    letters = [letter_of(session, group) for group in session.groups]
    assert letters == ["A"] * 4 + ["B"] * 4
    file = session.traces[0].file
    compare_inferences(session, file, *inferences(file, 1, 4))
    assert letter_of(session, session.groups[0]) == ""


def test_strips_are_joined_while_they_show_both_arms_at_one_scale(opened, arms):
    session = opened(*arms[0], *arms[1])
    assert joined_clocks(session) is None
    compare(session, arms_of(*arms))
    found = ComparisonFeed.of(session).answer
    keys = joined_clocks(session)
    paths = [session.traces[session.groups.by_key(key).traces[0]].file.path for key in keys]
    assert paths == [found.typical(side)[0] for side in (0, 1)]
    state = session.state
    for apart in (
        replace(state, compared=replace(state.compared, in_tables=False)),
        replace(state, ties={}),
        replace(state, strips=state.strips.toggled(keys[1])),
        replace(state, strips=state.strips.with_only(())),
    ):
        session.change(apart)
        assert joined_clocks(session) is None
        session.change(state)
    session.show_inferences(Inferences.ALIGNED)
    assert joined_clocks(session) is None
