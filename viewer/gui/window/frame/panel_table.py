"""The one table of the panels: docks, menus, keys, help pages and context menus follow from it.

To add a panel, write its folder below `viewer/gui/panels`, a page of the same name in
`resources/help`, and one `PanelSpec` here. No Qt: the first window needs the table for its help.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

# What a menu of rows has between two groups of commands; `viewer.gui.qt.commands` calls it so too.
_LINE = "-"
# Commands on rows that choose operators or slices.
_CHOSEN = ("view.fit", "selection.area", _LINE, "panel.details")


class PanelArea(enum.Enum):
    """Where a panel is as designed, in the order in which the help lists the areas."""

    SIDE = enum.auto()  # right of the timeline, at full height
    LEFT = enum.auto()  # below the timeline, a tab of the left half
    RIGHT = enum.auto()  # below the timeline, a tab of the right half


SIDE, LEFT, RIGHT = PanelArea


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One panel, in a dock of its own.

    id: name of its dock, as stored layouts have it. title: of the dock and in menus. factory:
    module below `viewer.gui.panels` and class, which takes a session and a theme. tab: its place
    among the tabs of its area, from 0; the first is in front. place: its place in View > Panels,
    from 0. row_commands: ids that the menu of a row of its tables adds, with lines between groups.
    """

    id: str
    title: str
    factory: str
    area: PanelArea
    tab: int
    place: int
    row_commands: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The id of the command that shows it."""
        return f"panel.{self.id}"

    @property
    def help_page(self) -> str:
        """The page of the help on it."""
        return self.id


# In the order of the commands that show them.
PANELS = (
    PanelSpec("details", "Details", "details.panel:DetailsPanel", SIDE, 0, 0),
    PanelSpec(
        "operators", "Operators", "operators.panel:OperatorsPanel", LEFT, 0, 1,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.model"),
    ),
    PanelSpec(
        "model", "Model", "model.panel:ModelPanel", LEFT, 1, 2,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.operators"),
    ),
    PanelSpec(
        "findings", "Findings", "findings.panel:FindingsPanel", LEFT, 2, 5,
        (*_CHOSEN, "panel.operators", "panel.source", _LINE, "mark.keep"),
    ),
    PanelSpec("graph", "Graph", "graph.panel:GraphPanel", LEFT, 3, 7),
    PanelSpec(
        "statistics", "Statistics", "statistics.panel:StatisticsPanel", LEFT, 4, 3,
        ("view.fit", "selection.area", _LINE, "panel.selection", "panel.details"),
    ),
    PanelSpec(
        "events", "Events", "events.panel:EventsPanel", LEFT, 5, 4,
        (*_CHOSEN, "panel.source", "panel.graph"),
    ),
    PanelSpec("estimates", "Estimates", "estimates.panel:EstimatesPanel", LEFT, 6, 6, _CHOSEN),
    PanelSpec(
        "handle_map", "Handle map", "handle_map.panel:HandleMapPanel", LEFT, 7, 8,
        (*_CHOSEN, "panel.source"),
    ),
    PanelSpec("source", "Source", "source.panel:SourcePanel", RIGHT, 0, 9),
    PanelSpec("links", "Links", "links.panel:LinksPanel", RIGHT, 1, 10),
    PanelSpec(
        "delegation", "Delegation", "delegation.panel:DelegationPanel", RIGHT, 2, 11,
        (*_CHOSEN, "panel.source", "panel.links"),
    ),
    PanelSpec(
        "problems", "Problems", "problems.panel:ProblemsPanel", RIGHT, 3, 12,
        ("panel.links", "file.reload"),
    ),
    PanelSpec(
        "untimed", "Untimed events", "untimed.panel:UntimedPanel", RIGHT, 4, 13,
        ("panel.details",),
    ),
    PanelSpec(
        "selection", "Selection", "selection.panel:SelectionPanel", LEFT, 8, 14,
        ("view.fit", "selection.area", "selection.export", _LINE, "mark.keep"),
    ),
    PanelSpec(
        "marks", "Marks", "bookmarks.panel:BookmarksPanel", RIGHT, 6, 15,
        ("mark.fit", "mark.rename", "mark.remove"),
    ),
    PanelSpec(
        "search", "Search", "search.panel:HitsPanel", RIGHT, 5, 16,
        (*_CHOSEN, "panel.source", "panel.graph", _LINE, "mark.keep", "view.only_hits"),
    ),
)  # fmt: skip
PANEL = {spec.id: spec for spec in PANELS}


def tabs_of(area: PanelArea) -> tuple[str, ...]:
    """The panels of an area by id, in the order of their tabs."""
    listed = sorted((spec for spec in PANELS if spec.area is area), key=lambda spec: spec.tab)
    return tuple(spec.id for spec in listed)
