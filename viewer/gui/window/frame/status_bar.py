"""The status bar: the visible range, the selection or last message, and progress.

Also the page that shows the progress while nothing else is open. Both exist from the first paint
on, before the parts that use them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QStatusBar,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel

PROGRESS_AFTER_MS = 300
MESSAGE_MS = 10_000
_STEPS = 1000
_RANGE_STEP = 64  # px
_PAGE_WIDTH = 420
_MOST_NAMED = 3


class StatusBar(QStatusBar):
    """Shows texts and progress; emits `cancelled` when its Cancel button is clicked.

    `said` is the last message, or else the selection. No text makes the window wider.
    """

    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.range = QLabel()
        self.range.setTextFormat(Qt.TextFormat.PlainText)
        self.said = ElidedLabel("", theme, "body", "text2")
        self.progress = QProgressBar()
        self.progress.setFixedWidth(180)
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self._task = ElidedLabel("", theme, "body", "text2")
        self._task.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        self.addWidget(self.range)
        self.addWidget(self.said, 1)
        self._busy = (self._task, self.progress, self.cancel)
        for widget in self._busy:
            self.addPermanentWidget(widget, 1 if widget is self._task else 0)
        self._selection = ""
        self._message_timer = QTimer(self)  # runs while a message is shown
        self._message_timer.setSingleShot(True)
        self._message_timer.setInterval(MESSAGE_MS)
        self._message_timer.timeout.connect(self._show_selection)
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

    def show_selection(self, text: str) -> None:
        """Show the text of the selection, in place of any message."""
        self._selection = text
        self._message_timer.stop()
        self._show_selection()

    def show_text(self, text: str) -> None:
        """Show a message for 10 s, or until the selection changes."""
        self.said.setText(text)
        self._message_timer.start()

    def _show_selection(self) -> None:
        self.said.setText(self._selection)

    def start(self) -> None:
        """Show progress with a Cancel button, unless `end` follows within 300 ms."""
        self._late.start()

    def set_status(self, task: str, share: float | None = None) -> None:
        """Show the current task, and the fraction done, 0 to 1."""
        self._task.setText(task)
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

    @guard(QSize(0, 0))
    def minimumSizeHint(self) -> QSize:
        """As narrow as the window needs; texts are elided."""
        return QSize(0, super().minimumSizeHint().height())


class ReadingPage(QWidget):
    """What is read, how far, and a button that emits `cancelled`."""

    cancelled = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.task = ElidedLabel("", theme, "body", "text2", Qt.TextElideMode.ElideMiddle)
        self.task.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.progress = QProgressBar()
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelled)
        self.task.setFixedWidth(theme.px(_PAGE_WIDTH))
        self.progress.setFixedWidth(theme.px(_PAGE_WIDTH))
        column = QVBoxLayout(self)
        column.setSpacing(theme.px(12))
        column.addStretch(1)
        for widget in (self.task, self.progress, self.cancel):
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget)
            row.addStretch(1)
            column.addLayout(row)
        column.addStretch(1)

    def begin(self, paths: Sequence[str]) -> None:
        """Name the files that are about to be read, or the folders that are searched."""
        names = [os.path.basename(path.rstrip(os.sep)) or path for path in paths]
        more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
        self.show_progress(f"Reading {' · '.join([*names[:_MOST_NAMED], *more])}", 0.0)

    def show_progress(self, task: str, share: float) -> None:
        """Show what is read, and the fraction of it that is done, 0 to 1."""
        self.task.setText(task)
        self.progress.setValue(round(share * _STEPS))
