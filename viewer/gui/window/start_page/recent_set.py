"""A row on the start page for files that were open together; a click opens them again."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, explain

_HEIGHT = 52
_ICON = 16


class RecentSet(QPushButton):
    """The first file of a set, and below it the others; grayed out if none of them exists.

    Emits `open_requested(paths)` with those that exist.
    """

    open_requested = Signal(list)

    def __init__(self, paths: Sequence[str], gone: Collection[str], theme: Theme) -> None:
        super().__init__()
        self._height = theme.px(_HEIGHT)
        self._present = [path for path in paths if path not in gone]
        self.setProperty("flat", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setEnabled(bool(self._present))
        explain(self, "\n".join(f"{path}{' (missing)' * (path in gone)}" for path in paths))
        first, *others = (os.path.basename(path) for path in paths)
        self.setAccessibleName(f"Open {', '.join((first, *others))}")
        tone = "text1" if self._present else "text3"
        name = ElidedLabel(first, theme, "tab_active", tone)
        rest = ElidedLabel(" · ".join(others), theme, "caption", "text2")
        folder = os.path.basename(os.path.dirname(paths[0]))
        where = ElidedLabel(_where(folder, paths, gone), theme, "caption", "text3")
        where.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        icon = QLabel()
        size = theme.px(_ICON)
        icon.setPixmap(theme.icon("file").pixmap(size, size))
        grid = QGridLayout(self)
        grid.setContentsMargins(theme.px(8), theme.px(6), theme.px(8), theme.px(6))
        grid.setHorizontalSpacing(theme.px(12))
        grid.setVerticalSpacing(0)
        rows = 2 if others else 1
        grid.addWidget(icon, 0, 0, rows, 1)
        grid.addWidget(name, 0, 1)
        grid.addWidget(where, 0, 2, rows, 1)
        if others:
            grid.addWidget(rest, 1, 1)
        grid.setColumnStretch(1, 3)
        grid.setColumnStretch(2, 1)
        for widget in (icon, name, rest, where):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if not others:
            rest.setParent(self)
            rest.hide()
        self.clicked.connect(self._open)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        # The style sheet sets a minimum height, so a fixed one would have no effect.
        return QSize(super().sizeHint().width(), self._height)

    @Slot()
    def _open(self) -> None:
        self.open_requested.emit(self._present)


def _where(folder: str, paths: Sequence[str], gone: Collection[str]) -> str:
    """Return the folder, or how many of the files are missing."""
    missing = sum(path in gone for path in paths)
    if not missing:
        return folder
    return "missing" if missing == len(paths) else f"{missing} of {len(paths)} missing"
