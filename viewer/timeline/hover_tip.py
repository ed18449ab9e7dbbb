"""The box at the mouse that says what is under it, painted with the frame: no window, no delay."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from viewer.theme import FontRole, Theme
from viewer.timeline.canvas import Canvas

_BESIDE = QPoint(14, 18)  # px from the mouse to the box
_INSET = 8
_WIDEST = 520
_LONGEST = 300  # characters: more have no room, and names come from files


def paint_tip(
    painter: QPainter, lines: Sequence[str], mouse: QPoint, canvas: Canvas, theme: Theme
) -> None:
    """Paint lines, the first as a title, beside the mouse and inside the canvas."""
    fonts: list[FontRole] = ["process" if at == 0 else "cell" for at in range(len(lines))]
    widest = min(_WIDEST, canvas.width - 2 * _INSET - 4)
    texts, heights, needed = [], [], 0.0
    for text, role in zip(lines, fonts, strict=True):
        painter.setFont(theme.font(role))
        metrics = painter.fontMetrics()
        one_line = " ".join(text[:_LONGEST].split())
        texts.append(metrics.elidedText(one_line, Qt.TextElideMode.ElideMiddle, widest))
        heights.append(metrics.height() + 1)
        needed = max(needed, metrics.horizontalAdvance(texts[-1]))
    wide, tall = needed + 2 * _INSET, sum(heights) + 2 * _INSET - 2
    left = mouse.x() + _BESIDE.x()
    if left + wide > canvas.width:
        left = max(mouse.x() - _BESIDE.x() - round(wide), 0)
    top = mouse.y() + _BESIDE.y()
    if top + tall > canvas.height:
        # Above the mouse if it has room there, else at the lower edge.
        above = mouse.y() - 8 - tall
        top = round(above if above >= 0 else max(canvas.height - tall, 0))
    box = QRectF(left, top, wide, tall)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.color("line"), 1))
    painter.setBrush(theme.color("raised"))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    y = box.top() + _INSET - 1
    for text, role, height in zip(texts, fonts, heights, strict=True):
        painter.setFont(theme.font(role))
        painter.setPen(theme.color("text1" if role == "process" else "text2"))
        room = QRectF(box.left() + _INSET, y, needed + 1, height)
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        y += height
