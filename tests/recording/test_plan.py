"""Whose turn is next, and what the user should know before anything runs."""

import pytest

from viewer.recording.plan import (
    Plan,
    Program,
    WrongPlan,
    parse_celsius,
    parse_environment,
    parse_seconds,
    parse_words,
)

A, B = Program("/a.pte", "1"), Program("/b.pte", "2")


def order(plan, fails=()):
    """The arms in the order in which they run. fails: the numbers of sessions that fail."""
    whole, arms, number = {}, "", 0
    while (arm := plan.next_arm(whole)) is not None:
        number += 1
        if number in fails:
            continue
        whole[arm] = whole.get(arm, 0) + 1
        arms += arm
    return arms


def test_sessions_run_in_turn():
    assert order(Plan("local", (A, B), sessions=3)) == "ababab"
    assert order(Plan("local", (A,), sessions=3)) == "aaa"


@pytest.mark.parametrize("fails", [(1,), (2,), (3, 4), (1, 3, 5, 6)])
def test_whole_sessions_stay_in_turn_if_others_fail(fails):
    assert order(Plan("local", (A, B), sessions=3), fails) == "ababab"


def test_what_is_missing_comes_first_in_its_turn():
    plan = Plan("local", (A, B), sessions=3)
    assert plan.next_arm({"a": 2, "b": 1}) == "b"
    assert plan.left({"a": 2, "b": 1}) == 3
    assert plan.next_arm({"a": 3, "b": 3}) is None
    assert plan.left({"a": 9, "b": 3}) == 0


def test_what_proves_nothing_is_named_before():
    (same,) = Plan("local", (A, A), sessions=3).notes()
    assert "same program" in same
    few, one = Plan("local", (A, B), sessions=2, inferences=1).notes()
    assert "10 inferences" in few
    assert "3 sessions" in one
    assert Plan("local", (A, B)).notes() == []


def test_times_temperatures_and_variables():
    assert [parse_seconds(text) for text in ("20s", "1.5min", "90", "2m")] == [20, 90, 90, 120]
    assert [parse_celsius(text) for text in ("35C", "35.5 °C")] == [35, 35.5]
    assert parse_environment(["A=1", "B_2=x=y"]) == {"A": "1", "B_2": "x=y"}
    assert parse_words("a 'b c' \"d\"") == ("a", "b c", "d")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_seconds, "soon"), (parse_seconds, "-3s"), (parse_seconds, "nan"),
        (parse_celsius, "hot"), (parse_celsius, "35"),
        (lambda text: parse_environment([text]), "A"),
        (lambda text: parse_environment([text]), "A B=1"),
        (parse_words, "'"),
    ],
)  # fmt: skip
def test_what_is_none_of_these(parse, text):
    with pytest.raises(WrongPlan):
        parse(text)
