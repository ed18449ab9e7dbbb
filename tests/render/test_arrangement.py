"""How one choice of tracks follows from another, each as a value of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.stocks import Tracked, table
from viewer.render.arrangement import (
    HIGHEST_ROW,
    LOWEST_ROW,
    TrackOrder,
    TrackView,
    arrange,
    track_list,
)
from viewer.render.layout import ROW_HEIGHT

A, B = (0, "a"), (1, "b")
STOCK = track_list(
    [table(Tracked("a", "cpu"), Tracked("a", "gpu"), Tracked("a", "dma")), table(Tracked("b", "x"))]
)
PARTS = [A, B, (0, 0), (0, 1), (0, 2), (1, 0)]


def shown(view):
    seen = arrange(STOCK, view)
    return [STOCK.part(t) for t in [*seen.pinned.tolist(), *seen.tracks.tolist()]]


def test_pinning_twice_is_no_pin_and_hiding_unpins():
    view = TrackView().pinned_or_not((0, 1)).pinned_or_not((1, 0))
    assert view.pinned == ((0, 1), (1, 0))
    assert view.pinned_or_not((0, 1)).pinned == ((1, 0),)
    assert view.without((1, 0)) == TrackView(pinned=((0, 1),), hidden=frozenset({(1, 0)}))
    assert view.without((1, 0)).pinned_or_not((1, 0)) == view


def test_a_pinned_track_stays_whatever_is_hidden_or_filtered_below():
    view = TrackView(pinned=((0, 1),), hidden=frozenset({A}), filter="nothing")
    assert shown(view) == [(0, 1)]
    assert shown(TrackView(pinned=((0, 1),), collapsed=frozenset({A, B}))) == [(0, 1)]


def test_of_other_tracks_of_the_same_processes_only_what_is_of_processes_holds():
    view = TrackView(
        collapsed=frozenset({A, (0, 1)}), pinned=((0, 1),), hidden=frozenset({B, (0, 2)}),
        moved=((B, A), ((0, 1), None)), heights=((A, 12),), filter="x", order=TrackOrder.BUSY,
    )  # fmt: skip
    assert view.of_processes() == TrackView(
        collapsed=frozenset({A}), hidden=frozenset({B}), moved=((B, A),), heights=((A, 12),),
        order=TrackOrder.BUSY,
    )  # fmt: skip


def test_a_new_order_takes_back_what_was_dragged():
    view = TrackView().placed_before((0, 2), (0, 0))
    assert shown(view) == [(0, 2), (0, 0), (0, 1), (1, 0)]
    assert shown(view.ordered(TrackOrder.NAME)) == [(0, 0), (0, 2), (0, 1), (1, 0)]
    assert shown(view.placed_before((0, 2), None)) == [(0, 0), (0, 1), (0, 2), (1, 0)]


@pytest.mark.parametrize(("asked", "got"), [(1, LOWEST_ROW), (99, HIGHEST_ROW), (17, 17)])
def test_rows_stay_within_what_can_be_read(asked, got):
    view = TrackView().with_row_height(A, asked)
    assert view.heights == ((A, got),)
    assert view.with_row_height(A, ROW_HEIGHT, ROW_HEIGHT).heights == ()


def test_all_others_of_a_track_are_those_of_its_process_and_other_processes():
    assert shown(TrackView().showing_only(STOCK, (0, 1))) == [(0, 1)]
    assert shown(TrackView().showing_only(STOCK, A)) == [(0, 0), (0, 1), (0, 2)]
    pinned = TrackView(pinned=((1, 0), (0, 2)))
    assert shown(pinned.showing_only(STOCK, (0, 1))) == [(1, 0), (0, 2), (0, 1)]


@pytest.mark.slow
@given(
    st.frozensets(st.sampled_from(PARTS)), st.frozensets(st.sampled_from(PARTS)),
    st.lists(st.sampled_from([p for p in PARTS if isinstance(p[1], int)])),
    st.sampled_from(["", "a", "PU", "x", "nothing"]), st.sampled_from([0, 1, 2, 3]),
)  # fmt: skip
def test_a_track_can_be_shown_whatever_hid_it(collapsed, hidden, pinned, text, wanted):
    view = TrackView(collapsed, tuple(pinned), hidden, filter=text)
    part, process = STOCK.part(wanted), STOCK.processes[int(STOCK.process[wanted])]
    made = view.showing(part, STOCK.names[wanted], process.part)
    assert part in shown(made)
    assert not arrange(STOCK, made).folded[wanted]
    if part in shown(view) and part not in collapsed:
        assert made == view, "nothing else is changed"
    assert made.with_all().without(part).with_all() == made.with_all() or part in made.pinned
