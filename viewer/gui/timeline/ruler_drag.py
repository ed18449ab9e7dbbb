"""Lets a drag on the ruler select a time range on all tracks, regardless of the rows below.

It observes the ruler as an event filter; the ruler only draws and does not depend on the rows.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.timeline.view import DRAG_THRESHOLD, TimelineView
from viewer.view.state import Area


class RulerDrag(QObject):
    """Turns drags on a ruler into area selections."""

    def __init__(self, ruler: QWidget, view: TimelineView) -> None:
        super().__init__(ruler)
        self._view = view
        self._from: int | None = None  # x of the press
        self._dragging = False
        ruler.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Track drags with the left button; all events still reach the ruler."""
        if not isinstance(event, QMouseEvent):
            return False
        x = event.position().toPoint().x()
        if event.type() == QEvent.Type.MouseButtonPress:
            self._from = x if event.button() == Qt.MouseButton.LeftButton else None
            self._dragging = False
            self._view.rows.activate()
        elif self._from is None:
            return False
        elif event.type() == QEvent.Type.MouseMove:
            self._dragging |= abs(x - self._from) >= DRAG_THRESHOLD
            if self._dragging:
                self._show(x)
        elif event.type() == QEvent.Type.MouseButtonRelease:
            if self._dragging:
                area = self._show(x)
                self._view.drop_dragged()
                self._view.session.select_area(area if area.t1 > area.t0 and area.tracks else None)
            self._from, self._dragging = None, False
        return False

    def _show(self, x: int) -> Area:
        assert self._from is not None
        return self._view.show_dragged(*self._view.times_between(self._from, x))
