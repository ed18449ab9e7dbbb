"""The map of all tracks: what it shows, and where a click scrolls to."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from tests.gui.events import drag, move, press, release, wheel
from viewer.gui.session.choices import toggle_part
from viewer.gui.timeline import overview as module
from viewer.gui.timeline.overview import LEAST_TRACKS
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.view.state import SliceRef

THREADS = 100


def trace_of(processes, threads=THREADS, path="a.json"):
    builder = TraceBuilder(path, "test", "", Clock("ns"))
    for number in range(processes * threads):
        process, thread = divmod(number, threads)
        builder.add(
            track=builder.track(f"process {process}", f"thread {thread}"),
            start=np.array([number]), end=np.array([number + 50]), name=builder.intern("a"),
            key=builder.key(KeyKind.PLAIN, "a"),
        )  # fmt: skip
    return builder.build()


@pytest.fixture
def many(harness):
    harness.session.add([trace_of(8)])
    harness.settle()
    return harness


def minimap(shown):
    return shown.timeline.strips[0].minimap


def test_it_is_there_with_many_tracks_of_one_clock_only(harness):
    harness.session.add([trace_of(1, LEAST_TRACKS - 1)])
    harness.settle()
    assert minimap(harness).isHidden()
    harness.session.add([trace_of(1, LEAST_TRACKS, path="b.json")])
    harness.settle()
    assert len(harness.timeline.strips) == 2
    assert all(strip.minimap.isHidden() for strip in harness.timeline.strips)


def test_folding_moves_no_column(many):
    width = many.timeline.view.viewport().width()
    assert not minimap(many).isHidden()
    for process in range(8):
        toggle_part(many.session, (0, f"process {process}"))
    many.settle()
    assert many.timeline.scene.scroll_limit == 0
    assert not minimap(many).isHidden()
    assert many.timeline.view.viewport().width() >= width


def test_a_click_scrolls_there(many):
    scene, shown = many.timeline.scene, minimap(many)
    for share in (0.5, 0.02, 0.98, 0.25):
        y = int(share * shown.height())
        press(shown, QPoint(10, y))
        release(shown, QPoint(10, y))
        room = shown.frame_room()
        assert room.top() - 1 <= y <= room.bottom() + 1
        middle = scene.scroll + scene.viewport_height / 2
        assert abs(middle / scene.layout.total_height - share) < 0.03
        expected = shown.name_at(y).rpartition(" · ")[2]
        band = scene.layout.band_at(scene.scroll + scene.layout.stuck_height + 2)
        assert expected.startswith("process")
        assert abs(int(scene.layout.process[band]) - int(expected.split()[-1])) <= 1


def test_a_drag_moves_the_frame_from_one_end_to_the_other(many):
    scene, shown = many.timeline.scene, minimap(many)
    start = shown.frame_room().center()
    drag(shown, start, QPoint(10, 10 * shown.height()))
    assert scene.scroll == scene.scroll_limit
    assert shown.frame_room().bottom() == shown.height() - 1
    drag(shown, shown.frame_room().center(), QPoint(10, -500))
    assert scene.scroll == 0
    move(shown, QPoint(10, 200))
    assert scene.scroll == 0, "no button is pressed"
    wheel(shown, QPoint(10, 10), -2)
    assert scene.scroll > 0


def test_each_line_is_the_row_that_is_there(many):
    shown = minimap(many)
    shown.grab()
    pixels = shown._painted.pixels[0]
    canvas_pixel = pixels[:, -1].min()
    # Slices of later tracks start later: their columns go from left to right, down the map.
    rows = [np.flatnonzero(line != canvas_pixel) for line in pixels]
    rows = [row for row in rows if 0 < len(row) < pixels.shape[1]]
    firsts = [int(row[0]) for row in rows]
    assert len(rows) > 100
    assert firsts == sorted(firsts)
    assert firsts[-1] > pixels.shape[1] * 0.8


def test_scrolling_draws_no_row_again(many):
    shown = minimap(many)
    shown.grab()
    before = shown._painted
    many.timeline.scene.scroll_to(1234)
    shown.grab()
    assert shown._painted is before
    many.session.select_slice(SliceRef(0, 5))
    marked = shown.grab().toImage()
    many.session.select_slice(None)
    assert marked != shown.grab().toImage()


def test_it_draws_no_more_rows_than_it_has_lines(many, monkeypatch):
    shown = minimap(many)
    asked = []
    real = module.draw_rows

    def drawn(source, rows, xmap):
        asked.append(len(rows))
        return real(source, rows, xmap)

    monkeypatch.setattr(module, "draw_rows", drawn)
    shown._forget()
    shown.grab()
    assert 0 < sum(asked) <= shown.height()
