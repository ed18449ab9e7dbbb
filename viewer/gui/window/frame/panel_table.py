"""The table of all panels, from which docks, menus, keys, help pages and row menus are built.

To add a panel, write its folder below `viewer/gui/panels`, a page of the same name in
`resources/help`, and one `PanelSpec` here. This module does not use Qt, because the first window
needs the table for its help.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

# Separates groups in a row menu; the same value as SEPARATOR in `viewer.gui.qt.commands`.
_LINE = "-"
# Commands for rows that select operators or slices.
_CHOSEN = ("view.fit", "selection.area", _LINE, "panel.details")


class PanelArea(enum.Enum):
    """The default area of a panel; the help lists areas in this order."""

    SIDE = enum.auto()  # right of the timeline, at full height
    LEFT = enum.auto()  # below the timeline, a tab of the left half
    RIGHT = enum.auto()  # below the timeline, a tab of the right half


SIDE, LEFT, RIGHT = PanelArea


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """A panel, which is shown in its own dock.

    Attributes:
        id: name of its dock, which stored layouts refer to.
        title: title of the dock, also used in menus.
        factory: "module:class" below `viewer.gui.panels`; the class takes a session and a theme.
        tab: position among the tabs of its area, from 0; the first is in front.
        place: position in View > Panels, from 0.
        row_commands: ids of commands added to the row menu of its tables, with separators.
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
        """The id of the command that shows the panel."""
        return f"panel.{self.id}"

    @property
    def help_page(self) -> str:
        """The panel's help page."""
        return self.id


# In the order of the commands that show them.
PANELS = (
    PanelSpec("summary", "Summary", "summary.panel:SummaryPanel", SIDE, 0, 18),
    PanelSpec("details", "Details", "details.panel:DetailsPanel", SIDE, 1, 0),
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
        "marks", "Bookmarks", "bookmarks.panel:BookmarksPanel", RIGHT, 6, 15,
        ("mark.fit", "mark.rename", "mark.remove"),
    ),
    PanelSpec(
        "search", "Search", "search.panel:HitsPanel", RIGHT, 5, 16,
        (*_CHOSEN, "panel.source", "panel.graph", _LINE, "mark.keep", "view.only_hits"),
    ),
    PanelSpec("program", "Program", "program.panel:ProgramPanel", LEFT, 9, 17),
)  # fmt: skip
PANEL = {spec.id: spec for spec in PANELS}


def tabs_of(area: PanelArea) -> tuple[str, ...]:
    """The ids of an area's panels, in the order of their tabs."""
    listed = sorted((spec for spec in PANELS if spec.area is area), key=lambda spec: spec.tab)
    return tuple(spec.id for spec in listed)
