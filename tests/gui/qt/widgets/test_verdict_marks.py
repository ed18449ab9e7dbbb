"""Verdicts have a shape and a color each."""

from itertools import combinations

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage, QPainter

from viewer.gui.qt.widgets.cells import change_color, paint_mark

VERDICTS = ("slower", "faster", "no_change", "cannot_tell")


@pytest.fixture
def mark(theme):
    """The opacity of each pixel of a mark, which is its shape."""

    def paint(verdict):
        image = QImage(15, 15, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        paint_mark(painter, QPointF(7.5, 7.5), verdict, theme)
        painter.end()
        return [image.pixelColor(x, y).alpha() for y in range(15) for x in range(15)]

    return paint


def test_all_shapes_differ_without_their_color(mark):
    shapes = {verdict: mark(verdict) for verdict in VERDICTS}
    for one, other in combinations(VERDICTS, 2):
        differing = sum(abs(x - y) > 100 for x, y in zip(shapes[one], shapes[other], strict=True))
        assert differing >= 15, (one, other)


def test_only_what_is_proven_has_a_color(theme):
    assert change_color("slower", theme) == theme.color("slower")
    assert change_color("faster", theme) == theme.color("faster")
    gray = change_color("no_change", theme)
    assert gray == change_color("cannot_tell", theme) == theme.color("text3")
