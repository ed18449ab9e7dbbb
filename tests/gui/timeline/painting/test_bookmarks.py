"""Flags of marks: every mark in view has one, and no two names share a place."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from viewer.gui.timeline.painting.bookmarks import LEAST_ROOM, flags, title
from viewer.view.state import Bookmark

places = st.lists(st.floats(-200, 1200, allow_nan=False), max_size=40)


@given(places, st.integers(0, 40))
def test_every_mark_in_view_is_in_one_flag(x, current):
    found = flags(x, 1000, current)
    told = sorted(number for flag in found for number in flag.bookmarks)
    assert told == [number for number, at in enumerate(x) if 0 <= at < 1000]
    for flag in found:
        assert current not in flag.bookmarks or flag.bookmarks[0] == current


@given(places)
def test_flags_have_room_of_their_own(x):
    found = flags(x, 1000)
    for one, following in itertools.pairwise(found):
        assert one.x + one.room <= following.x + 1e-9
        assert following.x - one.x >= LEAST_ROOM


def test_a_mark_without_a_name_is_called_by_its_number():
    assert title(Bookmark(0, 0, ""), 4) == "bookmark 5"
    assert title(Bookmark(0, 0, "x"), 4) == "x"
