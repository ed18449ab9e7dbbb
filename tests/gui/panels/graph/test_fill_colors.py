"""The colors of nodes can be told apart, and their texts can be read."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.measures import CHANGE_STEPS, ChangeFill, colors_of, paint_hatch
from viewer.gui.qt.theme.theme import DARK, LIGHT
from viewer.render.palette import contrast

FILLS = [
    *(
        ChangeFill(verdict, step)
        for verdict in (Verdict.SLOWER, Verdict.FASTER)
        for step in range(1, CHANGE_STEPS + 1)
    ),
    ChangeFill(Verdict.NO_CHANGE),
    ChangeFill(Verdict.CANNOT_TELL),
    ChangeFill(Verdict.CANNOT_TELL, only_in="A"),
]


@pytest.fixture(params=["dark", "light"])
def look(request, theme):
    theme.set_choice(request.param)
    yield theme
    theme.set_choice("dark")


def rgb(color):
    return color.rgb() & 0xFFFFFF


@pytest.mark.parametrize("fill", FILLS)
def test_texts_are_readable_on_every_fill(look, fill):
    colors = colors_of(fill, look)
    assert contrast(rgb(colors.text), rgb(colors.fill)) >= 4.5


def test_the_largest_change_has_the_color_of_its_verdict(look):
    tokens = DARK if look.dark else LIGHT
    for verdict, token in ((Verdict.SLOWER, tokens.slower), (Verdict.FASTER, tokens.faster)):
        assert colors_of(ChangeFill(verdict, CHANGE_STEPS), look).fill.name().upper() == token


def test_steps_get_farther_from_the_canvas(look):
    canvas = rgb(look.color("canvas"))
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        steps = [
            contrast(rgb(colors_of(ChangeFill(verdict, step), look).fill), canvas)
            for step in range(1, CHANGE_STEPS + 1)
        ]
        assert steps == sorted(steps)
        assert len(set(steps)) == CHANGE_STEPS


def test_what_did_not_change_is_fainter_than_what_is_unknown(look):
    canvas = rgb(look.color("canvas"))
    unchanged, unknown = (
        contrast(rgb(colors_of(ChangeFill(verdict), look).fill), canvas)
        for verdict in (Verdict.NO_CHANGE, Verdict.CANNOT_TELL)
    )
    assert 1 < unchanged < unknown


@pytest.mark.parametrize(("width", "height"), [(196, 52), (12, 12), (20, 60)])
def test_the_hatch_ends_inside_its_rectangle(theme, width, height):
    image = QImage(width + 20, height + 20, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    painter = QPainter(image)
    paint_hatch(painter, QRectF(10, 10, width, height), theme)
    painter.end()
    painted = {
        (x, y)
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y) != QColor("white")
    }
    assert painted
    assert all(10 <= x <= 10 + width and 10 <= y <= 10 + height for x, y in painted)
