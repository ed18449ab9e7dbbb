"""Where the view is: the overview of all times above, and the map of all tracks at the side.

The overview has a bar for each inference, two lanes, and a window for the visible range. Clicking
outside of the window moves it there, and clicking an inference picks it. The lines of the map are
the rows from top to bottom, over the whole time axis. Its pixels are made once for a layout and its
colors: a row per pixel line, so that they cost the same for any number of tracks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from operator import is_not

import numpy as np
from PySide6.QtCore import QEvent, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QHelpEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.canvases import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.session import navigation
from viewer.gui.session.bookmarks import can_mark
from viewer.gui.session.navigation import pick_run, run_span_ns, run_trace_of
from viewer.gui.timeline.bookmarks_bar import HEIGHT as BOOKMARKS_HEIGHT
from viewer.gui.timeline.painting.bookmarks import paint_overview_bookmarks
from viewer.gui.timeline.scene.scene import Scene, xmap_of
from viewer.gui.timeline.scene.texts import full_title
from viewer.gui.timeline.scene.trace_rasters import HitTicks
from viewer.model.inference_views import Inferences
from viewer.model.trace import Run, RunKind
from viewer.render.frame import RasterSource, draw_rows
from viewer.render.layout import BandKind, Canvas, TimelineLayout
from viewer.render.palette import Pixels, canvas_rgb, mixed_pixels
from viewer.render.time_axis import XMap
from viewer.view.open_trace import OpenTrace
from viewer.view.visible_ranges import marks_on

_TOP = 3  # px above and below the bars
_LEAST_ROUND = 8  # px; narrower inferences get no number and no round corners


class InferenceBand:
    """Paints the inferences of the current trace, and keeps the picture: 450 take 3 ms."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        self._open_trace: OpenTrace | None = None
        self._asked: tuple[object, ...] = ()
        self._picture = QImage()

    def forget(self) -> None:
        """Release the trace, which may be closed."""
        self._open_trace, self._asked = None, ()

    def paint(self, painter: QPainter, canvas: Canvas, xmap: XMap) -> None:
        """Paint the band at the top of a widget. xmap: of the whole axis to logical pixels."""
        session = self._scene.session
        trace = run_trace_of(session, self._scene.group.key)
        if session.state.inferences is not Inferences.AS_RUN:
            trace = None
        open_trace = None if trace is None else session.traces[trace]
        run = session.state.run
        picked = run[1] if run is not None and run[0] == trace else -1
        asked = canvas, self._theme.dark, xmap.t0, xmap.t1, picked
        if open_trace is not self._open_trace or asked != self._asked:
            self._open_trace, self._asked = open_trace, asked
            self._picture = self._painted(canvas, xmap, picked)
        painter.drawImage(0, 0, self._picture)

    def _painted(self, canvas: Canvas, xmap: XMap, picked: int) -> QImage:
        picture = QImage(canvas.columns, canvas.lines, QImage.Format.Format_RGB32)
        picture.setDevicePixelRatio(canvas.ratio)
        picture.fill(self._theme.color("panel"))
        if self._open_trace is None or not self._open_trace.trace.runs:
            return picture
        runs = self._open_trace.trace.runs
        spans = np.array([(run.start, run.end) for run in runs], np.int64)
        x0, x1 = xmap.on(self._open_trace.axis).pixel_of(spans.reshape(-1)).reshape(-1, 2).T
        wide = np.maximum(x1 - x0 - 1, 2)
        # Of inferences on the same pixels draw only one, since a file may have thousands. The
        # picked one is last.
        _, drawn = np.unique(np.column_stack([x0, wide]), axis=0, return_index=True)
        order = drawn.tolist()
        if picked >= 0:
            order = [*(number for number in order if number != picked), picked]
        painter = QPainter(picture)
        painter.setFont(self._theme.font("ruler"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number in order:
            room = QRect(int(x0[number]), _TOP, int(wide[number]), canvas.height - 2 * _TOP)
            self._run(painter, runs[number], room, number == picked)
        painter.end()
        return picture

    def _run(self, painter: QPainter, run: Run, room: QRect, is_picked: bool) -> None:
        theme, is_load = self._theme, run.kind is RunKind.LOAD
        fill = theme.color("accent_fill" if is_picked else "load" if is_load else "hover")
        if room.width() < _LEAST_ROUND:
            painter.fillRect(room, fill)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(QRectF(room), 3, 3)
        if not run.finished:
            painter.setBrush(QBrush(theme.color("warning"), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(QRectF(room), 3, 3)
        texts = ("load",) if is_load else (run.text, f"{run.unit.noun} {run.number}")
        metrics = painter.fontMetrics()
        fitting = (t for t in texts if metrics.horizontalAdvance(t) <= room.width() - 8)
        text = next(fitting, "" if is_load else str(run.number))
        if text and metrics.horizontalAdvance(text) <= room.width() - 4:
            painter.setPen(theme.color("on_accent" if is_picked else "text2"))
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)


BAND_HEIGHT = 22
LANES_HEIGHT = 42
# With bookmarks: lower by the height of their bar, so that no row moves when the first is added.
_LOWER_LANES = LANES_HEIGHT - BOOKMARKS_HEIGHT
EDGE = 5  # px around an edge of the window where it can be grabbed


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Cached pixels, with the parameters and objects they were made from."""

    asked: tuple[object, ...]
    of: Sequence[object]
    pixels: tuple[Pixels, ...]

    def is_of(self, asked: tuple[object, ...], of: Sequence[object]) -> bool:
        """Whether they were made from these parameters, and from the same objects."""
        same = self.asked == asked and len(self.of) == len(of)
        return same and not any(map(is_not, self.of, of))


def _parts_of(sources: Iterable[RasterSource]) -> list[object]:
    """What pixels of some sources are made from."""
    return [x for s in sources for x in (s.raster, s.hits, s.colors, s.hit_colors, s.axis)]


@dataclass(frozen=True, slots=True)
class OverviewSizes:
    """The heights of the parts of an overview in px: its band, its lanes, and one lane of them."""

    band: int = BAND_HEIGHT
    lanes: int = LANES_HEIGHT
    lane: int = 16
    gap: int = 3

    @property
    def height(self) -> int:
        """The height of the overview."""
        return self.band + self.lanes


FULL_SIZES = OverviewSizes()


def sizes_for(scene: Scene) -> OverviewSizes:
    """The sizes of the overview of a strip: lower if there are several strips.

    Then the band is left out for a clock without inferences, and where they are not as they ran.
    """
    session = scene.session
    if len(session.groups) < 2:
        has_marks = can_mark(session) and bool(marks_on(session.state, scene.group.key))
        return OverviewSizes(lanes=_LOWER_LANES, lane=7, gap=2) if has_marks else FULL_SIZES
    has_runs = session.state.inferences is Inferences.AS_RUN and any(
        session.traces[number].trace.runs for number in scene.group.traces
    )
    return OverviewSizes(BAND_HEIGHT if has_runs else 0, lanes=26, lane=9, gap=2)


def paint_border(painter: QPainter, width: int, sizes: OverviewSizes, theme: Theme) -> None:
    """Paint the border between the overview (whole trace) and the ruler (visible range)."""
    painter.fillRect(0, sizes.height - 2, width, 2, theme.color("line"))


class Overview(QWidget):
    """Shows the band of inferences and the overview lanes over the entire time axis."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self._drag = ""
        self._painted: _Drawn | None = None
        self._shown_window = QRect()  # as painted last
        self._band = InferenceBand(scene, theme)
        self._ticks = HitTicks(scene.search)
        self._grip = 0
        self.sizes = FULL_SIZES
        self.setFixedHeight(self.sizes.height)
        self.setMouseTracking(True)
        self.setAccessibleName("Overview of the whole trace")
        self._rows: list[tuple[int, int]] = []  # the rows in the lanes, as (trace, row)
        scene.arranged.connect(self._choose_rows)
        scene.changed.connect(self.update)
        scene.moved.connect(self._follow_window)
        theme.changed.connect(self.update)

    def _xmap(self, columns: int = 0) -> XMap:
        """Map the entire axis plus a margin to columns; by default these are logical pixels."""
        span = self._scene.group.span_ns
        margin = max(span // 50, 1)
        return xmap_of(-margin, span + margin, max(columns or self.width(), 1))

    def fit(self) -> None:
        """Take the height for what is open."""
        self.sizes = sizes_for(self._scene)
        self.setFixedHeight(self.sizes.height)

    # -- painting ------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = self._theme
        painter.fillRect(self.rect(), theme.color("canvas"))
        xmap, ratio = self._xmap(), self.devicePixelRatioF()
        band = self.sizes.band
        if band:
            self._band.paint(painter, Canvas(self.width(), band, ratio), xmap)
        self._lanes(painter, Canvas(self.width(), self.height(), ratio))
        self._window(painter, xmap)
        self._ticks.paint(painter, self._scene.group.traces, xmap, band, theme)
        paint_overview_bookmarks(painter, self._scene, theme, xmap, band, self.sizes.lanes)
        paint_border(painter, self.width(), self.sizes, theme)
        painter.end()

    def _lanes(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint the lanes, cached while only the window moves, as they take a fifth of a frame."""
        dark, xmap = self._theme.dark, self._xmap(canvas.columns)
        sources = self._scene.sources(dark=dark)
        parameters = (canvas, dark, xmap.t0, xmap.t1, tuple(self._rows))
        inputs = _parts_of(sources[number] for number in self._scene.group.traces)
        if self._painted is None or not self._painted.is_of(parameters, inputs):
            pixels = self._lane_pixels(canvas, xmap, sources)
            self._painted = _Drawn(parameters, inputs, (pixels,))
        painter.drawImage(0, self.sizes.band + 3, _image(self._painted.pixels[0], canvas))

    def _lane_pixels(self, canvas: Canvas, xmap: XMap, sources: Sequence[RasterSource]) -> Pixels:
        lane_height, gap = self.sizes.lane, self.sizes.gap
        size = (canvas.device(2 * lane_height + gap), canvas.columns)
        image = np.full(size, canvas_rgb(self._theme.dark) | 0xFF000000, np.uint32)
        for lane, (trace, row) in enumerate(self._rows):
            source = sources[trace]
            trace_xmap = xmap.on(source.axis)
            cells = source.raster.draw([row], trace_xmap)
            body = source.colors.body[cells]
            if source.hits is not None and source.hit_colors is not None:
                hits = source.hits.draw([row], trace_xmap)
                marked = hits != 0
                body[marked] = source.hit_colors.body[hits[marked]]
            top = canvas.device(lane * (lane_height + gap))
            image[top : top + canvas.device(lane_height)] = body
        return image

    def _choose_rows(self) -> None:
        """Choose two rows of visible tracks: of one trace, or one of each of two traces."""
        self._painted = None  # it may hold the last reference to a closed trace
        self._band.forget()
        scene, members = self._scene, self._scene.group.traces[:2]
        count = 2 if len(members) == 1 else 1
        self._rows = []
        for n in members:
            picture = scene.rasters[n]
            first = int(scene.track_list.first_of_trace[n])
            track = picture.open_trace.trace.slices.rows_drawn.row_track.astype(np.int64) + first
            size = np.diff(picture.raster.drawn.row_ptr)
            seen = scene.arrangement.shown[track]
            # If all are hidden, the overview still shows the whole trace.
            rows = _busiest(np.where(seen, size, 0) if seen.any() else size, count)
            self._rows += [(n, row) for row in rows]

    def _follow_window(self) -> None:
        # Deep in a trace, most moves are of less than a pixel here.
        if self._window_room(self._xmap()) != self._shown_window:
            self.update()

    def _window_room(self, xmap: XMap) -> QRect:
        times = self._scene.session.state.times_of(self._scene.group.key)
        x0, x1 = map(xmap.column_of, times)
        return QRect(x0, self.sizes.band, max(x1 - x0, 3), self.sizes.lanes - 2)

    def _window(self, painter: QPainter, xmap: XMap) -> None:
        if not self._scene.group.traces:
            return
        theme, room = self._theme, self._window_room(xmap)
        self._shown_window = room
        shade = theme.color("canvas", 0.45)
        top, height = self.sizes.band, self.sizes.lanes
        painter.fillRect(0, top, room.left(), height, shade)
        painter.fillRect(room.right() + 1, top, self.width(), height, shade)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(room).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        if room.width() > 24:
            painter.setBrush(theme.color("accent"))
            painter.setPen(Qt.PenStyle.NoPen)
            for x in (room.left(), room.right()):
                painter.drawRoundedRect(QRectF(x - 1.5, room.center().y() - 7, 4, 14), 2, 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    # -- mouse -----------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Pick an inference, or grab the window or one of its edges."""
        if event.button() != Qt.MouseButton.LeftButton or not self._scene.rasters:
            return
        x, y = event.position().toPoint().x(), event.position().toPoint().y()
        xmap = self._xmap()
        self._scene.activate()
        if y < self.sizes.band:
            self._pick_run(xmap, x)
            return
        room = self._window_room(xmap)
        if abs(x - room.left()) <= EDGE:
            self._drag = "left"
        elif abs(x - room.right()) <= EDGE:
            self._drag = "right"
        else:
            self._drag = "move"
            if not room.left() <= x <= room.right():
                self._center_on(self._place_at(x))
        self._grip = self._place_at(x) - self._scene.session.state.t0

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move or resize the window, or show in the cursor what can be grabbed."""
        x = event.position().toPoint().x()
        xmap = self._xmap()
        session = self._scene.session
        if self._drag:
            self._scene.activate()  # a key may have activated another clock since the press
        state, place, now = session.state, self._place_at(x), time.monotonic()
        if self._drag == "left":
            session.set_range(min(place, state.t1 - 1), state.t1, now=now)
        elif self._drag == "right":
            session.set_range(state.t0, max(place, state.t0 + 1), now=now)
        elif self._drag == "move":
            t0 = place - self._grip
            session.set_range(t0, t0 + state.t1 - state.t0, now=now)
        else:
            room = self._window_room(xmap)
            edge = min(abs(x - room.left()), abs(x - room.right())) <= EDGE
            over = event.position().y() >= self.sizes.band and edge
            self.setCursor(Qt.CursorShape.SizeHorCursor if over else Qt.CursorShape.ArrowCursor)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag = ""

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        place = self._place_at(event.position().x())
        self._scene.activate()
        factor = ZOOM_PER_NOTCH ** -turn_of(event).notches
        navigation.zoom(self._scene.session, factor, place, now=time.monotonic())

    def _place_at(self, x: float) -> int:
        """Where on screen the time at x begins: the overview itself has no gaps."""
        return self._scene.gaps.place(self._xmap().t_of(x))

    def _center_on(self, place: int) -> None:
        state = self._scene.session.state
        span = state.t1 - state.t0
        self._scene.session.set_range(place - span // 2, place - span // 2 + span)

    def _pick_run(self, xmap: XMap, x: int) -> None:
        session = self._scene.session
        trace = run_trace_of(session, self._scene.group.key)
        if trace is None or session.state.inferences is not Inferences.AS_RUN:
            return
        place = xmap.t_of(x)
        for number, run in enumerate(session.traces[trace].trace.runs):
            t0, t1 = run_span_ns(session, trace, run)
            if run.kind is RunKind.INFERENCE and t0 <= place <= t1:
                pick_run(session, (trace, number))
                return


def _busiest(size: Ints, count: int) -> list[int]:
    """The `count` rows with the most slices that have a duration, in display order."""
    best = np.argsort(-size, kind="stable")[:count]
    return sorted(best.tolist())


WIDTH = 56  # px
LEAST_TRACKS = 60  # with fewer, the scroll bar is enough
_LEAST_PROCESS = 4  # px from one line between processes to the next
_FAINT = 0.4  # of the canvas color, in rows out of view
_LOWEST = 6  # px of the frame around the rows in view


class Minimap(QWidget):
    """Shows all rows of a strip, and scrolls to those that are clicked."""

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self._painted: _Drawn | None = None
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
        painter, theme = QPainter(self), self._theme
        canvas = Canvas(self.width(), self.height(), self.devicePixelRatioF())
        (pixels, faint), room = self._map(canvas), self.frame_room()
        self._shown_frame = room
        painter.drawImage(0, 0, _image(faint, canvas))
        painter.setClipRect(room)
        painter.drawImage(0, 0, _image(pixels, canvas))
        painter.setClipping(False)
        self._mark_selected(painter)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, 0, 0, self.height())
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.drawRect(QRectF(room).adjusted(1, 0.75, -1, -0.75))
        painter.end()

    def _mark_selected(self, painter: QPainter) -> None:
        scene, selected = self._scene, self._scene.session.state.slice
        if selected is None or selected.trace not in scene.group.traces:
            return
        band = scene.band_of(selected)
        if band >= 0:
            painter.fillRect(
                0, self.line_of(scene.layout.home_of(band)), self.width(), 2,
                self._theme.color("ring"),
            )  # fmt: skip

    def _map(self, canvas: Canvas) -> tuple[Pixels, ...]:
        """The pixels of the rows in view, and of those out of view."""
        scene, dark = self._scene, self._theme.dark
        sources = scene.sources(dark=dark)
        inputs = _parts_of(sources[number] for number in scene.group.traces)
        asked = canvas, dark, scene.group.span_ns, self._total
        if self._painted is None or not self._painted.is_of(asked, inputs):
            pixels = self._drawn(canvas)
            faint = mixed_pixels(pixels, canvas_rgb(dark), _FAINT) | np.uint32(0xFF000000)
            self._painted = _Drawn(asked, inputs, (pixels, faint))
        return self._painted.pixels

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
        if self._grip is not None:
            self._scroll_to(event.position().toPoint().y() - self._grip)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._grip = None

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
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
