"""The pixels of allocations, and of bars and hatches on compared slices."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.builders.etdump_writer import Run, operator, write_dump
from tests.gui.dark_theme import dark_theme
from viewer.formats import open_file
from viewer.gui.session.session import Session
from viewer.gui.timeline.painting.pixels import (
    ALLOCATION_CORNER,
    CHANGE_BAR,
    HATCH_STRENGTH_DARK,
    stamp_allocations,
    stamp_compared,
)
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.trace_rasters import FASTER, SLOWER, FoundMarks, TraceMarks
from viewer.render.frame import Backdrop, draw_frame
from viewer.render.layout import SLICE_TOP, BandKind, Canvas
from viewer.render.palette import OPERATOR_FILLS, canvas_rgb, contrast, label_rgb, mix
from viewer.render.raster import RowRaster

WIDTH, HEIGHT = 100, 120
GRAY = 0xFF808080

COMPARED_WIDTH, COMPARED_HEIGHT = 100, 60


@pytest.fixture
def scene(qapp, tmp_path):
    """Two calls of 40 ns, of which only the first is followed by an allocation."""
    events = [
        operator("conv", 1, 10, 50),
        {"allocation": (1, 1000)},
        operator("add", 2, 50, 90),
    ]
    path = write_dump(tmp_path / "a.etdp", (Run("Execute", events, allocators=("method",)),))
    session = Session()
    scene = Scene(Drawings(session))
    session.add([open_file(str(path))])
    session.set_range(0, 80)
    return scene


def stamped(scene, ratio=1.0):
    canvas = Canvas(WIDTH, HEIGHT, ratio)
    image = np.full((canvas.lines, canvas.columns), GRAY, np.uint32)
    stamp_allocations(image, scene, (0, HEIGHT), canvas, scene.xmap(canvas.columns), dark_theme())
    return image


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_the_lower_right_corner_of_the_slice_before_is_marked(scene, ratio):
    y, x = np.nonzero(stamped(scene, ratio) != GRAY)
    layout = scene.layout
    (band,) = np.flatnonzero(layout.kind == BandKind.ROW)[:1]
    bottom = round((int(layout.y[band]) + SLICE_TOP + int(layout.slice_height[band])) * ratio)
    size, end = round(ALLOCATION_CORNER * ratio), round(40 * WIDTH * ratio / 80)
    assert (y.min(), y.max()) == (bottom - size, bottom - 1)
    assert (x.min(), x.max()) == (end - size, end - 1)
    assert len(y) == size * (size + 1) // 2  # a triangle


def test_an_allocation_out_of_view_has_no_mark(scene):
    scene.session.set_range(50, 80)
    assert (stamped(scene) == GRAY).all()


def test_many_allocations_at_one_column_cost_one_corner(qapp, tmp_path):
    events = []
    for n in range(500):
        events += [operator("x", 1, 2 * n, 2 * n + 1), {"allocation": (1, 8)}]
    path = write_dump(tmp_path / "b.etdp", (Run("Execute", events, allocators=("method",)),))
    session = Session()
    scene = Scene(Drawings(session))
    session.add([open_file(str(path))])
    session.set_range(0, 1000)
    assert (stamped(scene) != GRAY).any()


@pytest.fixture
def compared_scene(qapp):
    """Three slices of 20, 30 and 50 px on one row of the canvas."""
    session = Session()
    compared_scene = Scene(Drawings(session))
    session.add([trace_of(("t", "conv", 0, 20), ("t", "add", 20, 50), ("t", "mul", 50, 100))])
    session.set_range(0, 100)
    return compared_scene


def subset(compared_scene, color, *indices):
    slices = compared_scene.session.traces[0].trace.slices
    colors = np.full(len(slices), color, np.uint8)
    return RowRaster.subset(slices, colors, np.array(indices, np.int64))


def stamped_marks(compared_scene, marks, ratio=1.0):
    compared_scene.drawings.compared_marks.answer = FoundMarks({0: marks}, None)
    canvas = Canvas(COMPARED_WIDTH, COMPARED_HEIGHT, ratio)
    xmap = compared_scene.xmap(canvas.columns)
    ground = Backdrop(GRAY, GRAY, np.empty(0, np.int64))
    sources = compared_scene.sources(dark=True)
    frame = draw_frame(
        compared_scene.layout,
        compared_scene.scroll,
        COMPARED_HEIGHT,
        xmap,
        sources,
        ground,
        ratio=ratio,
    )
    image = np.full((canvas.lines, canvas.columns), GRAY, np.uint32)
    stamp_compared(image, compared_scene, 0, canvas, frame.marks, dark_theme())
    return image


def row_of(compared_scene):
    """The y and the height of the row of the slices."""
    band = compared_scene.layout.band_of(0, 0)
    return int(compared_scene.layout.y[band]), int(compared_scene.layout.height[band])


@pytest.mark.parametrize("is_b", [False, True])
@pytest.mark.parametrize("ratio", [1, 2])
def test_a_bar_is_below_a_slice_of_a_and_above_one_of_b(compared_scene, is_b, ratio):
    image = stamped_marks(
        compared_scene, TraceMarks(is_b, subset(compared_scene, SLOWER, 1), None), ratio
    )
    lines, columns = np.nonzero(image == dark_theme().color("slower").rgb())
    y, tall = row_of(compared_scene)
    first = y if is_b else y + tall - CHANGE_BAR
    assert np.unique(lines).tolist() == list(range(first * ratio, (first + CHANGE_BAR) * ratio))
    # A slice leaves its last column empty, as a gap.
    assert np.unique(columns).tolist() == list(range(20 * ratio, 50 * ratio - 1))
    assert (image != GRAY).sum() == len(lines)


def test_faster_slices_have_another_color(compared_scene):
    image = stamped_marks(
        compared_scene, TraceMarks(False, subset(compared_scene, FASTER, 0), None)
    )
    assert (image == dark_theme().color("faster").rgb()).sum() == CHANGE_BAR * 19


def test_an_unpaired_slice_is_hatched_in_full_height_at_45_degrees(compared_scene):
    image = stamped_marks(compared_scene, TraceMarks(True, None, subset(compared_scene, 0, 2)))
    hatched = image != GRAY
    y, _ = row_of(compared_scene)
    tall = int(compared_scene.layout.slice_height[compared_scene.layout.band_of(0, 0)])
    lines, columns = np.nonzero(hatched)
    assert (lines.min(), lines.max()) == (y + SLICE_TOP, y + SLICE_TOP + tall - 1)
    assert columns.min() >= 50
    assert 0.2 < hatched[y + SLICE_TOP : y + SLICE_TOP + tall, 50:99].mean() < 0.4
    # One line down is one column to the left.
    body = hatched[y + SLICE_TOP : y + SLICE_TOP + tall, 55:95]
    assert (body[1:, :-1] == body[:-1, 1:]).all()


def test_labels_can_be_read_on_hatched_slices():
    for fill in OPERATOR_FILLS:
        line = mix(fill, canvas_rgb(dark=True), HATCH_STRENGTH_DARK)
        assert contrast(line, label_rgb(fill)) >= 4


def test_rows_that_are_scrolled_out_of_view_are_cut(compared_scene):
    compared_scene.set_viewport_height(10)
    y, tall = row_of(compared_scene)
    compared_scene.scroll = y + tall - 1
    image = stamped_marks(
        compared_scene, TraceMarks(False, subset(compared_scene, SLOWER, 1), None)
    )
    assert np.unique(np.nonzero(image != GRAY)[0]).tolist() == [0]


def test_other_traces_and_no_comparison_change_no_pixel(compared_scene):
    assert (stamped_marks(compared_scene, TraceMarks(False, None, None)) == GRAY).all()
    compared_scene.drawings.compared_marks.answer = FoundMarks({}, None)
    assert not any(source.marks for source in compared_scene.sources(dark=True))
