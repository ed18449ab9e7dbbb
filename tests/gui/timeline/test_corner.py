"""The filter of tracks, and what the corner says of tracks that are not shown."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from tests.gui.events import LEFT, canvas, move, press, release
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.timeline.overview import BAND_HEIGHT
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.arrangement import shown_parts


@pytest.fixture
def tracks(harness):
    """A process with five tracks."""
    builder = TraceBuilder("a.csv", "test", "", Clock("ns"))
    for name in ("cpu 0", "cpu 1", "DMA in", "dma out", "gpu"):
        builder.add(
            track=builder.track("a.csv", name), start=np.array([0, 20]), end=np.array([9, 90]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    harness.session.add([builder.build()])
    harness.settle()
    return harness


def shown(harness):
    scene = harness.timeline.scene
    return [
        scene.track_list.names[scene.track_list.track_of(part)]
        for part in sorted(shown_parts(scene.track_list, scene.arrangement))
    ]


def link_of(harness):
    """The first point, from the left, of the words that bring all tracks back."""
    corner = harness.timeline.corner
    for x in range(corner.width()):
        at = QPoint(x, BAND_HEIGHT + 9)
        move(corner, at)
        if corner.cursor().shape() == Qt.CursorShape.PointingHandCursor:
            return at
    raise AssertionError("nothing there can be pressed")


def show_all(harness):
    """Click on the words in the corner."""
    corner, link = harness.timeline.corner, link_of(harness)
    press(corner, link)
    release(corner, link)


def test_typing_filters_tracks_by_name_in_either_case(tracks, qtbot):
    field = tracks.timeline.corner.filter
    qtbot.mouseClick(field, LEFT)
    qtbot.keyClicks(field, "dMA")
    assert shown(tracks) == ["DMA in", "dma out"]
    assert tracks.timeline.corner.missing == "3 tracks filtered out"
    qtbot.keyClicks(field, " i")
    assert shown(tracks) == ["DMA in"]
    tracks.session.undo()
    assert shown(tracks) == ["cpu 0", "cpu 1", "DMA in", "dma out", "gpu"]
    assert field.text() == ""
    tracks.session.redo()
    assert field.text() == "dMA i"


def test_escape_empties_the_field_then_leaves_it_and_only_then_clears_the_selection(tracks, qtbot):
    field = tracks.timeline.corner.filter
    tracks.session.select_area(None)
    qtbot.mouseClick(field, LEFT)
    qtbot.keyClicks(field, "gpu")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert (field.text(), len(shown(tracks))) == ("", 5)
    assert field.hasFocus()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert tracks.timeline.view.hasFocus()


def test_the_corner_says_what_is_missing_and_brings_it_back(tracks):
    session, corner = tracks.session, tracks.timeline.corner
    assert corner.missing == ""
    bare = corner.grab().toImage()
    arrange_tracks(session, replace(session.state.tracks.without((0, 4)), filter="dma"))
    assert corner.missing == corner.accessibleDescription() == "3 tracks hidden or filtered out"
    assert corner.grab().toImage() != bare
    move(corner, link_of(tracks) + QPoint(10, 0))
    assert corner.cursor().shape() == Qt.CursorShape.PointingHandCursor
    show_all(tracks)
    assert corner.missing == ""
    assert len(shown(tracks)) == 5
    session.undo()
    assert shown(tracks) == ["DMA in", "dma out"]
    arrange_tracks(session, session.state.tracks.with_all().without((0, 0)))
    assert corner.missing == "1 track hidden"


def test_an_empty_canvas_says_that_all_is_hidden_and_nothing_of_the_file(tracks):
    view = canvas(tracks)
    session = tracks.session
    arrange_tracks(session, replace(session.state.tracks, filter="no such name"))
    assert tracks.timeline.scene.layout.total_height == 0
    assert tracks.timeline.scene.missing_text == "5 tracks filtered out"
    filtered = view.grab().toImage()
    arrange_tracks(session, session.state.tracks.with_all().without((0, "a.csv")))
    assert tracks.timeline.scene.missing_text == "5 tracks hidden"
    assert view.grab().toImage() != filtered
    press(view, QPoint(100, 100))
    release(view, QPoint(100, 100))
    assert session.state.slice is None


def test_a_drag_beside_all_rows_means_the_tracks_that_are_shown(tracks):
    session, view = tracks.session, canvas(tracks)
    arrange_tracks(session, session.state.tracks.without((0, 4)).toggled((0, "a.csv")))
    press(view, QPoint(100, 200))
    for x in (200, 300):
        move(view, QPoint(x, 200), LEFT)
    release(view, QPoint(300, 200))
    assert session.state.area.tracks == {(0, 0), (0, 1), (0, 2), (0, 3)}


@pytest.mark.parametrize("points", [8, 12, 16, 19])
def test_the_filter_is_as_high_as_its_text_in_large_fonts(attention, points):
    """Up to 200 %: it takes the room of the caption above, which is then left out."""
    corner = attention.timeline.corner
    font = corner.font()
    font.setPointSizeF(points)
    corner.setFont(font)
    corner.filter.setFont(font)
    corner.fit()
    place, sizes = corner.filter.geometry(), corner._overview.sizes
    assert place.height() >= corner.filter.fontMetrics().height()
    assert sizes.band <= place.top()
    assert place.bottom() < sizes.height - 2
    assert corner._has_caption is (place.top() - sizes.band >= corner.fontMetrics().height() - 2)
