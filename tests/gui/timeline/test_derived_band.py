"""Derived tracks from the panel to the strip: drawing, removing, undo, and no change of figures."""

import time

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tests.gui.fake_host import FakeHost
from tests.gui.panels.query.test_panel import DUMP, NONE, run
from tests.gui.timeline_harness import TimelineHarness
from viewer.api.opening import compare
from viewer.api.profile import Profile
from viewer.gui.panels.query.panel import QueryPanel
from viewer.gui.session.feeds import derived
from viewer.gui.session.feeds.derived import DerivedTracks, drawn_tracks
from viewer.gui.timeline.derived_band import DerivedBand
from viewer.gui.timeline.picture import ViewPicture
from viewer.query.engine import Result
from viewer.tables.catalog import TABLES
from viewer.view.derived_tracks import NEEDED, DerivedTrack
from viewer.view.sessions.saved_view import kept_view, shown_view
from viewer.view.state import SliceRef, ViewState

SLICES = "SELECT name, start_ns, dur_ns, id FROM slices WHERE depth = 0"


@pytest.fixture
def harness(qtbot, theme, data):
    harness = TimelineHarness(qtbot, theme)
    harness.open(data / DUMP)
    panel = QueryPanel(FakeHost(harness.session, theme))
    panel.resize(900, 300)
    harness.add(panel)
    harness.panel = panel
    return harness


def band_of(harness) -> DerivedBand:
    return harness.window.findChild(DerivedBand)


def add(qtbot, harness, sql: str, name: str) -> DerivedBand:
    """Run a query, and draw its rows by mouse and keyboard."""
    run(qtbot, harness.panel, sql)
    harness.panel.track_name.setFocus()
    QTest.keyClicks(harness.panel.track_name, name)
    QTest.mouseClick(harness.panel.track_button, Qt.MouseButton.LeftButton)
    harness.settle()
    return band_of(harness)


