"""Defers expensive computations of a panel until the panel is visible.

A panel is invisible in a closed dock, behind another tab, or before its window is shown. Qt still
reports a panel behind a tab as visible, but moves it out of the window. So visibility is determined
by the visible region, and becoming visible by the first paint event. For ten million slices, one
panel may need a gigabyte during its computation.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard

BEING_COUNTED = "Calculating…"


class WhenVisible(QObject):
    """Tells whether a panel is visible; emits `due` when deferred work should be done."""

    due = Signal()

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._panel = panel
        self._waits = False
        self._soon = QTimer(self)  # delays `due`, as nothing may change while the panel is painted
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.due)

    def defer(self) -> bool:
        """Whether the panel is invisible, so that the caller must defer its work until `due`."""
        self._soon.stop()
        self._wait(self._panel.visibleRegion().isEmpty())
        return self._waits

    @Slot()
    def request(self) -> None:
        """Emit `due` now if the panel is visible, else as soon as it is."""
        if not self.defer():
            self.due.emit()

    def _wait(self, waits: bool) -> None:
        if waits and not self._waits:
            self._panel.installEventFilter(self)
        elif self._waits and not waits:
            self._panel.removeEventFilter(self)
        self._waits = waits

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice the first paint of the panel."""
        if event.type() == QEvent.Type.Paint:
            self._wait(False)
            self._soon.start(0)
        return False
