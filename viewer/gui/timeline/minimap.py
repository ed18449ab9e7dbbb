"""The map of all tracks next to the canvas: where the rows in view are among all of them.

Its lines are the rows from top to bottom, over the whole time axis; a frame marks those in view.
A click or a drag scrolls there. It is shown if there are many tracks. Its pixels are made once for
a layout and its colors: a row per pixel line, so that they cost the same for any number of tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_not

import numpy as np
from PySide6.QtCore import QEvent, QRect, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from viewer.arrays import Ints
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import turn_of
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.timeline.scene.scene import Scene, xmap_of
from viewer.gui.timeline.scene.titles import full_title
from viewer.render.canvas import Canvas
from viewer.render.frames.frame import draw_rows
from viewer.render.layout import BandKind, TimelineLayout
from viewer.render.palette import Pixels, canvas_rgb, mixed_pixels

WIDTH = 56  # px
LEAST_TRACKS = 60  # with fewer, the scroll bar is enough
_LEAST_PROCESS = 4  # px from one line between processes to the next
_FAINT = 0.4  # of the canvas color, in rows out of view
_LOWEST = 6  # px of the frame around the rows in view


@dataclass(frozen=True, slots=True)
class _Map:
    """Pixels, with the parameters and objects that they were made from; `faint`: out of view."""

    asked: tuple[object, ...]
    of: Sequence[object]
    pixels: Pixels
    faint: Pixels


class Minimap(QWidget):
    """Shows all rows of a strip, and scrolls to those that are clicked."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self._painted: _Map | None = None
        self._shown_frame = QRect()  # as painted last
        self._grip: int | None = None  # px from the top of the frame, while it is dragged
        self.setFixedWidth(WIDTH)
        self.setAccessibleName("Map of all tracks")
        scene.changed.connect(self.update)
        scene.scrolled.connect(self._follow_scroll)
        scene.arranged.connect(self._forget)
        theme.changed.connect(self.update)

    @property
    def has_use(self) -> bool:
        """Whether there are so many tracks that a map of them helps."""
        return len(self._scene.track_list.names) >= LEAST_TRACKS

    def _follow_scroll(self) -> None:
        room = self.frame_room()
        if room != self._shown_frame:
            self.update(room.united(self._shown_frame).adjusted(0, -1, 0, 1))

    def _forget(self) -> None:
        self._painted = None  # it may hold the last reference to a closed trace
        self.update()

    # -- positions ---------------------------------------------------------------------------

    @property
    def _total(self) -> int:
        """The height of the content that the map covers, in px."""
        return max(self._scene.layout.total_height, self.height(), 1)

    def line_of(self, y: int) -> int:
        """The line of the map for a line of the content."""
        return y * self.height() // self._total

    def frame_room(self) -> QRect:
        """The frame around the rows in view."""
        scene = self._scene
        top = self.line_of(scene.scroll)
        tall = max(self.line_of(scene.scroll + scene.viewport_height) - top, _LOWEST)
        return QRect(0, min(top, max(self.height() - tall, 0)), self.width(), tall)

    def _scroll_to(self, top: int) -> None:
        """Scroll so that the frame begins at a line of the map."""
        scene = self._scene
        room = max(self.height() - self.frame_room().height(), 1)
        if self._total == self.height():
            scene.scroll_to(top)
        else:
            scene.scroll_to(round(min(max(top / room, 0.0), 1.0) * scene.scroll_limit))

    # -- painting ----------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, and the frame around those in view."""
        painter, theme = QPainter(self), self._theme
        canvas = Canvas(self.width(), self.height(), self.devicePixelRatioF())
        drawn, room = self._map(canvas), self.frame_room()
        self._shown_frame = room
        painter.drawImage(0, 0, _image(drawn.faint, canvas))
        painter.setClipRect(room)
        painter.drawImage(0, 0, _image(drawn.pixels, canvas))
        painter.setClipping(False)
        self._mark_selected(painter)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, 0, 0, self.height())
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.drawRect(QRectF(room).adjusted(1, 0.75, -1, -0.75))
        painter.end()

    def _mark_selected(self, painter: QPainter) -> None:
        """Mark the row of the selected slice."""
        scene, selected = self._scene, self._scene.session.state.slice
        if selected is None or selected.trace not in scene.group.traces:
            return
        band = scene.band_of(selected)
        if band >= 0:
            painter.fillRect(
                0, self.line_of(scene.layout.home_of(band)), self.width(), 2,
                self._theme.color("ring"),
            )  # fmt: skip

    def _map(self, canvas: Canvas) -> _Map:
        scene, dark = self._scene, self._theme.dark
        sources = scene.sources(dark=dark)
        members = [sources[number] for number in scene.group.traces]
        inputs = [x for s in members for x in (s.raster, s.hits, s.colors, s.hit_colors, s.axis)]
        asked = canvas, dark, scene.group.span_ns, self._total
        before = self._painted
        same = before is not None and before.asked == asked and len(before.of) == len(inputs)
        if before is None or not same or any(map(is_not, before.of, inputs)):
            pixels = self._drawn(canvas)
            faint = mixed_pixels(pixels, canvas_rgb(dark), _FAINT) | np.uint32(0xFF000000)
            before = self._painted = _Map(asked, inputs, pixels, faint)
        return before

    def _drawn(self, canvas: Canvas) -> Pixels:
        """Draw the row at the middle of each pixel line."""
        scene, theme = self._scene, self._theme
        sources, layout = scene.sources(dark=theme.dark), scene.layout
        image = np.full(
            (canvas.lines, canvas.columns), canvas_rgb(theme.dark) | 0xFF000000, np.uint32
        )
        bands = _bands_at(
            layout, (2 * np.arange(canvas.lines) + 1) * self._total // (2 * canvas.lines)
        )
        lines = np.flatnonzero(bands >= 0)
        kinds = layout.kind[bands[lines]]
        image[lines[kinds == BandKind.COUNTER]] = theme.pixel("counter_area")
        lines = lines[kinds == BandKind.ROW]
        span = max(scene.group.span_ns, 1)
        xmap = xmap_of(0, span, canvas.columns)
        for number in scene.group.traces:
            own_lines = lines[layout.trace[bands[lines]] == number]
            if not len(own_lines):
                continue
            rows, place = np.unique(layout.row[bands[own_lines]], return_inverse=True)
            drawn = draw_rows(sources[number], rows, xmap.on(sources[number].axis))
            body = np.where(drawn.cells == 0, image[own_lines[0], 0], drawn.body)
            image[own_lines] = body[place]
        headers = np.flatnonzero(layout.kind == BandKind.PROCESS)
        if len(headers) * _LEAST_PROCESS <= self.height():
            y = layout.y if layout.plain_y is None else layout.plain_y
            image[y[headers] * canvas.lines // self._total] = theme.pixel("text3")
        return image

    # -- mouse -------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grab the frame, which comes to the mouse first if it is elsewhere."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        y, room = event.position().toPoint().y(), self.frame_room()
        self._scene.activate()
        if not room.top() <= y <= room.bottom():
            self._scroll_to(y - room.height() // 2)
            room = self.frame_room()
        self._grip = y - room.top()

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scroll with the mouse."""
        if self._grip is not None:
            self._scroll_to(event.position().toPoint().y() - self._grip)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go of the frame."""
        self._grip = None

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll as on the canvas."""
        event.accept()
        self._scene.scroll_by(-turn_of(event).down)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Show the name of the process and track under the mouse as a tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), tip(self.name_at(event.pos().y())), self)
            return True
        return bool(super().event(event))

    def name_at(self, y: int) -> str:
        """The name of the process and track at a line of the map."""
        content = (2 * y + 1) * self._total // (2 * max(self.height(), 1))
        band = int(_bands_at(self._scene.layout, np.array([content]))[0])
        if band >= 0 and self._scene.layout.kind[band] == BandKind.GAP:
            band = min(band + 1, len(self._scene.layout.kind) - 1)
        part = self._scene.header_bands.part_of(band)
        return "" if part is None else full_title(self._scene, part)


def _image(pixels: Pixels, canvas: Canvas) -> QImage:
    """An image of pixels, which have to outlive it."""
    lines, columns = pixels.shape
    image = QImage(pixels.data, columns, lines, 4 * columns, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(canvas.ratio)
    return image


def _bands_at(layout: TimelineLayout, lines: Ints) -> Ints:
    """The band at each line of the content as it is if nothing stays in view, -1 below all."""
    y = layout.y if layout.plain_y is None else layout.plain_y
    if not len(y):
        return np.full(len(lines), -1)
    band = np.searchsorted(y, lines, side="right") - 1
    return np.where(lines < y[-1] + layout.height[-1], band, -1)
