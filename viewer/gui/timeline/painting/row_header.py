"""Paints the header of a process: one band across the headers column and the canvas."""

from __future__ import annotations

from PySide6.QtCore import QRect
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
    names, others = theme.texts("process"), theme.texts("caption")
    top, tall, right = room.top(), room.height(), room.left() + room.width()
    x = room.left() + indent
    record_x = x + names.width(name) + 16
    note_x = record_x + others.width(record) + 16
    if record_x > room.left():
        painter.setFont(names.font)
        painter.setPen(theme.color("text1"))
        names.draw(painter, x, top, tall, name)
    painter.setFont(others.font)
    if note_x > room.left():
        painter.setPen(theme.color("text2"))
        others.draw(painter, record_x, top, tall, record)
    note = process_note(scene, process) if with_note else ""
    if note and room.width() > note_x + others.width(note) + 16:
        painter.setPen(theme.color("text3"))
        others.draw(painter, right - 12 - others.width(note), top, tall, note)
