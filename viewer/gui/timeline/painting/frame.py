"""Paints one frame of the timeline: rows as one image, then labels, marks and outlines on top.

The cost of the image is per pixel; that of everything on top is limited by the available space: a
label needs 15 px of its row, a mark its own column. No cost here depends on the number of slices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QRegion

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.bookmarks import measured_on
from viewer.gui.timeline.painting.bookmarks import measured_span, paint_bookmarks
from viewer.gui.timeline.painting.edge_chips import EdgeChipPainter
from viewer.gui.timeline.painting.flows import FlowPainter
from viewer.gui.timeline.painting.labels import MARK, LabelPainter
from viewer.gui.timeline.painting.pixels import (
    draw_parts,
    draw_pixels,
    pixels_under,
    stamp_allocations,
    stamp_compared,
    stamp_selected,
)
from viewer.gui.timeline.painting.plans import PlanPainter
from viewer.gui.timeline.painting.ribbons import RibbonTails
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.texts import counter_value, process_note, process_title
from viewer.gui.timeline.scene.trace_rasters import stamp_hits
from viewer.render.frame import Backdrop, CounterColors, KeptRows, draw_frame, stamp, stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind, Canvas
from viewer.render.palette import Pixels, canvas_rgb
from viewer.render.time_axis import XMap, columns_of_span
from viewer.view.state import Area, SliceRef


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


NOTHING_TO_DRAW = "The file has no slices with times: nothing ran, or no times were logged"
_RING = 2
COUNTER_AIR = 3  # px, margin above and below the area of a counter
_DOT = 3.5  # px
UNDERLINED = 8  # px; narrower slices of a highlighted operator are not underlined


@dataclass
class Overlay:
    """What the mouse adds to a frame.

    That is: its position, the slice under it or the counter band under it, and the area being
    selected. cursor: where the mouse is in an aligned strip, as a place on screen in ns.
    """

    mouse: QPoint | None = None
    hovered: SliceRef | None = None
    counter: int | None = None
    dragged: Area | None = None
    cursor: int | None = None


class FramePainter:
    """Paints frames of one scene in one theme, and caches labels between frames."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.theme = theme
        self.title_indent = 0
        self.ruler_scene = scene  # whose ruler the lines of the grid continue
        self.labels = LabelPainter(scene, theme)
        self.flows = FlowPainter(scene, theme)
        self.plans = PlanPainter(scene, theme)
        self.edge_chips = EdgeChipPainter(scene, theme)
        self.tails = RibbonTails(scene, theme)
        self._buffer = np.empty((0, 0), np.uint32)
        self._kept_rows: list[KeptRows] = []  # of each section of the last frame
        self._canvas = Canvas(1, 1)  # of the current frame
        self._in_view: Ints = np.empty(0, np.int64)  # bands in the current section

    def retheme(self) -> None:
        """Update cached fonts after the theme changed."""
        self.labels.retheme()
        self.plans.retheme()
        self.edge_chips.retheme()

    def paint(self, painter: QPainter, canvas: Canvas, overlay: Overlay) -> None:
        """Paint the visible range on the canvas; `painter` uses logical pixels."""
        self.paint_rest(painter, canvas, overlay)
        self.paint_mouse(painter, canvas, overlay)

    def rest_of(self, overlay: Overlay) -> Hashable:
        """What `paint_rest` paints of an overlay: it has to paint again if that changes."""
        hovered, mouse = overlay.hovered, overlay.mouse
        mark = hovered if hovered is not None and self._is_mark(hovered) else None
        chip = None if mouse is None else self.edge_chips.chip_at(mouse)
        scene = self.scene
        measured = measured_on(scene.session, scene.group.key)
        # The end of a span that is being measured follows the mouse.
        span = None if measured is None else measured_span(scene, self._canvas, mouse)
        return mark, None if chip is None else chip.room.getRect(), span, overlay.dragged

    def _is_mark(self, ref: SliceRef) -> bool:
        slices = self.scene.rasters[ref.trace].open_trace.trace.slices
        return bool(slices.start[ref.index] == slices.end[ref.index])

    def paint_rest(self, painter: QPainter, canvas: Canvas, overlay: Overlay) -> None:
        """Paint everything but what follows each move of the mouse."""
        scene, theme = self.scene, self.theme
        self._canvas = canvas
        width, height = canvas.width, canvas.height
        xmap, sections = scene.xmap(canvas.columns), scene.sections(height)
        self._rows(painter, canvas, xmap, sections)
        if not scene.layout.total_height:
            painter.setFont(theme.font("body"))
            painter.setPen(theme.color("text2"))
            painter.drawText(
                QRect(0, 0, width, height),
                Qt.AlignmentFlag.AlignCenter,
                scene.all_missing_text if scene.missing_text else NOTHING_TO_DRAW,
            )
        self.labels.start()
        for top, bottom in sections:
            self._enter(top, bottom)
            painter.setClipRect(QRect(0, top, width, bottom - top))
            for trace in scene.group.traces:
                bands = self._bands(BandKind.ROW, trace)
                self.labels.paint(painter, canvas, xmap, trace, bands)
            strips = self._bands(BandKind.STRIP)
            self.labels.paint_bookmarks(painter, canvas, xmap, strips, overlay.hovered)
            self.plans.paint(painter, self._bands(BandKind.PLAN), canvas, xmap)
            self._headers(painter, width)
            self._outline(painter, xmap)
            self._area(painter, xmap, overlay.dragged or self._selected_area())
        painter.setClipping(False)
        self.flows.paint(painter, canvas, xmap, self.labels.taken, self.labels.selected_label)
        self.edge_chips.paint(painter, canvas, self.flows.taken, overlay.mouse)
        paint_bookmarks(painter, scene, canvas, theme, overlay.mouse)

    def _rows(
        self, painter: QPainter, canvas: Canvas, xmap: XMap, sections: Sequence[tuple[int, int]]
    ) -> None:
        """Paint everything that is made of pixels: rows, counters, plans, and stamps on them."""
        if (direct := pixels_under(painter, canvas)) is not None:
            self._fill(direct, canvas, xmap, sections)
            return
        if self._buffer.shape != (canvas.lines, canvas.columns):
            self._buffer = np.empty((canvas.lines, canvas.columns), np.uint32)
        self._fill(self._buffer, canvas, xmap, sections)
        draw_pixels(painter, self._buffer, canvas)

    def _fill(
        self, image: Pixels, canvas: Canvas, xmap: XMap, sections: Sequence[tuple[int, int]]
    ) -> None:
        """Fill the pixels of a canvas; nothing may keep `image`, which may be those of a window."""
        scene, theme = self.scene, self.theme
        columns = self.ruler_scene.ruler(canvas).major
        grid = columns[(columns >= 0) & (columns < canvas.columns)]
        backdrop = Backdrop(canvas_rgb(theme.dark) | 0xFF000000, theme.pixel("grid"), grid)
        sources = scene.sources(dark=theme.dark)
        self.plans.start()
        self._kept_rows = [*self._kept_rows, *(KeptRows() for _ in sections)][: len(sections)]
        for number, (top, bottom) in enumerate(sections):
            self._enter(top, bottom)
            part = image[canvas.device(top) : canvas.device(bottom)]
            drawn = draw_frame(
                scene.layout,
                scene.scroll + top,
                bottom - top,
                xmap,
                sources,
                backdrop,
                part,
                canvas.ratio,
                self._kept_rows[number],
            )
            self._stamp_marks(image, xmap)
            self._stamp_counters(image, xmap)
            stamp_hits(
                part,
                scene.layout,
                (scene.scroll + top, scene.scroll + bottom),
                scene.rasters,
                canvas,
                xmap,
                theme,
                {number: (sources[number].hits, rows) for number, rows in drawn.hits.items()},
                bars=not scene.search.shows_only_hits,
            )
            plans, start = self._bands(BandKind.PLAN), scene.scroll + top
            self.plans.stamp(part, plans, start, canvas, xmap, sources)
            stamp_allocations(part, scene, (top, bottom), canvas, xmap, theme)
            stamp_compared(part, scene, top, canvas, drawn.marks, theme)
            stamp_selected(part, scene, (top, bottom), canvas, xmap, theme)
        self.tails.stamp(image, canvas)

    def paint_mouse(self, painter: QPainter, canvas: Canvas, overlay: Overlay) -> None:
        """Paint what follows the mouse over the rest: a slice in a lighter color, and lines."""
        self._canvas, height = canvas, canvas.height
        if (room := self._hovered_room(canvas, overlay)) is not None:
            lift = QColor("#FFFFFF" if self.theme.dark else "#000000")
            lift.setAlphaF(0.10)
            painter.fillRect(room, lift)
        if (x := self._cursor_x(canvas, overlay)) is not None:
            painter.setPen(QPen(self.theme.color("line"), 1))
            painter.drawLine(QPointF(x, 0), QPointF(x, height))
        if overlay.mouse is not None:
            painter.setPen(QPen(self.theme.color("line"), 1))
            painter.drawLine(overlay.mouse.x(), 0, overlay.mouse.x(), height)
            if overlay.counter is not None:
                self._dot(painter, overlay.counter, overlay.mouse.x())

    def places_of(self, canvas: Canvas, overlay: Overlay) -> QRegion:
        """Where `paint_mouse` paints an overlay."""
        self._canvas = canvas
        region, height = QRegion(), canvas.height
        if (room := self._hovered_room(canvas, overlay)) is not None:
            region += room.toAlignedRect()
        if (x := self._cursor_x(canvas, overlay)) is not None:
            region += QRect(int(x) - 1, 0, 4, height)
        if overlay.mouse is not None:
            region += QRect(overlay.mouse.x() - 1, 0, 3, height)
            if overlay.counter is not None:
                y, tall = self._plot(overlay.counter)
                air = int(_DOT) + 2
                region += QRect(overlay.mouse.x() - air, y - air, 2 * air + 1, tall + 2 * air)
        return region

    def _hovered_room(self, canvas: Canvas, overlay: Overlay) -> QRectF | None:
        """The visible part of the slice under the mouse, None without one that is not selected."""
        hovered, scene = overlay.hovered, self.scene
        if hovered is None or hovered == scene.session.state.slice:
            return None
        room = self._room(hovered, scene.xmap(canvas.columns))
        if room is None:
            return None
        band, layout = scene.band_of(hovered), scene.layout
        above = 0 if layout.stuck and band < layout.pinned else layout.stuck_height
        return room.intersected(QRectF(0, above, canvas.width, canvas.height - above))

    def _cursor_x(self, canvas: Canvas, overlay: Overlay) -> float | None:
        """Where the line for the mouse in an aligned strip is."""
        if overlay.mouse is not None or overlay.cursor is None:
            return None
        return canvas.x(self.scene.xmap(canvas.columns).column_at(overlay.cursor))

    def _enter(self, top: int, bottom: int) -> None:
        """Start painting the section of the canvas between two lines."""
        scroll = self.scene.scroll
        self._in_view = self.scene.layout.bands_between(scroll + top, scroll + bottom)

    def _bands(self, kind: BandKind, trace: int | None = None) -> list[int]:
        """The bands of a kind in the current section, of one trace or of all."""
        layout, bands = self.scene.layout, self._in_view
        selected = layout.kind[bands] == kind.value
        if trace is not None:
            selected &= layout.trace[bands] == trace
        numbers: list[int] = bands[selected].tolist()
        return numbers

    def _y(self, band: int) -> int:
        return int(self.scene.layout.y[band]) - self.scene.scroll

    # -- zero-length slices ------------------------------------------------------------------

    def _stamp_marks(self, image: Pixels, xmap: XMap) -> None:
        layout = self.scene.layout
        dimmed = self.scene.search.dims
        plain = self.theme.pixel("line" if dimmed else "diamond")
        reach = self._canvas.device(MARK)
        for band in self._bands(BandKind.STRIP):
            drawn = self.scene.rasters[int(layout.trace[band])]
            marks = drawn.raster.zero_marks(int(layout.row[band]), xmap.on(drawn.open_trace.axis))
            middle = self._canvas.device(self._y(band) + int(layout.height[band]) // 2)
            stamp_diamonds(image, marks.x, middle, reach, plain)

    # -- counters ------------------------------------------------------------------------------

    def _stamp_counters(self, image: Pixels, xmap: XMap) -> None:
        layout, theme = self.scene.layout, self.theme
        bands = self._bands(BandKind.COUNTER)
        if not bands:
            return
        area, peak, line, ground = (
            theme.pixel(token)
            for token in ("counter_area", "counter_peak", "counter_line", "hairline")
        )
        colors = CounterColors(area, peak, line, ground)
        for band in bands:
            open_trace = self.scene.rasters[int(layout.trace[band])].open_trace
            plot = open_trace.counters[int(layout.counter[band])]
            y, tall = (self._canvas.device(part) for part in self._plot(band))
            stamp(image, y, tall, plot, xmap.on(open_trace.axis), colors)

    def _plot(self, band: int) -> tuple[int, int]:
        """The top line of a counter's area on the canvas, and its height."""
        tall = int(self.scene.layout.height[band])
        return self._y(band) + COUNTER_AIR, tall - 2 * COUNTER_AIR

    def _dot(self, painter: QPainter, band: int, x: int) -> None:
        """Draw a dot at the value of the counter under the mouse."""
        y, tall = self._plot(band)
        high, _ = counter_value(self.scene, band, x, self._canvas)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.theme.color("canvas"), 1.5))
        painter.setBrush(self.theme.color("text1"))
        painter.drawEllipse(QPointF(x + 0.5, y + tall - max(high * tall, 1)), _DOT, _DOT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    # -- around the slices -------------------------------------------------------------------

    def _headers(self, painter: QPainter, width: int) -> None:
        if pinned := self.scene.layout.pinned:
            painter.setPen(QPen(self.theme.color("line"), 1))
            y = self._y(pinned - 1) + int(self.scene.layout.height[pinned - 1]) - 1
            painter.drawLine(0, y, width, y)
        for band in self._bands(BandKind.PROCESS):
            process = int(self.scene.layout.process[band])
            room = QRect(0, self._y(band), width, int(self.scene.layout.height[band]))
            paint_process_header(
                painter, self.scene, self.theme, process, room, self.title_indent, with_note=True
            )

    def _outline(self, painter: QPainter, xmap: XMap) -> None:
        self._underline(painter, xmap)
        selected = self.scene.session.state.slice
        room = None if selected is None else self._room(selected, xmap)
        if room is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self.theme.color("canvas"), 1))
            painter.drawRect(room.adjusted(-1, -1, 0, 0))
            painter.setPen(QPen(self.theme.color("ring"), _RING))
            painter.drawRoundedRect(room.adjusted(-2, -2, 2, 2), 3, 3)

    def _underline(self, painter: QPainter, xmap: XMap) -> None:
        """Underline every wide slice of the highlighted operators, dashed if it is shared."""
        layout = self.scene.layout
        accent = self.theme.color("accent")
        for number in self.scene.group.traces:
            drawn = self.scene.rasters[number]
            if drawn.hits is None:
                continue
            bands = self._bands(BandKind.ROW, number)
            trace_xmap = xmap.on(drawn.open_trace.axis)
            rows = [int(layout.row[b]) for b in bands]
            labels = drawn.hits.labels(rows, trace_xmap, self._canvas.device(UNDERLINED))
            for position, i, x0, x1 in zip(
                labels.position.tolist(),
                labels.slice.tolist(),
                labels.x0.tolist(),
                labels.x1.tolist(),
                strict=True,
            ):
                band = bands[position]
                y = self._y(band) + SLICE_TOP + int(layout.slice_height[band])
                pen = QPen(accent, 2)
                if len(drawn.open_trace.link(i).operators) > 1:
                    pen.setDashPattern([1.5, 1.5])
                painter.setPen(pen)
                left, right = self._canvas.x(x0), self._canvas.x(x1 - 1)
                painter.drawLine(QPointF(left, y), QPointF(right, y))

    def _room(self, ref: SliceRef, xmap: XMap) -> QRectF | None:
        """The rectangle of a slice on the canvas, None if it is collapsed or out of view."""
        band = self.scene.band_of(ref)
        if band < 0:
            return None
        drawn = self.scene.rasters[ref.trace]
        slices, trace_xmap = drawn.open_trace.trace.slices, xmap.on(drawn.open_trace.axis)
        columns = columns_of_span(trace_xmap, (slices.start[ref.index], slices.end[ref.index]))
        if (
            slices.end[ref.index] < trace_xmap.end_edges[0]
            or slices.start[ref.index] >= trace_xmap.edges[-1]
        ):
            return None
        y, layout = self._y(band), self.scene.layout
        x0, x1 = (self._canvas.x(column) for column in columns)
        if layout.kind[band] == BandKind.STRIP:
            return QRectF(x0 - MARK, y + 2, 2 * MARK + 1, int(layout.height[band]) - 4)
        wide = max(x1 - x0, self._canvas.x(1))
        return QRectF(x0, y + SLICE_TOP, wide, int(layout.slice_height[band]))

    def _selected_area(self) -> Area | None:
        """The selected area if it is on this clock."""
        area, members = self.scene.session.state.area, self.scene.group.traces
        on_clock = area is not None and any(trace in members for trace, _ in area.tracks)
        return area if on_clock else None

    def _area(self, painter: QPainter, xmap: XMap, area: Area | None) -> None:
        if area is None:
            return
        layout = self.scene.layout
        x0, x1 = map(self._canvas.x, columns_of_span(xmap, (area.t0, area.t1)))
        fill = self.theme.color("accent", 0.16)
        for band in [*self._bands(BandKind.ROW), *self._bands(BandKind.STRIP)]:
            if (int(layout.trace[band]), int(layout.track[band])) in area.tracks:
                room = QRectF(x0, self._y(band), x1 - x0, int(layout.height[band]))
                painter.fillRect(room, fill)
        painter.setPen(QPen(self.theme.color("accent"), 1))
        for x in (x0, x1):
            painter.drawLine(QPointF(x, 0), QPointF(x, self.scene.viewport_height))


