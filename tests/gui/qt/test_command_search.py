"""A few letters find a command: which, in which order, and which letters were meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.gui.qt.command_table import match


def best(typed, *names):
    found = [(match(typed, name), name) for name in names]
    return [name for fit, name in sorted(
        ((fit, name) for fit, name in found if fit), key=lambda one: -one[0].score)]  # fmt: skip


def test_nothing_typed_fits_everything():
    assert match("", "Zoom in").score == match("  ", "Quit").score == 0


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("zi", ["Zoom in", "Sample of resizing"]),
        ("zoom in", ["Zoom in", "Zoom in on the minimum"]),
        ("exp", ["Export Perfetto", "Close example"]),
        ("fa", ["Fit all", "Fit next file"][:1]),
    ],
)
def test_begins_of_words_and_letters_in_a_row_come_first(typed, names):
    assert best(typed, *reversed(names)) == names


def test_words_are_found_in_any_order_and_letters_only_in_theirs():
    assert match("all fit", "Fit all")
    assert match("tif", "Fit all") is None
    assert match("zz", "Zoom") is None


def test_the_letters_that_were_meant_are_told():
    assert match("zi", "Zoom in").places == {0, 5}
    assert match("ZOOM", "Zoom in").places == {0, 1, 2, 3}


@given(st.text("abz ", max_size=6), st.text("abz ", max_size=12))
def test_a_word_fits_if_its_letters_are_there_in_their_order(typed, name):
    def is_inside(word):
        rest = iter(name)
        return all(letter in rest for letter in word)

    fit = match(typed, name)
    assert (fit is not None) == all(is_inside(word) for word in typed.split())
    if fit is not None:
        assert {name[at] for at in fit.places} == set(typed) - {" "}
