"""The page of a window while its first files are read: their names, the progress, and Cancel.

It exists from the first paint on, so nothing imported here may need numpy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel

_STEPS = 1000
_WIDTH = 420
_MOST_NAMED = 3


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
        for widget in (self.task, self.progress):
            widget.setFixedWidth(theme.px(_WIDTH))
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
