"""Wheels of every kind: fine ones, touchpads, with keys held; nothing is lost and nothing jumps."""

import itertools
from fractions import Fraction

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QNativeGestureEvent, QPointingDevice
from PySide6.QtWidgets import QApplication

from tests.gui.events import CTRL, SHIFT, canvas, column, wheel

ALT = Qt.KeyboardModifier.AltModifier
AT = QPoint(300, 50)


def view_range(harness):
    return harness.session.state.t0, harness.session.state.t1


def test_parts_of_a_notch_scroll_as_far_as_the_whole(tall):
    scene = tall.timeline.scene
    for _ in range(120):
        wheel(canvas(tall), AT, -1 / 120)  # one unit of the finest wheel: half a pixel
    assert scene.scroll == 60
    for _ in range(8):
        wheel(tall.timeline.headers, AT, 1 / 8)
    assert scene.scroll == 0


def test_a_fine_wheel_that_turns_back_scrolls_back_at_once(tall):
    scene = tall.timeline.scene
    wheel(canvas(tall), AT, -10)
    for _ in range(3):
        wheel(canvas(tall), AT, -1 / 120)
    before = scene.scroll
    wheel(canvas(tall), AT, 2 / 120)
    assert scene.scroll == before - 1


@pytest.mark.parametrize("parts", [1, 8, 30, 120])
def test_parts_of_a_notch_zoom_as_far_as_the_whole(attention, parts):
    attention.session.set_range(600_000, 700_000)
    for _ in range(4 * parts):
        wheel(canvas(attention), AT, 1 / parts, held=CTRL)
    t0, t1 = view_range(attention)
    assert t1 - t0 == pytest.approx(100_000 / 1.25**4, rel=1e-3)


def test_a_fine_wheel_zooms_through_single_ns_without_a_rush(attention):
    attention.session.set_range(680_000, 680_020)
    spans = []
    for _ in range(3 * 30):
        wheel(canvas(attention), AT, -1 / 30, held=CTRL)
        spans.append(view_range(attention)[1] - view_range(attention)[0])
    assert spans[-1] == pytest.approx(20 * 1.25**3, abs=1)
    assert max(later - before for before, later in itertools.pairwise(spans)) == 1


def test_small_pans_add_up_where_a_ns_is_wide(attention):
    attention.session.set_range(680_000, 680_010)
    width = canvas(attention).width()
    steps = 200
    for _ in range(steps):
        wheel(canvas(attention), AT, sideways=-1 / 8)
    moved = view_range(attention)[0] - 680_000
    assert moved == int(Fraction(60, 8) * steps * 10 / width)
    assert view_range(attention)[1] - view_range(attention)[0] == 10


def test_a_touchpad_pans_by_its_pixels(attention):
    under = attention.timeline.view.time_at(500)
    wheel(canvas(attention), AT, sideways=-0.1, pixels=QPoint(-37, 2))
    assert abs(column(attention, under) - 463) <= 1


@pytest.mark.parametrize("how", [{"notches": -1}, {"sideways": -1}])
def test_alt_changes_nothing_whichever_way_the_platform_turns_its_wheel(tall, how):
    before = view_range(tall)
    wheel(canvas(tall), AT, **how, held=ALT)
    assert tall.timeline.scene.scroll == 60
    assert view_range(tall) == before


def test_alt_and_ctrl_zoom_and_alt_and_shift_pan(attention):
    attention.session.set_range(600_000, 700_000)
    wheel(canvas(attention), AT, sideways=1, held=CTRL | ALT)
    t0, t1 = view_range(attention)
    assert t1 - t0 == pytest.approx(80_000, abs=2)
    wheel(canvas(attention), AT, -1, held=SHIFT | ALT)
    assert view_range(attention)[0] > t0
    assert view_range(attention)[1] - view_range(attention)[0] == t1 - t0


def pinch(harness, by):
    here = QPointF(AT)
    QApplication.sendEvent(
        canvas(harness),
        QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture, QPointingDevice.primaryPointingDevice(), 2,
            here, here, canvas(harness).mapToGlobal(here), by, QPointF(),
        ),
    )  # fmt: skip


def test_a_pinch_zooms_around_the_fingers(attention):
    attention.session.set_range(600_000, 700_000)
    under = attention.timeline.view.time_at(AT.x())
    for _ in range(10):
        pinch(attention, 0.02)
    t0, t1 = view_range(attention)
    assert t1 - t0 == pytest.approx(100_000 / 1.02**10, rel=1e-3)
    assert abs(column(attention, under) - AT.x()) <= 1
    pinch(attention, -0.5)
    assert view_range(attention)[1] - view_range(attention)[0] > t1 - t0


def test_the_wheel_over_the_overview_zooms_in_parts_too(attention):
    attention.session.set_range(600_000, 700_000)
    for _ in range(8):
        wheel(attention.timeline.overview, QPoint(400, 40), 1 / 8)
    t0, t1 = view_range(attention)
    assert t1 - t0 == pytest.approx(80_000, rel=1e-3)


def test_an_event_without_a_turn_changes_nothing(attention):
    before = view_range(attention)
    QApplication.sendEvent(canvas(attention), QEvent(QEvent.Type.None_))
    wheel(canvas(attention), AT, held=CTRL)
    wheel(canvas(attention), AT)
    assert view_range(attention) == before
