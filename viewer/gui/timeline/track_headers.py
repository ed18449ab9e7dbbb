"""The headers column left of the canvas: names of processes and tracks, drags and menus on them.

A press on a header acts on one of several zones: its chevron, the buttons that appear on hover, its
lower edge, which changes the row height, or elsewhere, which starts a drag to another place. Each
step of a drag changes the session's view, and all steps form one undo step.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from html import escape
from typing import cast

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from viewer.arrays import Ints
from viewer.dataclasses import dataclass, replace
from viewer.gui.qt.accessibility import has_accessible
from viewer.gui.qt.canvases import BOTH, turn_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session import navigation
from viewer.gui.session.choices import arrange_tracks, toggle_part
from viewer.gui.timeline.header_painting import (
    BUTTON,
    HeaderColumn,
    HeaderItems,
    HeaderLook,
    HeaderPainter,
    HeadersAccessible,
    shortened,
)
from viewer.gui.timeline.scene.scene import Scene, grow_rows, row_height, with_row_height
from viewer.gui.timeline.scene.texts import full_title, plan_header_tip
from viewer.render.arrangement import HIGHEST_ROW, LOWEST_ROW, TrackOrder, TrackView
from viewer.render.layout import ROW_HEIGHT, BandKind, Canvas, HeaderPart


@dataclass(frozen=True, slots=True)
class DropPlace:
    """A place where a dragged part can be dropped.

    `y` is the content line above it, `before` the sibling that the part would precede (None for the
    last place), and `pinned` is True among the pinned tracks.
    """

    y: int
    before: HeaderPart | None
    pinned: bool = False


def places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """The drop places of a part among its siblings, from top to bottom.

    The siblings of a process are processes; those of a track are the tracks of its process, or the
    pinned tracks.
    """
    return _places(scene, part, part in scene.session.state.tracks.pinned)


def all_places_of(scene: Scene, part: HeaderPart) -> list[DropPlace]:
    """All drop places of a part; where a track is dropped also decides if it is pinned."""
    if scene.track_list.track_of(part) < 0:
        return places_of(scene, part)
    # Nothing can be dropped behind the pinned tracks.
    edge = scene.scroll + scene.layout.stuck_height
    below = [place for place in _places(scene, part, False) if place.y >= edge]
    return [*_places(scene, part, True), *below]


def _places(scene: Scene, part: HeaderPart, pinned: bool) -> list[DropPlace]:
    layout, track_list = scene.layout, scene.track_list
    if track_list.track_of(part) < 0:
        bands = np.flatnonzero((layout.kind == BandKind.PROCESS) & (layout.process >= 0))
        processes = [track_list.processes[i].part for i in layout.process[bands].tolist()]
        lines = map(layout.home_of, bands.tolist())
        places = [DropPlace(y, p) for y, p in zip(lines, processes, strict=True)]
        return [*places, DropPlace(layout.total_height, None)]
    process = -1 if pinned else track_list.process_of(part)
    bands = np.flatnonzero((layout.process == process) & (layout.track >= 0))
    if not len(bands):
        return []
    tracks = np.column_stack([layout.trace[bands], layout.track[bands]])
    is_first = np.append(True, (tracks[1:] != tracks[:-1]).any(axis=1))
    places = [
        DropPlace(int(y), (int(trace), int(track)), pinned)
        for y, (trace, track) in zip(layout.y[bands[is_first]], tracks[is_first], strict=True)
    ]
    return [*places, DropPlace(int(layout.y[bands[-1]] + layout.height[bands[-1]]), None, pinned)]


class Reorder:
    """A part being dragged to another place."""

    def __init__(self, scene: Scene, part: HeaderPart) -> None:
        self._scene, self.part = scene, part
        self._places: list[DropPlace] = []
        self.place: DropPlace | None = None

    def to(self, y: int) -> None:
        """Update the drop place for the mouse at content line `y`."""
        places = all_places_of(self._scene, self.part)
        self.place = min(places, key=lambda place: abs(place.y - y), default=None)

    def drop(self) -> None:
        """Drop the part at the current place; does nothing if that is where it was."""
        session, part, place = self._scene.session, self.part, self.place
        track, view = self._scene.track_list.track_of(part), session.state.tracks
        # The part or its place may no longer exist.
        if place is None or place not in all_places_of(self._scene, part):
            return
        if place.pinned != (part in view.pinned) and track >= 0:
            moved = view.pinned_or_not(self._scene.track_list.part(track))
            arrange_tracks(session, moved.placed_before(part, place.before))
            return
        siblings = [fellow.before for fellow in places_of(self._scene, part)]
        index = siblings.index(part) if part in siblings else None
        # Dropping it before itself or before the next sibling leaves it where it is.
        if index is not None and place.before not in siblings[index : index + 2]:
            arrange_tracks(session, view.placed_before(part, place.before))


def moved_by(scene: Scene, part: HeaderPart, by: int) -> TrackView:
    """The view with a part moved up (-1) or down (1) by one among its visible siblings."""
    view = scene.session.state.tracks
    places = [place.before for place in places_of(scene, part)]
    if part not in places:
        return view
    # Moving down by one means to precede the sibling after the next.
    target = places.index(part) + (by if by < 0 else by + 1)
    return view.placed_before(part, places[target]) if 0 <= target < len(places) else view


class RowResize:
    """The height of the rows of a process, while the lower edge of one follows the mouse."""

    def __init__(self, scene: Scene, band: int, y: int) -> None:
        layout = scene.layout
        self._scene = scene
        self.process = scene.track_list.processes[scene.header_bands.process_of(band)].part
        self._from = y
        self._height = row_height(scene, self.process)
        self._rows = max(_rows_until(layout.kind, layout.process, band), 1)
        self._set: TrackView | None = None
        self._before = scene.session.state.tracks

    def to(self, y: int) -> None:
        """Set the row height for the mouse at content line `y`."""
        session = self._scene.session
        height = self._height + round((y - self._from) / self._rows)
        now = session.state.tracks
        resized = with_row_height(self._scene, self.process, height)
        arrange_tracks(session, resized, joins=self._set is not None and self._set is now)
        self._set = session.state.tracks

    def take_back(self) -> None:
        """Restore the previous height, unless something else was changed since."""
        session = self._scene.session
        if self._set is not None and self._set is session.state.tracks:
            session.history.forget(replace(session.state, tracks=self._before))
            arrange_tracks(session, self._before, joins=True)


def _rows_until(kind: NDArray[np.uint8], process: Ints, band: int) -> int:
    """The number of rows of the band's process down to the band; 1 for a pinned track."""
    if process[band] < 0:
        return 1
    above = slice(0, band + 1)
    return int(((kind[above] == BandKind.ROW) & (process[above] == process[band])).sum())


