"""Paints the header of a process: one band across the headers column and the canvas."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPen

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.titles import process_note, process_title


def paint_process_header(
    painter: QPainter,
    scene: Scene,
    theme: Theme,
    process: int,
    room: QRect,
    indent: int,
    *,
    with_note: bool = False,
) -> None:
    """Paint the header of a process, or its part on the headers column or the canvas.

    `indent` is the x position of its text, negative on the canvas, so that one line of text spans
    both widgets.
    """
    painter.fillRect(room, theme.color("chrome"))
    painter.setPen(QPen(theme.color("hairline"), 1))
    painter.drawLine(room.bottomLeft(), room.bottomRight())
    name, record = process_title(scene, process)
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    x = room.left() + indent
    painter.setFont(theme.font("process"))
    painter.setPen(theme.color("text1"))
    name_width = painter.fontMetrics().horizontalAdvance(name)
    painter.drawText(QRect(x, room.top(), name_width + 4, room.height()), left, name)
    painter.setFont(theme.font("caption"))
    painter.setPen(theme.color("text2"))
    record_x = x + name_width + 16
    wide = painter.fontMetrics().horizontalAdvance(record)
    painter.drawText(QRect(record_x, room.top(), wide + 4, room.height()), left, record)
    note = process_note(scene, process) if with_note else ""
    if note and room.width() > record_x + wide + painter.fontMetrics().horizontalAdvance(note) + 32:
        painter.setPen(theme.color("text3"))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room.adjusted(0, 0, -12, 0), right, note)
