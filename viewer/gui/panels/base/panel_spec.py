"""What a window must know of a panel before it makes it: a `PanelSpec`, and the table of them.

Docks, menus, commands, keys, help pages and row menus are built from it, since a panel is imported
and made only when its tab is first in front. `viewer.gui.window.frame.panel_table` has the specs.
This module does not use Qt, because the first window needs the table for its help.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from viewer.dataclasses import dataclass

if TYPE_CHECKING:
    from viewer.gui.session.session import Session

# Separates groups in a row menu; the same value as SEPARATOR in `viewer.gui.qt.command_table`.
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


class Presence(enum.Enum):
    """What a panel has to show.

    Few tabs are enough for most files: Operators, Calls, Model, Graph, Delegation, Source, and
    Summary with Details. What needs an ETRecord or a source has no tab until there is one. Findings
    and Statistics then are in the menu at the end of the tabs; without a record they open in the
    place of Source.
    """

    NOTHING = enum.auto()  # it would be empty
    AVAILABLE = enum.auto()  # it has something, and is listed in the menu of its area
    OPEN = enum.auto()  # it has something, and opens by itself

    @classmethod
    def open_if(cls, has: bool, otherwise: Presence | None = None) -> Presence:
        """Return OPEN on a condition, else `otherwise` or NOTHING."""
        return cls.OPEN if has else otherwise or cls.NOTHING

    @classmethod
    def available_if(cls, has: bool) -> Presence:
        """Return AVAILABLE on a condition, else NOTHING."""
        return cls.AVAILABLE if has else cls.NOTHING


def open_always(session: Session) -> Presence:
    """The presence of what every file has."""
    return Presence.OPEN


class PanelCommand(NamedTuple):
    """A command of a panel, which can be there before it. The rest is as in `Command`.

    method: of the widget, runs it. needs: what it requires, as text. ready: tells whether it can
    run now: a property of the widget, false without it, or a function of the session. after: the id
    of the command that it follows in lists, "" for those that show panels.
    """

    id: str
    title: str
    menu: str
    method: str
    needs: str = ""
    ready: str | Callable[[Session], bool] = ""
    keys: tuple[str, ...] = ()
    after: str = ""
    repeats: bool = True
    keywords: str = ""


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page of a panel, with its own widget, command, row menu and help page.

    Attributes:
        id: its name, which stored sessions refer to.
        factory: "module:class" of the widget, a `Panel`; the class takes a `PanelHost`.
        presence: what it has to show for a session that is not empty.
        row_commands: ids of commands added to the menu of its rows or lines, with separators.
        choice: its title in the switch of the panel, "" for the same.
        in_view: whether its `presence` depends on the view, not only on the open files.
        of_all: whether it is about all open files together, not about the one that panels show.
        leads: whether it comes to the front when only program files are open.
        counts: whether its tab has its number of rows, so that it is made as soon as it has any.
        is_called_up: whether the selection brings it to the front until it is cleared; None for
            never.
        commands: those that it adds to those of the window.
    """

    id: str
    title: str
    factory: str
    presence: Callable[[Session], Presence] = open_always
    row_commands: tuple[str, ...] = ()
    choice: str = ""
    in_view: bool = False
    of_all: bool = False
    leads: bool = False
    counts: bool = False
    is_called_up: Callable[[Session], bool] | None = None
    commands: tuple[PanelCommand, ...] = ()

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

    id: stored layouts refer to it. pages: a panel of several has a switch, with an accessible name;
    `follows` tells whether it shows a page as soon as that has something to show, and
    `has_sections` whether they are below each other, all in sight. The first is shown first.
    factory: "module:class" of the panel around several pages.
    """

    id: str
    title: str
    area: PanelArea
    group: PanelGroup
    pages: tuple[PageSpec, ...]
    switch: str = ""
    factory: str = "viewer.gui.panels.base.multi_page_panel:ModePanel"
    follows: bool = False
    has_sections: bool = False


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
