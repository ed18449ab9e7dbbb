"""The slices of highlighted operators are found off the GUI thread where a trace is large."""

import threading

import numpy as np
import pytest

import viewer.gui.timeline.scene.highlighting as highlighting
from viewer.formats import open_file
from viewer.gui.session.coloring import set_scheme
from viewer.gui.session.selection import slices_of
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.resources import SAMPLES

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def held(qapp, monkeypatch):
    """A session and its scene, in which any trace is large and nothing is found before `go`."""
    session = Session()
    scene = Scene(Drawings(session))
    session.add([open_file(str(path)) for path in _PATHS["attention_xnnpack"]])
    go, threads, work = threading.Event(), [], highlighting.highlighted

    def slowly(*asked):
        threads.append(threading.current_thread())
        go.wait(10)
        return work(*asked)

    monkeypatch.setattr(highlighting, "AT_ONCE", -1)
    monkeypatch.setattr(highlighting, "highlighted", slowly)
    yield session, scene, go, threads
    go.set()


def drawn(raster):
    """The slices with a length of a raster."""
    return [raster.drawn.number(i) for i in range(len(raster.drawn.start))]


def with_a_length(session, operators):
    slices = session.traces[0].trace.slices
    return [int(i) for i in slices_of(session, 0, operators) if slices.start[i] != slices.end[i]]


def settled(qtbot, scene):
    qtbot.waitUntil(lambda: not scene.drawings.is_highlighting)


def test_all_is_dimmed_until_the_slices_are_found_in_a_thread(held, qtbot):
    session, scene, go, threads = held
    session.select_operators(0, (3,))
    assert scene.drawings.is_highlighting
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
    assert not scene.drawings.is_highlighting
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
    assert not scene.drawings.is_highlighting
    assert scene.rasters == []
