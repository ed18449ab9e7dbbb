"""Keys of commands: no key of two, what the user chose before the rest, and nothing hostile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.gui.qt.command_table import KeyMap, key_text

DEFAULTS = {"in": ("W", "Ctrl++"), "out": ("S",), "next": (".",), "quiet": ()}


def keys_of(made):
    return {id: made.of(id) for id in DEFAULTS}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("w", "W"), ("ctrl+shift+p", "Ctrl+Shift+P"), ("?", "?"), (",", ","), ("Ctrl++", "Ctrl++"),
        ("Left", "Left"), ("", ""), ("Shift", ""), ("Ctrl", ""), ("A, B", ""), ("nonsense", ""),
        ("W" * 1000, ""), (None, ""), (7, ""), (["W"], ""), ("\0", ""), ("Ctrl+", ""),
    ],
)  # fmt: skip
def test_a_key_has_one_text_and_what_is_none_has_no(text, key):
    assert key_text(text) == key


def test_without_choices_commands_have_what_they_came_with():
    made = KeyMap(DEFAULTS, {})
    assert keys_of(made) == DEFAULTS
    assert made.owner("W") == "in"
    assert made.owner("X") is None
    assert made.chosen == {}


def test_what_the_user_chose_goes_before_what_others_came_with():
    made = KeyMap(DEFAULTS, {"out": ["W", "X"]})
    assert keys_of(made) == {**DEFAULTS, "in": ("Ctrl++",), "out": ("W", "X")}
    assert made.is_own("out")
    assert made.is_own("in"), "it lacks a key that it came with"


def test_a_key_that_is_given_is_taken_from_who_had_it():
    made = KeyMap(DEFAULTS, {})
    made.give("quiet", "W")
    assert keys_of(made) == {**DEFAULTS, "in": ("Ctrl++",), "quiet": ("W",)}
    made.give("in", "W")
    assert keys_of(made) == {**DEFAULTS, "in": ("Ctrl++", "W")}
    made.give("in", "W")
    assert made.of("in") == ("Ctrl++", "W")


def test_a_reset_takes_its_keys_back():
    made = KeyMap(DEFAULTS, {})
    made.give("quiet", "W")
    made.give("in", "X")
    made.reset("in")
    assert keys_of(made) == DEFAULTS
    made.take("out", "S")
    assert made.of("out") == ()
    made.reset_all()
    assert (keys_of(made), made.chosen) == (DEFAULTS, {})


def test_a_key_that_is_given_back_is_there_once():
    made = KeyMap(DEFAULTS, {"in": ["S"]})
    assert "S" in DEFAULTS["out"]
    made.give("out", "S")
    assert made.of("out") == DEFAULTS["out"]
    assert made.of("in") == ()


HOSTILE = [
    {"in": None}, {"in": "WASD"}, {"in": {"W": 1}}, {"in": [None, 3, [], {}]}, {"in": ["Shift"]},
    {"unknown": ["W"]}, {"in": ["A, B"]}, {"in": ["W" * 10_000]}, {3: ["W"]},
]  # fmt: skip


@pytest.mark.parametrize("own", HOSTILE)
def test_what_is_no_choice_leaves_keys_alone_or_empty(own):
    made = KeyMap(DEFAULTS, own)
    assert {id: keys for id, keys in keys_of(made).items() if id != "in"} == {
        id: keys for id, keys in DEFAULTS.items() if id != "in"
    }
    assert made.of("in") in (DEFAULTS["in"], ())


def test_keys_that_widgets_need_are_given_to_nobody():
    made = KeyMap(DEFAULTS, {"in": ["Tab", "Space", "Ctrl+C", "X"]})
    assert made.of("in") == ("X",)


def test_two_choices_of_one_key_leave_it_to_the_first():
    made = KeyMap(DEFAULTS, {"quiet": ["X"], "out": ["X", "S"]})
    assert made.of("quiet") == ("X",)
    assert made.of("out") == ("S",)


some_keys = st.sampled_from(["W", "S", ".", "Ctrl++", "X", "Ctrl+Y", "?"])
junk = st.sampled_from([None, 7, "", "Shift", "A, B", [], {}, "\ud800", "é"])
anything = junk | some_keys | st.lists(junk | some_keys, max_size=4)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([*DEFAULTS, "unknown"]), anything),
    st.lists(st.tuples(st.sampled_from(["give", "take", "reset"]), st.sampled_from([*DEFAULTS]),
                       some_keys), max_size=8),
)  # fmt: skip
def test_whatever_is_stored_and_done_no_key_is_of_two_commands(own, steps):
    made = KeyMap(DEFAULTS, own)
    for what, id, key in steps:
        made.reset(id) if what == "reset" else getattr(made, what)(id, key)
        every = [key for keys in keys_of(made).values() for key in keys]
        assert len(every) == len(set(every))
        assert all(made.owner(key) in DEFAULTS for key in every)
        if what == "give":
            assert made.owner(key) == id
        # What is stored says it all.
        assert keys_of(KeyMap(DEFAULTS, made.chosen)) == keys_of(made)
