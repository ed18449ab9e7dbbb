"""The rasters that the scenes of all clocks share, and those of highlighted slices."""

import threading

import numpy as np
import pytest

import viewer.gui.timeline.scene.drawings as drawings_module
from tests.builders.clocked_traces import profile
from viewer.formats import open_file
from viewer.gui.qt.background import Latest
from viewer.gui.session.choices import set_scheme
from viewer.gui.session.selection import slices_of
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings, Highlighting
from viewer.gui.timeline.scene.scene import Scene
from viewer.resources import SAMPLES

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def scenes(qapp):
    """The scenes of two files on clocks of their own."""
    session = Session()
    drawings = Drawings(session)
    session.add([profile("/a.csv", 3, 1000), profile("/b.csv", 2, 5000)])
    return [Scene(drawings, group.key) for group in session.groups]


def test_a_trace_is_drawn_once_for_all_scenes(scenes):
    first, second = scenes
    assert first.drawings is second.drawings
    assert len(first.rasters) == 2
    assert [picture.open_trace for picture in first.rasters] == first.session.traces


def test_no_scene_says_anything_before_all_have_the_layout_of_the_open_files(scenes):
    """A strip may resize another, which then looks up the slice under the mouse."""
    drawings, seen = scenes[0].drawings, []

    def look():
        for scene in scenes:
            traces = {trace for trace in scene.layout.trace.tolist() if trace >= 0}
            seen.append(max(traces, default=-1) < len(drawings.rasters))

    for scene in scenes:
        scene.arranged.connect(look)
        scene.changed.connect(look)
    scenes[0].session.close_all()
    assert len(seen) >= 4
    assert all(seen)


def test_other_colors_change_every_scene_once_for_all(scenes):
    told = []
    for scene in scenes:
        scene.changed.connect(lambda scene=scene: told.append(scene.clock))
    before = [picture.palette for picture in scenes[0].rasters]
    set_scheme(scenes[0].session, "duration")
    assert {"/a.csv", "/b.csv"} <= set(told)
    after = [picture.palette for picture in scenes[1].rasters]
    assert all((now != then).any() for now, then in zip(after, before, strict=True))
    assert scenes[0].rasters is scenes[1].rasters


@pytest.fixture
def held(qapp, monkeypatch):
    """A session and its scene, in which any trace is large and nothing is found before `go`."""
    session = Session()
    scene = Scene(Drawings(session))
    session.add([open_file(str(path)) for path in _PATHS["attention_xnnpack"]])
    go, threads, work = threading.Event(), [], drawings_module.highlighted

    def slowly(*asked):
        threads.append(threading.current_thread())
        go.wait(10)
        return work(*asked)

    monkeypatch.setattr(drawings_module, "AT_ONCE", -1)
    monkeypatch.setattr(drawings_module, "highlighted", slowly)
    yield session, scene, go, threads
    go.set()


def drawn(raster):
    """The slices with a length of a raster."""
    return [raster.drawn.number(i) for i in range(len(raster.drawn.start))]


def with_a_length(session, operators):
    slices = session.traces[0].trace.slices
    return [int(i) for i in slices_of(session, 0, operators) if slices.start[i] != slices.end[i]]


def is_computing(scene):
    return scene.session.findChild(Highlighting).findChild(Latest).pending


def settled(qtbot, scene):
    qtbot.waitUntil(lambda: not is_computing(scene))


def test_all_is_dimmed_until_the_slices_are_found_in_a_thread(held, qtbot):
    session, scene, go, threads = held
    session.select_operators(0, (3,))
    assert is_computing(scene)
    assert scene.rasters[0].hits is None
    dimmed = scene.sources(dark=True)[0].colors.body
    go.set()
    settled(qtbot, scene)
    assert threads[0] is not threading.main_thread()
    assert drawn(scene.rasters[0].hits) == with_a_length(session, (3,))
    session.clear_selection()
    assert scene.rasters[0].hits is None
    assert (scene.sources(dark=True)[0].colors.body != dimmed).any()


def test_of_several_selections_the_last_is_shown_and_none_ends_it(held, qtbot):
    session, scene, go, _ = held
    session.select_operators(0, (3,))
    session.select_operators(0, (5,))
    go.set()
    settled(qtbot, scene)
    assert drawn(scene.rasters[0].hits) == with_a_length(session, (5,))
    go.clear()
    session.select_operators(0, (3,))
    assert scene.rasters[0].hits is None, "those of the operator before would be wrong"
    session.clear_selection()
    go.set()
    assert not is_computing(scene)
    assert scene.rasters[0].hits is None


def test_another_slice_of_the_same_operators_asks_nothing_again(held, qtbot):
    session, scene, go, threads = held
    go.set()
    session.select_operators(0, (3,))
    settled(qtbot, scene)
    before = scene.rasters[0].hits
    session.select_operators(0, (3,))
    session.selection_changed.emit()
    assert scene.rasters[0].hits is before
    assert len(threads) == 1


def test_other_colors_are_those_of_the_highlighted_slices_too(held, qtbot):
    session, scene, go, _ = held
    go.set()
    session.select_operators(0, (3,))
    settled(qtbot, scene)
    set_scheme(session, "name")
    settled(qtbot, scene)
    picture = scene.rasters[0]
    assert (picture.hits.color == picture.palette[np.array(drawn(picture.hits))]).all()


def test_closing_while_they_are_looked_for_leaves_nothing(held, qtbot):
    session, scene, go, _ = held
    session.select_operators(0, (3,))
    session.close_all()
    go.set()
    assert not is_computing(scene)
    assert scene.rasters == []
