"""Stacks the strips of all clocks, and shares the height among them.

Every strip is as tall as its rows if there is room for all; otherwise the tallest give way first.
If even the least heights do not fit, the stack scrolls as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.session.session import Session
from viewer.gui.timeline.strips.strip import ClockStrip
from viewer.view.strip_view import StripView, strip_heights

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
        """Share the new height."""
        super().resizeEvent(event)
        self.place()
