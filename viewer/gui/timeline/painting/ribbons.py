"""Ribbons from the changed slices of arm A to those of arm B, and labels with the changes on them.

A ribbon leaves a slice of A at its lower edge, crosses the band between the strips, and ends at the
upper edge of its slice of B. Each widget paints the part of it that crosses the widget. There are
at most 200, and only those in view are painted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from viewer.analysis.comparison.comparison import Compared, Verdict
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.verdict_marks import SIDE, change_color, paint_mark
from viewer.gui.timeline.scene.changed_pairs import PairedSpans
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import MINUS, format_briefly
from viewer.render.canvas import Canvas
from viewer.view.state import SliceRef

_FILL = 0.2
_LABEL = 18  # px, height
_INSET, _GAP = 7, 5
_FAR = 16_000.0  # px; Qt draws lines from farther away slowly


@dataclass(frozen=True, slots=True)
class RibbonLabel:
    """The label of a ribbon: its place in px, and the row of the comparison."""

    room: QRectF
    row: int


class RibbonPainter:
    """Paints the ribbons between the scenes of two strips, which have the same columns."""

    def __init__(self, above: Scene, below: Scene, theme: Theme) -> None:
        self._scenes = above, below
        self._theme = theme
        self.labels: list[RibbonLabel] = []  # as painted last, largest changes first

    def paint_band(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint all ribbons across a band as high as the canvas, and their labels."""
        self.labels = []
        marks = self._scenes[0].drawings.compared_marks
        pairs, found = marks.found.pairs, marks.comparison
        if pairs is None or found is None:
            return
        both = zip(pairs.arms, self._scenes, strict=True)
        ends = [edges_of(arm, scene, canvas) for arm, scene in both]
        left, right = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
        in_view = np.flatnonzero((right >= 0) & (left < canvas.width))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for i in in_view[::-1].tolist():
            verdict = found.rows[int(pairs.row[i])][1].verdict
            (a0, a1), (b0, b1) = ((float(x0[i]), float(x1[i])) for x0, x1 in ends)
            sides = QLineF(a0, 0, b0, canvas.height), QLineF(a1, 0, b1, canvas.height)
            paint_ribbon(painter, sides, verdict, self._theme)
        named = in_view[pairs.is_named[in_view]]
        sides_half_way = [(a + b)[named] / 2 for a, b in zip(*ends, strict=True)]
        middle = np.clip(sides_half_way, 0, canvas.width).mean(axis=0)
        for row, x in zip(pairs.row[named].tolist(), middle.tolist(), strict=True):
            self._add_label(row, found.rows[row][1], x, canvas)
        for label in self.labels:
            self._paint_label(painter, label, found.rows[label.row][1])
        painter.restore()

    def row_at(self, position: QPointF) -> int:
        """The row of the label at a point of the band, -1 without one."""
        return next((one.row for one in self.labels if one.room.contains(position)), -1)

    def _add_label(self, row: int, one: Compared, middle: float, canvas: Canvas) -> None:
        """Place the label of a row in the middle of its ribbon, unless another one is there."""
        theme = self._theme
        tall, side = min(theme.px(_LABEL), canvas.height - 2), theme.px(SIDE)
        wide = theme.texts("caption").width(_change(one)) + side + _GAP + 2 * _INSET
        left = min(max(middle - wide / 2, 1.0), canvas.width - wide - 1.0)
        room = QRectF(round(left), (canvas.height - tall) // 2, wide, tall)
        if left >= 0 and not any(room.intersects(other.room) for other in self.labels):
            self.labels.append(RibbonLabel(room, row))

    def _paint_label(self, painter: QPainter, label: RibbonLabel, one: Compared) -> None:
        theme, room = self._theme, label.room
        color = change_color(one.verdict.value, theme)
        painter.setPen(QPen(color, 1))
        painter.setBrush(theme.color(f"{one.verdict.value}_row"))
        round_ = room.height() / 2
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), round_, round_)
        side = theme.px(SIDE)
        center = QPointF(room.left() + _INSET + side / 2, room.center().y())
        paint_mark(painter, center, one.verdict.value, theme)
        painter.setFont(theme.font("caption"))
        painter.setPen(color)
        texts, text = theme.texts("caption"), _change(one)
        x = room.left() + _INSET + side + _GAP
        texts.draw(painter, x, room.top(), room.height(), text)


def paint_tails(
    painter: QPainter, scene: Scene, canvas: Canvas, theme: Theme, *, is_b: bool, top: float = 0.0
) -> None:
    """Paint the parts of the ribbons between their slices in a strip and the edge of a canvas.

    top: the y of the rows of the strip on that canvas, which is not 0 below the rows.
    """
    marks = scene.drawings.compared_marks
    pairs, found = marks.found.pairs, marks.comparison
    if pairs is None or found is None:
        return
    arm = pairs.arms[is_b]
    x0, x1 = edges_of(arm, scene, canvas)
    in_view = np.flatnonzero((x1 >= 0) & (x0 < canvas.width))
    for i in in_view[::-1].tolist():
        band = scene.band_of(SliceRef(arm.trace, int(arm.slice[i])))
        if band < 0:
            continue
        y = top + int(scene.layout.y[band]) - scene.scroll
        if is_b:
            y0, y1 = 0.0, y
        else:
            y0, y1 = max(y + int(scene.layout.height[band]), 0), canvas.height
        if y1 > y0:
            left, right = float(x0[i]), float(x1[i])
            sides = QLineF(left, y0, left, y1), QLineF(right, y0, right, y1)
            paint_ribbon(painter, sides, found.rows[int(pairs.row[i])][1].verdict, theme)


def paint_ribbon(
    painter: QPainter, sides: tuple[QLineF, QLineF], verdict: Verdict, theme: Theme
) -> None:
    """Fill the area between two lines, and draw the lines."""
    left, right = sides
    path = QPainterPath(left.p1())
    for corner in (left.p2(), right.p2(), right.p1()):
        path.lineTo(corner)
    color = change_color(verdict.value, theme)
    fill = QColor(color)
    fill.setAlphaF(_FILL)
    painter.fillPath(path, fill)
    painter.setPen(QPen(color, 1))
    painter.drawLine(left)
    painter.drawLine(right)


def edges_of(
    arm: PairedSpans, scene: Scene, canvas: Canvas
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the left and right x of the spans of an arm in logical px, far ones clipped."""
    here = scene.xmap(canvas.columns).on(scene.rasters[arm.trace].shown.axis)
    ends = [
        np.clip(np.floor(here.x_of(ticks)) / canvas.ratio, -_FAR, _FAR)
        for ticks in (arm.start, arm.end)
    ]
    return ends[0], np.maximum(ends[1], ends[0] + 1)


def _change(one: Compared) -> str:
    sign = "+" if one.change_ns >= 0 else MINUS
    return f"{sign}{format_briefly(abs(one.change_ns))}"
