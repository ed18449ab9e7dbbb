"""The header of a process stays in view while its rows are scrolled."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.gui.events import canvas, press, release, wheel
from viewer.gui.session.choices import arrange_tracks
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.layout import HEADER_HEIGHT, BandKind

PROCESSES, THREADS = 5, 30


@pytest.fixture
def many(harness):
    """Processes of many threads, each with one slice."""
    builder = TraceBuilder("a.json", "test", "", Clock("ns"))
    for number in range(PROCESSES * THREADS):
        process, thread = divmod(number, THREADS)
        builder.add(
            track=builder.track(f"process {process}", f"thread {thread}"),
            start=np.array([number]), end=np.array([number + 500]), name=builder.intern("a"),
            key=builder.key(KeyKind.PLAIN, "a"),
        )  # fmt: skip
    harness.session.add([builder.build()])
    harness.settle()
    return harness


def first_process(scene):
    """The process of the first row below what stays in view."""
    band = scene.layout.band_at(scene.scroll + scene.layout.stuck_height)
    return int(scene.layout.process[band])


@pytest.mark.slow
def test_the_header_above_the_rows_is_that_of_their_process(many):
    scene = many.timeline.scene
    for scroll in range(0, scene.scroll_limit, 97):
        scene.scroll_to(scroll)
        band = scene.layout.band_at(scene.scroll)
        process = first_process(scene)
        if scene.layout.kind[band] != BandKind.GAP and process >= 0:
            assert scene.layout.kind[band] == BandKind.PROCESS
            assert int(scene.layout.process[band]) in (process, process - 1)
        # Columns of names and canvas have the same bands at the same lines.
        assert many.timeline.headers._band_at(5) == band
        name = scene.processes[int(scene.layout.process[band])].name if band >= 0 else ""
        assert many.timeline.headers.part_at(5) in ((0, name), None)


def test_a_click_below_the_header_hits_what_is_drawn_there(many):
    scene = many.timeline.scene
    wheel(canvas(many), QPoint(200, 200), -12)
    assert scene.layout.sticky >= 0
    press(canvas(many), QPoint(200, HEADER_HEIGHT // 2))
    release(canvas(many), QPoint(200, HEADER_HEIGHT // 2))
    assert many.session.state.slice is None


def test_folding_at_the_header_keeps_it_where_it_is(many):
    scene = many.timeline.scene
    scene.scroll_to(int(scene.layout.y[np.flatnonzero(scene.layout.process == 2)[20]]))
    process = int(scene.layout.process[scene.layout.sticky])
    assert process == 2
    QTest.mouseDClick(canvas(many), Qt.MouseButton.LeftButton, pos=QPoint(200, 13))
    assert (0, "process 2") in many.session.state.tracks.collapsed
    header = scene.header_bands.first_band((0, "process 2"))
    assert int(scene.layout.y[header]) == scene.scroll
    QTest.mouseDClick(canvas(many), Qt.MouseButton.LeftButton, pos=QPoint(200, 13))
    assert int(scene.layout.y[header]) == scene.scroll


def test_a_revealed_slice_is_below_the_header(many):
    scene = many.timeline.scene
    scene.scroll_to(scene.scroll_limit)
    for track in (THREADS * 2 + 3, THREADS * 2, 0):
        band = int(np.flatnonzero(scene.layout.track == track)[0])
        scene.scroll_to_band(band)
        top = int(scene.layout.y[band]) - scene.scroll
        assert scene.layout.stuck_height <= top < scene.viewport_height


def test_a_header_below_pinned_tracks_covers_none_of_them(many):
    scene = many.timeline.scene
    arrange_tracks(many.session, many.session.state.tracks.pinned_or_not((0, 3)))
    scene.scroll_to(1500)
    layout = scene.layout
    pinned = layout.stuck_height - layout.sticky_height
    assert pinned == layout.pinned_height > 0
    lines = [layout.band_at(scene.scroll + line) for line in range(layout.stuck_height + 1)]
    assert all(band < layout.pinned for band in lines[:pinned])
    assert set(lines[pinned : layout.stuck_height]) == {layout.sticky}
    assert scene.sections(300)[1:] == [(0, pinned), (pinned, layout.stuck_height)]


def test_a_low_view_keeps_its_rows(many):
    scene = many.timeline.scene
    scene.set_viewport_height(3 * HEADER_HEIGHT)
    scene.scroll_to(1000)
    assert scene.layout.sticky == -1
    assert scene.layout.stuck_height == 0
