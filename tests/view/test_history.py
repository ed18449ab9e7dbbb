"""Undo takes back every change; back and forward walk the places that were seen."""

from dataclasses import replace
from itertools import pairwise

from viewer.model.inference_views import Inferences
from viewer.view.history import LONGEST, History, Version
from viewer.view.state import Bookmark, SliceRef, TrackView, ViewState

HERE = ViewState(t0=0, t1=100)
THERE = replace(HERE, t0=50, t1=60)
BLUE = replace(THERE, scheme="name")


def seen(*states):
    history = History()
    for now, to in pairwise(states):
        history.record(now, to)
    return history


def test_undo_takes_back_any_change_and_redo_makes_it_again():
    history = seen(HERE, THERE, BLUE)
    assert history.undo(BLUE) == THERE
    assert history.undo(THERE) == HERE
    assert history.redo(HERE) == THERE
    assert history.redo(THERE) == BLUE
    assert not history.can_redo


def version(name):
    return Version((), replace(HERE, query=name), History(), (), ())


def test_a_reload_is_undone_after_the_changes_since_it():
    history = seen(HERE, THERE)
    history.earlier = old = version("old")
    assert history.take_earlier() is None
    history.undo(THERE)
    assert history.can_undo
    assert history.take_earlier() is old
    assert not history.can_undo


def test_a_reload_is_done_again_after_the_undone_changes_before_it():
    history = seen(HERE, THERE)
    history.undo(THERE)
    history.later = new = version("new")
    assert history.take_later() is None
    history.redo(HERE)
    assert history.can_redo
    assert history.take_later() is new


def test_a_change_after_an_undone_reload_drops_the_reloaded_version():
    history = History()
    history.later = version("new")
    history.record(HERE, THERE)
    assert not history.can_redo


def test_what_is_taken_back_while_it_is_made_is_no_step():
    history = seen(HERE, THERE, BLUE)
    history.forget(THERE)
    assert history.undo(HERE) == HERE
    history.forget(BLUE)
    assert not history.can_undo


def test_back_goes_to_the_place_before_and_leaves_the_colors_and_marks_as_they_are():
    marked = replace(BLUE, bookmarks=(Bookmark(1, 1, "here"),))
    history = seen(HERE, THERE, BLUE, marked)
    back = history.back(marked)
    assert (back.t0, back.t1) == (0, 100)
    assert (back.scheme, back.bookmarks) == ("name", marked.bookmarks)
    assert not history.can_go_back(back)
    forward = history.forward(back)
    assert forward == marked


def test_going_back_can_be_undone():
    history = seen(HERE, THERE)
    back = history.back(THERE)
    assert back == HERE
    assert history.undo(back) == THERE


def test_a_step_back_always_moves_also_after_undo():
    history = seen(HERE, THERE)
    undone = history.undo(THERE)
    assert undone == HERE
    assert not history.can_go_back(undone)
    assert history.back(undone) == undone


def test_a_new_place_ends_the_way_forward():
    history = seen(HERE, THERE)
    history.back(THERE)
    chosen = replace(HERE, slice=SliceRef(0, 3))
    history.record(HERE, chosen)
    assert not history.can_go_forward(chosen)
    assert history.can_go_back(chosen)


def test_where_nothing_was_nothing_changes():
    history = History()
    for step in (history.undo, history.redo, history.back, history.forward):
        assert step(HERE) is HERE


def test_the_oldest_states_are_forgotten():
    states = [replace(HERE, t0=n, t1=n + 1) for n in range(LONGEST + 10)]
    history = seen(*states)
    now = states[-1]
    for _ in range(LONGEST + 5):
        now = history.undo(now)
    assert now == states[9]


def test_going_back_to_other_inferences_leaves_their_tracks():
    aligned = replace(HERE, inferences=Inferences.ALIGNED)
    tracks = TrackView(pinned=((0, 9),), hidden=frozenset({(0, 8), (0, "net.etdp")}))
    history = seen(HERE, aligned)
    back = history.back(replace(aligned, tracks=tracks))
    assert back.inferences is Inferences.AS_RUN
    assert back.tracks == TrackView(hidden=frozenset({(0, "net.etdp")}))


def test_operators_of_another_program_are_not_gone_back_to():
    history = seen(replace(HERE, operators=(0, (37,))), HERE, replace(THERE, operators=(0, (2,))))
    history.without_operators()
    assert history.undo(THERE) == HERE
    assert history.back(THERE) == HERE
