"""The corners of slices that logged allocations follow."""

import numpy as np
import pytest

from tests.builders.etdump_writer import Run, operator, write_dump
from tests.gui.dark_theme import dark_theme
from viewer.formats import open_file
from viewer.gui.session.session import Session
from viewer.gui.timeline.painting.allocation_marks import CORNER, stamp_allocations
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.render.layout import SLICE_TOP, BandKind

WIDTH, HEIGHT = 100, 120
GRAY = 0xFF808080


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
    size, end = round(CORNER * ratio), round(40 * WIDTH * ratio / 80)
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
