"""The picture of a memory plan as a widget: hover, click, zoom and keys.

A click chooses a tensor; a double click or Enter zooms to the instructions that use it; Escape
shows all again. Ctrl+wheel zooms toward the mouse, and dragging pans.
"""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QMenu

from viewer.arrays import Ints
from viewer.gui.panels.memory.answer import ArenaAxis, MemoryAnswer
from viewer.gui.panels.memory.arena_painting import ArenaFrame, ArenaPainter
from viewer.gui.panels.memory.contents import instruction_text, tip_lines
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.wheel import ZOOM_PER_NOTCH, turn_of
from viewer.gui.qt.widgets.hover_tip import HoverTip
from viewer.model.text import bytes_text
from viewer.render.canvas import Canvas
from viewer.render.palette import Palette

_KEY_STEP = 1.5
_LEAST_SPAN = 3  # instructions or ticks
_MOVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ZOOMS = {
    Qt.Key.Key_Plus: _KEY_STEP, Qt.Key.Key_Equal: _KEY_STEP, Qt.Key.Key_Minus: 1 / _KEY_STEP,
}  # fmt: skip
_ELSEWHERE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
_NONE: Ints = np.empty(0, np.int64)


@has_role(QAccessible.Role.Graphic)
class ArenaView(QAbstractScrollArea):
    """Shows the storages of one answer.

    `chosen(storage)`: a click or an arrow key. `range_changed()`: it was zoomed or panned.
    `menu_offered(menu)`: its context menu is about to open.
    """

    chosen = Signal(int)
    range_changed = Signal()
    menu_offered = Signal(QMenu)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._painter = ArenaPainter(theme)
        self.tip = HoverTip(self, theme)
        self.opacity = 1.0
        self.marked = _NONE  # the selected storages
        self.related = _NONE  # those that the selected operators read
        self._current = -1  # where arrow keys start
        self._hovered = -1
        self._answer: MemoryAnswer | None = None
        self._axis: ArenaAxis | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self._range = (0, 1)
        self._pressed: QPointF | None = None
        self._drags = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Memory plan")
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
            self._hovered = self._current = -1
            self.tip.show_lines((), QPoint())
            self._range = self._whole
        bands = 1 if answer is None else max(len(answer.bands), 1)
        self.setMinimumHeight(self._painter.least_height(min(bands, 4)))
        self._changed()

    def mark(self, storages: Ints, related: Ints = _NONE) -> None:
        """Highlight storages, and more that are related to them, and bring the first into view."""
        self.marked, self.related = storages, related
        if len(storages):
            if self._current not in storages:
                self._current = int(storages[0])
            self._bring(self._current)
        self.viewport().update()

    def retheme(self) -> None:
        """Paint anew after the theme changed."""
        self._painter.retheme()
        self.viewport().update()

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the selected storage."""
        if self._answer is None or self._current < 0:
            return ""
        return ", ".join(tip_lines(self._answer, self._current))

    @property
    def axis(self) -> ArenaAxis | None:
        """The axis that is shown."""
        return self._axis

    @property
    def _canvas(self) -> Canvas:
        port = self.viewport()
        return Canvas(max(port.width(), 1), max(port.height(), 1), port.devicePixelRatioF())

    @property
    def _frame(self) -> ArenaFrame | None:
        if self._answer is None or self._axis is None:
            return None
        return ArenaFrame(self._answer, self._axis, *self._range, self._colors)

    # -- range -----------------------------------------------------------------------------------

    @property
    def _whole(self) -> tuple[int, int]:
        return 0, self._axis.length if self._axis is not None else 1

    @property
    def shown_range(self) -> tuple[int, int]:
        """The range of the axis that is shown."""
        return self._range

    @property
    def shows_all(self) -> bool:
        """Whether the whole axis is shown."""
        return self._range == self._whole

    def show_all(self) -> None:
        """Show the whole axis again."""
        self._range = self._whole
        self._changed()

    def zoom_to(self, storage: int) -> None:
        """Show the time in which a storage is used, with some time around it."""
        if self._axis is None:
            return
        start, end = (int(edge[storage]) for edge in (self._axis.boxes.start, self._axis.boxes.end))
        around = max((end - start) // 10, 1)
        self._show_from(start - around, end - start + 2 * around)

    def zoom(self, factor: float, x: float | None = None) -> None:
        """Zoom and keep one x of the canvas in place, or its center."""
        part = 0.5 if x is None else min(max(x / self._canvas.width, 0.0), 1.0)
        t0, t1 = self._range
        span = round((t1 - t0) / factor)
        if factor < 1:
            span = max(span, t1 - t0 + 1)
        self._show_from(round(t0 + (t1 - t0 - span) * part), span)

    def _show_from(self, t0: int, span: int) -> None:
        whole = self._whole[1]
        span = min(max(span, _LEAST_SPAN), whole)
        t0 = min(max(t0, 0), whole - span)
        if (t0, t0 + span) != self._range:
            self._range = t0, t0 + span
            self._changed()

    def _pan(self, pixels: float) -> None:
        t0, t1 = self._range
        self._show_from(t0 - round(pixels * (t1 - t0) / self._canvas.width), t1 - t0)

    def _bring(self, storage: int) -> None:
        """Show all if a storage is left or right of the range."""
        assert self._axis is not None
        boxes = self._axis.boxes
        if boxes.end[storage] <= self._range[0] or boxes.start[storage] >= self._range[1]:
            self.show_all()

    def _changed(self) -> None:
        self.viewport().update()
        self.range_changed.emit()

    # -- mouse -----------------------------------------------------------------------------------

    def storage_at(self, at: QPointF) -> int:
        """Return the storage at a point of the canvas, -1 for none."""
        frame = self._frame
        return -1 if frame is None else self._painter.number_at(frame, self._canvas, at)

    def center_of(self, storage: int) -> QPoint:
        """Return the middle of a box in px of the canvas."""
        frame = self._frame
        box = None if frame is None else self._painter.box(frame, self._canvas, storage)
        return QPoint() if box is None else box.center().toPoint()

    def _point(self, at: QPointF | None) -> None:
        """Show the tip and the ring of what is at a point; None: the mouse left."""
        storage = -1 if at is None else self.storage_at(at)
        lines: tuple[str, ...] = ()
        if storage >= 0 and self._answer is not None:
            lines = tip_lines(self._answer, storage)
        elif at is not None:
            lines = self._curve_lines(at)
        self.tip.show_lines(lines, QPoint() if at is None else at.toPoint())
        if storage != self._hovered:
            self._hovered = storage
            self.viewport().update()

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

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._drags = event.position(), False

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            self._point(event.position())
            return
        moved = event.position() - self._pressed
        if self._drags or moved.manhattanLength() >= QApplication.startDragDistance():
            self._drags = True
            self._point(None)
            self._pan(moved.x())
            self._pressed = event.position()

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_click = self._pressed is not None and not self._drags
        self._pressed, self._drags = None, False
        storage = self.storage_at(event.position())
        if was_click and event.button() == Qt.MouseButton.LeftButton and storage >= 0:
            self._choose(storage)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pressed = None
        storage = self.storage_at(event.position())
        if storage >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.zoom_to(storage)

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        turn = turn_of(event)
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(ZOOM_PER_NOTCH**turn.notches, event.position().x())
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or turn.is_sideways:
            self._pan(turn.along)
        else:
            event.ignore()
            return
        self._point(event.position())
        event.accept()

    @guard(False)
    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._point(None)
        return bool(super().viewportEvent(event))

    @guard
    def hideEvent(self, event: QHideEvent) -> None:
        self._point(None)  # the tip belongs to the window

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        at = event.pos()
        storage = self.storage_at(QPointF(at)) if by_mouse else self._current
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if storage >= 0:
            self._choose(storage)
            menu.addAction("Zoom to this tensor", lambda: self.zoom_to(storage))
            at = at if by_mouse else self.center_of(storage)
        if not self.shows_all:
            menu.addAction("Reset zoom", self.show_all)
        self.menu_offered.emit(menu)
        self._point(None)
        menu.popup(self.viewport().mapToGlobal(at))

    # -- keys ------------------------------------------------------------------------------------

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Handle the picture's own keys before shortcuts."""
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_shortcut and self._is_own(event):  # type: ignore[arg-type]
            event.accept()
            return True
        return bool(super().event(event))

    def _is_own(self, event: QKeyEvent) -> bool:
        key = Qt.Key(event.key())
        if event.modifiers() & _ELSEWHERE or self._answer is None:
            return False
        if key == Qt.Key.Key_Escape:
            return not self.shows_all
        return key in _MOVES or key in _ENTER or key in _ZOOMS or key == Qt.Key.Key_0

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._is_own(event):
            event.ignore()
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_0):
            self.show_all()
        elif key in _ZOOMS:
            self.zoom(_ZOOMS[key])
        elif key in _MOVES:
            self._step(key)
        elif self._current >= 0:
            self.zoom_to(self._current)

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

    def _choose(self, storage: int) -> None:
        self._current = storage
        self.mark(np.array([storage], np.int64))
        if self.hasFocus() and QAccessible.isActive():
            event = QAccessibleAnnouncementEvent(self, self.accessible_value())
            QAccessible.updateAccessibility(event)
        self.chosen.emit(storage)

    # -- painting --------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, frame, canvas = QPainter(self.viewport()), self._frame, self._canvas
        painter.fillRect(self.viewport().rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if frame is not None:
            self._painter.paint(painter, frame, canvas)
            self._painter.paint_rings(painter, frame, canvas, self.related, width=1)
            if self._hovered >= 0:
                hovered = np.array([self._hovered], np.int64)
                self._painter.paint_rings(painter, frame, canvas, hovered, width=1)
            self._painter.paint_rings(painter, frame, canvas, self.marked, width=2)
        painter.end()
