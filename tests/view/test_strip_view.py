"""Strips have an order, heights, and may be collapsed; their heights share the room there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.view.state import HIGHEST_STRIP, LOWEST_STRIP, StripView, strip_heights

KEYS = ["a", "b", "c"]


def test_strips_are_in_order_of_opening_until_they_are_moved():
    assert StripView().ordered(KEYS) == KEYS
    moved = StripView().placed_before("c", "a", KEYS)
    assert moved.ordered(KEYS) == ["c", "a", "b"]
    assert moved.placed_before("c", None, KEYS).ordered(KEYS) == ["a", "b", "c"]
    assert moved.placed_before("c", "c", KEYS) is moved


def test_strips_of_closed_files_are_ignored_and_new_ones_are_last():
    moved = StripView().placed_before("c", "a", KEYS)
    assert moved.ordered(["b", "c", "d"]) == ["c", "b", "d"]
    assert StripView(order=("gone", "b")).ordered(["a", "b"]) == ["b", "a"]
    assert StripView(order=("b",)).placed_before("a", "gone", KEYS).ordered(KEYS) == ["b", "c", "a"]


def test_collapsing_twice_expands():
    view = StripView().toggled("a")
    assert view.collapsed == {"a"}
    assert view.toggled("b").collapsed == {"a", "b"}
    assert view.toggled("a") == StripView()


def test_a_height_is_within_limits_and_can_be_reset():
    view = StripView().with_height("a", 200)
    assert view.heights == {"a": 200}
    assert view.with_height("a", 1).heights == {"a": LOWEST_STRIP}
    assert view.with_height("b", 10**6).heights == {"a": 200, "b": HIGHEST_STRIP}
    assert view.with_height("a", None) == StripView()


@pytest.mark.parametrize(
    ("wanted", "chosen", "room", "heights"),
    [
        ([100, 200], [None, None], 500, [100, 200]),  # everything fits
        ([100, 400], [None, None], 300, [100, 200]),  # the tallest gives way
        ([300, 400], [None, None], 401, [200, 201]),  # both, once they are equal
        ([100, 400], [None, None], 50, [60, 60]),  # but not below the least
        ([100, 400], [None, 350], 300, [60, 350]),  # a chosen height stays
        ([0, 400], [200, None], 300, [0, 300]),  # a collapsed strip takes none
        ([30, 400], [None, None], 100, [30, 70]),  # what is lower than the least stays
        ([], [], 100, []),
    ],
)
def test_strips_share_the_height(wanted, chosen, room, heights):
    assert strip_heights(wanted, chosen, room, LOWEST_STRIP) == heights


@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.none() | st.integers(LOWEST_STRIP, 900)), max_size=6
    ),
    st.integers(0, 3000),
)
def test_heights_fit_if_anything_can_give_way(strips, room):
    wanted, chosen = [one for one, _ in strips], [pick for _, pick in strips]
    heights = strip_heights(wanted, chosen, room, LOWEST_STRIP)
    for want, pick, height in zip(wanted, chosen, heights, strict=True):
        if want == 0:
            assert height == 0
        elif pick is not None:
            assert height == pick
        else:
            assert min(want, LOWEST_STRIP) <= height <= want
    free = [
        height for want, pick, height in zip(wanted, chosen, heights, strict=True)
        if want and pick is None
    ]  # fmt: skip
    assert sum(heights) <= room or all(height <= LOWEST_STRIP for height in free)
    cut = [
        height for want, pick, height in zip(wanted, chosen, heights, strict=True)
        if want and pick is None and height < want
    ]  # fmt: skip
    assert not cut or max(cut) - min(cut) <= 1, "those that give way are equal"
