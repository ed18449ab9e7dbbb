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
class PanelSpec:
    """A panel, which is shown as a tab of its area.

    Attributes:
        id: its name, which stored layouts and sessions refer to.
        title: title of the tab, also used in menus.
        factory: "module:class" below `viewer.gui.panels`; the class takes a session and a theme.
        row_commands: ids of commands added to the menu of its rows or lines, with separators.
    """

    id: str
    title: str
    factory: str
    area: PanelArea
    group: PanelGroup
    row_commands: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The id of the command that shows the panel."""
        return f"panel.{self.id}"

    @property
    def help_page(self) -> str:
        """The panel's help page."""
        return self.id


PANELS = (
    PanelSpec("summary", "Summary", "summary.panel:SummaryPanel", SIDE, TIME),
    PanelSpec("compare", "Compare", "compare.panel:ComparePanel", SIDE, TIME),
    PanelSpec("details", "Details", "details.panel:DetailsPanel", SIDE, SELECTION),
    PanelSpec(
        "operators", "Operators", "operators.panel:OperatorsPanel", LEFT, TIME,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.model"),
    ),
    PanelSpec(
        "calls", "Calls", "calls.panel:CallsPanel", LEFT, TIME,
        ("view.fit", "selection.area", _LINE, "panel.selection", "panel.details", "panel.source"),
    ),
    PanelSpec(
        "model", "Model", "model.panel:ModelPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.operators"),
    ),
    PanelSpec("graph", "Graph", "graph.panel:GraphPanel", LEFT, MODEL),
    PanelSpec(
        "delegation", "Delegation", "delegation.panel:DelegationPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.links"),
    ),
    PanelSpec(
        "estimates", "Estimates", "estimates.panel:EstimatesPanel", LEFT, TIME, _CHOSEN
    ),
    PanelSpec(
        "handle_map", "Handle map", "handle_map.panel:HandleMapPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source"),
    ),
    PanelSpec(
        "memory", "Memory", "memory.panel:MemoryPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.program"),
    ),
    PanelSpec(
        "sizes", "Sizes", "sizes.panel:SizesPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.program"),
    ),
    PanelSpec(
        "numbers", "Numbers", "numbers.panel:NumbersPanel", LEFT, MODEL,
        (*_CHOSEN, "panel.source", "panel.graph", "panel.untimed"),
    ),
    PanelSpec("program", "Program", "program.panel:ProgramPanel", LEFT, MODEL),
    PanelSpec(
        "events", "Events", "events.panel:EventsPanel", LEFT, TIME,
        (*_CHOSEN, "panel.source", "panel.graph"),
    ),
    PanelSpec(
        "untimed", "Untimed events", "untimed.panel:UntimedPanel", LEFT, TIME,
        ("panel.details",),
    ),
    PanelSpec(
        "selection", "Selection", "selection.panel:SelectionPanel", LEFT, SELECTION,
        ("view.fit", "selection.area", "selection.export", _LINE, "mark.keep"),
    ),
    PanelSpec("source", "Source", "source.panel:SourcePanel", RIGHT, MODEL, ("edit.source",)),
    PanelSpec(
        "findings", "Findings", "findings.panel:FindingsPanel", RIGHT, TIME,
        (*_CHOSEN, "panel.operators", "panel.source", _LINE, "mark.keep"),
    ),
    PanelSpec(
        "statistics", "Statistics", "statistics.panel:StatisticsPanel", RIGHT, TIME,
        ("view.fit", "selection.area", _LINE, "panel.selection", "panel.details"),
    ),
    PanelSpec("links", "Links", "links.panel:LinksPanel", RIGHT, FILES),
    PanelSpec(
        "problems", "Problems", "problems.panel:ProblemsPanel", RIGHT, FILES,
        ("panel.links", "file.reload"),
    ),
    PanelSpec(
        "search", "Search", "search.panel:HitsPanel", RIGHT, SELECTION,
        (*_CHOSEN, "panel.source", "panel.graph", _LINE, "mark.keep", "view.only_hits"),
    ),
    PanelSpec(
        "marks", "Bookmarks", "bookmarks.panel:BookmarksPanel", RIGHT, SELECTION,
        ("mark.fit", "mark.rename", "mark.remove"),
    ),
)  # fmt: skip
PANEL = {spec.id: spec for spec in PANELS}


def tabs_of(area: PanelArea) -> tuple[str, ...]:
    """The ids of an area's panels, in the order of their tabs."""
    return tuple(spec.id for spec in PANELS if spec.area is area)
