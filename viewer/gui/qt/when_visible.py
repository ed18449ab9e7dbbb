"""Figures of a large trace are worked out when their panel is seen, not for nobody.

A panel is not seen in a closed dock, behind another tab, or before its window is shown. Behind a
tab Qt moves it out of the window and calls it visible still, so its visible region is what counts,
and that it comes to be seen is told by its first painting. Of ten million slices the figures of
one panel may take a gigabyte while they are worked out.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard

BEING_COUNTED = "This is being worked out…"


class WhenVisible(QObject):
    """Whether a panel is seen; `due` comes when what was put off is to be done."""

    due = Signal()

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._panel = panel
        self._waits = False
        self._soon = QTimer(self)  # nothing may change what is shown while it is painted
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.due)

    def put_off(self) -> bool:
        """Whether nobody sees the panel: then what is asked now is put off until somebody does."""
        self._soon.stop()
        self._wait(self._panel.visibleRegion().isEmpty())
        return self._waits

    def _wait(self, waits: bool) -> None:
        if waits and not self._waits:
            self._panel.installEventFilter(self)
        elif self._waits and not waits:
            self._panel.removeEventFilter(self)
        self._waits = waits

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice that the panel is painted."""
        if event.type() == QEvent.Type.Paint:
            self._wait(False)
            self._soon.start(0)
        return False
