"""What leads a newcomer: the help for where the keyboard or the mouse is, and the tour.

It belongs to a desk and knows its docks; the pages and the steps themselves know none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from viewer.gui.qt.commands.command_table import Command
from viewer.gui.window.help.pages import GLOSSARY, INDEX, RECORDING, TIMELINE
from viewer.gui.window.help.tour import Tour
from viewer.gui.window.help.window import HelpWindow

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


class Help(QObject):
    """The help and the tour of one desk."""

    def __init__(self, desk: WindowController) -> None:
        super().__init__(desk)
        self._desk = desk
        self.help: HelpWindow | None = None
        self.tour: Tour | None = None
        self._button = QToolButton()
        self._button.setDefaultAction(desk.commands.actions["help.here"])
        self._button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        # At the end of the menus, where it takes no room from the toolbar.
        desk.window.menuBar().setCornerWidget(self._button)
        desk.theme.changed.connect(self._retheme)
        self._retheme()
        desk.session.workspace_changed.connect(self._welcome)
        self._welcome()

    @Slot()
    def _retheme(self) -> None:
        self._button.setIcon(self._desk.theme.icon("help"))

    @Slot()
    def _welcome(self) -> None:
        """Let the start page offer what was open last time, if it is still there."""
        if self._desk.session.is_empty:
            there_is = self._desk.commands.commands["file.last_session"].is_possible
            self._desk.window.start_page.offer_last_session(there_is)

    # -- help ----------------------------------------------------------------------------------

    def show_help(self, page: str, heading: str = "") -> None:
        """Open a page of the help beside the window."""
        if self.help is None:
            self.help = HelpWindow(self._desk.commands, self._desk.theme, self._desk.window)
        self.help.open_page(page, heading)
        self.help.show()
        self.help.activateWindow()
        self.help.text.setFocus()

    @Slot()
    def show_help_here(self) -> None:
        """Help on the panel that has the keyboard, else on what is under the mouse."""
        focus = QApplication.focusWidget()
        window = self._desk.window
        below = window.childAt(window.mapFromGlobal(QCursor.pos()))
        on_dock = self.page_of(focus) if self.page_of(focus) != TIMELINE else ""
        self.show_help(on_dock or self.page_of(below) or self.page_of(focus) or INDEX)

    def page_of(self, widget: QWidget | None) -> str:
        """The page on the dock that a widget is in, or on the timeline; "" for anything else."""
        if widget is None:
            return ""
        for name, dock in self._desk.docks.by_name.items():
            if dock is widget or dock.isAncestorOf(widget):
                return name
        timeline = self._desk.timeline
        return TIMELINE if timeline is widget or timeline.isAncestorOf(widget) else ""

    # -- the tour ------------------------------------------------------------------------------

    @Slot()
    def start_tour(self) -> None:
        """Lead through the window in four steps."""
        if self.tour is None:
            self.tour = Tour(self._desk)
        self.tour.start()

    def leave_tour(self) -> bool:
        """End the tour; whether there was one."""
        if self.tour is None or not self.tour.is_on:
            return False
        self.tour.leave()
        return True


def guide_commands(desk: WindowController) -> list[Command]:
    """The commands that lead a newcomer."""

    def help_here() -> None:
        desk.guide.show_help_here()

    return [
        Command("help.here", "&Help on this panel", "Help", help_here, ("F1",)),
        Command("help.tour", "Take the &tour", "Help", lambda: desk.guide.start_tour()),
        Command(
            "help.recording", "How to &record a profile", "Help",
            lambda: desk.guide.show_help(RECORDING),
        ),
        Command("help.glossary", "&Glossary", "Help", lambda: desk.guide.show_help(GLOSSARY)),
    ]  # fmt: skip
