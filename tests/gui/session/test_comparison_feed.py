"""The comparison that all panels share."""

from shutil import copyfile

import pytest

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.session.comparison import ComparisonFeed, compare, swap_arms


@pytest.fixture
def arms(tmp_path):
    return write_arms(tmp_path)


def test_there_is_no_answer_until_arms_are_chosen(opened, arms):
    session = opened(*arms[0], *arms[1])
    feed = ComparisonFeed.of(session)
    assert feed.answer is None
    compare(session, arms_of(*arms))
    assert [len(arm.sessions) for arm in feed.answer.arms] == [4, 4]


def test_panels_may_show_costs_instead_and_nothing_is_computed_again(opened, arms, qtbot):
    from dataclasses import replace

    session = opened(*arms[0], *arms[1])
    feed = ComparisonFeed.of(session)
    compare(session, arms_of(*arms))
    found = feed.answer
    with qtbot.waitSignal(feed.changed):
        compare(session, replace(session.state.compared, in_tables=False))
    assert feed.answer is found
    assert feed.in_tables is None


def test_swapped_arms_are_compared_the_other_way_around(opened, arms):
    session = opened(*arms[0], *arms[1])
    feed = ComparisonFeed.of(session)
    compare(session, arms_of(*arms))
    before = feed.answer.calls.inference.change_ns
    swap_arms(session)
    assert feed.answer.calls.inference.change_ns == pytest.approx(-before)


def test_without_one_arm_there_is_no_answer(opened, arms):
    session = opened(*arms[0])
    feed = ComparisonFeed.of(session)
    compare(session, arms_of(*arms))
    assert feed.answer is None


def test_an_arm_with_one_recording_twice_has_a_problem_and_no_changes(opened, arms, tmp_path):
    copy = copyfile(arms[0][0], tmp_path / "copy.etdp")
    session = opened(arms[0][0], copy, *arms[1])
    feed = ComparisonFeed.of(session)
    compare(session, arms_of([arms[0][0], str(copy)], arms[1]))
    assert "the same recording" in feed.answer.problem
    assert feed.in_tables is None
