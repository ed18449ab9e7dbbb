"""The timeline widget: the strips of all clocks, how they share the height, and the legend below.

Every strip is as tall as its rows if there is room for all; otherwise the tallest give way first.
If even the least heights do not fit, the stack of strips scrolls as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QCursor, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from viewer.dataclasses import replace
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.session.choices import shown_clocks
from viewer.gui.session.comparison import joined_clocks
from viewer.gui.session.session import Session
from viewer.gui.timeline.bookmarks_bar import BookmarksBar
from viewer.gui.timeline.legend import HEIGHT as LEGEND_HEIGHT
from viewer.gui.timeline.legend import Legend
from viewer.gui.timeline.overview import Overview
from viewer.gui.timeline.ruler import Corner, RulerBar
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene, text_of_missing
from viewer.gui.timeline.strip import ABOVE, ClockStrip
from viewer.gui.timeline.track_headers import WIDTH, Headers
from viewer.gui.timeline.view import TimelineView
from viewer.render.arrangement import display_order
from viewer.render.layout import HeaderPart
from viewer.render.stacking import Density
from viewer.view.clock_groups import same_place
from viewer.view.state import SliceRef, StripView, strip_heights

LEAST_ROWS = 96  # px of rows that every strip keeps


class StripStack(QScrollArea):
    """Places strips from top to bottom."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.strips: list[ClockStrip] = []
        self._content = QWidget()
        self._is_placing = False
        self._dropped: StripView | None = None  # as the current drag of a strip left it
        self.setWidget(self._content)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)

    def show_strips(self, strips: Sequence[ClockStrip]) -> None:
        """Show these strips in this order."""
        self.strips = list(strips)
        for strip in strips:
            if strip.parentWidget() is not self._content:
                strip.setParent(self._content)
                strip.show()
        # Tab goes through the strips from top to bottom.
        before = self._content
        for strip in strips:
            for part in strip.tab_stops:
                QWidget.setTabOrder(before, part)
                before = part
        self.place()

    @property
    def wanted_height(self) -> int:
        """The height at which all rows of all strips are visible, in px."""
        chosen = self._session.state.strips.heights
        return sum(
            strip.fixed_height
            + (chosen.get(strip.scene.clock, strip.full_height) if strip.rows_height else 0)
            for strip in self.strips
        )

    def place(self) -> None:
        """Give every strip its place."""
        port, strips = self.viewport(), self.strips
        if not strips or self._is_placing:
            return
        if len(strips) == 1:
            strips[0].scene.set_tight(False)
            self._content.resize(port.size())
            strips[0].setGeometry(self._content.rect())
            self._keep_columns()
            return
        self._tighten()
        chosen = self._session.state.strips.heights
        fixed = sum(strip.fixed_height for strip in strips)
        heights = strip_heights(
            [strip.rows_height for strip in strips],
            [chosen.get(strip.scene.clock) for strip in strips],
            port.height() - fixed,
            LEAST_ROWS,
        )
        spare = port.height() - fixed - sum(heights)
        flexible = [n for n, strip in enumerate(strips) if strip.rows_height]
        if spare > 0 and flexible:
            heights[flexible[-1]] += spare
        self._content.resize(port.width(), max(fixed + sum(heights), port.height()))
        y = 0
        for strip, rows in zip(strips, heights, strict=True):
            tall = strip.fixed_height + rows
            strip.setGeometry(QRect(0, y, port.width(), tall))
            strip.take_height()  # or each of many strips would request a place for all of them
            y += tall
        self._keep_columns()

    def _tighten(self) -> None:
        """Make rows compact if not all of them fit."""
        chosen, room = self._session.state.strips.heights, self.viewport().height()
        is_tight = self.wanted_height > room
        self._is_placing = True
        for strip in self.strips:
            height = chosen.get(strip.scene.clock)
            strip.scene.set_tight(is_tight if height is None else strip.full_height > height)
        self._is_placing = False

    def _keep_columns(self) -> None:
        several = len(self.strips) > 1 and any(strip.scrolls for strip in self.strips)
        for strip in self.strips:
            strip.keep_room_for_bar(several)

    def bring_into_view(self, strip: ClockStrip) -> None:
        """Scroll the stack as little as possible to show a strip."""
        self.ensureVisible(0, strip.y() + strip.height(), 0, 0)
        self.ensureVisible(0, strip.y(), 0, 0)

    def shows_at(self, strip: ClockStrip, place: QPoint) -> bool:
        """Whether a strip is at a place on the screen."""
        parts: tuple[QWidget, ...] = self.viewport(), strip
        return all(part.rect().contains(part.mapFromGlobal(place)) for part in parts)

    def drag(self, strip: ClockStrip, y: int) -> None:
        """Move a strip to where the mouse is; y: on the screen. One drag is one undo step."""
        content_y = self._content.mapFromGlobal(self._content.rect().topLeft()).y() + y
        others = [clock_strip for clock_strip in self.strips if clock_strip is not strip]
        before = next(
            (
                clock_strip
                for clock_strip in others
                if content_y < clock_strip.y() + clock_strip.height() // 2
            ),
            None,
        )
        state, keys = self._session.state, self._session.groups.keys
        now = state.strips
        target = None if before is None else before.scene.clock
        moved = now.placed_before(strip.scene.clock, target, keys)
        if moved.ordered(keys) != now.ordered(keys):
            remember = self._dropped is not now
            self._session.change(replace(state, strips=moved), remember=remember)
            self._dropped = self._session.state.strips

    def drop(self) -> None:
        """End the drag of a strip; the next one is another undo step."""
        self._dropped = None

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place()


