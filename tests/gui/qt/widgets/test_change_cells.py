"""Bars of changes, and a dot for each session."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from viewer.gui.qt.widgets.cells import Dots, dots_of, paint_change_bar, paint_dots

WIDTH, HEIGHT = 101, 24


@pytest.fixture
def painted(theme):
    """The columns of pixels that something paints on a transparent cell."""

    def paint(draw, **more):
        image = QImage(WIDTH, HEIGHT, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        draw(painter, QRectF(0, 0, WIDTH, HEIGHT), theme=theme, **more)
        painter.end()
        rows = range(4, HEIGHT - 4)
        return {x for x in range(WIDTH) if any(image.pixelColor(x, y).alpha() > 40 for y in rows)}

    return paint


def test_a_bar_grows_from_the_middle_to_its_side(painted):
    more = painted(paint_change_bar, share=1.0, verdict="slower")
    less = painted(paint_change_bar, share=-0.5, verdict="faster")
    assert (min(more), max(more)) == (50, 100)
    assert (min(less), max(less)) == (26, 50)
    assert painted(paint_change_bar, share=0.0, verdict="no_change") == {50}


def test_painting_does_not_change_the_colors_of_the_theme(painted, theme):
    painted(paint_change_bar, share=1.0, verdict="slower")
    assert theme.color("slower").alpha() == 255


def test_dots_are_changes_against_the_median_of_a():
    assert dots_of([90.0, 110.0], [200.0], 100.0, (0.5, 1.5)) == Dots(
        (pytest.approx(-0.1), pytest.approx(0.1)), (1.0,), 0.5, 1.5
    )
    assert dots_of([], [5.0], None, None) == Dots((), ())


def test_a_session_beyond_the_scale_is_a_tick_at_its_edge(painted):
    near = painted(paint_dots, dots=Dots((), (0.0,)), verdict="slower", reach=0.3, band=0.0)
    far = painted(paint_dots, dots=Dots((), (9.0,)), verdict="slower", reach=0.3, band=0.0)
    assert 47 <= min(near) <= max(near) <= 54
    assert min(far) > 85
    assert max(far) - min(far) < max(near) - min(near)
