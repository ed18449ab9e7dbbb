"""The canvas of the timeline: mouse, wheel and keyboard input, held keys, and the visible range.

It uses three coordinate spaces. *Time* is in whole ns of the axis of the strip's clock. *Columns*
are pixels of the canvas; only `XMap` converts between time and columns. *Lines* are pixels of the
content, which the scene scrolls. Frames are painted on the viewport itself: an item of a graphics
scene takes longer, and its floats hold ns only near zero.

A held key zooms, pans or scrolls faster and faster. The distance depends only on how long it is
held, not on the number of events or frames. `traveled` gives the speed of Perfetto's timeline,
integrated: 8 px or 0.8 % per frame at first, and as much again every 50 ms. Perfetto continues
after the release; that is omitted here, because the view would lag behind the hand.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from enum import Enum
from fractions import Fraction
from typing import cast

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    QPoint,
    QPointF,
    QRect,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleEvent,
    QContextMenuEvent,
    QEnterEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.dataclasses import dataclass
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.canvases import (
    BOTH,
    ZOOM_PER_NOTCH,
    GraphicsView,
    HoverTip,
    keep_menu_closed,
    turn_of,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session import navigation
from viewer.gui.session.choices import toggle_part
from viewer.gui.session.selection import extend_to, toggle_slice
from viewer.gui.timeline.painting.frame import FramePainter, Overlay, RestFrame
from viewer.gui.timeline.scene.scene import Scene, grow_rows
from viewer.gui.timeline.scene.texts import counter_tip, plan_at, plan_tip, slice_at, slice_lines
from viewer.model.times import format_span
from viewer.render.arrangement import shown_parts
from viewer.render.layout import BandKind, Canvas
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Area, SliceRef

STEP_MS = 8
FRAME_MS = 1000 / 60  # duration of the frame that speeds refer to
ACCELERATION = 1 / 50  # per ms, relative to the initial speed
# Longer steps are cut to this, since the key may have been released while the program was blocked.
LONGEST_STEP_MS = 100.0
# X11 sends a release for every repeat of a held key, and under load it can look like a real one.
# Repeats start only after a delay, and nobody presses a key again this soon after holding it.
REPEATS_AFTER_MS = 200.0
REPEAT_MS = 60.0


class HeldAxis(Enum):
    """What a key moves; the value is (first step, initial speed per frame).

    Pan and scroll are in px. Zoom is the natural logarithm of the factor by which the span grows.
    """

    ZOOM = (0.09531, 0.008)  # ln 1.1
    PAN = (50.0, 8.0)
    SCROLL = (60.0, 8.0)


@dataclass(frozen=True, slots=True)
class HeldWay:
    """An axis and a direction; sign 1 means later, further down, or zoomed out."""

    axis: HeldAxis
    sign: int

    @property
    def first_step(self) -> float:
        """The signed distance of the first step."""
        return self.sign * self.axis.value[0]


def traveled(ms: float) -> float:
    """Distance after holding a key for `ms`, in units of its initial speed per frame."""
    return (ms + ACCELERATION * ms * ms / 2) / FRAME_MS


class HeldKeys(QObject):
    """Emits `moved` (a `HeldAxis`, the distance, the time in s) as long as keys are down.

    While a key is held, it filters the events of the whole application, so it sees the release
    wherever it goes, and anything that takes the keyboard focus away. `clock` returns the time in
    s.
    """

    moved = Signal(object, float, float)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.clock: Callable[[], float] = time.monotonic
        self._held: dict[Qt.Key, _Hold] = {}
        self._let_go: dict[Qt.Key, tuple[_Hold, float]] = {}  # with the time of release in s
        self._timer = QTimer(self, interval=STEP_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.step)

    @property
    def is_moving(self) -> bool:
        """Whether any key is held."""
        return bool(self._held)

    def tap(self, way: HeldWay) -> None:
        """Move by one step."""
        self.moved.emit(way.axis, way.first_step, self.clock())

    def press(self, key: Qt.Key, way: HeldWay) -> None:
        """Handle a key press: move one step, and keep moving until the release."""
        if key in self._held:
            return
        if not self._held:
            self._watch(True)
        now = self.clock()
        hold, when = self._let_go.pop(key, (None, now))
        self._timer.start()
        if hold is not None and hold.goes_on(way, when, now):
            self._held[key] = hold
        else:
            self._held[key] = _Hold(way, now)
            self.tap(way)

    def release(self, key: Qt.Key) -> None:
        """Handle a key release."""
        released = {key} if _keeps_its_name(key) else set(self._held)
        for name in released & self._held.keys():
            self._let_go[name] = self._held.pop(name), self.clock()
        if not self._held:
            self._stop()

    def release_all(self) -> None:
        """Stop moving when no release events will arrive."""
        self._held.clear()
        self._let_go.clear()
        self._stop()

    def _stop(self) -> None:
        self._timer.stop()
        self._watch(False)

    def step(self) -> None:
        """Move each held key's axis to its current distance."""
        now = self.clock()
        for hold in list(self._held.values()):
            distance = hold.go_to(now)
            self.moved.emit(hold.way.axis, distance, now)

    def _watch(self, watched: bool) -> None:
        if (app := QCoreApplication.instance()) is not None:
            app.removeEventFilter(self)
            if watched:
                app.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Detect key releases, and events after which none will arrive."""
        kind = event.type()
        if kind == QEvent.Type.KeyRelease and isinstance(event, QKeyEvent):
            if not event.isAutoRepeat():
                self.release(Qt.Key(event.key()))
        elif kind in _LEAVING:
            self.release_all()
        return False


_LEAVING = {
    QEvent.Type.FocusOut, QEvent.Type.WindowDeactivate, QEvent.Type.WindowBlocked,
    QEvent.Type.ApplicationStateChange,
}  # fmt: skip


@dataclass(slots=True)
class _Hold:
    """A held key: start of its motion in s (later if steps were cut), and distance so far."""

    way: HeldWay
    since: float
    last: float = 0.0
    far: float = 0.0

    def go_to(self, now: float) -> float:
        """The signed distance from the last position, which is updated."""
        ms = (now - self.since) * 1000
        late = max(ms - self.last - LONGEST_STEP_MS, 0.0)
        self.since += late / 1000
        self.last = max(ms - late, self.last)
        far = traveled(self.last)
        moved, self.far = far - self.far, far
        return self.way.sign * moved * float(self.way.axis.value[1])

    def goes_on(self, way: HeldWay, let_go: float, now: float) -> bool:
        """Whether a press at `now` is only a repeat of this key, released at `let_go`."""
        long_enough = (let_go - self.since) * 1000 >= REPEATS_AFTER_MS
        return long_enough and self.way == way and (now - let_go) * 1000 < REPEAT_MS


def _keeps_its_name(key: Qt.Key) -> bool:
    """Whether a key's release reports the same key as its press.

    Signs do not: + becomes = once Shift is released. Neither do letters of other scripts: the key
    of a command for W is Ц there.
    """
    return Qt.Key.Key_A <= key <= Qt.Key.Key_Z or key >= Qt.Key.Key_Escape


DRAG_THRESHOLD = 4  # px of movement before a press becomes a drag
_FAR_BELOW = 1 << 30  # px, below all rows
_AT_REST_MS = 400  # delay after the last motion before the new range is announced
_HAND, _ARROW = Qt.CursorShape.PointingHandCursor, Qt.CursorShape.ArrowCursor
_SMALL_ZOOM = 0.18  # log of a zoom factor: below a wheel notch, above a frame of a held key


@has_role(QAccessible.Role.Chart)
class TimelineView(GraphicsView):  # type: ignore[misc]
    """Shows the visible range of all rows, and turns input into changes of the session.

    Emits `menu_requested(QPoint)` with a screen position for the context menu of the selection.
    """

    menu_requested = Signal(QPoint)

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, useOpenGL=False, background=None)
        self.rows, self.session, self.theme = scene, scene.session, theme
        self.frames = FramePainter(scene, theme)
        self._rest = RestFrame(self.frames)
        self._overlay = Overlay()
        self._tip_of: tuple[OpenTrace, float] | None = None  # trace and ns per px of the hover tip
        self.tip = HoverTip(self, theme)
        self._held = HeldKeys(self)
        self._held.moved.connect(self._move)
        self.drag_pans = False  # setting: dragging pans, and Shift+dragging selects an area
        self._press: QPoint | None = None
        self._press_range = (0, 0)
        self._dragging = ""
        self._mouse_x = 0
        # Fractions of ns that the range cannot hold, valid as long as nobody else changes the
        # range. `_anchor`: column of the last zoom, range after it, exact time at the column, exact
        # span. `_to_come`: range after the last pan, and the ns that are still missing.
        self._anchor: tuple[float, tuple[int, int], Fraction, float] | None = None
        self._to_come: tuple[tuple[int, int], Fraction] = ((0, 0), Fraction(0))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Every frame covers the entire view, so a cached background would be blended for nothing.
        self.setCacheMode(self.CacheModeFlag.CacheNone)
        # Every change requests a repaint itself; the graphics scene would request a second one.
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self.setFrameShape(self.Shape.NoFrame)
        self.setAccessibleName("Timeline")
        self._announced = self._keys = ""
        scene.changed.connect(self._repaint)
        scene.moved.connect(self._repaint)
        self._rested = QTimer(self, interval=_AT_REST_MS, singleShot=True)
        self._rested.timeout.connect(self._announce_range)
        scene.moved.connect(self._rested.start)
        scene.scrolled.connect(self._repaint)
        theme.changed.connect(self._retheme)

    # -- display -----------------------------------------------------------------------------

    def _repaint(self) -> None:
        if self._overlay.mouse is not None:
            # The mouse rests while times and rows move under it.
            self._point(self._overlay.mouse)
        self.repaint_all()

    def repaint_all(self) -> None:
        """Repaint the whole canvas: something else than the mouse changed."""
        self._rest.forget()
        self.viewport().update()

    def set_shortcut_hints(self, text: str) -> None:
        """Set the shortcuts that a screen reader reads while nothing is selected."""
        self._keys = text
        if not self._announced:
            self.setAccessibleDescription(text)

    def announce(self, text: str) -> None:
        """Tell screen readers what is selected: as the description, and spoken when it changes.

        If nothing is selected, the description is the shortcuts.
        """
        if text == self._announced:
            return
        self._announced = text
        self.setAccessibleDescription(text or self._keys)
        if text and self.isVisible():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def accessible_value(self) -> str:
        """The visible range, for screen readers."""
        times = self.rows.gaps.times(*self.rows.range)
        return f"{format_span(*times)} visible" if self.session.traces else ""

    def _announce_range(self) -> None:
        # The description includes the range, but must not be updated for every frame of a motion.
        if QAccessible.isActive():
            event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(event)

    def _retheme(self) -> None:
        self.frames.retheme()
        self._repaint()

    @guard
    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if hasattr(self, "rows"):
            self.rows.set_viewport_height(self.viewport().height())
            if self.viewport().size() != self.contentsRect().size():
                # The scroll bar appeared and made the view narrower, which Qt ignores in here.
                self.setViewportMargins(0, 0, 0, 0)

    # -- hit testing -------------------------------------------------------------------------

    @property
    def canvas(self) -> Canvas:
        """The current size of the canvas."""
        port = self.viewport()
        return Canvas(port.width(), port.height(), port.devicePixelRatioF())

    def time_at(self, x: float) -> int:
        """The time at a canvas x, in ns of the axis."""
        return self.rows.xmap(max(self.viewport().width(), 1)).t_of(x)

    def times_between(self, x: float, other: float) -> tuple[int, int]:
        """The first and the last time between two x of the canvas, in ns of the axis."""
        xmap = self.rows.xmap(max(self.viewport().width(), 1))
        first = xmap.t_from(min(x, other))
        return first, max(xmap.t_of(max(x, other)), first)

    def slice_at(self, position: QPoint) -> SliceRef | None:
        """The slice drawn at a point of the canvas, None if there is none."""
        return slice_at(self.rows, self.canvas, position)

    def _counter_at(self, y: int) -> int | None:
        """The band of the counter at a canvas line, None if there is none."""
        layout = self.rows.layout
        band = layout.band_at(y + self.rows.scroll)
        return band if band >= 0 and layout.kind[band] == BandKind.COUNTER else None

    def _process_at(self, y: int) -> int:
        layout, band = self.rows.layout, self.rows.layout.band_at(y + self.rows.scroll)
        is_header = band >= 0 and layout.kind[band] == BandKind.PROCESS
        return int(layout.process[band]) if is_header else -1

    def _tracks_between(self, y0: int, y1: int) -> frozenset[tuple[int, int]]:
        layout, scroll = self.rows.layout, self.rows.scroll
        return layout.tracks(layout.bands_between(min(y0, y1) + scroll, max(y0, y1) + scroll + 1))

    # -- mouse -------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a click or a drag; pressing another button cancels the drag.

        The left button selects an area, or pans if that is set; Shift swaps the two. The middle
        button always pans.
        """
        self.cancel_drag()
        self.rows.activate()
        self._press = event.position().toPoint()
        self._press_range = self.rows.range
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.button() not in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._press = None
            return
        pans = shift != self.drag_pans or event.button() == Qt.MouseButton.MiddleButton
        self._dragging = "pan?" if pans else "area?"

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        position = event.position().toPoint()
        self._mouse_x = position.x()
        if self._press is not None:
            self._drag_to(self._press, position)
        self._point(position)

    def _drag_to(self, press: QPoint, here: QPoint) -> None:
        if self._dragging.endswith("?"):
            if (here - press).manhattanLength() < DRAG_THRESHOLD:
                return
            self._dragging = self._dragging.rstrip("?")
        if self._dragging == "pan":
            self.rows.activate()
            t0, t1 = self._press_range
            moved = (press.x() - here.x()) * (t1 - t0) // max(self.viewport().width(), 1)
            self.session.set_range(t0 + moved, t1 + moved, now=time.monotonic())
        else:
            self._overlay.dragged = self._area_to(here)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        press, self._press = self._press, None
        dragging, self._dragging = self._dragging, ""
        if press is None:
            return
        position = event.position().toPoint()
        if dragging == "area":
            self._overlay.dragged = None
            self._press = press
            area = self._area_to(position)
            self._press = None
            self.session.select_area(area if area.tracks and area.t1 > area.t0 else None)
        elif dragging.endswith("?") and event.button() == Qt.MouseButton.LeftButton:
            flow = self.frames.flows.chip_at(position)
            if flow is not None:
                self.session.select_slice(flow, reveal=True)
            elif not self.frames.edge_chips.click(position) and self._process_at(position.y()) < 0:
                self._click(self.slice_at(position), event.modifiers())

    def _click(self, slice_ref: SliceRef | None, held: Qt.KeyboardModifier) -> None:
        """Select the slice at a click; Ctrl adds or removes it, Shift extends along the row.

        With Ctrl or Shift, a click next to all slices does nothing, so that missing a slice by a
        pixel does not lose a careful selection.
        """
        if held & Qt.KeyboardModifier.ControlModifier:
            if slice_ref is not None:
                toggle_slice(self.session, slice_ref)
        elif held & Qt.KeyboardModifier.ShiftModifier:
            if slice_ref is not None:
                extend_to(self.session, slice_ref)
        else:
            self.session.select_slice(slice_ref)

    def show_dragged(self, first: int, last: int) -> Area:
        """Show a time range dragged elsewhere, as on the ruler; returns it as an area."""
        area = Area(first, last, self._tracks_between(-self.rows.scroll, _FAR_BELOW))
        self._overlay.dragged = area
        self.repaint_all()
        return area

    def drop_dragged(self) -> None:
        """Remove the area of a drag elsewhere."""
        self._overlay.dragged = None
        self.repaint_all()

    def show_cursor(self, place: int | None) -> None:
        """Draw a line at a place on screen in ns, where the mouse is in an aligned strip."""
        if place != self._overlay.cursor:
            self._overlay.cursor = place
            self._repaint_mouse()

    @property
    def pointed_time(self) -> int | None:
        """The time under the mouse in ns, None if the mouse is elsewhere."""
        mouse = self._overlay.mouse
        return None if mouse is None else self.time_at(mouse.x())

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Select the slice under the mouse and zoom to it; collapse or expand a process."""
        point = event.position().toPoint()
        ref, process = self.slice_at(point), self._process_at(point.y())
        if process >= 0 and event.button() == Qt.MouseButton.LeftButton:
            spec = self.rows.processes[process]
            toggle_part(self.session, (spec.trace, spec.name))
        elif event.modifiers() & (
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        ):
            self._click(ref, event.modifiers())  # counts as two clicks
        elif ref is not None:
            self.session.select_slice(ref)
            navigation.fit_selection(self.session)

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        self._overlay.hovered = self._overlay.mouse = self._tip_of = None
        self.tip.show_lines((), QPoint())
        self.rows.pointed.emit(None)
        self._repaint_mouse()

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the context menu for the slice under the mouse, and select it first.

        A slice that is part of the selection keeps the selection. From the keyboard, the menu is
        for the selection, and opens there.
        """
        point = event.pos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            ref = self.session.state.slice
            point = self.rect().center() if ref is None else self.place_of(ref).center()
        else:
            slice_ref = self.slice_at(point)
            self.rows.activate()
            if slice_ref is not None and slice_ref not in self.session.state.slices:
                self.session.select_slice(slice_ref)
        self.tip.show_lines((), QPoint())
        self.menu_requested.emit(self.viewport().mapToGlobal(point))

    def place_of(self, ref: SliceRef) -> QRect:
        """The visible part of a slice's rectangle; empty if the slice is not in view."""
        port, rows = self.viewport(), self.rows
        band = rows.band_of(ref)
        if band < 0:
            return QRect()
        span = self.session.traces[ref.trace].span_ns(ref.index)
        wide, (t0, t1) = max(port.width(), 1), rows.range
        left, right = ((place - t0) * wide // (t1 - t0) for place in rows.gaps.span(*span))
        left, right = max(left, 0), min(max(right, left + 1), port.width())
        top, height = int(rows.layout.y[band]) - rows.scroll, int(rows.layout.height[band])
        if right <= left:
            return QRect()
        return QRect(left, top, right - left, height).intersected(port.rect())

    def _area_to(self, here: QPoint) -> Area:
        assert self._press is not None
        t0, t1 = self.times_between(self._press.x(), here.x())
        tracks = self._tracks_between(self._press.y(), here.y())
        # A drag that covers no rows selects only a time range, on all shown tracks.
        return Area(t0, t1, tracks or shown_parts(self.rows.track_list, self.rows.arrangement))

    def _point(self, here: QPoint) -> None:
        """Update hover tip, highlight and pointed time; without a slice during a drag."""
        overlay = self._overlay
        drags = self._press is not None and not self._dragging.endswith("?")
        ref = None if drags else self.frames.flows.chip_at(here) or self.slice_at(here)
        overlay.mouse = here
        overlay.counter = None if drags else self._counter_at(here.y())
        lines: Sequence[str] = () if drags else self.frames.edge_chips.tip_at(here)
        self.viewport().setCursor(_HAND if lines else _ARROW)
        tip_of, self._tip_of = self._tip_of, None
        if overlay.counter is not None:
            # A counter has a different value at every time, so the text is not reused.
            lines = counter_tip(self.rows, overlay.counter, here.x(), self.canvas)
        elif not drags and (plan := plan_at(self.rows, self.canvas, here)) is not None:
            # Nor for a plan: the same slice has another text on its own track.
            lines = plan_tip(self.rows, plan, self.rows.ns_per_pixel(self.canvas.width))
        elif ref is not None:
            open_trace = self.rows.rasters[ref.trace].open_trace
            self._tip_of = open_trace, self.rows.ns_per_pixel(self.canvas.width)
            same = ref == overlay.hovered and self._tip_of == tip_of
            lines = (same and self.tip.lines) or slice_lines(open_trace, ref.index, self._tip_of[1])
        self.tip.show_lines(lines, here)
        overlay.hovered = ref
        self.rows.pointed.emit(self.rows.xmap(self.viewport().width()).place_at(here.x()))
        self._repaint_mouse()

    def _repaint_mouse(self) -> None:
        """Repaint where the mouse was and is."""
        region = self._rest.changes(self.canvas, self._overlay)
        if region is None:
            self.viewport().update()
        else:
            self.viewport().update(region)

    # -- wheel and gestures --------------------------------------------------------------------

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll; Ctrl: zoom at the mouse; Shift or sideways: pan; Ctrl+Shift: row height."""
        event.accept()
        keep_menu_closed(event)
        turn, modifiers, now = turn_of(event), event.modifiers(), time.monotonic()
        if modifiers & BOTH == BOTH:
            grow_rows(self.rows, event.position().toPoint().y(), turn.sign)
        elif modifiers & Qt.KeyboardModifier.ControlModifier:
            if turn.notches:
                self._zoom_around(event.position(), ZOOM_PER_NOTCH**-turn.notches, now)
        elif modifiers & Qt.KeyboardModifier.ShiftModifier or turn.is_sideways:
            self._pan_pixels(-turn.along, now)
        elif not self.rows.scroll_by(-turn.down):
            event.ignore()  # the stack of strips scrolls instead

    @guard(False)
    def viewportEvent(self, event: QEvent) -> bool:
        """Paint a frame; on a pinch, zoom around the mouse, known since it entered."""
        if event.type() == QEvent.Type.Paint:
            port, painter = self.viewport(), QPainter(self.viewport())
            region = cast(QPaintEvent, event).region()
            part = None if region == QRegion(port.rect()) else region
            try:
                self._rest.paint(painter, self.canvas, self._overlay, part)
            finally:
                painter.end()
            return True
        if isinstance(event, QEnterEvent):
            self._mouse_x = event.position().toPoint().x()
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                factor = 1 / max(1 + event.value(), 0.1)
                self._zoom_around(event.position(), factor, time.monotonic())
            return True
        handled: bool = super().viewportEvent(event)
        return handled

    def _zoom_around(self, position: QPointF, factor: float, now: float) -> None:
        self._zoom(position.x(), factor, now)

    def _zoom_at_mouse(self, factor: float, now: float) -> None:
        port = self.viewport()
        self._zoom(self._mouse_x if port.underMouse() else port.width() // 2, factor, now)

    def _zoom(self, x: float, factor: float, now: float) -> None:
        """Zoom around a column, keeping its exact time over consecutive zooms at that column."""
        self.rows.activate()
        state, share = self.session.state, Fraction(x) / max(self.viewport().width(), 1)
        span = state.t1 - state.t0
        if self._anchor is None or self._anchor[:2] != (x, (state.t0, state.t1)):
            center, exact = state.t0 + share * span, float(span)
        else:
            center, exact = self._anchor[2:]
        exact = max(exact * factor, 1.0)
        if round(exact) != span:
            navigation.zoom(self.session, exact / span, center, share, now=now)
        elif abs(math.log(factor)) > _SMALL_ZOOM:
            # Small steps accumulate to 1 ns; a step as large as a wheel notch always has an effect.
            navigation.zoom(self.session, factor, center, share, now=now)
        t0, t1 = self.session.state.t0, self.session.state.t1
        if round(exact) != t1 - t0:
            exact = float(t1 - t0)
        self._anchor = (x, (t0, t1), center, exact)

    def _pan_pixels(self, pixels: float, now: float) -> None:
        self.rows.activate()
        state, (after, to_come) = self.session.state, self._to_come
        by = Fraction(pixels) * (state.t1 - state.t0) / max(self.viewport().width(), 1)
        if after == (state.t0, state.t1):
            by += to_come
        whole = int(by)
        if whole:
            navigation.pan(self.session, whole, now=now)
        state = self.session.state
        self._to_come = (state.t0, state.t1), by - whole

    # -- keys ----------------------------------------------------------------------------------

    def hold(self, key: Qt.Key, way: HeldWay) -> None:
        """Handle a key press that moves the view until its release."""
        self._held.press(key, way)

    def tap(self, way: HeldWay) -> None:
        """Move the view by one step."""
        self._held.tap(way)

    def _move(self, axis: HeldAxis, by: float, now: float) -> None:
        if axis is HeldAxis.ZOOM:
            self._zoom_at_mouse(math.exp(by), now)
        elif axis is HeldAxis.PAN:
            self._pan_pixels(by, now)
        else:
            self.rows.scroll_by(by)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave all keys to the window's commands; the canvas does not scroll by keys."""
        event.ignore()

    def cancel_drag(self) -> bool:
        """Cancel the current drag; returns whether there was one."""
        going = self._press is not None and not self._dragging.endswith("?")
        if going and self._dragging == "pan":
            self.rows.activate()
            self.session.set_range(*self._press_range, now=time.monotonic())
        if going:
            self._press, self._dragging, self._overlay.dragged = None, "", None
            self.repaint_all()
        return going
