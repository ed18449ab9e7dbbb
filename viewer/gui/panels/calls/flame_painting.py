"""Paints a flame graph: rows as one image from the raster, then labels, and rings on top.

The image with its labels is kept while the mouse moves; only the rings are painted again. The cost
of both depends on the pixels, not on the nodes: a label needs `LABEL_WIDTH` px of its row. The
legend of a differential flame graph is here too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.analysis.comparison.comparison import Verdict
from viewer.arrays import Bools, Ints
from viewer.gui.panels.base.box_view import BoxPainter, image_of
from viewer.gui.panels.base.swatches import slice_color
from viewer.gui.panels.calls.texts import NodeTexts
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.render.axis.xmap import Axis, XMap
from viewer.render.canvas import Canvas
from viewer.render.flame_graph.boxes import flame_bands
from viewer.render.frames.frame import Backdrop, RasterSource, draw_frame
from viewer.render.layout import SLICE_TOP
from viewer.render.palette import (
    FASTER,
    SLAB,
    SLOWER,
    UNLINKED,
    Emphasis,
    canvas_rgb,
    cell_colors,
    label_colors,
)
from viewer.render.raster import LABEL_WIDTH, RowRaster
from viewer.reports.changed_calls import COLORS, MARKS

ROW = 18  # px
_INSET = 5  # px, from the side of a box to its label
_TIME_GAP = 6  # px, from the name to the time behind it
_MARK_GAP = 3  # px, from the mark of a change to the name
_LEAST_RING = 4  # px; a ring around a narrower box is this wide
_NO_GRID = np.empty(0, np.int64)

# The color of a box, the mark in it, and what both mean.
_LEGEND = (
    (SLOWER, MARKS[Verdict.SLOWER], "slower"),
    (FASTER, MARKS[Verdict.FASTER], "faster"),
    (SLAB, "", "no change or inconclusive"),
    (UNLINKED, "", "only in one arm"),
)
_LEGEND_BOX, _LEGEND_HEIGHT, _LEGEND_GAP, _LEGEND_BETWEEN = 22, 13, 6, 16  # px


def paint_hatching(painter: QPainter, rect: QRectF, theme: Theme) -> None:
    """Paint the hatching of boxes of one arm over their fill."""
    painter.save()
    painter.setOpacity(0.7)
    painter.fillRect(rect, QBrush(theme.color("text3"), Qt.BrushStyle.BDiagPattern))
    painter.restore()


class ChangeLegend(QWidget):
    """A line of boxes with their meanings."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Colors")
        self.setAccessibleDescription(COLORS)
        self.setToolTip(COLORS)

    @property
    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._theme.font("caption"))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px, metrics = self._theme.px, self._metrics
        each = (
            px(_LEGEND_BOX + _LEGEND_GAP) + metrics.horizontalAdvance(text)
            for _, _, text in _LEGEND
        )
        width = sum(each) + px(_LEGEND_BETWEEN) * (len(_LEGEND) - 1)
        return QSize(width, max(metrics.height(), px(_LEGEND_HEIGHT)) + 2)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, px, metrics, x = self._theme, self._theme.px, self._metrics, 0
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        for color, mark, text in _LEGEND:
            box = QRectF(
                x, (self.height() - px(_LEGEND_HEIGHT)) / 2, px(_LEGEND_BOX), px(_LEGEND_HEIGHT)
            )
            painter.fillRect(box, slice_color(color, theme))
            if color == UNLINKED:
                paint_hatching(painter, box, theme)
            if mark:
                painter.setPen(QColor.fromRgb(label_colors(theme.dark)[color]))
                painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), mark)
            x += px(_LEGEND_BOX + _LEGEND_GAP)
            width = metrics.horizontalAdvance(text)
            painter.setPen(theme.color("text2"))
            place = QRectF(x, 0, width + 2, self.height())
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)
            x += width + px(_LEGEND_BETWEEN)
        painter.end()


@dataclass(frozen=True, slots=True, eq=False)
class FlameFrame:
    """What a frame shows.

    t0, t1: the range of the axis in ticks. scroll: px above the upper edge. inside_from: rows above
    it are around the node that is zoomed to, and painted faint. hits: the boxes that a search
    found, None without a search.
    """

    texts: NodeTexts
    t0: int
    t1: int
    scroll: int
    inside_from: int
    hits: RowRaster | None

    def xmap(self, canvas: Canvas) -> XMap:
        """Return the map of the range to the columns of a canvas."""
        return XMap(self.t0, self.t1, canvas.columns)