class RestFrame:
    """Paints frames of a painter, whole or only where the mouse changes them."""

    def __init__(self, frames: FramePainter) -> None:
        self._frames = frames
        self._image = QImage()
        self._is_valid = False
        self._rest: Hashable = None  # what the last frame was painted with
        self._canvas: Canvas | None = None
        self._painted = QRegion()  # where the mouse is painted

    def changes(self, canvas: Canvas, overlay: Overlay) -> QRegion | None:
        """Where a frame with another overlay differs from the last one; None for everywhere."""
        # Where device pixels are no whole part of logical ones, an image would be blurred.
        is_sharp = canvas.ratio.is_integer()
        if not is_sharp or self._canvas != canvas or self._rest != self._frames.rest_of(overlay):
            return None
        return self._painted.united(self._frames.places_of(canvas, overlay))

    def forget(self) -> None:
        """Paint the whole frame the next time: something else than the mouse changed."""
        self._canvas = None

    def paint(
        self, painter: QPainter, canvas: Canvas, overlay: Overlay, region: QRegion | None = None
    ) -> None:
        """Paint a frame: whole, or only a region of it, outside of which the painter is clipped."""
        frames = self._frames
        if region is None or self.changes(canvas, overlay) is None:
            self._is_valid = False
            frames.paint_rest(painter, canvas, overlay)
            self._canvas, self._rest = canvas, frames.rest_of(overlay)
        else:
            if not self._is_valid:
                self._keep(canvas, overlay)
            draw_parts(painter, self._image, canvas, region)
        frames.paint_mouse(painter, canvas, overlay)
        self._painted = frames.places_of(canvas, overlay)

    def _keep(self, canvas: Canvas, overlay: Overlay) -> None:
        """Paint the frame without the mouse into an image."""
        if (self._image.width(), self._image.height()) != (canvas.columns, canvas.lines):
            self._image = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        self._image.setDevicePixelRatio(canvas.ratio)
        painter = QPainter(self._image)
        try:
            self._frames.paint_rest(painter, canvas, overlay)
        finally:
            painter.end()
        self._is_valid = True
