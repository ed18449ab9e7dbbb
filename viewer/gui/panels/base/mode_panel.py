"""A panel of several pages, of which a switch shows one.

Each page is a panel of its own, with its table, menu and help. The switch is at the start of the
line above the page, and stays there when the page is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QApplication, QComboBox, QToolButton, QWidget

from viewer.gui.panels.base.page_panel import PagePanel, plain_column
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import PageStack
from viewer.gui.qt.widgets.segment_bar import SegmentBar


class ModePanel(QWidget):
    """The pages by id, and the switch. `mode_changed()`: another page is shown."""

    mode_changed = Signal()

    def __init__(
        self, name: str, pages: Mapping[str, PagePanel], titles: Mapping[str, str], theme: Theme
    ) -> None:
        """name: the accessible name of the switch. pages: each can be made when it is first shown.

        titles: of the pages in the switch.
        """
        super().__init__()
        self.pages = pages
        self.mode = next(iter(pages))
        self._titles, self._theme = titles, theme
        self._arrange(name)
        self._show(self.mode)

    def _arrange(self, name: str) -> None:
        """Lay out the pages and the switch."""
        self._stack = PageStack()
        plain_column(self).addWidget(self._stack)
        self.switch = self.make_switch(name)

    def make_switch(self, name: str) -> QWidget:
        """Return the widget that switches between the pages."""
        self.bar: SegmentBar[str] = SegmentBar(name, dict.fromkeys(self.pages, ""), self._titles)
        self.bar.picked.connect(self.show_mode)
        return self.bar

    def mark_mode(self, mode: str) -> None:
        """Show in the switch which page is shown."""
        self.bar.press(mode)

    def show_count(self, mode: str, count: str) -> None:
        """Show the number of rows of a page in the switch; "" for none."""
        title = self._titles[mode]
        self.bar.buttons[mode].setText(f"{title} ({count})" if count else title)

    @Slot(object)
    def show_mode(self, mode: str) -> None:
        """Show a page."""
        if mode != self.mode:
            self._show(mode)
            self.mode_changed.emit()

    def _show(self, mode: str) -> None:
        page = self.pages[mode]
        # A page comes into the window when it is first shown, as panels do.
        if self._stack.indexOf(page) < 0:
            self._stack.addWidget(page)
        focus = QApplication.focusWidget()
        page.take_switch(self.switch)
        self._stack.setCurrentWidget(page)
        self.mode = mode
        self._order_tabs()
        self.mark_mode(mode)
        if focus is not None and self.switch.isAncestorOf(focus):
            focus.setFocus()  # moving it took it away

    def _order_tabs(self) -> None:
        """Let Tab reach the switch before the tools and the table of the page."""
        page = self.pages[self.mode]
        controls = (*self.switch.findChildren(QComboBox), *self.switch.findChildren(QToolButton))
        reached = [*controls, *page.tools, *filter(None, [page.findChild(QAbstractItemView)])]
        for before, after in pairwise(reached):
            QWidget.setTabOrder(before, after)

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._order_tabs()  # coming into the window changes the order
