"""The tracks that queries derive, below the rows of a strip: hatched, so that nobody counts them.

They are on the columns of the rows. Of very many lanes the first are drawn, and the title says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QHelpEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text, literal, tip
from viewer.gui.session.feeds.derived import DerivedTracks, DrawnTracks, remove, slice_of
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import format_time
from viewer.render.frame import CounterColors, RasterSource, draw_rows, stamp, stamp_diamonds
from viewer.render.layout import Canvas
from viewer.render.palette import Pixels, canvas_rgb, cell_colors, label_colors, rgb_table
from viewer.render.time_axis import Axis, XMap

TITLE, LANE, COUNTER, MOST_LANES = 18, 17, 32, 16  # px; lanes of all queries together
_HATCH, _GAP, _INSET, _LEAST_LABEL = 8, 2, 8, 40  # px
_MARK, _REACH = 3, 6  # px of a slice without a length, and around it
_LINE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine


@dataclass(frozen=True, slots=True, eq=False)
class _Lane:
    """A line of the band: the title of a query, a row of its slices, or a counter."""

    drawn: DrawnTracks
    y: int
    height: int
    text: str
    row: int = -1
    counter: int = -1


class DerivedBand(QWidget):
    """Draws the derived tracks of one strip. headers: whose width its titles have."""

    def __init__(self, scene: Scene, theme: Theme, headers: QWidget) -> None:
        super().__init__()
        self._scene, self._theme, self._headers = scene, theme, headers
        self._tracks = DerivedTracks.of(scene.session)
        self._lanes: list[_Lane] = []
        self._is_expanded = True
        self.setAccessibleName("Derived tracks")
        self._tracks.changed.connect(self.follow)
        scene.arranged.connect(self.follow)
        for signal in (scene.changed, scene.moved, theme.changed):
            signal.connect(self.update)
        self.hide()

    def follow(self, is_expanded: bool | None = None) -> None:
        """Show the tracks that there are now, unless the strip is collapsed."""
        self._is_expanded = self._is_expanded if is_expanded is None else is_expanded
        self._lanes = list(_lanes(self._tracks.on(self._scene.group.key)))
        height = self._lanes[-1].y + self._lanes[-1].height + _GAP if self._lanes else 0
        self.setFixedHeight(height)
        self.setVisible(bool(height) and self._is_expanded)
        titles = (lane for lane in self._lanes if lane.row < 0 and lane.counter < 0)
        self.setAccessibleDescription(
            "; ".join(f"{lane.drawn.derived.process}: {lane.text}" for lane in titles)
        )
        self.update()

    # -- places ----------------------------------------------------------------------------------

    @property
    def _left(self) -> int:
        return self._headers.width()

    @property
    def _canvas(self) -> Canvas:
        return Canvas(max(self.width() - self._left, 1), self.height(), self.devicePixelRatioF())

    def _lane_at(self, point: QPoint) -> _Lane | None:
        return next((lane for lane in self._lanes if 0 <= point.y() - lane.y < lane.height), None)

    def slice_at(self, point: QPoint) -> tuple[DrawnTracks, int] | None:
        """Return the slice at a point, and whose it is; None if there is none."""
        lane = self._lane_at(point)
        if lane is None or lane.row < 0 or point.x() < self._left:
            return None
        canvas, xmap = self._canvas, self._scene.xmap(self._canvas.columns)
        column = canvas.column(point.x() - self._left)
        index = lane.drawn.raster.hit(lane.row, column, xmap)
        if index < 0:
            marks = lane.drawn.raster.zero_marks(lane.row, xmap)
            near = np.abs(marks.x - column)
            if len(near) and near.min() <= canvas.device(_REACH):
                index = int(marks.first[int(near.argmin())])
        return (lane.drawn, index) if index >= 0 else None

    def tip_at(self, point: QPoint) -> str:
        """Return what is at a point: the columns of a row, or the value of a counter."""
        pointed, lane = self.slice_at(point), self._lane_at(point)
        if pointed is not None:
            drawn, index = pointed
            trace = drawn.trace
            assert trace is not None
            start, end = int(trace.slices.start[index]), int(trace.slices.end[index])
            title = f"{trace.strings[int(trace.slices.name[index])]} · {format_time(end - start)}"
            return "\n".join([title, drawn.derived.process, *drawn.facts(index)])
        if lane is None or lane.counter < 0 or point.x() < self._left:
            return "" if lane is None else f"{lane.drawn.derived.process}\n{lane.drawn.derived.sql}"
        plot, canvas = lane.drawn.counters[lane.counter], self._canvas
        column = int(canvas.column(point.x() - self._left))
        value, _ = plot.at(column, self._scene.xmap(canvas.columns))
        return f"{lane.text}: {plot.counter.text(value, Axis().ns_per_tick)}"

    # -- painting --------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint titles on the left, and the hatched tracks beside them."""
        painter, theme, canvas = QPainter(self), self._theme, self._canvas
        xmap = self._scene.xmap(canvas.columns)
        pixels = self._pixels(canvas, xmap)
        image = QImage(
            pixels.data, canvas.columns, canvas.lines, 4 * canvas.columns,
            QImage.Format.Format_RGB32,
        )  # fmt: skip
        image.setDevicePixelRatio(canvas.ratio)
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.drawImage(self._left, 0, image)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(self._left - 1, 0, self._left - 1, self.height())
        painter.setFont(theme.font("caption"))
        for lane in self._lanes:
            is_title = lane.row < 0 and lane.counter < 0
            if is_title:
                self._paint_title(painter, lane)
                continue
            painter.setPen(theme.color("text2"))
            room = QRect(_INSET, lane.y, self._left - 2 * _INSET, lane.height)
            painter.drawText(room, _LINE, _fitted(painter, lane.text, room.width()))
            if lane.row >= 0:
                self._paint_labels(painter, lane, canvas, xmap)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, 0, self.width(), 0)
        painter.end()

    def _paint_title(self, painter: QPainter, lane: _Lane) -> None:
        theme = self._theme
        painter.fillRect(QRect(0, lane.y, self.width(), lane.height), theme.color("panel"))
        painter.setPen(theme.color("text1"))
        title = f"{lane.drawn.derived.process} · {lane.text} · not in totals"
        room = QRect(_INSET, lane.y, self.width() - 2 * _INSET, lane.height)
        painter.drawText(room, _LINE, _fitted(painter, title, room.width()))

    def _paint_labels(self, painter: QPainter, lane: _Lane, canvas: Canvas, xmap: XMap) -> None:
        trace, raster = lane.drawn.trace, lane.drawn.raster
        assert trace is not None
        labels = raster.labels([lane.row], xmap, canvas.device(_LEAST_LABEL))
        colors, fills = label_colors(self._theme.dark), lane.drawn.palette
        grounds, metrics = rgb_table(self._theme.dark), painter.fontMetrics()
        for index, x0, x1 in zip(
            labels.slice.tolist(), labels.x0.tolist(), labels.x1.tolist(), strict=True
        ):
            left, right = canvas.x(x0), canvas.x(x1)
            room = QRect(round(self._left + left) + 3, lane.y, round(right - left) - 6, lane.height)
            text = _fitted(painter, trace.strings[int(trace.slices.name[index])], room.width())
            # No hatch behind a text, which would be hard to read.
            wide, high = metrics.horizontalAdvance(text) + 4, lane.height - _GAP - 2
            behind = QRect(room.left() - 2, lane.y + _GAP + 1, wide if text else 0, high)
            painter.fillRect(behind, QColor.fromRgb(int(grounds[fills[index]])))
            painter.setPen(QColor.fromRgb(colors[int(fills[index])]))
            painter.drawText(room, _LINE, text)

    def _pixels(self, canvas: Canvas, xmap: XMap) -> Pixels:
        theme = self._theme
        ground = np.uint32(canvas_rgb(theme.dark) | 0xFF000000)
        pixels = np.full((canvas.lines, canvas.columns), ground, np.uint32)
        tokens = ("counter_area", "counter_peak", "counter_line", "hairline")
        counter_colors = CounterColors(*map(theme.pixel, tokens))
        for lane in self._lanes:
            top, high = canvas.device(lane.y + _GAP), canvas.device(lane.height - _GAP)
            part = pixels[top : top + high]
            if lane.counter >= 0:
                stamp(part, 0, high, lane.drawn.counters[lane.counter], xmap, counter_colors)
            elif lane.row >= 0:
                source = RasterSource(lane.drawn.raster, Axis(), cell_colors(theme.dark))
                cells = draw_rows(source, np.array([lane.row], np.int64), xmap)
                drawn = cells.cells[0] != 0
                part[:, drawn] = cells.body[0, drawn]
                part[[0, -1]] = np.where(drawn, cells.line[0], part[[0, -1]])
                marks = lane.drawn.raster.zero_marks(lane.row, xmap)
                reach = canvas.device(_MARK)
                stamp_diamonds(part, marks.x, high // 2, reach, theme.pixel("diamond"))
            if lane.row >= 0 or lane.counter >= 0:
                _hatch(part, ground, canvas.device(_HATCH))
        return pixels

    # -- mouse -----------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        pointed = self.slice_at(event.position().toPoint())
        if pointed is None or event.button() != Qt.MouseButton.LeftButton:
            return
        number = pointed[0].slice_id(pointed[1])
        ref = None if number is None else slice_of(self._scene.session, number)
        if ref is not None:
            self._scene.session.select_slice(ref, reveal=True)

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer to remove the track under the mouse."""
        if (lane := self._lane_at(event.pos())) is not None:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            derived, session = lane.drawn.derived, self._scene.session
            menu.addAction(literal(f"Remove {derived.name}"), lambda: remove(session, derived))
            menu.popup(event.globalPos())

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip(self.tip_at(event.pos())), self)
            return True
        return bool(super().event(event))


def _lanes(tracks: list[DrawnTracks]) -> Iterator[_Lane]:
    """Yield the lines of the band from top to bottom."""
    y, most = 0, max(MOST_LANES // max(len(tracks), 1), 1)
    for drawn in tracks:
        rows = 0 if drawn.trace is None else len(drawn.trace.slices.row_track)
        counters = () if drawn.trace is None else drawn.trace.counters
        left_out = max(rows - most, 0) + max(len(counters) - most, 0)
        more = f", {left_out} more lanes are not drawn" if left_out else ""
        yield _Lane(drawn, y, TITLE, f"{drawn.text}{more}")
        y += TITLE
        if drawn.trace is None:
            continue
        owners: Ints = drawn.trace.slices.row_track.astype(np.int64)
        for row in range(min(rows, most)):
            owner = int(owners[row])
            is_first = row == 0 or owner != int(owners[row - 1])
            text = drawn.trace.tracks[owner].thread if is_first else ""
            yield _Lane(drawn, y, LANE, text, row=row)
            y += LANE
        for number, counter in enumerate(counters[:most]):
            yield _Lane(drawn, y, COUNTER, counter.name, counter=number)
            y += COUNTER


def _hatch(part: Pixels, ground: np.uint32, step: int) -> None:
    """Cut lines out of what is drawn, so that it is told apart from measured slices."""
    lines, columns = part.shape
    across = (np.arange(columns)[None, :] + np.arange(lines)[:, None]) % max(step, 2)
    part[across == 0] = ground


def _fitted(painter: QPainter, text: str, room: int) -> str:
    return elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, max(room, 0))
