"""What the user chose is one value: a choice makes another, and a workspace holds one of it."""

from copy import copy
from fractions import Fraction

import pytest

from tests.builders.workspaces import EVENTS, STR, chosen, opened, with_torq
from viewer.program.source_files import Substitution
from viewer.workspace.user_choices import UserChoices

HOME = Substitution("/recorded", "/home")


def test_every_choice_makes_another_value():
    none = UserChoices()
    made = (
        none.with_pair("a", "r"),
        none.with_method("a", "r", 0, "forward"),
        none.with_column("a", "job"),
        none.with_clock("a", Fraction(2)),
        none.with_source_path(HOME),
        none.with_remembered({"csv:1": "job"}),
    )
    assert none == UserChoices()
    assert all(one != none for one in made)


def test_what_is_taken_back_is_as_if_it_was_never_chosen():
    choices = UserChoices().with_pair("b", None).with_remembered({"csv:2": ""})
    more = choices.with_pair("a", "r").with_method("a", "r", 0, "forward").with_column("a", None)
    more = more.with_remembered({"csv:1": "job"})
    assert more.without_links("a", "csv:1") == choices
    assert choices.with_clock("a", Fraction(2)).with_clock("a", None) == choices
    assert choices.with_source_path(HOME).without_source_path(HOME) == choices


def test_a_folder_that_is_given_again_moves_to_the_end():
    other, moved = Substitution("/other", "/b"), Substitution("/recorded", "/elsewhere")
    choices = UserChoices().with_source_path(HOME).with_source_path(other).with_source_path(moved)
    assert choices.source_paths == (other, moved)


def test_only_what_is_of_the_machine_and_of_forms_outlives_the_files():
    lasting = UserChoices(source_paths=(HOME,), remembered={"csv:1": "job"})
    choices = lasting.with_pair("a", "r").with_column("a", "job").with_clock("a", Fraction(2))
    assert choices.with_method("a", "r", 0, "forward").lasting == lasting


def test_links_depend_on_what_was_chosen_for_their_own_profile():
    choices = UserChoices().with_method("a", "r", 0, "forward")
    other = choices.with_pair("b", "r").with_method("b", "r", 0, "encode")
    other = other.with_clock("a", Fraction(2)).with_source_path(HOME)
    assert other.chosen_links("a") == choices.chosen_links("a")
    assert choices.with_pair("a", None).chosen_links("a") != choices.chosen_links("a")
    assert choices.with_method("a", "s", 0, "x").chosen_links("a") != choices.chosen_links("a")


@pytest.mark.parametrize("in_copy", [True, False])
def test_a_copied_workspace_shares_no_later_choice(in_copy):
    space = with_torq(EVENTS, STR)
    path, before = space.traces[0].path, space.choices
    table = space.links(space.traces[0])
    other = copy(space)
    changed, kept = (other, space) if in_copy else (space, other)
    changed.pair(path, None)
    changed.identify(path, None, remember=True)
    changed.substitute(HOME)
    assert (kept.choices, chosen(kept)) == (before, {EVENTS: STR})
    assert kept.links(kept.traces[0]) is table
    assert changed.choices.pairs == {path: None}
    assert changed.choices.source_paths == (HOME,)
    assert len(changed.choices.remembered) == 1
    assert chosen(changed) == {EVENTS: None}


def test_choices_can_be_put_in_force_at_once():
    space = with_torq(EVENTS, STR)
    path = space.traces[0].path
    other = copy(space)
    other.identify(path, None)
    other.pair(path, None)
    space.choose(other.choices)
    assert chosen(space) == {EVENTS: None}
    space.choose(UserChoices())
    assert chosen(space) == {EVENTS: STR}


def test_a_choice_for_one_profile_leaves_the_links_of_the_others():
    space = opened("demo_str_x4.etdp", "cnn_portable_x1.etdp", STR, "cnn_toedge_portable.etrecord")
    one, two = space.traces
    tables = space.links(one), space.links(two)
    space.pair(one.path, None)
    assert space.links(one) is not tables[0]
    assert space.links(two) is tables[1]
