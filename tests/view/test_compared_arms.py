"""Which profiles are the arms of a comparison, also after some were closed."""

from viewer.view.state import ChosenArm, ComparedArms

ARMS = ComparedArms(ChosenArm(("a1", "a2")), ChosenArm(("b1", "b2"), (1, 2)), in_tables=False)


def test_swapped_arms_are_the_other_way_around():
    assert ARMS.swapped.a == ARMS.b
    assert ARMS.swapped.swapped == ARMS


def test_an_arm_keeps_what_is_open():
    left = ARMS.among({"a2", "b1", "b2"})
    assert left is not None
    assert left.a.paths == ("a2",)
    assert left.b == ARMS.b
    assert left.in_tables is False


def test_without_one_arm_there_is_no_comparison():
    assert ARMS.among({"a1", "a2"}) is None


def test_a_profile_of_both_arms_is_listed_once():
    same = ComparedArms(ChosenArm(("run",), (1,)), ChosenArm(("run",), (2, 3)))
    assert same.paths == ("run",)
