"""Cuts texts to the width that they have, before Qt measures or draws them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QFontMetricsF

from viewer.model.text import visible_line

_LONGEST = 2000  # letters at each end of a text that are measured: wider than any screen


def measurable(text: str) -> str:
    """A text without the middle that no screen has room for.

    Qt takes 0.1 s to measure a name of 1 MB, each time.
    """
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…{text[-_LONGEST:]}"


def elided_text(
    metrics: QFontMetrics | QFontMetricsF, text: str, side: Qt.TextElideMode, room: float
) -> str:
    """The part of a text that fits into `room` px, on one line, with control characters as escapes.

    Every painted name is elided here: one that overrides the direction of text would otherwise
    reverse what follows it.
    """
    visible = visible_line(measurable(text))
    if isinstance(metrics, QFontMetricsF):
        return metrics.elidedText(visible, side, room)
    return metrics.elidedText(visible, side, int(room))
