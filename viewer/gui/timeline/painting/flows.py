"""Draws the flows of the selected slice as arrows from a producer's end to a consumer's start.

Inputs are dashed lines with open heads and outputs are solid lines with filled heads, so that color
is not the only difference. A halo in canvas color keeps lines visible on any slice. If an end is
out of view, or in a collapsed or hidden process or track, a chip with its name marks where the line
leaves; clicking it goes to that slice. At most `MOST_DRAWN` arrows are drawn per direction, the
nearest in time first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.gui.session.feeds.selection import FlowAnswer, FlowFeed
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import group_digits
from viewer.model.trace import Unit
from viewer.render.layout import SLICE_TOP, BandKind, Canvas
from viewer.render.time_axis import XMap
from viewer.view.state import SliceRef

MOST_DRAWN = 12
_WIDTH, _HALO = 1.6, 4.6  # px
_HEAD = 6.5  # px
_LEAST_BEND, _MOST_BEND = 12.0, 160.0  # px, horizontal length of the curve at each end
_SAME_ROW = 20  # px; ends within this vertical distance count as one row
_LEAST_RISE, _MOST_RISE = 18.0, 44.0  # px, vertical bend of a line within one row
_CHIP_HEIGHT, _CHIP_INSET, _CHIP_WIDEST, _CHIP_GAP = 18, 6, 190, 3
_DETOUR = 90  # px by which a chip may be away from its place to be on no slice with a label
_SHIFT = 3  # px between the places that are tried
_LONGEST = 120  # characters; more would not fit, and names come from files


@dataclass(frozen=True, slots=True)
class EdgeChip:
    """A chip at the canvas edge: its rectangle, text, and the slice that a click selects."""

    room: QRectF
    text: str
    ref: SliceRef


@dataclass(frozen=True, slots=True)
class _Point:
    """An arrow end; `away` is an arrow sign or "folded" if the slice is not visible."""

    position: QPointF
    away: str = ""


class FlowPainter:
    """Paints the flows of one scene; keeps the chips of the last frame for hit testing."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene = scene
        self._theme = theme
        self._feed = FlowFeed.of(scene.session)
        self._feed.changed.connect(scene.changed)
        self.chips: list[EdgeChip] = []
        self.note = ""
        self._note_room = QRectF()
        self.drawn = 0
        self._labels: Sequence[QRectF] = ()
        self._selected_label = QRectF()

    @property
    def taken(self) -> list[QRectF]:
        """The places of the labels, chips and note of the last frame."""
        return [*self._labels, *(chip.room for chip in self.chips), self._note_room]

    def chip_at(self, position: QPoint) -> SliceRef | None:
        """The slice that the chip at a point of the canvas refers to, None without a chip."""
        answer, point = self._feed.answer, QPointF(position)
        if answer is None or answer.ref is None or not self._is_current(answer, answer.ref):
            return None  # the chips belong to a trace that was closed since
        return next((chip.ref for chip in self.chips if chip.room.contains(point)), None)

    def paint(
        self,
        painter: QPainter,
        canvas: Canvas,
        xmap: XMap,
        labels: Sequence[QRectF],
        selected: QRectF,
    ) -> None:
        """Paint the arrows of the selected slice; `painter` uses logical pixels.

        `labels` are the places of the labels on slices; `selected` is that of the selected one,
        empty if it has none.
        """
        self.chips, self.note, self.drawn = [], "", 0
        self._labels, self._selected_label, self._note_room = labels, selected, QRectF()
        answer = self._feed.answer
        if answer is None or answer.ref is None or not self._feed.visible:
            return
        ref = answer.ref
        if not self._is_current(answer, ref):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        here = xmap.on(answer.open_trace.axis)  # created once, because it caches what it computes
        caption = self._theme.font("caption")
        painter.setFont(caption)
        metrics = QFontMetricsF(caption, painter.device())
        nowhere = 0
        for forward in (False, True):
            for end in answer.flows.ends(forward=forward)[:MOST_DRAWN]:
                other = SliceRef(ref.trace, end.slice)
                first, last = (ref, other) if forward else (other, ref)
                # A job's flow leads from the start of the action that starts it to the job's start,
                # and from the job's end to the end of the action that waits for it. A flow stated
                # by the file may start inside a slice that continues.
                at_end = not end.is_job or self._is_of_npu(first)
                if end.is_stated:
                    at_end = self._is_before(first, last)
                start_point = self._point(first, canvas, here, at_end=at_end)
                end_point = self._point(last, canvas, here, at_end=at_end and end.is_job)
                if start_point is None or end_point is None:
                    nowhere += 1
                    continue
                near, away = (start_point, end_point) if forward else (end_point, start_point)
                if away.away:
                    name = answer.open_trace.label(end.slice)
                    place = self._chip(metrics, canvas, name, other, away)
                    if place is None:
                        nowhere += 1
                        continue
                    moved = _Point(place)
                    start_point, end_point = (start_point, moved) if forward else (moved, end_point)
                # A line between two ends beyond the same edge would run along that edge.
                if away.away and near.away == away.away:
                    self.drawn += 1
                    continue
                self._arrow(painter, start_point.position, end_point.position, solid=forward)
                self.drawn += 1
        for chip in self.chips:
            self._box(painter, chip.room)
            painter.setPen(self._theme.color("accent"))
            painter.drawText(chip.room, Qt.AlignmentFlag.AlignCenter, chip.text)
        self.note = self._left_out(answer, nowhere)
        if self.note:
            self._paint_note(painter, canvas)
        painter.restore()

    def _is_current(self, answer: FlowAnswer, ref: SliceRef) -> bool:
        """Whether the answer is for a trace that this scene still shows."""
        all_rasters = self._scene.rasters
        if ref.trace not in self._scene.group.traces or ref.trace >= len(all_rasters):
            return False
        return all_rasters[ref.trace].open_trace is answer.open_trace

    def _is_of_npu(self, ref: SliceRef) -> bool:
        trace = self._scene.rasters[ref.trace].open_trace.trace
        return trace.tracks[trace.slices.track(ref.index)].unit is Unit.NSS

    def _is_before(self, first: SliceRef, last: SliceRef) -> bool:
        """Whether the first slice ends before the other starts."""
        slices = self._scene.rasters[first.trace].open_trace.trace.slices
        return bool(slices.end[first.index] <= slices.start[last.index])

    # -- arrow ends ----------------------------------------------------------------------------

    def _point(self, ref: SliceRef, canvas: Canvas, here: XMap, *, at_end: bool) -> _Point | None:
        """The start or end of a slice, clamped to the canvas; None if its process is hidden."""
        scene, layout = self._scene, self._scene.layout
        slices = scene.rasters[ref.trace].open_trace.trace.slices
        tick = (slices.end if at_end else slices.start)[ref.index]
        x_of = here.end_x_of if at_end else here.x_of
        x = canvas.x(float(x_of(np.array([tick]))[0]))
        band = scene.band_of(ref)
        folded = band < 0
        if folded:
            band = self._header_of(ref)
            if band < 0:
                return None
        top, tall = int(layout.y[band]) - scene.scroll, int(layout.height[band])
        is_row = layout.kind[band] == BandKind.ROW
        y = top + (SLICE_TOP + layout.slice_height[band] / 2 if is_row else tall / 2)
        away = "folded" if folded else ""
        if x < 0 or x > canvas.width:
            away = "←" if x < 0 else "→"
        elif not folded and (y < 0 or y > canvas.height):
            away = "↑" if y < 0 else "↓"
        return _Point(QPointF(_within(x, canvas.width), _within(y, canvas.height)), away)

    def _header_of(self, ref: SliceRef) -> int:
        """The header band of the process that contains a slice, -1 if it is not visible."""
        scene, layout = self._scene, self._scene.layout
        trace = scene.rasters[ref.trace].open_trace.trace
        name = trace.tracks[trace.slices.track(ref.index)].process
        for band in np.flatnonzero(layout.kind == BandKind.PROCESS).tolist():
            process = int(layout.process[band])
            if process >= 0:
                spec = scene.processes[process]
                if (spec.trace, spec.name) == (ref.trace, name):
                    return int(band)
        return -1

    # -- painting ------------------------------------------------------------------------------

    def _arrow(self, painter: QPainter, begin: QPointF, end: QPointF, *, solid: bool) -> None:
        across, down = end.x() - begin.x(), end.y() - begin.y()
        bend = min(max(abs(across) / 3, _LEAST_BEND), _MOST_BEND)
        rise = 0.0
        if abs(down) < _SAME_ROW:
            # A straight line along a row would hide labels: bend inputs above it and outputs below.
            rise = min(_LEAST_RISE + abs(across) / 8, _MOST_RISE) * (1 if solid else -1)
        turn = end + QPointF(-bend, rise)
        path = QPainterPath(begin)
        path.cubicTo(begin + QPointF(bend, rise), turn, end)
        head = _head(end, path.pointAtPercent(max(1 - 2 * _HEAD / max(path.length(), 1), 0)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # A half transparent halo, or round ends, would take ten times as long to draw.
        halo = self._theme.color("canvas")
        painter.setPen(QPen(halo, _HALO, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
        painter.drawPath(path)
        color = self._theme.color("accent" if solid else "text1")
        pen = QPen(color, _WIDTH, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap)
        if not solid:
            pen.setDashPattern([4.0, 2.5])
        painter.setPen(pen)
        painter.drawPath(path)
        painter.setPen(QPen(color, _WIDTH))
        if solid:
            painter.setBrush(color)
            painter.drawPolygon(head)
        else:
            painter.drawPolyline(head)

    def _chip(
        self, metrics: QFontMetricsF, canvas: Canvas, name: str, ref: SliceRef, point: _Point
    ) -> QPointF | None:
        """Add a chip at the edge; returns where its line attaches, None if there is no space."""
        name = " ".join(name[:_LONGEST].split())
        before = point.away in ("←", "↑", "↓")
        name = elided_text(metrics, name, Qt.TextElideMode.ElideMiddle, _CHIP_WIDEST)
        if point.away == "folded":
            text = f"{name} · folded"
        else:
            text = f"{point.away} {name}" if before else f"{name} {point.away}"
        wide = metrics.horizontalAdvance(text) + 2 * _CHIP_INSET
        left = min(max(point.position.x() - wide / 2, 2.0), canvas.width - wide - 2)
        top = min(max(point.position.y() - _CHIP_HEIGHT / 2, 2.0), canvas.height - _CHIP_HEIGHT - 2)
        room = QRectF(left, top, wide, _CHIP_HEIGHT)
        free = self._free(room, canvas)
        if free is None:
            return None
        room = free
        self.chips.append(EdgeChip(room, text, ref))
        x = room.right() if point.away == "←" else room.left()
        return QPointF(x if point.away in ("←", "→") else room.center().x(), room.center().y())

    def _free(self, room: QRectF, canvas: Canvas) -> QRectF | None:
        """The nearest free place for a chip above or below `room`, None if there is none.

        Free of other chips and, if possible, of labels; always of the label of the selected slice.
        """
        chips = [c.room.adjusted(0, -_CHIP_GAP, 0, _CHIP_GAP) for c in self.chips]
        least = [*chips, self._selected_label]
        near = [r for r in self._labels if r.left() < room.right() and r.right() > room.left()]
        for taken, reach in (([*least, *near], _DETOUR), (least, canvas.height)):
            for away in range(0, reach, _SHIFT):
                for step in (away, -away):
                    place = room.translated(0, step)
                    inside = place.top() >= 0 and place.bottom() <= canvas.height
                    if inside and not any(place.intersects(rect) for rect in taken):
                        return place
        return None

    def _paint_note(self, painter: QPainter, canvas: Canvas) -> None:
        wide = painter.fontMetrics().horizontalAdvance(self.note) + 2 * _CHIP_INSET
        top = canvas.height - _CHIP_HEIGHT - 4
        room = self._note_room = QRectF(canvas.width - wide - 4, top, wide, _CHIP_HEIGHT)
        self._box(painter, room)
        painter.setPen(self._theme.color("text2"))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, self.note)

    def _box(self, painter: QPainter, room: QRectF) -> None:
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _left_out(self, answer: FlowAnswer, nowhere: int) -> str:
        """A note on how many flows are shown of how many, "" if all are."""
        flows = answer.flows
        count = len(flows.inputs) + len(flows.outputs)
        if self.drawn == count:
            return ""
        hidden = f" · {nowhere} hidden" if nowhere else ""
        return f"{group_digits(self.drawn)} of {group_digits(count)} flows{hidden}"


def _within(value: float, length: int) -> float:
    return min(max(value, 0.0), float(length))


def _head(tip: QPointF, before: QPointF) -> QPolygonF:
    """The three points of an arrow head at `tip`, for a line coming from `before`."""
    direction = tip - before
    length = max((direction.x() ** 2 + direction.y() ** 2) ** 0.5, 0.01)
    along = direction * (_HEAD / length)
    aside = QPointF(-along.y(), along.x()) * 0.55
    points: Sequence[QPointF] = (tip - along + aside, tip, tip - along - aside)
    return QPolygonF(list(points))
