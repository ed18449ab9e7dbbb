"""The rasters that the scenes of all clocks share, and when they are told of other files."""

import pytest

from tests.builders.clocked_traces import profile
from viewer.gui.session.coloring import set_scheme
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene


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
    assert [picture.shown for picture in first.rasters] == first.session.traces


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
