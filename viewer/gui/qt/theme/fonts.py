"""Fonts by role: Inter for the window and JetBrains Mono for code, both from `resources/fonts`.

A font that cannot be loaded is replaced by the system's, in the window as in code. Every weight is
a file of its own, because Qt on Linux draws a variable font in its default weight only.

Laying a text out and measuring it takes several times as long as drawing it, and parts that repaint
in every frame show mostly the same texts as before: `PreparedTexts` keeps them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import (
    QFont,
    QFontDatabase,
    QFontMetrics,
    QFontMetricsF,
    QGuiApplication,
    QPainter,
    QStaticText,
)

from viewer.model.text import visible_controls
from viewer.resources import resource

# fmt: off
FontRole = Literal[
    "title", "duration", "figure", "operator", "cost", "body", "cell", "tab", "tab_active", "label",
    "process", "header", "section", "caption", "ruler", "zero_length", "code",
]
# fmt: on

UI_FILES = ("Inter-Regular.ttf", "Inter-Medium.ttf", "Inter-SemiBold.ttf")
CODE_FILES = ("JetBrainsMono-Regular.ttf",)

# The size of "body", in px where the font of the system has 13.
FONT_SIZES: Mapping[str, float] = {"small": 12, "normal": 13, "large": 15, "larger": 17}

# Size in px and weight. The design's 650 is 600 here, the heaviest weight that is bundled.
_SIZES: dict[FontRole, tuple[float, QFont.Weight]] = {
    "title": (26, QFont.Weight.DemiBold),
    "duration": (19 * 1.4, QFont.Weight.DemiBold),  # 1.4 times the figures next to it
    "figure": (19, QFont.Weight.DemiBold),
    "operator": (15, QFont.Weight.DemiBold),
    "cost": (15, QFont.Weight.DemiBold),
    "body": (13, QFont.Weight.Normal),
    "cell": (12.5, QFont.Weight.Normal),
    "tab": (12.5, QFont.Weight.Normal),
    "tab_active": (12.5, QFont.Weight.DemiBold),
    "label": (12, QFont.Weight.Medium),
    "process": (12, QFont.Weight.DemiBold),
    "header": (11.5, QFont.Weight.Medium),
    "section": (11.5, QFont.Weight.DemiBold),
    "caption": (11.5, QFont.Weight.Normal),
    "ruler": (11, QFont.Weight.Normal),
    "zero_length": (10.5, QFont.Weight.Normal),
    "code": (12, QFont.Weight.Normal),
}

_MOST_KEPT = 1024
_MOST_MEASURED = 4096


def make_font(role: FontRole, scale: float) -> QFont:
    """Return the font of a role. Needs an application.

    scale: the size of the system font relative to 13 px.
    """
    px, weight = _SIZES[role]
    code = role == "code"
    kind = QFontDatabase.SystemFont.FixedFont if code else QFontDatabase.SystemFont.GeneralFont
    families = (
        bundled_family(CODE_FILES if code else UI_FILES),
        QFontDatabase.systemFont(kind).family(),
    )
    # The system's font has the letters that the bundled one lacks, such as Chinese ones. Named
    # here, because a font without a name has the features of the application's font.
    font = QFont(list(filter(None, families)))
    screen = QGuiApplication.primaryScreen()
    dpi = screen.logicalDotsPerInch() if screen else 96.0
    # setPixelSize accepts only whole numbers.
    font.setPointSizeF(px * scale * 72 / dpi)
    font.setWeight(weight)
    if code:
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setFixedPitch(True)
        # No ligatures: `!=` must not become one sign, in a font of the system either.
        for feature in ("liga", "calt"):
            font.setFeature(QFont.Tag(feature), 0)
    else:
        # Figures of one width, so that digits are below digits and do not move as they change.
        font.setFeature(QFont.Tag("tnum"), 1)
    return font


@lru_cache
def bundled_family(files: tuple[str, ...]) -> str:
    """Load font files of `resources/fonts` once, and return their family; "" if one is missing.

    All or none: with a part of the weights, Qt would smear the others from it.
    """
    numbers = []
    for name in files:
        path = resource("fonts", name)
        # Qt warns about a file that it cannot read; what is missing needs no warning.
        numbers.append(QFontDatabase.addApplicationFont(str(path)) if path.is_file() else -1)
    families = [QFontDatabase.applicationFontFamilies(number) for number in numbers if number >= 0]
    if len(families) == len(files) and all(families):
        return families[0][0]
    for number in numbers:
        if number >= 0:
            QFontDatabase.removeApplicationFont(number)
    return ""


class PreparedTexts:
    """Measures and draws texts like QFontMetrics and QPainter.drawText do, to the same pixels.

    Control characters are measured and drawn as escapes.
    """

    def __init__(self, font: QFont) -> None:
        self.font = font
        self._metrics = QFontMetrics(font)
        self.line_height = QFontMetricsF(font).height()  # px
        self._widths: dict[str, int] = {}
        self._texts: OrderedDict[str, QStaticText] = OrderedDict()

    def width(self, text: str) -> int:
        """The horizontal advance of a text in px."""
        width = self._widths.get(text)
        if width is None:
            if len(self._widths) >= _MOST_MEASURED:
                self._widths.clear()
            width = self._widths[text] = self._metrics.horizontalAdvance(visible_controls(text))
        return width

    def draw(self, painter: QPainter, x: float, top: float, height: float, text: str) -> None:
        """Draw a text from `x` on, centered between two lines; the painter has the font."""
        prepared = self._texts.get(text)
        if prepared is None:
            prepared = QStaticText(visible_controls(text))
            # Names come from files, and Qt would interpret markup in them.
            prepared.setTextFormat(Qt.TextFormat.PlainText)
            prepared.prepare(font=self.font)
            self._texts[text] = prepared
            if len(self._texts) > _MOST_KEPT:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(text)
        painter.drawStaticText(QPointF(x, top + (height - self.line_height) / 2), prepared)
