"""What a window must know of a panel before it makes it: a `PanelSpec`, and the table of them.

Docks, menus, keys, help pages and row menus are built from it. A panel of one page states its spec
in its folder, and `viewer.gui.window.frame.panel_table` lists it. This module does not use Qt,
because the first window needs the table for its help.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

# Separates groups in a row menu; the same value as SEPARATOR in `viewer.gui.qt.commands`.
LINE = "-"
# Commands for rows that select operators or slices.
CHOSEN = ("view.fit", "selection.area", LINE, "panel.details")


class PanelArea(enum.Enum):
    """The area of a panel in a wide window; the help lists areas in this order."""

    SIDE = enum.auto()  # right of the timeline, at full height
    LEFT = enum.auto()  # below the timeline, a tab of the left half
    RIGHT = enum.auto()  # below the timeline, a tab of the right half


class PanelGroup(enum.Enum):
    """What a panel is about; View > Panels lists the groups in this order."""

    TIME = enum.auto()
    MODEL = enum.auto()
    SELECTION = enum.auto()
    FILES = enum.auto()


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page of a panel, with its own widget, command, row menu and help page.

    Attributes:
        id: its name, which stored sessions refer to.
        title: its title in menus and in the help.
        factory: "module:class" of the widget, a `Panel`; the class takes a `PanelHost`.
        row_commands: ids of commands added to the menu of its rows or lines, with separators.
        choice: its title in the switch of the panel, "" for the same.
        in_view: whether its `presence` depends on the view, not only on the open files.
        of_all: whether it is about all open files together, not about the one that panels show.
        leads: whether it comes to the front when only program files are open.
    """

    id: str
    title: str
    factory: str
    row_commands: tuple[str, ...] = ()
    choice: str = ""
    in_view: bool = False
    of_all: bool = False
    leads: bool = False

    @property
    def command(self) -> str:
        """The id of the command that shows the page."""
        return f"panel.{self.id}"

    @property
    def help_page(self) -> str:
        """The help page about it."""
        return self.id


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """A panel, which is shown as a tab of its area.

    Attributes:
        id: its name, which stored layouts refer to.
        title: title of the tab, also used in menus.
        pages: what it shows; a panel of several has a switch. The first is shown first.
        switch: the accessible name of the switch.
        factory: "module:class" of the panel around several pages.
        follows: whether it shows a page as soon as that has something to show.
    """

    id: str
    title: str
    area: PanelArea
    group: PanelGroup
    pages: tuple[PageSpec, ...]
    switch: str = ""
    factory: str = "viewer.gui.panels.base.mode_panel:ModePanel"
    follows: bool = False


def panel_of_page(page: PageSpec, area: PanelArea, group: PanelGroup) -> PanelSpec:
    """Return a panel that has one page, with the id and title of that page."""
    return PanelSpec(page.id, page.title, area, group, (page,))


class PanelTable:
    """The panels of a window, in the order of tabs, menus and commands.

    `panels` and `pages` are by id; `panel_of` has the id of the panel of each page and, for other
    names, of each panel.
    """

    def __init__(self, specs: Iterable[PanelSpec]) -> None:
        self.panels = {spec.id: spec for spec in specs}
        self.pages = {page.id: page for spec in self.panels.values() for page in spec.pages}
        self.panel_of = {id: id for id in self.panels} | {
            page.id: spec.id for spec in self.panels.values() for page in spec.pages
        }