_OTHER_PIXELS = {QEvent.Type.Show, QEvent.Type.DevicePixelRatioChange}


class Timeline(QWidget):
    """Shows the strips of all clocks; `view`, `scene` and so on are those of the active one."""

    header_width_changed = Signal(int)  # px, when changed by the user
    menu_requested = Signal(QPoint)  # screen position, for the menu of the selection
    ruler_menu_requested = Signal(QPoint)
    clock_menu_requested = Signal(QPoint)
    headers_focused = Signal()  # the current header changed, possibly to none

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._theme = session, theme
        self.drawings = Drawings(session)
        self.density = Density.COMFORTABLE  # of rows that the user has not set
        self._animated = False
        self.drag_pans = False  # dragging pans, and Shift+dragging selects an area
        self._header_width = WIDTH
        self._hints = ""
        self.stack = StripStack(session)
        self.legend = Legend(self.drawings, theme)
        laid_out(QVBoxLayout(self), (self.stack, 1), self.legend, gap=0, margins=(0, 0, 0, 0))
        self._follow()
        self.set_header_width(WIDTH)
        self.setMinimumHeight(ABOVE + 60 + LEGEND_HEIGHT)
        self.drawings.reopened.connect(self._follow)
        session.strips_changed.connect(self._follow)
        session.compared.connect(self._follow_arms)
        session.clock_activated.connect(self._show_needed)
        session.selection_changed.connect(self._show_needed)
        session.clock_activated.connect(self._focus_active)
        session.revealed.connect(self._bring_into_view)

    # -- the strips --------------------------------------------------------------------------

    @property
    def strips(self) -> list[ClockStrip]:
        """All strips from top to bottom."""
        return self.stack.strips

    @property
    def strip(self) -> ClockStrip:
        """The strip of the active clock."""
        active = self._session.group.key
        return next((strip for strip in self.strips if strip.scene.clock == active), self.strips[0])

    @property
    def scene(self) -> Scene:
        """The scene of the active clock."""
        return self.strip.scene

    @property
    def view(self) -> TimelineView:
        """The canvas of the active clock."""
        return self.strip.view

    @property
    def ruler(self) -> RulerBar:
        """The ruler of the active clock."""
        return self.strip.ruler

    @property
    def bookmarks_bar(self) -> BookmarksBar:
        """The bookmarks bar of the active clock."""
        return self.strip.bookmarks_bar

    @property
    def overview(self) -> Overview:
        """The overview of the active clock."""
        return self.strip.overview

    @property
    def headers(self) -> Headers:
        """The headers column of the active clock."""
        return self.strip.headers

    @property
    def corner(self) -> Corner:
        """The corner of the active clock, or that of the strip above if it has none."""
        return (self.strips[0] if self.strip.is_joined else self.strip).corner

    def scene_of(self, trace: int) -> Scene:
        """The scene that shows an open trace, which has a strip."""
        clock = self._session.groups.of(trace).key
        return next(strip.scene for strip in self.strips if strip.scene.clock == clock)

    @property
    def missing_text(self) -> str:
        """How many tracks of all clocks are hidden or filtered out, as text; "" if none."""
        all_of_them = [strip.scene.arrangement for strip in self.strips]
        return text_of_missing(
            sum(arrangement.hidden for arrangement in all_of_them),
            sum(arrangement.filtered for arrangement in all_of_them),
        )

    def all_processes(self) -> frozenset[HeaderPart]:
        """Every process of all clocks, including those that are not shown."""
        return frozenset().union(*(s.scene.header_bands.all_processes() for s in self.strips))

    @property
    def track_order(self) -> tuple[tuple[int, int], ...]:
        """The (trace, track) of all tracks of all clocks, in the order on screen."""
        return tuple(
            part
            for strip in self.strips
            for part in display_order(strip.scene.track_list, strip.scene.arrangement)
        )

    @property
    def is_moving(self) -> bool:
        """Whether the visible range of a clock is being animated."""
        return any(strip.scene.animation.is_moving for strip in self.strips)

    def take_pointed_time(self) -> int | None:
        """The time under the mouse in ns, None if it is elsewhere; its clock becomes active."""
        for strip in self.strips:
            if (pointed := strip.view.pointed_time) is not None:
                strip.scene.activate()
                return pointed
        return None

    def _follow(self) -> None:
        """Show a strip for each clock group, in the chosen order."""
        keys = shown_clocks(self._session)
        before = {strip.scene.clock: strip for strip in self.strips}
        spare = [strip for key, strip in before.items() if key not in keys]
        strips = []
        for key in keys:
            strip = before.get(key) or (spare.pop() if spare else self._make(key))
            strip.scene.show_clock(key)
            strips.append(strip)
        had_focus = any(strip.has_focus for strip in spare)
        for strip in spare:
            strip.discard()
        self._join(strips)
        for strip in strips:
            strip.fit()
            strip.view.show_cursor(None)  # it may no longer be aligned
        self.stack.show_strips(strips)
        if had_focus:
            self.strip.take_focus()  # otherwise Qt gives it to the next button
        self._cover()

    def _join(self, strips: Sequence[ClockStrip]) -> None:
        """Join the strips of two compared arms, and no others."""
        joined = joined_clocks(self._session)
        for strip in strips:
            above = joined is not None and strip is strips[1]
            below = joined is not None and strip is strips[0]
            strip.join(strips[0] if above else None, strips[1] if below else None)

    @Slot()
    def _follow_arms(self) -> None:
        """Follow whether the strips are joined."""
        is_joined = any(strip.is_joined for strip in self.strips)
        if is_joined != (joined_clocks(self._session) is not None):
            self._follow()

    @Slot()
    def _show_needed(self) -> None:
        """Add the strip of the active clock or of the selected slice, if it has none."""
        if shown_clocks(self._session) != [strip.scene.clock for strip in self.strips]:
            self._follow()

    def _make(self, clock: str) -> ClockStrip:
        strip = ClockStrip(self.drawings, self._theme, clock)
        strip.scene.set_density(self.density)
        strip.scene.animation.enabled = self._animated
        strip.view.drag_pans = self.drag_pans
        strip.view.set_shortcut_hints(self._hints)
        strip.set_header_width(self._header_width)
        strip.resized.connect(self.stack.place)
        strip.scene.pointed.connect(partial(self._point_in_others, strip))
        strip.header.dragged.connect(partial(self.stack.drag, strip))
        strip.header.dropped.connect(self.stack.drop)
        strip.header.menu_requested.connect(self.clock_menu_requested)
        strip.view.menu_requested.connect(self.menu_requested)
        strip.ruler.menu_requested.connect(self.ruler_menu_requested)
        strip.headers.focused.connect(self.headers_focused)
        strip.headers.width_changed.connect(self.set_header_width)
        strip.headers.width_changed.connect(self.header_width_changed)
        return strip

    def _point_in_others(self, pointed: ClockStrip, place: int | None) -> None:
        """Show the moment under the mouse in the strips that are aligned with this one."""
        ties, clock = self._session.state.ties, pointed.scene.clock
        for strip in self.strips:
            if strip is not pointed:
                other = strip.scene.clock
                other_place = None if place is None else same_place(ties, clock, place, other)
                strip.view.show_cursor(other_place)
                strip.ruler.point(other_place)
                strip.show_pointed(other_place)

    def _focus_active(self) -> None:
        """Show the active strip and give it the focus; one under the mouse stays where it is."""
        if not self.stack.shows_at(self.strip, QCursor.pos()):
            self.stack.bring_into_view(self.strip)
        others = [strip for strip in self.strips if strip is not self.strip]
        if any(strip.view.hasFocus() or strip.header.fold.hasFocus() for strip in others):
            self.strip.take_focus()

    @Slot(object)
    def _bring_into_view(self, ref: SliceRef) -> None:
        """Scroll the stack to the strip of a slice, whose rows its scene scrolls."""
        self.stack.bring_into_view(self.strip)

    def announce(self, text: str) -> None:
        """Tell screen readers what is selected, on the canvas of the active clock alone."""
        for strip in self.strips:
            strip.view.announce(text if strip is self.strip else "")

    def focus_view(self) -> None:
        """Give the canvas of the active clock the keyboard focus."""
        self.view.setFocus()

    # -- settings ----------------------------------------------------------------------------

    def set_density(self, density: Density) -> None:
        """Set the height of rows that the user has not set."""
        self.density = density
        for strip in self.strips:
            strip.scene.set_density(density)

    def set_animated(self, animated: bool) -> None:
        """Set whether jumps of the visible range are animated."""
        self._animated = animated
        for strip in self.strips:
            strip.scene.animation.enabled = animated

    def set_drag_pans(self, pans: bool) -> None:
        """Set whether dragging pans."""
        self.drag_pans = pans
        for strip in self.strips:
            strip.view.drag_pans = pans

    def set_shortcut_hints(self, text: str) -> None:
        """Set the shortcuts that a screen reader reads while nothing is selected."""
        self._hints = text
        for strip in self.strips:
            strip.view.set_shortcut_hints(text)

    def set_header_width(self, width: int) -> None:
        """Set the width of the headers column in px."""
        for strip in self.strips:
            strip.set_header_width(width)
        self._header_width = self.headers.width()
        self.legend.set_indent(self._header_width)

    # -- size and painting -------------------------------------------------------------------

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Update the paint attributes, as the window may have moved to another screen."""
        if event.type() in _OTHER_PIXELS:
            self._cover()
        return bool(super().event(event))

    def _cover(self) -> None:
        """Tell Qt that the parts paint their entire area.

        Otherwise Qt first paints everything behind them, which takes half of the time of a frame.
        Not possible if a layout pixel is not a whole number of device pixels, because the
        background then shows at the edges.
        """
        whole = self.devicePixelRatioF().is_integer()
        parts = [part for strip in self.strips for part in strip.painted_parts]
        for part in (*parts, self.legend):
            part.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, whole)

    @property
    def content_height(self) -> int:
        """The height at which all rows are visible without scrolling, in px."""
        legend = 0 if self.legend.isHidden() else self.legend.height()
        return self.stack.wanted_height + legend

    @guard(QSize(800, 400))
    def sizeHint(self) -> QSize:
        return QSize(800, self.content_height)
