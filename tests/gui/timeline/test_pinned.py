"""Pinned tracks on the canvas: they stay in view, are drawn once, and hit where they are seen."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QPainter

from tests.gui.events import LEFT, canvas, drag, place_of, press, release, wheel
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.timeline.painting.frame import Overlay
from viewer.gui.timeline.scene.texts import process_title
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.arrangement import TrackView
from viewer.render.layout import BandKind, Canvas
from viewer.render.palette import fills
from viewer.view.state import SliceRef

TRACKS = 60


@pytest.fixture
def many(harness):
    """More tracks than can be seen, each with one slice of its own place and name."""
    builder = TraceBuilder("a.csv", "test", "", Clock("ns"))
    for number in range(TRACKS):
        name = f"track {number}"
        builder.add(
            track=builder.track("a.csv", name), start=np.array([number * 10]),
            end=np.array([number * 10 + 9 * TRACKS]), name=builder.intern(name),
            key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    harness.session.add([builder.build()])
    harness.settle()
    return harness


def pin(harness, *tracks):
    for track in tracks:
        arrange_tracks(harness.session, harness.session.state.tracks.pinned_or_not((0, track)))


def click(harness, at):
    press(canvas(harness), at)
    release(canvas(harness), at)


def test_pinned_tracks_stay_in_view_and_are_hit_there(many):
    scene = many.timeline.scene
    pin(many, 40, 3)
    for notches in (0, -3, -2, -50):
        wheel(canvas(many), QPoint(200, 300), notches)
        tops = [int(scene.layout.y[scene.band_of(SliceRef(0, i))]) - scene.scroll for i in (40, 3)]
        assert tops == [26, 56]
        for index in (40, 3):
            click(many, place_of(many, index))
            assert many.session.state.slice == SliceRef(0, index)
    assert scene.scroll == scene.scroll_limit > 0
    last = place_of(many, TRACKS - 1)
    assert last.y() < canvas(many).height()
    click(many, last)
    assert many.session.state.slice == SliceRef(0, TRACKS - 1)


def test_below_the_pinned_tracks_every_line_hits_what_is_drawn_there(many):
    scene, view = many.timeline.scene, many.timeline.view
    pin(many, 40, 3)
    scene.scroll_to(437)
    seen = {}
    image = canvas(many).grab().toImage()
    x = image.width() // 2
    for line in range(canvas(many).height()):
        found = view.slice_at(QPoint(x, line))
        if found is not None:
            seen.setdefault(found.index, []).append(line)
    assert {40, 3} < set(seen)
    palette, colors = scene.rasters[0].palette, fills(True)
    for index, lines in seen.items():
        assert lines == list(range(lines[0], lines[-1] + 1)), "in one place"
        middle = lines[len(lines) // 2]
        assert len(lines) <= 30
        if len(lines) == 30:
            assert image.pixel(x, middle) & 0xFFFFFF == colors[palette[index]] & 0xFFFFFF, index


def test_an_area_over_pinned_and_other_tracks_has_each_of_them_once(many):
    scene = many.timeline.scene
    pin(many, 40, 3)
    scene.scroll_to(300)
    top, bottom = QPoint(100, 30), QPoint(300, scene.layout.stuck_height + 40)
    drag(canvas(many), top, bottom)
    tracks = many.session.state.area.tracks
    first = int(scene.layout.track[scene.layout.band_at(300 + scene.layout.stuck_height)])
    assert {(0, 40), (0, 3), (0, first)} <= tracks
    assert len(tracks) <= 5
    rows = scene.layout.kind == BandKind.ROW
    assert len(set(scene.layout.row[rows].tolist())) == rows.sum() == TRACKS


def test_too_many_pinned_tracks_scroll_with_all_others_and_say_so(many):
    scene = many.timeline.scene
    pin(many, *range(40))
    assert process_title(scene, -1) == ("Pinned", "too tall to stay in view")
    wheel(canvas(many), QPoint(200, 200), -4)
    assert scene.scroll == 240
    assert scene.layout.y[0] == 0
    click(many, place_of(many, 12))
    assert many.session.state.slice == SliceRef(0, 12)
    pin(many, *range(4, 40))
    assert process_title(scene, -1) == ("Pinned", "")
    assert scene.layout.y[0] == scene.scroll


def test_a_revealed_row_is_not_below_the_pinned_tracks(many):
    scene = many.timeline.scene
    pin(many, 40, 3)
    for index in (TRACKS - 1, 0, 30, 20, 40):
        many.session.select_slice(SliceRef(0, index), reveal=True)
        at = place_of(many, index)
        assert many.timeline.view.slice_at(at) == SliceRef(0, index)
        assert at.y() < canvas(many).height()
    assert scene.layout.stuck


@pytest.mark.parametrize("hide", ["collapsed", "track", "process", "filter"])
def test_revealing_a_slice_opens_what_hides_it(many, hide):
    session = many.session
    view = session.state.tracks
    arrange_tracks(session, {
        "collapsed": view.toggled((0, "a.csv")), "track": view.without((0, 50)),
        "process": view.without((0, "a.csv")), "filter": TrackView(filter="track 1"),
    }[hide])  # fmt: skip
    assert many.timeline.scene.band_of(SliceRef(0, 50)) == -1
    session.select_slice(SliceRef(0, 50), reveal=True)
    assert many.timeline.view.slice_at(place_of(many, 50)) == SliceRef(0, 50)
    session.undo()
    assert many.timeline.scene.band_of(SliceRef(0, 50)) == -1


def test_a_selected_slice_on_a_hidden_track_is_still_selected(many):
    session = many.session
    session.select_slice(SliceRef(0, 5))
    arrange_tracks(session, session.state.tracks.without((0, 5)))
    assert session.state.slice == SliceRef(0, 5)
    assert not canvas(many).grab().isNull()
    press(canvas(many), QPoint(100, 60), LEFT)
    release(canvas(many), QPoint(100, 60))


def test_the_overview_shows_a_row_that_is_not_hidden(many):
    overview = many.timeline.overview
    before = overview.grab().toImage()
    arrange_tracks(many.session, many.session.state.tracks.without((0, 0)).without((0, 1)))
    assert overview.grab().toImage() != before


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
def test_a_frame_is_painted_wholly_on_any_screen(many, ratio):
    """What of the buffer no section paints would be the memory of something else."""
    pin(many, 40, 3)
    many.timeline.scene.scroll_to(111)
    frames, images = many.timeline.view.frames, []
    for garbage in (0, 0xFFFFFFFF):
        canvas_of = Canvas(500, 311, ratio)
        frames._buffer = np.full((canvas_of.lines, canvas_of.columns), garbage, np.uint32)
        image = QImage(canvas_of.columns, canvas_of.lines, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        painter = QPainter(image)
        frames.paint(painter, canvas_of, Overlay())
        painter.end()
        images.append(image)
    assert images[0] == images[1]
