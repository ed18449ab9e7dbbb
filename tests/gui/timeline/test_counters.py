"""Counters on the timeline: their rows, their pixels, what is said of them under the mouse."""

import json
import re

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication

from tests.gui.events import canvas, column, drag, middle_of, move, place_of
from viewer.gui.session import navigation
from viewer.gui.session.choices import toggle_part
from viewer.gui.timeline.painting.frame import COUNTER_AIR
from viewer.gui.timeline.scene.texts import counter_reading, counter_title, counter_value
from viewer.render.layout import BandKind
from viewer.view.state import SliceRef


@pytest.fixture
def compiled(harness, data):
    """A compile profile, which has units, with all of its rows in view."""
    harness.window.resize(1200, 1600)
    harness.open(data / "torq" / "compile_c3_taskid_mtu.csv")
    return harness


def bands(harness):
    """The band of each counter, by the name in its header."""
    scene = harness.timeline.scene
    found = np.flatnonzero(scene.layout.kind == BandKind.COUNTER).tolist()
    return {counter_title(scene, band)[0]: band for band in found}


def pixels(harness, band):
    """The lines of a counter's area as tokens of the theme, "" for what is none of them."""
    harness.timeline.view.viewport().repaint()
    image = canvas(harness).grab().toImage()
    scene, theme = harness.timeline.scene, harness.theme
    names = {
        theme.color(name).rgb(): name for name in ("counter_area", "counter_peak", "counter_line")
    }
    top = int(scene.layout.y[band]) - scene.scroll + COUNTER_AIR
    lines = range(top, top + int(scene.layout.height[band]) - 2 * COUNTER_AIR)
    return [
        [names.get(image.pixel(x, y), "") for x in range(canvas(harness).width())] for y in lines
    ]


def high(lines):
    """How many lines each column is filled from the ground on."""
    return [sum(line[x] != "" for line in lines) for x in range(len(lines[0]))]


def ns(cycles):
    return cycles * 5 // 4


def test_counters_have_rows_of_their_own_below_the_tracks(compiled):
    scene = compiled.timeline.scene
    found = bands(compiled)
    assert list(found)[:5] == [
        "Concurrent units", "Slice units busy", "CSS busy", "DMA busy", "DMA In bandwidth",
    ]  # fmt: skip
    rows = np.flatnonzero(scene.layout.kind == BandKind.ROW)
    assert min(found.values()) > rows.max()
    assert counter_title(scene, found["Concurrent units"]) == ("Concurrent units", "max 3")
    assert counter_title(scene, found["DMA busy"]) == (
        "DMA busy", "per 1k cycles · max 100.0\u202f%"
    )  # fmt: skip
    assert counter_title(scene, found["DMA In bandwidth"])[1] == "max 3.803\u202fGB/s"
    toggle_part(compiled.session, (0, scene.processes[0].name))
    assert bands(compiled) == {}


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_the_area_is_as_high_as_the_value(compiled, choice):
    compiled.theme.set_choice(choice)
    compiled.session.set_range(0, ns(10_000))
    lines = pixels(compiled, bands(compiled)["Concurrent units"])
    filled = high(lines)
    whole = len(lines)
    # From the rows of the file: one unit, from 2196 on two, from 4176 to 6155 three.
    for cycle, units in ((1000, 1), (3000, 2), (5000, 3), (8000, 2)):
        assert filled[column(compiled, ns(cycle))] == round(whole * units / 3)
    ground = [row[column(compiled, ns(5000))] for row in lines]
    assert ground == ["counter_line", *["counter_area"] * (whole - 1)]


def test_a_file_without_units_has_no_counters(attention):
    assert bands(attention) == {}
    assert attention.session.traces[0].counters == ()


# -- under the mouse -----------------------------------------------------------------------------


def hover(harness, name, cycles):
    """Point at a counter at a time: the lines that are said at the mouse."""
    at = QPoint(column(harness, ns(cycles)), middle_of(harness, bands(harness)[name]))
    move(canvas(harness), at)
    return harness.timeline.view.tip.lines


def test_the_hover_text_tells_the_value_at_the_time_of_the_mouse(compiled):
    compiled.session.set_range(0, ns(10_000))
    title, value = hover(compiled, "Concurrent units", 5000)
    assert title == "Concurrent units"
    assert re.fullmatch("3 at 6[.]2[0-9]{2}\u202fµs", value)
    name, value, rate = hover(compiled, "DMA In bandwidth", 3000)
    assert (name, rate) == ("DMA In bandwidth", "at the assumed clock rate")
    assert re.fullmatch("3[.]803\u202fGB/s at 3[.]7[0-9]{2}\u202fµs", value)
    title, value = hover(compiled, "DMA busy", 8000)
    assert title == "DMA busy · per 1k cycles"
    assert value.startswith("0.0\u202f% at 9.9")


def test_the_hover_text_follows_the_mouse(compiled):
    compiled.session.set_range(0, ns(10_000))
    assert hover(compiled, "Concurrent units", 5000)[1].startswith("3 at 6.2")
    assert hover(compiled, "Concurrent units", 1000)[1].startswith("1 at 1.2")
    move(canvas(compiled), QPoint(5, canvas(compiled).height() - 1))
    assert compiled.timeline.view.tip.lines == ()


def test_of_a_crowded_column_both_values_are_told(compiled):
    scene, width = compiled.timeline.scene, canvas(compiled).width()
    whole = compiled.timeline.view.canvas
    band = bands(compiled)["DMA In bytes"]
    navigation.fit_all(compiled.session)
    texts = [counter_value(scene, band, x, whole)[1] for x in range(width)]
    assert "9\u2009408\u202fB" in texts
    mixed = [text for text in texts if text.startswith("up to ")]
    assert mixed
    assert all(
        re.fullmatch("up to [\u20090-9]+\u202fB, mean [\u20090-9]+\u202fB", t) for t in mixed
    )