# Named row heights in the menu; dragging allows any height between the first and the last.
HEIGHTS = (
    ("Lowest", LOWEST_ROW), ("Low", 18), ("Normal", ROW_HEIGHT), ("High", 44),
    ("Highest", HIGHEST_ROW),
)  # fmt: skip
SORTED = (
    ("As in the file", TrackOrder.FILE), ("By name", TrackOrder.NAME),
    ("By first slice", TrackOrder.TIME), ("Busiest first", TrackOrder.BUSY),
)  # fmt: skip

ZOOM = "Zoom to this file"


def header_menu(scene: Scene, part: HeaderPart | None, parent: QWidget) -> QMenu:
    """The context menu of a part; without a part, only the entries that apply to all headers."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    session = scene.session
    view = session.state.tracks

    def add(menu: QMenu, title: str, wanted: Callable[[TrackView], TrackView]) -> None:
        # Uses the view at the time of the choice, because things may change while the menu is open.
        menu.addAction(title, lambda: arrange_tracks(session, wanted(session.state.tracks)))

    if part is not None:
        track = scene.track_list.track_of(part)
        if track >= 0:
            pinnable = scene.track_list.part(track)
            title = "Unpin" if pinnable in view.pinned else "Pin on top"
            add(menu, title, lambda now: now.pinned_or_not(pinnable))
        add(menu, "Hide", lambda now: now.without(part))
        if scene.header_bands.can_fold(part):
            title = "Expand" if part in view.collapsed else "Collapse"
            add(menu, title, lambda now: now.toggled(part))
        add(menu, "Hide all others", lambda now: now.showing_only(scene.track_list, part))
        if len(session.traces) > 1:
            spec = scene.track_list.processes[scene.track_list.process_of(part)]
            menu.addAction(ZOOM, lambda: navigation.fit_file(session, spec.trace))
        menu.addSeparator()
    add(menu, "Show all", TrackView.with_all)
    menu.actions()[-1].setEnabled(bool(scene.missing_text))
    add(
        menu,
        "Collapse all",
        lambda now: replace(now, collapsed=now.collapsed | scene.header_bands.all_processes()),
    )
    add(menu, "Expand all", lambda now: replace(now, collapsed=frozenset()))
    menu.addSeparator()
    if part is not None:
        process = scene.track_list.processes[scene.track_list.process_of(part)].part
        heights = menu.addMenu("Row height")
        for name, height in HEIGHTS:
            add(
                heights,
                f"{name} ({height} px)",
                lambda _, height=height: with_row_height(scene, process, height),  # type: ignore[misc]
            )
            heights.actions()[-1].setCheckable(True)
            heights.actions()[-1].setChecked(row_height(scene, process) == height)
    orders = menu.addMenu("Sort")
    for name, order in SORTED:
        add(orders, name, lambda now, order=order: now.ordered(order))  # type: ignore[misc]
        orders.actions()[-1].setCheckable(True)
        orders.actions()[-1].setChecked(view.order is order)
    return menu


WIDTH, NARROWEST, WIDEST = 196, 120, 640  # px
TITLE_INDENT = 28
_EDGE = 3  # px around an edge where it can be grabbed
_DRAG_THRESHOLD = 5  # px
_SCROLL_MS, _SCROLL_STEP = 30, 12  # ms and px, while dragging beyond the column


class HeaderZone(Enum):
    """The part of a header under the mouse."""

    NOTHING = "nothing"
    WIDTH = "column width"
    HEIGHT = "row height"
    FOLD = "chevron"
    PIN = "pin"
    HIDE = "hide"
    TITLE = "title"


@has_accessible(HeadersAccessible)
class Headers(HeaderColumn):
    """Shows the names next to the rows, scrolled with them, and handles input on them."""

    width_changed = Signal(int)  # the user changed the width of the column
    focused = Signal()  # the current header changed, possibly to none

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene = scene
        self._painter = HeaderPainter(scene, theme, TITLE_INDENT)
        self._mouse: QPoint | None = None
        self._pointed: tuple[int, Canvas] | None = None  # on the canvas
        self._press: QPoint | None = None
        self._pressed = HeaderZone.NOTHING
        self._order: Reorder | None = None
        self._resize: RowResize | None = None
        self._width_before = WIDTH
        self._current: HeaderPart | None = None
        self.items = HeaderItems(self)
        self._autoscroll = QTimer(self, interval=_SCROLL_MS)
        self._autoscroll.timeout.connect(self._scroll_on)
        self.setFixedWidth(WIDTH)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Processes and tracks")
        scene.changed.connect(self.update)
        scene.scrolled.connect(self.update)
        scene.arranged.connect(self._forget_gone)
        theme.changed.connect(self.update)

    # -- positions ---------------------------------------------------------------------------

    @property
    def current(self) -> HeaderPart | None:
        """None for a closed trace: commands may ask before this column has followed."""
        if self._current is None or not self.hasFocus():
            return None
        groups = (group for group in self._scene.session.groups if group.key == self._scene.clock)
        return (
            self._current
            if any(self._current[0] in clock_group.traces for clock_group in groups)
            else None
        )

    @property
    def parts(self) -> list[HeaderPart]:
        parts = self._scene.header_bands
        of_bands = (parts.part_of(band) for band in parts.titles())
        return [part for part in dict.fromkeys(of_bands) if part is not None]

    def title_of(self, part: HeaderPart) -> str:
        return full_title(self._scene, part)

    def room_of(self, part: HeaderPart) -> QRect:
        band = self._scene.header_bands.first_band(part)
        return self._room(band) if band >= 0 else QRect()

    def is_folded(self, part: HeaderPart) -> bool | None:
        if not self._scene.header_bands.can_fold(part):
            return None
        return part in self._scene.session.state.tracks.collapsed

    def part_at(self, y: int) -> HeaderPart | None:
        return self._scene.header_bands.part_of(self._band_at(y))

    def _band_at(self, y: int) -> int:
        return self._scene.layout.band_at(y + self._scene.scroll)

    def _spot(self, point: QPoint) -> HeaderZone:
        """The zone that a press at a point would act on."""
        if point.x() >= self.width() - _EDGE - 1:
            return HeaderZone.WIDTH
        scene, band = self._scene, self._band_at(point.y())
        if self._band_of_edge(point.y()) >= 0:
            return HeaderZone.HEIGHT
        part = scene.header_bands.part_of(band)
        if part is None:
            return HeaderZone.NOTHING
        if scene.header_bands.is_title(band):
            if point.x() < TITLE_INDENT and scene.header_bands.can_fold(part):
                return HeaderZone.FOLD
            for spot, room in self._buttons(band):
                if room.contains(point):
                    return spot
        return HeaderZone.TITLE

    def _band_of_edge(self, y: int) -> int:
        """The band whose lower edge at `y` can be dragged to resize rows, -1 without one."""
        layout, scroll = self._scene.layout, self._scene.scroll
        for band in dict.fromkeys((self._band_at(y - _EDGE), self._band_at(y + _EDGE))):
            if band < 0 or not self._scene.header_bands.has_rows(band):
                continue
            if abs(int(layout.y[band] + layout.height[band]) - scroll - y) <= _EDGE:
                return band
        return -1

    def _buttons(self, band: int) -> list[tuple[HeaderZone, QRect]]:
        """The buttons of a header with their rectangles, from right to left."""
        room = self._room(band)
        spots = (
            [HeaderZone.HIDE]
            if self._scene.layout.track[band] < 0
            else [HeaderZone.HIDE, HeaderZone.PIN]
        )
        top = room.center().y() - BUTTON // 2
        return [
            (spot, QRect(room.right() - 6 - (i + 1) * (BUTTON + 2), top, BUTTON, BUTTON))
            for i, spot in enumerate(spots)
        ]

    def _room(self, band: int) -> QRect:
        layout = self._scene.layout
        y = int(layout.y[band]) - self._scene.scroll
        return QRect(0, y, self.width(), int(layout.height[band]))

    # -- painting ------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        look = HeaderLook(current=self.current, pointed=self._pointed)
        if self._order is not None and self._order.place is not None:
            look.dragged, look.line = self._order.part, self._order.place.y - self._scene.scroll
        elif self._mouse is not None and self._press is None:
            band = self._band_at(self._mouse.y())
            if self._scene.header_bands.is_title(band):
                look.hovered = band
                look.buttons = [(spot.value, room) for spot, room in self._buttons(band)]
        self._painter.paint(self, look)

    def point(self, place: int | None, canvas: Canvas) -> None:
        """Show the values of counters at a place on screen in ns, None for none."""
        pointed = None if place is None else (place, canvas)
        if pointed == self._pointed:
            return
        self._pointed = pointed
        scene = self._scene
        in_view = scene.layout.bands_between(scene.scroll, scene.scroll + self.height())
        for band in in_view[scene.layout.kind[in_view] == BandKind.COUNTER].tolist():
            self.update(self._room(band))

    # -- mouse -----------------------------------------------------------------------------------

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        self._scene.activate()
        point = event.position().toPoint()
        self._press, self._pressed, self._width_before = point, self._spot(point), self.width()
        if self._pressed is HeaderZone.HEIGHT:
            band = self._band_of_edge(point.y())
            self._resize = RowResize(self._scene, band, point.y() + self._scene.scroll)

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse = point = event.position().toPoint()
        if self._press is None:
            self._point(point)
        elif self._pressed is HeaderZone.WIDTH:
            self.set_width(point.x() + 1)
            self.width_changed.emit(self.width())
        elif self._resize is not None:
            self._resize.to(point.y() + self._scene.scroll)
        elif self._pressed is HeaderZone.TITLE:
            self._drag(point)
        self.update()

    def _point(self, point: QPoint) -> None:
        shapes = {
            HeaderZone.WIDTH: Qt.CursorShape.SizeHorCursor,
            HeaderZone.HEIGHT: Qt.CursorShape.SizeVerCursor,
            HeaderZone.PIN: Qt.CursorShape.PointingHandCursor,
            HeaderZone.HIDE: Qt.CursorShape.PointingHandCursor,
            HeaderZone.FOLD: Qt.CursorShape.PointingHandCursor,
        }
        self.setCursor(shapes.get(self._spot(point), Qt.CursorShape.ArrowCursor))

    def _drag(self, point: QPoint) -> None:
        assert self._press is not None
        if self._order is None:
            part = self.part_at(self._press.y())
            if part is None or abs(point.y() - self._press.y()) < _DRAG_THRESHOLD:
                return
            self._order = Reorder(self._scene, part)
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        self._order.to(point.y() + self._scene.scroll)
        if 0 <= point.y() < self.height():
            self._autoscroll.stop()
        elif not self._autoscroll.isActive():
            self._autoscroll.start()

    def _scroll_on(self) -> None:
        """Scroll while the mouse is dragged beyond the column."""
        if self._order is None or self._mouse is None:
            self._autoscroll.stop()
            return
        step = -_SCROLL_STEP if self._mouse.y() < 0 else _SCROLL_STEP
        self._scene.scroll_to(self._scene.scroll + step)
        self._order.to(self._mouse.y() + self._scene.scroll)

    @guard
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._press is None:
            return
        press, pressed, order = self._press, self._pressed, self._order
        self._let_go()
        part = self.part_at(press.y())
        if order is not None:
            order.drop()
        elif part is not None and self._spot(event.position().toPoint()) is pressed:
            self._click(pressed, part)
        self._point(event.position().toPoint())
        self.update()

    def cancel_drag(self) -> bool:
        """Cancel the current drag; returns whether there was one."""
        resize, width = self._resize, self._pressed is HeaderZone.WIDTH
        going = resize is not None or width or self._order is not None
        if resize is not None:
            resize.take_back()
        if width:
            self.set_width(self._width_before)
            self.width_changed.emit(self.width())
        if going:
            self._let_go()
            self.unsetCursor()
            self.update()
        return going

    def _let_go(self) -> None:
        self._press, self._pressed, self._order, self._resize = None, HeaderZone.NOTHING, None, None
        self._autoscroll.stop()

    def _click(self, spot: HeaderZone, part: HeaderPart) -> None:
        session, track = self._scene.session, self._scene.track_list.track_of(part)
        view = session.state.tracks
        if spot is HeaderZone.FOLD:
            toggle_part(session, part)
        elif spot is HeaderZone.TITLE:
            self._current = part  # the keys now act on it
        elif spot is HeaderZone.HIDE:
            arrange_tracks(session, view.without(part))
        elif spot is HeaderZone.PIN:
            arrange_tracks(session, view.pinned_or_not(self._scene.track_list.part(track)))

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Reset the width at the column's edge, fold a process at its name; else press again."""
        point = event.position().toPoint()
        spot, part = self._spot(point), self.part_at(point.y())
        if spot is HeaderZone.WIDTH:
            self.set_width(WIDTH)
            self.width_changed.emit(self.width())
        elif (
            spot is HeaderZone.TITLE
            and part is not None
            and self._scene.track_list.track_of(part) < 0
        ):
            toggle_part(self._scene.session, part)
        else:
            self.mousePressEvent(event)

    def set_width(self, width: int) -> None:
        """Set the width of the column in px, limited to NARROWEST and WIDEST."""
        self.setFixedWidth(min(max(width, NARROWEST), WIDEST))

    @guard
    def leaveEvent(self, event: QEvent) -> None:
        self._mouse = None
        self.update()

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the tracks as over the canvas; with Ctrl+Shift, change the row height."""
        turn, modifiers = turn_of(event), event.modifiers()
        if modifiers & BOTH == BOTH:
            grow_rows(self._scene, event.position().toPoint().y(), turn.sign)
        elif not self._scene.scroll_by(-turn.down):
            event.ignore()  # the stack of strips scrolls instead

    # -- menu and tips -----------------------------------------------------------------------------

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        point, part = event.pos(), self.part_at(event.pos().y())
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            part = self.current
            band = self._scene.header_bands.first_band(part) if part is not None else -1
            point = self._room(band).center() if band >= 0 else QPoint(TITLE_INDENT, 0)
        self._let_go()
        header_menu(self._scene, part, self).popup(self.mapToGlobal(point))

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Show tooltips of names and buttons, and claim the column's keys before shortcuts do."""
        is_key = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
        if is_key and self._act_of(cast(QKeyEvent, event)) is not None:
            event.accept()
            return True
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            # Escaped, because a name may look like markup.
            text = escape(shortened(self.tip_at(event.pos())))
            tip = f'<div style="white-space: pre-wrap">{text}</div>' if text else ""
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return bool(super().event(event))

    def tip_at(self, point: QPoint) -> str:
        """The tooltip for a point, as plain text."""
        part, spot = self.part_at(point.y()), self._spot(point)
        if part is None:
            return ""
        is_pinned = part in self._scene.session.state.tracks.pinned
        texts = {
            HeaderZone.PIN: "Unpin" if is_pinned else "Pin on top",
            HeaderZone.HIDE: "Hide",
            HeaderZone.HEIGHT: "Drag to change the row height",
            HeaderZone.WIDTH: "Drag to change the column width",
        }
        band = self._band_at(point.y())
        if spot is HeaderZone.TITLE and self._scene.layout.kind[band] == BandKind.PLAN:
            return plan_header_tip(self._scene, band)
        return texts.get(spot) or full_title(self._scene, part)

    # -- keyboard ------------------------------------------------------------------------------

    @guard
    def focusInEvent(self, event: QFocusEvent) -> None:
        """Focus the header that last had the focus, or the first one."""
        super().focusInEvent(event)
        if self._current is None:
            self._go_to(0)
        else:
            self.items.announce_current(self._current)
        self.focused.emit()

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Repaint without the focus; commands no longer refer to a header."""
        super().focusOutEvent(event)
        self.update()
        self.focused.emit()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move, collapse and expand; Delete hides. Other keys are left to the window."""
        act = self._act_of(event)
        if act is None:
            event.ignore()
        else:
            act()

    def _act_of(self, event: QKeyEvent) -> Callable[[], object] | None:
        """What a key does here, None if it is left to the window."""
        part = self._current
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return None
        acts: dict[int, Callable[[], object]] = {
            Qt.Key.Key_Up: lambda: self._step(-1),
            Qt.Key.Key_Down: lambda: self._step(1),
        }
        if part is not None:
            session, view = self._scene.session, self._scene.session.state.tracks
            is_folded = self.is_folded(part)

            def fold(wanted: bool) -> None:
                if is_folded is not None and wanted != is_folded:
                    toggle_part(session, part)

            acts |= {
                Qt.Key.Key_Left: lambda: fold(True),
                Qt.Key.Key_Right: lambda: fold(False),
                Qt.Key.Key_Return: lambda: fold(not is_folded),
                Qt.Key.Key_Enter: lambda: fold(not is_folded),
                Qt.Key.Key_Space: lambda: fold(not is_folded),
                Qt.Key.Key_Delete: lambda: arrange_tracks(session, view.without(part)),
            }
        return acts.get(event.key())

    def _step(self, by: int) -> None:
        band = -1 if self._current is None else self._scene.header_bands.first_band(self._current)
        titles = self._scene.header_bands.titles()
        self._go_to(titles.index(band) + by if band in titles else 0)

    def _go_to(self, position: int) -> None:
        titles = self._scene.header_bands.titles()
        if not titles:
            return
        band = titles[min(max(position, 0), len(titles) - 1)]
        self._current = self._scene.header_bands.part_of(band)
        self._scene.scroll_to_band(band)
        if self._current is not None:
            self.items.announce_current(self._current)
        self.update()
        self.focused.emit()

    def _forget_gone(self) -> None:
        """Drop parts that are no longer shown; if the current one is gone, focus the first."""
        self.items.forget_gone()
        if self._current is not None and self._scene.header_bands.first_band(self._current) < 0:
            self._current = None
            if self.hasFocus():
                self._go_to(0)
        elif self.current is not None:
            self.items.announce_folded(self.current)
