"""Logical and device pixels: nothing is blurred, and what is drawn is what is hit."""

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from tests.gui.events import open_sample
from viewer.gui.timeline.painting.frame import Overlay
from viewer.render.layout import Canvas
from viewer.render.palette import UNATTRIBUTED, UNLINKED


def test_columns_and_lines():
    sharp = Canvas(1000, 600, 1.25)
    assert (sharp.columns, sharp.lines) == (1250, 750)
    assert sharp.x(sharp.column(17.0)) == 17.0
    assert sharp.device(8) == 10
    assert (Canvas(0, 0, 2).columns, Canvas(0, 0, 2).lines) == (1, 1)


def painted(controller, canvas):
    """A frame of the timeline's rows as the screen would get it, in device pixels."""
    image = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(canvas.ratio)
    painter = QPainter(image)
    controller.timeline.view.frames.paint(painter, canvas, Overlay())
    painter.end()
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(canvas.lines, -1)
    return rows[:, : canvas.columns].copy()  # the image ends here


@pytest.fixture
def attention(controller, qtbot):
    open_sample(qtbot, controller, "attention_xnnpack")
    return controller


@pytest.mark.parametrize("ratio", [1.25, 1.5, 2.0])
def test_edges_of_slices_lie_on_device_columns_of_their_times(attention, ratio):
    """At 125 % a slice begins at floor of its share of 1.25 times the columns, in one hard edge."""
    canvas = Canvas(900, 400, ratio)
    frame = painted(attention, canvas)
    shown = attention.session.traces[0]
    scene = attention.timeline.scene
    state = attention.session.state
    palette, found = scene.rasters[0].palette, 0
    for index in range(len(shown.trace.slices)):
        start, end = shown.span_ns(index)
        x0, x1 = ((t - state.t0) * canvas.columns // (state.t1 - state.t0) for t in (start, end))
        band = int(scene.layout.band_of(0, int(shown.trace.slices.row_of(index))))
        if int(palette[index]) in (UNLINKED, UNATTRIBUTED):
            continue  # these are hatched
        if band < 0 or x0 < 20 or x1 > canvas.columns - 20 or x1 - x0 < 30 * ratio:
            continue
        top = scene.layout.y[band] + scene.layout.height[band] / 2
        line = frame[round(float(top) * ratio) - round(5 * ratio), x0 - 1 : x0 + 4]
        found += 1
        # What is before its first column is not its fill, which fills the next columns evenly.
        assert line[0] != line[2], index
        assert line[2] == line[3], index
    assert found > 5


def test_twice_the_ratio_shows_the_same_rows_at_twice_the_size(attention):
    tall = attention.timeline.scene.viewport_height
    once, twice = (painted(attention, Canvas(900, tall, r)) for r in (1.0, 2.0))
    assert twice.shape == (2 * tall, 1800)
    # Away from texts and edges every pixel of the small frame is four of the large one.
    same = (twice[::2, ::2] == once).mean()
    assert same > 0.9