def point_of(band: DerivedBand, slice_index: int) -> QPoint:
    """Return the middle of a slice of the first track."""
    lane = next(lane for lane in band._lanes if lane.row >= 0)
    trace, canvas = lane.drawn.trace, band._canvas
    xmap = band._scene.xmap(canvas.columns)
    middle = (trace.slices.start[slice_index] + trace.slices.end[slice_index]) // 2
    column = int(xmap.pixel_of(np.array([middle]))[0])
    return QPoint(band._left + round(canvas.x(column)), lane.y + lane.height // 2)


@pytest.mark.slow
def test_rows_are_drawn_where_their_slices_are_and_a_click_selects_them(qtbot, harness):
    band = add(qtbot, harness, SLICES, "outer")
    assert band.isVisible()
    assert band.accessibleDescription().startswith("Derived by query outer: ")
    (drawn,) = DerivedTracks.of(harness.session).on(harness.session.group.key)
    (open_trace,) = harness.session.traces
    for index in range(len(drawn.trace.slices)):
        span = int(drawn.trace.slices.start[index]), int(drawn.trace.slices.end[index])
        assert span == open_trace.span_ns(drawn.slice_id(index))
    harness.session.set_range(0, harness.session.group.span_ns)
    harness.settle()
    index = int(np.argmax(drawn.trace.slices.end - drawn.trace.slices.start))
    QTest.mouseClick(band, Qt.MouseButton.LeftButton, NONE, point_of(band, index))
    assert harness.session.state.slice == SliceRef(0, drawn.slice_id(index))
    assert "Derived by query outer" in band.tip_at(point_of(band, index))
    assert f"id: {drawn.slice_id(index)}" in band.tip_at(point_of(band, index))


@pytest.mark.slow
def test_rows_of_one_file_are_on_its_clock(qtbot, harness, data):
    harness.open(data / "table_csv/two_threads.csv")
    session = harness.session
    own_file = "WHERE file LIKE '%two_threads.csv'"
    add(qtbot, harness, f"SELECT file, id, start_ns, dur_ns FROM slices {own_file}", "second")
    (track,) = session.state.derived
    assert track.clock == session.groups.of(1).key != session.groups.of(0).key
    (drawn,) = DerivedTracks.of(session).on(track.clock)
    before = len(session.traces[0].trace.slices)
    for index in range(len(drawn.trace.slices)):
        span = int(drawn.trace.slices.start[index]), int(drawn.trace.slices.end[index])
        assert span == session.traces[1].span_ns(drawn.slice_id(index) - before)
    bands = harness.window.findChildren(DerivedBand)
    assert [band.isVisible() for band in bands].count(True) == 1


@pytest.mark.slow
def test_tracks_are_hatched(qtbot, harness):
    band = add(qtbot, harness, SLICES, "outer")
    harness.session.set_range(0, harness.session.group.span_ns)
    harness.settle()
    (drawn,) = DerivedTracks.of(harness.session).on(harness.session.group.key)
    index = int(np.argmax(drawn.trace.slices.end - drawn.trace.slices.start))
    lane = next(lane for lane in band._lanes if lane.row >= 0)
    canvas = band._canvas
    xmap = band._scene.xmap(canvas.columns)
    pixels = band._pixels(canvas, xmap)
    ends = np.array([drawn.trace.slices.start[index], drawn.trace.slices.end[index] - 1])
    x0, x1 = xmap.pixel_of(ends).tolist()
    line = pixels[canvas.device(lane.y + lane.height // 2), x0 + 1 : x1]
    ground = pixels[0, 0]
    assert 0 < (line == ground).sum() < len(line) / 2


@pytest.mark.slow
def test_undo_and_the_menu_remove_a_track(qtbot, harness):
    band = add(qtbot, harness, SLICES, "outer")
    session = harness.session
    session.undo()
    assert not band.isVisible()
    session.redo()
    harness.settle()
    assert band.isVisible()
    panel = harness.panel
    assert panel.tracks_button.isVisible()
    panel.track_menu.aboutToShow.emit()
    (action,) = panel.track_menu.actions()
    assert action.text() == "Remove track outer"
    action.trigger()
    assert not band.isVisible()
    assert not panel.tracks_button.isVisible()
    session.undo()
    assert [track.name for track in session.state.derived] == ["outer"]


@pytest.mark.slow
def test_another_track_of_a_name_replaces_it_and_no_name_is_a_number(qtbot, harness):
    add(qtbot, harness, SLICES, "a")
    add(qtbot, harness, "SELECT start_ns, depth AS value FROM slices", "a")
    add(qtbot, harness, SLICES, "")
    assert [track.name for track in harness.session.state.derived] == ["a", "Query 1"]
    texts = [drawn.text for drawn in DerivedTracks.of(harness.session).on(
        harness.session.group.key)]  # fmt: skip
    assert texts[0] == "1 counter"


@pytest.mark.slow
def test_a_result_without_times_cannot_be_a_track(qtbot, harness):
    run(qtbot, harness.panel, "SELECT name FROM slices")
    assert not harness.panel.track_button.isEnabled()
    assert harness.panel.track_button.toolTip() == NEEDED


@pytest.mark.slow
def test_queries_run_again_from_a_saved_view_and_wrong_ones_say_why(qtbot, harness):
    add(qtbot, harness, SLICES, "outer")
    session = harness.session
    paths = [open_trace.file.path for open_trace in session.traces]
    wrong = DerivedTrack("wrong", "SELECT nothing FROM slices", session.group.key)
    derived.add(session, wrong)
    saved = kept_view(session.state, session.traces, paths)
    assert [(d.name, d.sql, d.clock) for d in saved.derived] == [
        ("outer", SLICES, 0), ("wrong", wrong.sql, 0),
    ]  # fmt: skip
    state, messages = shown_view(saved, ViewState(), session.traces, paths)
    assert messages == []
    assert state.derived == session.state.derived
    tracks = DerivedTracks.of(session)
    tracks._drawn = {}
    session.restore_view(state)
    tracks._follow()
    qtbot.waitUntil(lambda: len(tracks.on(session.group.key)) == 2, timeout=60_000)
    good, bad = tracks.on(session.group.key)
    assert len(good.trace.slices) > 0
    assert bad.trace is None
    assert 'Referenced column "nothing" not found' in bad.text


@pytest.mark.slow
def test_images_of_the_timeline_have_them(qtbot, harness):
    before = ViewPicture(harness.timeline).image(1)
    band = add(qtbot, harness, SLICES, "outer")
    picture = ViewPicture(harness.timeline)
    assert picture.size.width() == before.width()
    image, seen = picture.image(1), band.grab().toImage()
    legend = 0 if harness.timeline.legend.isHidden() else harness.timeline.legend.height()
    top = image.height() - legend - band.height()
    pixels = [(x, y) for x in range(0, band.width(), 7) for y in range(2, band.height())]
    same = sum(image.pixel(x, top + y) == seen.pixel(x, y) for x, y in pixels)
    assert same > 0.97 * len(pixels)


@pytest.mark.slow
def test_of_many_lanes_the_first_are_drawn(qtbot, harness):
    nested = "SELECT n AS pivot, 0 AS ts, 10 AS dur FROM range(40) t(n)"
    band = add(qtbot, harness, nested, "many")
    assert "40 slices, 24 more lanes are not drawn" in band.accessibleDescription()
    assert sum(lane.row >= 0 for lane in band._lanes) == 16
    add(qtbot, harness, nested, "again")
    assert sum(lane.row >= 0 for lane in band._lanes) == 16


@pytest.mark.slow
def test_no_figure_changes(qtbot, harness):
    session = harness.session
    before = figures(session)
    add(qtbot, harness, SLICES, "outer")
    add(qtbot, harness, "SELECT start_ns, depth AS value FROM slices", "depth")
    assert len(DerivedTracks.of(session).on(session.group.key)) == 2
    assert figures(session) == before
    session.workspace.choose(session.workspace.choices)
    assert figures(session) == before


def figures(session) -> dict[str, str]:
    """Return what every table and answer says of what is open."""
    profile = Profile(session.workspace)
    tables = {name: getattr(profile, name).to_json() for name in TABLES}
    answers = {
        "summary": profile.summary(), "info": repr(profile.info), "stats": profile.stats("name"),
        "calls": profile.calls(), "delegation": profile.delegation(),
        "hits": len(profile.query("dur > 1us")), "counters": str(profile.counters),
        "compared": compare(session.traces[0].file.path, session.traces[0].file.path).to_json(),
    }  # fmt: skip
    return tables | {name: str(answer) for name, answer in answers.items()}


@pytest.mark.slow
def test_many_rows_are_drawn_soon(qtbot, harness):
    rng = np.random.default_rng(1)
    start = np.sort(rng.integers(0, harness.session.group.span_ns, 100_000)).tolist()
    rows = [(f"n{i % 50}", begin, 40) for i, begin in enumerate(start)]
    result = Result(["name", "ts", "dur"], ["VARCHAR", "BIGINT", "BIGINT"], rows, len(rows))
    track = DerivedTrack("many", "SELECT 1", harness.session.group.key)
    harness.session.set_range(0, harness.session.group.span_ns)
    harness.settle()
    began = time.process_time()
    drawn = DerivedTracks.of(harness.session).offer(track, result)
    derived.add(harness.session, track)
    band_of(harness).grab()
    print(f"100,000 rows: {time.process_time() - began:.3f} CPU s")
    assert len(drawn.trace.slices) == len(rows)
    assert drawn is not drawn_tracks(track, result, {})
