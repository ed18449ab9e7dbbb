"""The overview above the timeline: inferences, two lanes, and a window for the visible range.

Dragging inside the window moves it, and dragging an edge resizes it. Clicking elsewhere moves the
window there, and clicking an inference picks it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_not

import numpy as np
from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import (
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.arrays import Ints
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, turn_of
from viewer.gui.session import navigation
from viewer.gui.session.bookmarks import can_mark
from viewer.gui.session.inferences import pick_run, run_span_ns, run_trace_of
from viewer.gui.timeline.bookmarks_bar import HEIGHT as BOOKMARKS_HEIGHT
from viewer.gui.timeline.painting.bookmarks import paint_overview_bookmarks
from viewer.gui.timeline.painting.inference_band import InferenceBand
from viewer.gui.timeline.scene.scene import Scene, xmap_of
from viewer.gui.timeline.scene.search_hits import HitTicks
from viewer.model.inferences.inference_views import Inferences
from viewer.model.trace import RunKind
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.frames.frame import RasterSource
from viewer.render.palette import Pixels, canvas_rgb
from viewer.view.group_ranges import marks_on

BAND_HEIGHT = 22
LANES_HEIGHT = 42
# With bookmarks: lower by the height of their bar, so that no row moves when the first is added.
_LOWER_LANES = LANES_HEIGHT - BOOKMARKS_HEIGHT
EDGE = 5  # px around an edge of the window where it can be grabbed


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Cached pixels of the lanes, with the parameters and objects they were made from."""

    asked: tuple[object, ...]
    of: Sequence[object]
    pixels: Pixels


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
        self._painted: _Lanes | None = None
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
        """Paint band, lanes and window."""
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
        raster_sources = [sources[number] for number in self._scene.group.traces]
        inputs = [
            x for s in raster_sources for x in (s.raster, s.hits, s.colors, s.hit_colors, s.axis)
        ]
        before = self._painted
        same = before is not None and before.asked == parameters and len(before.of) == len(inputs)
        if before is None or not same or any(map(is_not, before.of, inputs)):
            before = _Lanes(parameters, inputs, self._lane_pixels(canvas, xmap, sources))
            self._painted = before
        lines, columns = before.pixels.shape
        picture = QImage(
            before.pixels.data, columns, lines, 4 * columns, QImage.Format.Format_RGB32
        )
        picture.setDevicePixelRatio(canvas.ratio)
        painter.drawImage(0, self.sizes.band + 3, picture)

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
        """Release the window."""
        self._drag = ""

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom around the time under the mouse."""
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
