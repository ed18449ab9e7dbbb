"""Single lines of text in one font, kept as they were laid out.

Laying a text out and measuring it takes several times as long as drawing it, and parts that repaint
in every frame show mostly the same texts as before.
"""

from __future__ import annotations

from collections import OrderedDict

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QFontMetricsF, QPainter, QStaticText

from viewer.model.text import visible_controls

_MOST_KEPT = 1024
_MOST_MEASURED = 4096


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
        known = self._widths.get(text)
        if known is None:
            if len(self._widths) >= _MOST_MEASURED:
                self._widths.clear()
            known = self._widths[text] = self._metrics.horizontalAdvance(visible_controls(text))
        return known

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
