"""The menu "Tracks" by its keys: about the track of the selection, each one step of undo."""

from pathlib import Path

import pytest

from tests.gui.events import SAMPLE, open_sample
from viewer.gui.qt.settings import DENSITY
from viewer.gui.window.commands.tracks import NO_BLANK_TRACK
from viewer.render.arrangement import shown_parts
from viewer.render.stacking import Density
from viewer.view.state import SliceRef

TRACK, OTHER, PROCESS = (0, 1), (0, 0), (0, "compile.csv")


@pytest.fixture
def npu(shared_window):
    """The window with a compile profile, a slice of its second track selected."""
    folder = Path(SAMPLE["torq_npu"].paths()[0]).parent
    controller = shared_window.showing(folder / "compile.csv")
    slices = controller.session.traces[0].trace.slices
    rows = list(slices.row_track)
    controller.session.select_slice(SliceRef(0, int(slices.row_ptr[rows.index(1)])))
    controller.timeline.view.setFocus()
    return controller


def view(controller):
    return controller.session.state.tracks


def enabled(controller):
    actions = controller.commands.actions
    return {i for i in actions if i.startswith("tracks.") and actions[i].isEnabled()}


KEYS = [
    ("Ctrl+P", lambda v: v.pinned == (TRACK,)),
    ("Shift+T", lambda v: v.hidden == {TRACK}),
    ("Alt+Up", lambda v: v.moved == ((TRACK, OTHER),)),
    ("Alt+Down", lambda v: v.moved == ((TRACK, (0, 3)),)),
    ("Ctrl+Up", lambda v: v.collapsed == {PROCESS}),
    ("Ctrl+Shift+Up", lambda v: v.heights == ((PROCESS, 34),)),
    ("Ctrl+Shift+Down", lambda v: v.heights == ((PROCESS, 26),)),
]


def test_density_is_kept_in_the_settings(npu):
    actions, scene = npu.commands.actions, npu.timeline.scene
    actions["view.density_compact"].trigger()
    assert scene.used_density is Density.COMPACT
    assert actions["view.density_compact"].isChecked()
    assert npu.settings.get(DENSITY) == "compact"
    actions["view.density_automatic"].trigger()
    assert not actions["view.density_compact"].isChecked()
    assert npu.settings.get(DENSITY) == "automatic"


@pytest.mark.parametrize(("keys", "done"), KEYS, ids=[keys for keys, _ in KEYS])
def test_a_key_changes_the_tracks_and_undo_takes_it_back(npu, qtbot, keys, done):
    before = view(npu)
    qtbot.keySequence(npu.timeline.view, keys)
    assert done(view(npu)), view(npu)
    qtbot.keySequence(npu.timeline.view, "Ctrl+Z")
    assert view(npu) == before


def test_on_a_header_keys_are_about_it_and_come_before_those_of_other_commands(npu, qtbot):
    column, session = npu.timeline.headers, npu.session
    before = session.state.t0, session.state.t1
    session.clear_selection()
    column.setFocus()
    assert column.current == PROCESS
    qtbot.keySequence(column, "Left")
    assert view(npu).collapsed == {PROCESS}
    qtbot.keySequence(column, "Right")
    assert view(npu).collapsed == frozenset()
    for key in ("Down", "Down"):
        qtbot.keySequence(column, key)
    assert column.current == TRACK
    assert (session.state.t0, session.state.t1) == before
    qtbot.keySequence(column, "Alt+Up")
    assert view(npu).moved == ((TRACK, OTHER),)
    qtbot.keySequence(column, "Del")
    assert view(npu).hidden == {TRACK}


def test_pinning_again_unpins_and_the_menu_shows_which(npu, qtbot):
    action = npu.commands.actions["tracks.pin"]
    assert not action.isChecked()
    qtbot.keySequence(npu.timeline.view, "Ctrl+P")
    assert action.isChecked()
    qtbot.keySequence(npu.timeline.view, "Ctrl+P")
    assert view(npu).pinned == ()


