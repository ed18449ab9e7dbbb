"""The header of a table: a sorted column's title makes room for the arrow at its right."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyleOptionHeader

from viewer.gui.qt.crash_report import guard

# Qt draws the arrow over the end of a right-aligned title, and does not strip these spaces.
_ROOM = "\u00a0" * 5


class SortHeader(QHeaderView):
    """A horizontal header with clickable titles; a click that sorts shows the first rows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.sectionClicked.connect(self._show_top)  # emitted once the rows are sorted

    @guard
    def initStyleOptionForIndex(self, option: QStyleOptionHeader, section: int) -> None:
        super().initStyleOptionForIndex(option, section)
        sorted_by = option.sortIndicator != QStyleOptionHeader.SortIndicator.None_
        if sorted_by and option.textAlignment & Qt.AlignmentFlag.AlignRight:
            option.text = option.text + _ROOM

    @Slot()
    def _show_top(self) -> None:
        table = self.parent()
        if self.isSortIndicatorShown() and isinstance(table, QAbstractItemView):
            table.scrollToTop()
