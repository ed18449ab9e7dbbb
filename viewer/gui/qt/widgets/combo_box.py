"""A combo box whose list looks like the other lists, with a check at the current row."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSignalBlocker, Qt
from PySide6.QtGui import QIcon, QPainter
from PySide6.QtWidgets import QComboBox, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import ICON_SIZE, Theme
from viewer.model.text import visible_controls


class ComboBox(QComboBox):
    """A combo box; Qt's own rows ignore the style sheet, and do not show which is chosen."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setItemDelegate(_Rows(self, theme))

    @guard
    def addItem(self, text: str, userData: object = None) -> None:  # type: ignore[override]
        """Add a row, with control characters of its text as escapes."""
        super().addItem(visible_controls(text), userData)

    def offer(self, texts: Iterable[str], current: int) -> None:
        """Replace the rows without signals. current: the one to show, -1 for the first."""
        with QSignalBlocker(self):
            self.clear()
            for text in texts:
                self.addItem(text)
            if current >= 0:
                self.setCurrentIndex(current)

    @guard
    def showPopup(self) -> None:
        rows = self.view()
        # A row is wider than the box by the room for its check.
        around = rows.frameWidth() + self._theme.px(10)
        rows.setMinimumWidth(max(self.width(), rows.sizeHintForColumn(0) + 2 * around))
        super().showPopup()


class _Rows(QStyledItemDelegate):
    def __init__(self, box: QComboBox, theme: Theme) -> None:
        super().__init__(box)
        self._box = box
        self._theme = theme

    @guard
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        # The selected row is the one below the pointer: the list has no hover of its own.
        option.state &= ~(QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_MouseOver)
        super().paint(painter, option, index)
        if index.row() == self._box.currentIndex():
            room = option.rect.adjusted(self._theme.px(6), 0, 0, 0)
            side = self._theme.px(ICON_SIZE)
            room.setWidth(side)
            check: QIcon = self._theme.icon("check", "accent")
            check.paint(painter, room, Qt.AlignmentFlag.AlignCenter)
