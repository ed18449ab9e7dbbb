"""The picture of a memory plan as a widget: boxes are storages of planned memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPen
from PySide6.QtWidgets import QMenu

from viewer.arrays import Ints
from viewer.gui.panels.base.range_view import MOST_RINGS, BoxView, paint_label
from viewer.gui.panels.memory.answer import (
    ArenaAxis,
    MemoryAnswer,
    instruction_text,
    size_text,
    tip_lines,
)
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.model.text import bytes_text
from viewer.render.box_pictures import (
    NONE,
    ArenaBand,
    colored,
    draw_boxes,
    place_bands,
    place_boxes,
)
from viewer.render.layout import Canvas
from viewer.render.palette import Emphasis, Palette, Pixels, label_colors, rgb_table
from viewer.render.time_axis import XMap

_CAPTION = 15  # px above each band
_FIRST_CAPTION = 160  # px of width
_LEAST_BAND = 12  # px
_LEAST_LABEL = 26, 12  # px: a box with a label is at least so wide and high
_MOST_LABELS = 400
_INSET = 4  # px, from the side of a box to its label
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_NONE: Ints = np.empty(0, np.int64)


@has_role(QAccessible.Role.Graphic)
class ArenaView(BoxView):
    LEAST_SPAN = 3  # instructions or ticks
    _bands: Sequence[ArenaBand] = ()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Memory plan")
        self.marked = _NONE  # the selected storages
        self.related = _NONE  # those that the selected operators read
        self._answer: MemoryAnswer | None = None
        self._axis: ArenaAxis | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self.setMinimumSize(theme.px(120), self._least_height(1))

    # -- contents --------------------------------------------------------------------------------

    def show_answer(
        self, answer: MemoryAnswer | None, axis: ArenaAxis | None, colors: Palette
    ) -> None:
        """Show a plan on one of its axes. The range stays if it is the same axis."""
        stays = axis is not None and axis is self._axis
        self._answer, self._axis, self._colors = answer, axis, colors
        if not stays:
            self.marked = self.related = _NONE
        bands = 1 if answer is None else max(len(answer.bands), 1)
        self.setMinimumHeight(self._least_height(min(bands, 4)))
        self._show_anew(stays=stays)

    def mark(self, storages: Ints, related: Ints = _NONE) -> None:
        """Highlight storages, and more that are related to them, and bring the first into view."""
        self.marked, self.related = storages, related
        if len(storages):
            if self._chosen not in storages:
                self._chosen = int(storages[0])
            self._bring(self._chosen)
        self.viewport().update()

    @property
    def axis(self) -> ArenaAxis | None:
        return self._axis

    # -- range -----------------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return self._axis.length if self._axis is not None else 1

    @property
    def shown_range(self) -> tuple[int, int]:
        return self._range

    def zoom_to(self, box: int) -> None:
        """Show the time in which a storage is used, with some time around it."""
        if self._axis is None:
            return
        start, end = (int(edge[box]) for edge in (self._axis.boxes.start, self._axis.boxes.end))
        around = max((end - start) // 10, 1)
        self._show_from(start - around, end - start + 2 * around)

    def _bring(self, storage: int) -> None:
        """Show all if a storage is left or right of the range."""
        assert self._axis is not None
        boxes = self._axis.boxes
        if boxes.end[storage] <= self._range[0] or boxes.start[storage] >= self._range[1]:
            self.show_all()

    # -- mouse -----------------------------------------------------------------------------------

    def lines(self, box: int) -> Sequence[str]:
        return () if self._answer is None else tip_lines(self._answer, box)

    def _mark_chosen(self, box: int) -> None:
        self._chosen = box
        self.mark(np.array([box], np.int64))

    def _add_actions(self, menu: QMenu, box: int) -> None:
        menu.addAction("Zoom to this tensor", lambda: self.zoom_to(box))

    # -- keys ------------------------------------------------------------------------------------

    @property
    def _is_filled(self) -> bool:
        return self._answer is not None

    @property
    def _count(self) -> int:
        return 0 if self._answer is None else len(self._answer.plan.storages)

    def _next(self, key: Qt.Key) -> int:
        """Return the next storage in time, or the next one above or below in the same time."""
        assert self._answer is not None
        storages, now = self._answer.plan.storages, self._current
        if now < 0:
            return 0 if len(storages) else NONE
        if key in self.STEPS:
            return super()._next(key)  # they are ordered by their first instruction
        first, last, offset = storages.first, storages.last, storages.offset
        together = (first <= last[now]) & (last >= first[now])
        together &= storages.memory == storages.memory[now]
        is_up = key == Qt.Key.Key_Up
        beyond = np.flatnonzero(
            together & (offset > offset[now] if is_up else offset < offset[now])
        )
        if not len(beyond):
            return NONE
        offsets = offset[beyond]
        return int(beyond[np.argmin(offsets) if is_up else np.argmax(offsets)])

    # -- painting --------------------------------------------------------------------------------

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        return (self.related.tolist(), 1), ([self._hovered], 1), (self.marked.tolist(), 2)

    def _least_height(self, bands: int) -> int:
        """Return the height in px below which bands would end below the canvas."""
        return bands * self._theme.px(_CAPTION + 2 * _LEAST_BAND)

    def _xmap(self, canvas: Canvas) -> XMap:
        return XMap(*self._range, canvas.columns)

    def _draw(self, canvas: Canvas) -> Pixels:
        assert self._answer is not None
        assert self._axis is not None
        theme, answer = self._theme, self._answer
        self._bands = place_bands(
            [answer.size_of_band(i) for i in range(len(answer.bands))],
            0,
            canvas.lines - 1,
            canvas.device(theme.px(_CAPTION)),
            canvas.device(theme.px(_LEAST_BAND)),
        )
        self._boxes = place_boxes(self._axis.boxes, self._bands, self._xmap(canvas))
        self._numbers = draw_boxes(self._boxes, canvas.columns, canvas.lines)
        full, faint = rgb_table(theme.dark), rgb_table(theme.dark, Emphasis.DIMMED)
        fill = np.where(answer.is_at_peak, full[self._colors], faint[self._colors])
        pixels = colored(self._numbers, fill, theme.pixel("canvas"))
        for band in self._bands:
            for edge in (band.top - 1, band.top + band.lines):
                if 0 <= edge < len(pixels):
                    pixels[edge] = theme.pixel("hairline")
        return pixels

    def _paint_over(self, painter: QPainter, canvas: Canvas) -> None:
        assert self._answer is not None
        self._paint_captions(painter, canvas, self._answer)
        self._paint_peak_boxes(painter, self._answer)
        self._paint_labels(painter, canvas, self._answer)
        self._paint_peak(painter, canvas, self._answer)

    def _paint_captions(self, painter: QPainter, canvas: Canvas, answer: MemoryAnswer) -> None:
        theme, height = self._theme, self._theme.px(_CAPTION)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        for number, (memory, band) in enumerate(zip(answer.bands, self._bands, strict=True)):
            name = "Planned arena" if len(answer.bands) == 1 else f"Memory {memory}"
            place = QRectF(theme.px(_INSET), band.top / canvas.ratio - height, canvas.width, height)
            painter.drawText(place, _LEFT, f"{name}, {bytes_text(answer.size_of_band(number))}")

    def _paint_peak_boxes(self, painter: QPainter, answer: MemoryAnswer) -> None:
        painter.setPen(QPen(self._theme.color("ring", 0.75), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for room in map(self.room, answer.plan.at_peak[:MOST_RINGS].tolist()):
            if room is not None and min(room.width(), room.height()) >= 3:
                painter.drawRect(room.adjusted(0.5, 0.5, -1.5, -0.5))

    def _paint_labels(self, painter: QPainter, canvas: Canvas, answer: MemoryAnswer) -> None:
        boxes, labels, theme = self._boxes, self.labels, self._theme
        full, faint = (
            [QColor.fromRgb(ink) for ink in label_colors(theme.dark, emphasis)]
            for emphasis in (Emphasis.FULL, Emphasis.DIMMED)
        )
        painter.setFont(labels.font)
        inset = theme.px(_INSET)
        wide, high = (canvas.device(theme.px(side)) for side in _LEAST_LABEL)
        roomy = boxes.largest(wide, high)[:_MOST_LABELS]
        for place, storage in zip(roomy.tolist(), boxes.number[roomy].tolist(), strict=True):
            room = self.room(storage)
            if room is None or not self._is_visible(canvas, place, storage):
                continue
            inks = full if answer.is_at_peak[storage] else faint
            painter.setPen(inks[int(self._colors[storage])])
            corner = QPointF(inset, min((room.height() - labels.line_height) / 2, inset))
            paint_label(
                painter, labels, room.topLeft() + corner, room.width() - 2 * inset,
                answer.writers[storage].label, size_text(answer, storage),
            )  # fmt: skip

    def _is_visible(self, canvas: Canvas, place: int, storage: int) -> bool:
        """Return whether no smaller box is where the label would be."""
        px, boxes = self._theme.px, self._boxes
        y = min(int(boxes.top[place]) + canvas.device(px(8)), int(boxes.bottom[place]) - 1)
        x = int(boxes.left[place]) + canvas.device(px(_INSET))
        lines, columns = self._numbers.shape
        return 0 <= y < lines and x < columns and int(self._numbers[y, x]) == storage

    def _paint_peak(self, painter: QPainter, canvas: Canvas, answer: MemoryAnswer) -> None:
        """Paint a line at the instruction with the peak, and what it is in the first caption."""
        assert self._axis is not None
        if not self._range[0] <= self._axis.peak < self._range[1]:
            return
        theme, high = self._theme, self._theme.px(_CAPTION)
        x = self._xmap(canvas).column_of(self._axis.peak) / canvas.ratio + 0.5
        painter.setPen(QPen(theme.color("warning"), 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(x, high), QPointF(x, canvas.height))
        painter.setFont(theme.font("caption"))
        where = instruction_text(answer, answer.plan.peak_instruction)
        text = f"Peak {bytes_text(answer.plan.peak)} · {where}"
        first = theme.px(_FIRST_CAPTION)
        room = int(max(canvas.width - first, 60))
        text = elided_text(painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, room)
        width = painter.fontMetrics().horizontalAdvance(text) + 2
        left = max(min(max(x - width / 2, first), canvas.width - width), 0)
        painter.drawText(QRectF(left, 0, width, high), _LEFT, text)
