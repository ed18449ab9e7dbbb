"""The bundled fonts, and texts that are kept as they were laid out."""

from typing import get_args

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import (
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetrics,
    QFontMetricsF,
    QImage,
    QPainter,
    QRawFont,
)

from viewer.gui.qt.theme import theme as fonts
from viewer.gui.qt.theme.theme import (
    CODE_FILES,
    UI_FILES,
    FontRole,
    PreparedTexts,
    bundled_family,
    make_font,
)
from viewer.resources import resource

ROLES = get_args(FontRole)

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
TEXT = "12.5 µs <b>Ag</b>"


@pytest.fixture
def other_folder(tmp_path, monkeypatch, qapp):
    """Font files of another folder, to be loaded anew."""
    monkeypatch.setattr(fonts, "resource", lambda *parts: tmp_path.joinpath(*parts[1:]))
    bundled_family.cache_clear()
    yield tmp_path
    bundled_family.cache_clear()


@pytest.mark.parametrize("role", ROLES)
def test_every_role_is_drawn_with_a_bundled_font_in_its_weight(qapp, role):
    font = make_font(role, 1.0)
    drawn = QFontInfo(font)
    assert drawn.family() == ("JetBrains Mono" if role == "code" else "Inter")
    assert QRawFont.fromFont(font).weight() == font.weight()


def test_digits_have_one_width_in_every_role(qapp):
    for role in ROLES:
        metrics = QFontMetricsF(make_font(role, 1.0))
        assert len({metrics.horizontalAdvance(digit * 8) for digit in "0123456789"}) == 1, role


def test_code_has_no_ligatures(qapp):
    code = make_font("code", 1.0)
    metrics = QFontMetricsF(code)
    assert code.fixedPitch()
    assert {tag.toString().data(): code.featureValue(tag) for tag in code.featureTags()} == {
        b"calt": 0,
        b"liga": 0,
    }
    assert metrics.horizontalAdvance("!=") == metrics.horizontalAdvance("ab")


def test_signs_of_the_screens_are_in_the_fonts(qapp):
    for file in (*UI_FILES, *CODE_FILES):
        font = QRawFont(str(resource("fonts", file)), 12)
        signs = "·…×µμ–−≥→←↑↓●✓°²"
        assert [sign for sign in signs if not font.supportsCharacter(ord(sign))] == [], file


def test_sizes_follow_the_scale(qapp):
    assert make_font("cell", 2.0).pointSizeF() == pytest.approx(
        2 * make_font("cell", 1.0).pointSizeF()
    )


def test_missing_files_leave_the_font_of_the_system(other_folder):
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
    assert make_font("body", 1.0).families() == [system]
    assert make_font("code", 1.0).families() == [fixed]


def test_a_damaged_file_leaves_the_font_of_the_system(other_folder):
    for name in (*UI_FILES, *CODE_FILES):
        whole = resource("fonts", name).read_bytes()
        (other_folder / name).write_bytes(whole if "Regular" in name else b"no font")
    assert bundled_family(UI_FILES) == ""
    assert bundled_family(CODE_FILES) == "JetBrains Mono"


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
