"""A stack of pages that is laid out by its current page alone."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStackedWidget

from viewer.gui.qt.crash_report import guard


class PageStack(QStackedWidget):
    """Shows one of several pages, each of which fills it; hidden pages do not affect its size.

    Its height does not depend on its width. Otherwise every layout of the window would break the
    text of each label into lines several times, in hidden pages too.
    """

    @guard(QSize(0, 0))
    def sizeHint(self) -> QSize:
        """That of the current page."""
        page = self.currentWidget()
        return QSize() if page is None else page.sizeHint()

    @guard(QSize(0, 0))
    def minimumSizeHint(self) -> QSize:
        """That of the current page."""
        page = self.currentWidget()
        return QSize() if page is None else page.minimumSizeHint()

    @guard(False)
    def hasHeightForWidth(self) -> bool:
        """Never."""
        return False
