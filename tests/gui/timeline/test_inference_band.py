"""The band of inferences: painted once, and again when what it shows changes."""

import pytest
from PySide6.QtGui import QImage, QPainter

from viewer.gui.session.navigation import pick_run
from viewer.gui.timeline.overview import InferenceBand
from viewer.model.inference_views import Inferences
from viewer.render.layout import Canvas
from viewer.render.time_axis import XMap

CANVAS = Canvas(800, 22)


@pytest.fixture
def band(attention):
    return InferenceBand(attention.timeline.scene, attention.theme)


@pytest.fixture
def paint(attention, band, monkeypatch):
    """Paint the band, and return the picture; `made` has an entry for each time it was made."""
    made = []
    whole = band._painted
    monkeypatch.setattr(band, "_painted", lambda *given: made.append(1) or whole(*given))

    def once(canvas=CANVAS):
        picture = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        picture.setDevicePixelRatio(canvas.ratio)
        painter = QPainter(picture)
        span = attention.session.group.span_ns
        band.paint(painter, canvas, XMap(0, span, canvas.width))
        painter.end()
        return picture

    once.made = made
    return once


def test_it_is_painted_again_only_when_it_changes(attention, paint):
    first = paint()
    t0, t1 = attention.session.state.t0, attention.session.state.t1
    attention.session.set_range(t0 + 100, t1 + 100)
    assert paint() == first
    assert len(paint.made) == 1
    pick_run(attention.session, (0, 3))
    assert paint() != first
    attention.theme.set_choice("light")
    paint()
    assert len(paint.made) == 3


def test_the_picked_inference_is_filled_with_the_accent(attention, paint):
    session, accent = attention.session, attention.theme.color("accent_fill")
    number = session.state.run[1]
    run = session.traces[0].trace.runs[number]
    middle = (run.start - session.traces[0].trace.start + (run.end - run.start) / 10) * 800
    column = int(middle / session.group.span_ns)
    assert paint().pixelColor(column, 4) == accent


def test_it_has_device_pixels_and_is_empty_without_inferences_as_they_ran(attention, paint):
    picture = paint(Canvas(800, 22, 2.0))
    assert (picture.width(), picture.height()) == (1600, 44)
    attention.session.show_inferences(Inferences.TYPICAL)
    empty = paint()
    panel = attention.theme.color("panel")
    assert {empty.pixelColor(x, 11).name() for x in range(800)} == {panel.name()}
