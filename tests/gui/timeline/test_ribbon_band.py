"""The strips of two compared arms, joined by a band of ribbons."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from tests.builders.compared_windows import arms_of, write_arms
from viewer.analysis.comparison.levels import CALLS
from viewer.gui.session.choices import toggle_strip
from viewer.gui.session.comparison import ComparisonFeed, compare
from viewer.gui.timeline.strip_header import BAND_HEIGHT, HEIGHT, Together
from viewer.model.times import format_time
from viewer.render.layout import BandKind
from viewer.view.visible_ranges import run_span_ns

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def compared(harness, tmp_path):
    """Two arms of which add.out is slower in B, side by side."""
    a, b = write_arms(tmp_path)
    harness.open(*a, *b)
    compare(harness.session, arms_of(a, b))
    harness.settle()
    return harness


def labels(harness):
    harness.timeline.strips[1].band.grab()
    return harness.timeline.strips[1].band.ribbons.labels


def colors_at(widget, x):
    """The colors of a widget at a column, from top to bottom."""
    image = widget.grab().toImage()
    return [image.pixelColor(x, y) for y in range(image.height())]


def test_the_strip_of_b_follows_the_rows_of_a(compared):
    a, b = compared.timeline.strips
    assert b.is_joined
    assert not a.is_joined
    for part in (b.overview, b.ruler, b.corner, b.header.align):
        assert part.isHidden()
    assert b.header.height() == b.band.height() == BAND_HEIGHT
    assert b.header.width() == b.headers.width()
    assert b.band.x() == b.view.x()
    assert b.band.width() == b.view.width()
    assert a.overview.isVisible()
    assert a.header.height() == HEIGHT


def test_lines_of_the_grid_go_on_below_the_only_ruler(compared):
    a, b = compared.timeline.strips
    columns = []
    for strip in (a, b):
        image = strip.view.grab().toImage()
        y = image.height() - 2  # below all rows
        grid = compared.theme.color("grid").rgb()
        columns.append([x for x in range(image.width()) if image.pixel(x, y) == grid])
    assert len(columns[0]) > 1
    assert set(columns[0]) <= set(columns[1])  # in A, ribbons cover some


def test_the_changed_pair_has_a_label_with_its_change(compared):
    found = ComparisonFeed.of(compared.session).answer
    (label,) = labels(compared)
    assert found.rows[label.row][0].label == "add.out"
    band = compared.timeline.strips[1].band
    assert "add.out: +6.066" in band.tip_of(label.row)
    assert "Slower" in band.tip_of(label.row)
    assert band.tip_of(-1) == ""


def test_a_click_on_a_label_selects_the_pair(compared):
    (label,) = labels(compared)
    band = compared.timeline.strips[1].band
    QTest.mouseMove(band, QPoint(2, 2))
    assert band.cursor().shape() is Qt.CursorShape.ArrowCursor
    QTest.mouseClick(band, LEFT, pos=QPoint(2, 2))
    assert compared.session.state.slice is None
    QTest.mouseMove(band, label.room.center().toPoint())
    QTest.mouseClick(band, LEFT, pos=label.room.center().toPoint())
    assert len(compared.session.state.slices.of) == 2
    assert compared.session.state.slice is not None


def test_a_label_has_a_tooltip(compared, monkeypatch):
    shown = []
    monkeypatch.setattr(QToolTip, "showText", lambda place, text, widget: shown.append(text))
    (label,) = labels(compared)
    band, at = compared.timeline.strips[1].band, label.room.center().toPoint()
    QApplication.sendEvent(band, QHelpEvent(QEvent.Type.ToolTip, at, band.mapToGlobal(at)))
    assert "add.out" in shown[0]


def test_the_ribbon_goes_from_the_slice_of_a_through_the_edge_and_the_band(compared):
    a, b = compared.timeline.strips
    slower, ground = compared.theme.color("slower"), compared.theme.color("canvas")
    pairs = compared.timeline.drawings.compared_marks.answer.pairs
    for strip, arm in zip((a, b), pairs.arms, strict=True):
        xmap = strip.scene.xmap(strip.view.viewport().width())
        x = int(xmap.on(strip.scene.rasters[arm.trace].open_trace.axis).pixel_of(arm.start)[0])
        column = colors_at(strip.view.viewport(), x)
        # A bar of 3 px, and the side of the ribbon from it to the edge.
        towards_edge = column[::-1] if strip is a else column
        assert towards_edge[2] == slower
        assert sum(color == slower for color in column) >= 3
        if strip is a:
            assert colors_at(strip.edge, strip.view.x() + x)[2] == slower
    band = b.band.grab().toImage()
    assert band.pixelColor(1, 10) == ground


def test_without_a_comparison_in_view_the_strips_are_apart(compared):
    session = compared.session
    arms = session.state.compared
    for change in (
        replace(session.state, compared=replace(arms, in_tables=False)),
        replace(session.state, ties={}),
    ):
        session.change(change)
        compared.settle()
        b = compared.timeline.strips[1]
        assert not b.is_joined
        assert b.overview.isVisible()
        assert b.header.height() == HEIGHT
        assert b.header.align.isVisible()
        assert b.band.isHidden()
        session.undo()
        compared.settle()
        assert compared.timeline.strips[1].is_joined
    toggle_strip(session, compared.timeline.strips[1].scene.clock)
    assert not compared.timeline.strips[1].is_joined
    compare(session, None)
    compared.settle()
    assert not any(strip.is_joined for strip in compared.timeline.strips)


def test_the_filter_is_in_the_strip_above(compared):
    a, b = compared.timeline.strips
    b.scene.activate()
    assert compared.timeline.strip is b
    assert compared.timeline.corner is a.corner


def test_a_screen_reader_hears_how_many_pairs_changed(compared):
    text = compared.timeline.strips[1].band.accessibleDescription()
    assert text.startswith("1 changed pair;")


def test_strips_take_no_more_height_than_their_rows(compared):
    compared.window.resize(1280, 900)
    compared.settle()
    compared.window.resize(1280, compared.timeline.content_height)
    compared.settle()
    heights = [strip.view.height() for strip in compared.timeline.strips]
    assert heights == [strip.rows_height for strip in compared.timeline.strips]


def columns_of_calls(harness):
    """The columns in which the calls of the shown inferences of A and B begin."""
    found, columns = ComparisonFeed.of(harness.session).answer, []
    for side, strip in enumerate(harness.timeline.strips):
        path, run = found.typical(side)
        number = next(i for i, t in enumerate(harness.session.traces) if t.file.path == path)
        shown = harness.session.traces[number]
        own = found.slices_of_rows(path, range(len(found.rows)), run, CALLS)
        xmap = strip.scene.xmap(strip.view.canvas.columns).on(shown.axis)
        columns.append(xmap.pixel_of(np.sort(shown.trace.slices.start[own])).tolist())
    return columns


def test_the_switch_in_the_upper_header_stretches_both_strips_by_pair(compared):
    a, b = compared.timeline.strips
    assert a.header.together.isVisible()
    assert b.header.together.isHidden()
    before = columns_of_calls(compared)
    assert before[0] != before[1]
    QTest.mouseClick(a.header.together.buttons[Together.CALLS], LEFT)
    compared.settle()
    assert compared.session.state.gaps
    stretched = columns_of_calls(compared)
    assert stretched[0] == stretched[1]
    assert "stretched by pair" in b.header.accessibleName()
    QTest.mouseClick(a.header.together.buttons[Together.INFERENCES], LEFT)
    compared.settle()
    assert not compared.session.state.gaps
    assert columns_of_calls(compared) == before


def test_the_mouse_points_at_one_place_in_stretched_strips(compared):
    a, b = compared.timeline.strips
    QTest.mouseClick(a.header.together.buttons[Together.CALLS], LEFT)
    compared.settle()
    for x in range(40, a.view.viewport().width(), 97):
        QTest.mouseMove(a.view.viewport(), QPoint(x, 40))
        place = b.view._overlay.cursor
        assert b.scene.xmap(b.view.viewport().width()).column_at(place) in (x, x - 1)


def test_a_point_in_a_gap_has_no_slice(compared):
    a, b = compared.timeline.strips
    QTest.mouseClick(a.header.together.buttons[Together.CALLS], LEFT)
    compared.settle()
    scene = a.scene if len(a.scene.gaps) else b.scene
    view = a.view if scene is a.scene else b.view
    gaps, width = scene.gaps, view.viewport().width()
    sizes = np.diff(gaps.added, prepend=0)
    widest = int(np.argmax(sizes))
    middle = int(gaps.at[widest] + gaps.added[widest] - sizes[widest] // 2)
    compared.session.activate(scene.clock)
    compared.session.set_range(middle - int(sizes[widest]), middle + int(sizes[widest]))
    compared.settle()
    x = scene.xmap(width).column_at(middle)
    rows = scene.layout.kind == BandKind.ROW
    found = [view.slice_at(QPoint(x, int(y) - scene.scroll + 5)) for y in scene.layout.y[rows]]
    lengths = [scene.session.traces[ref.trace].span_ns(ref.index) for ref in found if ref]
    # What is there contains the moment of the gap, and does not end or begin at it.
    assert all(first < gaps.at[widest] < last for first, last in lengths)
    assert None in found


def test_headers_state_the_inference_in_view_and_the_median(compared):
    """The inference whose parts are typical may be shorter than the median that headlines have."""
    answer = ComparisonFeed.of(compared.session).answer
    figures = answer.calls.inference
    for strip, side, median in zip(
        compared.timeline.strips, (0, 1), (figures.a_ns, figures.b_ns), strict=True
    ):
        path, run = answer.typical(side)
        number = next(
            i for i, profile in enumerate(compared.session.traces) if profile.file.path == path
        )
        first, last = run_span_ns(compared.session.traces[number], run)
        expected = f"{format_time(last - first)} in view, median {format_time(median)}"
        assert strip.header.caption.startswith(expected)
        t0, t1 = strip.scene.gaps.times(*strip.scene.visible)
        assert t0 <= first
        assert last <= t1
    compare(compared.session, None)
    compared.settle()
    assert "median" not in compared.timeline.strip.header.caption
