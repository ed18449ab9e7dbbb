"""Tails of ribbons in a strip: their pixels, and that they follow what is shown."""

import numpy as np
import pytest

from tests.gui.dark_theme import dark_theme
from tests.gui.timeline.painting.pairs import scene_of_pairs, show
from viewer.gui.timeline.painting.ribbons import RibbonTails
from viewer.render.layout import Canvas
from viewer.render.stacking import Density

WIDTH, BLACK = 400, 0xFF000000
CANVAS = Canvas(WIDTH, 100)


@pytest.fixture
def scene(qapp):
    return scene_of_pairs()


def tails_of(scene, *, is_b):
    tails = RibbonTails(scene, dark_theme())
    tails.is_b = is_b
    return tails


def stamped(tails, canvas=CANVAS):
    """The pixels of black rows with their tails."""
    image = np.full((canvas.lines, canvas.columns), BLACK, np.uint32)
    tails.stamp(image, canvas)
    return image


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_tails_are_the_sides_of_ribbons_from_the_slice_to_the_edge(scene, ratio):
    show(scene, [(100, 200)], [(100, 200)])
    band = scene.layout.band_of(0, 1)
    y, tall = int(scene.layout.y[band]), int(scene.layout.height[band])
    color = dark_theme().color("slower").rgb()
    canvas = Canvas(WIDTH, 100, ratio)
    for is_b, lines in ((True, (0, y)), (False, (y + tall, 100))):
        image = stamped(tails_of(scene, is_b=is_b), canvas)
        assert set(np.unique(image).tolist()) == {BLACK, color}
        at_line, at_column = np.nonzero(image == color)
        first, last = (canvas.device(line) for line in lines)
        assert np.unique(at_line).tolist() == list(range(first, last))
        assert np.unique(at_column).tolist() == [canvas.device(100), canvas.device(200) - 1]


def test_below_the_rows_the_tails_go_on(scene):
    show(scene, [(100, 200)], [(100, 200)])
    image = np.full((5, WIDTH), BLACK, np.uint32)
    tails_of(scene, is_b=False).stamp_below(image, CANVAS)
    assert (image[:, [100, 199]] == dark_theme().color("slower").rgb()).all()
    assert (np.delete(image, [100, 199], axis=1) == BLACK).all()


def test_sides_out_of_view_are_left_out(scene):
    show(scene, [(100, 200)], [(100, 200)])
    scene.session.set_range(150, 400)
    image = stamped(tails_of(scene, is_b=False))
    assert np.unique(np.nonzero(image != BLACK)[1]).tolist() == [79]  # 50 of 250 ns on 400 px


def test_tails_of_rows_that_are_not_shown_are_left_out(scene):
    show(scene, [(100, 200)], [(100, 200)], at_row=99)
    assert (stamped(tails_of(scene, is_b=False)) == BLACK).all()


def test_a_strip_that_is_not_compared_has_no_tails(scene):
    show(scene, [(100, 200)], [(100, 200)])
    assert (stamped(tails_of(scene, is_b=None)) == BLACK).all()


def test_tails_follow_the_range_and_the_rows(scene):
    show(scene, [(100, 200)], [(100, 200)])
    kept = tails_of(scene, is_b=False)
    for change in (
        lambda: None,
        lambda: scene.session.set_range(50, 300),
        lambda: scene.set_density(Density.COMPACT),
        lambda: show(scene, [(120, 180)], [(100, 200)]),
    ):
        change()
        image = stamped(kept)
        assert (image == stamped(tails_of(scene, is_b=False))).all()
        assert (image != BLACK).any()
