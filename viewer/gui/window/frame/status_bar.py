"""The status bar: the visible range, the selection or last message, and progress.

It exists from the first paint on, before the parts that use it.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QStatusBar, QWidget

PROGRESS_AFTER_MS = 300
_STEPS = 1000
_RANGE_STEP = 64  # px
_TASK_SHARE = 0.5  # of the bar


class StatusBar(QStatusBar):
    """Shows texts and progress; emits `cancelled` when its Cancel button is clicked."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.range, self.said = QLabel(), QLabel()
        self.progress = QProgressBar()
        self.progress.setFixedWidth(180)
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self._task = QLabel()
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        for text in (self.range, self.said, self._task):
            text.setTextFormat(Qt.TextFormat.PlainText)
        self.addWidget(self.range)
        self.addWidget(self.said, 1)
        self._busy = (self._task, self.progress, self.cancel)
        for widget in self._busy:
            self.addPermanentWidget(widget)
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(PROGRESS_AFTER_MS)
        self._late.timeout.connect(self._show_busy)
        self.end()

    def show_range(self, text: str) -> None:
        """Show the visible range."""
        self.range.setText(text)
        # Each change of the label's width causes a new layout and repaint, so widths are rounded
        # up.
        needed = self.range.sizeHint()
        steps = -(-needed.width() // _RANGE_STEP) if text else 0
        self.range.setFixedSize(steps * _RANGE_STEP, needed.height())

    def show_text(self, text: str) -> None:
        """Show a text until the selection changes."""
        self.said.setText(text)

    def start(self) -> None:
        """Show progress with a Cancel button, unless `end` follows within 300 ms."""
        self._late.start()

    def set_status(self, task: str, share: float | None = None) -> None:
        """Show the current task, and the fraction done, 0 to 1."""
        # The bar must not become wider than the window; the tooltip has the full text.
        room = round(self.width() * _TASK_SHARE)
        self._task.setText(self.fontMetrics().elidedText(task, Qt.TextElideMode.ElideRight, room))
        self._task.setToolTip(task)
        self._task.setAccessibleName(task)
        if share is not None:
            self.progress.setValue(round(share * _STEPS))

    def end(self) -> None:
        """Hide progress and Cancel button."""
        self._late.stop()
        for widget in self._busy:
            widget.hide()

    def _show_busy(self) -> None:
        for widget in self._busy:
            widget.show()
