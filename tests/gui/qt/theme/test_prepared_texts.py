"""Prepared texts are where QPainter.drawText puts them, pixel by pixel."""

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QImage, QPainter

from viewer.gui.qt.theme.prepared_texts import PreparedTexts

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
TEXT = "12.5 µs <b>Ag</b>"


@pytest.fixture
def font(theme) -> QFont:
    return theme.font("ruler")


def picture(ratio: float, font: QFont, paint) -> QImage:
    image = QImage(round(200 * ratio), round(40 * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(0x202020)
    painter = QPainter(image)
    painter.setFont(font)
    painter.setPen(Qt.GlobalColor.white)
    paint(painter)
    painter.end()
    return image


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("height", [20, 21, 26])
@pytest.mark.parametrize("x", [5, 7.25])
def test_a_text_is_drawn_where_draw_text_centers_it(font, ratio, height, x):
    texts = PreparedTexts(font)
    expected = picture(ratio, font, lambda p: p.drawText(QRectF(x, 3, 180, height), LEFT, TEXT))
    for _ in range(2):  # from the cache, too
        drawn = picture(ratio, font, lambda p: texts.draw(p, x, 3, height, TEXT))
        assert drawn == expected


def test_the_width_is_that_of_the_font(font):
    texts = PreparedTexts(font)
    assert texts.width(TEXT) == texts.width(TEXT) == QFontMetrics(font).horizontalAdvance(TEXT)


def test_texts_of_a_role_are_shared(theme):
    assert theme.texts("ruler") is theme.texts("ruler")
    assert theme.texts("ruler").font == theme.font("ruler")
