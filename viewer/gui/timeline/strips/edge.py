"""The lower edge of a strip: a drag changes the height of its rows, a double click resets it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.painting.device_pixels import draw_pixels
from viewer.gui.timeline.painting.ribbon_tails import RibbonTails
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.canvas import Canvas
from viewer.view.strip_view import StripView

HEIGHT = 5  # px


class StripEdge(QWidget):
    """Resizes the rows of a strip; all moves of one drag are one undo step."""

    def __init__(self, scene: Scene, rows: QWidget, tails: RibbonTails, theme: Theme) -> None:
        """rows: the canvas above. tails: of the ribbons on it."""
        super().__init__()
        self._scene, self._rows, self._tails, self._theme = scene, rows, tails, theme
        self._grip: int | None = None  # height of the rows minus y of the mouse on the screen
        self._before = scene.session.state  # when the current drag began
        self._set: StripView | None = None  # as this drag left it
        self.setFixedHeight(HEIGHT)
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setToolTip("Drag to resize; double-click to show all rows")
        self._is_joined = False  # with the strip below
        theme.changed.connect(self.update)

    def set_joined(self, joined: bool) -> None:
        """Set whether ribbons cross it on their way to the strip below."""
        if joined != self._is_joined:
            self._is_joined = joined
            for signal in (self._scene.changed, self._scene.moved):
                if joined:
                    signal.connect(self.update)
                else:
                    signal.disconnect(self.update)
            self.update()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the edge, and the ribbons that cross it."""
        painter, theme, left = QPainter(self), self._theme, self._rows.x()
        painter.fillRect(self.rect(), theme.color("panel"))
        if self._is_joined:
            ratio, wide = self.devicePixelRatioF(), self._rows.width()
            canvas, rows = Canvas(wide, HEIGHT, ratio), Canvas(wide, self._rows.height(), ratio)
            ground = theme.pixel("canvas")
            image = np.full((canvas.lines, canvas.columns), ground, np.uint32)
            self._tails.stamp_below(image, rows)
            painter.translate(left, 0)
            draw_pixels(painter, image, canvas)
        else:
            painter.fillRect(0, HEIGHT - 1, self.width(), 1, theme.color("line"))
        painter.end()

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._grip = self._rows.height() - round(event.globalPosition().y())
            self._set = None
            self._before = self._scene.session.state

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Let the edge follow the mouse."""
        if self._grip is not None:
            self._choose(self._grip + round(event.globalPosition().y()))

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish the drag."""
        self._grip = None

    def cancel_drag(self) -> bool:
        """Take back what the current drag has done; returns whether there was one."""
        going, self._grip = self._grip is not None, None
        if going and self._scene.session.state is not self._before:
            self._scene.session.undo()
        return going

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Let the strip be as tall as its rows again."""
        self._choose(None)

    def _choose(self, height: int | None) -> None:
        session = self._scene.session
        now = session.state.strips
        strips = now.with_height(self._scene.clock, height)
        session.change(replace(session.state, strips=strips), remember=self._set is not now)
        self._set = session.state.strips
