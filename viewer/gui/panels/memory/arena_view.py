"""The picture of a memory plan as a widget: boxes are storages of planned memory.

A click chooses a tensor; a double click or Enter zooms to the instructions that use it; Escape
shows all again. Ctrl+wheel zooms toward the mouse, and dragging pans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QMenu

from viewer.arrays import Ints
from viewer.gui.panels.base.box_view import PaintedBoxView
from viewer.gui.panels.memory.answer import ArenaAxis, MemoryAnswer
from viewer.gui.panels.memory.arena_painting import ArenaFrame, ArenaPainter
from viewer.gui.panels.memory.contents import instruction_text, tip_lines
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.theme.theme import Theme
from viewer.model.text import bytes_text
from viewer.render.palette import Palette

_NONE: Ints = np.empty(0, np.int64)


@has_role(QAccessible.Role.Graphic)
class ArenaView(PaintedBoxView[ArenaFrame]):
    """Shows the storages of one answer."""

    LEAST_SPAN = 3  # instructions or ticks
    _painter: ArenaPainter

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Memory plan")
        self._painter = ArenaPainter(theme)
        self.marked = _NONE  # the selected storages
        self.related = _NONE  # those that the selected operators read
        self._chosen = -1  # where arrow keys start
        self._answer: MemoryAnswer | None = None
        self._axis: ArenaAxis | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(theme.px(120), self._painter.least_height(1))

    # -- contents --------------------------------------------------------------------------------

    def show_answer(
        self, answer: MemoryAnswer | None, axis: ArenaAxis | None, colors: Palette
    ) -> None:
        """Show a plan on one of its axes. The range stays if it is the same axis."""
        stays = axis is not None and axis is self._axis
        self._answer, self._axis, self._colors = answer, axis, colors
        if answer is None:
            self._painter.forget()
        if not stays:
            self.marked = self.related = _NONE
            self._hovered = self._chosen = -1
            self.tip.show_lines((), QPoint())
            self._range = 0, self._length
        bands = 1 if answer is None else max(len(answer.bands), 1)
        self.setMinimumHeight(self._painter.least_height(min(bands, 4)))
        self._changed()

    def mark(self, storages: Ints, related: Ints = _NONE) -> None:
        """Highlight storages, and more that are related to them, and bring the first into view."""
        self.marked, self.related = storages, related
        if len(storages):
            if self._chosen not in storages:
                self._chosen = int(storages[0])
            self._bring(self._chosen)
        self.viewport().update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the selected storage."""
        if self._answer is None or self._chosen < 0:
            return ""
        return ", ".join(tip_lines(self._answer, self._chosen))

    @property
    def axis(self) -> ArenaAxis | None:
        """The axis that is shown."""
        return self._axis

    @property
    def _frame(self) -> ArenaFrame | None:
        if self._answer is None or self._axis is None:
            return None
        return ArenaFrame(self._answer, self._axis, *self._range, self._colors)

    # -- range -----------------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return self._axis.length if self._axis is not None else 1

    @property
    def shown_range(self) -> tuple[int, int]:
        """The range of the axis that is shown."""
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

    def _lines_at(self, at: QPointF, box: int) -> Sequence[str]:
        if box >= 0 and self._answer is not None:
            return tip_lines(self._answer, box)
        return self._curve_lines(at)

    def _mark_chosen(self, box: int) -> None:
        self._chosen = box
        self.mark(np.array([box], np.int64))

    def _add_actions(self, menu: QMenu, box: int) -> None:
        menu.addAction("Zoom to this tensor", lambda: self.zoom_to(box))

    def _curve_lines(self, at: QPointF) -> tuple[str, ...]:
        """Return the lines about the curve at a point: the instruction and its bytes in use."""
        frame, canvas = self._frame, self._canvas
        top, height = self._painter.curve(canvas)
        if frame is None or not top <= at.y() < top + height:
            return ()
        instruction = self.instruction_at(at.x())
        live = frame.answer.plan.live
        if not 0 <= instruction < len(live):
            return ()
        text = instruction_text(frame.answer, instruction)
        size = int(live[instruction])
        return f"{text[:1].upper()}{text[1:]}", f"{bytes_text(size)} of planned memory in use"

    def instruction_at(self, x: float) -> int:
        """Return the instruction at an x of the canvas, -1 before the first one."""
        frame = self._frame
        if frame is None:
            return -1
        t = frame.xmap(self._canvas).t_of(self._canvas.column(x))
        if frame.axis.times is None:
            return t
        times = frame.axis.times
        at = int(np.searchsorted(times.tick - times.run.start, t, side="right")) - 1
        return int(times.number[at]) if at >= 0 else -1

    # -- keys ------------------------------------------------------------------------------------

    @property
    def _current(self) -> int:
        return self._chosen

    @property
    def _is_filled(self) -> bool:
        return self._answer is not None

    def _step(self, key: Qt.Key) -> None:
        """Choose the next storage in time, or the next one above or below in the same time."""
        assert self._answer is not None
        own, now = self._answer.plan.storages, self._current
        if not len(own):
            return
        if now < 0:
            self._choose(0)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 1 if key == Qt.Key.Key_Right else -1
            if 0 <= now + step < len(own):
                self._choose(now + step)  # they are ordered by their first instruction
        else:
            together = (own.first <= own.last[now]) & (own.last >= own.first[now])
            together &= own.memory == own.memory[now]
            is_up = key == Qt.Key.Key_Up
            beyond = own.offset > own.offset[now] if is_up else own.offset < own.offset[now]
            some = np.flatnonzero(together & beyond)
            if len(some):
                offsets = own.offset[some]
                self._choose(int(some[np.argmin(offsets) if is_up else np.argmax(offsets)]))

    # -- painting --------------------------------------------------------------------------------

    def _rings(self, frame: ArenaFrame) -> Iterable[tuple[Sequence[int], int]]:
        hovered = [self._hovered] if self._hovered >= 0 else []
        return (self.related.tolist(), 1), (hovered, 1), (self.marked.tolist(), 2)
