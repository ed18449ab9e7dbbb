"""The pixels of bars and hatches on compared slices."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.gui.dark_theme import dark_theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.painting.compared_marks import BAR, STRENGTH_DARK, stamp_compared
from viewer.gui.timeline.scene.compared_marks import FASTER, SLOWER, FoundMarks, TraceMarks
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.render.frames.frame import Backdrop, draw_frame
from viewer.render.layout import SLICE_TOP
from viewer.render.palette import OPERATOR_FILLS, canvas_rgb, contrast, label_rgb, mix
from viewer.render.raster import RowRaster

WIDTH, HEIGHT = 100, 60
GRAY = 0xFF808080


@pytest.fixture
def scene(qapp):
    """Three slices of 20, 30 and 50 px on one row of the canvas."""
    session = Session()
    scene = Scene(Drawings(session))
    session.add([trace_of(("t", "conv", 0, 20), ("t", "add", 20, 50), ("t", "mul", 50, 100))])
    session.set_range(0, 100)
    return scene


def subset(scene, color, *indices):
    slices = scene.session.traces[0].trace.slices
    colors = np.full(len(slices), color, np.uint8)
    return RowRaster.subset(slices, colors, np.array(indices, np.int64))


def stamped(scene, marks, ratio=1.0):
    scene.drawings.compared_marks.found = FoundMarks({0: marks}, None)
    canvas = Canvas(WIDTH, HEIGHT, ratio)
    xmap = scene.xmap(canvas.columns)
    ground = Backdrop(GRAY, GRAY, np.empty(0, np.int64))
    sources = scene.sources(dark=True)
    frame = draw_frame(scene.layout, scene.scroll, HEIGHT, xmap, sources, ground, ratio=ratio)
    image = np.full((canvas.lines, canvas.columns), GRAY, np.uint32)
    stamp_compared(image, scene, 0, canvas, frame.marks, dark_theme())
    return image


def row_of(scene):
    """The y and the height of the row of the slices."""
    band = scene.layout.band_of(0, 0)
    return int(scene.layout.y[band]), int(scene.layout.height[band])


@pytest.mark.parametrize("is_b", [False, True])
@pytest.mark.parametrize("ratio", [1, 2])
def test_a_bar_is_below_a_slice_of_a_and_above_one_of_b(scene, is_b, ratio):
    image = stamped(scene, TraceMarks(is_b, subset(scene, SLOWER, 1), None), ratio)
    lines, columns = np.nonzero(image == dark_theme().color("slower").rgb())
    y, tall = row_of(scene)
    first = y if is_b else y + tall - BAR
    assert np.unique(lines).tolist() == list(range(first * ratio, (first + BAR) * ratio))
    # A slice leaves its last column empty, as a gap.
    assert np.unique(columns).tolist() == list(range(20 * ratio, 50 * ratio - 1))
    assert (image != GRAY).sum() == len(lines)


def test_faster_slices_have_another_color(scene):
    image = stamped(scene, TraceMarks(False, subset(scene, FASTER, 0), None))
    assert (image == dark_theme().color("faster").rgb()).sum() == BAR * 19


def test_an_unpaired_slice_is_hatched_in_full_height_at_45_degrees(scene):
    image = stamped(scene, TraceMarks(True, None, subset(scene, 0, 2)))
    hatched = image != GRAY
    y, _ = row_of(scene)
    tall = int(scene.layout.slice_height[scene.layout.band_of(0, 0)])
    lines, columns = np.nonzero(hatched)
    assert (lines.min(), lines.max()) == (y + SLICE_TOP, y + SLICE_TOP + tall - 1)
    assert columns.min() >= 50
    assert 0.2 < hatched[y + SLICE_TOP : y + SLICE_TOP + tall, 50:99].mean() < 0.4
    # One line down is one column to the left.
    body = hatched[y + SLICE_TOP : y + SLICE_TOP + tall, 55:95]
    assert (body[1:, :-1] == body[:-1, 1:]).all()


def test_labels_can_be_read_on_hatched_slices():
    for fill in OPERATOR_FILLS:
        line = mix(fill, canvas_rgb(dark=True), STRENGTH_DARK)
        assert contrast(line, label_rgb(fill)) >= 4


def test_rows_that_are_scrolled_out_of_view_are_cut(scene):
    scene.set_viewport_height(10)
    y, tall = row_of(scene)
    scene.scroll = y + tall - 1
    image = stamped(scene, TraceMarks(False, subset(scene, SLOWER, 1), None))
    assert np.unique(np.nonzero(image != GRAY)[0]).tolist() == [0]


def test_other_traces_and_no_comparison_change_no_pixel(scene):
    assert (stamped(scene, TraceMarks(False, None, None)) == GRAY).all()
    scene.drawings.compared_marks.found = FoundMarks({}, None)
    assert not any(source.marks for source in scene.sources(dark=True))