def test_show_all_and_expand_all_take_back_what_hides(npu, qtbot):
    for keys in ("Shift+T", "Ctrl+Up"):
        qtbot.keySequence(npu.timeline.view, keys)
    qtbot.keySequence(npu.timeline.view, "Ctrl+Shift+T")
    assert view(npu).hidden == frozenset()
    qtbot.keySequence(npu.timeline.view, "Ctrl+Down")
    assert view(npu).collapsed == frozenset()


def test_t_goes_to_the_filter(npu, qtbot):
    qtbot.keySequence(npu.timeline.view, "T")
    assert npu.timeline.corner.filter.hasFocus()
    qtbot.keySequence(npu.timeline.corner.filter, "T")
    assert view(npu).filter.casefold() == "t", "in the field it is a letter"


def test_sorting_and_heights_are_checked_and_reset(npu):
    actions = npu.commands.actions
    assert actions["tracks.sort_file"].isChecked()
    actions["tracks.taller"].trigger()
    actions["tracks.sort_name"].trigger()
    assert actions["tracks.sort_name"].isChecked()
    assert not actions["tracks.sort_file"].isChecked()
    actions["tracks.reset_heights"].trigger()
    assert view(npu).heights == ()
    actions["tracks.only"].trigger()
    assert shown_parts(npu.timeline.scene.track_list, npu.timeline.scene.arrangement) == {TRACK}


def test_what_makes_no_sense_is_disabled(controller, qtbot):
    assert enabled(controller) == set()
    open_sample(qtbot, controller, "attention_xnnpack")
    always = {"tracks.filter", "tracks.collapse_all", "tracks.expand_all", "tracks.sort_file",
              "tracks.sort_name", "tracks.sort_time", "tracks.sort_busy"}  # fmt: skip
    assert enabled(controller) == always
    controller.session.select_slice(SliceRef(0, 0))
    about = {"tracks.pin", "tracks.hide", "tracks.only", "tracks.up", "tracks.down", "tracks.fold",
             "tracks.taller", "tracks.lower"}  # fmt: skip
    assert enabled(controller) == always | about
    controller.commands.actions["tracks.hide"].trigger()
    assert enabled(controller) == always | about | {"tracks.show_all"}
    controller.timeline.headers.setFocus()
    assert "tracks.pin" not in enabled(controller), "the keyboard is on the header of a process"
    assert "tracks.hide" in enabled(controller)


BLANK = """process,thread,name,start_ns,dur_ns
p,work,run,0,2000000
p,early,conv,0,100000
p,early,conv,1800000,100000
q,late,conv,1500000,100000
"""


@pytest.fixture
def blank(shared_window, tmp_path):
    """The window with two blank tracks from 1.0 to 1.1 ms."""
    path = tmp_path / "blank.csv"
    path.write_text(BLANK)
    controller = shared_window.showing(path)
    controller.session.set_range(1_000_000, 1_100_000)
    controller.timeline.view.viewport().repaint()
    return controller


def shown_range(controller):
    return controller.session.state.t0, controller.session.state.t1


def test_nearest_slices_are_those_of_the_first_blank_track(blank):
    action = blank.commands.actions["go.nearest_slices"]
    assert action.isEnabled()
    action.trigger()
    assert shown_range(blank) == (1_798_000, 1_902_000)  # nearer than those before
    blank.commands.actions["go.undo"].trigger()
    assert shown_range(blank) == (1_000_000, 1_100_000)


def test_nearest_slices_are_those_of_the_current_track_if_it_is_blank(blank):
    blank.session.select_slice(SliceRef(0, 3))
    blank.commands.actions["go.nearest_slices"].trigger()
    assert shown_range(blank) == (1_498_000, 1_602_000)


def test_where_no_track_is_blank_there_are_no_nearest_slices(blank):
    blank.session.set_range(0, 2_000_000)
    before = shown_range(blank)
    blank.commands.actions["go.nearest_slices"].trigger()
    assert shown_range(blank) == before
    assert NO_BLANK_TRACK in blank.window.status.said.text()
