"""Opens the help page for where the focus or the mouse is, and starts the tour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QWidget

from viewer.gui.qt.command_table import CommandTable
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.help.pages import INDEX, TIMELINE

if TYPE_CHECKING:
    from viewer.gui.window.help.tour import Tour
    from viewer.gui.window.help.window import HelpWindow


class Help(QObject):
    """The help window and the tour of one window, both created on first use."""

    def __init__(
        self,
        table: CommandTable,
        docks: Docks,
        timeline: Timeline,
        make_tour: Callable[[], Tour],
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._table, self._docks, self._timeline = table, docks, timeline
        self._make_tour, self._shell = make_tour, shell
        self.window: HelpWindow | None = None
        self.tour: Tour | None = None

    # -- help ----------------------------------------------------------------------------------

    def show_help(self, page: str, heading: str = "") -> None:
        """Open a help page in its window, next to the main window."""
        from viewer.gui.window.help.window import HelpWindow

        if self.window is None:
            self.window = HelpWindow(self._table, self._shell.theme, self._shell)
        self.window.open_page(page, heading)
        self.window.show()
        self.window.activateWindow()
        self.window.text.setFocus()

    @Slot()
    def show_help_here(self) -> None:
        """Open the help on the focused panel, else on what is under the mouse."""
        focus = QApplication.focusWidget()
        shell = self._shell
        below = shell.childAt(shell.mapFromGlobal(QCursor.pos()))
        on_dock = self.page_of(focus) if self.page_of(focus) != TIMELINE else ""
        self.show_help(on_dock or self.page_of(below) or self.page_of(focus) or INDEX)

    def page_of(self, widget: QWidget | None) -> str:
        """The help page of the dock or timeline that contains a widget; "" for anything else."""
        if widget is None:
            return ""
        for name, dock in self._docks.by_name.existing.items():
            if dock is widget or dock.isAncestorOf(widget):
                return self._docks.table.pages[name].help_page
        timeline = self._timeline
        return TIMELINE if timeline is widget or timeline.isAncestorOf(widget) else ""

    # -- the tour ------------------------------------------------------------------------------

    @Slot()
    def start_tour(self) -> None:
        """Start the tour, which has four steps."""
        if self.tour is None:
            self.tour = self._make_tour()
        self.tour.start()

    def leave_tour(self) -> bool:
        """End the tour; returns whether it was running."""
        if self.tour is None or not self.tour.is_on:
            return False
        self.tour.leave()
        return True