def test_a_counter_below_0_has_its_value_as_a_part_of_the_height(harness, tmp_path):
    path = tmp_path / "balance.json"
    values = ((0, -30), (100, 10), (200, 0))
    events = [
        {"ph": "C", "pid": 1, "name": "balance", "ts": t, "args": {"v": v}} for t, v in values
    ]
    run = {"ph": "X", "pid": 1, "tid": 1, "name": "run", "ts": 0, "dur": 300}
    path.write_text(json.dumps([run, *events]))
    harness.open(path)
    scene, whole = harness.timeline.scene, harness.timeline.view.canvas
    (band,) = bands(harness).values()
    assert counter_title(scene, band)[1] == "min \u221230, max 10"
    at = {t: column(harness, t * 1000) for t in (50, 150, 250)}
    parts = [counter_value(scene, band, x, whole)[0] for x in at.values()]
    assert parts == [0.0, 1.0, 0.75]


def test_a_dot_stands_on_the_value_and_goes_with_the_mouse(compiled):
    compiled.session.set_range(0, ns(10_000))
    band = bands(compiled)["Concurrent units"]
    x, y = column(compiled, ns(5000)), middle_of(compiled, band)
    ink = compiled.theme.color("text1").rgb()
    top = int(compiled.timeline.scene.layout.y[band]) + COUNTER_AIR

    def dotted():
        image = canvas(compiled).grab().toImage()
        return image.pixel(x, top) == ink

    assert not dotted()
    move(canvas(compiled), QPoint(x, y))
    assert dotted()
    move(canvas(compiled), place_of(compiled, 0))
    assert not dotted()


def test_a_click_on_a_counter_selects_nothing(compiled, qtbot):
    session = compiled.session
    session.select_slice(SliceRef(0, 3))
    at = QPoint(300, middle_of(compiled, bands(compiled)["DMA busy"]))
    qtbot.mouseClick(canvas(compiled), Qt.MouseButton.LeftButton, pos=at)
    assert session.state.slice is None
    assert session.state.area is None


def test_a_drag_over_counters_means_the_time_of_all_tracks(compiled):
    y = middle_of(compiled, bands(compiled)["DMA busy"])
    drag(canvas(compiled), QPoint(300, y), QPoint(500, y + 5))
    area = compiled.session.state.area
    assert len(area.tracks) == len(compiled.session.traces[0].trace.tracks)
    view = compiled.timeline.view
    assert (area.t0, area.t1) == (view.time_at(300), view.time_at(500))


def test_the_header_has_the_name_and_the_greatest_value(compiled):
    band = bands(compiled)["CSS busy"]
    image = compiled.timeline.headers.grab().toImage()
    top = int(compiled.timeline.scene.layout.y[band])
    upper, lower = (
        {image.pixel(x, y) for x in range(28, 186) for y in range(first, first + 14)}
        for first in (top + 2, top + 18)
    )
    assert compiled.theme.color("text1").rgb() in upper
    # Strokes of small letters are thinner than a pixel, so the color is only approached.
    gray = compiled.theme.color("text3")
    assert any(abs(QColor(p).lightness() - gray.lightness()) <= 24 for p in lower)


def test_the_planned_memory_of_a_program_file_comes_with_the_file(harness, data):
    harness.open(data / "pte/llama.etdp")
    assert bands(harness) == {}
    harness.open(data / "pte/llama.pte")
    scene = harness.timeline.scene
    band = bands(harness)["Planned memory in use"]
    assert counter_title(scene, band)[1] == "max 1\u2009792\u202fB of 1\u2009792\u202fB"
    harness.session.close_all()
    harness.settle()
    harness.open(data / "pte/llama.etdp")
    assert bands(harness) == {}


def test_headers_have_the_value_under_the_mouse(compiled):
    scene, headers = compiled.timeline.scene, compiled.timeline.headers
    found = bands(compiled)
    rest = headers.grab().toImage()
    pictures, values = set(), set()
    band = found["DMA busy"]
    for x in range(40, canvas(compiled).width(), 60):
        move(canvas(compiled), QPoint(x, 20))  # over slices, not over the counter
        place = scene.xmap(canvas(compiled).width()).place_at(x)
        view_canvas = compiled.timeline.view.canvas
        assert headers._pointed == (place, view_canvas)
        reading = counter_reading(scene, band, place, view_canvas)
        assert reading == counter_value(scene, band, x, view_canvas)[1].partition(", mean ")[0]
        picture = headers.grab(headers._room(band)).toImage()
        pictures.add(bytes(picture.constBits()))
        values.add(reading)
    assert len(values) > 1
    assert len(pictures) == len(values)
    QApplication.sendEvent(compiled.timeline.view, QEvent(QEvent.Type.Leave))
    assert headers._pointed is None
    assert headers.grab().toImage() == rest


def test_a_mouse_move_repaints_only_the_headers_of_counters(compiled, monkeypatch):
    headers, updated = compiled.timeline.headers, []
    monkeypatch.setattr(headers, "update", lambda *room: updated.append(room))
    move(canvas(compiled), QPoint(300, 20))
    move(canvas(compiled), QPoint(310, 20))
    rooms = [headers._room(band) for band in bands(compiled).values()]
    assert updated
    assert all(room in rooms for (room,) in updated)
