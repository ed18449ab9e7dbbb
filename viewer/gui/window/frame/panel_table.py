"""The table of all panels, from which docks, menus, keys, help pages and row menus are built.

To add a panel, write its folder below `viewer/gui/panels`, a page of the same name in
`resources/help`, and one `PanelSpec` here. The order of the table is that of tabs, menus and
commands. `panel_presence` says when a panel opens by itself; one that it does not name does so for
every open file. This module does not use Qt, because the first window needs the table for its help.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

# Separates groups in a row menu; the same value as SEPARATOR in `viewer.gui.qt.commands`.
_LINE = "-"
# Commands for rows that select operators or slices.
_CHOSEN = ("view.fit", "selection.area", _LINE, "panel.details")


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


SIDE, LEFT, RIGHT = PanelArea
TIME, MODEL, SELECTION, FILES = PanelGroup


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page of a panel, with its own widget, command, row menu and help page.

    Attributes:
        id: its name, which stored sessions refer to.
        title: its title in menus and in the help.
        factory: "module:class" below `viewer.gui.panels`; the class takes a session and a theme.
        row_commands: ids of commands added to the menu of its rows or lines, with separators.
        choice: its title in the switch of the panel, "" for the same.
    """

    id: str
    title: str
    factory: str
    row_commands: tuple[str, ...] = ()
    choice: str = ""

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
    factory: str = "base.mode_panel:ModePanel"
    follows: bool = False


def _of_one(
    id: str,
    title: str,
    factory: str,
    area: PanelArea,
    group: PanelGroup,
    row_commands: tuple[str, ...] = (),
) -> PanelSpec:
    """Return a panel that has one page."""
    return PanelSpec(id, title, area, group, (PageSpec(id, title, factory, row_commands),))


PANELS = (
    _of_one("summary", "Summary", "summary.panel:SummaryPanel", SIDE, TIME),
    _of_one("compare", "Compare", "compare.panel:ComparePanel", SIDE, TIME),
    _of_one("details", "Details", "details.panel:DetailsPanel", SIDE, SELECTION),
    PanelSpec(
        "operators", "Operators", LEFT, TIME,
        (
            PageSpec(
                "operators", "Operators", "operators.panel:OperatorsPanel",
                (*_CHOSEN, "panel.source", "panel.graph", "panel.model"),
            ),
            PageSpec(
                "statistics", "Statistics", "statistics.panel:StatisticsPanel",
                ("view.fit", "selection.area", _LINE, "panel.selection", "panel.details"),
            ),
            PageSpec(
                "events", "Events", "events.panel:EventsPanel",
                (*_CHOSEN, "panel.source", "panel.graph"),
            ),
            PageSpec(
                "untimed", "Untimed events", "untimed.panel:UntimedPanel", ("panel.details",)
            ),
        ),
        "Operators by", "operators.by_panel:OperatorsByPanel",
    ),
    _of_one(
        "calls", "Calls", "calls.panel:CallsPanel", LEFT, TIME,
        ("view.fit", "selection.area", _LINE, "panel.selection", "panel.details", "panel.source"),
    ),
    _of_one(
        "model", "Model", "model.panel:ModelPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.operators"),
    ),
    _of_one("graph", "Graph", "graph.panel:GraphPanel", LEFT, MODEL),
    PanelSpec(
        "delegation", "Delegation", LEFT, MODEL,
        (
            PageSpec(
                "delegation", "Delegation", "delegation.panel:DelegationPanel",
                (*_CHOSEN, "panel.source", "panel.links"), "Report",
            ),
            PageSpec(
                "handle_map", "Handle map", "handle_map.panel:HandleMapPanel",
                (*_CHOSEN, "panel.source"),
            ),
        ),
        "Delegation as",
    ),
    _of_one(
        "estimates", "Estimates", "estimates.panel:EstimatesPanel", LEFT, TIME, _CHOSEN
    ),
    _of_one(
        "memory", "Memory", "memory.panel:MemoryPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.program"),
    ),
    _of_one(
        "numbers", "Numbers", "numbers.panel:NumbersPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.untimed"),
    ),
    PanelSpec(
        "program", "Program", LEFT, MODEL,
        (
            PageSpec(
                "sizes", "Sizes", "sizes.panel:SizesPanel",
                (*_CHOSEN, "panel.source", "panel.graph", "panel.program"), "Treemap",
            ),
            PageSpec("program", "Program", "program.panel:ProgramPanel", choice="Tree"),
        ),
        "Program as",
    ),
    _of_one("source", "Source", "source.panel:SourcePanel", RIGHT, MODEL, ("edit.source",)),
    PanelSpec(
        "checks", "Checks", RIGHT, FILES,
        (
            PageSpec(
                "findings", "Findings", "findings.panel:FindingsPanel",
                (*_CHOSEN, "panel.operators", "panel.source", _LINE, "mark.keep"),
            ),
            PageSpec(
                "problems", "Problems", "problems.panel:ProblemsPanel",
                ("panel.links", "file.reload"),
            ),
            PageSpec("links", "Links", "links.panel:LinksPanel"),
        ),
        "Checks", "base.sections_panel:SectionsPanel",
    ),
    PanelSpec(
        "list", "List", RIGHT, SELECTION,
        (
            PageSpec(
                "search", "Search", "search.panel:HitsPanel",
                (*_CHOSEN, "panel.source", "panel.graph", _LINE, "mark.keep", "view.only_hits"),
            ),
            PageSpec(
                "selection", "Selection", "selection.panel:SelectionPanel",
                ("view.fit", "selection.area", "selection.export", _LINE, "mark.keep"),
            ),
            PageSpec(
                "marks", "Bookmarks", "bookmarks.panel:BookmarksPanel",
                ("mark.fit", "mark.rename", "mark.remove"),
            ),
        ),
        "List of", follows=True,
    ),
)  # fmt: skip
PANEL = {spec.id: spec for spec in PANELS}
PAGES = {page.id: page for spec in PANELS for page in spec.pages}
# The panels of pages and, for other names, of themselves.
PANEL_OF = {spec.id: spec.id for spec in PANELS} | {
    page.id: spec.id for spec in PANELS for page in spec.pages
}


def tabs_of(area: PanelArea) -> tuple[str, ...]:
    """The ids of an area's panels, in the order of their tabs."""
    return tuple(spec.id for spec in PANELS if spec.area is area)
