"""Tails of ribbons in a strip: their pixels, and that they follow what is shown."""

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter

from tests.gui.dark_theme import dark_theme
from tests.gui.timeline.painting.pairs import scene_of_pairs, show
from viewer.gui.timeline.painting.ribbon_tails import TailPainter
from viewer.render.canvas import Canvas
from viewer.render.stacking import Density

WIDTH, BLACK = 400, 0xFF000000
CANVAS = Canvas(WIDTH, 100)


@pytest.fixture
def scene(qapp):
    return scene_of_pairs()


def painted(paint, height):
    """The pixels after painting on black."""
    image = QImage(WIDTH, height, QImage.Format.Format_RGB32)
    image.fill(BLACK)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    return np.array(image.constBits(), copy=True).view(np.uint32).reshape(height, WIDTH)


def painter_of(scene, *, is_b):
    tails = TailPainter(scene, dark_theme())
    tails.is_b = is_b
    return tails


def tails(scene, *, is_b):
    return painted(lambda p: painter_of(scene, is_b=is_b).paint(p, CANVAS), CANVAS.height)


def test_tails_go_from_the_slice_to_the_edge_and_mix_with_what_is_there(scene):
    show(scene, [(100, 200)], [(100, 200)])
    band = scene.layout.band_of(0, 1)
    y, tall = int(scene.layout.y[band]), int(scene.layout.height[band])
    color = dark_theme().color("slower").rgb()
    for is_b, lines in ((True, range(y)), (False, range(y + tall, 100))):
        image = tails(scene, is_b=is_b)
        assert np.unique(np.nonzero(image != BLACK)[0]).tolist() == list(lines)
        line = image[lines[0]]
        assert np.flatnonzero(line == color).tolist() == [100, 199]
        inside = {int(pixel) for pixel in line[101:199]}
        assert len(inside) == 1
        for shift in (0, 8, 16):
            fifth = (color >> shift & 255) * 0.2
            assert inside.copy().pop() >> shift & 255 == pytest.approx(fifth, abs=2)


def test_below_the_canvas_the_tails_go_on(scene):
    show(scene, [(100, 200)], [(100, 200)])
    image = painted(lambda p: painter_of(scene, is_b=False).paint_below(p, CANVAS, 5), 5)
    color = dark_theme().color("slower").rgb()
    assert (image[:, [100, 199]] == color).all()
    assert not np.isin(image[:, 101:199], (color, BLACK)).any()
    assert (image[:, :100] == BLACK).all()


def test_tails_follow_the_range_and_the_rows(scene):
    show(scene, [(100, 200)], [(100, 200)])
    kept = painter_of(scene, is_b=False)
    for change in (
        lambda: None,
        lambda: scene.session.set_range(50, 300),
        lambda: scene.set_density(Density.COMPACT),
        lambda: show(scene, [(120, 180)], [(100, 200)]),
    ):
        change()
        image = painted(lambda p: kept.paint(p, CANVAS), CANVAS.height)
        assert (image == tails(scene, is_b=False)).all()
        assert (image != BLACK).any()


def test_where_tails_overlap_the_inside_is_not_darker(scene):
    show(scene, [(100, 200), (150, 260)], [(100, 200), (150, 260)])
    line = tails(scene, is_b=False)[-1]
    assert len(set(line[[110, 160, 199 - 10, 250]].tolist())) == 1


def test_a_strip_that_is_not_compared_has_no_tails(scene):
    show(scene, [(100, 200)], [(100, 200)])
    assert (tails(scene, is_b=None) == BLACK).all()


def test_tails_of_rows_that_are_not_shown_are_left_out(scene):
    show(scene, [(100, 200)], [(100, 200)], at_row=99)
    assert (tails(scene, is_b=False) == BLACK).all()