class FlamePainter(BoxPainter[FlameFrame]):
    """Paints the nodes of call trees."""

    LEAST_RING = 0  # boxes are wide enough

    @property
    def row(self) -> int:
        """The height of a row in px."""
        return self._theme.px(ROW)

    def _image(self, frame: FlameFrame, canvas: Canvas) -> QImage:
        answer, dark = frame.texts.answer, self._theme.dark
        ground = canvas_rgb(dark) | 0xFF000000
        inside = Emphasis.FULL if frame.hits is None else Emphasis.UNMATCHED
        around = Emphasis.DIMMED if frame.hits is None else Emphasis.UNMATCHED
        sources = [
            RasterSource(
                answer.raster,
                Axis(),
                cell_colors(dark, emphasis),
                frame.hits,
                cell_colors(dark) if frame.hits is not None else None,
            )
            for emphasis in (around, inside)
        ]
        drawn = draw_frame(
            flame_bands(answer.layout.rows, self.row, frame.inside_from),
            frame.scroll,
            canvas.height,
            frame.xmap(canvas),
            sources,
            Backdrop(ground, ground, _NO_GRID),
            np.empty((canvas.lines, canvas.columns), np.uint32),
            canvas.ratio,
        )
        return image_of(drawn.image, canvas)

    def _paint_over(self, painter: QPainter, frame: FlameFrame, canvas: Canvas) -> None:
        texts, labels, row_height = frame.texts, self._labels, self.row
        answer = texts.answer
        first = frame.scroll // row_height
        last = min((frame.scroll + canvas.height) // row_height + 1, answer.layout.rows)
        rows = list(range(first, last))
        found = answer.raster.labels(rows, frame.xmap(canvas), canvas.device(LABEL_WIDTH))
        nodes = answer.layout.order[found.slice]
        colors = answer.color[nodes]
        inks = self._inks(frame)
        lit = self._is_lit(frame, found.slice)
        painter.setFont(labels.font)
        ink = None
        left, right = found.x0 / canvas.ratio, (found.x1 - 1) / canvas.ratio
        for position, node, x0, x1, color, bright in zip(
            found.position.tolist(), nodes.tolist(), left.tolist(), right.tolist(),
            colors.tolist(), lit.tolist(), strict=True,
        ):  # fmt: skip
            row = rows[position]
            top = row * row_height - frame.scroll + SLICE_TOP
            if texts.hatches and color == UNLINKED:
                box = QRectF(x0, top, x1 - x0, row_height - SLICE_TOP)
                paint_hatching(painter, box, self._theme)
            kind = 2 if bright else 0 if row < frame.inside_from else 1
            if inks[kind][color] is not ink:
                ink = inks[kind][color]
                painter.setPen(ink)
            y = top + (row_height - SLICE_TOP - labels.line_height) / 2
            self._paint_label(painter, texts, node, QRectF(x0, y, x1 - x0, 0))

    def _paint_label(self, painter: QPainter, texts: NodeTexts, node: int, place: QRectF) -> None:
        """Paint as much of mark, name and time of a node as fits into the width of a place."""
        labels, x = self._labels, place.left() + _INSET
        room = place.width() - 2 * _INSET
        mark = texts.mark(node)
        if mark and labels.width(mark) <= room:
            painter.drawText(QPointF(x, place.top() + labels.ascent), mark)
            x, room = x + labels.width(mark) + _MARK_GAP, room - labels.width(mark) - _MARK_GAP
        name = labels.fit(texts.name(node), room)
        if name is None:
            return
        painter.drawStaticText(QPointF(x, place.top()), name)
        used = labels.width(name.text()) + _TIME_GAP
        time = texts.box(node)
        if labels.width(time) <= room - used:
            whole = labels.fit(time, room)
            if whole is not None:
                painter.drawStaticText(QPointF(x + used, place.top()), whole)

    def _is_lit(self, frame: FlameFrame, places: Ints) -> Bools:
        """Return per place whether a search found its box."""
        hits = None if frame.hits is None else frame.hits.drawn.index
        if hits is None or not len(hits):
            return np.zeros(len(places), np.bool_)
        at = np.minimum(np.searchsorted(hits, places), len(hits) - 1)
        found: Bools = hits[at] == places
        return found

    def _inks(self, frame: FlameFrame) -> tuple[list[QColor], list[QColor], list[QColor]]:
        """Return the label colors by palette index: around, inside, and of hits."""
        searched = frame.hits is not None
        around, inside, hit = (
            [QColor.fromRgb(ink) for ink in label_colors(self._theme.dark, emphasis)]
            for emphasis in (
                Emphasis.UNMATCHED if searched else Emphasis.DIMMED,
                Emphasis.UNMATCHED if searched else Emphasis.FULL,
                Emphasis.FULL,
            )
        )
        return around, inside, hit

    def box(self, frame: FlameFrame, canvas: Canvas, box: int) -> QRectF | None:
        layout = frame.texts.answer.layout
        start, end = int(layout.start[box]), int(layout.end[box])
        if end < frame.t0 or start > frame.t1 or (end == frame.t0 and start < end):
            return None
        xmap = frame.xmap(canvas)
        edges = xmap.pixel_of(np.array([start, end])) / canvas.ratio
        left, right = float(edges[0]), float(edges[1])
        right = min(max(right - 1 / canvas.ratio, left + _LEAST_RING), canvas.width)
        left = min(left, right - _LEAST_RING)
        row = int(frame.texts.answer.table.depth[box])
        top = row * self.row - frame.scroll + SLICE_TOP
        return QRectF(left, top, right - left, self.row - SLICE_TOP)
