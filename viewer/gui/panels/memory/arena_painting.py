"""Paints a memory plan: live bytes as a curve, boxes of tensors below it, the peak across both.

The picture with its labels is kept while the mouse moves; only the rings are painted anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen

from viewer.gui.panels.base.box_view import MOST_RINGS, BoxPainter, image_of
from viewer.gui.panels.memory.answer import ArenaAxis, MemoryAnswer
from viewer.gui.panels.memory.contents import instruction_text, size_text
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.model.text import bytes_text
from viewer.model.times import (
    NARROW_SPACE,
    format_in,
    group_digits,
    nice_step,
    tick_to_ns,
    unit_for,
)
from viewer.render.axis.xmap import XMap
from viewer.render.boxes.arena import (
    ArenaBand,
    PlacedBoxes,
    draw_boxes,
    place_bands,
)
from viewer.render.boxes.arena import place_boxes as boxes_in_view
from viewer.render.canvas import Canvas
from viewer.render.frames.counter_raster import CounterColors, stamp
from viewer.render.palette import Emphasis, Palette, label_colors, rgb_table

_CAPTION = 15  # px above the curve and above each band
_LEAST_CURVE, _CURVE_PART, _MOST_CURVE = 22, 0.2, 60  # px, and a part of the height
_TICKS = 16  # px below the bands
_LEAST_BAND = 12  # px
_LEAST_LABEL = 26, 12  # px: a box with a label is at least so wide and high
_MOST_LABELS = 400
_INSET = 4  # px, from the side of a box to its label
_TICK_EVERY = 90  # px
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True, slots=True, eq=False)
class ArenaFrame:
    """What a frame shows. t0, t1: the range of the axis. colors: palette index per storage."""

    answer: MemoryAnswer
    axis: ArenaAxis
    t0: int
    t1: int
    colors: Palette

    def xmap(self, canvas: Canvas) -> XMap:
        """Return the map of the range to the columns of a canvas."""
        return XMap(self.t0, self.t1, canvas.columns)


class ArenaPainter(BoxPainter[ArenaFrame]):
    """Paints curve, boxes, labels and peak."""

    _bands: Sequence[ArenaBand] = ()

    def forget(self) -> None:
        super().forget()
        self._placed: PlacedBoxes | None = None

    # -- places ----------------------------------------------------------------------------------

    def curve(self, canvas: Canvas) -> tuple[int, int]:
        """Return the first line of the curve and its height, in px."""
        least, most = self._theme.px(_LEAST_CURVE), self._theme.px(_MOST_CURVE)
        return self._theme.px(_CAPTION), min(max(round(canvas.height * _CURVE_PART), least), most)

    def least_height(self, bands: int) -> int:
        """Return the height in px below which bands would end below the canvas."""
        px = self._theme.px
        return px(2 * _CAPTION + _LEAST_CURVE + _TICKS) + bands * px(_CAPTION + 2 * _LEAST_BAND)

    def box(self, frame: ArenaFrame, canvas: Canvas, box: int) -> QRectF | None:
        self.prepare(frame, canvas)
        assert self._placed is not None
        at, ratio = self._placed.place_of(box), canvas.ratio
        if at < 0:
            return None
        left, right, top, bottom = (
            int(edge[at]) / ratio
            for edge in (
                self._placed.left, self._placed.right, self._placed.top, self._placed.bottom,
            )
        )  # fmt: skip
        return QRectF(left, top, right - left, bottom - top)

    # -- painting --------------------------------------------------------------------------------

    def _paint_over(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        self._paint_captions(painter, frame, canvas)
        self._paint_peak_boxes(painter, frame, canvas)
        self._paint_labels(painter, frame, canvas)
        self._paint_ticks(painter, frame, canvas)
        self._paint_peak(painter, frame, canvas)

    def _place(self, frame: ArenaFrame, canvas: Canvas) -> None:
        px, answer = self._theme.px, frame.answer
        top, height = self.curve(canvas)
        self._bands = place_bands(
            [answer.size_of_band(i) for i in range(len(answer.bands))],
            canvas.device(top + height + 2),
            canvas.device(canvas.height - px(_TICKS)),
            canvas.device(px(_CAPTION)),
            canvas.device(px(_LEAST_BAND)),
        )
        self._placed = boxes_in_view(frame.axis.boxes, self._bands, frame.xmap(canvas))
        self._numbers = draw_boxes(self._placed, canvas.columns, canvas.lines)

    def _image(self, frame: ArenaFrame, canvas: Canvas) -> QImage:
        theme = self._theme
        ground = theme.pixel("canvas")
        full, faint = rgb_table(theme.dark), rgb_table(theme.dark, Emphasis.DIMMED)
        fill = np.where(frame.answer.is_at_peak, full[frame.colors], faint[frame.colors])
        # The last one is that of pixels without a box, whose number is -1.
        pixels = np.append(fill, np.uint32(ground)).astype(np.uint32)[self._numbers]
        area, peak, line, hairline = (
            theme.pixel(token)
            for token in ("counter_area", "counter_peak", "counter_line", "hairline")
        )
        top, height = (canvas.device(part) for part in self.curve(canvas))
        stamp(pixels, top, height, frame.axis.live, frame.xmap(canvas),
              CounterColors(area, peak, line, hairline))  # fmt: skip
        for band in self._bands:
            for edge in (band.top - 1, band.top + band.lines):
                if 0 <= edge < len(pixels):
                    pixels[edge] = hairline
        return image_of(pixels, canvas)

    def _paint_captions(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        theme, answer = self._theme, frame.answer
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        height = theme.px(_CAPTION)
        sizes = [answer.size_of_band(i) for i in range(len(answer.bands))]
        live = f"Live memory, at most {bytes_text(answer.plan.peak)}"
        painter.drawText(QRectF(theme.px(_INSET), 0, canvas.width, height), _LEFT, live)
        for memory, size, band in zip(answer.bands, sizes, self._bands, strict=True):
            name = "Planned arena" if len(sizes) == 1 else f"Memory {memory}"
            room = QRectF(theme.px(_INSET), band.top / canvas.ratio - height, canvas.width, height)
            painter.drawText(room, _LEFT, f"{name}, {bytes_text(size)}")

    def _paint_peak_boxes(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        painter.setPen(QPen(self._theme.color("ring", 0.75), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for storage in frame.answer.plan.at_peak[:MOST_RINGS].tolist():
            box = self.box(frame, canvas, storage)
            if box is not None and min(box.width(), box.height()) >= 3:
                painter.drawRect(box.adjusted(0.5, 0.5, -1.5, -0.5))

    def _paint_labels(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        assert self._placed is not None
        placed, labels, theme = self._placed, self._labels, self._theme
        wide, high = placed.right - placed.left, placed.bottom - placed.top
        least_width, least_height = (canvas.device(theme.px(part)) for part in _LEAST_LABEL)
        roomy = np.flatnonzero((wide >= least_width) & (high >= least_height))
        roomy = roomy[np.argsort(-(wide * high)[roomy], kind="stable")][:_MOST_LABELS]
        full, faint = (
            [QColor.fromRgb(ink) for ink in label_colors(theme.dark, emphasis)]
            for emphasis in (Emphasis.FULL, Emphasis.DIMMED)
        )
        painter.setFont(labels.font)
        inset = theme.px(_INSET)
        for at, storage in zip(roomy.tolist(), placed.number[roomy].tolist(), strict=True):
            left, top = placed.left[at] / canvas.ratio, placed.top[at] / canvas.ratio
            room = wide[at] / canvas.ratio - 2 * inset
            tall = high[at] / canvas.ratio
            if not self._is_visible(canvas, placed, at, storage):
                continue
            text = labels.fit(frame.answer.writers[storage].label, room)
            if text is None:
                continue
            inks = full if frame.answer.is_at_peak[storage] else faint
            painter.setPen(inks[int(frame.colors[storage])])
            y = top + min((tall - labels.line_height) / 2, inset)
            painter.drawStaticText(QPointF(left + inset, y), text)
            used = labels.width(text.text()) + 2 * inset
            size = size_text(frame.answer, storage)
            if labels.width(size) <= room - used and (whole := labels.fit(size, room)):
                painter.drawStaticText(QPointF(left + inset + used, y), whole)

    def _is_visible(self, canvas: Canvas, placed: PlacedBoxes, at: int, storage: int) -> bool:
        """Return whether no smaller box is where the label would be."""
        y = min(int(placed.top[at]) + canvas.device(self._theme.px(8)), int(placed.bottom[at]) - 1)
        x = int(placed.left[at]) + canvas.device(self._theme.px(_INSET))
        lines, columns = self._numbers.shape
        return 0 <= y < lines and x < columns and int(self._numbers[y, x]) == storage

    def _paint_ticks(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        theme = self._theme
        height = theme.px(_TICKS)
        span = frame.t1 - frame.t0
        least = -(-span * theme.px(_TICK_EVERY) // canvas.width)
        rate = None if frame.axis.times is None else frame.answer.question.shown
        if rate is None:
            step, unit, factor = nice_step(least)[0], "", 1
            positions = [
                (t, group_digits(t)) for t in range(-(-frame.t0 // step) * step, frame.t1, step)
            ]
        else:
            ns_per_tick = rate.axis.ns_per_tick
            t0, t1 = (tick_to_ns(t, ns_per_tick) for t in (frame.t0, frame.t1))
            step = nice_step(max(-(-(t1 - t0) * theme.px(_TICK_EVERY) // canvas.width), 1))[0]
            unit, factor = unit_for(t1)
            decimals = next((d for d in range(10) if step * 10**d % factor == 0), 9)
            positions = [
                (int(ns / ns_per_tick), format_in(ns, factor, decimals) if ns else "0")
                for ns in range(-(-t0 // step) * step, t1, step)
            ]
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        name = f"{NARROW_SPACE}{unit}" if unit else ""
        xmap, y = frame.xmap(canvas), canvas.height - height
        for number, (t, text) in enumerate(positions):
            x = xmap.column_of(t) / canvas.ratio
            shown = f"instruction {text}" if not unit and number == 0 else f"{text}{name}"
            width = QFontMetricsF(painter.font()).horizontalAdvance(shown)
            if x + width + 6 < canvas.width:
                painter.drawText(QRectF(x + 4, y, width + 2, height), _LEFT, shown)
                painter.fillRect(QRectF(x, y + 2, 1, height - 4), theme.color("line"))

    def _paint_peak(self, painter: QPainter, frame: ArenaFrame, canvas: Canvas) -> None:
        """Paint a line at the peak with a label at its top."""
        theme, peak, answer = self._theme, frame.axis.peak, frame.answer
        if not frame.t0 <= peak < frame.t1:
            return
        x = frame.xmap(canvas).column_of(peak) / canvas.ratio + 0.5
        pen = QPen(theme.color("warning"), 1, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        caption = theme.px(_CAPTION)
        painter.drawLine(QPointF(x, caption), QPointF(x, canvas.height - theme.px(_TICKS)))
        painter.setFont(theme.font("caption"))
        where = instruction_text(answer, answer.plan.peak_instruction)
        text = f"Peak {bytes_text(answer.plan.peak)} · {where}"
        metrics = QFontMetricsF(painter.font())
        room = max(canvas.width - theme.px(170), 60)
        text = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, int(room))
        width = metrics.horizontalAdvance(text) + 2 * theme.px(6)
        left = min(max(x - width / 2, theme.px(160)), canvas.width - width)
        chip = QRectF(left, 0, width, caption)
        painter.fillRect(chip, theme.color("raised"))
        painter.setPen(theme.color("warning"))
        painter.drawText(chip, _CENTER, text)
